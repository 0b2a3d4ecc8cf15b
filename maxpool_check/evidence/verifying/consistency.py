"""What must hold of an execution in a record whatever its outputs: by its case, by what it says itself, and by its other variants."""

import math
from collections.abc import Iterator, Mapping

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging.comparison import MOST_CELLS
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.outcomes import Crashed
from maxpool_check.results.record import REPORTED, Execution, Verdict
from maxpool_check.results.variants import PAIRS, Variant
from maxpool_check.running.case_run import executions, judged_case
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.plans import VariantResult

_KINDS = {kind.value for kind in DivergenceKind}
_ABOUT_THE_SHAPE = {DivergenceKind.SHAPE.value, DivergenceKind.TRUNCATED_DIVISION.value}
_AS_A_WHOLE = {*_ABOUT_THE_SHAPE, DivergenceKind.DTYPE.value, DivergenceKind.MISSING_OUTPUT.value}
_OF_GRAPHS = {"constant-folded-wrongly", "rewritten-wrongly"}
_WITH_OUTPUTS = (Verdict.DIVERGES, Verdict.INCONSISTENT, Verdict.UNSTABLE)
_EXPLAINED = REPORTED | {Verdict.UNDEFINED, Verdict.ERROR}
_BY_THE_CASE = ("title", "spec", "layout", "size", "clauses")
_OF_EXPLAINED = ("input", "erratum")


def malformed(oracle: GraphOracle | Refused, variant: Variant, stored: Execution) -> str:
    """Why nothing can be judged from an execution: kinds that do not exist, or digests of other outputs. Empty if it can."""
    kinds = [*stored.kinds, *stored.information, *stored.counts, *(cell.kind for cell in stored.cells)]
    kinds += [cause.kind for cause in stored.causes]
    if (unknown := next((kind for kind in kinds if kind not in _KINDS), None)) is not None:
        return f"'{unknown}' is no kind of divergence"
    if not stored.digests and stored.verdict not in _WITH_OUTPUTS:
        return ""
    expected = set(variant.outputs)
    if isinstance(oracle, GraphOracle):
        expected |= {name for name in (*oracle.graph.context.side_outputs, BEHIND) if name in stored.digests}
    if extra := sorted(set(stored.digests) - expected):
        return f"has a digest of {', '.join(extra)}, which its variant does not return"
    missing = sorted(expected - set(stored.digests))
    if missing and (DivergenceKind.MISSING_OUTPUT.value not in stored.kinds or not isinstance(oracle, GraphOracle)):
        return f"has no digest of {', '.join(missing)}"
    return ""


def with_known_kinds(stored: Execution) -> Execution:
    """The execution with only those kinds that exist."""
    return msgspec.structs.replace(stored, kinds=tuple(kind for kind in stored.kinds if kind in _KINDS))


def by_the_case(
    case: Case, target: str, oracle: GraphOracle | Refused, variant: Variant, stored: Execution
) -> Execution:
    """The recorded execution of a target that returned outputs, with all that does not depend on them made from its case."""
    result = VariantResult(Crashed("", ""))
    (line,) = executions(judged_case(case, target, oracle, {variant: result}))
    fields = {name: getattr(line, name) for name in _BY_THE_CASE}
    is_explained = stored.verdict in _EXPLAINED
    fields |= {name: getattr(line, name) if is_explained else None for name in _OF_EXPLAINED}
    return msgspec.structs.replace(stored, **fields, limit=False, traceback="")


def inconsistency(
    oracle: GraphOracle | Refused, variant: Variant, stored: Execution, others: Mapping[Variant, Execution]
) -> str:
    """What an execution that returned outputs says that its kinds, its cells, or its other variants contradict."""
    return next(_inconsistencies(oracle, variant, stored, others), "")


