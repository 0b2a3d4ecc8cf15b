"""From what a target did to a verdict: the one place where it is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from maxpool_check.judging.comparison import Comparison, Wrong, compare
from maxpool_check.judging.evidence import MOST, allowed_differences, wrong_cells
from maxpool_check.judging.hypotheses import is_truncated_division
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import identical, same
from maxpool_check.results.outcomes import Crashed, Failed, NotExecuted, Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import AllowedDifference, Cause, Cell, Verdict
from maxpool_check.results.variants import PAIRS, Variant
from maxpool_check.specifications.refused import Refused


@dataclass(frozen=True)
class Judgement:
    """The verdict on one execution, with its proof.

    ``counts`` holds the number of cells of each kind that is about cells, ``cells`` the evidence on some of them.
    ``information`` names differences that the document allows. ``limit``: the refusal is one of a kind that runtimes
    declare or commonly have. ``interpretations`` gives, by point that the document leaves open, the interpretations that the answer agrees
    with; ``differences`` are cells in which a conforming answer is not the reference's. ``causes`` are the mistakes that
    explain the whole answer, or one output.
    """

    verdict: Verdict
    kinds: tuple[DivergenceKind, ...] = ()
    message: str = ""
    counts: Mapping[DivergenceKind, int] | None = None
    cells: tuple[Cell, ...] = ()
    information: tuple[DivergenceKind, ...] = ()
    limit: bool = False
    interpretations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    differences: tuple[AllowedDifference, ...] = ()
    causes: tuple[Cause, ...] = ()


Judged = Oracle | Refused
"""What a document makes of a case: an answer, or a refusal."""


def judge(oracle: Judged, outcomes: Mapping[Variant, Outcome]) -> dict[Variant, Judgement]:
    """Judge one case on one target, however often it was asked."""
    judgements = {variant: _judged(oracle, variant, outcome) for variant, outcome in outcomes.items()}
    if not isinstance(oracle, Oracle):
        return judgements
    for variant, other in PAIRS:
        with_indices, alone = outcomes.get(variant), outcomes.get(other)
        if isinstance(with_indices, Returned) and isinstance(alone, Returned):
            dependent = _dependent(oracle, with_indices.outputs.get("Y"), alone.outputs.get("Y"))
            if dependent is not None:
                judgements[other] = _with(oracle, judgements[other], (dependent,), with_indices, alone)
    for variant in outcomes:
        base, varied = outcomes.get(variant.base), outcomes[variant]
        if variant.variation is not None and isinstance(base, Returned) and isinstance(varied, Returned):
            differences = _varying(oracle, variant, base.outputs, varied.outputs)
            if differences:
                judgements[variant] = _with(oracle, judgements[variant], differences, base, varied)
    return judgements


def _judged(oracle: Judged, variant: Variant, outcome: Outcome) -> Judgement:
    match outcome:
        case Crashed(how, stderr):
            return Judgement(Verdict.CRASHES, (DivergenceKind.CRASH,), f"{how}{': ' if stderr else ''}{stderr}")
        case TimedOut(seconds):
            return Judgement(Verdict.TIMES_OUT, (DivergenceKind.TIMEOUT,), f"no answer within {seconds:g} s")
        case NotExecuted(why):
            return Judgement(Verdict.NOT_EXPRESSIBLE, message=why)
        case Failed(why, _):
            return Judgement(Verdict.ERROR, message=why)
        case RefusedByTarget(status, message):
            return _refused(oracle, variant, status, message)
        case Returned(outputs):
            return _answered(oracle, variant, outputs)


def _refused(oracle: Judged, variant: Variant, status: str, message: str) -> Judgement:
    said = f"{status}: {message}"
    if isinstance(oracle, Refused):
        return Judgement(Verdict.CONFORMS, message=said)
    if oracle.pooling.refusable:
        return Judgement(Verdict.CONFORMS, message=f"{said} (allowed by {oracle.pooling.refusable})")
    if oracle.has_empty:
        return Judgement(Verdict.UNDEFINED, message=said)
    # The domain is a matter of the runtime's own; nobody is promised it.
    limit = status == "NOT_IMPLEMENTED" or oracle.pooling.has_large_pads or variant.in_domain
    return Judgement(Verdict.REFUSES, (DivergenceKind.REFUSES_VALID,), said, limit=limit)


def _answered(oracle: Judged, variant: Variant, outputs: Mapping[str, np.ndarray]) -> Judgement:
    if isinstance(oracle, Refused):
        shapes = ", ".join(f"{name} {list(value.shape)}" for name, value in outputs.items())
        divided = "Y" in outputs and is_truncated_division(oracle, outputs["Y"].shape)
        return Judgement(
            Verdict.DIVERGES,
            (DivergenceKind.ACCEPTS_INVALID, *((DivergenceKind.TRUNCATED_DIVISION,) if divided else ())),
            f"answered {shapes}; the document excludes the graph ({oracle.reason.value}): {oracle}",
        )
    compared = compare(oracle, outputs, variant.outputs)
    judgement = Judgement(
        Verdict.CONFORMS, information=_kinds(compared.information), interpretations=compared.interpretations
    )
    if compared.own:
        return judgement
    if compared.wrong:
        return _diverges(judgement, compared, outputs)
    asked = {name: outputs[name] for name in variant.outputs}
    judgement = replace(judgement, differences=allowed_differences(compared.oracle, asked))
    if compared.oracle.has_empty:
        empty = compared.oracle.pooled.empty
        count, size = int(empty.sum()), empty.size
        message = f"{count} of {size} windows hold no cell of X" + ("; the rest is right" if count < size else "")
        return replace(judgement, verdict=Verdict.UNDEFINED, message=message)
    return judgement


def _diverges(judgement: Judgement, compared: Comparison, outputs: Mapping[str, np.ndarray]) -> Judgement:
    oracle = compared.oracle
    whole = [
        _whole_message(oracle, wrong, outputs.get(wrong.output)) for wrong in compared.wrong if wrong.cells is None
    ]
    evidence = wrong_cells(oracle, compared.wrong, outputs)
    message = "; ".join(whole) or str(evidence[0])
    return replace(
        judgement,
        verdict=Verdict.DIVERGES,
        kinds=_kinds(compared.wrong),
        message=message,
        counts=_counts(compared.wrong),
        cells=evidence,
        causes=compared.causes,
    )


def _whole_message(oracle: Oracle, wrong: Wrong, got: np.ndarray | None) -> str:
    if got is None:
        return f"{wrong.output} did not come"
    if wrong.kind is DivergenceKind.DTYPE:
        return f"{wrong.output} is {got.dtype.name}, expected {oracle.dtype(wrong.output).name}"
    return f"{wrong.output} has the shape {list(got.shape)}, expected {list(oracle.shape)}"


def _dependent(oracle: Oracle, asked: np.ndarray | None, alone: np.ndarray | None) -> Wrong | None:
    """How two answers differ that can both be defended: in their shape, or in some cells."""
    if asked is None or alone is None or identical(asked, alone):
        return None
    if asked.dtype != oracle.X.dtype or alone.dtype != oracle.X.dtype:
        return None
    shapes = {one.shape: one for one in reversed(oracle.meanings)}
    if asked.shape not in shapes or alone.shape not in shapes:
        return None
    if asked.shape != alone.shape:
        return Wrong("Y", DivergenceKind.Y_DEPENDS_ON_INDICES, None)
    one = shapes[asked.shape]
    asked, alone = one.pooling.layout.to_core(asked), one.pooling.layout.to_core(alone)
    # Also in windows without a cell, for which the document gives no result: it is to be one.
    differ = ~same(asked, alone)
    if differ.any():
        differ &= one.acceptable(asked) & one.acceptable(alone)
    return Wrong("Y", DivergenceKind.Y_DEPENDS_ON_INDICES, differ) if differ.any() else None


def _varying(
    oracle: Oracle, variant: Variant, base: Mapping[str, np.ndarray], varied: Mapping[str, np.ndarray]
) -> tuple[Wrong, ...]:
    """In what an answer differs from the one to the variant that is varied, whether either is right or not."""
    found = []
    for name in variant.outputs:
        one, other = base.get(name), varied.get(name)
        if one is None or other is None or identical(one, other):
            continue
        kind = _kind_of_difference(name, variant)
        if one.shape != other.shape or one.dtype != other.dtype or one.ndim != len(oracle.shape):
            found.append(Wrong(name, kind, None))
            continue
        differ = ~same(*(oracle.pooling.layout.to_core(tensor) for tensor in (one, other)))
        if differ.any():
            # Cells are shown where the windows are known.
            found.append(Wrong(name, kind, differ if one.shape == oracle.shape else None))
    return tuple(found)


def _kind_of_difference(output: str, variant: Variant) -> DivergenceKind:
    subject = variant.variation.subject if variant.variation else None
    if subject is None:
        return DivergenceKind.UNSTABLE
    return DivergenceKind(f"{'y-depends-on' if output == 'Y' else 'indices-depend-on'}-{subject}")


def _with(
    oracle: Oracle, before: Judgement, differences: tuple[Wrong, ...], base: Returned, varied: Returned
) -> Judgement:
    """A judgement with the differences from another answer of the same target."""
    one = next((one for one in oracle.meanings if one.shape == base.outputs["Y"].shape), oracle)
    evidence = wrong_cells(one, differences, varied.outputs, instead=base.outputs)
    shapes = "; ".join(
        f"{wrong.output} is {_shown(varied, wrong.output)}, and otherwise {_shown(base, wrong.output)}"
        for wrong in differences
    )
    unstable = any(wrong.kind is DivergenceKind.UNSTABLE for wrong in differences)
    return replace(
        before,
        verdict=Verdict.UNSTABLE if unstable else Verdict.DIVERGES,
        kinds=tuple(sorted({*before.kinds, *_kinds(differences)})),
        message=before.message or (str(evidence[0]) if evidence else shapes),
        counts={**(before.counts or {}), **_counts(differences)},
        # At least one cell of the new kind is shown.
        cells=(*(before.cells[: MOST - 1] if evidence else before.cells), *evidence)[:MOST],
    )


def _shown(answer: Returned, output: str) -> str:
    tensor = answer.outputs[output]
    return f"{tensor.dtype.name}{list(tensor.shape)}"


def _kinds(wrong: Sequence[Wrong]) -> tuple[DivergenceKind, ...]:
    return tuple(sorted({found.kind for found in wrong}))


def _counts(wrong: Sequence[Wrong]) -> dict[DivergenceKind, int]:
    return {found.kind: int(found.cells.sum()) for found in wrong if found.cells is not None}
