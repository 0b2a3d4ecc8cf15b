"""What a record says of an execution that needs an explanation: wrong cells, causes, and its input."""

from typing import Any

import msgspec


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
