"""A MaxPool without anything open, the activation that may be fused into it, and its result."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Protocol

import numpy as np

from maxpool_check.reference.dtypes import rounded
from maxpool_check.reference.geometry import Axis, Geometry, Placement
from maxpool_check.reference.numbering import Layout, Numbering
from maxpool_check.reference.policies import Policies


class Elementwise(Protocol):
    """A function of every value."""

    def of(self, maxima: np.ndarray) -> np.ndarray:
        """The function of every maximum."""


class Function(str, Enum):
    """The functions of activations, by their names in ONNX."""

    RELU = "Relu"
    """max(y, 0)."""
    CLIP = "Clip"
    """min(max(y, low), high); parameters low and high."""
    LEAKY_RELU = "LeakyRelu"
    """y, or alpha * y below 0; parameter alpha. The product is rounded once."""


@dataclass(frozen=True)
class Activation:
    """An activation that is fused into a pooling: it applies to every maximum, and changes Y but not Indices.

    ``parameters`` are those of the function, which ONNX keeps in float32.
    """

    function: Function
    parameters: tuple[float, ...] = ()

    @property
    def values(self) -> np.ndarray:
        """The parameters rounded to float32, as float64; those too large for float32 are infinite."""
        with np.errstate(over="ignore"):
            return np.array(self.parameters, np.float32).astype(np.float64)

    def of(self, maxima: np.ndarray) -> np.ndarray:
        """The function of every maximum, in the dtype of the maxima. A NaN stays NaN."""
        # bfloat16 warns when it compares a NaN, and 0 * inf is NaN.
        with np.errstate(invalid="ignore"):
            if self.function is Function.LEAKY_RELU:
                scaled = rounded(maxima.astype(np.float64) * self.values[0], maxima.dtype)
                return np.where(maxima < 0, scaled, maxima)
            bounds = np.zeros(1) if self.function is Function.RELU else self.values
            low, *high = rounded(bounds, maxima.dtype)
            result = np.where(maxima < low, low, maxima)
            return np.where(result > high[0], high[0], result) if high else result


@dataclass(frozen=True)
class Pooling:
    """The meaning of attributes and an input shape in a document: everything that the reference needs.

    ``geometry`` holds the spatial axes D1 ... Dn. ``layout`` is that of X, Y and Indices; the reference computes on
    N x C x D1 x ... x Dn. ``indices``: whether the document has a second output; ``numbering`` is the meaning of its
    numbers. ``padding_value`` is the value of the padding: the maximum of a window of padding alone; None if the document
    gives it none, so that such a window has no result. ``refusable`` is the clause by which a runtime may refuse the graph, where a document forbids a combination
    that runtimes commonly accept. ``alternatives`` are other poolings that the text can mean, where it contradicts itself
    or leaves the whole result open; the policies of each state its interpretation. ``placement`` is the origin of the
    geometry, None if the document places the windows itself; it does not count for equality.
    """

    geometry: Geometry
    policies: Policies
    numbering: Numbering = field(default_factory=Numbering)
    layout: Layout = Layout.CHANNELS_FIRST
    activation: Elementwise | None = None
    indices: bool = True
    padding_value: float | None = None
    refusable: str | None = None
    alternatives: "tuple[Pooling, ...]" = ()
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
        return any(_has_empty_window(axis) for axis in self.geometry)


@lru_cache(4096)  # many geometries have few axes
def _has_empty_window(axis: Axis) -> bool:
    return bool((axis.taps()[1] == 0).any())


@dataclass(frozen=True, eq=False)
class Pooled:
    """The result of a MaxPool, which unpacks as ``Y, Indices``.

    ``Y`` has the dtype of X; ``Indices`` is an integer tensor of the same shape, or None if the document has no such
    output; ``empty``, boolean of the same shape, marks the windows that contain no cell of X. They have no index (it is -1
    here), and Y is the value of the padding; ``undefined`` marks those for which the document gives no value, where Y is 0
    here. ``maxima`` are the maxima before a fused activation.
    """

    Y: np.ndarray
    Indices: np.ndarray | None
    empty: np.ndarray
    undefined: np.ndarray
    maxima: np.ndarray

    def __iter__(self) -> Iterator[np.ndarray | None]:
        return iter((self.Y, self.Indices))

    def arranged(self, layout: Layout) -> "Pooled":
        """The result, which is N x C x D1 x ... x Dn, in another layout."""
        indices = None if self.Indices is None else layout.from_core(self.Indices)
        Y, empty, undefined, maxima = map(layout.from_core, (self.Y, self.empty, self.undefined, self.maxima))
        return Pooled(Y, indices, empty, undefined, maxima)
