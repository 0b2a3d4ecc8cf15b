"""Tensors of a case file: literals as numbers of a dtype, and the ``input`` in each of its forms."""

import hashlib
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.corpus.problems import BadValue, describe, first_of
from maxpool_check.corpus.random_tensors import draw
from maxpool_check.corpus.schema import INPUT_FORMS
from maxpool_check.files import open_regular, read_regular
from maxpool_check.reference.dtypes import NAMES, NUMPY, highest, is_float, lowest, rounded
from maxpool_check.words import plural

MOST_CELLS = 2**25
"""The most cells that X or Y may have, unless the user sets another limit."""

MOST_TOGETHER = 4
"""So many of the largest X fit into the memory; others are made again where they are needed."""

_FEW_CELLS = 4096
"""The values of so many cells take no more memory than what else a case has."""

_MOST_BYTES = 2**40

MOST_AXES = 32
"""The most axes a tensor can have: the limit of numpy 1."""


_SYMBOLS = ("lowest", "highest", "tiny", "smallest_subnormal")
_BITS = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)")
_HEXADECIMAL_INTEGER = re.compile(r"[-+]?0[xX][0-9a-fA-F]+")
_HEXADECIMAL = re.compile(r"[-+]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)([pP][-+]?[0-9]+)?")


@dataclass(frozen=True, eq=False)
class Recipe:
    """How an X is made: its values if there are few, otherwise what makes them again, so that a case is small.

    ``fields`` are those of an ``input`` that generates values. ``file`` is a .npy file, ``sha256`` the digest of its content.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    values: np.ndarray | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    sha256: str = ""

    @classmethod
    def of(cls, X: np.ndarray) -> "Recipe":
        """That of a tensor."""
        return cls(X.dtype, X.shape, X)

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def tensor(self) -> np.ndarray:
        """X, which must not be changed. Raises ``OSError`` if its file has changed since it was read."""
        return _made(self) if self.values is None else self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """X for functions of numpy."""
        return np.array(self.tensor(), dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values instead of a file, which another machine may not have."""
        if self.file is not None:
            return Recipe.of, (self.tensor(),)
        return self.reduced_here()

    def reduced_here(self) -> tuple[Any, ...]:
        """What pickles it for this machine, which has its file."""
        return Recipe, (self.dtype, self.shape, self.values, self.fields, self.file, self.sha256)


@lru_cache(MOST_TOGETHER)
def _made(recipe: Recipe) -> np.ndarray:
    """The tensor of a recipe without values: as a case is executed, it is needed several times."""
    if recipe.file is None:
        (form,) = (form for form in INPUT_FORMS if form in recipe.fields)
        return _set_cells(_generate(form, recipe.fields, recipe.shape), recipe.fields.get("set", ()))
    content = read_regular(recipe.file, _MOST_BYTES)
    if hashlib.sha256(content).hexdigest() != recipe.sha256:
        raise OSError(f"{recipe.file} has changed since the cases were read; run again")
    X = np.load(io.BytesIO(content), allow_pickle=False)
    return _set_cells(np.array(X, recipe.dtype, order="C"), recipe.fields.get("set", ()))


def recipe(fields: Mapping[str, Any], folder: Path, root: Path, most_cells: int = MOST_CELLS) -> Recipe:
    """The recipe of an ``input``. Files are relative to ``folder`` and inside ``root``. Raises :class:`BadValue`."""
    X = _tensor(fields, folder, root, most_cells)
    if X.size <= _FEW_CELLS or "data" in fields or "bits" in fields:
        return Recipe.of(X)
    if "npy" not in fields:
        return Recipe(X.dtype, X.shape, fields=fields)
    file = npy_path(fields["npy"], folder, root)
    digest = hashlib.sha256(read_regular(file, _MOST_BYTES)).hexdigest()
    return Recipe(X.dtype, X.shape, fields={"set": fields.get("set", ())}, file=file, sha256=digest)


def _tensor(fields: Mapping[str, Any], folder: Path, root: Path, most_cells: int) -> np.ndarray:
    forms = [form for form in INPUT_FORMS if form in fields]
    if len(forms) != 1:
        message = f"expected exactly one of {', '.join(INPUT_FORMS)}; found {' and '.join(forms) or 'none'}"
        raise BadValue(message, *forms[1:2])
    form = forms[0]
    if form != "npy" and "dtype" not in fields:
        raise BadValue("missing 'dtype'")
    if form in ("fill", "arange", "random") and "shape" not in fields:
        raise BadValue(f"'{form}' needs a 'shape'")
    shape = tuple(int(size) for size in fields.get("shape", ()))
    _check_size(shape, most_cells)
    try:
        X = npy(fields["npy"], folder, root, most_cells) if form == "npy" else _generate(form, fields, shape)
    except BadValue as error:
        raise error.inside(form) from None
    if form == "npy" and fields.get("dtype", X.dtype.name) != X.dtype.name:
        raise BadValue(f"the file contains {X.dtype.name}", "dtype")
    if "shape" in fields and X.shape != shape:
        raise BadValue(f"the {form} has the shape {list(X.shape)}", "shape")
    _check_size(X.shape, most_cells)
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
    # Modulo 2^64, in which the values themselves, which fit, are exact.
    with np.errstate(over="ignore"):
        values = np.arange(size, dtype=np.uint64) * np.uint64(step % 2**64) + np.uint64(start % 2**64)
    return values.astype(dtype).reshape(shape)


