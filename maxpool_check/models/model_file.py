"""Reads a user's ONNX model, without running any of it: its graph, checked as far as the rest depends on it, and its constants."""

import difflib
import errno
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError, Message
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, inliner

from maxpool_check.files import not_found, open_regular
from maxpool_check.graphs.reading import OWN_DOMAINS
from maxpool_check.words import some

MOST_BYTES = 2**31 - 1
"""The largest file of a model that protobuf reads; more is in files of external data."""

_BITS: dict[int, int] = {
    TensorProto.FLOAT: 32, TensorProto.DOUBLE: 64, TensorProto.BOOL: 8,
    **{number: int(bits[0]) for name, number in TensorProto.DataType.items() if (bits := re.search(r"\d+", name))},
}  # fmt: skip
"""The bits of a value of each element type but text. The names of the others say them; those of less than 8 are packed."""

MOST_NODES = 1_000_000
"""The most nodes of a model whose functions are inlined."""

FUNCTION = "maxpool-check function "
"""How the documentation of a node begins that was in a model-local function, before the names of that and of the node."""


Place = tuple[tuple[int, int], ...]
"""The place of a graph inside of others: for each node on the way its number, and that of the graph in it; empty: the main graph."""


class BadModel(ValueError):
    """A file that is no usable ONNX model; the message says why, and how to fix it."""


class MissingValues(BadModel):
    """Values of a tensor that are not in the file beside the model where it says; the message says why."""


@dataclass(frozen=True, eq=False)
class UserModel:
    """A model. ``name`` is that of its file, without the suffix, unless another model has it.

    ``proto`` has its model-local functions inlined; tensors in other files are not read yet. ``missing`` names the constants whose
    values are not in their files, each with the reason.
    ``is_sorted``: the nodes of the file are in the order that ONNX demands; those of ``proto`` are in any case.
    """

    path: Path
    name: str
    proto: ModelProto
    sha256: str
    missing: Mapping[str, str]
    is_sorted: bool = True

    @property
    def opset(self) -> int:
        """The version of ONNX's own operator set."""
        return self.version_of("")

    def version_of(self, domain: str) -> int:
        """The version of an operator domain that the model imports; 1 if it imports none."""
        names = OWN_DOMAINS if domain in OWN_DOMAINS else (domain,)
        return next((entry.version for entry in self.proto.opset_import if entry.domain in names), 1)

    @cached_property
    def inputs(self) -> list[onnx.ValueInfoProto]:
        """The inputs that a user feeds: those that are not initializers, and weights that are missing."""
        constants = {tensor.name for tensor in self.proto.graph.initializer} - self.missing.keys()
        return [value for value in self.proto.graph.input if value.name not in constants]

    def inline(self, tensor: TensorProto) -> TensorProto:
        """The same constant with its values in the model, not in another file. Raises :class:`BadModel` and ``OSError``."""
        if tensor.data_location != TensorProto.EXTERNAL:
            return tensor
        file, offset, size = external_file(self.path, tensor)
        with open_regular(file) as stream:
            stream.seek(offset)
            data = stream.read(size)
        inside = TensorProto()
        inside.CopyFrom(tensor)
        inside.ClearField("external_data")
        inside.data_location = TensorProto.DEFAULT
        inside.raw_data = data
        return inside


_OTHER_FORMATS = (
    (0, b"version https://git-lfs", "a pointer of Git LFS; 'git lfs pull' fetches the file"),
    (4, b"ORTM", "a model in ORT format; name the .onnx file that it was made from"),
    (4, b"TFL3", "a model of TensorFlow Lite"),
    (0, b"\x1f\x8b", "a file that gzip compressed; unpack it"),
    (0, b"PK\x03\x04", "a zip archive, such as a model of PyTorch or Keras; unpack or export it"),
    (0, b"\x89HDF", "a file of HDF5, such as a model of Keras; export it"),
    (8, b'{"', "a file of safetensors, which holds weights and no graph; export the model"),
)
"""Other files that people name, by bytes at a position."""


