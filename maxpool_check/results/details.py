"""What a record says of an execution that needs an explanation: wrong cells, causes, and its input."""

from typing import Any

import msgspec


class WrongAxis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The size of an axis of an output, by the document and from a target; ``axis`` is N, C, D1 ... Dn.

    ``formula`` is the document's, with the numbers of the case; empty where there is none. ``mistake`` is the kind that
    explains the outputs, if there is only one, and ``instead`` its formula: the whole of it, or how it rounds if nothing else
    is different.
    """

    axis: str
    expected: int
    got: int
    formula: str = ""
    mistake: str = ""
    instead: str = ""


class WrongShape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The shapes of an output; ``axes`` are those that differ, none if there are more or fewer axes than expected."""

    expected: tuple[int, ...]
    got: tuple[int, ...]
    axes: tuple[WrongAxis, ...] = ()


class InferredOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a target that computes no values infers of an output; None: it does not know the dtype, the shape, or a size."""

    dtype: str | None
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        sizes = "..." if self.shape is None else ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype or '?'}[{sizes}]"

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The shape, if all of it is known."""
        if self.shape is None:
            return None
        known = tuple(size for size in self.shape if size is not None)
        return known if len(known) == len(self.shape) else None

    @property
    def is_known(self) -> bool:
        """Whether it knows the dtype and the whole shape."""
        return self.dtype is not None and self.sizes is not None


class Cell(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wrong cell: its place in an output, the expected and actual values (exact text), and its window.

    ``window`` lists, for each spatial axis, the positions of the taps inside X; ``values`` are the cells there, row-major,
    None if there are many. ``got_cell`` is the cell of X that a wrong index names, ``chosen`` the one that the reference
    chose, None in an empty window. ``outside`` has the numbers of taps before and behind X on each spatial axis, ``dilation``
    apart like the others. Records of older versions have neither ``chosen`` nor ``outside``.
    """

    at: tuple[int, ...]
    output: str
    expected: str
    got: str
    kind: str
    window: tuple[tuple[int, ...], ...]
    values: tuple[str, ...] | None
    got_cell: tuple[int, ...] | None
    chosen: tuple[int, ...] | None = None
    outside: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return f"{self.output}{list(self.at)} is {self.got}, expected {self.expected}"


class AllowedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A cell in which conforming outputs have other bits than the reference (exact text)."""

    at: tuple[int, ...]
    output: str
    reference: str
    got: str


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake that would give exactly all outputs, or ``output`` of ``cells`` cells: a candidate for the cause.

    Without cells, it explains the shape alone, which proves no mistake by itself.
    """

    kind: str
    output: str | None
    cells: int


class Entering(msgspec.Struct, frozen=True, kw_only=True):
    """The tensor that enters MaxPool in a graph of several nodes; ``values`` as of :class:`Input`."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[str, ...] | None


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """The input of an execution that needs an explanation.

    ``values`` are the cells of X, row-major, None if there are many; ``policies`` are those that the case overrides.
    ``graph`` are the nodes of a graph of several, as text, and ``entering`` the tensor that enters MaxPool there.
    """

    dtype: str
    shape: tuple[int, ...]
    attributes: dict[str, Any]
    values: tuple[str, ...] | None
    policies: dict[str, str] = {}
    graph: tuple[str, ...] = ()
    entering: Entering | None = None

    @property
    def pooled(self) -> "Entering | Input":
        """The tensor whose cells are pooled: the one that enters MaxPool, or X."""
        return self.entering or self
