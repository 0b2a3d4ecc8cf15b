"""Kernels that differ only where no document that it is asked about decides. They need not be noticed."""

from nans import propagates
from scan import last_maximum, output_size, scan
from ties import down_the_columns, plus_zero_is_greater


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
    return scan(X, attributes, size=lambda n, k, s, d, b, e, ceil: output_size(n, k, s, d, b, e, ceil and not valid))


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


def changes_the_ties(X, attributes):
    """Names the first of equal maxima down the columns where storage_order is 1.

    Plausible: the attribute taken for the scan.
    """
    return down_the_columns(X, attributes) if attributes["storage_order"] == 1 else scan(X, attributes)


def same_crops(X, attributes):
    """Applies a negative padding. Seen: ONNX Runtime 1.23.2 and 1.31.1 with strides over the kernel."""

    def same(n, k, s, d, upper):
        o = -(-n // s)
        total = (o - 1) * s + (k - 1) * d + 1 - n
        small = int(total / 2)
        return (small, total - small, o) if upper else (total - small, small, o)

    return scan(X, attributes, same=same)
