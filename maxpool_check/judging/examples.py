"""A minimal example of each kind: a case, and outputs in which the judge finds exactly that kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxpool_check.graphs.context import MAX_POOL_ALONE, Context, MaxPoolGraph
from maxpool_check.graphs.node import Node
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.judging.judgement import Judgement
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.results.outcomes import Crashed, Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.variants import (
    OPTIMIZATION_OFF,
    TWICE,
    VARIATIONS,
    WITH_INDICES,
    Y_ALONE,
    Y_AND_INDICES,
    Y_ONLY,
    Variant,
)
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.specification import Refused, override

_INF, _NAN = float("inf"), float("nan")
_PLANE = ((1, 2, 3), (4, 5, 6), (7, 8, 9))
_TWO = {"kernel_shape": [2, 2]}
_THREE = {"kernel_shape": [3, 3]}
_LOWEST = float(np.finfo(np.float32).min)
_NEGATIVE = ((-1, -2, -3), (-4, -5, -6), (-7, -8, -9))
_CHEQUERED = ((1, -2, 3), (-4, 5, -6), (7, -8, 9))
_FIRST_NAN = ((_NAN, 2, 3), (4, 5, 6), (7, 8, 9))
_FIRST_TENTH = ((0.1, 0, 0), (0, 0, 0), (0, 0, 0))
_PADDED = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
_NINE = {"Y": [[9]], "Indices": [[8]]}
_TRANSPOSE = Node("Transpose", {"perm": [0, 1, 3, 2]})
_SONNX = {"nan": "as-neg-inf", "tie": "first", "zero_sign": "chosen"}


@dataclass(frozen=True)
class Example:
    """A case and the result of some runtime.

    ``X``, ``Y`` and ``Indices`` are nested lists, N x C x D1 x ... x Dn without their leading axes of length 1; None stands
    for the reference's output. ``outcome`` is set if the runtime returned no outputs. ``base`` holds the outputs of the
    variant that this variant is compared with. ``kinds`` are the other kinds that the judge finds. ``context`` is the graph
    around the MaxPool; the outputs without optimization are then right.
    """

    X: Any = _PLANE
    attributes: Mapping[str, Any] = field(default_factory=lambda: _TWO)
    Y: Any = None
    Indices: Any = None
    dtype: str = "float32"
    spec: str = DEFAULT
    policies: Mapping[str, str] = field(default_factory=dict)
    variant: Variant = WITH_INDICES
    outcome: Outcome | None = None
    base: Mapping[str, Any] | None = None
    kinds: tuple[DivergenceKind, ...] = ()
    context: Context = MAX_POOL_ALONE

    @property
    def tensor(self) -> np.ndarray:
        """X, N x C x D1 x ... x Dn."""
        return _tensor(self.X, self.dtype)

    @property
    def oracle(self) -> GraphOracle | Refused:
        """What the result is compared with: expected outputs, or a refusal."""
        document, X = specification(self.spec), self.tensor
        try:
            policies = override(document.policies, self.policies)
            return GraphOracle.of(MaxPoolGraph(X, self.context, document, self.attributes, policies))
        except Refused as refused:
            return refused

    @property
    def expected(self) -> dict[str, np.ndarray]:
        """The reference's outputs of the graph; empty if it must be refused."""
        oracle = self.oracle
        return {} if isinstance(oracle, Refused) else {**oracle.outputs, "Y": oracle.output}

    @property
    def actual(self) -> Outcome:
        """The result of the runtime."""
        if self.outcome is not None:
            return self.outcome
        expected, outputs = self.expected, {}
        for name, values in (("Y", self.Y), ("Indices", self.Indices)):
            if values is not None:
                dtype = expected["Y"].dtype.name if self.context.has_nodes else self.dtype
                outputs[name] = _tensor(values, dtype if name == "Y" else "int64")
            elif name in expected and name in self.variant.outputs:
                outputs[name] = expected[name]
        return Returned(outputs)

    @property
    def judgement(self) -> Judgement:
        """The verdict on it."""
        outcomes = {self.variant: self.actual}
        if self.base is not None:
            base = self.variant.base if self.variant.variation else WITH_INDICES
            dtypes = {"Y": self.dtype, "Indices": "int64"}
            outputs = {name: _tensor(values, dtypes[name]) for name, values in self.base.items()}
            outcomes = {base: Returned(outputs), **outcomes}
        if self.context.has_nodes:
            outcomes[Variant(self.variant.outputs, OPTIMIZATION_OFF)] = Returned(self.expected)
        return judge(self.oracle, outcomes)[self.variant]


