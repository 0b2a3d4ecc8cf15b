"""The form of vectors: cases with all outputs that are right, as JSON that other programs read; and its JSON Schema.

A tensor is its dtype, its shape, and the bytes of its values in hexadecimal digits: row-major, each value little-endian, as
they lie in the memory of nearly every machine.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.problems import BadValue
from maxpool_check.corpus.schema import GRAPH, read_schema
from maxpool_check.reference import dtypes

FORM = "maxpool-check/vectors/"
"""How the key ``schema`` of a file of vectors begins, in every version."""

SCHEMA = f"{FORM}1"
"""What the key ``schema`` of a file of vectors says."""

MANIFEST_SCHEMA = "maxpool-check/export/1"
"""What it says in the manifest of an export, which holds no cases."""

FILE: dict[str, Any] = read_schema(
    Path(__file__).with_name("vectors.schema.json"),
    all_dtypes=[*dtypes.NAMES, "bool"],
    graph=GRAPH,
    nodes=GRAPH["properties"]["nodes"],
)
"""The published schema of a file of vectors."""

ANY, NO_CELL = None, "no-cell"
"""What a cell may hold besides single values: any value; any number that is not the number of a cell of X."""


def tensor_data(tensor: np.ndarray) -> dict[str, Any]:
    """A tensor as plain data."""
    return {"dtype": tensor.dtype.name, "shape": list(tensor.shape), "hex": hex_of(tensor)}


def hex_of(values: np.ndarray | np.generic) -> str:
    """The bytes of values in hexadecimal digits."""
    array = np.asarray(values)
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes().hex()


def tensor_of(data: Mapping[str, Any], most_cells: int) -> np.ndarray:
    """The tensor of plain data that has the form of one. Raises :class:`BadValue`."""
    dtype, shape = np.dtype(bool) if data["dtype"] == "bool" else dtypes.NUMPY[data["dtype"]], tuple(data["shape"])
    cells = math.prod(shape)
    if max(cells, math.prod(size for size in shape if size)) > most_cells:
        raise BadValue(
            f"a tensor of shape {list(shape)}; the limit is {most_cells} cells (raise it with --max-cells)", "shape"
        )
    digits = cells * dtype.itemsize * 2
    if len(data["hex"]) != digits:
        message = f"{len(data['hex'])} digits; {cells} values of {dtype.name} have {digits}"
        raise BadValue(message, "hex")
    values = np.frombuffer(bytes.fromhex(data["hex"]), dtype.newbyteorder("<"))
    return values.astype(dtype, copy=True).reshape(shape)


def plain(value: Any) -> Any:
    """Attributes and graphs as JSON: a float that is no number of JSON is ``{"float": "-inf"}``."""
    if isinstance(value, Mapping):
        return {name: plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return {"float": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def unplain(value: Any) -> Any:
    """The inverse of :func:`plain`."""
    if isinstance(value, Mapping):
        is_float = value.keys() == {"float"} and value["float"] in ("inf", "-inf", "nan")
        return float(value["float"]) if is_float else {name: unplain(entry) for name, entry in value.items()}
    return [unplain(entry) for entry in value] if isinstance(value, list) else value
