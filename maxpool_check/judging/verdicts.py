"""The verdicts on the outputs of MaxPool: by the document, and compared with those of another variant."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from maxpool_check.judging.comparison import MOST_CELLS, WrongOutput, allowed_differences, compare, wrong_cells
from maxpool_check.judging.judgement import Judgement
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.shapes import wrong_shapes
from maxpool_check.reference.dtypes import identical, same
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import OTHER_KERNELS, Variant

_ALLOWED = (Verdict.CONFORMS, Verdict.UNDEFINED)
"""The verdicts on outputs that the document allows."""


def judge_outputs(oracle: Oracle, names: tuple[str, ...], outputs: Mapping[str, np.ndarray]) -> Judgement:
    """Judge the outputs of a MaxPool, of which those of these names were requested."""
    comparison = compare(oracle, outputs, names)
    # The alternative that agrees, or the nearest.
    oracle = comparison.oracle
    judgement = Judgement(
        Verdict.CONFORMS, information=_kinds(comparison.information), interpretations=comparison.interpretations
    )
    if comparison.identical:
        return judgement
    requested = {name: outputs[name] for name in names if name in outputs}
    if comparison.wrong:
        evidence = wrong_cells(oracle, comparison.wrong, outputs)
        messages = [wrong.message for wrong in comparison.wrong if wrong.cells is None]
        return replace(
            judgement,
            verdict=Verdict.DIVERGES,
            kinds=comparison.kinds,
            message="; ".join(messages) or str(evidence[0]),
            counts=_counts(comparison.wrong),
            cells=evidence,
            causes=comparison.causes,
            shapes=wrong_shapes(oracle, {name: tensor.shape for name, tensor in requested.items()}, comparison.kinds),
        )
    judgement = replace(judgement, differences=allowed_differences(oracle, requested))
    if oracle.has_undefined:
        count, size = int(oracle.pooled.undefined.sum()), oracle.pooled.undefined.size
        message = f"{count} of {size} windows hold no cell of X" + ("; the rest is right" if count < size else "")
        return replace(judgement, verdict=Verdict.UNDEFINED, message=message)
    return judgement


def judge_variation(
    oracle: Oracle,
    variant: Variant,
    base_judgement: Judgement,
    judgement: Judgement,
    base: Mapping[str, np.ndarray],
    varied: Mapping[str, np.ndarray],
) -> Judgement:
    """The judgement on a variant, compared with the variant that it must agree with."""
    compare_outputs = _variation_differences if variant.variation else _defensible_differences
    differences = compare_outputs(oracle, variant, base, varied)
    if not differences or Verdict.ERROR in (base_judgement.verdict, judgement.verdict):
        return judgement
    if variant.variation in OTHER_KERNELS and not {base_judgement.verdict, judgement.verdict} <= {*_ALLOWED}:
        # The one that is wrong diverges from the reference.
        return judgement
    verdict = Verdict.DIVERGES
    if any(difference.kind is DivergenceKind.UNSTABLE for difference in differences):
        verdict = Verdict.UNSTABLE
    # Y with Indices and Y alone are compared only where the document allows both.
    elif judgement.verdict in _ALLOWED and (variant.variation is None or base_judgement.verdict in _ALLOWED):
        verdict = Verdict.INCONSISTENT
    return replace(_with_differences(oracle, judgement, differences, base, varied), verdict=verdict)


def _defensible_differences(
    oracle: Oracle, _: Variant, with_indices: Mapping[str, np.ndarray], y_only: Mapping[str, np.ndarray]
) -> tuple[WrongOutput, ...]:
    """Where two Y differ that both conform: in their shape, or in some cells."""
    a, b = with_indices.get("Y"), y_only.get("Y")
    if a is None or b is None or identical(a, b) or {a.dtype, b.dtype} != {oracle.dtype("Y")}:
        return ()
    oracles = {alternative.shape: alternative for alternative in reversed(oracle.alternatives)}
    if a.shape not in oracles or b.shape not in oracles:
        return ()
    if a.shape != b.shape:
        return (WrongOutput("Y", DivergenceKind.Y_DEPENDS_ON_INDICES, None),)
    oracle = oracles[a.shape]
    a, b = oracle.pooling.layout.to_core(a), oracle.pooling.layout.to_core(b)
    # Also in windows without a cell of X: where the document gives no result, there must be only one.
    differ = ~same(a, b)
    if differ.any():
        differ &= oracle.acceptable(a) & oracle.acceptable(b)
    return (WrongOutput("Y", DivergenceKind.Y_DEPENDS_ON_INDICES, differ),) if differ.any() else ()


def _variation_differences(
    oracle: Oracle, variant: Variant, base: Mapping[str, np.ndarray], varied: Mapping[str, np.ndarray]
) -> tuple[WrongOutput, ...]:
    """Where the outputs of a variation differ from those of its base, whether either is right or not."""
    differences = []
    for name in variant.outputs:
        a, b = base.get(name), varied.get(name)
        if a is None or b is None or identical(a, b):
            continue
        kind = DivergenceKind.UNSTABLE
        if variant.variation and variant.variation.subject:
            prefix = "y-depends-on" if name == "Y" else "indices-depend-on"
            kind = DivergenceKind(f"{prefix}-{variant.variation.subject}")
        if a.shape != b.shape or a.dtype != b.dtype or a.ndim != len(oracle.shape):
            differences.append(WrongOutput(name, kind, None))
            continue
        differ = ~same(oracle.pooling.layout.to_core(a), oracle.pooling.layout.to_core(b))
        if differ.any():
            # Cells are shown only if the windows are known.
            differences.append(WrongOutput(name, kind, differ if a.shape == oracle.shape else None))
    return tuple(differences)


def _with_differences(
    oracle: Oracle,
    judgement: Judgement,
    differences: tuple[WrongOutput, ...],
    base: Mapping[str, np.ndarray],
    varied: Mapping[str, np.ndarray],
) -> Judgement:
    """The judgement on a variant with its differences from the variant that it is compared with."""
    shape = base[differences[0].output].shape
    oracle = next((alternative for alternative in oracle.alternatives if alternative.shape == shape), oracle)
    evidence = wrong_cells(oracle, differences, varied, instead=base)
    shapes = "; ".join(
        f"{name} is {_shape(varied[name])}, and otherwise {_shape(base[name])}"
        for name in (difference.output for difference in differences)
    )
    return replace(
        judgement,
        kinds=tuple(sorted({*judgement.kinds, *_kinds(differences)})),
        message=judgement.message or (str(evidence[0]) if evidence else shapes),
        counts={**(judgement.counts or {}), **_counts(differences)},
        # At least one cell of the new kind is shown.
        cells=(*(judgement.cells[: MOST_CELLS - 1] if evidence else judgement.cells), *evidence)[:MOST_CELLS],
    )


def _shape(tensor: np.ndarray) -> str:
    return f"{tensor.dtype.name}{list(tensor.shape)}"


def _kinds(wrong: Sequence[WrongOutput]) -> tuple[DivergenceKind, ...]:
    return tuple(sorted({output.kind for output in wrong}))


def _counts(wrong: Sequence[WrongOutput]) -> dict[DivergenceKind, int]:
    return {output.kind: int(output.cells.sum()) for output in wrong if output.cells is not None}