def _tensor(values: Any, dtype: str) -> np.ndarray:
    tensor = np.array(values, NUMPY[dtype])
    return tensor.reshape((1,) * (4 - tensor.ndim) + tensor.shape)


_MAXIMA = _tensor([[5, 6], [8, 9]], "float32")


def _y_only(**fields: Any) -> Example:
    return Example(variant=Y_ONLY, **fields)


def _graph(X: Any = _PLANE, *, initializer: bool = False, **fields: Any) -> Example:
    """A graph of several nodes: ``before`` and ``after`` are those around the MaxPool."""
    before, after = tuple(fields.pop("before", ())), tuple(fields.pop("after", ()))
    context = Context(22, before, after, initializer=initializer)
    return Example(X=X, context=context, **{"variant": Y_ONLY, **fields})


def _filled(value: float) -> tuple[tuple[float, ...], ...]:
    return ((value,) * 3,) * 3


_EXAMPLES: dict[str, Example] = {
    "y-lowest-for-neg-inf": _y_only(X=_filled(-_INF), attributes=_THREE, Y=[[_LOWEST]]),
    "y-all-nan-to-lowest": _y_only(X=_filled(_NAN), attributes=_THREE, Y=[[_LOWEST]], policies=_SONNX),
    "y-nan-dropped": _y_only(X=_FIRST_NAN, attributes=_THREE, Y=[[9]], policies={"nan": "propagates"}),
    "y-nan-introduced": _y_only(X=_FIRST_NAN, attributes=_THREE, Y=[[_NAN]], policies=_SONNX),
    "y-nan-order-dependent": _y_only(X=((9, 2, 3), (4, _NAN, 6), (7, 8, 5)), attributes=_THREE, Y=[[8]]),
    "y-signed-zero": _y_only(
        X=((-0.0, 0.0, -1), (-1, -1, -1), (-1, -1, -1)), attributes=_THREE, Y=[[0.0]], policies=_SONNX
    ),
    "y-pad-value-leak": _y_only(X=_NEGATIVE, attributes=_PADDED, Y=[[0, 0, 0], [0, -1, 0], [0, 0, 0]]),
    "y-rounded-to-float32": _y_only(X=_FIRST_TENTH, attributes=_THREE, Y=[[0.10000000149011612]], dtype="float64"),
    "y-rounded-to-float16": _y_only(X=_FIRST_TENTH, attributes=_THREE, Y=[[0.0999755859375]]),
    "y-rounded-to-bfloat16": _y_only(X=_FIRST_TENTH, attributes=_THREE, Y=[[0.10009765625]]),
    "y-flushed-subnormal": _y_only(X=((1e-40, -1, -1), (-1, -1, -1), (-1, -1, -1)), attributes=_THREE, Y=[[0]]),
    "y-saturated-infinity": _y_only(X=((_INF, 2, 3), (4, 5, 6), (7, 8, 9)), attributes=_THREE, Y=[[-_LOWEST]]),
    "y-in-window-not-maximum": _y_only(attributes=_THREE, Y=[[8]]),
    "y-from-outside-window": _y_only(Y=[[5, 6], [8, 3]]),
    "y-not-in-input": _y_only(Y=[[5, 6], [8, 10]]),
    "indices-sentinel": Example(_filled(-_INF), _THREE, Indices=[[-4]]),
    "indices-plane-origin": Example(Indices=[[4, 5], [7, 0]]),
    "indices-out-of-range": Example(Indices=[[4, 5], [7, 9]]),
    "indices-outside-window": Example(Indices=[[4, 5], [7, 1]]),
    "indices-at-padding": Example(_filled(0), _PADDED, Indices=[[-4, -3, -2], [-1, 0, 3], [2, 9, 6]]),
    "indices-at-nan": Example(_FIRST_NAN, _THREE, Indices=[[0]], policies=_SONNX),
    "indices-in-window-not-maximum": Example(attributes=_THREE, Indices=[[7]]),
    "indices-tie-last": Example(_filled(5), _THREE, Indices=[[8]], policies=_SONNX),
    "indices-tie-column-first": Example(((1, 5, 1), (5, 1, 1), (1, 1, 5)), _THREE, Indices=[[3]], policies=_SONNX),
    "indices-tie-other": Example(_filled(5), _THREE, Indices=[[4]], policies=_SONNX),
    "indices-disagrees-with-y": Example(_FIRST_NAN, _THREE, Y=[[9]], Indices=[[0]]),
    "indices-plane-relative": Example((_PLANE, _PLANE), _THREE, Indices=[[[8]], [[8]]]),
    "indices-storage-order": Example(((1, 2, 3), (4, 5, 6)), {"kernel_shape": [1, 1]}, Indices=[[0, 2, 4], [1, 3, 5]]),
    "indices-axes-swapped": Example(((1, 2, 3), (4, 5, 6)), Indices=[[3, 4]]),
    "indices-nhwc-flat": Example((_PLANE, _PLANE), _THREE, Indices=[[[16]], [[17]]]),
    "indices-in-padded-tensor": Example(attributes={**_PADDED, "strides": [2, 2]}, Indices=[[12, 13], [17, 18]]),
    "indices-modulo-axis": Example(
        (_PLANE, _PLANE),
        {"kernel": [3, 3], "strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "axis": 2},
        Indices=[[[8]], [[17]]],
        spec="openvino-8",
    ),
    "pads-begin-end-exchanged": _y_only(
        attributes={**_THREE, "pads": [1, 2, 1, 0]}, Y=[[6, 6, 6], [9, 9, 9], [9, 9, 9]]
    ),
    "pads-interleaved": _y_only(attributes={**_TWO, "pads": [1, 0, 1, 0]}, Y=[[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
    "pads-axes-exchanged": _y_only(attributes={**_TWO, "pads": [1, 0, 1, 0]}, Y=[[4, 5, 6, 6], [7, 8, 9, 9]]),
    "same-upper-lower-exchanged": _y_only(
        X=((11, 7, 2, 10), (0, 1, 4, 6), (9, 5, 3, 8)),
        attributes={"kernel_shape": [2, 3], "auto_pad": "SAME_UPPER"},
        Y=[[11, 11, 10, 10], [11, 11, 10, 10], [9, 9, 8, 8]],
    ),
    "same-ignores-dilation": _y_only(
        attributes={**_TWO, "dilations": [2, 2], "auto_pad": "SAME_UPPER"}, Y=[[9, 8], [6, 5]]
    ),
    "same-unclamped": _y_only(
        X=(tuple(range(1, 16)),),
        attributes={"kernel_shape": [1, 1], "strides": [1, 5], "auto_pad": "SAME_UPPER"},
        Y=[[3, 8, 13]],
        policies={"same_clamp": "clamps"},
    ),
    "ceil-floor-exchanged": _y_only(attributes={**_TWO, "strides": [2, 2], "ceil_mode": 1}, Y=[[5]]),
    "ceil-clip-exchanged": _y_only(
        attributes={"kernel_shape": [1, 1], "strides": [2, 2], "pads": [0, 0, 1, 1], "ceil_mode": 1},
        Y=[[1, 3, _LOWEST], [7, 9, _LOWEST], [_LOWEST, _LOWEST, _LOWEST]],
    ),
    "dilation-ignored": _y_only(attributes={**_TWO, "dilations": [2, 2]}, Y=[[5, 6], [8, 9]]),
    "dilation-axes-exchanged": _y_only(attributes={**_TWO, "dilations": [1, 2]}, Y=[[8, 9]]),
    "dilation-phase-lost": _y_only(
        attributes={**_TWO, "dilations": [2, 2], "pads": [1, 1, 1, 1]}, Y=[[1, 3, 2], [7, 9, 8], [4, 6, 5]]
    ),
    "strides-axes-exchanged": _y_only(attributes={"kernel_shape": [1, 1], "strides": [1, 2]}, Y=[[1, 2, 3], [7, 8, 9]]),
    "kernel-axes-exchanged": _y_only(attributes={"kernel_shape": [1, 2]}, Y=[[4, 5, 6], [7, 8, 9]]),
    "dilation-of-first-axis": _y_only(attributes={**_TWO, "dilations": [2, 1]}, Y=[[9]]),
    "stride-of-first-axis": _y_only(attributes={"kernel_shape": [1, 1], "strides": [3, 2]}, Y=[[1]]),
    "stride-ignored": _y_only(
        X=((5, 6, 3), (7, 4, 9), (8, 1, 2)), attributes={**_TWO, "strides": [2, 1]}, Y=[[7, 9], [8, 9]]
    ),
    "stride-is-kernel": _y_only(Y=[[5]]),
    "kernel-one-short": _y_only(Y=_PLANE),
    "windows-shifted": _y_only(Y=[[9, 9], [9, 9]]),
    "pads-ignored": _y_only(attributes={**_TWO, "pads": [1, 1, 0, 0]}, Y=[[5, 6], [8, 9]]),
    "auto-pad-ignored": _y_only(attributes={**_TWO, "dilations": [2, 2], "auto_pad": "SAME_UPPER"}, Y=[[9]]),
    "signed-unsigned-exchanged": _y_only(X=_CHEQUERED, dtype="int8", Y=[[-2, -2], [-4, -6]]),
    "compared-as-bits": _y_only(X=((-1, -5, 2), (-3, -4, -6), (-8, -7, -9)), Y=[[-5, 2], [-8, -9]]),
    "absolute-values": _y_only(X=_CHEQUERED, attributes={"kernel_shape": [1, 2]}, Y=[[2, 3], [5, 6], [8, 9]]),
    "first-batch-repeated": _y_only(X=((_PLANE,), (_PLANE[::-1],)), Y=[[[[5, 6], [8, 9]]], [[[5, 6], [8, 9]]]]),
    "scan-starts-at-zero": _y_only(X=((-9, -1, -8), (-2, -4, -7), (-3, -5, -6)), Y=[[0, 0], [0, 0]]),
    "truncated-division": _y_only(attributes={"kernel_shape": [4, 4], "strides": [2, 2]}, Y=[[9]]),
    "shape": _y_only(Y=[[5, 6, 9]]),
    "dtype": Example(outcome=Returned({"Y": _MAXIMA, "Indices": _tensor([[4, 5], [7, 8]], "int32")})),
    "missing-output": Example(outcome=Returned({"Y": _MAXIMA})),
    "accepts-invalid": _y_only(attributes={**_TWO, "strides": [0, 0]}, Y=[[5]]),
    "refuses-valid": Example(outcome=RefusedByTarget("NOT_IMPLEMENTED", "no kernel for this MaxPool")),
    "crash": Example(outcome=Crashed("killed by SIGFPE", "")),
    "timeout": Example(outcome=TimedOut(10)),
    "y-depends-on-indices": _y_only(X=_FIRST_NAN, attributes=_THREE, Y=[[_NAN]], base=_NINE),
    "unstable": Example(
        _FIRST_NAN, _THREE, Y=[[_NAN]], Indices=[[0]], variant=Variant(Y_AND_INDICES, TWICE), base=_NINE
    ),
}
_EXAMPLES |= {
    "pad-folded-into-pads": _graph(
        _NEGATIVE, before=[Node("Pad", {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "constant_value": 0})],
        attributes={**_TWO, "strides": [2, 2]}, Y=[[-1, -2], [-4, -5]],
    ),
    "transpose-folded-wrongly": _graph(
        before=[_TRANSPOSE], after=[_TRANSPOSE], attributes={"kernel_shape": [1, 2]}, Y=[[2, 3], [5, 6], [8, 9]]
    ),
    "relu-moved": _graph(before=[Node("Neg")], Y=[[-5, -6], [-8, -9]]),
    "cast-moved": _graph(
        ((2048, 2049, 0), (0, 0, 0), (0, 0, 0)), after=[Node("Cast", {"to": "float16"})], attributes=_THREE,
        Indices=[[0]], variant=WITH_INDICES,
    ),
    "quantisation-moved": _graph(
        before=[Node("DequantizeLinear", {"x_scale": -1})], dtype="uint8", Y=[[-5, -6], [-8, -9]]
    ),
    "max-pools-merged": _graph(
        ((1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12), (13, 14, 15, 16)),
        before=[Node("MaxPool", {**_TWO, "strides": [2, 2]})], Y=[[11]],
    ),
    "node-dropped": _graph(_NEGATIVE, after=[Node("Relu")], Y=[[-1, -2], [-4, -5]]),
    "blocked-layout": _graph(
        (((0, 1),), ((2, 3),), ((4, 5),), ((6, 7),)), before=[Node("Identity")], attributes={"kernel_shape": [1, 1]},
        Y=(((0, 2),), ((4, 6),), ((1, 3),), ((5, 7),)),
    ),
    "constant-folded-wrongly": _graph(
        initializer=True, Y=[[5, 6], [8, 3]], kinds=(DivergenceKind.Y_FROM_OUTSIDE_WINDOW,)
    ),
    "rewritten-wrongly": _graph(
        after=[Node("Relu")], Y=[[5, 6], [8, 3]], kinds=(DivergenceKind.Y_FROM_OUTSIDE_WINDOW,)
    ),
    "graph-not-loadable": _graph(
        after=[Node("Relu")], outcome=RefusedByTarget("FAIL", "the optimized graph cannot be loaded")
    ),
    "graph-output": _graph(
        after=[Node("Concat", {"axis": 1, "inputs": [[[[[1, 1], [1, 1]]]]]})], Y=[[[5, 6], [8, 9]], [[1, 1], [1, 2]]],
        kinds=(DivergenceKind("rewritten-wrongly"),),
    ),
}  # fmt: skip
for _variation in VARIATIONS:
    # Y and Indices that depend on a variation.
    if _variation.subject is not None and f"y-depends-on-{_variation.subject}" not in _EXAMPLES:
        _EXAMPLES[f"y-depends-on-{_variation.subject}"] = Example(
            _FIRST_NAN, _THREE, Y=[[_NAN]], variant=Variant(Y_ALONE, _variation), base={"Y": [[9]]}
        )
        if _variation.y_alone:
            continue
        _EXAMPLES[f"indices-depend-on-{_variation.subject}"] = Example(
            _filled(5),
            _THREE,
            Indices=[[8]],
            variant=Variant(Y_AND_INDICES, _variation),
            base={"Y": [[5]], "Indices": [[0]]},
        )

EXAMPLES = {kind: _EXAMPLES[kind.value] for kind in DivergenceKind}
"""One for every kind; the actual outputs are computed by hand."""
