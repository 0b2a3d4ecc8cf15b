"""ONNX's test data: ``model.onnx``, with ``test_data_set_N/input_0.pb`` and ``output_M.pb`` next to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.importers.suite import Broken, LeftOut, build_case, dtype_of, group_of, read_bytes
from maxpool_check.corpus.tensors import SizeLimits
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.specifications import specification

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

NAME = "onnx-testdata"
PATTERN = "model.onnx"

MAX_BYTES = 16 * 2**20
"""The largest model that is read: a model of one node is small."""
_OWN_DOMAINS = ("", "ai.onnx")
_DATA_SET = re.compile(r"test_data_set_(\d+)")


def read(file: Path, root: Path, limits: SizeLimits, provenance: Mapping[str, str] | None = None) -> list[Case]:
    """A case for each data set of a model, named after the model's folder.

    Raises :class:`LeftOut` for a model that is not a single MaxPool or has no data, and :class:`Broken`.
    """
    model = _load(file)
    outputs = outputs_of(model)
    _, opset = _document_of(model)
    folder = file.parent.absolute()
    entries = ((_DATA_SET.fullmatch(entry.name), entry) for entry in folder.iterdir())
    sets = sorted((int(match[1]), entry) for match, entry in entries if match)
    if not sets:
        raise LeftOut("there is no test_data_set_0 next to it")
    version = ", ".join(
        filter(None, (f"operator set {opset}", f"{model.producer_name} {model.producer_version}".strip()))
    )
    tensors = {}
    for number, data in sets:
        if not (data / "input_0.pb").is_file():
            raise Broken("there is no input_0.pb", data)
        files = {name: data / f"output_{i}.pb" for i, name in enumerate(outputs)}
        printed = {name: _tensor(path, limits) for name, path in files.items() if path.is_file()}
        tensors[number] = (_tensor(data / "input_0.pb", limits), printed)
    provenance = provenance or {"suite": NAME, "version": version}
    return build_cases(model, folder.name, group_of(folder.parent, root), tensors, file, provenance, limits)


def build_cases(
    model: ModelProto, name: str, group: str, data_sets: Mapping[int, tuple[np.ndarray, Mapping[str, np.ndarray]]],
    path: Path, provenance: Mapping[str, str], limits: SizeLimits,
) -> list[Case]:  # fmt: skip
    """A case for each numbered data set of a model: X, and the printed outputs by name. Raises :class:`LeftOut`."""
    prefix = f"{group}/{name}" if group else name
    return [
        build_case(
            group=group, name=name if number == 0 else f"{name}/{number}", title=f"{name}, test data set {number}",
            spec=_document_of(model)[0], X=X, attributes=_attributes_of(model.graph.node[0]),
            outputs=("Y", "Indices") if "Indices" in outputs_of(model) else ("Y",),
            expect=Values(printed.get("Y"), printed.get("Indices")), path=path,
            provenance={**provenance, "file": provenance.get("file", f"{prefix}/test_data_set_{number}")},
            limits=limits,
        )
        for number, (X, printed) in data_sets.items()
    ]  # fmt: skip


def _load(path: Path) -> ModelProto:
    import onnx

    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise LeftOut(f"the model has {path.stat().st_size} bytes; the limit is {MAX_BYTES}")
    model = onnx.ModelProto()
    _parse(model, path, MAX_BYTES, "an ONNX model")
    if not model.HasField("graph"):
        raise Broken("not an ONNX model: it has no graph")
    return model


def _parse(proto: ModelProto | TensorProto, path: Path, most_bytes: int, what: str) -> None:
    from google.protobuf.message import DecodeError

    try:
        proto.ParseFromString(read_bytes(path, most_bytes))
    except DecodeError as error:
        raise Broken(f"not {what}: {error}", path) from error


def _tensor(path: Path, limits: SizeLimits) -> np.ndarray:
    import onnx
    from onnx import numpy_helper

    proto = onnx.TensorProto()
    # Leaves room for a name and a comment.
    _parse(proto, path, limits.cells * 8 + 2**16, "a tensor in ONNX's file format")
    if proto.data_type == onnx.TensorProto.UNDEFINED:
        raise Broken("not a tensor in ONNX's file format: it has no element type", path)
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        raise Broken("its values are in another file, which is not supported", path)
    try:
        dtype = NUMPY[dtype_of(onnx.TensorProto.DataType.Name(proto.data_type))]
        # Older releases of onnx convert bfloat16 to float32.
        return np.ascontiguousarray(numpy_helper.to_array(proto).astype(dtype, copy=False))
    except (ValueError, TypeError) as error:
        raise Broken(f"not a tensor in ONNX's file format: {error}", path) from error


def outputs_of(model: ModelProto) -> list[str]:
    """``Y`` or ``Indices`` for each output of a graph of one MaxPool, in order. Raises :class:`LeftOut` for others."""
    graph = model.graph
    if len(graph.node) != 1:
        types = list(dict.fromkeys(node.op_type for node in graph.node))
        named = f": {', '.join(types[:4])}{', ...' if len(types) > 4 else ''}" if types else ""
        raise LeftOut(f"its graph has {len(graph.node)} nodes{named}; expected one MaxPool")
    (node,) = graph.node
    if node.op_type != "MaxPool" or node.domain not in _OWN_DOMAINS:
        domain = f" of {node.domain}" if node.domain not in _OWN_DOMAINS else ""
        raise LeftOut(f"its node is {node.op_type}{domain}, not ONNX's MaxPool")
    if len(node.input) != 1 or [value.name for value in graph.input] != list(node.input):
        raise LeftOut("X is not the only input of its graph")
    names = {name: output for name, output in zip(node.output, ("Y", "Indices"), strict=False) if name}
    others = [value.name for value in graph.output if value.name not in names]
    if others or not graph.output:
        raise LeftOut(f"the outputs of its graph are not those of its node: {', '.join(others) or 'none'}")
    return [names[value.name] for value in graph.output]


def _document_of(model: ModelProto) -> tuple[str, int]:
    """The document of a model's version of MaxPool, and the operator set."""
    # The first models named no operator set.
    opset = next((entry.version for entry in model.opset_import if entry.domain in _OWN_DOMAINS), 1)
    try:
        return specification(f"onnx-{opset}").name, opset
    except ValueError as error:
        raise LeftOut(str(error)) from error


def _attributes_of(node: NodeProto) -> dict[str, Any]:
    from onnx import helper

    attributes: dict[str, Any] = {}
    for entry in node.attribute:
        try:
            value = helper.get_attribute_value(entry)
        except ValueError as error:
            raise Broken(f"an attribute that cannot be read: {error}") from error
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif not isinstance(value, (int, float)):
            value = list(value) if hasattr(value, "__iter__") else type(value).__name__
        attributes[entry.name] = value
    return attributes
