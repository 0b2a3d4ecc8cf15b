"""SONNX's generated tests: JSON files with one test each."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.importers import Broken, LeftOut, dtype_of, group_of, make_case, read_bytes
from maxpool_check.corpus.problems import BadValue, Structure
from maxpool_check.corpus.schema import read_schema
from maxpool_check.corpus.tensors import array
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import DEFAULT
from maxpool_check.specifications.sonnx import SONNX

NAME = "testgenonnx"
PATTERN = "*.json"
MAX_BYTES = 64 * 2**20

_KEYS = ("operator", "dtype", "attributes", "input", "expected")
_STRUCTURE = Structure(read_schema(Path(__file__).with_name("testgenonnx.schema.json")))
_SPECIAL = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def read(file: Path, root: Path, most_cells: int) -> list[Case]:
    """The case of one file, judged by SONNX if it is inside the profile, else by ONNX.

    Raises :class:`LeftOut` for other JSON files and for tests of other operators, and :class:`Broken`.
    """
    test = _test(file)
    dtype, attributes, expected = dtype_of(test["dtype"]), test["attributes"], test["expected"]
    X = _tensor("input.values", test["input"]["values"], test["input"]["shape"], dtype)
    printed = {
        name: _tensor(f"expected.{name}", expected[name], expected["shape"], element)
        for name, element in (("Y", dtype), ("Indices", "int64"))
        if name in expected
    }
    group, template = group_of(file.parent, root), test.get("value_template", {})
    # Predicates on the attributes: equivalence classes, not clauses.
    tags = (test.get("kind"), test.get("class_id"), template.get("id"), *test.get("class_predicates", ()))
    is_inside = isinstance(SONNX.resolve(attributes, X.dtype.name, X.shape), Pooling)
    return [
        make_case(
            group=group, name=file.stem, title="; ".join(filter(None, (test.get("class"), template.get("name")))) or file.stem,
            spec=SONNX.name if is_inside else DEFAULT, X=X, attributes=attributes, outputs=tuple(printed),
            expect=Values(printed["Y"], printed.get("Indices")), path=file, tags=filter(None, tags), most_cells=most_cells,
            provenance={"suite": NAME, "version": test.get("spec_ref", "not said"), "file": f"{group}{file.name}"},
        )
    ]  # fmt: skip


def _test(file: Path) -> dict[str, Any]:
    try:
        test = json.loads(read_bytes(file, MAX_BYTES).decode("utf-8-sig"))
        # Half of a character cannot be written to a record.
        json.dumps(test, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        place: Any = {"line": error.lineno, "column": error.colno} if isinstance(error, json.JSONDecodeError) else {}
        raise Broken(f"not JSON: {getattr(error, 'msg', error)}", **place) from error
    missing = [key for key in _KEYS if not isinstance(test, dict) or key not in test]
    if missing:
        raise LeftOut(f"not a generated test of SONNX: it has no {', '.join(missing)}")
    if test["operator"] != "MaxPool":
        raise LeftOut(f"a test of {test['operator']}, not of MaxPool")
    try:
        mistakes = [(*path, *filter(None, [key]), message) for path, key, message in _STRUCTURE.mistakes(test)]
    except ValueError as error:
        raise Broken("not a generated test of SONNX: it is nested too deeply") from error
    if mistakes:
        raise Broken("; ".join(f"{'.'.join(map(str, place))}: {message}" for *place, message in mistakes))
    return test


def _tensor(name: str, values: Any, shape: list[int], dtype: str) -> np.ndarray:
    try:
        flat = array(list(_leaves(values)), NUMPY[dtype])
    except BadValue as error:
        raise Broken(f"{name}, value {error.path[0]}: {error}") from error
    if flat.size != math.prod(shape):
        raise Broken(f"{name} has {flat.size} values, and the shape {shape} has {math.prod(shape)}")
    return flat.reshape(shape)


def _leaves(values: Any) -> Iterator[Any]:
    """The values in row-major order, with text converted to the numbers that JSON lacks."""
    if isinstance(values, list):
        for value in values:
            yield from _leaves(value)
    else:
        yield _SPECIAL.get(values.lower(), values) if isinstance(values, str) else values
