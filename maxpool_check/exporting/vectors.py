"""Cases as vectors in JSON that other programs read: the input in bits, and every output that is right.

A tensor is its dtype, its shape, and the bytes of its values in hexadecimal digits: row-major, each value little-endian, as
they lie in the memory of nearly every machine.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check import inert
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.graph_fields import graph_fields
from maxpool_check.corpus.schema import GRAPH, read_schema
from maxpool_check.exporting.export import FLAGS, TOOL, Export, LeftOutCase, document_data, flags, too_large
from maxpool_check.graphs.context import finite
from maxpool_check.judging.acceptance import AcceptedOutput, AcceptedResult, NotListed, OpenValue, accepted_results
from maxpool_check.reference.dtypes import NAMES, NUMPY, is_float
from maxpool_check.specifications.specification import Refused

SCHEMA = "maxpool-check/vectors/1"
"""What the key ``schema`` of a file says."""

NO_CELL = "no-cell"
"""Stands for any number that is not the number of a cell of X."""

Test = tuple[Mapping[str, str], Mapping[str, Any]]
"""The policies of a case by name, and the case as plain data."""

NOT_HELD = (
    "That Y alone must be the Y beside Indices, where the document allows several: run finds such an inconsistency.",
    "That all cells follow the same interpretation of NaN: each cell may follow its own, as for the judge of run.",
)
"""What somebody who compares with the vectors does not check."""


def vector_file_schema() -> Any:
    """The published schema of a file."""
    file, nodes = Path(__file__).with_name("vectors.schema.json"), GRAPH["properties"]["nodes"]
    return read_schema(file, all_dtypes=[*NAMES, "bool"], graph=GRAPH, nodes=nodes)


def export_vectors(cases: Iterable[Case], most_cells: int, tool: Mapping[str, str] = TOOL) -> Export:
    """The files of the vectors of some cases, one for each document.

    Cases are left out whose X or Y has more than ``most_cells`` cells, or whose right outputs are no list for each cell. The files say
    that ``tool`` made them.
    """
    groups: dict[str, dict[str, list[Test]]] = {}
    exported: dict[str, dict[str, Any]] = {}
    left_out = []
    for case in cases:
        try:
            test = vector(case, most_cells)
        except NotListed as error:
            left_out.append(LeftOutCase(case.id, "", str(error)))
            continue
        policies = case.policies.names()
        groups.setdefault(case.spec, {}).setdefault(_text(policies), []).append((policies, test))
        exported[case.id] = {"sha256": case.sha256, "file": f"{case.spec}.json"}
    files = {
        f"{spec}.json": vector_file(spec, list(itertools.chain(*groups[spec].values())), tool)
        for spec in sorted(groups)
    }
    return Export("vectors", files, exported, left_out, groups, {"not_held": list(NOT_HELD)})


def _text(value: object) -> str:
    return inert.dumps(value, separators=(",", ":"))


def vector_file(spec: str, tests: Sequence[Test], tool: Mapping[str, str] = TOOL) -> bytes:
    """A file of a document: a line for each test, so that a program can read them one by one, in groups of the same policies."""
    used = {flag for _, test in tests for flag in test["flags"]}
    header = {
        "schema": SCHEMA, "tool": tool, "document": document_data(spec), "numberOfTests": len(tests),
        "flags": {flag: about for flag, about in FLAGS.items() if flag in used},
    }  # fmt: skip
    beginning = "".join(f"{_text(key)}:{_text(value)},\n" for key, value in header.items())
    written = [
        f'{{"policies":{policies},"tests":[\n' + ",\n".join(_text(test) for _, test in each) + "\n]}"
        for policies, each in itertools.groupby(tests, lambda pair: _text(pair[0]))
    ]
    return ("{" + beginning + '"testGroups":[\n' + ",\n".join(written) + "\n]}\n").encode()


def vector(case: Case, most_cells: int) -> dict[str, Any]:
    """A case as a test: plain data, its keys in the order of the file. Raises :class:`NotListed`."""
    if reason := too_large(case, most_cells):
        raise NotListed(reason)
    oracle, refusal = case.oracle(), None
    if isinstance(oracle, Refused):
        results, is_open = [], oracle.is_open
        refusal = {"reason": oracle.reason.value, "message": oracle.message, "clause": oracle.clause}
    else:
        # As the judge does with a refusal.
        results, is_open = accepted_results(oracle), bool(oracle.pooling.refusable or oracle.has_undefined)
    outputs, graph = [*case.outputs, *case.context.side_outputs], graph_fields(case, {})
    # Interpretations that a case does not tell apart have the same outputs.
    different = {_text(data): (result, data) for result in results for data in [_result(result, outputs)]}
    results, plain = [result for result, _ in different.values()], [data for _, data in different.values()]
    fields = {
        "id": case.id, "sha256": case.sha256, "title": case.title, "covers": list(case.covers), "tags": list(case.tags),
        "flags": flags(case, oracle, results), "result": "acceptable" if is_open else "invalid" if refusal else "valid",
        "refusal": refusal, "provenance": dict(case.provenance), "attributes": _plain(case.attributes),
        "opset": graph.get("opset"), "graph": _plain(graph.get("graph")), "initializer": "input" in graph or None,
        "inputs": {"X": tensor_data(case.X.tensor())}, "outputs": outputs,
        "results": plain,
    }  # fmt: skip
    needed = ("attributes", "flags", "results")
    return {key: value for key, value in fields.items() if key in needed or value not in (None, [], {})}


def _result(result: AcceptedResult, names: Sequence[str]) -> dict[str, Any]:
    windows = [list(astuple(axis)) for axis in result.geometry]
    outputs = {name: _output(result.outputs[name]) for name in names}
    if "Indices" in outputs:
        outputs["Indices"]["bound"] = result.bound
    pairs = [
        [*cells, _hex(_usual_nan(value)), _hex(index)]
        for cells, values in sorted(result.together.items())
        for value, index in values
    ]
    has_together = pairs and {"Y", "Indices"} <= set(names)
    return {"windows": windows, "outputs": outputs, **({"together": pairs} if has_together else {})}


def _output(output: AcceptedOutput) -> dict[str, Any]:
    of_open = {OpenValue.ANY: None, OpenValue.NO_CELL: NO_CELL}
    also = [
        [at, of_open[value] if isinstance(value, OpenValue) else _hex(_usual_nan(value))]
        for at, values in sorted(output.others.items())
        for value in values
    ]
    return {**tensor_data(_usual_nan(output.tensor)), **({"also": also} if also else {})}


def _usual_nan(values: np.ndarray | np.generic) -> np.ndarray:
    """The values with the same bits for every NaN: one stands for all."""
    array = np.asarray(values)
    return np.where(array != array, array.dtype.type(np.nan), array) if is_float(array.dtype) else array


def tensor_data(tensor: np.ndarray) -> dict[str, Any]:
    """A tensor as plain data."""
    return {"dtype": tensor.dtype.name, "shape": list(tensor.shape), "hex": _hex(tensor)}


def tensor_of(data: Mapping[str, Any]) -> np.ndarray:
    """The tensor that :func:`tensor_data` describes."""
    dtype = NUMPY[data["dtype"]]
    return np.frombuffer(bytes.fromhex(data["hex"]), dtype.newbyteorder("<")).astype(dtype).reshape(data["shape"])


def _hex(values: np.ndarray | np.generic) -> str:
    array = np.asarray(values)
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes().hex()


def _plain(value: Any) -> Any:
    """Attributes and graphs as JSON: a float that is no number of JSON is ``{"float": "-inf"}``."""
    return finite(value, lambda number: {"float": str(number)})