def read_model(path: Path) -> UserModel:
    """Read a model. Raises :class:`BadModel`; nothing outside the folder of the file is read."""
    try:
        with open_regular(path, MOST_BYTES) as file:
            data = file.read()
    except OSError as error:
        others = sorted(other.stem for other in path.parent.glob("*.onnx") if other != path)
        near = difflib.get_close_matches(path.stem, others, 1)
        hint = f" (did you mean '{path.with_name(near[0])}.onnx'?)" if near else ""
        messages = {
            errno.ENOENT: f"{not_found(path, is_file=True)}{hint}",
            errno.EISDIR: f"{path} is a folder; name the models in it",
            errno.EFBIG: f"{path}: {error.strerror}; models of more than 2 GB keep their tensors in files of external data",
        }
        raise BadModel(messages.get(error.errno or 0, f"{path}: {error.strerror}")) from error
    if other := next((what for at, start, what in _OTHER_FORMATS if data[at : at + len(start)] == start), None):
        raise BadModel(f"{path}: not an ONNX model, but {other}")
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise BadModel(f"{path}: not an ONNX model, cut off, or nested too deeply: {error}") from error
    if found := next(_not_text(proto), None):
        raise BadModel(f"{path}: {found[0]} is {found[1]!r}, which is not UTF-8; name it otherwise")
    if not proto.HasField("graph") or not (proto.graph.node or proto.graph.output):
        raise BadModel(f"{path}: not an ONNX model: it has no graph")
    try:
        newest = onnx.defs.onnx_opset_version()
        if not proto.opset_import:
            raise BadModel("it imports no operator set (opset_import is empty), so that its nodes have no meaning")
        for entry in proto.opset_import:
            if entry.domain in OWN_DOMAINS and not 1 <= entry.version <= newest:
                known = f"the installed onnx {onnx.__version__} knows 1 to {newest}"
                raise BadModel(f"it is in operator set {entry.version}; {known}")
        is_sorted = sort_nodes(proto.graph)
        _check_nodes(proto.graph, frozenset())
        proto = _without_functions(proto)
        missing = dict(_missing(path, proto))
    except BadModel as error:
        raise BadModel(f"{path}: {error}") from error
    return UserModel(path, path.stem, proto, hashlib.sha256(data).hexdigest(), missing, is_sorted)


