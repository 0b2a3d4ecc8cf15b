"""ONNX's test data: ``model.onnx``, with ``test_data_set_N/input_0.pb`` and ``output_M.pb`` next to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.importers import onnx_node
from maxpool_check.corpus.importers.suite import Broken, LeftOut, build_case, group_of
from maxpool_check.corpus.tensors import SizeLimits

if TYPE_CHECKING:
    from onnx import ModelProto

NAME = "onnx-testdata"
PATTERN = "model.onnx"

_DATA_SET = re.compile(r"test_data_set_(\d+)")


def read(file: Path, root: Path, limits: SizeLimits) -> list[Case]:
    """A case for each data set of a model, named after the model's folder.

    Raises :class:`LeftOut` for a model that is not a single MaxPool or has no data, and :class:`Broken`.
    """
    model = onnx_node.load(file)
    onnx_node.maxpool_of(model)
    _, opset = onnx_node.document_of(model)
    outputs = onnx_node.outputs_of(model)
    folder = file.parent.absolute()
    entries = ((_DATA_SET.fullmatch(entry.name), entry) for entry in folder.iterdir())
    sets = sorted((int(match[1]), entry) for match, entry in entries if match)
    if not sets:
        raise LeftOut("there is no test_data_set_0 next to it")
    producer = " ".join(filter(None, (model.producer_name, model.producer_version)))
    provenance = {"suite": NAME, "version": f"operator set {opset}" + (f", {producer}" if producer else "")}
    tensors = {}
    for number, data in sets:
        if not (data / "input_0.pb").is_file():
            raise Broken("there is no input_0.pb", data)
        files = {name: data / f"output_{i}.pb" for i, name in enumerate(outputs)}
        printed = {name: onnx_node.tensor(path, limits) for name, path in files.items() if path.is_file()}
        tensors[number] = (onnx_node.tensor(data / "input_0.pb", limits), printed)
    return build_cases(model, folder.name, group_of(folder.parent, root), tensors, file, provenance, limits)


def build_cases(
    model: ModelProto,
    name: str,
    group: str,
    data_sets: Mapping[int, tuple[np.ndarray, Mapping[str, np.ndarray]]],
    path: Path,
    provenance: Mapping[str, str],
    limits: SizeLimits,
) -> list[Case]:
    """A case for each numbered data set of a model: X, and the printed outputs by name. Raises :class:`LeftOut`."""
    node = onnx_node.maxpool_of(model)
    prefix = f"{group}/{name}" if group else name
    return [
        build_case(
            group=group, name=name if number == 0 else f"{name}/{number}", title=f"{name}, test data set {number}",
            spec=onnx_node.document_of(model)[0], X=X, attributes=onnx_node.attributes_of(node),
            outputs=("Y", "Indices") if "Indices" in onnx_node.outputs_of(model) else ("Y",),
            expect=Values(printed.get("Y"), printed.get("Indices")), path=path,
            provenance={**provenance, "file": f"{prefix}/test_data_set_{number}"}, limits=limits,
        )
        for number, (X, printed) in data_sets.items()
    ]  # fmt: skip
