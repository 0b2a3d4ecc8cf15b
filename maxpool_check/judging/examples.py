"""An example of each kind, as small as it can be: a case and an answer of which the judge says exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judgement, judge
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.results.outcomes import Crashed, Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.variants import (
    TWICE,
    VARIATIONS,
    WITH_INDICES,
    Y_ALONE,
    Y_AND_INDICES,
    Y_ONLY,
    Variant,
    Variation,
)
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.specification import override

_INF, _NAN = float("inf"), float("nan")
_PLANE = ((1, 2, 3), (4, 5, 6), (7, 8, 9))
_TWO = {"kernel_shape": [2, 2]}
_THREE = {"kernel_shape": [3, 3]}
_LOWEST = float(np.finfo(np.float32).min)
_SONNX = {"nan": "as-neg-inf", "tie": "first", "zero_sign": "chosen"}


@dataclass(frozen=True)
class Example:
    """A case and what some runtime did.

    ``X``, ``Y`` and ``Indices`` are nested lists, N x C x D1 x ... x Dn without their leading axes of length 1; an output
    that is None is the reference's. ``outcome`` stands instead of an answer. ``base`` holds the outputs of the variant
    that this one is held against. ``kinds`` are the other kinds that show as well.
    """

    X: Any = _PLANE
    attributes: Mapping[str, Any] = field(default_factory=lambda: _TWO)
    Y: Any = None
    Indices: Any = None
    dtype: str = "float32"
    index_dtype: str = "int64"
    spec: str = DEFAULT
    policies: Mapping[str, str] = field(default_factory=dict)
    variant: Variant = WITH_INDICES
    outcome: Outcome | None = None
    base: Mapping[str, Any] | None = None
    kinds: tuple[DivergenceKind, ...] = ()

    @property
    def tensor(self) -> np.ndarray:
        """X, N x C x D1 x ... x Dn."""
        return _with_axes(self.X, self.dtype)

    @property
    def oracle(self) -> Oracle | Refused:
        """What the document makes of the case."""
        document, X = specification(self.spec), self.tensor
        try:
            policies = override(document.policies, self.policies)
            return Oracle(X, document.pooling(self.attributes, X.dtype.name, X.shape, policies))
        except Refused as refused:
            return refused

    @property
    def came(self) -> Outcome:
        """What the runtime did."""
        if self.outcome is not None:
            return self.outcome
        oracle = self.oracle
        outputs: dict[str, np.ndarray] = {}
        for name, given, dtype in (("Y", self.Y, self.dtype), ("Indices", self.Indices, self.index_dtype)):
            if given is not None:
                outputs[name] = _with_axes(given, dtype)
            elif isinstance(oracle, Oracle) and name in self.variant.outputs:
                pooled = oracle.pooled.Y if name == "Y" else oracle.pooled.Indices
                assert pooled is not None
                outputs[name] = pooled.astype(NUMPY[dtype])
        return Returned(outputs)

    def judged(self) -> Judgement:
        """What the judge says of it."""
        outcomes = {self.variant: self.came}
        if self.base is not None:
            base = self.variant.base if self.variant.variation else WITH_INDICES
            dtypes = {"Y": self.dtype, "Indices": self.index_dtype}
            outputs = {name: _with_axes(values, dtypes[name]) for name, values in self.base.items()}
            outcomes = {base: Returned(outputs), **outcomes}
        return judge(self.oracle, outcomes)[self.variant]


def _with_axes(values: Any, dtype: str) -> np.ndarray:
    tensor = np.array(values, NUMPY[dtype])
    return tensor.reshape((1,) * (4 - tensor.ndim) + tensor.shape)


def _alone(**fields: Any) -> Example:
    return Example(variant=Y_ONLY, **fields)


def _filled(value: float) -> tuple[tuple[float, ...], ...]:
    return ((value,) * 3,) * 3


def _varied(variation: Variation) -> dict[DivergenceKind, Example]:
    """Y and Indices that depend on a variation, though each is right or wrong by itself."""
    return {
        DivergenceKind(f"y-depends-on-{variation.subject}"): Example(
            _filled(-_INF), _THREE, variant=Variant(Y_ALONE, variation), base={"Y": [[_LOWEST]]}
        ),
        DivergenceKind(f"indices-depend-on-{variation.subject}"): Example(
            _filled(5),
            _THREE,
            Indices=[[8]],
            variant=Variant(Y_AND_INDICES, variation),
            base={"Y": [[5]], "Indices": [[0]]},
        ),
    }


_NEGATIVE = ((-1, -2, -3), (-4, -5, -6), (-7, -8, -9))
_FIRST_NAN = ((_NAN, 2, 3), (4, 5, 6), (7, 8, 9))
_PADDED = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}

EXAMPLES: dict[DivergenceKind, Example] = {
    DivergenceKind.Y_LOWEST_FOR_NEG_INF: _alone(X=_filled(-_INF), attributes=_THREE, Y=[[_LOWEST]]),
    DivergenceKind.Y_ALL_NAN_TO_LOWEST: _alone(X=_filled(_NAN), attributes=_THREE, Y=[[_LOWEST]], policies=_SONNX),
    DivergenceKind.Y_NAN_DROPPED: _alone(X=_FIRST_NAN, attributes=_THREE, Y=[[9]], policies={"nan": "propagates"}),
    DivergenceKind.Y_NAN_INTRODUCED: _alone(X=_FIRST_NAN, attributes=_THREE, Y=[[_NAN]], policies=_SONNX),
    DivergenceKind.Y_NAN_ORDER_DEPENDENT: _alone(X=((9, 2, 3), (4, _NAN, 6), (7, 8, 5)), attributes=_THREE, Y=[[8]]),
    DivergenceKind.Y_SIGNED_ZERO: _alone(
        X=((-0.0, 0.0, -1), (-1, -1, -1), (-1, -1, -1)), attributes=_THREE, Y=[[0.0]], policies=_SONNX
    ),
    DivergenceKind.Y_PAD_VALUE_LEAK: _alone(X=_NEGATIVE, attributes=_PADDED, Y=[[0, 0, 0], [0, -1, 0], [0, 0, 0]]),
    DivergenceKind.Y_ROUNDED_TO_FLOAT32: _alone(
        X=((0.1, 0, 0), (0, 0, 0), (0, 0, 0)), attributes=_THREE, Y=[[0.10000000149011612]], dtype="float64"
    ),
    DivergenceKind.Y_ROUNDED_TO_FLOAT16: _alone(
        X=((0.1, 0, 0), (0, 0, 0), (0, 0, 0)), attributes=_THREE, Y=[[0.0999755859375]]
    ),
    DivergenceKind.Y_ROUNDED_TO_BFLOAT16: _alone(
        X=((0.1, 0, 0), (0, 0, 0), (0, 0, 0)), attributes=_THREE, Y=[[0.10009765625]]
    ),
    DivergenceKind.Y_FLUSHED_SUBNORMAL: _alone(
        X=((1e-40, -1, -1), (-1, -1, -1), (-1, -1, -1)), attributes=_THREE, Y=[[0]]
    ),
    DivergenceKind.Y_SATURATED_INFINITY: _alone(
        X=((_INF, 2, 3), (4, 5, 6), (7, 8, 9)), attributes=_THREE, Y=[[-_LOWEST]]
    ),
    DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM: _alone(attributes=_THREE, Y=[[8]]),
    DivergenceKind.Y_FROM_OUTSIDE_WINDOW: _alone(Y=[[5, 6], [8, 3]]),
    DivergenceKind.Y_NOT_IN_INPUT: _alone(Y=[[5, 6], [8, 10]]),
    DivergenceKind.INDICES_SENTINEL: Example(_filled(-_INF), _THREE, Indices=[[-4]]),
    DivergenceKind.INDICES_PLANE_ORIGIN: Example(Indices=[[4, 5], [7, 0]]),
    DivergenceKind.INDICES_OUT_OF_RANGE: Example(Indices=[[4, 5], [7, 9]]),
    DivergenceKind.INDICES_OUTSIDE_WINDOW: Example(Indices=[[4, 5], [7, 1]]),
    DivergenceKind.INDICES_AT_PADDING: Example(_filled(0), _PADDED, Indices=[[-4, -3, -2], [-1, 0, 3], [2, 9, 6]]),
    DivergenceKind.INDICES_AT_NAN: Example(_FIRST_NAN, _THREE, Indices=[[0]], policies=_SONNX),
    DivergenceKind.INDICES_IN_WINDOW_NOT_MAXIMUM: Example(attributes=_THREE, Indices=[[7]]),
    DivergenceKind.INDICES_TIE_LAST: Example(_filled(5), _THREE, Indices=[[8]], policies=_SONNX),
    DivergenceKind.INDICES_TIE_COLUMN_FIRST: Example(
        ((1, 5, 1), (5, 1, 1), (1, 1, 5)), _THREE, Indices=[[3]], policies=_SONNX
    ),
    DivergenceKind.INDICES_TIE_OTHER: Example(_filled(5), _THREE, Indices=[[4]], policies=_SONNX),
    DivergenceKind.INDICES_DISAGREES_WITH_Y: Example(_FIRST_NAN, _THREE, Y=[[9]], Indices=[[0]]),
    DivergenceKind.INDICES_PLANE_RELATIVE: Example((_PLANE, _PLANE), _THREE, Indices=[[[8]], [[8]]]),
    DivergenceKind.INDICES_STORAGE_ORDER: Example(Indices=[[4, 7], [5, 8]]),
    DivergenceKind.INDICES_AXES_SWAPPED: Example(((1, 2, 3), (4, 5, 6)), Indices=[[3, 4]]),
    DivergenceKind.INDICES_NHWC_FLAT: Example((_PLANE, _PLANE), _THREE, Indices=[[[16]], [[17]]]),
    DivergenceKind.INDICES_IN_PADDED_TENSOR: Example(
        attributes={**_PADDED, "strides": [2, 2]}, Indices=[[12, 13], [17, 18]]
    ),
    DivergenceKind.INDICES_MODULO_AXIS: Example(
        (_PLANE, _PLANE),
        {"kernel": [3, 3], "strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "axis": 2},
        Indices=[[[8]], [[17]]],
        spec="openvino-8",
    ),
    DivergenceKind.PADS_BEGIN_END_EXCHANGED: _alone(
        attributes={**_TWO, "pads": [1, 1, 0, 0]}, Y=[[5, 6, 6], [8, 9, 9], [8, 9, 9]]
    ),
    DivergenceKind.PADS_INTERLEAVED: _alone(
        attributes={**_TWO, "pads": [1, 0, 1, 0]}, Y=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    ),
    DivergenceKind.PADS_AXES_EXCHANGED: _alone(
        attributes={**_TWO, "pads": [1, 0, 1, 0]}, Y=[[4, 5, 6, 6], [7, 8, 9, 9]]
    ),
    DivergenceKind.SAME_UPPER_LOWER_EXCHANGED: _alone(attributes={**_TWO, "auto_pad": "SAME_UPPER"}, Y=_PLANE),
    DivergenceKind.SAME_IGNORES_DILATION: _alone(
        attributes={**_TWO, "dilations": [2, 2], "auto_pad": "SAME_UPPER"}, Y=[[9, 8], [6, 5]]
    ),
    DivergenceKind.SAME_UNCLAMPED: _alone(
        attributes={"kernel_shape": [1, 1], "strides": [3, 3], "auto_pad": "SAME_UPPER"}, Y=[[5]]
    ),
    DivergenceKind.CEIL_FLOOR_EXCHANGED: _alone(attributes={**_TWO, "strides": [2, 2], "ceil_mode": 1}, Y=[[5]]),
    DivergenceKind.CEIL_CLIP_EXCHANGED: _alone(
        attributes={"kernel_shape": [1, 1], "strides": [2, 2], "pads": [0, 0, 1, 1], "ceil_mode": 1},
        Y=[[1, 3, _LOWEST], [7, 9, _LOWEST], [_LOWEST, _LOWEST, _LOWEST]],
    ),
    DivergenceKind.DILATION_IGNORED: _alone(attributes={**_TWO, "dilations": [2, 2]}, Y=[[5, 6], [8, 9]]),
    DivergenceKind.DILATION_AXES_EXCHANGED: _alone(attributes={**_TWO, "dilations": [1, 2]}, Y=[[8, 9]]),
    DivergenceKind.DILATION_PHASE_LOST: _alone(
        attributes={**_TWO, "dilations": [2, 2], "pads": [1, 1, 1, 1]}, Y=[[1, 3, 2], [7, 9, 8], [4, 6, 5]]
    ),
    DivergenceKind.STRIDES_AXES_EXCHANGED: _alone(
        attributes={"kernel_shape": [1, 1], "strides": [1, 2]}, Y=[[1, 2, 3], [7, 8, 9]]
    ),
    DivergenceKind.KERNEL_AXES_EXCHANGED: _alone(attributes={"kernel_shape": [1, 2]}, Y=[[4, 5, 6], [7, 8, 9]]),
    DivergenceKind.TRUNCATED_DIVISION: _alone(
        attributes={"kernel_shape": [4, 4], "strides": [2, 2]}, Y=[[9]], kinds=(DivergenceKind.ACCEPTS_INVALID,)
    ),
    DivergenceKind.SHAPE: _alone(Y=[[5, 6, 9]]),
    DivergenceKind.DTYPE: Example(index_dtype="int32"),
    DivergenceKind.MISSING_OUTPUT: Example(outcome=Returned({"Y": _with_axes([[5, 6], [8, 9]], "float32")})),
    DivergenceKind.ACCEPTS_INVALID: _alone(attributes={**_TWO, "strides": [0, 0]}, Y=[[5]]),
    DivergenceKind.REFUSES_VALID: Example(outcome=RefusedByTarget("NOT_IMPLEMENTED", "no kernel for this MaxPool")),
    DivergenceKind.CRASH: Example(outcome=Crashed("killed by SIGFPE", "")),
    DivergenceKind.TIMEOUT: Example(outcome=TimedOut(10)),
    DivergenceKind.Y_DEPENDS_ON_INDICES: _alone(
        X=_FIRST_NAN, attributes=_THREE, Y=[[_NAN]], base={"Y": [[9]], "Indices": [[8]]}
    ),
    **{
        kind: example
        for variation in VARIATIONS
        if variation.subject is not None
        for kind, example in _varied(variation).items()
    },
    DivergenceKind.UNSTABLE: Example(
        _FIRST_NAN,
        _THREE,
        Y=[[_NAN]],
        Indices=[[0]],
        variant=Variant(Y_AND_INDICES, TWICE),
        base={"Y": [[9]], "Indices": [[8]]},
    ),
}
"""One for every kind; the outputs that came are worked out by hand."""
