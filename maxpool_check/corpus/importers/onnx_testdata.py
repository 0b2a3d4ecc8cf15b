"""ONNX's test data: ``model.onnx``, with ``test_data_set_N/input_0.pb`` and ``output_M.pb`` next to it.

The installed onnx package makes such data for its node tests.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.importers import Broken, LeftOut, Suite, dtype_of, group_of, make_case, read_bytes, read_files
from maxpool_check.corpus.tensors import MOST_CELLS
from maxpool_check.graphs.context import MAX_POOL, MAX_POOL_ALONE
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.specifications import specification
from maxpool_check.words import plural

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

NAME, PACKAGE_NAME = "onnx-testdata", "onnx-backend"
PATTERN = "model.onnx"

MAX_BYTES = 16 * 2**20
"""The largest model that is read: a model of one node is small."""
_DATA_SET = re.compile(r"test_data_set_(\d+)")


def read(file: Path, root: Path, most_cells: int) -> list[Case]:
    """A case for each data set of a model, named after the model's folder.

    Raises :class:`LeftOut` for a model that is no chain around one MaxPool or has no data, and :class:`Broken`.
    """
    import onnx

    if file.is_file() and file.stat().st_size > MAX_BYTES:
        raise LeftOut(f"the model has {file.stat().st_size} bytes; the limit is {MAX_BYTES}")
    _parse(model := onnx.ModelProto(), file, MAX_BYTES, "an ONNX model")
    if not model.HasField("graph"):
        raise Broken("not an ONNX model: it has no graph")
    nodes, graph_inputs = model.graph.node, [value.name for value in model.graph.input]
    if not any(node.op_type == MAX_POOL for node in nodes):
        raise LeftOut(f"its graph has {plural(len(nodes), 'node')}, none of which is MaxPool{_types(model)}")
    if len(nodes) == 1 and graph_inputs != list(nodes[0].input):
        raise LeftOut("X is not the only input of its graph")
    folder = file.parent.absolute()
    sets = sorted((int(match[1]), entry) for entry in folder.iterdir() if (match := _DATA_SET.fullmatch(entry.name)))
    if not sets:
        raise LeftOut("there is no test_data_set_0 next to it; maxpool-check model tests a model of your own")
    producer = f"{model.producer_name} {model.producer_version}".strip()
    version = ", ".join(filter(None, (f"operator set {_opset(model)}", producer)))
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = [name for name in graph_inputs if name not in initializers]
    group = group_of(folder.parent, root)
    cases = []
    for number, data in sets:
        files = {name: data / f"input_{i}.pb" for i, name in enumerate(inputs)}
        for path in files.values():
            if not path.exists():
                raise Broken(f"there is no {path.name}", data)
        printed = (data / f"output_{i}.pb" for i in range(len(model.graph.output)))
        fed = {name: _tensor(path, most_cells) for name, path in files.items()}
        values = [_tensor(path, most_cells) if path.exists() else None for path in printed]
        about = {"suite": NAME, "version": version, "file": f"{group}{folder.name}/{data.name}"}
        cases.append(
            _case(model, folder.name, number, fed, values, file, group=group, provenance=about, most_cells=most_cells)
        )
    return cases


def has_data(file: Path) -> bool:
    """Whether there is a data set next to a model."""
    return any(_DATA_SET.fullmatch(entry.name) for entry in file.absolute().parent.iterdir())


def is_of_models(file: Path) -> bool:
    """Whether a JSON file belongs to models: the tolerance of a test of ONNX, or the manifest of an export."""
    return file.suffix == ".json" and (file.name == "manifest.json" or (file.parent / PATTERN).exists())


def read_package(most_cells: int = MOST_CELLS) -> Suite:
    """A case for each node test of MaxPool in the installed onnx package, which makes its data."""
    import onnx
    from onnx.backend.test.case.node import collect_testcases

    version = f"onnx {onnx.__version__}"
    with warnings.catch_warnings():
        # onnx generates the test data of every operator, with overflows.
        warnings.simplefilter("ignore")
        collected: list[Any] = collect_testcases("MaxPool")
    # Tests collected earlier in the same process are returned as well.
    pooling = [test for test in collected if any(node.op_type == MAX_POOL for node in test.model.graph.node)]
    tests = {Path(f"{version}: {test.name}"): test for test in pooling}

    def cases(path: Path) -> list[Case]:
        test = tests[path]
        provenance = {"suite": PACKAGE_NAME, "version": version, "file": test.name}
        about = {"group": "", "provenance": provenance, "most_cells": most_cells}
        data_sets = [[list(map(np.ascontiguousarray, tensors)) for tensors in each] for each in test.data_sets]
        return [
            _case(test.model, test.name, number, {test.model.graph.input[0].name: X}, printed, path, **about)
            for number, ((X,), printed) in enumerate(data_sets)
        ]

    return read_files(tests, cases)


def _case(
    model: "ModelProto", name: str, number: int, inputs: Mapping[str, np.ndarray], printed: Sequence[np.ndarray | None],
    path: Path, **about: Any,
) -> Case:  # fmt: skip
    """The case of a data set: the inputs by name, and the printed outputs. Raises :class:`LeftOut` and :class:`Broken`."""
    from maxpool_check.graphs.reading import NotAChain, read_chain

    try:
        document = specification(f"onnx-{_opset(model)}")
    except ValueError as error:
        raise LeftOut(str(error)) from error
    try:
        chain = read_chain(model, inputs)
    except NotAChain as reason:
        raise LeftOut(f"{reason}{_types(model)}") from reason
    except ValueError as error:
        raise Broken(f"an attribute that cannot be read: {error}") from error
    values = dict(zip(chain.outputs, printed, strict=False))
    requested = tuple(output for output in ("Y", "Indices") if output in chain.outputs)
    if not requested:
        raise LeftOut("its graph has neither the output behind its last node nor the Indices of MaxPool")
    # A data set without outputs expects nothing; side outputs are not printed.
    missing = [i for i, output in enumerate(chain.outputs) if output in requested and values[output] is None]
    if missing and any(value is not None for value in printed):
        raise Broken(f"there is no output_{missing[0]}.pb", path.parent / f"test_data_set_{number}")
    return make_case(
        name=name if number == 0 else f"{name}/{number}", title=f"{name}, test data set {number}", spec=document.name,
        X=chain.X, attributes=chain.attributes, outputs=requested, expect=Values(values.get("Y"), values.get("Indices")),
        path=path, **about,
        context=MAX_POOL_ALONE if len(model.graph.node) == 1 and "Y" in requested else chain.context,
    )  # fmt: skip


def _opset(model: "ModelProto") -> int:
    # The first models named no operator set.
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)


def _types(model: "ModelProto") -> str:
    """The operators of a model, as the end of a message."""
    types = list(dict.fromkeys(node.op_type for node in model.graph.node))
    return f" (it has {', '.join(types[:4])}{', ...' if len(types) > 4 else ''})"


def _parse(proto: "ModelProto | TensorProto", path: Path, most_bytes: int, what: str) -> None:
    from google.protobuf.message import DecodeError

    try:
        proto.ParseFromString(read_bytes(path, most_bytes))
    except DecodeError as error:
        raise Broken(f"not {what}: {error}", path) from error


def _tensor(path: Path, most_cells: int) -> np.ndarray:
    import onnx
    from onnx import numpy_helper

    proto = onnx.TensorProto()
    # Leaves room for a name and a comment.
    _parse(proto, path, most_cells * 8 + 2**16, "a tensor in ONNX's file format")
    if proto.data_type == onnx.TensorProto.UNDEFINED:
        raise Broken("not a tensor in ONNX's file format: it has no element type", path)
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        raise Broken("its values are in another file, which is not supported", path)
    try:
        dtype = NUMPY[dtype_of(onnx.TensorProto.DataType.Name(proto.data_type))]
        # Older releases of onnx convert bfloat16 to float32.
        values = numpy_helper.to_array(proto).astype(dtype, copy=False)
        return np.ascontiguousarray(values).reshape(values.shape)
    except (ValueError, TypeError) as error:
        raise Broken(f"not a tensor in ONNX's file format: {error}", path) from error
