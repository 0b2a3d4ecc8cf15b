"""Infinities."""

import numpy as np
from scan import floating, lowest, scan, seeded


def saturated(X, attributes):
    """Gives the largest finite value for +inf. Plausible: a saturating conversion."""
    Y, Indices = scan(X, attributes)
    return (np.where(Y == np.inf, np.array(-float(lowest(X.dtype))).astype(X.dtype), Y) if floating(X) else Y), Indices


def both_saturated(X, attributes):
    """Clips X to its finite values. Plausible: a clamp in front."""
    if not floating(X):
        return scan(X, attributes)
    least = np.array(lowest(X.dtype)).astype(X.dtype)
    return scan(np.where(X == -np.inf, least, np.where(X == np.inf, -least, X)), attributes)


def minus_infinity_is_no_cell(X, attributes):
    """Takes -inf for padding: Y right, the index 0 of the plane. Plausible: padding marked by its value."""
    return seeded(X, attributes, -np.inf, 0) if floating(X) else scan(X, attributes)
