"""What a record says of outputs of the wrong shape."""

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
