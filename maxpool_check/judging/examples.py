"""An example of each kind, as small as it can be: a case and an answer of which the judge says exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxpool_check.judging.expected import Expected
from maxpool_check.judging.kinds import Kind
from maxpool_check.judging.verdicts import Judgement, judge
from maxpool_check.outcome import Answered, Crashed, Outcome, RefusedByTarget, TimedOut
from maxpool_check.question import Question
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.specifications import specification
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
    that is None is the reference's. ``outcome`` stands instead of an answer. ``base`` holds the outputs of the question
    that this one is held against. ``kinds`` are the other kinds that show as well.
    """

    X: Any = _PLANE
    attributes: Mapping[str, Any] = field(default_factory=lambda: _TWO)
    Y: Any = None
    Indices: Any = None
    dtype: str = "float32"
    index_dtype: str = "int64"
    spec: str = "onnx-22"
    policies: Mapping[str, str] = field(default_factory=dict)
    question: Question = Question.INDICES
    outcome: Outcome | None = None
    base: Mapping[str, Any] | None = None
    kinds: tuple[Kind, ...] = ()

    @property
    def tensor(self) -> np.ndarray:
        """X, N x C x D1 x ... x Dn."""
        return _with_axes(self.X, self.dtype)

    @property
    def meaning(self) -> Expected | Refused:
        """What the document makes of the case."""
        document, X = specification(self.spec), self.tensor
        try:
            policies = override(document.policies, self.policies)
            return Expected(X, document.pooling(self.attributes, X.dtype.name, X.shape, policies))
        except Refused as refused:
            return refused

    @property
    def came(self) -> Outcome:
        """What the runtime did."""
        if self.outcome is not None:
            return self.outcome
        meaning = self.meaning
        outputs: dict[str, np.ndarray] = {}
        for name, given, dtype in (("Y", self.Y, self.dtype), ("Indices", self.Indices, self.index_dtype)):
            if given is not None:
                outputs[name] = _with_axes(given, dtype)
            elif isinstance(meaning, Expected) and name in self.question.outputs:
                pooled = meaning.pooled.Y if name == "Y" else meaning.pooled.Indices
                assert pooled is not None
                outputs[name] = pooled.astype(NUMPY[dtype])
        return Answered(outputs)

    def judged(self) -> Judgement:
        """What the judge says of it."""
        outcomes = {self.question: self.came}
        if self.base is not None:
            base = self.question.base if self.question.variation else Question.INDICES
            dtypes = {"Y": self.dtype, "Indices": self.index_dtype}
            outputs = {name: _with_axes(values, dtypes[name]) for name, values in self.base.items()}
            outcomes = {base: Answered(outputs), **outcomes}
        return judge(self.meaning, outcomes)[self.question]


def _with_axes(values: Any, dtype: str) -> np.ndarray:
    tensor = np.array(values, NUMPY[dtype])
    return tensor.reshape((1,) * (4 - tensor.ndim) + tensor.shape)


def _alone(**fields: Any) -> Example:
    return Example(question=Question.Y_ONLY, **fields)


def _filled(value: float) -> tuple[tuple[float, ...], ...]:
    return ((value,) * 3,) * 3


def _varied(question: str) -> dict[Kind, Example]:
    """Y and Indices that are others, though either is right or wrong by itself."""
    of = {"optimization-off": "optimization", "oldest-opset": "opset", "default-threads": "threads"}
    name = of.get(question, question.partition("-")[0])
    return {
        Kind(f"y-depends-on-{name}"): Example(
            _filled(-_INF), _THREE, question=Question(f"y-only-{question}"), base={"Y": [[_LOWEST]]}
        ),
        Kind(f"indices-depend-on-{name}"): Example(
            _filled(5),
            _THREE,
            Indices=[[8]],
            question=Question(f"indices-{question}"),
            base={"Y": [[5]], "Indices": [[0]]},
        ),
    }


_NEGATIVE = ((-1, -2, -3), (-4, -5, -6), (-7, -8, -9))
_FIRST_NAN = ((_NAN, 2, 3), (4, 5, 6), (7, 8, 9))
_PADDED = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}

