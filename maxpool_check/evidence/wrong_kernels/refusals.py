"""What must be refused, accepted."""

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
    rank = len(attributes["kernel_shape"])
    if X.ndim >= 3 or rank == 0:
        return scan(X, attributes)
    X = X.reshape(*[1] * (rank + 2 - X.ndim), *X.shape)
    return scan(X, {**attributes, "strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank})
