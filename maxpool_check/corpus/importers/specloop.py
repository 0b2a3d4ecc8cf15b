"""Reports of SONNX's own loop: the cases in which an implementation and its oracle, ONNX Runtime, gave other outputs.

A report has the attributes of a case and the bits of some cells of Y. Its X is that of the loop's case of this name, in
``specloop.yaml``, or that of the vector of a kit. The case that is made has the bits in its provenance, as ``oracle`` and ``implementation``: ``CELL: BITS``.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.importers import Broken, LeftOut, dtype_of, group_of, make_case, read_bytes
from maxpool_check.corpus.problems import Problem
from maxpool_check.corpus.tensors import array, array_of_bits
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.specifications.specification import Refused

NAME = "specloop"
PATTERN = "*.json"
MAX_BYTES = 64 * 2**20

_INPUTS: Mapping[str, Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_bytes())

ORACLE, IMPLEMENTATION = "oracle", "implementation"
"""The names of both sides in the provenance of a case."""


def read(
    file: Path, root: Path, most_cells: int, vector: Callable[[str], Case | None] = lambda _: None
) -> Iterator[Case | Problem]:
    """The mismatches of one report, judged by SONNX's edition of 2026-10, and what is left out.

    ``vector`` finds the case of a vector of a kit by its id. Raises :class:`LeftOut` for reports of other operators, and :class:`Broken`.
    """
    try:
        report = json.loads(read_bytes(file, MAX_BYTES))
        if report["op"] != "MaxPool":
            raise LeftOut(f"a report of {report['op']}, not of MaxPool")
        source = {"file": f"{group_of(file.parent, root)}{file.name}", "version": str(report["generated"])}
        for each in report["cases"]["mismatched"]:
            try:
                yield _case(each, file, most_cells, source, vector)
            except LeftOut as reason:
                yield Problem(str(file), 1, 1, f"{each['case']}: {reason}")
        if count := len(report["cases"]["open"]):
            yield Problem(str(file), 1, 1, f"open cases, of which the report has no output: {count}")
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Broken(f"not a report of SONNX's loop: {type(error).__name__}: {error}") from error


def cells_of(case: Case, side: str) -> dict[int, int]:
    """The bits of cells of the flattened Y that one side gave, by their positions."""
    pairs = (pair.split(": ") for pair in case.provenance[side].split(", "))
    return {int(cell): int(bits, 16) for cell, bits in pairs}


def _case(
    each: Mapping[str, Any],
    file: Path,
    most_cells: int,
    source: Mapping[str, str],
    vector: Callable[[str], Case | None],
) -> Case:
    dtype, _, name = each["case"].partition(": ")
    of_kit = vector(name)
    X = _input(dtype_of(dtype), name) if of_kit is None else of_kit.X.tensor()
    # Reports list cells that agree as well, and some several times.
    cells = {
        int(cell["index"]): cell for cell in each.get("first_differences", ()) if cell["ort_bits"] != cell["impl_bits"]
    }
    if not cells:
        raise LeftOut("none of the cells that differ is listed")
    sides = {}
    for side, key in ((ORACLE, "ort_bits"), (IMPLEMENTATION, "impl_bits")):
        found = [json.loads(cell[key])[0] for cell in cells.values()]
        bits = np.dtype(f"u{X.dtype.itemsize}")
        # Those of integers are their values.
        values = array(found, X.dtype if X.dtype.kind == "i" else bits).view(bits).tolist()
        pairs = zip(cells, values, strict=True)
        sides[side] = ", ".join(f"{at}: {value:0{2 * X.dtype.itemsize}x}" for at, value in pairs)
    case = make_case(
        group="", name=each["case"], title=f"SONNX's loop, {each['case']}", spec="sonnx@2026-10", X=X, attributes=each["attrs"],
        outputs=("Y",), expect=Values(None, None), path=file, most_cells=most_cells,
        provenance={"suite": NAME, **source, **sides, "unlisted": str(int(each["elements_differing"]) - len(cells))},
    )  # fmt: skip
    oracle = case.oracle()
    if isinstance(oracle, Refused):
        raise LeftOut(f"the document excludes it: {oracle}")
    if not 0 <= min(cells) <= max(cells) < np.prod(oracle.shape):
        raise ValueError(f"Y has no cell {min(cells)} or {max(cells)}")
    return case


def _input(dtype: str, name: str) -> np.ndarray:
    """The X of a case. Raises :class:`LeftOut`."""
    if shape := _INPUTS["counted"].get(name):
        return np.arange(np.prod(shape)).astype(NUMPY[dtype]).reshape(shape)
    if (values := _INPUTS["values"].get(name)) and NUMPY[dtype].kind == "f":
        return array(values, NUMPY[dtype]).reshape(1, 1, -1)
    if bits := _INPUTS["bits"].get(name, {}).get(dtype):
        return array_of_bits(bits, NUMPY[dtype]).reshape(1, 1, -1)
    raise LeftOut("its X is not in the report, and no case of the loop has this name")
