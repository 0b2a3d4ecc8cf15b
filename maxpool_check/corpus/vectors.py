"""The form of vectors: cases with all outputs that are right, as JSON that other programs read; and its JSON Schema.

A tensor is its dtype, its shape, and the bytes of its values in hexadecimal digits: row-major, each value little-endian, as
they lie in the memory of nearly every machine.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from maxpool_check.corpus.problems import BadValue
from maxpool_check.corpus.schema import DIALECT, GRAPH, TEXT, list_of, map_of, text
from maxpool_check.corpus.tensors import MOST_AXES
from maxpool_check.reference import dtypes
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.specification import Reason

FORM = "maxpool-check/vectors/"
"""How the key ``schema`` of a file of vectors begins, in every version."""

SCHEMA = f"{FORM}1"
"""What the key ``schema`` of a file of vectors says."""

MANIFEST_SCHEMA = "maxpool-check/export/1"
"""What it says in the manifest of an export, which holds no cases."""

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


_NATURAL = {"type": "integer", "minimum": 0}
_HEX = {"type": "string", "pattern": "^([0-9a-f][0-9a-f])*$"}
_SHAPE = list_of({**_NATURAL, "maximum": 2**31}, maxItems=MOST_AXES)
_NAMED = {
    "dtype": {"enum": [*dtypes.NAMES, "bool"]},
    "shape": {**_SHAPE, "description": "the sizes of the axes; the layout is that of the document"},
    "hex": {**_HEX, "description": "the bytes of the values: row-major, each value little-endian, two digits a byte"},
}
_TENSOR = {**map_of("dtype shape hex", **_NAMED), "description": "a tensor"}
_ALSO = {
    "type": "array",
    "minItems": 2,
    "maxItems": 2,
    "prefixItems": [_NATURAL, {"anyOf": [_HEX, {"const": NO_CELL}, {"type": "null"}]}],
    "items": False,
}
_OUTPUT = {
    **map_of(
        "dtype shape hex",
        **_NAMED,
        also=list_of(
            _ALSO,
            description="further right values of single cells: [the position of the cell in hex, a value]. "
            f"null: any value is right; {NO_CELL}: any number below 0, or not below bound",
        ),
        bound={**_NATURAL, "description": "of Indices: the cells of X have the numbers below it"},
    ),
    "description": "an output: hex has a right value of each cell. A NaN stands for every NaN, and has the usual bits (7fc00000 in "
    "float32)",
}
_PAIR = {"type": "array", "minItems": 4, "maxItems": 4, "prefixItems": [_NATURAL, _NATURAL, _HEX, _HEX], "items": False}
_RESULT = map_of(
    "windows outputs",
    windows=list_of(
        {"type": "array", "items": {"type": "integer"}, "minItems": 7, "maxItems": 7},
        description="for each spatial axis: size of X, kernel, stride, dilation, padding at the beginning, padding at the "
        "end, number of windows. Window i begins at i * stride - padding at the beginning. Negative padding crops X",
    ),
    outputs={"type": "object", "additionalProperties": _OUTPUT, "description": "the outputs by name"},
    together=list_of(
        _PAIR,
        description="[position in Y, position in Indices, value of Y, value of Indices]: where Y and Indices are both "
        "returned, such a pair of cells must hold one of the pairs of values that are listed for it",
    ),
)
_TEST = map_of(
    "id sha256 title result attributes inputs outputs results",
    id=text("the id of the case"),
    sha256={"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "the digest of what determines the result"},
    title=text("the purpose of the case, in one sentence"),
    covers=list_of(TEXT, description="clauses of the document"),
    tags=list_of(TEXT),
    flags=list_of(TEXT, description="what is special about the test; the file explains each under flags"),
    result={
        "enum": ["valid", "invalid", "acceptable"],
        "description": "valid: one of results must be returned. invalid: the graph must be refused. acceptable: it may be "
        "refused, or one of results returned; without results, anything",
    },
    refusal=map_of(
        "reason message clause",
        reason={"enum": [reason.value for reason in Reason]},
        message=TEXT,
        clause=text("the place in the document that excludes the graph"),
    ),
    provenance=map_of(suite=TEXT, version=TEXT, file=TEXT),
    attributes={"type": "object", "description": 'the document\'s own; a float that JSON lacks is {"float": "-inf"}'},
    opset={"type": "integer", "minimum": 1, "description": "the ONNX operator set of a graph"},
    graph={"anyOf": [GRAPH["properties"]["nodes"], GRAPH], "description": "the nodes through which X flows"},
    initializer={"const": True, "description": "X is an initializer of the graph, not an input"},
    inputs=map_of("X", X=_TENSOR),
    outputs=list_of(TEXT, description="the outputs to compare, those of results"),
    results=list_of(_RESULT, description="the results that are right: outputs must agree with one of them"),
)
_GROUP = map_of(
    "policies tests",
    policies={
        **map_of(**{point: {"enum": [each.value for each in choices]} for point, choices in INTERPRETATIONS.items()}),
        "description": "how the points are interpreted that the document leaves open; unspecified, any and either: every "
        "interpretation is right",
    },
    tests=list_of(_TEST, minItems=1),
)

FILE = map_of(
    "schema tool document numberOfTests flags testGroups",
    schema={"const": SCHEMA},
    tool=map_of("name version", name=TEXT, version=TEXT),
    document=map_of(
        "name title layout",
        name={"enum": list(SPECIFICATIONS)},
        title=TEXT,
        layout=text("the order of the axes of X, Y and Indices"),
        edition=text("the edition of the document that was read"),
        sha256=text("the SHA-256 of its text"),
    ),
    numberOfTests=_NATURAL,
    flags={"type": "object", "additionalProperties": TEXT, "description": "the meaning of each flag"},
    testGroups=list_of(_GROUP, description="tests under the same policies"),
)
"""A file of vectors."""


def vector_file_schema() -> dict[str, Any]:
    """The published schema of a file of vectors."""
    return {"$schema": DIALECT, "title": "maxpool-check vectors", **FILE}
