"""The documents' own languages: how a kernel reads the attributes that a case has, and a plain MaxPool of what they say.

Each has a correct kernel. A kernel that accepts what its document excludes changes the attributes to others that are allowed,
and computes these.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from maxpool_check.evidence.wrong_kernels.scan import PooledAxis, check, output_size, scan


@dataclass(frozen=True)
class Numbers:
    """Whole numbers of 64 bits, none below ``least``: one, or a list with ``each`` for every spatial axis.

    ``default``: every number; None: required.
    """

    least: int = -(2**63)
    default: int | None = None
    each: int = 1
    types: tuple[type, ...] = (int,)

    def read(self, value, rank):
        """The value; ``ValueError`` for one of another form."""
        count = rank * self.each if self.each else 1
        if value is None and self.default is not None:
            value = [self.default] * count if self.each else self.default
        numbers = value if self.each else [value]
        if not self.is_typed(value) or len(numbers) != count or not all(self.least <= n < 2**63 for n in numbers):
            raise ValueError(f"no {count} numbers: {value!r}")
        return value

    def is_typed(self, value):
        """Whether a value has the type, whatever it is."""
        if self.each:
            return isinstance(value, list) and all(type(number) in self.types for number in value)
        return type(value) in self.types


@dataclass(frozen=True)
class Choice:
    """One of some values; the first is the default."""

    values: tuple

    def read(self, value, rank):
        """The value; ``ValueError`` for another one, and for one of another type."""
        value = self.values[0] if value is None else value
        if not self.is_typed(value) or value not in self.values:
            raise ValueError(f"none of {self.values}: {value!r}")
        return value

    def is_typed(self, value):
        """Whether a value has the type, whatever it is."""
        return type(value) is type(self.values[0])


def read(attributes, table, rank):
    """All attributes of a table. ``ValueError`` for a name that it lacks and for a value that it excludes."""
    unknown = set(attributes) - set(table)
    if unknown:
        raise ValueError(f"no such attributes: {sorted(unknown)}")
    return {name: entry.read(attributes.get(name), rank) for name, entry in table.items()}


def check_input(X, types, ranks):
    """Refuse another type or number of spatial axes."""
    if X.dtype.name not in types or X.ndim - 2 not in ranks:
        raise ValueError(f"X of {X.dtype.name} with {X.ndim} axes")


@dataclass(frozen=True)
class Language:
    """The attributes of some documents. ``names``: what they call the ``kernel``, ``strides``, ``dilations`` and ``pads``.

    ``table(spec)`` are the attributes that a document has. ``values(X, attributes, spec)`` are all of them after reading;
    it refuses with ``ValueError``, and takes what else is to be allowed. ``pooled(X, values, spec, **steps)`` are the outputs.
    """

    specs: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    table: Callable
    values: Callable
    pooled: Callable

    def correct(self, X, attributes, spec):
        """Reads what the document has, takes defaults for the rest, and refuses what is excluded."""
        return self.pooled(X, self.values(X, attributes, spec), spec)


# ONNX, in the attributes of a graph

ONNX = ("onnx-1", "onnx-8", "onnx-10", "onnx-11", "onnx-12", "onnx-22")
_ONNX_NAMES = {"kernel": ("kernel_shape",), "strides": ("strides",), "dilations": ("dilations",), "pads": ("pads",)}
_ONNX_TABLE = {
    "kernel_shape": Numbers(1),
    "strides": Numbers(1, 1),
    "dilations": Numbers(1, 1),
    "pads": Numbers(0, 0, each=2),
    "auto_pad": Choice(("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")),
    "ceil_mode": Choice((0, 1)),
    "storage_order": Choice((0, 1)),
}
_SINCE = {"storage_order": 8, "ceil_mode": 10, "dilations": 10}
_TYPES_SINCE = {"float16": 1, "float32": 1, "float64": 1, "int8": 12, "uint8": 12, "bfloat16": 22}


def _version(spec):
    return int(spec.rpartition("-")[2])


def _onnx_table(spec):
    return {name: entry for name, entry in _ONNX_TABLE.items() if _SINCE.get(name, 1) <= _version(spec)}


def _onnx_values(X, attributes, spec, table=None, types=None):
    """``table`` and ``types``: of another version; or ``any`` type."""
    allowed = [name for name, since in _TYPES_SINCE.items() if types != "any" and since <= _version(types or spec)]
    check_input(X, allowed or [X.dtype.name], range(1, X.ndim))
    return read(attributes, _onnx_table(table or spec), X.ndim - 2)


def _onnx_pooled(X, values, spec, **steps):
    defaults = {"dilations": [1] * (X.ndim - 2), "ceil_mode": 0, "storage_order": 0}
    return scan(X, {**defaults, **values}, checks=None, **steps)


def _graph_values(X, attributes, spec):
    check(X, attributes)
    return attributes


GRAPH = Language((), _ONNX_NAMES, lambda spec: _ONNX_TABLE, _graph_values, _onnx_pooled)
"""All attributes of ONNX, as a translation of any document gives them to a kernel."""


# SONNX: what the profile excludes, ONNX has

RESTRICTED = {"auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0}
_SONNX_TYPES = ("float16", "float32", "float64", "int8", "uint8")


def _sonnx_values(X, attributes, spec, free=None):
    """``free``: an attribute that is not restricted."""
    missing = [name for name in _ONNX_TABLE if name not in attributes]
    others = [name for name, value in RESTRICTED.items() if name != free and attributes.get(name) != value]
    if missing or others or X.ndim != 4 or X.dtype.name not in _SONNX_TYPES:
        raise ValueError(f"outside of the profile: {missing}, {others}, X of {X.dtype.name} with {X.ndim} axes")
    return _onnx_values(X, attributes, "onnx-22")


# nGraph

_NGRAPH_NAMES = {
    "kernel": ("window_shape",),
    "strides": ("window_movement_strides",),
    "pads": ("padding_below", "padding_above"),
}
_NGRAPH_TABLE = dict(
    zip(sum(_NGRAPH_NAMES.values(), ()), (Numbers(1), Numbers(1, 1), Numbers(0, 0), Numbers(0, 0)), strict=True)
)


def _ngraph_values(X, attributes, spec):
    if X.ndim < 3 or 0 in X.shape[1:]:
        raise ValueError(f"arg of the shape {X.shape}")
    return read(attributes, _NGRAPH_TABLE, X.ndim - 2)


def _ngraph_pooled(X, values, spec, **steps):
    kernel, strides, below, above = values.values()
    graph = {"kernel_shape": kernel, "strides": strides, "pads": [*below, *above], "auto_pad": "NOTSET"}
    return _onnx_pooled(X, graph, spec, **steps)[0]


# ONNX Runtime's com.ms.internal.nhwc: channels last, and an activation

PARAMETERS = {"Relu": 0, "Clip": 2, "LeakyRelu": 1}
ACTIVATION = {"activation": "", "activation_params": []}
_NHWC_TABLE = {**_onnx_table("onnx-11"), "activation": Choice(("",)), "activation_params": Numbers(types=(int, float))}


def _nhwc_values(X, attributes, spec):
    name, parameters = ({**ACTIVATION, **attributes}[key] for key in ACTIVATION)
    if not isinstance(name, str) or not isinstance(parameters, list):
        raise ValueError("the activation is text, and its parameters are a list")
    if any(type(value) not in (int, float) for value in parameters):
        raise ValueError("parameters are numbers")
    if name == "Relu" and parameters == [0, float("inf")]:
        parameters = []
    if (name and name not in PARAMETERS) or len(parameters) != PARAMETERS.get(name, 0):
        raise ValueError(f"no such activation: {name} {parameters}")
    rest = {key: value for key, value in attributes.items() if key not in ACTIVATION}
    parameters = [float(np.float32(value)) for value in parameters]
    return {**_onnx_values(X, rest, "onnx-11"), "activation": name, "activation_params": parameters}


def activated(Y, values):
    """The maxima after the activation."""
    parameters, numbers, zero = values["activation_params"], Y.astype(np.float64), Y.dtype.type(0)
    if values["activation"] == "Relu":
        return np.where(numbers < 0, zero, Y)
    if values["activation"] == "Clip":
        low, high = (np.array(bound).astype(Y.dtype) for bound in parameters)
        return np.where(numbers > float(high), high, np.where(numbers < float(low), low, Y))
    if values["activation"] == "LeakyRelu":
        return np.where(numbers < 0, (numbers * parameters[0]).astype(Y.dtype), Y)
    return Y


def _nhwc_pooled(X, values, spec, **steps):
    graph = {name: value for name, value in values.items() if name not in ACTIVATION}
    with np.errstate(all="ignore"):
        Y, Indices = _onnx_pooled(np.ascontiguousarray(np.moveaxis(X, -1, 1)), graph, spec, **steps)
        return tuple(np.ascontiguousarray(np.moveaxis(each, 1, -1)) for each in (activated(Y, values), Indices))


# OpenVINO

_OPENVINO_NAMES = {
    "kernel": ("kernel",),
    "strides": ("strides",),
    "dilations": ("dilations",),
    "pads": ("pads_begin", "pads_end"),
}
_OPENVINO_1 = {
    "kernel": Numbers(1),
    "strides": Numbers(1),
    "pads_begin": Numbers(0),
    "pads_end": Numbers(0),
    "rounding_type": Choice(("floor", "ceil")),
    "auto_pad": Choice(("explicit", "same_upper", "same_lower", "valid")),
}
_OPENVINO_8 = {
    **_OPENVINO_1,
    "dilations": Numbers(1, 1),
    "index_element_type": Choice(("i64", "i32")),
    "axis": Numbers(default=0, each=0),
}
_OPENVINO_14 = {**_OPENVINO_8, "rounding_type": Choice(("floor", "ceil", "ceil_torch"))}
_OPENVINO = {"openvino-1": _OPENVINO_1, "openvino-8": _OPENVINO_8, "openvino-14": _OPENVINO_14}
_OPENVINO_TYPES = [
    *("float16", "bfloat16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]


def _openvino_values(X, attributes, spec, table=None, ranks=(1, 2, 3)):
    """``table``: of another version; ``ranks``: the numbers of spatial axes."""
    check_input(X, _OPENVINO_TYPES, ranks)
    # Examples leave the pads out where auto_pad ignores them.
    if attributes.get("auto_pad", "explicit") != "explicit":
        attributes = {**dict.fromkeys(("pads_begin", "pads_end"), [0] * (X.ndim - 2)), **attributes}
    return read(attributes, _OPENVINO[table or spec], X.ndim - 2)


def kept_ceil_size(n, k, s, d, b, e, ceil):
    """The number of windows; rounded up, one that starts in the padding at the end counts."""
    down = output_size(n, k, s, d, b, e, False)
    return down + (ceil and (n + b + e - ((k - 1) * d + 1)) % s > 0)


def _openvino_pooled(X, values, spec, **steps):
    graph = {name: values[name] for name in ("strides", "dilations") if name in values}
    graph |= {"kernel_shape": values["kernel"], "pads": [*values["pads_begin"], *values["pads_end"]]}
    graph["auto_pad"] = "NOTSET" if values["auto_pad"] == "explicit" else values["auto_pad"].upper()
    graph["ceil_mode"] = int(values["rounding_type"] != "floor")
    size = output_size if values["rounding_type"] == "ceil_torch" else kept_ceil_size
    Y, Indices = _onnx_pooled(X, graph, spec, **{"size": size, **steps})
    if "axis" not in values:
        return Y
    # Indices begin at 0 again at each step of the axes before ``axis``.
    if not -X.ndim <= values["axis"] < X.ndim:
        raise ValueError(f"no such axis: {values['axis']}")
    block = prod(X.shape[values["axis"] % X.ndim :])
    dtype = np.dtype("int32" if values["index_element_type"] == "i32" else "int64")
    if block - 1 > np.iinfo(dtype).max:
        raise ValueError("the type is too small for the largest index")
    return Y if spec == "openvino-1" else (Y, (Indices % max(block, 1)).astype(dtype))


# XMOS' maxpool2d: one int8 image with its channels last, windows by their start and number

_XMOS_NAMES = {"kernel": ("K_h", "K_w"), "strides": ("W_vert", "W_hori")}
_XMOS_SIZES = ("X_h", "X_w", "X_c")
_XMOS_TABLE = {
    **dict.fromkeys(_XMOS_SIZES, Numbers(default=-1, each=0)),
    **dict.fromkeys(("Y_h", "Y_w", "K_h", "K_w", "W_vert", "W_hori"), Numbers(1, each=0)),
    **dict.fromkeys(("W_r0", "W_c0"), Numbers(0, each=0)),
}
XMOS_AXES = (("K_h", "W_vert", "W_r0", "Y_h"), ("K_w", "W_hori", "W_c0", "Y_w"))


def _xmos_values(X, attributes, spec, unbounded=None):
    """``unbounded``: the axis on which windows may end outside of the image."""
    if X.dtype != np.int8 or X.ndim != 3 or X.shape[2] % 4:
        raise ValueError(f"X of {X.dtype.name} with the shape {X.shape}")
    if any(name in attributes and attributes[name] is None for name in _XMOS_TABLE):
        raise ValueError("an attribute without a value")
    values = read(attributes, _XMOS_TABLE, 2)
    if any(name in attributes and values[name] != size for name, size in zip(_XMOS_SIZES, X.shape, strict=True)):
        raise ValueError("X has another shape")
    for axis, (size, (kernel, stride, start, count)) in enumerate(zip(X.shape, XMOS_AXES, strict=False)):
        if values[start] + values[stride] * (values[count] - 1) + values[kernel] > size and axis != unbounded:
            raise ValueError("a window ends behind the image")
    return values


def _xmos_pooled(X, values, spec, **steps):
    """The windows where they are; a tap outside of X does not count."""
    axes = [
        PooledAxis(size, values[kernel], values[stride], 1, -values[start], 0, values[count])
        for size, (kernel, stride, start, count) in zip(X.shape, XMOS_AXES, strict=False)
    ]
    image = np.ascontiguousarray(np.moveaxis(X, -1, 0))[None]
    graph = {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [0] * 4, "auto_pad": "NOTSET"}
    Y, _ = _onnx_pooled(image, graph, spec, axes=lambda _: axes, size=lambda *_: 1, **steps)
    return np.ascontiguousarray(np.moveaxis(Y[0], 0, -1))


_OF_OPENVINO = Language(tuple(_OPENVINO), _OPENVINO_NAMES, _OPENVINO.__getitem__, _openvino_values, _openvino_pooled)
LANGUAGES = {
    "onnx_maxpool": Language(ONNX, _ONNX_NAMES, _onnx_table, _onnx_values, _onnx_pooled),
    "sonnx_maxpool": Language(("sonnx",), _ONNX_NAMES, lambda spec: _ONNX_TABLE, _sonnx_values, _onnx_pooled),
    "ngraph_maxpool": Language(
        ("ngraph-0",), _NGRAPH_NAMES, lambda spec: _NGRAPH_TABLE, _ngraph_values, _ngraph_pooled
    ),
    "nhwc_maxpool": Language(("ort-nhwc-11",), _ONNX_NAMES, lambda spec: _NHWC_TABLE, _nhwc_values, _nhwc_pooled),
    "openvino_maxpool": _OF_OPENVINO,
    "openvino_refusals": _OF_OPENVINO,
    "xmos_maxpool": Language(("xmos-maxpool2d",), _XMOS_NAMES, lambda spec: _XMOS_TABLE, _xmos_values, _xmos_pooled),
}
"""The languages of the modules whose kernels have one; all others take the attributes of a graph."""
