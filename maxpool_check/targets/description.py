"""What a target can be handed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TargetLimits:
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
