"""A MaxPool made definite, and its answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from maxpool_check.reference.activation import Activation
from maxpool_check.reference.geometry import Geometry, Placement
from maxpool_check.reference.layout import Layout
from maxpool_check.reference.numbering import Numbering
from maxpool_check.reference.policies import Policies


@dataclass(frozen=True)
class Pooling:
    """What a document makes of a set of attributes and an input shape: everything the reference needs.

    ``geometry`` holds the spatial axes D1 ... Dn. ``layout`` is the document's, of X, Y and Indices; the reference
    computes on N x C x D1 x ... x Dn. ``indices`` says whether the document has a second output, ``numbering`` what its
    numbers mean. ``refusable`` names the clause by which a runtime may as well refuse the graph, where the document
    forbids a combination that runtimes commonly accept. ``alternatives`` are the other poolings that its text can be read
    to mean, where it contradicts itself or leaves open what concerns the whole answer; each states its interpretation in its
    policies. ``placement`` is how the document came to the geometry, None where it gives the windows themselves; it is no
    part of what a pooling means.
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
        """Whether a padding is not smaller than its kernel, which most runtimes refuse."""
        return any(max(axis.begin, axis.end) >= axis.kernel for axis in self.geometry)

    @property
    def has_empty_windows(self) -> bool:
        """Whether some window contains no cell of X."""
        return any(not axis.window(i) for axis in self.geometry for i in range(axis.output))

    def or_else(self, *others: Pooling) -> Pooling:
        """The same pooling with others as alternatives."""
        return replace(self, alternatives=(*self.alternatives, *others))


@dataclass(frozen=True, eq=False)
class Pooled:
    """The answer of a MaxPool.

    ``Y`` has the dtype of X; ``Indices`` is an integer tensor of the same shape, or None where the document has no such
    output; ``empty`` is boolean of the same shape and marks the windows that contain no cell of X. The documents give no
    result for those: there Y is 0 and the index -1, and neither means anything. ``maxima`` are the windows' maxima before
    a fused activation: Y, where there is none.
    """

    Y: np.ndarray
    Indices: np.ndarray | None
    empty: np.ndarray
    maxima: np.ndarray

    def arranged(self, layout: Layout) -> Pooled:
        """The answer on N x C x D1 x ... x Dn in another layout."""
        return Pooled(
            layout.from_core(self.Y),
            None if self.Indices is None else layout.from_core(self.Indices),
            layout.from_core(self.empty),
            layout.from_core(self.maxima),
        )
