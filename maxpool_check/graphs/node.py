"""A node of the chain around a MaxPool, and the numbers in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.reference.dtypes import NUMPY, is_float, rounded


class Inexact(ValueError):
    """The node has no exact and unique result for this tensor in its ONNX text, or is invalid; the message says why."""


@dataclass(frozen=True)
class Node:
    """A node of one operator, whose first input is the tensor of the chain.

    ``fields`` are its attributes and constant inputs by the names of ONNX's newest operator set, as numbers, text and
    lists; a constant input whose dtype does not follow from the chain's is ``{"dtype": "uint8", "data": 3}``.
    ``constants`` says how a model holds the constant inputs: ``initializer``, ``constant`` (a Constant node) or ``input``
    (of the graph). ``consumers`` is 2 where the output of the node is an output of the graph, too.

    Three fields are not ONNX's: ``output`` of Split, the number of the output that the chain follows (0 if left out);
    ``inputs`` of Concat, the constants after the chain's tensor; ``weights`` of Conv, ``depthwise`` or ``identity``.
    """

    op: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    constants: str = "initializer"
    consumers: int = 1

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """A list of integers. Raises :class:`Inexact` if the field is something else, or missing without a default."""
        values = self._value(name, default)
        if not isinstance(values, Sequence) or not all(_is_int64(value) for value in values):
            raise Inexact(f"{name} of {self.op} must be a list of integers, got {values}")
        return [int(value) for value in values]

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer. Raises :class:`Inexact` if the field is something else, or missing without a default."""
        value = self._value(name, default)
        if not _is_int64(value):
            raise Inexact(f"{name} of {self.op} must be an integer, got {value}")
        return int(value)

    def name(self, name: str, names: Sequence[str], default: str | None = None) -> str:
        """One of several names. Raises :class:`Inexact` if the field is something else, or missing without a default."""
        value = self._value(name, default)
        if value not in names:
            raise Inexact(f"{name} of {self.op} must be one of {', '.join(names)}, got {value}")
        return str(value)

    def scalar(self, name: str, dtype: str) -> np.ndarray:
        """A tensor of one number, without axes. Raises :class:`Inexact` if the field is something else, or missing."""
        value = tensor(self._value(name, None), dtype, f"{name} of {self.op}")
        if value.ndim:
            raise Inexact(f"{name} of {self.op} must be one number")
        return value

    def _value(self, name: str, default: Any) -> Any:
        value = self.fields.get(name)
        if value is None and default is None:
            raise Inexact(f"{self.op} needs {name}")
        return default if value is None else value


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def tensor(value: Any, dtype: str, name: str) -> np.ndarray:
    """Numbers of a case file as a tensor of ``dtype``, or of their own: ``{"dtype": "uint8", "data": 3}``.

    A number is a tensor without axes. Numbers for a float type are rounded once, to nearest even; for an integer type they
    must be integers in its range. Raises :class:`Inexact` with ``name`` in its message.
    """
    if isinstance(value, Mapping):
        value, dtype = value.get("data"), value.get("dtype", dtype)
    if dtype not in NUMPY:
        raise Inexact(f"{name} has the unknown dtype '{dtype}'")
    target = NUMPY[dtype]
    try:
        if is_float(target):
            return np.asarray(rounded(np.asarray(value, np.float64), target))
        numbers = np.asarray(value, object)
        limits = np.iinfo(target)
        # Of a case file, -0 is a float.
        if not all(
            number == 0 or (isinstance(number, int) and limits.min <= number <= limits.max) for number in numbers.flat
        ):
            raise Inexact(f"{name} must hold integers of {dtype}, got {value}")
        return np.asarray(numbers.astype(target))
    except (ValueError, TypeError) as mistake:
        raise Inexact(f"{name}: {mistake}") from mistake


def wide(X: np.ndarray) -> np.ndarray:
    """The values as float64, which holds those of every float type exactly."""
    # bfloat16 warns of NaN.
    with np.errstate(invalid="ignore"):
        return X.astype(np.float64)


def significand_bits(dtype: np.dtype) -> int:
    """The bits of the significand: integers up to 2 to this power are exact, and so is each sum of them that is not larger."""
    return int(ml_dtypes.finfo(dtype).nmant) + 1