def _not_text(message: Message) -> Iterator[tuple[str, bytes]]:
    """The texts of a message that are not UTF-8, which are bytes, with the names of their fields; those of tensors are left out."""
    for field, value in message.ListFields():
        for each in [value] if isinstance(value, (str, bytes, int, float, Message)) else value:
            if isinstance(each, bytes) and field.type == field.TYPE_STRING:
                yield f"{message.DESCRIPTOR.name}.{field.name}", each
            elif isinstance(each, Message) and not isinstance(each, TensorProto):
                yield from _not_text(each)


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs that are attributes of a node, such as the branches of an ``If``, by the name of the attribute."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        for graph in attribute.graphs:
            yield attribute.name, graph


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph, and the graphs inside its nodes."""
    yield graph
    for node in graph.node:
        for _, inner in subgraphs(node):
            yield from graphs(inner)


def taken(node: NodeProto) -> Iterator[str]:
    """The tensors that a node takes, and those that the graphs inside it take from the graph that it is in."""
    yield from node.input
    for _, inner in subgraphs(node):
        own = {*(value.name for value in inner.input), *(tensor.name for tensor in inner.initializer)}
        own |= {name for each in inner.node for name in each.output}
        names = [*(name for each in inner.node for name in taken(each)), *(value.name for value in inner.output)]
        yield from (name for name in names if name not in own)


def size_of(tensor: TensorProto) -> int:
    """The bytes that the values of a tensor take; 0 if they are texts, or ONNX has no such element type."""
    return -(-math.prod(tensor.dims) * _BITS.get(tensor.data_type, 0) // 8)


def external_file(model: Path, tensor: TensorProto) -> tuple[Path, int, int]:
    """The file of a tensor outside the model, the offset and the number of its bytes there.

    Raises :class:`BadModel` if it is outside the model's folder, and :class:`MissingValues`.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location, data = entries.get("location", ""), f"the external data of '{tensor.name}'"
    folder = model.absolute().parent.resolve()
    try:
        file = (folder / location).resolve()
        offset = int(entries.get("offset", "0"))
        length = int(entries["length"]) if "length" in entries else None
        is_there = file.exists()
    except (OSError, ValueError, RuntimeError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise BadModel(f"{data} cannot be found: {what}") from error
    if not location or Path(location).is_absolute() or not file.is_relative_to(folder):
        raise BadModel(f"{data} is outside the model's folder: '{location}'; nothing there is read")
    if not is_there:
        raise MissingValues(f"there is no file {file.name}")
    if not file.is_file():
        raise BadModel(f"{data} is no regular file: '{location}'")
    if offset < 0 or (length or 0) < 0:
        raise BadModel(f"{data} has a negative offset or length")
    size = size_of(tensor)
    if length not in (None, size):
        raise MissingValues(f"its entry 'length' is {length}, and its values take {size} bytes")
    if (there := max(file.stat().st_size - offset, 0)) < size:
        raise MissingValues(f"{file.name} has {there} of its {size} bytes")
    return file, offset, size


def sort_nodes(graph: GraphProto) -> bool:
    """Put the nodes of a graph, and of the graphs inside them, behind those that make what they take; whether they were there before.

    Raises :class:`BadModel` for a cycle.
    """
    inside = [sort_nodes(inner) for node in graph.node for _, inner in subgraphs(node)]
    makers = {name: number for number, node in enumerate(graph.node) for name in node.output if name}
    before = {
        number: {makers[name] for name in taken(node) if name in makers} for number, node in enumerate(graph.node)
    }
    if all(maker < number for number, others in before.items() for maker in others):
        return all(inside)
    nodes = [*graph.node]
    try:
        order = [*TopologicalSorter(before).static_order()]
    except CycleError as error:
        names = some([f"'{label(nodes[number])}'" for number in dict.fromkeys(error.args[1])], 4)
        raise BadModel(f"its graph has a cycle, of the nodes {', '.join(names)}") from error
    del graph.node[:]
    graph.node.extend(nodes[number] for number in order)
    return False


def _check_nodes(graph: GraphProto, outer: frozenset[str]) -> None:
    """Refuse a graph with a tensor that nothing makes, or that two nodes make."""
    made = {*outer, "", *(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer)}
    made |= {tensor.values.name for tensor in graph.sparse_initializer}
    own: set[str] = set()
    for node in graph.node:
        for name in node.input:
            if name not in made:
                raise BadModel(f"the node '{label(node)}' takes '{name}', which nothing makes")
        for _, inner in subgraphs(node):
            _check_nodes(inner, frozenset(made))
        for name in filter(None, node.output):
            if name in own:
                raise BadModel(f"two nodes make the tensor '{name}'")
            own.add(name)
        made |= {*node.output}


def label(node: NodeProto) -> str:
    """The name of a node as tools show it: its own, or its first output if it has none."""
    return node.name or next(filter(None, node.output), node.op_type)


def named(node: NodeProto) -> tuple[str, str | None]:
    """The name of a node as the model writes it, and the model-local function that it was in; None for others."""
    if not node.doc_string.startswith(FUNCTION):
        return label(node), None
    function, _, name = node.doc_string.removeprefix(FUNCTION).partition("\n")
    return name or label(node), function


def _without_functions(proto: ModelProto) -> ModelProto:
    """The model with its functions inlined; the documentation of the nodes of each says which it was."""
    if not proto.functions:
        return proto
    _check_function_sizes(proto)
    for function in proto.functions:
        for node in function.node:
            # Inlining gives the node of each call another name.
            node.doc_string = f"{FUNCTION}{function.name}\n{node.name}"
    try:
        return inliner.inline_local_functions(proto, convert_version=True)
    except Exception as error:  # onnx's C++ raises errors of several types
        raise BadModel(f"its functions cannot be inlined: {error}") from error


def _check_function_sizes(proto: ModelProto) -> None:
    """Refuse functions that call themselves, and more nodes than can be inlined, without inlining them."""
    functions = {(function.domain, function.name): function for function in proto.functions}
    sizes: dict[tuple[str, str], int | None] = {}

    def size_of_nodes(nodes: Sequence[NodeProto]) -> int:
        total = 0
        for node in nodes:
            key = node.domain, node.op_type
            if key in functions and key not in sizes:
                # None until it is known: another call is inside of itself.
                sizes[key] = None
                sizes[key] = size_of_nodes(functions[key].node)
            size = sizes.get(key, 0)
            if size is None:
                raise BadModel(f"its function {node.op_type} calls itself")
            total += 1 + size + sum(size_of_nodes(graph.node) for _, graph in subgraphs(node))
            if total > MOST_NODES:
                raise BadModel(f"with its functions inlined it has more than {MOST_NODES} nodes")
        return total

    size_of_nodes(proto.graph.node)


def _missing(path: Path, proto: ModelProto) -> Iterator[tuple[str, str]]:
    """The constants whose values are not in their files.

    Raises :class:`BadModel` for files outside the folder, and for constants with less or more data than they need.
    """
    for tensor in tensors(proto.graph):
        size, has_data = size_of(tensor), tensor.raw_data and tensor.data_type in _BITS
        if tensor.data_type not in TensorProto.DataType.values() or tensor.data_type == TensorProto.UNDEFINED:
            why = f"of the element type {tensor.data_type}, which onnx {onnx.__version__} does not know"
            raise BadModel(f"the tensor '{tensor.name}' is {why}")
        if any(axis < 0 for axis in tensor.dims):
            raise BadModel(f"the tensor '{tensor.name}' has negative sizes, {list(tensor.dims)}")
        if has_data and len(tensor.raw_data) != size:
            raise BadModel(f"the tensor '{tensor.name}' has {len(tensor.raw_data)} bytes of data; it needs {size}")
        if tensor.data_location == TensorProto.EXTERNAL:
            try:
                external_file(path, tensor)
            except MissingValues as error:
                yield tensor.name, str(error)


def tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """The constants of a graph and of the graphs inside its nodes: initializers, and attributes."""
    for each in graphs(graph):
        yield from each.initializer
        for node in each.node:
            yield from (attribute.t for attribute in node.attribute if attribute.type == AttributeProto.TENSOR)
