"""Verdicts made again from a record and its cases alone, by the same judge: what a verdict says must follow from them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.graphs.context import BEHIND
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import digest
from maxpool_check.reference.pooling import Pooling
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
from maxpool_check.results.outputs import MOST_BYTES, MOST_BYTES_IN_ALL, StoredOutput
from maxpool_check.results.record import REPORTED, Execution, TargetDescription, Verdict
from maxpool_check.results.variants import OPTIMIZATION_OFF, Variant
from maxpool_check.running.case_run import executions, judged_case
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.targets.plans import VariantResult
from maxpool_check.targets.protocol import Request

_ENCODER = msgspec.json.Encoder(order="sorted")
_LIMIT = re.compile(r"no result within (\S+) s")
_EXPLAINED = REPORTED | {Verdict.UNDEFINED, Verdict.ERROR}
_BY_THE_CASE = ("title", "spec", "layout", "size", "clauses")
_OF_EXPLAINED = ("input", "erratum")


@dataclass(frozen=True)
class Rejudged:
    """An execution as the judge makes it, before known defects are applied.

    ``is_certain``: it follows from the record. If not, an output is too large for the record, and it is the recorded execution,
    with what follows from its case. ``contradiction`` says what in it cannot be, if anything.
    """

    execution: Execution
    is_certain: bool = True
    contradiction: str = ""


class HeldOutputs:
    """The outputs that a record holds, by digest; ``left_out`` are digests of those that it may leave out, as far as met.

    A record of an older version, which is not ``complete``, may leave out any.
    """

    def __init__(self, outputs: Mapping[str, StoredOutput], *, complete: bool) -> None:
        self._outputs, self._complete = outputs, complete
        self._size = sum(len(each.data) // 2 for each in outputs.values())
        self._named: set[str] = set()
        self.left_out: set[str] = set()

    def of(self, oracle: GraphOracle | Refused, execution: Execution) -> dict[str, np.ndarray] | None:
        """The outputs of an execution by name; None if the record may leave one out. Raises ``ValueError`` if it may not.

        Outputs that the record does not hold are the reference's.
        """
        expected = {} if isinstance(oracle, Refused) else oracle.expected
        tensors = {}
        for name, sha256 in execution.digests.items():
            self._named.add(sha256)
            if sha256 in self._outputs:
                tensors[name] = self._outputs[sha256].tensor()
            elif name in expected and digest(expected[name]) == sha256:
                tensors[name] = expected[name]
            elif not self._may_lack(name, expected, execution):
                raise ValueError(f"{name} is not the reference's, and the record does not hold it")
            else:
                self.left_out.add(sha256)
        return tensors if len(tensors) == len(execution.digests) else None

    def _may_lack(self, name: str, expected: Mapping[str, np.ndarray], execution: Execution) -> bool:
        """Whether an output is too large for the record, as far as its size is known."""
        if (
            not self._complete
            or name not in expected
            or DivergenceKind.DTYPE.value in execution.kinds
            or name in execution.shapes
        ):
            return True
        size = expected[name].nbytes
        return size > MOST_BYTES or self._size + size > MOST_BYTES_IN_ALL

    @property
    def unnamed(self) -> set[str]:
        """Digests of the outputs that no execution names."""
        return set(self._outputs) - self._named


def rejudged(
    case: Case, target: TargetDescription, stored: Mapping[Variant, Execution], held: HeldOutputs, given_up: str | None
) -> dict[Variant, Rejudged]:
    """The executions of a case on a target, by variant, judged again; ``given_up`` is why the target could not go on, if so."""
    oracle = case.oracle()
    outcomes: dict[Variant, Outcome] = {}
    result = {}
    for variant, execution in stored.items():
        try:
            outcome = _outcome(oracle, variant, execution, held, given_up)
        except ValueError as error:
            result[variant] = _by_the_case(case, target, oracle, variant, execution, str(error))
            continue
        if outcome is None:
            result[variant] = _by_the_case(case, target, oracle, variant, execution)
        else:
            outcomes[variant] = outcome
    lacks_outputs = bool(result)
    stored = {variant: stored[variant] for variant in outcomes}
    forms = [_judged(case, target, oracle, stored, outcomes, is_same) for is_same in _placements(case)]
    for variant, execution in stored.items():
        plain = msgspec.structs.replace(execution, known=None, status="")
        lines = [form[variant] for form in forms]
        line = next((each for each in lines if is_same_line(each, plain)), lines[0])
        # Where an output of another variant is missing, a verdict that compares the two may be right.
        may_compare = lacks_outputs and isinstance(outcomes[variant], Returned) and not is_same_line(line, plain)
        result[variant] = _by_the_case(case, target, oracle, variant, plain) if may_compare else Rejudged(line)
    return result


def is_same_line(a: Execution, b: Execution) -> bool:
    """Whether two executions are the same line of a record, which knows no infinity and no NaN."""
    return _ENCODER.encode(a) == _ENCODER.encode(b)


def _by_the_case(
    case: Case, target: TargetDescription, oracle: GraphOracle | Refused, variant: Variant, stored: Execution,
    contradiction: str = "",
) -> Rejudged:  # fmt: skip
    """The recorded execution of a target that returned outputs, with all that does not depend on them made from its case."""
    (line,) = executions(judged_case(case, target.name, oracle, {variant: VariantResult(Crashed("", ""))}))
    fields = {name: getattr(line, name) for name in _BY_THE_CASE}
    fields |= {name: getattr(line, name) if stored.verdict in _EXPLAINED else None for name in _OF_EXPLAINED}
    execution = msgspec.structs.replace(stored, known=None, status="", **fields, limit=False, traceback="")
    return Rejudged(execution, is_certain=False, contradiction=contradiction)


def _placements(case: Case) -> tuple[bool, ...]:
    """Whether the target was given SAME_*, which no record says: either, where it matters."""
    resolved = case.resolved
    has_same = isinstance(resolved, Pooling) and resolved.placement is not None and resolved.placement.is_same
    return (True, False) if has_same else (True,)


def _judged(
    case: Case, target: TargetDescription, oracle: GraphOracle | Refused, stored: Mapping[Variant, Execution],
    outcomes: Mapping[Variant, Outcome], is_same: bool,
) -> dict[Variant, Execution]:  # fmt: skip
    """The executions that the judge makes of outcomes; what it does not decide is as recorded."""
    request = Request(case.X.tensor(), (), b"", {"auto_pad": "SAME_UPPER"}) if is_same else None
    results = {
        variant: VariantResult(outcomes[variant], execution.opset, execution.translation, request, execution.seconds)
        for variant, execution in stored.items()
    }
    unoptimized = _unoptimized(oracle, target, stored)
    lines = executions(judged_case(case, target.name, oracle, results, unoptimized))
    return {
        variant: msgspec.structs.replace(
            line, origin=stored[variant].origin, seconds=stored[variant].seconds, matched=stored[variant].matched
        )
        for variant, line in zip(results, lines, strict=True)
    }


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
    return {
        variant: VariantResult(Returned({name: oracle.expected[name] for name in variant.outputs}))
        for variant in stored
        if variant.variation is None
        and not variant.in_domain
        and Variant(variant.outputs, OPTIMIZATION_OFF) not in stored
    }


def _outcome(
    oracle: GraphOracle | Refused, variant: Variant, execution: Execution, held: HeldOutputs, given_up: str | None
) -> Outcome | None:
    """The outcome that a record tells; None if it leaves out an output. Raises ``ValueError`` for outputs that cannot be.

    The verdict says what a target did that returned nothing, and must follow from it in turn.
    """
    if execution.digests or execution.verdict is Verdict.DIVERGES:
        sides = oracle.graph.context.side_outputs if isinstance(oracle, GraphOracle) else ()
        if extra := sorted(execution.digests.keys() - {*variant.outputs, *sides, BEHIND}):
            raise ValueError(f"has a digest of {', '.join(extra)}, which its variant does not return")
        outputs = held.of(oracle, execution)
        return None if outputs is None else Returned(outputs)
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
