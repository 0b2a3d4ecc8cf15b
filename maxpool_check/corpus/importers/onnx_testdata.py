"""ONNX's test data: ``model.onnx``, with ``test_data_set_N/input_0.pb`` and ``output_M.pb`` next to it.

The installed onnx package has such files of its node tests, or makes the same data.
"""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.importers import Broken, LeftOut, Suite, dtype_of, group_of, make_case, read_bytes, read_files
from maxpool_check.corpus.tensors import MOST_CELLS
from maxpool_check.graphs.context import MAX_POOL
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.specifications import specification
from maxpool_check.words import plural

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

NAME, PACKAGE_NAME = "onnx-testdata", "onnx-backend"
PATTERN = "model.onnx"

MAX_BYTES = 16 * 2**20
"""The largest model that is read: a model of one node is small."""
_OWN_DOMAINS = ("", "ai.onnx")
_DATA_SET = re.compile(r"test_data_set_(\d+)")


def read(file: Path, root: Path, most_cells: int, provenance: Mapping[str, str] | None = None) -> list[Case]:
    """A case for each data set of a model, named after the model's folder.

    Raises :class:`LeftOut` for a model that is not a single MaxPool or has no data, and :class:`Broken`.
    """
    model = _load(file)
    is_chain = len(model.graph.node) > 1
    inputs, outputs = ([], []) if is_chain else (["X"], _outputs_of(model))
    if is_chain:
        if not any(node.op_type == MAX_POOL for node in model.graph.node):
            raise LeftOut(
                f"its graph has {plural(len(model.graph.node), 'node')}, none of which is MaxPool{_types(model)}"
            )
        initializers = {tensor.name for tensor in model.graph.initializer}
        inputs = [value.name for value in model.graph.input if value.name not in initializers]
        outputs = [value.name for value in model.graph.output]
    _, opset = _document_of(model)
    folder = file.parent.absolute()
    entries = ((_DATA_SET.fullmatch(entry.name), entry) for entry in folder.iterdir())
    sets = sorted((int(match[1]), entry) for match, entry in entries if match)
    if not sets:
        raise LeftOut("there is no test_data_set_0 next to it; maxpool-check model tests a model of your own")
    version = ", ".join(
        filter(None, (f"operator set {opset}", f"{model.producer_name} {model.producer_version}".strip()))
    )
    tensors = {}
    for number, data in sets:
        feeds = {name: data / f"input_{i}.pb" for i, name in enumerate(inputs)}
        files = {name: data / f"output_{i}.pb" for i, name in enumerate(outputs)}
        is_printed = any(path.exists() for path in files.values())
        # A data set without outputs expects nothing; only the chain knows which of its outputs are those of MaxPool.
        required = files.values() if is_printed and not is_chain else ()
        for path in (*feeds.values(), *required):
            if not path.exists():
                raise Broken(f"there is no {path.name}", data)
        files = {name: path for name, path in files.items() if path.exists()}
        fed, printed = ({name: _tensor(path, most_cells) for name, path in each.items()} for each in (feeds, files))
        tensors[number] = (fed, printed)
    provenance = provenance or {"suite": NAME, "version": version}
    group = group_of(folder.parent, root)
    if is_chain:
        return [
            _chain_case(model, folder.name, group, number, fed, printed, file, provenance, most_cells)
            for number, (fed, printed) in tensors.items()
        ]
    data_sets = {number: (fed["X"], printed) for number, (fed, printed) in tensors.items()}
    return _make_cases(model, folder.name, group, data_sets, file, provenance, most_cells)


def has_data(file: Path) -> bool:
    """Whether there is a data set next to a model."""
    return any(_DATA_SET.fullmatch(entry.name) for entry in file.absolute().parent.iterdir())


def read_package(most_cells: int = MOST_CELLS) -> Suite:
    """A case for each node test of MaxPool in the installed onnx package: from its files, or generated if it has none."""
    import onnx

    version = f"onnx {onnx.__version__}"
    provenance = {"suite": PACKAGE_NAME, "version": version}
    folder = Path(onnx.__file__).parent / "backend/test/data/node"
    files = sorted(folder.glob(f"test_maxpool*/{PATTERN}"))
    if files:
        return read_files(files, lambda file: read(file, folder, most_cells, {**provenance, "file": file.parent.name}))
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        # onnx generates the test data of every operator, with overflows.
        warnings.simplefilter("ignore")
        collected: list[Any] = collect_testcases("MaxPool")
    # Tests collected earlier in the same process are returned as well.
    pooling = [test for test in collected if any(node.op_type == "MaxPool" for node in test.model.graph.node)]
    tests = {f"{version}: {test.name}": test for test in pooling}

    def cases(path: Path) -> list[Case]:
        test = tests[str(path)]
        outputs = _outputs_of(test.model)
        data_sets = {
            number: (np.ascontiguousarray(X), dict(zip(outputs, map(np.ascontiguousarray, values), strict=True)))
            for number, ((X, *_), values) in enumerate(test.data_sets)
        }
        return _make_cases(test.model, test.name, "", data_sets, path, {**provenance, "file": test.name}, most_cells)

    return read_files(map(Path, tests), cases)


