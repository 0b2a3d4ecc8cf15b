"""SONNX MaxPool, in the attributes that a graph has: what the profile excludes, ONNX has."""

import onnx_maxpool
from documents import as_type, one_of

SPECS = ("sonnx",)

_RESTRICTED = {"auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0}
_REQUIRED = ("kernel_shape", "strides", "dilations", "pads", *_RESTRICTED)
_TYPES = ("float16", "float32", "float64", "int8", "uint8")


def _of_onnx(X, attributes):
    return onnx_maxpool.correct(X, attributes, "onnx-22")


def correct(X, attributes, spec):
    """Computes what ONNX does where all restrictions hold, and refuses the rest."""
    missing = [name for name in _REQUIRED if name not in attributes]
    others = [name for name, value in _RESTRICTED.items() if name not in missing and attributes[name] != value]
    if missing or others or X.ndim != 4 or X.dtype.name not in _TYPES:
        raise ValueError(f"outside of the profile: {missing}, {others}, X of {X.dtype.name} with {X.ndim} axes")
    return _of_onnx(X, attributes)


def takes_any_number_of_axes(X, attributes, spec):
    """Pools one or three spatial axes (R1). Seen: every runtime of ONNX, which knows no profile."""
    return _of_onnx(X, attributes) if X.ndim != 4 else correct(X, attributes, spec)


def takes_defaults(X, attributes, spec):
    """Takes ONNX's default for an attribute that is missing, and the plane for kernel_shape (R2). Seen: every runtime of ONNX."""
    defaults = {
        "kernel_shape": list(X.shape[2:]),
        "strides": [1, 1],
        "dilations": [1, 1],
        "pads": [0] * 4,
        **_RESTRICTED,
    }
    return correct(X, {**defaults, **attributes}, spec)


def _without_a_restriction(X, attributes, spec, name):
    if name in attributes and len(set(_REQUIRED) - set(attributes)) == 0:
        correct(X, {**attributes, name: _RESTRICTED[name]}, spec)
        return _of_onnx(X, attributes)
    return correct(X, attributes, spec)


def takes_auto_pad(X, attributes, spec):
    """Pads by auto_pad where it is not NOTSET (R3). Seen: every runtime of ONNX."""
    return _without_a_restriction(X, attributes, spec, "auto_pad")


def takes_ceil_mode(X, attributes, spec):
    """Rounds the output size up where ceil_mode is 1 (R4). Seen: every runtime of ONNX."""
    return _without_a_restriction(X, attributes, spec, "ceil_mode")


def takes_storage_order(X, attributes, spec):
    """Counts down the columns where storage_order is 1 (R5). Seen: every runtime of ONNX."""
    return _without_a_restriction(X, attributes, spec, "storage_order")


def any_auto_pad_is_notset(X, attributes, spec):
    """Takes every auto_pad for NOTSET. Plausible: an attribute that a profile need not read."""
    return correct(X, one_of(attributes, "auto_pad", ("NOTSET",)), spec)


def any_ceil_mode_is_0(X, attributes, spec):
    """Takes every ceil_mode for 0. Plausible: an attribute that a profile need not read."""
    return correct(X, one_of(attributes, "ceil_mode", (0,)), spec)


def calls_dilations_dilation(X, attributes, spec):
    """Reads the attribute dilation, and refuses dilations. Seen: the formulas of the document."""
    if "dilations" in attributes:
        raise ValueError("no such attribute: dilations")
    renamed = {"dilations" if name == "dilation" else name: value for name, value in attributes.items()}
    return correct(X, renamed, spec)


def passes_over_values_of_another_type(X, attributes, spec):
    """Takes ONNX's default where a value has another type, 1 for the kernel. Plausible: get_attribute(name, default)."""
    typed = onnx_maxpool.well_typed(attributes, onnx_maxpool._ATTRIBUTES)
    defaults = {"kernel_shape": [1, 1], "strides": [1, 1], "dilations": [1, 1], "pads": [0] * 4, **_RESTRICTED}
    kept = {name: typed.get(name, defaults.get(name)) for name in attributes}
    return correct(X, kept, spec)


def takes_other_types(X, attributes, spec):
    """Pools integers of more than 8 bits, and bfloat16. Seen: ONNX Runtime has int32 and int64 elsewhere; ONNX has bfloat16."""
    if X.dtype.name in _TYPES:
        return correct(X, attributes, spec)
    return as_type(correct, X, attributes, spec, "float64")