EXAMPLES: dict[Kind, Example] = {
    Kind.Y_LOWEST_FOR_NEG_INF: _alone(X=_filled(-_INF), attributes=_THREE, Y=[[_LOWEST]]),
    Kind.Y_ALL_NAN_TO_LOWEST: _alone(X=_filled(_NAN), attributes=_THREE, Y=[[_LOWEST]], policies=_SONNX),
    Kind.Y_NAN_DROPPED: _alone(X=_FIRST_NAN, attributes=_THREE, Y=[[9]], policies={"nan": "propagates"}),
    Kind.Y_NAN_INTRODUCED: _alone(X=_FIRST_NAN, attributes=_THREE, Y=[[_NAN]], policies=_SONNX),
    Kind.Y_NAN_ORDER_DEPENDENT: _alone(X=((9, 2, 3), (4, _NAN, 6), (7, 8, 5)), attributes=_THREE, Y=[[8]]),
    Kind.Y_SIGNED_ZERO: _alone(
        X=((-0.0, 0.0, -1), (-1, -1, -1), (-1, -1, -1)), attributes=_THREE, Y=[[0.0]], policies=_SONNX
    ),
    Kind.Y_PAD_VALUE_LEAK: _alone(X=_NEGATIVE, attributes=_PADDED, Y=[[0, 0, 0], [0, -1, 0], [0, 0, 0]]),
    Kind.Y_ROUNDED_TO_FLOAT32: _alone(
        X=((0.1, 0, 0), (0, 0, 0), (0, 0, 0)), attributes=_THREE, Y=[[0.10000000149011612]], dtype="float64"
    ),
    Kind.Y_ROUNDED_TO_FLOAT16: _alone(X=((0.1, 0, 0), (0, 0, 0), (0, 0, 0)), attributes=_THREE, Y=[[0.0999755859375]]),
    Kind.Y_ROUNDED_TO_BFLOAT16: _alone(X=((0.1, 0, 0), (0, 0, 0), (0, 0, 0)), attributes=_THREE, Y=[[0.10009765625]]),
    Kind.Y_FLUSHED_SUBNORMAL: _alone(X=((1e-40, -1, -1), (-1, -1, -1), (-1, -1, -1)), attributes=_THREE, Y=[[0]]),
    Kind.Y_SATURATED_INFINITY: _alone(X=((_INF, 2, 3), (4, 5, 6), (7, 8, 9)), attributes=_THREE, Y=[[-_LOWEST]]),
    Kind.Y_IN_WINDOW_NOT_MAXIMUM: _alone(attributes=_THREE, Y=[[8]]),
    Kind.Y_FROM_OUTSIDE_WINDOW: _alone(Y=[[5, 6], [8, 3]]),
    Kind.Y_NOT_IN_INPUT: _alone(Y=[[5, 6], [8, 10]]),
    Kind.INDICES_SENTINEL: Example(_filled(-_INF), _THREE, Indices=[[-4]]),
    Kind.INDICES_PLANE_ORIGIN: Example(Indices=[[4, 5], [7, 0]]),
    Kind.INDICES_OUT_OF_RANGE: Example(Indices=[[4, 5], [7, 9]]),
    Kind.INDICES_OUTSIDE_WINDOW: Example(Indices=[[4, 5], [7, 1]]),
    Kind.INDICES_AT_PADDING: Example(_filled(0), _PADDED, Indices=[[-4, -3, -2], [-1, 0, 3], [2, 9, 6]]),
    Kind.INDICES_AT_NAN: Example(_FIRST_NAN, _THREE, Indices=[[0]], policies=_SONNX),
    Kind.INDICES_IN_WINDOW_NOT_MAXIMUM: Example(attributes=_THREE, Indices=[[7]]),
    Kind.INDICES_TIE_LAST: Example(_filled(5), _THREE, Indices=[[8]], policies=_SONNX),
    Kind.INDICES_TIE_COLUMN_FIRST: Example(((1, 5, 1), (5, 1, 1), (1, 1, 5)), _THREE, Indices=[[3]], policies=_SONNX),
    Kind.INDICES_TIE_OTHER: Example(_filled(5), _THREE, Indices=[[4]], policies=_SONNX),
    Kind.INDICES_DISAGREES_WITH_Y: Example(_FIRST_NAN, _THREE, Y=[[9]], Indices=[[0]]),
    Kind.INDICES_PLANE_RELATIVE: Example((_PLANE, _PLANE), _THREE, Indices=[[[8]], [[8]]]),
    Kind.INDICES_STORAGE_ORDER: Example(Indices=[[4, 7], [5, 8]]),
    Kind.INDICES_AXES_SWAPPED: Example(((1, 2, 3), (4, 5, 6)), Indices=[[3, 4]]),
    Kind.INDICES_NHWC_FLAT: Example((_PLANE, _PLANE), _THREE, Indices=[[[16]], [[17]]]),
    Kind.INDICES_IN_PADDED_TENSOR: Example(attributes={**_PADDED, "strides": [2, 2]}, Indices=[[12, 13], [17, 18]]),
    Kind.INDICES_MODULO_AXIS: Example(
        (_PLANE, _PLANE),
        {"kernel": [3, 3], "strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "axis": 2},
        Indices=[[[8]], [[17]]],
        spec="openvino-8",
    ),
    Kind.PADS_BEGIN_END_EXCHANGED: _alone(
        attributes={**_TWO, "pads": [1, 1, 0, 0]}, Y=[[5, 6, 6], [8, 9, 9], [8, 9, 9]]
    ),
    Kind.PADS_INTERLEAVED: _alone(attributes={**_TWO, "pads": [1, 0, 1, 0]}, Y=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
    Kind.PADS_AXES_EXCHANGED: _alone(attributes={**_TWO, "pads": [1, 0, 1, 0]}, Y=[[4, 5, 6, 6], [7, 8, 9, 9]]),
    Kind.SAME_UPPER_LOWER_EXCHANGED: _alone(attributes={**_TWO, "auto_pad": "SAME_UPPER"}, Y=_PLANE),
    Kind.SAME_IGNORES_DILATION: _alone(
        attributes={**_TWO, "dilations": [2, 2], "auto_pad": "SAME_UPPER"}, Y=[[9, 8], [6, 5]]
    ),
    Kind.SAME_UNCLAMPED: _alone(
        attributes={"kernel_shape": [1, 1], "strides": [3, 3], "auto_pad": "SAME_UPPER"}, Y=[[5]]
    ),
    Kind.CEIL_FLOOR_EXCHANGED: _alone(attributes={**_TWO, "strides": [2, 2], "ceil_mode": 1}, Y=[[5]]),
    Kind.CEIL_CLIP_EXCHANGED: _alone(
        attributes={"kernel_shape": [1, 1], "strides": [2, 2], "pads": [0, 0, 1, 1], "ceil_mode": 1},
        Y=[[1, 3, _LOWEST], [7, 9, _LOWEST], [_LOWEST, _LOWEST, _LOWEST]],
    ),
    Kind.DILATION_IGNORED: _alone(attributes={**_TWO, "dilations": [2, 2]}, Y=[[5, 6], [8, 9]]),
    Kind.DILATION_AXES_EXCHANGED: _alone(attributes={**_TWO, "dilations": [1, 2]}, Y=[[8, 9]]),
    Kind.DILATION_PHASE_LOST: _alone(
        attributes={**_TWO, "dilations": [2, 2], "pads": [1, 1, 1, 1]}, Y=[[1, 3, 2], [7, 9, 8], [4, 6, 5]]
    ),
    Kind.STRIDES_AXES_EXCHANGED: _alone(
        attributes={"kernel_shape": [1, 1], "strides": [1, 2]}, Y=[[1, 2, 3], [7, 8, 9]]
    ),
    Kind.KERNEL_AXES_EXCHANGED: _alone(attributes={"kernel_shape": [1, 2]}, Y=[[4, 5, 6], [7, 8, 9]]),
    Kind.TRUNCATED_DIVISION: _alone(
        attributes={"kernel_shape": [4, 4], "strides": [2, 2]}, Y=[[9]], kinds=(Kind.ACCEPTS_INVALID,)
    ),
    Kind.SHAPE: _alone(Y=[[5, 6, 9]]),
    Kind.DTYPE: Example(index_dtype="int32"),
    Kind.MISSING_OUTPUT: Example(outcome=Answered({"Y": _with_axes([[5, 6], [8, 9]], "float32")})),
    Kind.ACCEPTS_INVALID: _alone(attributes={**_TWO, "strides": [0, 0]}, Y=[[5]]),
    Kind.REFUSES_VALID: Example(outcome=RefusedByTarget("NOT_IMPLEMENTED", "no kernel for this MaxPool")),
    Kind.CRASH: Example(outcome=Crashed("killed by SIGFPE", "")),
    Kind.TIMEOUT: Example(outcome=TimedOut(10)),
    Kind.Y_DEPENDS_ON_INDICES: _alone(X=_FIRST_NAN, attributes=_THREE, Y=[[_NAN]], base={"Y": [[9]], "Indices": [[8]]}),
    **_varied("optimization-off"),
    **_varied("oldest-opset"),
    **_varied("default-threads"),
    **_varied("batch-split"),
    **_varied("channels-permuted"),
    Kind.UNSTABLE: Example(
        _FIRST_NAN,
        _THREE,
        Y=[[_NAN]],
        Indices=[[0]],
        question=Question.INDICES_TWICE,
        base={"Y": [[9]], "Indices": [[8]]},
    ),
}
"""One for every kind; the outputs that came are worked out by hand."""
