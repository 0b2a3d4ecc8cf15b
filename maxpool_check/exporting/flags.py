"""What is special about a test of the exported vectors, in words that a file explains once."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.judging.acceptance import AcceptedResult, OpenValue
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import is_float
from maxpool_check.specifications.specification import Refused

FLAGS = {
    "Invalid": "The document excludes the graph; refusal says why.",
    "NoMeaning": "The document neither excludes the graph nor says what it means: nothing is judged.",
    "MayBeRefused": "The document forbids a combination of attributes that runtimes commonly accept: both are right.",
    "LargePads": "A padding is not smaller than its kernel. The document allows it; many runtimes declare a limit.",
    "UndefinedCells": "A window holds no cell of X, and the document gives its Y no value: any value is right there, and a refusal.",
    "EmptyWindow": "A window holds no cell of X: any index is right there.",
    "OpenWindows": "The document can be read in several ways, which have different windows: results has one of each.",
    "OpenNaN": "The document does not say what a window with NaN gives: the cells list what every interpretation gives.",
    "OpenTie": "The document does not say which of several equal maxima Indices name: the cells list all of them.",
    "OpenZeroSign": "The document does not say which of -0 and +0 is the maximum: both are listed.",
    "IndexOfNaN": "A window holds NaN alone and Y is -inf: Indices may name any of its cells, or none.",
    "NaN": "X holds a NaN.",
    "FloatAttribute": "An attribute is a float such as 2.0: many readers of JSON, such as JavaScript's and jq, take it for the integer 2.",
    "Graph": "MaxPool among other nodes: graph and opset describe them; an export of the form onnx-testdata has the model.",
    "NoCells": "X has no cells.",
}
"""The flags, in the order of a test, with their explanation."""


def flags(case: Case, oracle: Oracle | Refused, results: Sequence[AcceptedResult]) -> list[str]:
    """The flags of a test in order."""
    own = set(_flags(case, oracle, results))
    return [flag for flag in FLAGS if flag in own]


def _flags(case: Case, oracle: Oracle | Refused, results: Sequence[AcceptedResult]) -> Iterator[str]:
    has_nan = is_float(case.X.dtype) and bool((case.X.tensor() != case.X.tensor()).any())
    conditions = {
        "FloatAttribute": _has_float(case.attributes),
        "Graph": not case.context.is_alone,
        "NoCells": not case.X.size,
        "NaN": has_nan,
    }
    if isinstance(oracle, Refused):
        conditions |= {"NoMeaning": oracle.is_open, "Invalid": not oracle.is_open}
    else:
        conditions |= {
            "MayBeRefused": bool(oracle.pooling.refusable),
            "LargePads": oracle.pooling.has_large_pads,
            "UndefinedCells": any(each.has_undefined for each in oracle.alternatives),
            "EmptyWindow": any(each.has_empty for each in oracle.alternatives),
            "OpenWindows": len(results) > 1,
            "OpenNaN": oracle.nan_is_open,
        }
        for result in results:
            yield from _open_cells(result, oracle)
    yield from (flag for flag, holds in conditions.items() if holds)


def _has_float(value: Any) -> bool:
    """Whether attributes hold a float that JSON writes as one, but that is an integer."""
    if isinstance(value, Mapping):
        return any(map(_has_float, value.values()))
    return (
        any(map(_has_float, value))
        if isinstance(value, (list, tuple))
        else isinstance(value, float) and value.is_integer()
    )


def _open_cells(result: AcceptedResult, oracle: Oracle) -> Iterator[str]:
    """What the cells with several right values leave open."""
    values = [value for output in result.outputs.values() for others in output.others.values() for value in others]
    if OpenValue.NO_CELL in values:
        yield "IndexOfNaN"
    Y, Indices = (result.outputs.get(name) for name in ("Y", "Indices"))
    zeros = [] if Y is None else [value for others in Y.others.values() for value in others]
    if any(not isinstance(value, OpenValue) and value == 0 for value in zeros):
        yield "OpenZeroSign"
    with_numbers = {} if Indices is None else Indices.others
    if not oracle.nan_is_open and any(
        OpenValue.ANY not in each and OpenValue.NO_CELL not in each for each in with_numbers.values()
    ):
        yield "OpenTie"
