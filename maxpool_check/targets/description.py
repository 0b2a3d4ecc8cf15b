"""What a target says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Description:
    """Who answered: what the record says of a target.

    ``newest_opset`` is the newest operator set it loads, None for one that is not asked with ONNX models. ``speaks`` is
    what it is asked in: ``onnx``, ``attributes`` (ONNX's seven), or another of ``LANGUAGES``. ``indices`` is how it counts:
    ``whole`` tensor, each ``plane``, or None where it gives no Indices.
    """

    name: str
    distribution: str
    version: str
    provider: str
    providers: tuple[str, ...]
    session_options: Mapping[str, Any]
    python: str
    numpy: str
    newest_opset: int | None
    speaks: str
    indices: str | None


@dataclass(frozen=True)
class Limits:
    """What a target says it cannot be handed at all; None: it does not say."""

    dtypes: tuple[str, ...] | None
    spatial: tuple[int, ...] | None

    def exclude(self, dtype: str, axes: int) -> str | None:
        """Why a tensor cannot be handed over, if it cannot."""
        if self.dtypes is not None and dtype not in self.dtypes:
            return f"it has no {dtype}; it has {', '.join(self.dtypes)}"
        if self.spatial is not None and axes not in self.spatial:
            return f"it has no MaxPool over {axes} spatial axes"
        return None