def _inconsistencies(
    oracle: GraphOracle | Refused, variant: Variant, stored: Execution, others: Mapping[Variant, Execution]
) -> Iterator[str]:
    if stored.verdict in REPORTED and not stored.kinds:
        yield f"the verdict is {stored.verdict}, and there is no kind"
    if stored.verdict not in REPORTED and (stored.kinds or stored.counts or stored.cells):
        yield f"the verdict is {stored.verdict}, and there are kinds, counts or wrong cells"
    is_graph = isinstance(oracle, GraphOracle) and not oracle.graph.context.is_alone
    if stored.verdict in (Verdict.INCONSISTENT, Verdict.UNSTABLE) and not any(map(_compares, stored.kinds)):
        yield f"the verdict is {stored.verdict}, and no kind says what differs"
    possible = _comparisons(variant)
    for kind in filter(_compares, stored.kinds):
        if kind not in possible:
            yield f"the kind is {kind}, and the variant {variant.name} is not compared so"
        if not _differs(kind, variant, stored, others, any_output=is_graph):
            yield f"the kind is {kind}, and the digests of the variants to compare are the same"
    most = max(math.prod(each.shape) for each in oracle.alternatives) if isinstance(oracle, GraphOracle) else math.inf
    if any(count > most for count in stored.counts.values()):
        yield f"a count is more than the {most} cells of an output"
    yield from _about_cells(stored)
    if stored.verdict is Verdict.DIVERGES:
        yield from _about_a_divergence(stored, is_graph=is_graph)


def _compares(kind: str) -> bool:
    return kind == DivergenceKind.UNSTABLE.value or kind.startswith(("y-depends-", "indices-depend-"))


def _comparisons(variant: Variant) -> set[str]:
    """The kinds that a variant can have by comparing it with another one."""
    kinds = {"y-depends-on-indices"} if any(varied == variant for _, varied in PAIRS) else set()
    if variant.variation is None:
        return kinds
    if not variant.variation.subject:
        return kinds | {DivergenceKind.UNSTABLE.value}
    return kinds | {f"{prefix}-depends-on-{variant.variation.subject}" for prefix in ("y", "indices")}


def _differs(
    kind: str, variant: Variant, stored: Execution, others: Mapping[Variant, Execution], *, any_output: bool
) -> bool:
    """Whether an output of a variant has another digest than that of a variant that it is compared with."""
    bases = [base for base, varied in PAIRS if varied == variant]
    bases += [variant.base] if variant.variation is not None else []
    names = set(stored.digests)
    if not any_output and kind != DivergenceKind.UNSTABLE.value:
        names &= {"Y" if kind.startswith("y-") else "Indices"}
    return any(
        name in others[base].digests and others[base].digests[name] != stored.digests[name]
        for base in bases
        if base in others
        for name in names
    )


def _about_cells(stored: Execution) -> Iterator[str]:
    counts = stored.counts
    shown = [cell.kind for cell in stored.cells]
    for kind in sorted({*shown, *counts}):
        if counts.get(kind, 0) < max(1, shown.count(kind)):
            yield f"the count of {kind} is {counts.get(kind, 0)}, and {shown.count(kind)} of the cells have it"
    if len(shown) < min(MOST_CELLS, sum(counts.values())):
        yield f"there are {sum(counts.values())} wrong cells, and {len(shown)} are shown"


def _about_a_divergence(stored: Execution, *, is_graph: bool) -> Iterator[str]:
    kinds, counts = set(stored.kinds), stored.counts
    causes = {cause.kind for cause in stored.causes}
    free = {*counts, *causes, *_AS_A_WHOLE, *(_OF_GRAPHS if is_graph else ())}
    for kind in sorted(kinds - free):
        if not _compares(kind):
            yield f"the kind is {kind}, and no count or cause has it"
    for kind in sorted(set(counts) - kinds if not causes else ()):
        yield f"there are cells of {kind}, which is not among the kinds"
    is_whole = bool(kinds & _AS_A_WHOLE or stored.shapes)
    if not (counts or is_whole or is_graph or any(map(_compares, kinds))):
        yield "the verdict is diverges, and neither a wrong cell nor a wrong shape is recorded"
    if kinds & _ABOUT_THE_SHAPE and not stored.shapes:
        yield "the shape is wrong, and it is not recorded"
    if stored.cells and not is_whole and not is_graph and stored.message != str(stored.cells[0]):
        yield f"the message is not '{stored.cells[0]}', the first wrong cell"
