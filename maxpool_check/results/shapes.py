"""What a record says of outputs of the wrong shape, and of outputs that were inferred and not computed."""

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
