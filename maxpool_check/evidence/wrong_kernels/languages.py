"""The documents' own languages: how a kernel reads the attributes that a case has, and a plain MaxPool of what they say.

Each has a correct kernel; ``languages.yaml`` has their attributes. A kernel that accepts what its document excludes
changes the attributes to others that are allowed, and computes these.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import yaml

from maxpool_check.evidence.wrong_kernels.scan import PooledAxis, check, output_size, scan, value_of_the_tap


@dataclass(frozen=True)
class Attribute:
    """One of some ``values``, or whole numbers of 64 bits, none below ``least``: a list, or one number.

    The list has ``each`` for every spatial axis. The first of the values is the default; ``default`` is that of every number; None:
    required.
    """

    least: int = -(2**63)
    default: int | None = None
    each: int = 1
    types: tuple[str, ...] = ("int",)
    values: tuple = ()

    def read(self, value, rank):
        """The value; ``ValueError`` for one of another form."""
        count = rank * self.each if self.each else 1
        if value is None:
            default = self.values[0] if self.values else self.default
            value = [default] * count if self.each else default
        if not self.is_typed(value) or not (value in self.values if self.values else self._fits(value, count)):
            raise ValueError(f"none of {self.values}, or no {count} numbers: {value!r}")
        return value

    def _fits(self, value, count):
        numbers = value if self.each else [value]
        return len(numbers) == count and all(self.least <= n < 2**63 for n in numbers)

    def is_typed(self, value):
        """Whether a value has the type, whatever it is."""
        if self.values:
            return type(value) is type(self.values[0])
        numbers = value if self.each else [value]
        return isinstance(numbers, list) and all(type(number).__name__ in self.types for number in numbers)


@dataclass(frozen=True)
class Language:
    """The attributes of some documents. ``names``: what they call the ``kernel``, ``strides``, ``dilations`` and ``pads``.

    ``tables`` are the attributes of each document, ``types`` the types of X. ``reading(language, X, attributes, spec)``
    are all attributes after reading; it refuses with ``ValueError``, and takes what else is to be allowed. ``pooled(X,
    values, spec, **steps)`` are the outputs.
    """

    names: Mapping[str, list[str]]
    tables: Mapping[str, Mapping[str, Attribute]]
    types: Mapping[str, list[str]]
    ranks: tuple[int, ...]
    reading: Callable
    pooled: Callable

    @property
    def specs(self) -> tuple[str, ...]:
        """The documents, the newest at last; none for the attributes of a graph."""
        return tuple(filter(None, self.tables))

    def table(self, spec):
        """The attributes that a document has."""
        return self.tables.get(spec) or [*self.tables.values()][-1]

    def values(self, X, attributes, spec, **options):
        """All attributes of a document after reading, those without a value by their defaults."""
        return self.reading(self, X, attributes, spec, **options)

    def read(self, X, attributes, spec, table=None, types=None, ranks=None, without=()):
        """The attributes after reading.

        ``table`` and ``types`` are those of another document, or ``any`` type; ``ranks`` are other ones, ``without`` names to leave out.
        ``ValueError`` for a name that the document lacks and for a value, a type or a number of axes that it excludes.
        """
        allowed = self.types.get(types or spec)
        if X.ndim < 3 or (self.ranks and X.ndim - 2 not in (ranks or self.ranks)):
            raise ValueError(f"X with {X.ndim} axes")
        if allowed and X.dtype.name not in allowed:
            raise ValueError(f"X of {X.dtype.name}")
        entries = {name: entry for name, entry in self.table(table or spec).items() if name not in without}
        if unknown := set(attributes) - set(entries):
            raise ValueError(f"no such attributes: {sorted(unknown)}")
        return {name: entry.read(attributes.get(name), X.ndim - 2) for name, entry in entries.items()}

    def correct(self, X, attributes, spec, **steps):
        """Reads what the document has, takes defaults for the rest, and refuses what is excluded; maybe with other steps."""
        return self.pooled(X, self.values(X, attributes, spec), spec, **steps)


# ONNX, in the attributes of a graph


def _onnx_pooled(X, values, spec, **steps):
    defaults = {"dilations": [1] * (X.ndim - 2), "ceil_mode": 0, "storage_order": 0}
    return scan(X, {**defaults, **values}, checks=None, **steps)


def _graph_values(language, X, attributes, spec):
    check(X, attributes)
    return attributes


# SONNX: what the profile excludes, ONNX has

RESTRICTED = {"auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0}


def _sonnx_values(language, X, attributes, spec, free=None):
    """``free``: an attribute that is not restricted. The first edition has two spatial axes and no defaults."""
    is_first = spec == "sonnx"
    missing = [name for name in language.table(spec) if is_first and name not in attributes]
    others = [name for name, value in RESTRICTED.items() if name != free and attributes.get(name, value) != value]
    if missing or others:
        raise ValueError(f"outside of the profile: {missing}, {others}")
    values = language.read(X, attributes, spec, ranks=None if is_first else range(1, X.ndim))
    pairs = zip(values["pads"], values["kernel_shape"] * 2, strict=True)
    if not is_first and free != "pads" and any(pad > kernel for pad, kernel in pairs):
        raise ValueError("a padding over the kernel")
    return values


def _sonnx_pooled(X, values, spec, **steps):
    """In the edition of 2026-10 NaN propagates, and there are no Indices."""
    if spec == "sonnx":
        return _onnx_pooled(X, values, spec, **steps)

    def value(values, inside, taps):
        Y, nan = value_of_the_tap(values, inside, taps), (inside & (values != values)).any(-1)
        return np.where(nan, Y.dtype.type(np.nan), Y) if nan.any() else Y

    return _onnx_pooled(X, values, spec, **{"value": value, **steps})[0]


# nGraph


def _ngraph_values(language, X, attributes, spec):
    if X.ndim < 3 or 0 in X.shape[1:]:
        raise ValueError(f"arg of the shape {X.shape}")
    return language.read(X, attributes, spec)


def _ngraph_pooled(X, values, spec, **steps):
    kernel, strides, below, above = values.values()
    graph = {"kernel_shape": kernel, "strides": strides, "pads": [*below, *above], "auto_pad": "NOTSET"}
    return _onnx_pooled(X, graph, spec, **steps)[0]


# ONNX Runtime's com.ms.internal.nhwc: channels last, and an activation

PARAMETERS = {"Relu": 0, "Clip": 2, "LeakyRelu": 1}
ACTIVATION = {"activation": "", "activation_params": []}


def _nhwc_values(language, X, attributes, spec):
    name, parameters = ({**ACTIVATION, **attributes}[key] for key in ACTIVATION)
    if not isinstance(name, str) or not isinstance(parameters, list):
        raise ValueError("the activation is text, and its parameters are a list")
    if any(type(value) not in (int, float) for value in parameters):
        raise ValueError("parameters are numbers")
    if name == "Relu" and parameters == [0, float("inf")]:
        parameters = []
    if (name and name not in PARAMETERS) or len(parameters) != PARAMETERS.get(name, 0):
        raise ValueError(f"no such activation: {name} {parameters}")
    kept = {key: value for key, value in attributes.items() if key not in ACTIVATION}
    parameters = [float(np.float32(value)) for value in parameters]
    return {**language.read(X, kept, spec, without=ACTIVATION), "activation": name, "activation_params": parameters}


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


def _openvino_values(language, X, attributes, spec, **options):
    # Examples leave the pads out where auto_pad ignores them.
    if attributes.get("auto_pad", "explicit") != "explicit":
        attributes = {**dict.fromkeys(("pads_begin", "pads_end"), [0] * (X.ndim - 2)), **attributes}
    return language.read(X, attributes, spec, **options)


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

XMOS_AXES = (("K_h", "W_vert", "W_r0", "Y_h"), ("K_w", "W_hori", "W_c0", "Y_w"))


def _xmos_values(language, X, attributes, spec, unbounded=None):
    """``unbounded``: the axis on which windows may end outside of the image."""
    if X.dtype != np.int8 or X.ndim != 3 or X.shape[2] % 4:
        raise ValueError(f"X of {X.dtype.name} with the shape {X.shape}")
    if None in attributes.values():
        raise ValueError("an attribute without a value")
    values = language.read(X, attributes, spec)
    sizes = zip(("X_h", "X_w", "X_c"), X.shape, strict=True)
    if any(name in attributes and values[name] != size for name, size in sizes):
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


_FUNCTIONS = {
    "graph": (_graph_values, _onnx_pooled),
    "onnx_maxpool": (Language.read, _onnx_pooled),
    "sonnx_maxpool": (_sonnx_values, _sonnx_pooled),
    "ngraph_maxpool": (_ngraph_values, _ngraph_pooled),
    "nhwc_maxpool": (_nhwc_values, _nhwc_pooled),
    "openvino_maxpool": (_openvino_values, _openvino_pooled),
    "openvino_refusals": (_openvino_values, _openvino_pooled),
    "xmos_maxpool": (_xmos_values, _xmos_pooled),
}


def _language(reading, pooled, names, documents, types=None, ranks=()):
    """A language of the file: its documents have what the ones before them have, too."""
    tables, table, known, by_spec = {}, {}, [], {}
    for spec, added in documents.items():
        for name, entry in added.items():
            fields = {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}
            table = {**table, name: Attribute(**{"each": int("values" not in entry), **fields})}
        known = [*known, *(types or {}).get(spec, [])]
        tables[spec], by_spec[spec] = table, known
    return Language(names, tables, by_spec, tuple(ranks), reading, pooled)


_DATA = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_bytes())
LANGUAGES = {name: _language(*_FUNCTIONS[name], **data) for name, data in _DATA.items()}
"""The languages of the modules whose kernels have one; all others take the attributes of a ``graph``."""
GRAPH = LANGUAGES.pop("graph")
