"""The JSON Schema of case files, used to validate files and by editors.

A case is checked after its matrix is expanded and the file's defaults are merged into it, against :data:`CASE`. The
published schema of a whole file, :func:`case_file_schema`, also allows a ``$name`` in place of any value.
"""

from collections.abc import Mapping
from typing import Any

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.operators import OPERATORS
from maxpool_check.reference import dtypes
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.specifications import OPERATOR_SET, SPECIFICATIONS
from maxpool_check.specifications.specification import Reason

DIALECT = "https://json-schema.org/draft/2020-12/schema"

INPUT_FORMS = ("data", "bits", "fill", "arange", "random", "npy")


def map_of(required: str = "", /, **properties: Any) -> dict[str, Any]:
    """A map with these keys and no others; ``required`` names those that it must have."""
    return {"type": "object", "additionalProperties": False, "required": required.split(), "properties": properties}


def list_of(items: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A list of such items."""
    return {"type": "array", **({"items": items} if items else {}), **more}


def text(description: str, **more: str) -> dict[str, Any]:
    """Text, with what it is."""
    return {**TEXT, **more, "description": description}


TEXT = {"type": "string"}
_NUMBER = {"type": ["number", "string"]}
_SIZES = list_of({"type": "integer", "minimum": 0})
_VALUES = {
    **map_of("npy", npy=TEXT),
    "type": ["array", "object"],
    "description": "nested lists of values, or {npy: a .npy file next to the case file}",
}
ID = text("an id without spaces, colons or wildcards", pattern=r"^[^\s:*?\[\]\x00-\x1f\x7f]+$(?!\n)")

_RANDOM = {"enum": ["distinct", "normal", "ties", "special"]}
_INPUT = map_of(
    dtype={"enum": list(dtypes.NAMES)},
    data=list_of(description="nested lists of values; the shape is the nesting"),
    bits=list_of(description="nested lists of bit patterns, hexadecimal text"),
    shape=_SIZES,
    fill={**_NUMBER, "description": "one value"},
    arange=map_of(start=_NUMBER, step=_NUMBER),
    random=map_of("seed values", seed={"type": "integer"}, values=_RANDOM, nan={"type": "boolean"}),
    npy=text("a .npy file next to the case file"),
    set=list_of(map_of("at to", at=_SIZES, to=_NUMBER), description="overwrites single cells"),
    **{"as": {"enum": ["input", "initializer"], "description": "what X is in the graph"}},
)

_NODE = {
    "type": "object",
    "required": ["op"],
    "properties": {
        "op": {"enum": sorted({*OPERATORS, MAX_POOL}), "description": "an operator of ONNX"},
        "as": {
            "enum": ["initializer", "constant", "input"],
            "description": "what its constant inputs are in the graph",
        },
        "consumers": {"enum": [1, 2], "description": "2: its output is an output of the graph, too"},
    },
    "description": "an operator with its attributes and constant inputs, by ONNX's names; MaxPool alone is the judged one",
}
_NODES = list_of(_NODE, minItems=1, description="the nodes through which X flows, in order")

GRAPH = map_of(
    "nodes",
    nodes=_NODES,
    shape={
        "type": ["array", "string"],
        "description": "the declared shape of X: sizes, and names of sizes that are known at run time; or dynamic",
    },
    inside={"enum": ["If", "Loop", "function"], "description": "what the nodes are inside of"},
)
"""The ``graph`` of a case as a map; a list is that of its ``nodes``."""

_COVERS = list_of(TEXT, description="clauses of the document; or by-bins, those that follow from the bins of each case")

_FIELDS: dict[str, Any] = {
    "id": ID,
    "title": text("the purpose of the case, in one sentence"),
    "provenance": {
        **map_of(suite=TEXT, version=TEXT, file=TEXT),
        "description": "the origin of a case of another suite",
    },
    "covers": {**_COVERS, "type": ["array", "string"]},
    "tags": list_of(TEXT, description="words to select cases by"),
    "input": _INPUT,
    "attributes": {"type": "object", "description": "the document's own attributes"},
    "graph": {"type": ["array", "object"], "description": "the nodes through which X flows, MaxPool among them"},
    "opset": {
        "type": "integer",
        "minimum": 1,
        "description": "the ONNX operator set of the model, and of the document",
    },
    "outputs": {"enum": [["Y", "Indices"], ["Y"], ["Indices"]]},
    "expect": map_of(
        Y=_VALUES,
        Indices=_VALUES,
        shape=_SIZES,
        refuse={"enum": [reason.value for reason in Reason]},
        undefined={"enum": ["empty-window"]},
    ),
    "erratum": text("which printed value is wrong, and why"),
    "policies": map_of(
        **{point: {"enum": [choice.value for choice in choices]} for point, choices in INTERPRETATIONS.items()}
    ),
}

CASE = map_of("id input", **_FIELDS)
"""One case, after expansion."""

_MATRIX = {
    "type": "object",
    "additionalProperties": list_of(minItems=1),
    "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
}

CASE_FILE = map_of(
    "cases",
    spec=TEXT,
    about=TEXT,
    defaults={"type": "object"},
    cases=list_of({"type": "object", "properties": {"matrix": _MATRIX}}, minItems=1),
)
"""A whole file, before expansion."""


def case_file_schema() -> dict[str, Any]:
    """The published schema of a case file, for editors."""
    forms = {"graph": [_NODES, GRAPH], "covers": [_COVERS, {"const": "by-bins"}]}
    described = {name: {"anyOf": form, "description": _FIELDS[name]["description"]} for name, form in forms.items()}
    whole = {**_FIELDS, **described}
    fields = {name: _or_variable(schema) for name, schema in whole.items()}
    properties = {
        **CASE_FILE["properties"],
        "spec": {
            "description": "the document; onnx-N means the version of MaxPool in ONNX operator set N",
            "anyOf": [{"enum": list(SPECIFICATIONS)}, {"type": "string", "pattern": f"^{OPERATOR_SET}$"}],
        },
        "defaults": map_of(**{name: schema for name, schema in fields.items() if name != "id"}),
        "cases": list_of(map_of("id", matrix=_MATRIX, **fields), minItems=1),
    }
    return {"$schema": DIALECT, "title": "maxpool-check case file", **CASE_FILE, "properties": properties}


def _or_variable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a value, or of a variable in its place, here and inside it."""
    inner = dict(schema)
    if "properties" in inner:
        inner["properties"] = {name: _or_variable(value) for name, value in inner["properties"].items()}
    if "items" in inner:
        inner["items"] = _or_variable(inner["items"])
    if inner.get("type") == "string":
        return inner
    return {"anyOf": [inner, {"type": "string", "pattern": r"^\$[A-Za-z_][A-Za-z0-9_]*$"}]}
