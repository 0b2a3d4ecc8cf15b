"""The JSON Schemas of case files and of files of known divergences, used to validate files and by editors.

A case is checked after its matrix is expanded and the file's defaults are merged into it, against :data:`CASE`. The
published schema of a whole file, :func:`case_file_schema`, also allows a ``$name`` in place of any value.
"""

from collections.abc import Mapping
from typing import Any

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.operators import OPERATORS
from maxpool_check.reference import dtypes
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.results.variants import ALL_VARIANTS
from maxpool_check.specifications import OPERATOR_SET, SPECIFICATIONS
from maxpool_check.specifications.refused import Reason

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

INPUT_FORMS = ("data", "bits", "fill", "arange", "random", "npy")


def _map(required: str = "", /, **properties: Any) -> dict[str, Any]:
    """A map with these keys and no others; ``required`` names those that it must have."""
    return {"type": "object", "additionalProperties": False, "required": required.split(), "properties": properties}


def _list(items: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "array", **({"items": items} if items else {}), **more}


def _text(description: str, **more: str) -> dict[str, Any]:
    return {**_TEXT, **more, "description": description}


_TEXT = {"type": "string"}
_NUMBER = {"type": ["number", "string"]}
_SIZES = _list({"type": "integer", "minimum": 0})
_VALUES = {
    **_map("npy", npy=_TEXT),
    "type": ["array", "object"],
    "description": "nested lists of values, or {npy: a .npy file next to the case file}",
}
_ID = _text("an id without spaces, colons or wildcards", pattern=r"^[^\s:*?\[\]\x00-\x1f\x7f]+$(?!\n)")

_RANDOM = {"enum": ["distinct", "normal", "ties", "special"]}
_INPUT = _map(
    dtype={"enum": list(dtypes.NAMES)},
    data=_list(description="nested lists of values; the shape is the nesting"),
    bits=_list(description="nested lists of bit patterns, hexadecimal text"),
    shape=_SIZES,
    fill={**_NUMBER, "description": "one value"},
    arange=_map(start=_NUMBER, step=_NUMBER),
    random=_map("seed values", seed={"type": "integer"}, values=_RANDOM, nan={"type": "boolean"}),
    npy=_text("a .npy file next to the case file"),
    set=_list(_map("at to", at=_SIZES, to=_NUMBER), description="overwrites single cells"),
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
_NODES = _list(_NODE, minItems=1, description="the nodes through which X flows, in order")

GRAPH = _map(
    "nodes",
    nodes=_NODES,
    shape={
        "type": ["array", "string"],
        "description": "the declared shape of X: sizes, and names of sizes that are known at run time; or dynamic",
    },
    inside={"enum": ["If", "Loop", "function"], "description": "what the nodes are inside of"},
)
"""The ``graph`` of a case as a map; a list is that of its ``nodes``."""

_FIELDS: dict[str, Any] = {
    "id": _ID,
    "title": _text("the purpose of the case, in one sentence"),
    "provenance": {
        **_map(suite=_TEXT, version=_TEXT, file=_TEXT),
        "description": "the origin of a case of another suite",
    },
    "covers": _list(_TEXT, description="clauses of the document"),
    "tags": _list(_TEXT, description="words to select cases by"),
    "input": _INPUT,
    "attributes": {"type": "object", "description": "the document's own attributes"},
    "graph": {"type": ["array", "object"], "description": "the nodes through which X flows, MaxPool among them"},
    "opset": {
        "type": "integer",
        "minimum": 1,
        "description": "the ONNX operator set of the model, and of the document",
    },
    "outputs": {"enum": [["Y", "Indices"], ["Y"], ["Indices"]]},
    "expect": _map(
        Y=_VALUES,
        Indices=_VALUES,
        shape=_SIZES,
        refuse={"enum": [reason.value for reason in Reason]},
        undefined={"enum": ["empty-window"]},
    ),
    "erratum": _text("which printed value is wrong, and why"),
    "policies": _map(
        **{point: {"enum": [choice.value for choice in choices]} for point, choices in INTERPRETATIONS.items()}
    ),
}

CASE = _map("id input", **_FIELDS)
"""One case, after expansion."""

_MATRIX = {
    "type": "object",
    "additionalProperties": _list(minItems=1),
    "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
}

CASE_FILE = _map(
    "cases",
    spec=_TEXT,
    about=_TEXT,
    defaults={"type": "object"},
    cases=_list({"type": "object", "properties": {"matrix": _MATRIX}}, minItems=1),
)
"""A whole file, before expansion."""

_VARIANTS = {"enum": [variant.name for variant in ALL_VARIANTS]}
_CONCERNED = "the variants concerned, each of which must show the divergence"
_KNOWN_ENTRY = _map(
    "id when cases kinds reason",
    id=_ID,
    when=_text(
        'distribution and versions, "onnxruntime < 1.29 @Provider", or the name of a python:, command: or transform: target'
    ),
    cases=_list(_text("a glob", pattern="."), minItems=1),
    kinds=_list(_TEXT, minItems=1),
    variants=_list(_VARIANTS, minItems=1, description=_CONCERNED),
    reason=_text("the reason, in words", pattern=r"\S"),
    issue=_TEXT,
    expires=_text("a date, YYYY-MM-DD", pattern=r"^\d{4}-\d{2}-\d{2}$"),
)

KNOWN_FILE = _map("known", known=_list(_KNOWN_ENTRY))
"""A file of known divergences."""


def case_file_schema() -> dict[str, Any]:
    """The published schema of a case file, for editors."""
    whole = {**_FIELDS, "graph": {"anyOf": [_NODES, GRAPH], "description": _FIELDS["graph"]["description"]}}
    fields = {name: _or_variable(schema) for name, schema in whole.items()}
    properties = {
        **CASE_FILE["properties"],
        "spec": {
            "description": "the document; onnx-N means the version of MaxPool in ONNX operator set N",
            "anyOf": [{"enum": list(SPECIFICATIONS)}, {"type": "string", "pattern": f"^{OPERATOR_SET}$"}],
        },
        "defaults": _map(**{name: schema for name, schema in fields.items() if name != "id"}),
        "cases": _list(_map("id", matrix=_MATRIX, **fields), minItems=1),
    }
    return {"$schema": _DIALECT, "title": "maxpool-check case file", **CASE_FILE, "properties": properties}


def known_file_schema() -> dict[str, Any]:
    """The published schema of a file of known divergences, for editors."""
    return {"$schema": _DIALECT, "title": "maxpool-check known divergences", **KNOWN_FILE}


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
