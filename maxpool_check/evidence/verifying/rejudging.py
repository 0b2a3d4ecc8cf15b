"""Verdicts made again from a record and its cases alone, by the same judge: what a verdict says must follow from them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.evidence.verifying.consistency import by_the_case, inconsistency, malformed, with_known_kinds
from maxpool_check.evidence.verifying.recovery import NotInOutput, nearest, patched, patches_of, recovered
from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging.comparison import MOST_CELLS, allowed_differences
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.details import Cell
from maxpool_check.results.outcomes import (
    Crashed,
    Failed,
    NotClaimed,
    NotExecuted,
    Outcome,
    RefusedByTarget,
    Returned,
    TimedOut,
)
from maxpool_check.results.record import Execution, TargetDescription, Verdict
from maxpool_check.results.variants import OPTIMIZATION_OFF, Variant, variant_named
from maxpool_check.running.case_run import executions, judged_case
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.targets.plans import VariantResult
from maxpool_check.targets.protocol import Request

_ENCODER = msgspec.json.Encoder(order="sorted")
_LIMIT = re.compile(r"no result within (\S+) s")
_SHAPE = re.compile(r"(\w+) \[([\d, ]*)\]")
_COMPARED_WITH_ANOTHER = (Verdict.INCONSISTENT, Verdict.UNSTABLE)
_MOST_OF_A_SHAPE = 2**26
_MOST_AXES = 32
_ALLOWED = (Verdict.CONFORMS, Verdict.UNDEFINED, Verdict.INCONSISTENT)


@dataclass(frozen=True)
class Rejudged:
    """An execution as the judge makes it, before known defects are applied.

    ``is_certain``: it follows from the record. If not, it is the recorded one, and ``contradiction`` says what in it cannot be,
    if anything.
    """

    execution: Execution
    is_certain: bool = True
    contradiction: str = ""


@dataclass(frozen=True, eq=False)
class _Given:
    """The outcome of a variant, as far as a record tells: ``is_certain`` if all of its outputs are recovered."""

    outcome: Outcome
    is_certain: bool
    contradiction: str = ""


def rejudged(
    case: Case, target: TargetDescription, stored: Mapping[Variant, Execution], given_up: str | None
) -> dict[Variant, Rejudged]:
    """The executions of a case on a target, by variant, judged again; ``given_up`` is why the target could not go on, if so."""
    oracle = case.oracle()
    everything, reasons = stored, {variant: malformed(oracle, variant, each) for variant, each in stored.items()}
    stored = {variant: each for variant, each in stored.items() if not reasons[variant]}
    given = {variant: _given(oracle, execution, given_up) for variant, execution in stored.items()}
    forms = [_judged(case, target, oracle, stored, given, is_same) for is_same in _placements(case)]
    is_certain = all(each.is_certain for each in given.values())
    result = {}
    for variant, execution in everything.items():
        if reasons[variant]:
            shown = msgspec.structs.replace(with_known_kinds(execution), known=None, status="")
            result[variant] = Rejudged(shown, is_certain=False, contradiction=reasons[variant])
            continue
        plain = msgspec.structs.replace(execution, known=None, status="")
        lines = [form[variant] for form in forms]
        line = next((each for each in lines if is_same_line(each, plain)), lines[0])
        if not given[variant].is_certain:
            contradiction = given[variant].contradiction or _contradiction(plain, line)
            if contradiction and isinstance(oracle, GraphOracle) and len(oracle.alternatives) > 1:
                contradiction = contradiction if _is_in_all(case, target, oracle, plain) else ""
            contradiction = contradiction or inconsistency(oracle, variant, plain, everything)
            expected = by_the_case(case, target.name, oracle, variant, plain)
            result[variant] = Rejudged(expected, is_certain=False, contradiction=contradiction)
        elif (
            not is_same_line(line, plain)
            and not is_certain
            and _depends_on_another(case, target, oracle, plain, given[variant].outcome)
        ):
            expected = by_the_case(case, target.name, oracle, variant, plain)
            contradiction = inconsistency(oracle, variant, plain, everything)
            result[variant] = Rejudged(expected, is_certain=False, contradiction=contradiction)
        else:
            result[variant] = Rejudged(line)
    return result


def is_same_line(a: Execution, b: Execution) -> bool:
    """Whether two executions are the same line of a record, which knows no infinity and no NaN."""
    return _ENCODER.encode(a) == _ENCODER.encode(b)


def _placements(case: Case) -> tuple[bool, ...]:
    """Whether the target was given SAME_*, which no record says: either, where it matters."""
    resolved = case.resolved
    has_same = isinstance(resolved, Pooling) and resolved.placement is not None and resolved.placement.is_same
    return (True, False) if has_same else (True,)


def _judged(
    case: Case, target: TargetDescription, oracle: GraphOracle | Refused, stored: Mapping[Variant, Execution],
    given: Mapping[Variant, _Given], is_same: bool,
) -> dict[Variant, Execution]:  # fmt: skip
    """The executions that the judge makes of outcomes; what it does not decide is as recorded."""
    request = Request(case.X.tensor(), (), b"", {"auto_pad": "SAME_UPPER"}) if is_same else None
    results = {
        variant: VariantResult(
            given[variant].outcome, execution.opset, execution.translation, request, execution.seconds
        )
        for variant, execution in stored.items()
    }
    unoptimized = _unoptimized(oracle, target, stored)
    lines = executions(judged_case(case, target.name, oracle, results, unoptimized))
    return {
        variant: msgspec.structs.replace(
            line, origin=stored[variant].origin, seconds=stored[variant].seconds, matched=stored[variant].matched,
            # The judge needs no more of outputs that the document excludes than their shapes.
            digests=line.digests if isinstance(oracle, GraphOracle) else stored[variant].digests,
        )
        for variant, line in zip(results, lines, strict=True)
    }  # fmt: skip


def _unoptimized(
    oracle: GraphOracle | Refused, target: TargetDescription, stored: Mapping[Variant, Execution]
) -> dict[Variant, VariantResult] | None:
    """The results of models that no tool rewrites, which conform where a verdict is about the tool."""
    try:
        rewrites = parse(target.name).tool is not None
    except BadTarget:
        rewrites = False
    if not rewrites or not isinstance(oracle, GraphOracle) or not any(each.kinds for each in stored.values()):
        return None
    plain = [variant for variant in stored if variant.variation is None and not variant.in_domain]
    outputs = nearest(oracle, {name: () for variant in plain for name in variant.outputs})
    return {
        variant: VariantResult(Returned({name: outputs[name] for name in variant.outputs}))
        for variant in plain
        if Variant(variant.outputs, OPTIMIZATION_OFF) not in stored
    }


def _given(oracle: GraphOracle | Refused, execution: Execution, given_up: str | None) -> _Given:
    if execution.digests or execution.verdict is Verdict.DIVERGES:
        return _returned(oracle, execution)
    return _Given(_without_outputs(oracle, execution, given_up), is_certain=True)


def _without_outputs(oracle: GraphOracle | Refused, execution: Execution, given_up: str | None) -> Outcome:
    """The outcome of an execution that returned nothing; its verdict says which, and must follow from it in turn."""
    message = execution.message
    match execution.verdict:
        case Verdict.CRASHES:
            return Crashed(message, "")
        case Verdict.TIMES_OUT:
            limit = _LIMIT.fullmatch(message)
            return TimedOut(float(limit[1]) if limit is not None and limit[1].replace(".", "").isdigit() else 0.0)
        case Verdict.NOT_EXPRESSIBLE:
            return NotExecuted(message)
        case Verdict.NOT_CLAIMED:
            return NotClaimed(message)
        case Verdict.ERROR:
            return Failed(message, final=message == given_up, traceback=execution.traceback)
    if isinstance(oracle, GraphOracle) and oracle.pooling.refusable:
        message = message.removesuffix(f" (allowed by {oracle.pooling.refusable})")
    status, _, rest = message.partition(": ")
    return RefusedByTarget(status, rest)


def _returned(oracle: Oracle | Refused, execution: Execution) -> _Given:
    try:
        if isinstance(oracle, Refused):
            sizes = dict(_SHAPE.findall(execution.message))
            return _Given(
                Returned({name: _zeros(_sizes(sizes.get(name, "0"))) for name in execution.digests}), is_certain=True
            )
        tensors = recovered(oracle, execution)
        known = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        if len(known) == len(tensors):
            return _Given(Returned(known), is_certain=True)
        outputs = {**nearest(oracle, {name: patches_of(name, execution) for name in tensors}), **known}
        shapes = {
            name: _zeros(shape.got, outputs[name].dtype) for name, shape in execution.shapes.items() if name in outputs
        }
    except NotInOutput as error:
        return _Given(Returned({}), is_certain=False, contradiction=str(error))
    missing = [name for name in tensors if name not in known]
    return _Given(
        Returned({**outputs, **shapes}), is_certain=False, contradiction=_is_complete(oracle, execution, missing)
    )


def _is_complete(oracle: Oracle, execution: Execution, missing: list[str]) -> str:
    """What is wrong with outputs that are allowed and not recovered, though the record has all of their differences."""
    if execution.verdict not in _ALLOWED:
        return ""
    for name in missing:
        stored = tuple(each for each in execution.differences if each.output == name)
        if len(stored) < MOST_CELLS:
            return f"the digest of {name} is none of an answer that the document allows"
        # The patches of an allowed output are its differences, whose NaN have bits.
        tensor = patched(oracle, name, [(each.at, each.got) for each in stored])
        if allowed_differences(oracle, {name: tensor}) != stored:
            return f"the differences of {name} from the reference are not the first ones of any output"
    return ""


def _contradiction(stored: Execution, line: Execution) -> str:
    """What in a recorded execution cannot be, whatever the outputs that are not recorded."""
    if stored.verdict is Verdict.INCONSISTENT:
        return "" if line.verdict in _ALLOWED else f"the verdict is inconsistent, and its outputs {_says(line)}"
    if any(kind.startswith(("y-depends", "indices-depend")) for kind in stored.kinds):
        return ""
    if stored.verdict is Verdict.UNSTABLE or BEHIND in stored.digests:
        return ""
    if not stored.cells and not stored.shapes and stored.verdict is Verdict.DIVERGES:
        return ""
    if stored.verdict is not line.verdict:
        return f"the verdict is {stored.verdict}, and what is recorded of its outputs {_says(line)}"
    shown = [_without_kind(cell) for cell in line.cells]
    for cell in stored.cells:
        if _without_kind(cell) not in shown:
            other = next((each for each in line.cells if (each.at, each.output) == (cell.at, cell.output)), None)
            return f"the wrong cell {cell} is not one of the case" + (f", where {other}" if other is not None else "")
    return ""


def _is_in_all(case: Case, target: TargetDescription, oracle: GraphOracle, stored: Execution) -> bool:
    """Whether a recorded execution cannot be under any interpretation of its document."""
    for alternative in oracle.alternatives[1:]:
        given = _returned(alternative, stored)
        results = {variant_named(stored.variant): VariantResult(given.outcome)}
        (line,) = executions(judged_case(case, target.name, oracle, results))
        if not (given.contradiction or _contradiction(stored, line)):
            return False
    return True


def _says(line: Execution) -> str:
    return "conforms" if line.verdict is Verdict.CONFORMS else f"gives {line.verdict}"


def _without_kind(cell: Cell) -> Cell:
    return msgspec.structs.replace(cell, kind="")


def _depends_on_another(
    case: Case, target: TargetDescription, oracle: GraphOracle | Refused, stored: Execution, outcome: Outcome
) -> bool:
    """Whether a verdict may compare an execution with one whose outputs are not recovered, so that it may be right."""
    if stored.verdict in _COMPARED_WITH_ANOTHER or any("depend" in kind for kind in stored.kinds):
        return True
    results = {variant_named(stored.variant): VariantResult(outcome)}
    (alone,) = executions(judged_case(case, target.name, oracle, results))
    return alone.verdict is stored.verdict


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.replace(" ", "").split(",") if size)


def _zeros(shape: tuple[int, ...], dtype: np.dtype | None = None) -> np.ndarray:
    """Zeros of a shape that a record claims. Raises :class:`NotInOutput`."""
    if any(size < 0 for size in shape) or math.prod(shape) > _MOST_OF_A_SHAPE or len(shape) > _MOST_AXES:
        raise NotInOutput(f"{list(shape)} is the shape of no output")
    return np.zeros(shape, dtype or np.float32)
