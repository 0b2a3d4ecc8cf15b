"""What the scan starts from."""

import numpy as np
from scan import first_maximum, floating, lowest, scan, seeded


def lowest_finite(X, attributes):
    """Starts from the lowest finite value. Seen: ONNX Runtime without Indices, pytorch/pytorch#7645."""
    return seeded(X, attributes, lowest(X.dtype)) if floating(X) else scan(X, attributes)


def lowest_finite_and_no_cell(X, attributes):
    """Starts from the lowest finite value and the cell before the plane. Seen: ONNX Runtime 1.23.2."""
    return seeded(X, attributes, lowest(X.dtype), -X.shape[-1] - 1)


def zero(X, attributes):
    """Starts from 0. Plausible: memory that is zeroed."""
    return seeded(X, attributes, 0)


def smallest_normal(X, attributes):
    """Starts from the smallest positive number. Plausible: numeric_limits::min() for a float, as FLT_MIN."""
    return seeded(X, attributes, np.finfo(np.float32).tiny) if X.dtype.name == "float32" else scan(X, attributes)


def float32_lowest_in_float64(X, attributes):
    """Starts from float32's lowest finite value in float64. Plausible: -FLT_MAX in a template."""
    return seeded(X, attributes, np.finfo(np.float32).min) if X.dtype.name == "float64" else scan(X, attributes)


def minus_127(X, attributes):
    """Starts from -127 in int8. Plausible: symmetric quantisation."""
    return seeded(X, attributes, -127) if X.dtype.name == "int8" else scan(X, attributes)


def no_index_for_the_minimum(X, attributes):
    """Leaves the index at -1 where all cells are the minimum of an integer type.

    Seen: ONNX Runtime 1.23.2, by -(W + 1).
    """
    return scan(X, attributes) if floating(X) else seeded(X, attributes, lowest(X.dtype), -1)


def first_tap_even_if_in_the_padding(X, attributes):
    """Starts from the window's first tap, taking the nearest cell of X if that is padding.

    Plausible: a clipped address.
    """

    def pick(values, inside):
        inside = inside.copy()
        inside[:, 0] = True
        return first_maximum(values, inside)

    return scan(X, attributes, pick=pick)
