"""The node tests of MaxPool in the installed onnx package."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.importers import onnx_node, onnx_testdata
from maxpool_check.corpus.importers.suite import Suite, case, gathered
from maxpool_check.corpus.tensors import SizeLimits

NAME = "onnx-backend"


def read(limits: SizeLimits) -> Suite:
    """A case for each of them: from the package's files where it has them, else made by the package as its files are."""
    import onnx

    version = f"onnx {onnx.__version__}"
    folder = Path(onnx.__file__).parent / "backend/test/data/node"
    files = sorted(folder.glob(f"test_maxpool*/{onnx_testdata.PATTERN}"))
    if files:
        return gathered(files, lambda file: [_named(one, version) for one in onnx_testdata.read(file, folder, limits)])
    tests = {f"{version}: {test.name}": test for test in _collected()}
    return gathered(map(Path, tests), lambda name: _cases(tests[str(name)], version, limits))


def _collected() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        # Collecting makes the test data of every operator, overflows and all.
        warnings.simplefilter("ignore")
        found: list[Any] = collect_testcases("MaxPool")
    # What was collected before in the same process is there as well.
    return [test for test in found if any(node.op_type == "MaxPool" for node in test.model.graph.node)]


def _cases(test: Any, version: str, limits: SizeLimits) -> list[Case]:
    node = onnx_node.maxpool_of(test.model)
    spec, _ = onnx_node.document_of(test.model)
    outputs = onnx_node.outputs_of(test.model, node)
    cases = []
    for number, ((X, *_), values) in enumerate(test.data_sets):
        printed = dict(zip(outputs, map(np.ascontiguousarray, values), strict=True))
        cases.append(
            case(
                group="",
                name=test.name if number == 0 else f"{test.name}/{number}",
                title=f"{test.name}, test data set {number}",
                spec=spec,
                X=np.ascontiguousarray(X),
                attributes=onnx_node.attributes_of(node),
                outputs=onnx_node.asked(outputs),
                expect=Values(printed.get("Y"), printed.get("Indices")),
                path=f"{version}: {test.name}",
                provenance={},
                limits=limits,
            )
        )
    return [_named(one, version) for one in cases]


def _named(one: Case, version: str) -> Case:
    name = one.id.rpartition(":")[2].partition("/")[0]
    return replace(one, provenance={"suite": NAME, "version": version, "file": name})
