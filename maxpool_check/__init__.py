"""Does a runtime compute MaxPool as specified: the reference as a function.

``maxpool`` is the reference, ``Refused`` what it raises for a graph that the document excludes, ``Pooled`` what it
returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxpool_check.reference.pooling import Pooled
    from maxpool_check.specifications.maxpool import maxpool
    from maxpool_check.specifications.refused import Refused

__version__ = "0.1.0"
__all__ = ["Pooled", "Refused", "__version__", "maxpool"]

_HOME = {
    "Pooled": "maxpool_check.reference.pooling",
    "Refused": "maxpool_check.specifications.refused",
    "maxpool": "maxpool_check.specifications.maxpool",
}


def __getattr__(name: str) -> Any:
    # Imported on first use: the command line's --help must not wait for numpy.
    if name not in _HOME:
        raise AttributeError(f"module 'maxpool_check' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)
