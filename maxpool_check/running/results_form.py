"""The form of a file of results that were made elsewhere, as a JSON Schema of its lines."""

from collections.abc import Mapping
from typing import Any

from maxpool_check.reference.dtypes import NAMES
from maxpool_check.reference.numbering import NUMBERINGS

_TEXT = {"type": "string"}
_TENSOR = {
    "type": "object",
    "required": ["dtype", "shape"],
    "additionalProperties": False,
    "properties": {
        "dtype": {"enum": list(NAMES)},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 32},
        "data": {**_TEXT, "description": "its bytes in base64: row-major, each value little-endian"},
        "hex": {**_TEXT, "description": "the same bytes in hexadecimal digits"},
        "values": {
            "type": "array",
            "items": {"type": ["number", "string"]},
            "description": 'its values, row-major: numbers, or the texts "inf", "-inf" and "nan"',
        },
    },
}
RESULT = {
    "type": "object",
    "required": ["case"],
    "additionalProperties": False,
    "properties": {
        "case": {**_TEXT, "description": "the id, such as edge/neg-inf:one-cell"},
        "variant": {
            "enum": ["indices", "y-only", "indices-only"],
            "description": "which outputs were computed; if left out, those that the result has",
        },
        "outputs": {"type": "object", "additionalProperties": _TENSOR, "minProperties": 1},
        "refusal": {
            "type": "object",
            "required": ["status", "message"],
            "additionalProperties": False,
            "properties": {"status": _TEXT, "message": _TEXT},
        },
        "crash": {**_TEXT, "description": "how it died"},
        "timeout": {"type": "number", "minimum": 0, "description": "it had no result after so many seconds"},
        "unable": {**_TEXT, "description": "why it cannot express the case: not executed"},
        "seconds": {"type": "number", "minimum": 0, "description": "how long it took"},
    },
}
TARGET = {
    "type": "object",
    "required": ["target"],
    "additionalProperties": False,
    "properties": {
        "target": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": False,
            "properties": {
                "name": {**_TEXT, "minLength": 1, "description": "what it is called, such as acme-dsp"},
                "version": _TEXT,
                "about": {**_TEXT, "description": "what it is, for people who read the report"},
                "specs": {"type": "array", "items": _TEXT, "description": "the documents that it claims"},
                "dtypes": {"type": "array", "items": {"enum": list(NAMES)}, "description": "all that it has"},
                "spatial": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0},
                    "description": "the numbers of spatial axes that it has",
                },
                "indices": {
                    "enum": [*NUMBERINGS, None],
                    "description": "whether Indices number the cells of the whole tensor, of each image or of each plane; null: it has none",
                },
            },
        }
    },
}
OUTCOMES = ("outputs", "refusal", "crash", "timeout", "unable")
"""The keys of which a result has exactly one."""


def results_schema() -> Mapping[str, Any]:
    """The JSON Schema of one line."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "maxpool-check results that were made elsewhere, one line: the first may describe the target",
        "oneOf": [TARGET, {**RESULT, "oneOf": [{"required": [kind]} for kind in OUTCOMES]}],
    }
