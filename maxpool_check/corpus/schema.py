"""The JSON Schemas of case files and of files of known divergences, used to validate files and by editors.

A case is checked after its matrix is expanded and the file's defaults are merged into it, against :data:`CASE`. The
published schema of a whole file, :func:`case_file_schema`, also allows a ``$name`` in place of any value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxpool_check.reference import dtypes
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.results.variants import ALL_VARIANTS
from maxpool_check.specifications import OPERATOR_SET, SPECIFICATIONS
from maxpool_check.specifications.refused import Reason

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT = {"type": "string"}
_NUMBER = {"type": ["number", "string"]}
_SIZES = {"type": "array", "items": {"type": "integer", "minimum": 0}}
_WORDS = {"type": "array", "items": _TEXT}
_VALUES = {
    "type": ["array", "object"],
    "description": "nested lists of values, or {npy: a .npy file next to the case file}",
    "additionalProperties": False,
    "required": ["npy"],
    "properties": {"npy": _TEXT},
}
_ID_PATTERN = r"^[^\s:*?\[\]\x00-\x1f\x7f]+$(?!\n)"
_ID = "an id without spaces, colons or wildcards"

INPUT_FORMS = ("data", "bits", "fill", "arange", "random", "npy")
RANDOM_VALUES = ("distinct", "normal", "ties", "special")
UNDEFINED = ("empty-window",)


def _map(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": dict(properties)}


_INPUT = _map(
    {
        "dtype": {"enum": list(dtypes.NAMES)},
        "data": {"type": "array", "description": "nested lists of values; the shape is the nesting"},
        "bits": {"type": "array", "description": "nested lists of bit patterns, hexadecimal text"},
        "shape": _SIZES,
        "fill": {**_NUMBER, "description": "one value"},
        "arange": _map({"start": _NUMBER, "step": _NUMBER}),
        "random": _map(
            {"seed": {"type": "integer"}, "values": {"enum": list(RANDOM_VALUES)}, "nan": {"type": "boolean"}},
            "seed",
            "values",
        ),
        "npy": {**_TEXT, "description": "a .npy file next to the case file"},
        "set": {
            "type": "array",
            "description": "overwrites single cells",
            "items": _map({"at": _SIZES, "to": _NUMBER}, "at", "to"),
        },
    }
)

_FIELDS: dict[str, Any] = {
    "id": {"type": "string", "pattern": _ID_PATTERN, "description": _ID},
    "title": {**_TEXT, "description": "the purpose of the case, in one sentence"},
    "provenance": {
        **_map({"suite": _TEXT, "version": _TEXT, "file": _TEXT}),
        "description": "the origin of a case of another suite",
    },
    "covers": {**_WORDS, "description": "clauses of the document"},
    "tags": {**_WORDS, "description": "words to select cases by"},
    "input": _INPUT,
    "attributes": {"type": "object", "description": "the document's own attributes"},
    "outputs": {"enum": [["Y", "Indices"], ["Y"]]},
    "expect": _map(
        {
            "Y": _VALUES,
            "Indices": _VALUES,
            "shape": _SIZES,
            "refuse": {"enum": [reason.value for reason in Reason]},
            "undefined": {"enum": list(UNDEFINED)},
        }
    ),
    "erratum": {**_TEXT, "description": "which printed value is wrong, and why"},
    "policies": _map(
        {
            point: {"enum": [interpretation.value for interpretation in interpretations]}
            for point, interpretations in INTERPRETATIONS.items()
        }
    ),
}

CASE = _map(_FIELDS, "id", "input")
"""One case, after expansion."""

_MATRIX = {
    "type": "object",
    "additionalProperties": {"type": "array", "minItems": 1},
    "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
}

CASE_FILE = _map(
    {
        "spec": _TEXT,
        "about": _TEXT,
        "defaults": {"type": "object"},
        "cases": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"matrix": _MATRIX}}},
    },
    "cases",
)
"""A whole file, before expansion: the structure that its cases are found by."""

KNOWN_FILE = _map(
    {
        "known": {
            "type": "array",
            "items": _map(
                {
                    "id": {"type": "string", "pattern": _ID_PATTERN, "description": _ID},
                    "when": {**_TEXT, "description": 'distribution and versions, "onnxruntime < 1.29 @Provider"'},
                    "cases": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"type": "string", "pattern": ".", "description": "a glob"},
                    },
                    "kinds": {**_WORDS, "minItems": 1},
                    "variants": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"enum": [variant.name for variant in ALL_VARIANTS]},
                        "description": "the variants concerned, each of which must show the divergence",
                    },
                    "reason": {"type": "string", "pattern": r"\S", "description": "the reason, in words"},
                    "issue": _TEXT,
                    "expires": {
                        "type": "string",
                        "pattern": r"^\d{4}-\d{2}-\d{2}$",
                        "description": "a date, YYYY-MM-DD",
                    },
                },
                "id",
                "when",
                "cases",
                "kinds",
                "reason",
            ),
        }
    },
    "known",
)
"""A file of known divergences."""


def case_file_schema() -> dict[str, Any]:
    """The published schema of a case file, for editors."""
    fields = {name: _or_variable(schema) for name, schema in _FIELDS.items()}
    entry = _map({"matrix": _MATRIX, **fields}, "id")
    defaults = _map({name: schema for name, schema in fields.items() if name != "id"})
    schema = {**CASE_FILE, "properties": {**CASE_FILE["properties"], "defaults": defaults}}
    schema["properties"]["spec"] = {
        "description": "the document; onnx-N means the version of MaxPool in ONNX operator set N",
        "anyOf": [{"enum": list(SPECIFICATIONS)}, {"type": "string", "pattern": f"^{OPERATOR_SET}$"}],
    }
    schema["properties"]["cases"] = {"type": "array", "minItems": 1, "items": entry}
    return {"$schema": DIALECT, "title": "maxpool-check case file", **schema}


def known_file_schema() -> dict[str, Any]:
    """The published schema of a file of known divergences, for editors."""
    return {"$schema": DIALECT, "title": "maxpool-check known divergences", **KNOWN_FILE}


def _or_variable(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = dict(schema)
    if "properties" in inner:
        inner["properties"] = {name: _or_variable(value) for name, value in inner["properties"].items()}
    if isinstance(inner.get("items"), Mapping):
        inner["items"] = _or_variable(inner["items"])
    if inner.get("type") == "string":
        return inner
    return {"anyOf": [inner, {"type": "string", "pattern": r"^\$[A-Za-z_][A-Za-z0-9_]*$"}]}