def _make_cases(
    model: "ModelProto", name: str, group: str, data_sets: Mapping[int, tuple[np.ndarray, Mapping[str, np.ndarray]]],
    path: Path, provenance: Mapping[str, str], most_cells: int,
) -> list[Case]:  # fmt: skip
    """A case for each numbered data set of a model: X, and the printed outputs by name. Raises :class:`LeftOut`."""
    return [
        make_case(
            group=group, name=name if number == 0 else f"{name}/{number}", title=f"{name}, test data set {number}",
            spec=_document_of(model)[0], X=X, attributes=_attributes_of(model.graph.node[0]),
            outputs=("Y", "Indices") if "Indices" in _outputs_of(model) else ("Y",),
            expect=Values(printed.get("Y"), printed.get("Indices")), path=path,
            provenance={**provenance, "file": provenance.get("file", f"{group}{name}/test_data_set_{number}")},
            most_cells=most_cells,
        )
        for number, (X, printed) in data_sets.items()
    ]  # fmt: skip


def _chain_case(
    model: "ModelProto", name: str, group: str, number: int, inputs: Mapping[str, np.ndarray],
    printed: Mapping[str, np.ndarray], path: Path, provenance: Mapping[str, str], most_cells: int,
) -> Case:  # fmt: skip
    """The case of a model of several nodes, for one data set. Raises :class:`LeftOut` and :class:`Broken`."""
    from maxpool_check.graphs.reading import NotAChain, read_chain

    try:
        chain = read_chain(model, inputs)
    except NotAChain as reason:
        raise LeftOut(f"{reason}{_types(model)}") from reason
    values = {output: printed.get(value.name) for output, value in zip(chain.outputs, model.graph.output, strict=False)}
    requested = tuple(output for output in ("Y", "Indices") if output in chain.outputs)
    if not requested:
        raise LeftOut("its graph has neither the output behind its last node nor the Indices of MaxPool")
    for i, output in enumerate(chain.outputs):
        if printed and output in requested and values[output] is None:
            raise Broken(f"there is no output_{i}.pb", path.parent / f"test_data_set_{number}")
    return make_case(
        group=group, name=name if number == 0 else f"{name}/{number}", title=f"{name}, test data set {number}",
        spec=_document_of(model)[0], X=chain.X, attributes=chain.attributes, outputs=requested,
        expect=Values(values.get("Y"), values.get("Indices")), path=path,
        provenance={**provenance, "file": provenance.get("file", f"{group}{name}/test_data_set_{number}")},
        most_cells=most_cells, context=chain.context,
    )  # fmt: skip


def _types(model: "ModelProto") -> str:
    """The operators of a model, as the end of a message."""
    types = list(dict.fromkeys(node.op_type for node in model.graph.node))
    return f" (it has {', '.join(types[:4])}{', ...' if len(types) > 4 else ''})"


def _load(path: Path) -> "ModelProto":
    import onnx

    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise LeftOut(f"the model has {path.stat().st_size} bytes; the limit is {MAX_BYTES}")
    model = onnx.ModelProto()
    _parse(model, path, MAX_BYTES, "an ONNX model")
    if not model.HasField("graph"):
        raise Broken("not an ONNX model: it has no graph")
    return model


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


def _outputs_of(model: "ModelProto") -> list[str]:
    """``Y`` or ``Indices`` for each output of a graph of one MaxPool, in order. Raises :class:`LeftOut` for others."""
    graph = model.graph
    if len(graph.node) != 1:
        raise LeftOut("its graph has no node; expected MaxPool")
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


def _document_of(model: "ModelProto") -> tuple[str, int]:
    """The document of a model's version of MaxPool, and the operator set."""
    # The first models named no operator set.
    opset = next((entry.version for entry in model.opset_import if entry.domain in _OWN_DOMAINS), 1)
    try:
        return specification(f"onnx-{opset}").name, opset
    except ValueError as error:
        raise LeftOut(str(error)) from error


def _attributes_of(node: "NodeProto") -> dict[str, Any]:
    from maxpool_check.graphs.reading import attribute_values

    try:
        return attribute_values(node)
    except ValueError as error:
        raise Broken(f"an attribute that cannot be read: {error}") from error
