"""``maxpool-check bisect``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import click
from packaging.version import Version

from maxpool_check.commands import executing
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.old_output import Output
from maxpool_check.comparing.bisection import Bisection, Boundary, Observation
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus
from maxpool_check.reporting import bisection, bisection_ci
from maxpool_check.reporting.bisection import BisectionReport
from maxpool_check.reporting.html import bisection as bisection_html
from maxpool_check.results.record import NOT_EXECUTED, Execution, RunFooter, Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.releases import NoReleases, between, newest_of_minors, released
from maxpool_check.targets.target import IF_DAMAGED

FORMATS: options.Formats[BisectionReport] = {
    "text": bisection.write_text,
    "markdown": bisection.write_markdown,
    "html": bisection_html.write,
    "json": bisection.write_json,
    "junit": bisection_ci.write_junit,
    "github": bisection.write_markdown,
    "sarif": bisection_ci.write_sarif,
}
"""The formats of the report of a bisection. A new one is its module and a line here."""


class _Search(NamedTuple):
    """A search that has ended; ``skipped`` holds the reasons."""

    variant: Variant
    search: Bisection[Observation]
    boundaries: Sequence[Boundary]
    skipped: Mapping[str, str]


@click.command("bisect")
@click.option("--case", "name", required=True, metavar="ID", help="The case, by its full id.")
@options.target()
@click.option("--from", "first", metavar="V", help="The oldest release to test.  [default: the oldest available]")
@click.option(
    "--to", "last", metavar="V", help="The newest release to test; 1.31 with 1.31.1.  [default: the newest available]"
)
@options.kind("Look for this kind alone.  [default: for any change of verdict or kinds]")
@click.option("--variant", metavar="NAME", help="indices or y-only.  [default: the first that changes]")
@click.option("--pre", is_flag=True, help="Test pre-releases too.")
@options.timeout
@options.form(FORMATS)
@options.reports(FORMATS)
@click.option("-o", "--output", type=options.FILE, metavar="FILE.json", help="The same as --report json=FILE.json.")
@options.quiet
@options.bundled(output=Output)
@case_files.every
def command(
    files: case_files.CaseFiles, name: str, target: TargetName, first: str | None, last: str | None, kind: str | None,
    variant: str | None, pre: bool, timeout: float, output: Output,
) -> int:  # fmt: skip
    """Find the release where the verdict on a case changes.

    The releases come from the package index. Each runs in an isolated environment, made once; one that cannot be installed
    or started is skipped and listed. Exits with 0 if there is a change, 1 if nothing changes, 3 if fewer than two releases
    could be tested.

    \b
    Examples:
      maxpool-check bisect --case edge/ties:all-equal
      maxpool-check bisect cases/ --case mine:padded --from 1.23.2 --to 1.31.1
    """
    if output.output is not None:
        output = replace(output, reports=[*output.reports, ("json", output.output)], output=None)
    corpus = files.read()
    output.check_writable([*corpus.files, *corpus.known_files])
    case = case_files.case_named(corpus.cases, name, files.paths[0])
    variants = executing.variants_named(case, variant)
    check_unversioned(target)
    versions = releases(target, first, last, pre)
    observe = cache(partial(_observe, corpus, case, kind, target, timeout, None if output.quiet else variants))
    result = _search(versions, variants, lambda position: observe(str(versions[position])))
    report = BisectionReport(
        case.id, case.sha256, f"{case.origin.path}:{case.origin.line}", case.title, str(target), result.variant.name, kind,
        tuple(map(str, versions)), result.search.tested, result.boundaries, result.skipped, result.search.linear,
    )  # fmt: skip
    output.publish(FORMATS, report, report)
    return report.exit_code


def releases(
    runtime: TargetName, first: str | None, last: str | None, pre: bool, *, minors: bool = False
) -> list[Version]:
    """The released versions of a runtime that are :func:`~maxpool_check.targets.releases.between` the ends of a range.

    ``minors``: the newest of each minor version alone.
    """
    try:
        low, high = (Version(text) if text else None for text in (first, last))
        available = released(runtime.distribution, pre=pre)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except NoReleases as error:
        raise options.Incomplete(str(error)) from error
    versions = between(available, low, high)
    if not versions:
        raise click.UsageError(
            f"no release of {runtime.distribution} lies between {first or 'the oldest'} and {last or 'the newest'}; available: "
            f"{', '.join(map(str, available))}"
        )
    return newest_of_minors(versions) if minors else versions


def why_untested(footer: RunFooter) -> str:
    """Why a release could not be tested, on a line, without what is said of the cache of this machine; empty if it could."""
    error = next(iter(footer.errors), "")
    return " ".join(error.partition(IF_DAMAGED)[0].split())


def check_unversioned(target: TargetName) -> None:
    """Refuse a target that is not a runtime with releases to choose from."""
    if target.is_one_version:
        raise click.UsageError(f"'{target}' is one version; name the runtime alone, such as onnxruntime")


def _search(
    versions: Sequence[Version], variants: Sequence[Variant], observe: Callable[[int], Mapping[str, Observation | str]]
) -> _Search:
    """The search for the first variant that changes: those that differ between the ends before the others."""
    ends = observe(0), observe(len(versions) - 1)
    searches = []
    for variant in sorted(variants, key=lambda each: ends[0].get(each.name) == ends[1].get(each.name)):
        skipped: dict[str, str] = {}

        def test(position: int, variant: Variant = variant, skipped: dict[str, str] = skipped) -> Observation | None:
            observation = observe(position).get(variant.name, "it is not executed in this variant")
            if isinstance(observation, str):
                skipped[str(versions[position])] = observation
                return None
            return observation

        search: Bisection[Observation] = Bisection(len(versions), test)
        searches.append(_Search(variant, search, search.boundaries(), skipped))
        if searches[-1].boundaries:
            return searches[-1]
    return searches[0]


def _observe(
    corpus: Corpus, case: Case, kind: str | None, target: TargetName, timeout: float,
    shown: Sequence[Variant] | None, version: str,
) -> Mapping[str, Observation | str]:  # fmt: skip
    """The result of a release in each variant, or why it cannot be tested; ``shown`` are the variants to print."""
    record = executing.run_cases(corpus, [case], [target.at(version)], timeout=timeout)
    assert record.footer is not None
    observed: dict[str, Observation | str] = {}
    if why := why_untested(record.footer):
        observed |= dict.fromkeys([each.name for each in case.variants()], why)
    else:
        observed |= {each.variant: _observation(each, kind) for each in record.executions}
    if shown is not None:
        options.echo(f"{version}: {_texts(observed, shown)}", err=True)
    return observed


def _texts(observed: Mapping[str, Observation | str], variants: Sequence[Variant]) -> str:
    """What a release does in each variant, once if it is the same."""
    texts: dict[str, list[str]] = {}
    for variant in variants:
        observation = observed.get(variant.name, "not executed")
        # The report says why.
        text = "skipped" if isinstance(observation, str) else str(observation)
        texts.setdefault(text, []).append(variant.name)
    if len(texts) == 1:
        return next(iter(texts))
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in texts.items())


def _observation(execution: Execution, kind: str | None) -> Observation | str:
    if execution.verdict in (*NOT_EXECUTED, Verdict.ERROR):
        return f"{execution.verdict}: {execution.message}"
    key = (execution.verdict, execution.kinds) if kind is None else kind in execution.kinds
    return Observation(key, execution, kind)
