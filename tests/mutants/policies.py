"""Kernels that differ only where no document that it is asked about decides. They need not be noticed."""

import numpy as np
from nans import propagates
from scan import last_maximum, output_size, scan
from ties import plus_zero_is_greater


def _empty(X, attributes, value, number):
    kept = {}

    def pick(values, inside):
        kept["empty"] = ~inside.any(-1)
        comparable = np.where(inside & (values == values), values.astype(np.float64), -np.inf)
        return (inside & (comparable == comparable.max(-1, keepdims=True))).argmax(-1)

    Y, Indices = scan(X, attributes, pick=pick)
    empty = kept["empty"].reshape(Y.shape[2:])
    Y[..., empty], Indices[..., empty] = np.array(value).astype(X.dtype), number
    return Y, Indices


def empty_windows_give_zero(X, attributes):
    """Gives 0 and the index -1 for a window without a cell. Seen: TFLite, in webmachinelearning/webnn#935."""
    return _empty(X, attributes, 0, -1)


def auto_pad_with_pads_is_refused(X, attributes):
    """Refuses pads beside auto_pad. Seen: the document says that they cannot be used together."""
    if attributes["auto_pad"] != "NOTSET" and any(attributes["pads"]):
        raise ValueError("pads beside auto_pad")
    return scan(X, attributes)


def valid_rounds_down(X, attributes):
    """Rounds VALID down whatever ceil_mode says.

    Seen: tract, onnx ReferenceEvaluator; it is the formula that ONNX prints.
    """
    valid = attributes["auto_pad"] == "VALID"

    def size(n, k, s, d, b, e, ceil):
        return output_size(n, k, s, d, b, e, ceil and not valid)

    return scan(X, attributes, size=size)


def last_of_ties_but_in_images(X, attributes):
    """Names the last of equal maxima unless there are two spatial axes.

    Plausible: ONNX does not say; SONNX has images.
    """
    return scan(X, attributes, pick=last_maximum) if X.ndim != 4 else scan(X, attributes)


def nan_propagates_but_in_images(X, attributes):
    """Lets NaN propagate unless there are two spatial axes. Plausible: ONNX does not say; SONNX has images."""
    return propagates(X, attributes) if X.ndim != 4 else scan(X, attributes)


def plus_zero_but_in_images(X, attributes):
    """Takes +0 for greater than -0 unless there are two spatial axes.

    Plausible: ONNX does not say; SONNX has images.
    """
    return plus_zero_is_greater(X, attributes) if X.ndim != 4 else scan(X, attributes)
