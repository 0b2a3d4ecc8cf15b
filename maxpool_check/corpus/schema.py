"""JSON Schemas, of which each is a file beside the code that needs it; and that of case files.

A file may leave to the code what the code has anyway: text that begins with ``$`` is the name of such a value, as in
``"enum": "$dtypes"``. A ``$ref`` to a definition of the file stands for it; the keys beside it come before its own.

A case is checked after its matrix is expanded and the file's defaults are merged into it, against :data:`CASE`. The
published schema of a whole file, :func:`case_file_schema`, also allows a ``$name`` in place of any value.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.graphs.operators import OPERATORS
from maxpool_check.reference import dtypes
from maxpool_check.reference.numbering import NUMBERINGS
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.results.variants import ALL_VARIANTS
from maxpool_check.specifications import OPERATOR_SET, SPECIFICATIONS
from maxpool_check.specifications.specification import Reason

_VALUES = {
    "dtypes": list(dtypes.NAMES),
    "operator_set": f"^{OPERATOR_SET}$",
    "operators": sorted({*OPERATORS, MAX_POOL}),
    "policies": {point: {"enum": [choice.value for choice in choices]} for point, choices in INTERPRETATIONS.items()},
    "reasons": [reason.value for reason in Reason],
    "numberings": [*NUMBERINGS, None],
    "variants": [variant.name for variant in ALL_VARIANTS],
}

_DEFINITION = "#/$defs/"


def read_schema(file: Path, definition: str | None = None, **values: Any) -> Any:
    """The schema of a file, or one of its definitions, with these values of the code filled in beside those of all files."""
    whole = json.loads(file.read_text(encoding="utf-8"))
    definitions, known = whole.pop("$defs", {}), {**_VALUES, "documents": list(SPECIFICATIONS), **values}

    def filled(part: Any) -> Any:
        if isinstance(part, str) and part.startswith("$"):
            return known[part[1:]]
        if isinstance(part, list):
            return list(map(filled, part))
        if not isinstance(part, dict):
            return part
        own = {key: filled(value) for key, value in part.items() if key != "$ref"}
        return {**filled(definitions[part["$ref"].removeprefix(_DEFINITION)]), **own} if "$ref" in part else own

    return filled(whole if definition is None else definitions[definition])


_FILE = Path(__file__).with_name("case.schema.json")

CASE_FILE = read_schema(_FILE, "file")
"""A whole file, before expansion."""

CASE = read_schema(_FILE, "case")
"""One case, after expansion."""

GRAPH = read_schema(_FILE, "graph")
"""The ``graph`` of a case as a map; a list is that of its ``nodes``."""

ID = CASE["properties"]["id"]

INPUT_FORMS = ("data", "bits", "fill", "arange", "random", "npy")


def case_file_schema() -> dict[str, Any]:
    """The published schema of a case file, for editors."""
    whole = {**CASE["properties"], **read_schema(_FILE, "forms")}
    fields = {name: _or_variable(schema) for name, schema in whole.items()}
    entry = {"matrix": read_schema(_FILE, "matrix"), **fields}
    defaults = {name: schema for name, schema in fields.items() if name != "id"}
    schema: dict[str, Any] = read_schema(_FILE, entry=entry, defaults=defaults)
    return schema


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
