"""The vectors of a kit as C99: a header, and a file with their data and the program that runs and compares them."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from maxpool_check.exporting.export import document_data, rendered
from maxpool_check.exporting.vectors import NO_CELL, tensor_of

if TYPE_CHECKING:
    from maxpool_check.exporting.kit import KitVector

_FILES = resources.files(__package__).joinpath("kits")
_COLUMNS, _CELLS_OF_A_LINE = 118, 32
_HEADER, _SOURCE = "maxpool_kit.h", "maxpool_kit.c"


def c_files(
    kit: str, spec: str, mistakes: Sequence[str], vectors: Sequence["KitVector"], large: Sequence["KitVector"] = ()
) -> dict[str, bytes]:
    """The files of a kit of a document, from its vectors and the mistakes that they notice; of ``large`` vectors, X is made by a loop.

    Raises ``ValueError`` for a vector that C cannot hold.
    """
    names: dict[tuple[str, str], str] = {}
    in_c = [_Vector(number, each, names, mistakes) for number, each in enumerate(vectors)]
    filled = [_Vector(number, each, names) for number, each in enumerate(large, len(vectors))]
    source = rendered(
        f"kits/{_SOURCE}.j2", kit=kit, document=spec, title=document_data(spec)["title"], vectors=in_c, filled=filled,
        mistakes=mistakes, x_bytes=max((vector.x_bytes for vector in in_c), default=1),
        y_cells=max(vector.y_cells for vector in in_c + filled),
    )  # fmt: skip
    return {_HEADER: _FILES.joinpath(_HEADER).read_bytes(), _SOURCE: source}


class _Vector:
    """A vector in C: the declarations of its arrays, its entry in the table, its size, and bits for the ``mistakes`` that it notices.

    ``names`` are those of arrays that vectors share, by their types and values. Of a large vector, X is a cell that is repeated,
    and others that are set.
    """

    def __init__(
        self, number: int, vector: "KitVector", names: dict[tuple[str, str], str], mistakes: Sequence[str] = ()
    ) -> None:
        test = vector.test
        self.declarations = [f"/* {test['id']} */"]
        self._number, self._names = number, names
        X, result = test["inputs"]["X"], (test["results"] or [{"outputs": {}}])[0]
        if len(test["results"]) > 1 or (test["result"] == "acceptable" and not test["results"]):
            raise ValueError(f"{test['id']} has outputs of several shapes, or may have any")
        Y, indices = (result["outputs"].get(name, {}) for name in ("Y", "Indices"))
        width, x_cells, y_cells = np.dtype(X["dtype"]).itemsize, math.prod(X["shape"]), math.prod(Y.get("shape", [0]))
        self.x_bytes, self.y_cells = x_cells * width, y_cells
        attributes = [self._attribute(name, value) for name, value in test["attributes"].items()]
        of_test = (
            f'"{test["id"]}"', f'"{X["dtype"]}"', width, len(X["shape"]), self._integers("shape", X["shape"]), len(attributes),
            self._array("struct maxpool_attribute", "attributes", attributes),
            self._array("struct maxpool_axis", "axes", [_row(map(_integer, each)) for each in result.get("windows", ())]),
            self._integers("output", Y.get("shape", ())),
        )  # fmt: skip
        cells = [_row((at, _pattern(cell))) for at, cell in X.get("set", ())]
        is_whole = X["dtype"] == "float32" and all(map(_is_whole, (X["hex"], Y.get("hex", ""))))
        also = [(output, *each) for output, tensor in enumerate((Y, indices)) for each in tensor.get("also", ())]
        numbers = tensor_of(indices).reshape(-1).tolist() if indices else []
        pairs = [_row((*cells, _pattern(y), _pattern(index))) for *cells, y, index in result.get("together", ())]
        noticed = [[name in names for name in mistakes] for names in (vector.by_y, vector.with_indices)]
        bits = [_row(np.packbits([*each, False], bitorder="little").tolist()) for each in noticed]
        self.entry = _row((
            _row(of_test), int("Indices" in test["outputs"]), int(test["result"] == "acceptable"), x_cells, y_cells,
            int(is_whole), self._cells("x", X["hex"], is_whole), len(cells), self._array("struct set", "set", cells),
            self._cells("y", Y.get("hex", ""), is_whole), self._integers("indices", numbers),
            indices.get("bound", 0), len(also), self._array("struct also", "also", map(_also, also)),
            len(pairs), self._array("struct pair", "pairs", pairs), _row(bits),
        ))  # fmt: skip

    def _array(self, type_: str, name: str, values: Iterable[object]) -> str:
        """Declare an array, unless there is one with these values; its name, or NULL if it has no values."""
        text = ", ".join(map(str, values))
        if not text:
            return "NULL"
        if (type_, text) not in self._names:
            self._declare(type_, name, textwrap.fill(text, _COLUMNS, break_on_hyphens=False))
            self._names[type_, text] = f"{name}_{self._number}"
        return self._names[type_, text]

    def _declare(self, type_: str, name: str, text: str) -> None:
        begin, end = ("\n", "\n") if len(text) > _COLUMNS // 2 else ("", "")
        self.declarations.append(f"static const {type_} {name}_{self._number}[] = {{{begin}{text}{end}}};")

    def _integers(self, name: str, values: Iterable[int]) -> str:
        return self._array("int64_t", name, map(_integer, values))

    def _cells(self, name: str, text: str, is_whole: bool) -> str:
        """Declare the cells of a tensor: as numbers if all are whole, which is much shorter, and as bytes otherwise."""
        content = bytes.fromhex(text)
        numbers = [str(int(each)) for each in np.frombuffer(content, "<f4")] if is_whole else list(map(str, content))
        if not numbers:
            return "NULL"
        lines = [",".join(numbers[at : at + _CELLS_OF_A_LINE]) for at in range(0, len(numbers), _CELLS_OF_A_LINE)]
        self._declare("float" if is_whole else "unsigned char", name, ",\n".join(lines))
        return f"(const unsigned char *){name}_{self._number}" if is_whole else f"{name}_{self._number}"

    def _attribute(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            return _row((f'"{name}"', f'"{value}"', 0, "NULL"))
        values = value if isinstance(value, list) else [value]
        if not all(type(each) is int for each in values):
            raise ValueError(f"{name} is no integers and no text: {value}")
        return _row((f'"{name}"', "NULL", len(values), self._integers(f"of_{name}", values)))


def _row(values: Iterable[object]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _integer(value: int) -> str:
    """A number as C writes it, which has no negative literals."""
    if value == -(2**63):
        return "INT64_MIN"
    return str(value) if abs(value) < 2**31 else f"INT64_C({value})"


def _pattern(text: str) -> str:
    """The bits of a value from its bytes."""
    return f"{int.from_bytes(bytes.fromhex(text), 'little'):#x}"


def _is_whole(text: str) -> bool:
    """Whether the cells of float32 are whole numbers that C writes exactly, and none is a negative zero."""
    cells = np.frombuffer(bytes.fromhex(text), "<f4")
    return bool((np.isfinite(cells) & (np.abs(cells) < 2**24)).all()) and (
        cells.astype(np.int64).astype("<f4").tobytes() == cells.tobytes()
    )


def _also(value: tuple[int, int, str | None]) -> str:
    output, cell, text = value
    if text is None or text == NO_CELL:
        return _row((output, cell, "ANY" if text is None else "NO_CELL", 0))
    return _row((output, cell, "VALUE", _pattern(text)))
