"""``maxpool-check bisect``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import executing, options

if TYPE_CHECKING:
    from packaging.version import Version

    from maxpool_check.comparing.bisection import Bisection, Boundary
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.collection import Corpus
    from maxpool_check.targets.name import TargetName


@dataclass(frozen=True)
class Shown:
    """What a release shows: its verdict and the kinds looked for; only ``key`` tells one from another.

    ``all_kinds`` are those of the execution, also where one of them was looked for.
    """

    verdict: str = field(compare=False)
    kinds: tuple[str, ...] = field(compare=False)
    key: tuple[str, ...]
    all_kinds: tuple[str, ...] = field(compare=False)
    provider: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.verdict} ({', '.join(self.kinds)})" if self.kinds else self.verdict


@click.command("bisect")
@options.paths
@click.option("--case", "name", required=True, metavar="ID", help="The case, by its full id.")
@click.option("-t", "--target", default="onnxruntime", metavar="TARGET", help="The runtime.  [default: onnxruntime]")
@click.option("--from", "first", metavar="V", help="The oldest release to ask.  [default: the oldest there is]")
@click.option("--to", "last", metavar="V", help="The newest release to ask.  [default: the newest there is]")
@click.option("--kind", metavar="KIND", help="Look for this kind alone.  [default: for any change of verdict or kinds]")
@click.option("--variant", metavar="QUESTION", help="indices or y-only.  [default: the first that the case is asked]")
@click.option("--pre", is_flag=True, help="Ask pre-releases too.")
@click.option("--write-known", is_flag=True, help="Narrow the 'when' of the known divergence to what was found.")
@executing.timeout
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="What to print.  [default: text]"
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE.json", help="Write the JSON here too.")
@click.option("-q", "--quiet", is_flag=True, help="Do not name each release as it is asked.")
@options.max_cells
def command(
    paths: tuple[Path, ...],
    name: str,
    target: str,
    first: str | None,
    last: str | None,
    kind: str | None,
    variant: str | None,
    pre: bool,
    write_known: bool,
    timeout: float,
    form: str,
    output: Path | None,
    quiet: bool,
    max_cells: int,
) -> int:
    """Find the release where the verdict on a case changes.

    The releases come from the package index, each runs in an isolated environment, made once. What cannot be installed or
    started is passed over, and said. Exits with 0 if a change was found, 1 if nothing changes, 3 if fewer than two
    releases could be asked.
    """
    from maxpool_check.comparing.bisection import Bisection

    options.check_writable([output] if output else [])
    corpus = options.collect(paths, max_cells)
    case = options.one_of(corpus.cases, name, str(paths[0]))
    asked = executing.variant_of(case, variant).name
    _known_kind(kind)
    runtime = isolated(target)
    versions = releases(runtime, first, last, pre)
    skipped: dict[str, str] = {}

    def ask(place: int) -> Shown | None:
        version = str(versions[place])
        shown = _shown(corpus, case, asked, kind, runtime, version, timeout)
        if isinstance(shown, str):
            skipped[version] = shown
        if not quiet:
            click.echo(f"{version}: {'passed over, ' if isinstance(shown, str) else ''}{shown}", err=True)
        return None if isinstance(shown, str) else shown

    search: Bisection[Shown] = Bisection(len(versions), ask)
    found = search.boundaries()
    could = [place for place, shown in search.shown.items() if shown is not None]
    code = 3 if len(could) < 2 else 0 if found else 1
    if write_known and code == 0:
        _narrow(corpus, case, asked, runtime, versions, found)
    document = _document(case, str(runtime), asked, kind, versions, search, found, skipped, code)
    if output is not None:
        output.write_text(document + "\n", encoding="utf-8")
    if form == "json":
        click.echo(document)
    else:
        for line in _lines(versions, search, found, skipped, could):
            click.echo(line)
    return code


def releases(runtime: TargetName, first: str | None, last: str | None, pre: bool) -> list[Version]:
    """The released versions of a runtime in a range, both ends included."""
    from packaging.version import InvalidVersion, Version

    from maxpool_check.targets.releases import NoReleases, released
    from maxpool_check.targets.runtimes import RUNTIMES

    try:
        low, high = (Version(text) if text else None for text in (first, last))
    except InvalidVersion as error:
        raise click.UsageError(str(error)) from error
    try:
        every = released(RUNTIMES[runtime.runtime].distribution, pre=pre)
    except NoReleases as error:
        raise executing.CannotExecute(str(error)) from error
    found = [one for one in every if (low is None or one >= low) and (high is None or one <= high)]
    if not found:
        raise click.UsageError(
            f"no release of {runtime.runtime} lies between {first or 'the oldest'} and {last or 'the newest'}; there are "
            f"{', '.join(map(str, every))}"
        )
    return found


def _known_kind(kind: str | None) -> None:
    from maxpool_check.judging.kinds import DivergenceKind
    from maxpool_check.specifications.attributes import nearest

    names = [one.value for one in DivergenceKind]
    if kind is not None and kind not in names:
        raise click.UsageError(f"there is no kind '{kind}'{nearest(kind, names)}; there are {', '.join(names)}")


def isolated(target: str) -> TargetName:
    """A runtime whose releases can be asked, each in an environment of its own."""
    (name,) = executing.parse_targets([target])
    if not name.is_released or name.version is not None or "python" in name.options:
        raise click.UsageError(f"'{target}' is one version; name the runtime alone, as onnxruntime")
    return name


def _shown(
    corpus: Corpus, case: Case, variant: str, kind: str | None, runtime: TargetName, version: str, timeout: float
) -> Shown | str:
    """What a release shows, or why it cannot be asked."""
    record = executing.run_release(corpus, [case], runtime, version, timeout=timeout)
    assert record.footer is not None
    if record.footer.errors:
        return " ".join(record.footer.errors[0].split())
    (execution,) = [one for one in record.executions if one.variant == variant]
    if execution.verdict in ("not-expressible", "error"):
        return f"{execution.verdict}: {execution.message}"
    provider = record.header.targets[0].provider
    if kind is None:
        key = (execution.verdict, *execution.kinds)
        return Shown(execution.verdict, execution.kinds, key, execution.kinds, provider)
    has = kind in execution.kinds
    kinds, key = ((kind,), (kind,)) if has else (execution.kinds, ())
    return Shown(execution.verdict, kinds, key, execution.kinds, provider)


def _lines(
    versions: Sequence[Version],
    search: Bisection[Shown],
    found: Sequence[Boundary[Shown]],
    skipped: dict[str, str],
    could: Sequence[int],
) -> Iterator[str]:
    for version, why in skipped.items():
        yield f"passed over {version}: {why}"
    yield f"{len(search.shown)} of {len(versions)} releases asked" + (", one after the other" if search.linear else "")
    if len(could) < 2:
        yield "INCOMPLETE fewer than two releases could be asked"
    elif not found:
        place = could[0]
        yield f"no change from {versions[min(could)]} to {versions[max(could)]}: {search.shown[place]}"
    for boundary in found:
        yield (f"last {versions[boundary.last]} {boundary.before}, first {versions[boundary.first]} {boundary.after}")


def _document(
    case: Case,
    target: str,
    variant: str,
    kind: str | None,
    versions: Sequence[Version],
    search: Bisection[Shown],
    found: Sequence[Boundary[Shown]],
    skipped: dict[str, str],
    code: int,
) -> str:
    asked = [
        {"version": str(versions[place]), "verdict": shown.verdict, "kinds": list(shown.kinds)}
        for place, shown in sorted(search.shown.items())
        if shown is not None
    ]
    boundaries = [
        {
            "last": {
                "version": str(versions[one.last]),
                "verdict": one.before.verdict,
                "kinds": list(one.before.kinds),
            },
            "first": {
                "version": str(versions[one.first]),
                "verdict": one.after.verdict,
                "kinds": list(one.after.kinds),
            },
        }
        for one in found
    ]
    return json.dumps(
        {
            "schema": "maxpool-check/bisect/1",
            "exit_code": code,
            "case": case.id,
            "case_sha256": case.sha256,
            "target": target,
            "variant": variant,
            "kind": kind,
            "releases": [str(version) for version in versions],
            "asked": asked,
            "skipped": [{"version": version, "why": why} for version, why in skipped.items()],
            "linear": search.linear,
            "boundaries": boundaries,
            "errors": [{"message": "fewer than two releases could be asked"}] if code == 3 else [],
        },
        indent=1,
    )


def _narrow(
    corpus: Corpus,
    case: Case,
    variant: str,
    runtime: TargetName,
    versions: Sequence[Version],
    found: Sequence[Boundary[Shown]],
) -> None:
    """Narrow the entries that are about the case to the releases that show them."""
    from maxpool_check.corpus.known_file import KnownRange, narrow
    from maxpool_check.judging.kinds import DivergenceKind
    from maxpool_check.results.variants import variant_named
    from maxpool_check.targets.runtimes import RUNTIMES

    if len(found) != 1:
        click.echo("several changes: no known divergence was narrowed", err=True)
        return
    (boundary,) = found
    names = tuple(map(str, versions))
    older, newer, first = names[: boundary.first], names[boundary.first :], names[boundary.first]
    said = []
    for shown, releases, others, within in (
        (boundary.before, older, newer, f"<{first}"), (boundary.after, newer, older, f">={first}"),
    ):  # fmt: skip
        known_range = KnownRange(
            case.id, variant_named(variant), tuple(map(DivergenceKind, shown.all_kinds)), RUNTIMES[runtime.runtime].distribution,
            shown.provider, releases, others, within,
        )  # fmt: skip
        said += [words for path in corpus.known_files for words in narrow(path, known_range)]
    for words in said:
        click.echo(words, err=True)
    if not said:
        click.echo("no known divergence expects this of the case: none was narrowed", err=True)
