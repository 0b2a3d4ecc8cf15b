"""What kernels in the documents' own languages are made of: attributes that are read, and a plain MaxPool of what they say.

A table has an entry for each attribute of a document. A kernel that accepts what its document excludes changes the attributes
to others that are allowed, and computes these.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
from scan import first_maximum, output_size, scan


@dataclass(frozen=True)
class Lists:
    """A list of whole numbers, ``each`` for every spatial axis, none below ``least``. ``default``: every entry; None: required."""

    least: int
    default: int | None = None
    each: int = 1

    def read(self, value, rank):
        """The entries; ``ValueError`` for a value of another form."""
        if value is None and self.default is not None:
            value = [self.default] * rank * self.each
        if not isinstance(value, list) or len(value) != rank * self.each:
            raise ValueError(f"not {rank * self.each} numbers: {value!r}")
        return [Whole(self.least).read(entry, rank) for entry in value]


@dataclass(frozen=True)
class Whole:
    """A whole number of 64 bits, at least ``least``; required unless there is a ``default``."""

    least: int = -(2**63)
    default: int | None = None

    def read(self, value, rank):
        """The number; ``ValueError`` for a value of another form."""
        value = self.default if value is None else value
        if type(value) is not int or not self.least <= value < 2**63:
            raise ValueError(f"no such number: {value!r}")
        return value


@dataclass(frozen=True)
class Choice:
    """One of some values; the first is the default."""

    values: tuple

    def read(self, value, rank):
        """The value; ``ValueError`` for another one, and for one of another type."""
        value = self.values[0] if value is None else value
        if type(value) is not type(self.values[0]) or value not in self.values:
            raise ValueError(f"none of {self.values}: {value!r}")
        return value


def read(attributes, table, rank):
    """All attributes of a table. ``ValueError`` for a name that it lacks and for a value that it excludes."""
    unknown = set(attributes) - set(table)
    if unknown:
        raise ValueError(f"no such attributes: {sorted(unknown)}")
    return {name: entry.read(attributes.get(name), rank) for name, entry in table.items()}


def check_input(X, types, ranks):
    """Refuse another type or number of spatial axes."""
    if X.dtype.name not in types or X.ndim - 2 not in ranks:
        raise ValueError(f"X of {X.dtype.name} with {X.ndim} axes")


def kept_ceil_size(n, k, s, d, b, e, ceil):
    """The number of windows; rounded up, one that starts in the padding at the end counts."""
    down = output_size(n, k, s, d, b, e, False)
    room = n + b + e - ((k - 1) * d + 1)
    return down + (ceil and room % s > 0)


def maxpool(X, kernel, strides, dilations, pads, auto_pad="NOTSET", ceil=False, columns=False, **steps):
    """Y and Indices of N x C x D1 x ... x Dn, by numbers that were read. All are checked, and integers compare exactly."""
    attributes = {
        "kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads, "auto_pad": auto_pad,
        "ceil_mode": int(ceil), "storage_order": int(columns),
    }  # fmt: skip
    return scan(X, attributes, **{"checks": lambda X, attributes: None, "pick": _first_maximum, **steps})


def _first_maximum(values, inside):
    if values.dtype.kind not in "iu" or values.shape[-1] == 0:
        return first_maximum(values, inside)
    seen = np.where(inside, values, np.iinfo(values.dtype).min)
    return (inside & (seen == seen.max(-1, keepdims=True))).argmax(-1)


def changed_entries(attributes, name, change):
    """The attributes with every whole number of a list changed."""
    values = attributes.get(name)
    if not isinstance(values, list):
        return attributes
    return {**attributes, name: [change(value) if type(value) is int else value for value in values]}


def at_least(attributes, name, least):
    """The attributes with no number of a list, or no number, below the least."""
    if type(attributes.get(name)) is int:
        return {**attributes, name: max(least, attributes[name])}
    return changed_entries(attributes, name, lambda value: max(least, value))


def fitted(attributes, name, length, fill):
    """The attributes with a list cut to its length, or filled up."""
    values = attributes.get(name)
    if not isinstance(values, list):
        return attributes
    return {**attributes, name: (values + [fill] * length)[:length]}


def one_of(attributes, name, allowed):
    """The attributes with the first of the allowed values for any other one."""
    if name not in attributes or (type(attributes[name]) is type(allowed[0]) and attributes[name] in allowed):
        return attributes
    return {**attributes, name: allowed[0]}


def known(attributes, names):
    """The attributes that a document has."""
    return {name: value for name, value in attributes.items() if name in names}


def well_typed(attributes, types):
    """The attributes whose values have the types of a table; others are left out."""

    def is_well_typed(name, value):
        entry = types.get(name)
        if isinstance(entry, Lists):
            return isinstance(value, list) and all(type(number) is int for number in value)
        return entry is None or type(value) is type(entry.values[0] if isinstance(entry, Choice) else 0)

    return {name: value for name, value in attributes.items() if is_well_typed(name, value)}


def as_type(kernel, X, attributes, spec, name):
    """What a kernel gives for X in another type, in the type of X."""
    outputs = kernel(X.astype(name), attributes, spec)
    Y, *rest = outputs if isinstance(outputs, tuple) else (outputs,)
    return Y.astype(X.dtype), *rest


def window_shrunk(X_sizes, kernel, dilations, pads):
    """A kernel no larger than the padded axes."""
    rank = len(kernel)
    rooms = [n + b + e for n, b, e in zip(X_sizes, pads[:rank], pads[rank:], strict=True)]
    return [max(1, min(k, (room - 1) // d + 1)) for k, d, room in zip(kernel, dilations, rooms, strict=True)]


def planes_of(X):
    """The number of each plane of X, as the tensor that its numbers are added to."""
    return np.arange(prod(X.shape[:2])).reshape(*X.shape[:2], *[1] * (X.ndim - 2))
