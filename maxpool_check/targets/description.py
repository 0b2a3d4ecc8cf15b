"""What a target is and what it accepts."""

from __future__ import annotations

from dataclasses import dataclass

from maxpool_check.results.record import TargetDescription
from maxpool_check.targets.name import TargetName


@dataclass(frozen=True)
class TargetProfile:
    """A target, as its program describes it.

    ``dtypes`` and ``spatial``, numbers of spatial axes, are all that it accepts; None: anything. ``settings`` are the
    variations that its program supports.
    """

    name: TargetName
    description: TargetDescription
    dtypes: tuple[str, ...] | None = None
    spatial: tuple[int, ...] | None = None
    settings: tuple[str, ...] = ()

    def exclude(self, dtype: str, axes: int) -> str | None:
        """Why a tensor of this dtype, over so many spatial axes, is not accepted; None if it is."""
        if self.dtypes is not None and dtype not in self.dtypes:
            return f"it has no {dtype}; it has {', '.join(self.dtypes)}"
        if self.spatial is not None and axes not in self.spatial:
            return f"it has no MaxPool over {axes} spatial axes"
        return None
