"""The tensor of an ``input``, in each of its forms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.literals import array, array_of_bits, number
from maxpool_check.corpus.problems import BadValue, first_of
from maxpool_check.corpus.random_values import draw
from maxpool_check.corpus.schema import INPUT_FORMS
from maxpool_check.reference import dtypes
from maxpool_check.reference.dtypes import NUMPY, is_float, rounded

MOST_AXES = 32
"""The most axes a tensor can have: the limit of numpy 1."""

_WITH_SHAPE = ("fill", "arange", "random")


@dataclass(frozen=True)
class SizeLimits:
    """Limits of a case. ``cells`` is the maximum for X, and for Y."""

    cells: int = 2**24


def tensor(fields: Mapping[str, Any], folder: Path, root: Path, limits: SizeLimits) -> np.ndarray:
    """The tensor of an ``input``. Files are relative to ``folder`` and inside ``root``. Raises :class:`BadValue`."""
    forms = [form for form in INPUT_FORMS if form in fields]
    if len(forms) != 1:
        message = f"expected exactly one of {', '.join(INPUT_FORMS)}; found {' and '.join(forms) or 'none'}"
        raise BadValue(message, *forms[1:2])
    form = forms[0]
    if form != "npy" and "dtype" not in fields:
        raise BadValue("missing 'dtype'")
    if form in _WITH_SHAPE and "shape" not in fields:
        raise BadValue(f"'{form}' needs a 'shape'")
    shape = tuple(int(size) for size in fields.get("shape", ()))
    _check_size(shape, limits)
    try:
        X = npy(fields["npy"], folder, root, limits) if form == "npy" else _generate(form, fields, shape)
    except BadValue as error:
        raise error.inside(form) from None
    if form == "npy" and fields.get("dtype", X.dtype.name) != X.dtype.name:
        raise BadValue(f"the file contains {X.dtype.name}", "dtype")
    if "shape" in fields and X.shape != shape:
        raise BadValue(f"the {form} has the shape {list(X.shape)}", "shape")
    _check_size(X.shape, limits)
    return _set_cells(X, fields.get("set", ()))


def _generate(form: str, fields: Mapping[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    dtype = NUMPY[fields["dtype"]]
    value = fields[form]
    if form == "data":
        return array(value, dtype)
    if form == "bits":
        return array_of_bits(value, dtype)
    if form == "fill":
        return np.full(shape, array([value], dtype)[0])
    if form == "random":
        if value.get("nan") and not (value["values"] == "special" and is_float(dtype)):
            raise BadValue("nan: true requires values: special and a float dtype", "nan")
        return draw(value["values"], int(value["seed"]), shape, dtype, value.get("nan", False))
    return _ascending(number(value.get("start", 0), dtype), number(value.get("step", 1), dtype), shape, dtype)


def _ascending(start: float, step: float, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    size = math.prod(shape)
    if is_float(dtype):
        with np.errstate(invalid="ignore", over="ignore"):
            return rounded(start + np.arange(size) * float(step), dtype).reshape(shape)
    try:
        number(start + step * max(size - 1, 0), dtype)
    except BadValue as error:
        raise BadValue(f"the last of {size} values does not fit: {error}") from None
    return np.array([start + step * i for i in range(size)], dtype).reshape(shape)


def npy(name: str, folder: Path, root: Path, limits: SizeLimits) -> np.ndarray:
    """The tensor of a .npy file, relative to ``folder`` and inside ``root``. Raises :class:`BadValue`."""
    try:
        path = (folder / name).resolve()
        exists = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise BadValue(f"'{name}' is not a valid path: {error}") from error
    if not path.is_relative_to(root.resolve()):
        raise BadValue(f"'{name}' leads out of the corpus ({root})")
    if not exists:
        raise BadValue(f"there is no file '{name}' next to the case file")
    try:
        # Mapped, so that a huge file is refused by its header.
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy evaluates the header, which may raise anything
        raise BadValue(f"'{name}' is not a .npy file of numbers: {error}") from error
    if not isinstance(X, np.ndarray) or X.dtype.newbyteorder("=").name not in dtypes.NAMES:
        raise BadValue(f"'{name}' contains no tensor of {', '.join(dtypes.NAMES)}")
    _check_size(X.shape, limits)
    return np.array(X, X.dtype.newbyteorder("="), order="C")


def _set_cells(X: np.ndarray, cells: Sequence[Mapping[str, Any]]) -> np.ndarray:
    errors: list[BadValue] = []
    for i, cell in enumerate(cells):
        at = tuple(int(position) for position in cell["at"])
        if len(at) != X.ndim or any(position >= size for position, size in zip(at, X.shape, strict=True)):
            errors.append(BadValue(f"{list(at)} is not a cell of a tensor of shape {list(X.shape)}", "set", i, "at"))
            continue
        try:
            X[at] = array([cell["to"]], X.dtype)[0]
        except BadValue as error:
            errors.append(BadValue(str(error), "set", i, "to"))
    if errors:
        raise first_of(errors)
    return X


def _check_size(shape: Sequence[int], limits: SizeLimits) -> None:
    if len(shape) > MOST_AXES:
        raise BadValue(f"a tensor of {len(shape)} axes; the limit is {MOST_AXES}", "shape")
    # numpy refuses huge sizes even where another size is 0.
    cells = math.prod(size for size in shape if size)
    if cells > limits.cells:
        remedy = f"the limit is {limits.cells} (raise it with --max-cells)"
        raise BadValue(f"a tensor of shape {list(shape)} has {cells} cells; {remedy}", "shape")
