"""The JSON files that can be read directly: exported vectors, and SONNX's generated tests. Case files may be JSON, too."""

import json
from pathlib import Path
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.importers import Broken, onnx_testdata, read_bytes, testgenonnx, vectors
from maxpool_check.corpus.vectors import FORM, MANIFEST_SCHEMA

PATTERN = "*.json"


def is_case_file(file: Path) -> bool:
    """Whether a JSON file is a case file: those are YAML, and so may be JSON."""
    data = _content(file)
    return isinstance(data, dict) and "cases" in data and not _is_exported(data)


def is_of_model(file: Path) -> bool:
    """Whether a JSON file belongs to the model beside it, such as the tolerance of a test of ONNX."""
    return file.suffix == ".json" and (file.parent / onnx_testdata.PATTERN).exists()


def read(file: Path, root: Path, most_cells: int) -> list[Case]:
    """The cases of one file, in whichever of the formats it is. Raises ``LeftOut`` and ``Broken``."""
    return (vectors if _is_exported(_content(file)) else testgenonnx).read(file, root, most_cells)


def _content(file: Path) -> Any:
    """The content of a file; None if it cannot be read."""
    try:
        return json.loads(read_bytes(file, vectors.MAX_BYTES))
    except (Broken, ValueError, RecursionError):
        return None


def _is_exported(data: Any) -> bool:
    schema = data.get("schema") if isinstance(data, dict) else None
    return isinstance(schema, str) and (schema.startswith(FORM) or schema == MANIFEST_SCHEMA)
