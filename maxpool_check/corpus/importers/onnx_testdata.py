"""ONNX's test data: ``model.onnx``, with ``test_data_set_N/input_0.pb`` and ``output_M.pb`` next to it."""

from __future__ import annotations

import re
from pathlib import Path

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.importers import onnx_node
from maxpool_check.corpus.importers.suite import Broken, LeftOut, build_case, group_of
from maxpool_check.corpus.tensors import SizeLimits

NAME = "onnx-testdata"
PATTERN = "model.onnx"

_DATA_SET = re.compile(r"test_data_set_(\d+)")


def is_supported(file: Path) -> bool:
    """Whether the file exists: any ONNX model may be a case."""
    return file.is_file()


def read(file: Path, root: Path, limits: SizeLimits) -> list[Case]:
    """A case for each data set of a model, named after the model's folder.

    Raises :class:`LeftOut` for a model that is not a single MaxPool or has no data, and :class:`Broken`.
    """
    model = onnx_node.load(file)
    node = onnx_node.maxpool_of(model)
    spec, opset = onnx_node.document_of(model)
    outputs = onnx_node.outputs_of(model, node)
    folder = file.parent.absolute()
    entries = ((_DATA_SET.fullmatch(entry.name), entry) for entry in folder.iterdir())
    sets = sorted((int(match[1]), entry) for match, entry in entries if match)
    if not sets:
        raise LeftOut("there is no test_data_set_0 next to it")
    producer = " ".join(filter(None, (model.producer_name, model.producer_version)))
    group = group_of(folder.parent, root)
    cases = []
    for number, data in sets:
        if not (data / "input_0.pb").is_file():
            raise Broken("there is no input_0.pb", data)
        printed = {
            name: onnx_node.tensor(data / f"output_{i}.pb", limits)
            for i, name in enumerate(outputs)
            if (data / f"output_{i}.pb").is_file()
        }
        file_name = f"{folder.name}/{data.name}"
        cases.append(
            build_case(
                group=group,
                name=folder.name if number == 0 else f"{folder.name}/{number}",
                title=f"{folder.name}, {data.name.replace('_', ' ')}",
                spec=spec,
                X=onnx_node.tensor(data / "input_0.pb", limits),
                attributes=onnx_node.attributes_of(node),
                outputs=onnx_node.requested_outputs(outputs),
                expect=Values(printed.get("Y"), printed.get("Indices")),
                path=file,
                provenance={
                    "suite": NAME,
                    "version": f"operator set {opset}" + (f", {producer}" if producer else ""),
                    "file": f"{group}/{file_name}" if group else file_name,
                },
                limits=limits,
            )
        )
    return cases
