"""The input of a case: every form of it, as a tensor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.literals import BadLiteral, array, array_of_bits, number
from maxpool_check.corpus.random_values import draw
from maxpool_check.corpus.schema import INPUT_FORMS
from maxpool_check.reference import dtypes
from maxpool_check.reference.dtypes import NUMPY, is_float, rounded

MOST_AXES = 32
"""The most axes a tensor can have: what every numpy allows."""

_WITH_SHAPE = ("fill", "arange", "random")


@dataclass(frozen=True)
class SizeLimits:
    """What a case may ask for. ``cells`` bounds X and Y, each."""

    cells: int = 2**24


class BadInput(ValueError):
    """An input that makes no tensor: each problem with the path to the value at fault."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path
        self.all: list[BadInput] = [self]


def _all(problems: Sequence[BadInput]) -> BadInput:
    problems[0].all = list(problems)
    return problems[0]


def tensor(given: Mapping[str, Any], folder: Path, root: Path, limits: SizeLimits) -> np.ndarray:
    """The tensor of an ``input``. Files are looked for in ``folder`` and must stay inside ``root``."""
    forms = [form for form in INPUT_FORMS if form in given]
    if len(forms) != 1:
        found = f"found {' and '.join(forms)}" if forms else "found none"
        raise BadInput(f"expected exactly one of {', '.join(INPUT_FORMS)}; {found}", *forms[1:2])
    form = forms[0]
    if form != "npy" and "dtype" not in given:
        raise BadInput("missing 'dtype'")
    if form in _WITH_SHAPE and "shape" not in given:
        raise BadInput(f"'{form}' needs a 'shape'")
    shape = tuple(int(size) for size in given.get("shape", ()))
    _within(shape, limits)
    try:
        X = npy(given["npy"], folder, root, limits) if form == "npy" else _made(form, given, shape)
    except BadLiteral as error:
        raise _all([BadInput(str(one), form, *one.at) for one in error.all]) from None
    if form == "npy" and given.get("dtype", X.dtype.name) != X.dtype.name:
        raise BadInput(f"the file holds {X.dtype.name}", "dtype")
    if "shape" in given and X.shape != shape:
        raise BadInput(f"the {form} has the shape {list(X.shape)}", "shape")
    _within(X.shape, limits)
    return _overwritten(X, given.get("set", ()))


def _made(form: str, given: Mapping[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    dtype = NUMPY[given["dtype"]]
    value = given[form]
    if form == "data":
        return array(value, dtype)
    if form == "bits":
        return array_of_bits(value, dtype)
    if form == "fill":
        return np.full(shape, array([value], dtype)[0])
    if form == "random":
        if value.get("nan") and not (value["values"] == "special" and is_float(dtype)):
            raise BadInput("there is a NaN only among the special values of floats", "random", "nan")
        return draw(value["values"], int(value["seed"]), shape, dtype, value.get("nan", False))
    return _ascending(number(value.get("start", 0), dtype), number(value.get("step", 1), dtype), shape, dtype)


def _ascending(start: float, step: float, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    size = math.prod(shape)
    if is_float(dtype):
        with np.errstate(invalid="ignore", over="ignore"):
            return rounded(start + np.arange(size) * float(step), dtype).reshape(shape)
    last = start + step * max(size - 1, 0)
    try:
        number(last, dtype)
    except BadLiteral as error:
        raise BadLiteral(f"the last of {size} values does not fit: {error}") from None
    return np.array([start + step * i for i in range(size)], dtype).reshape(shape)


def npy(name: str, folder: Path, root: Path, limits: SizeLimits) -> np.ndarray:
    """The tensor of a .npy file in ``folder``; it must stay inside ``root``. Raises :class:`BadInput`."""
    try:
        path = (folder / name).resolve()
        exists = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"'{name}' is no path: {error}", "npy") from error
    if not path.is_relative_to(root.resolve()):
        raise BadInput(f"'{name}' leads out of the corpus ({root})", "npy")
    if not exists:
        raise BadInput(f"there is no file '{name}' beside the case file", "npy")
    try:
        # Mapped, so that a huge file is refused by its header alone.
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy parses the header as Python, and raises whatever comes of it
        raise BadInput(f"'{name}' is not a .npy file of numbers: {error}", "npy") from error
    if not isinstance(X, np.ndarray) or X.dtype.newbyteorder("=").name not in dtypes.NAMES:
        raise BadInput(f"'{name}' holds no tensor of {', '.join(dtypes.NAMES)}", "npy")
    _within(X.shape, limits)
    return np.array(X, X.dtype.newbyteorder("="), order="C")


def _overwritten(X: np.ndarray, cells: Sequence[Mapping[str, Any]]) -> np.ndarray:
    problems = []
    for i, cell in enumerate(cells):
        at = tuple(int(position) for position in cell["at"])
        if len(at) != X.ndim or any(position >= size for position, size in zip(at, X.shape, strict=True)):
            problems.append(BadInput(f"{list(at)} is not a cell of a tensor of shape {list(X.shape)}", "set", i, "at"))
            continue
        try:
            X[at] = array([cell["to"]], X.dtype)[0]
        except BadLiteral as error:
            problems.append(BadInput(str(error), "set", i, "to"))
    if problems:
        raise _all(problems)
    return X


def _within(shape: Sequence[int], limits: SizeLimits) -> None:
    if len(shape) > MOST_AXES:
        raise BadInput(f"a tensor of {len(shape)} axes; at most {MOST_AXES} are possible", "shape")
    # A size of 0 makes any other harmless to count, and none of them harmless to hold.
    cells = math.prod(size for size in shape if size)
    if cells > limits.cells:
        raise BadInput(
            f"a tensor of shape {list(shape)} has {cells} cells; the limit is {limits.cells} "
            "(raise it with --max-cells)",
            "shape",
        )
