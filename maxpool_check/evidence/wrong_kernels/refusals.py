"""What must be refused, accepted."""

from documents import at_least, fitted, one_of, window_shrunk
from scan import check, scan


def _mended(X, attributes, **values):
    """Answers with other values where the graph as it is would be refused."""
    try:
        check(X, attributes)
    except ValueError:
        attributes = {**attributes, **values}
    return scan(X, attributes)


def _entries(attributes, name, change):
    values = attributes[name]
    return [change(value) if type(value) is int else value for value in values] if isinstance(values, list) else values


def stride_0_is_1(X, attributes):
    """Takes a stride of 0 for 1. Plausible: max(1, stride)."""
    return _mended(X, attributes, strides=_entries(attributes, "strides", lambda value: value or 1))


def dilation_0_is_1(X, attributes):
    """Takes a dilation of 0 for 1. Seen: ONNX Runtime 1.23.2 accepts it."""
    return _mended(X, attributes, dilations=_entries(attributes, "dilations", lambda value: value or 1))


def negative_pads_are_0(X, attributes):
    """Takes a negative pad for 0. Seen: ONNX Runtime 1.23.2 accepts it."""
    return _mended(X, attributes, pads=_entries(attributes, "pads", lambda value: max(0, value)))


def storage_order_2_is_1(X, attributes):
    """Takes any storage_order but 0 for 1. Seen: ONNX Runtime 1.23.2."""
    return _mended(X, attributes, storage_order=int(bool(attributes["storage_order"])))


def any_type(X, attributes):
    """Pools types that MaxPool does not have, as it pools float32. Plausible: a kernel that is a template."""
    if X.dtype.kind in "iub":
        Y, Indices = scan(X.astype("float32"), attributes)
        return Y.astype(X.dtype), Indices
    return scan(X, attributes)


def any_rank(X, attributes):
    """Takes X without a batch or a channel for one of each. Seen: frameworks that accept C x H x W, as PyTorch."""
    if X.ndim >= 3 or not attributes["kernel_shape"]:
        return scan(X, attributes)
    rank = len(attributes["kernel_shape"])
    X = X.reshape(*[1] * (rank + 2 - X.ndim), *X.shape)
    return scan(X, {**attributes, "strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank})


def kernel_0_is_1(X, attributes):
    """Takes a size of the kernel below 1 for 1. Plausible: max(1, size)."""
    return scan(X, at_least(attributes, "kernel_shape", 1))


def kernel_of_any_length(X, attributes):
    """Cuts a kernel_shape that is too long, and fills one that is too short with 1. Plausible: arrays of fixed length."""
    return scan(X, fitted(attributes, "kernel_shape", X.ndim - 2, 1))


def strides_of_any_length(X, attributes):
    """Cuts strides that are too long, and fills those that are too short with 1. Plausible: arrays of fixed length."""
    return scan(X, fitted(attributes, "strides", X.ndim - 2, 1))


def dilations_of_any_length(X, attributes):
    """Cuts dilations that are too long, and fills those that are too short with 1. Plausible: arrays of fixed length."""
    return scan(X, fitted(attributes, "dilations", X.ndim - 2, 1))


def pads_of_any_length(X, attributes):
    """Cuts pads that are too long, and fills those that are too short with 0. Plausible: arrays of fixed length."""
    return scan(X, fitted(attributes, "pads", 2 * (X.ndim - 2), 0))


def strides_below_1_are_1(X, attributes):
    """Takes a stride below 1 for 1. Plausible: max(1, stride)."""
    return scan(X, at_least(attributes, "strides", 1))


def dilations_below_1_are_1(X, attributes):
    """Takes a dilation below 1 for 1. Plausible: max(1, dilation)."""
    return scan(X, at_least(attributes, "dilations", 1))


def any_auto_pad_is_notset(X, attributes):
    """Takes an unknown auto_pad for NOTSET. Plausible: the last branch of a comparison."""
    return scan(X, one_of(attributes, "auto_pad", ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")))


def any_ceil_mode_is_1(X, attributes):
    """Takes any ceil_mode but 0 for 1. Seen: ONNX Runtime 1.23.2."""
    return scan(X, one_of(attributes, "ceil_mode", (1, 0)))


def unknown_attributes_are_passed_over(X, attributes):
    """Passes over attributes that MaxPool does not have. Plausible: an importer that asks for names that it knows."""
    names = ("kernel_shape", "strides", "dilations", "pads", "auto_pad", "ceil_mode", "storage_order")
    return scan(X, {name: attributes[name] for name in names})


def windows_shrink_to_the_input(X, attributes):
    """Takes a smaller window where it is larger than the padded input. Plausible: min(kernel, size)."""
    check(X, attributes)
    if attributes["auto_pad"] not in ("NOTSET", "VALID"):
        return scan(X, attributes)
    pads = attributes["pads"] if attributes["auto_pad"] == "NOTSET" else [0] * len(attributes["pads"])
    kernel = window_shrunk(X.shape[2:], attributes["kernel_shape"], attributes["dilations"], pads)
    return scan(X, {**attributes, "kernel_shape": kernel})
