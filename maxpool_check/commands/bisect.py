"""``maxpool-check bisect``."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from packaging.version import Version

    from maxpool_check.comparing.bisection import Observation
    from maxpool_check.results.record import RunFooter
    from maxpool_check.results.variants import Variant
    from maxpool_check.targets.name import TargetName

FORMATS = options.Formats("reporting.bisection:document", {"json": "reporting.bisection:write_json"})
"""The formats of the report of a bisection."""


@options.command("bisect")
@click.argument("name", type=options.CASE, metavar="CASE")
@options.target()
@click.option(
    "--from", "first", metavar="V",
    help="The oldest release to test; a pre-release: test others, too.  [default: the oldest available]",
)  # fmt: skip
@click.option(
    "--to", "last", metavar="V",
    help="The newest release to test; 1.31 with 1.31.1.  [default: the newest available]",
)  # fmt: skip
@click.option(
    "--kind", type=options.KIND, metavar="KIND", help="Look for this kind alone.  [default: for any change of verdict or kinds]",
)  # fmt: skip
@options.reports()
def command(
    name: str, target: "TargetName", first: str | None, last: str | None, kind: str | None,
    reports: tuple[tuple[str, Path], ...],
) -> int:  # fmt: skip
    """Find the release where the verdict on a case changes.

    CASE is a full id, which is looked for in cases/ and in the corpus that comes with the tool, or FILE.yaml:ID. The releases
    come from the package index. Each runs in an isolated environment, made once; one that cannot be installed or started is
    skipped and listed. Exits with 0 if there is a change, 1 if nothing changes, 3 if fewer than two releases could be tested.
    With -q, nothing is printed, or one line that says what has failed.

    \b
    Examples:
      maxpool-check bisect edge/ties:all-equal
      maxpool-check bisect cases/mine.yaml:padded --from 1.23.2 --to 1.32.0
    """
    from maxpool_check.commands import case_files

    case = case_files.find(name, None)
    # After a mistyped id, none of these is needed.
    from maxpool_check.commands import executing
    from maxpool_check.commands.output import Output
    from maxpool_check.comparing.bisection import Observation
    from maxpool_check.reporting.bisection import BisectionReport
    from maxpool_check.results.record import NOT_EXECUTED, Verdict

    corpus = case_files.CaseFiles([Path(case.origin.path)]).read()
    output = Output(reports, quiet=options.setting("quiet"))
    output.check_writable([*corpus.files, *corpus.known_files])
    variants = list(case.variants())
    check_unversioned(target)
    versions = releases(target, first, last)

    @cache
    def observe(position: int) -> "Mapping[str, Observation | str]":
        """The result of a release in each variant, or why it cannot be tested."""
        record = executing.run_cases(corpus, [case], [target.at(str(versions[position]))])
        assert record.footer is not None
        why = why_untested(record.footer)
        observed: dict[str, Observation | str] = (
            dict.fromkeys((each.name for each in case.variants()), why) if why else {}
        )
        for each in record.executions if not why else ():
            key = (each.verdict, each.kinds) if kind is None else kind in each.kinds
            failed = each.verdict in (*NOT_EXECUTED, Verdict.ERROR)
            observed[each.variant] = f"{each.verdict}: {each.message}" if failed else Observation(key, each, kind)
        if not output.quiet:
            # The report says why one is skipped.
            shown = {each.name: observed.get(each.name, "not executed") for each in variants}
            results = [f"{name} {'skipped' if isinstance(each, str) else each}" for name, each in shown.items()]
            options.echo(f"{versions[position]}: {'; '.join(results)}", err=True)
        return observed

    chosen, search, skipped = _search(versions, variants, observe)
    report = BisectionReport(
        case.id, case.sha256, f"{case.origin.path}:{case.origin.line}", case.title, str(target), chosen.name, kind,
        tuple(map(str, versions)), search.tested, search.boundaries(), skipped, search.linear,
    )  # fmt: skip
    output.publish(FORMATS, report, report.exit_code)
    return report.exit_code


def releases(
    runtime: "TargetName", first: str | None, last: str | None, *, pre: bool = False, minors: bool = False
) -> "list[Version]":
    """The released versions of a runtime that are :func:`~maxpool_check.targets.releases.between` the ends of a range.

    ``minors``: the newest of each minor version alone.
    """
    from packaging.version import Version

    from maxpool_check.targets.releases import NoReleases, between, newest_of_minors, released

    with options.raising(ValueError, NoReleases):
        low, high = (Version(text) if text else None for text in (first, last))
        # A pre-release at an end asks for the others, too.
        pre |= any(each is not None and each.is_prerelease for each in (low, high))
        available = released(runtime.distribution, pre=pre)
    versions = between(available, low, high)
    if not versions:
        raise click.UsageError(
            f"no release of {runtime.distribution} lies between {first or 'the oldest'} and {last or 'the newest'}; available: "
            f"{', '.join(map(str, available))}"
        )
    return newest_of_minors(versions) if minors else versions


def why_untested(footer: "RunFooter") -> str:
    """Why a release could not be tested, on a line, without what is said of the cache of this machine; empty if it could."""
    from maxpool_check.targets.target import IF_DAMAGED

    return " ".join(next(iter(footer.errors), "").partition(IF_DAMAGED)[0].split())


def check_unversioned(target: "TargetName") -> None:
    """Refuse a target that is not a runtime with releases to choose from."""
    if target.is_one_version:
        raise click.UsageError(f"'{target}' is one version; name the runtime alone, such as onnxruntime")


def _search(
    versions: "Sequence[Version]", variants: "Sequence[Variant]", observe: Any
) -> tuple[Any, Any, dict[str, str]]:
    """The first variant that changes, or else one that is wrong: its search, and the releases skipped.

    Those that differ between the ends come first.
    """
    from maxpool_check.comparing.bisection import Bisection, Observation

    ends = observe(0), observe(len(versions) - 1)

    def order(variant: "Variant") -> tuple[bool, bool]:
        last = ends[1].get(variant.name)
        return ends[0].get(variant.name) == last, not (isinstance(last, Observation) and last.is_fault)

    searches = []
    for variant in sorted(variants, key=order):
        skipped: dict[str, str] = {}

        def test(
            position: int, variant: "Variant" = variant, skipped: dict[str, str] = skipped
        ) -> "Observation | None":
            observation = observe(position).get(variant.name, "it is not executed in this variant")
            if isinstance(observation, str):
                skipped[str(versions[position])] = observation
                return None
            result: Observation = observation
            return result

        search: Bisection[Observation] = Bisection(len(versions), test)
        searches.append((variant, search, skipped))
        if search.boundaries():
            return searches[-1]
    return searches[0]