def npy_path(name: str, folder: Path, root: Path) -> Path:
    """The path of a .npy file, relative to ``folder`` and inside ``root``. Raises :class:`BadValue`."""
    try:
        path = (folder / name).resolve()
        exists = path.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise BadValue(f"'{name}' is not a valid path: {error}") from error
    if not path.is_relative_to(root.resolve()):
        raise BadValue(f"'{name}' leads out of the corpus ({root})")
    if not exists:
        raise BadValue(f"there is no file '{name}' next to the case file")
    return path


def npy(name: str, folder: Path, root: Path, most_cells: int) -> np.ndarray:
    """The tensor of a .npy file, relative to ``folder`` and inside ``root``. Raises :class:`BadValue`."""
    path = npy_path(name, folder, root)
    try:
        with open_regular(path):
            # Mapped, so that a huge file is refused by its header.
            X = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy evaluates the header, which may raise anything
        raise BadValue(f"'{name}' is not a .npy file of numbers: {error}") from error
    if not isinstance(X, np.ndarray) or X.dtype.newbyteorder("=").name not in NAMES:
        raise BadValue(f"'{name}' contains no tensor of {', '.join(NAMES)}")
    _check_size(X.shape, most_cells)
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


def _check_size(shape: Sequence[int], most_cells: int) -> None:
    if len(shape) > MOST_AXES:
        raise BadValue(f"a tensor of {len(shape)} axes; the limit is {MOST_AXES}", "shape")
    # numpy refuses huge sizes even where another size is 0.
    cells = math.prod(size for size in shape if size)
    if cells > most_cells:
        remedy = f"the limit is {most_cells} (MAXPOOL_CHECK_MAX_CELLS raises it)"
        raise BadValue(f"a tensor of shape {list(shape)} has {cells} cells; {remedy}", "shape")


def number(value: Any, dtype: np.dtype) -> float | int:
    """One literal as an exact Python number: an integer in the dtype's range, or a float before rounding to the dtype."""
    literal = value
    if isinstance(value, str):
        value = _text_number(value, dtype)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadValue(f"expected a number, found {describe(value)}")
    if is_float(dtype):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, float) and not value.is_integer():
        raise BadValue(f"{dtype.name} cannot hold {value} exactly")
    if not int(lowest(dtype)) <= value <= int(highest(dtype)):
        raise BadValue(
            f"{dtype.name} holds {lowest(dtype)} to {highest(dtype)}, not {describe(literal) if isinstance(literal, str) else value}"
        )
    return int(value)


def array(values: Any, dtype: np.dtype) -> np.ndarray:
    """Nested lists of literals as a tensor; the shape is the nesting. Raises :class:`BadValue`."""
    shape, leaves = _flatten(values, lambda value: number(value, dtype))
    tensor = rounded(np.array(leaves, np.float64), dtype) if is_float(dtype) else np.array(leaves, dtype)
    return tensor.reshape(shape)


def array_of_bits(values: Any, dtype: np.dtype) -> np.ndarray:
    """Nested lists of hexadecimal bit patterns as a tensor. Raises :class:`BadValue`."""
    shape, leaves = _flatten(values, lambda value: _pattern(value, dtype))
    return np.array(leaves, f"u{dtype.itemsize}").view(dtype).reshape(shape)


def _text_number(value: str, dtype: np.dtype) -> float | int:
    if value in ("lowest", "highest"):
        limit = lowest(dtype) if value == "lowest" else highest(dtype)
        return float(limit) if is_float(dtype) else int(limit)
    if value in _SYMBOLS:
        if not is_float(dtype):
            raise BadValue(f"{dtype.name} has no '{value}'; only floats have")
        return float(getattr(ml_dtypes.finfo(dtype), value))
    if _HEXADECIMAL.fullmatch(value):
        # For a float dtype, -0x0 is a negative zero.
        if not is_float(dtype) and _HEXADECIMAL_INTEGER.fullmatch(value):
            return int(value, 16)
        try:
            return float.fromhex(value)
        except OverflowError:
            return -math.inf if value.startswith("-") else math.inf
    hint = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan", "+inf": ".inf"}.get(value.lower())
    more = f"; write {hint}" if hint else f"; allowed besides numbers: {', '.join(_SYMBOLS)} and hexadecimal floats"
    raise BadValue(f"expected a number, found the text '{value}'{more}")


def _pattern(value: Any, dtype: np.dtype) -> int:
    digits = dtype.itemsize * 2
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9:
        return value
    match = _BITS.fullmatch(value) if isinstance(value, str) else None
    if match and len(match[1]) == digits:
        return int(match[1], 16)
    expected = f"{digits} hexadecimal digits in quotes, the bits of a {dtype.name}"
    raise BadValue(f"expected {expected}; found {describe(value)}")


def _flatten(values: Any, leaf: Callable[[Any], Any]) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists, and their converted values in row-major order."""
    shape: list[int] = []
    inner = values
    while isinstance(inner, list):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    leaves: list[Any] = []
    mistakes: list[BadValue] = []

    def walk(value: Any, at: tuple[int, ...]) -> None:
        is_list = isinstance(value, list)
        if len(at) == len(shape):
            if is_list:
                mistakes.append(BadValue(f"ragged: a list where {list(at)} should be one value", *at))
                return
            try:
                leaves.append(leaf(value))
            except BadValue as error:
                mistakes.append(BadValue(str(error), *at))
        elif is_list and len(value) == shape[len(at)]:
            for position, entry in enumerate(value):
                walk(entry, (*at, position))
        else:
            actual = plural(len(value), "value") if is_list else describe(value)
            message = f"ragged: expected a list of {shape[len(at)]} as in its neighbours, found {actual}"
            mistakes.append(BadValue(message, *at))

    walk(values, ())
    if mistakes:
        raise first_of(mistakes)
    return tuple(shape), leaves
