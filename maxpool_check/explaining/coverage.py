"""What the executions on a target cover of the bins that their documents allow, as text and as JSON."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, groupby
from typing import Any, TextIO

from maxpool_check import inert
from maxpool_check.corpus.bins import OUTPUTS, Bins, bins
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.context_bins import CONTEXT, context_bins
from maxpool_check.corpus.context_space import combinations_of
from maxpool_check.corpus.space import MOST_AXES, Together, space
from maxpool_check.results.record import COMPARED, Execution, ExitCode, TargetDescription
from maxpool_check.results.variants import variant_named
from maxpool_check.words import plural

CONTEXTS = "contexts"
"""The name of the coverage of graphs, beside the names of documents."""

_MOST_BINS, _MOST_PAIRS, _MOST_GROUPS = 20, 5, 10


@dataclass(frozen=True)
class FactorCoverage:
    """The combinations of bins of one factor, or of several: how many there are, and those that no execution has."""

    factors: tuple[str, ...]
    possible: int
    covered: int
    uncovered: Sequence[Together]


@dataclass(frozen=True)
class DocumentCoverage:
    """What is covered of one document; ``groups`` by the number of factors."""

    name: str
    cases: int
    executions: int
    groups: Mapping[int, Sequence[FactorCoverage]]

    def total(self, size: int) -> str:
        """How many combinations of so many factors are covered: ``5 of 7``."""
        groups = self.groups[size]
        return f"{sum(group.covered for group in groups)} of {sum(group.possible for group in groups)}"


@dataclass(frozen=True)
class CoverageReport:
    """The coverage of documents by one target, None if it did not start; ``strength``: factors at a time."""

    target: TargetDescription | None
    documents: Sequence[DocumentCoverage]
    strength: int
    errors: Sequence[str]
    width: int

    @property
    def exit_code(self) -> ExitCode:
        """``INCOMPLETE`` after errors, ``NOTHING_COMPARED`` without executions."""
        if self.errors:
            return ExitCode.INCOMPLETE
        executed = any(document.executions for document in self.documents)
        return ExitCode.AS_EXPECTED if executed else ExitCode.NOTHING_COMPARED


def executed_bins(
    executions: Iterable[Execution], cases: Iterable[Case], target: str
) -> tuple[list[tuple[Case, Bins]], list[str]]:
    """The bins of the executions on a target with outputs that were compared, each with its case, and the ids of changed cases.

    A case that its document excludes has none: nothing is executed. A refusal, a crash or a time-out covers nothing. Executions of cases that have changed since do not
    count.
    """
    by_id = {case.id: case for case in cases}
    bins_of = cache(lambda name: bins(by_id[name]))
    executed: list[tuple[Case, Bins]] = []
    changed: dict[str, None] = {}
    for execution in executions:
        case = by_id.get(execution.case)
        # A refusal, right or wrong, shows nothing of what it was asked for.
        answered = execution.verdict in COMPARED and execution.digests
        if case is None or execution.target != target or not answered:
            continue
        if case.sha256 != execution.case_sha256:
            changed[case.id] = None
        elif bins_of(case.id):
            has_indices = "Indices" in variant_named(execution.variant).outputs
            executed.append((case, {**bins_of(case.id), OUTPUTS: "y-and-indices" if has_indices else "y-alone"}))
    return executed, list(changed)


def coverage_of(name: str, executed: Iterable[tuple[Case, Bins]], strength: int) -> DocumentCoverage:
    """What executions cover of a document, up to ``strength`` factors at a time."""
    allowed = space(name, MOST_AXES)
    pairs = [(case, values) for case, values in executed if case.spec == name]
    return _coverage(name, pairs, list(allowed.factors), allowed.combinations, strength)


def context_coverage(executed: Iterable[tuple[Case, Bins]], strength: int) -> DocumentCoverage:
    """What executions cover of the graphs around MaxPool, in all documents, under the name :data:`CONTEXTS`."""
    bins_of = cache(context_bins)
    pairs = [(case, values) for case, _ in executed for values in bins_of(case)]
    executions = sum(1 for case, _ in executed if not case.context.is_alone)
    factors = [CONTEXT, "dtype", "values", "geometry", "opset"]
    return replace(_coverage(CONTEXTS, pairs, factors, combinations_of, strength), executions=executions)


def _coverage(
    name: str,
    pairs: Sequence[tuple[Case, Bins]],
    names: Sequence[str],
    possible_of: Callable[[int], Iterable[Together]],
    strength: int,
) -> DocumentCoverage:
    groups: dict[int, list[FactorCoverage]] = {}
    for size in range(1, strength + 1):
        covered: set[Together] = set()
        for _, values in pairs:
            covered.update(combinations([(factor, values[factor]) for factor in names if factor in values], size))
        groups[size] = []
        for factors, grouped in groupby(possible_of(size), lambda group: tuple(factor for factor, _ in group)):
            possible = list(grouped)
            uncovered = [combination for combination in possible if combination not in covered]
            groups[size].append(FactorCoverage(factors, len(possible), len(possible) - len(uncovered), uncovered))
    return DocumentCoverage(name, len({case.id for case, _ in pairs}), len(pairs), groups)


def write_text(report: CoverageReport, file: TextIO) -> None:
    """Write the totals of the documents; of a single one, what is not covered."""
    if report.target is None or not any(document.executions for document in report.documents):
        names = " or ".join(document.name for document in report.documents)
        file.write(f"NOTHING COMPARED no case of {names or 'any document'} was executed\n")
        return
    target = report.target
    about = f"{target.name}  {target.about}"
    file.write(inert.line(about) + "\n")
    for line in _lines(report):
        indent = "  " if line.startswith("  ") else ""
        wrapper = textwrap.TextWrapper(report.width, indent, indent * 2 + "  ", break_on_hyphens=False)
        file.write(wrapper.fill(line.lstrip()) + "\n")


def _lines(report: CoverageReport) -> Iterator[str]:
    for document in report.documents:
        covered = f"{document.total(1)} bins" + (f", {document.total(2)} pairs" if report.strength > 1 else "")
        executions, cases = plural(document.executions, "execution"), plural(document.cases, "case")
        yield f"{document.name}  {covered}; {executions} of {cases}"
    yield ""
    if len(report.documents) > 1:
        yield "--spec NAME shows what is not covered, and --contexts what of graphs"
        return
    bins = report.documents[0].groups[1]
    yield "bins"
    widest = max(len(group.factors[0]) for group in bins)
    yield from (f"  {group.factors[0].ljust(widest)}  {_covered(group, _MOST_BINS)}" for group in bins)
    if report.strength == 1:
        return
    groups = report.documents[0].groups[2]
    incomplete = sorted((group for group in groups if group.uncovered), key=lambda group: -len(group.uncovered))
    yield ""
    yield "pairs of bins" + (", the most uncovered first" if incomplete else "")
    for group in incomplete[:_MOST_GROUPS]:
        yield f"  {' x '.join(group.factors)}  {_covered(group, _MOST_PAIRS)}"
    others = incomplete[_MOST_GROUPS:]
    if others:
        count, pairs = sum(len(group.uncovered) for group in others), plural(len(others), "other pair")
        yield f"  {count} more in {pairs} of factors; --format json has them all"
    yield f"  {len(groups) - len(incomplete)} of {len(groups)} pairs of factors are covered"


def _covered(group: FactorCoverage, most: int) -> str:
    names = [" + ".join(name for _, name in combination) for combination in group.uncovered[:most]]
    more = len(group.uncovered) - len(names)
    missing = f"; not {', '.join(names)}" if names else ""
    return f"{group.covered} of {group.possible}{missing}" + (f" and {more} more" if more else "")


def write_json(report: CoverageReport, file: TextIO) -> None:
    """Write one JSON document with everything that is not covered."""
    target, names = report.target, ("name", "distribution", "version", "provider")
    documents: list[dict[str, Any]] = []
    for coverage in report.documents:
        documents.append({"spec": coverage.name, "cases": coverage.cases, "executions": coverage.executions})
        for size, groups in coverage.groups.items():
            documents[-1][{1: "bins", 2: "pairs"}[size]] = [
                {**vars(group), "uncovered": list(map(dict, group.uncovered))} for group in groups
            ]
    document = {
        "schema": "maxpool-check/coverage/1",
        "exit_code": report.exit_code,
        "target": None if target is None else {name: getattr(target, name) for name in names},
        "strength": report.strength,
        "documents": documents,
        "errors": [{"message": error} for error in report.errors],
    }
    file.write(inert.dumps(document, indent=1) + "\n")


FORMATS = {"text": write_text, "json": write_json}
