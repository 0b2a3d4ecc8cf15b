"""A MaxPool without anything open, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxpool_check.reference.activation import Activation
from maxpool_check.reference.geometry import Geometry, Placement
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import Numbering
from maxpool_check.reference.policies import Policies


@dataclass(frozen=True)
class Pooling:
    """The meaning of attributes and an input shape in a document: everything that the reference needs.

    ``geometry`` holds the spatial axes D1 ... Dn. ``layout`` is that of X, Y and Indices; the reference computes on
    N x C x D1 x ... x Dn. ``indices``: whether the document has a second output; ``numbering`` is the meaning of its
    numbers. ``refusable`` is the clause by which a runtime may refuse the graph, where a document forbids a combination
    that runtimes commonly accept. ``alternatives`` are other poolings that the text can mean, where it contradicts itself
    or leaves the whole result open; the policies of each state its interpretation. ``placement`` is the origin of the
    geometry, None if the document places the windows itself; it does not count for equality.
    """

    geometry: Geometry
    policies: Policies
    numbering: Numbering = field(default_factory=Numbering)
    layout: Layout = Layout.CHANNELS_FIRST
    activation: Activation | None = None
    indices: bool = True
    refusable: str | None = None
    alternatives: tuple[Pooling, ...] = ()
    placement: Placement | None = field(default=None, compare=False)

    @property
    def output_sizes(self) -> tuple[int, ...]:
        """The spatial shape of Y."""
        return tuple(axis.output for axis in self.geometry)

    @property
    def has_large_pads(self) -> bool:
        """Whether a padding is as large as its kernel, which most runtimes refuse."""
        return any(max(axis.begin, axis.end) >= axis.kernel for axis in self.geometry)

    @property
    def has_empty_windows(self) -> bool:
        """Whether some window contains no cell of X."""
        return any(not axis.window(i) for axis in self.geometry for i in range(axis.output))


@dataclass(frozen=True, eq=False)
class Pooled:
    """The result of a MaxPool.

    ``Y`` has the dtype of X; ``Indices`` is an integer tensor of the same shape, or None if the document has no such
    output; ``empty``, boolean of the same shape, marks the windows that contain no cell of X. The documents define no
    result for them; Y is 0 and the index -1 there. ``maxima`` are the maxima before a fused activation.
    """

    Y: np.ndarray
    Indices: np.ndarray | None
    empty: np.ndarray
    maxima: np.ndarray

    def arranged(self, layout: Layout) -> Pooled:
        """The result, which is N x C x D1 x ... x Dn, in another layout."""
        return Pooled(
            layout.from_core(self.Y),
            None if self.Indices is None else layout.from_core(self.Indices),
            layout.from_core(self.empty),
            layout.from_core(self.maxima),
        )
