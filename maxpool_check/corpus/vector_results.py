"""What a test of the vectors has as right: made of a case for an export, and made again to check a file that is read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.vectors import ANY, NO_CELL, hex_of, tensor_data
from maxpool_check.judging.acceptance import AcceptedOutput, AcceptedResult, CellValue, OpenValue, accepted_results
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import is_float
from maxpool_check.specifications.specification import Refused


def accepted_by(oracle: GraphOracle | Refused) -> list[AcceptedResult]:
    """The results that are right; none if the document excludes the graph. Raises :class:`NotListed`."""
    return accepted_results(oracle) if isinstance(oracle, GraphOracle) else []


def judged_members(case: Case, oracle: Oracle | Refused, results: Sequence[AcceptedResult]) -> dict[str, Any]:
    """The members of a test that say what is right: ``result``, ``outputs`` and ``results``."""
    names = (*case.outputs, *case.context.side_outputs)
    return {
        "result": _verdict(oracle),
        "outputs": list(names),
        "results": [_result(result, names) for result in results],
    }


def _verdict(oracle: Oracle | Refused) -> str:
    if isinstance(oracle, Refused):
        return "acceptable" if oracle.is_open else "invalid"
    # As the judge does with a refusal.
    return "acceptable" if oracle.pooling.refusable or oracle.has_undefined else "valid"


def _result(result: AcceptedResult, names: Sequence[str]) -> dict[str, Any]:
    windows = [
        [axis.size, axis.kernel, axis.stride, axis.dilation, axis.begin, axis.end, axis.output]
        for axis in result.geometry
    ]
    outputs = {name: _output(result.outputs[name]) for name in names}
    if "Indices" in outputs:
        outputs["Indices"]["bound"] = result.bound
    pairs = [
        [*cells, _hex(value), hex_of(index)]
        for cells, values in sorted(result.together.items())
        for value, index in values
    ]
    together = {"together": pairs} if pairs and {"Y", "Indices"} <= set(names) else {}
    return {"windows": windows, "outputs": outputs, **together}


def _output(output: AcceptedOutput) -> dict[str, Any]:
    # A NaN stands for every NaN, and is written with the same bits everywhere.
    also = [[at, value] for at, values in sorted(output.others.items()) for value in map(_value, values)]
    return {**tensor_data(_usual_nan(output.tensor)), **({"also": also} if also else {})}


def _usual_nan(values: np.ndarray) -> np.ndarray:
    if not is_float(values.dtype) or not (values != values).any():
        return values
    return np.where(values != values, values.dtype.type(np.nan), values)


def _value(value: CellValue) -> str | None:
    if isinstance(value, OpenValue):
        return ANY if value is OpenValue.ANY else NO_CELL
    return _hex(value)


def _hex(value: np.generic) -> str:
    return hex_of(_usual_nan(np.asarray(value)))
