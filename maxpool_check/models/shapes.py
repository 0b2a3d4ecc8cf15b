"""The tensors of a model: in which graph they are, and their types and shapes by ONNX's shape inference.

The latter are as the model declares them, and at sizes to test.
"""

from collections import ChainMap, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import onnx

from maxpool_check.graphs.reading import OWN_DOMAINS
from maxpool_check.models.model_file import BadModel, Place, UserModel, label, subgraphs, taken
from maxpool_check.reference.dtypes import NUMPY, is_float
from maxpool_check.words import plural

Size = int | str | None
"""The size of an axis: a number, a name, or None where nothing is known."""

MOST_CELLS = 2**22
"""The most cells of a tensor to test with; of a larger one, the batch and then the channels are fewer."""

_LONGEST = 16
"""The longest name of a size that is shown."""

_UNDEFINED = "undefined"
"""How the names of element types begin that ONNX does not have."""

_NAMES: dict[int, str] = {onnx.helper.np_dtype_to_tensor_dtype(dtype): name for name, dtype in NUMPY.items()}


def _small(sizes: Sequence[Size], axis: int) -> int:
    """The size that stands for an unknown one on an axis: of a batch, channels, or any other.

    Four sizes of which the second is open and the last is that of an image's channels have the channels last.
    """
    is_last = len(sizes) == 4 and not isinstance(sizes[1], int) and sizes[3] in (1, 3, 4)
    return (1, 64 if is_last else 3, 64)[min(axis, 2)]


@dataclass(frozen=True)
class TensorType:
    """The element type and the shape of a tensor; ``sizes`` is None if not even the rank is known."""

    dtype: str
    sizes: tuple[Size, ...] | None

    def filled(self, rank: int) -> "TensorType":
        """The type with a small number for each size that is not known, of ``rank`` axes if not even their number is.

        Where no type is declared, it is float32.
        """
        sizes = [None] * rank if self.sizes is None else self.sizes
        known = tuple(size if isinstance(size, int) else _small(sizes, axis) for axis, size in enumerate(sizes))
        return TensorType("float32" if self == NOT_DECLARED else self.dtype, known)

    @property
    def is_undefined(self) -> bool:
        """Whether ONNX has no such element type."""
        return self.dtype.startswith(_UNDEFINED)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape, if every size is a number."""
        known = tuple(size for size in self.sizes or () if isinstance(size, int))
        return None if self.sizes is None or len(known) < len(self.sizes) else known

    def __str__(self) -> str:
        if self.sizes is None:
            return f"{self.dtype} of unknown rank"
        # Shape inference makes long formulas of names.
        sizes = ["?" if size is None or len(str(size)) > _LONGEST else str(size) for size in self.sizes]
        return f"{self.dtype} [{', '.join(sizes)}]"


NOT_DECLARED = TensorType("unknown", None)
"""The type of a tensor of which the model says nothing, and nothing follows."""


@dataclass(frozen=True, eq=False)
class Scope:
    """A graph of a model and the graphs around it: where the tensors are that a node takes."""

    graph: onnx.GraphProto
    outer: "Scope | None" = None
    where: str = "main graph"
    inside: str | None = None
    place: Place = ()

    @cached_property
    def constants(self) -> Mapping[str, onnx.TensorProto]:
        """The constants of this graph alone, by name: initializers that are no inputs, and Constant nodes."""
        fed = {value.name for value in self.graph.input} if self.outer is not None else set()
        constants = {tensor.name: tensor for tensor in self.graph.initializer if tensor.name not in fed}
        nodes = [node for node in self.graph.node if node.op_type == "Constant" and node.domain in OWN_DOMAINS]
        values = ((node.output[0], _tensor_of(attribute)) for node in nodes for attribute in node.attribute)
        return constants | {name: tensor for name, tensor in values if tensor is not None}

    @cached_property
    def makers(self) -> Mapping[str, onnx.NodeProto]:
        """The node that makes a tensor, by the tensor's name."""
        return {name: node for node in self.graph.node for name in node.output if name}

    @cached_property
    def consumers(self) -> Mapping[str, list[onnx.NodeProto | None]]:
        """The nodes that take a tensor, also in inner graphs; None for an output of the graph."""
        consumers: dict[str, list[onnx.NodeProto | None]] = defaultdict(list)
        for node in self.graph.node:
            for name in taken(node):
                consumers[name].append(node)
        for value in self.graph.output:
            consumers[value.name].append(None)
        return consumers

    def constant(self, name: str) -> onnx.TensorProto | None:
        """The constant of this name here or in a graph around; None if it is no constant."""
        if name in self.constants:
            return self.constants[name]
        if name in self.makers or any(value.name == name for value in self.graph.input):
            return None
        return self.outer.constant(name) if self.outer is not None else None


def _tensor_of(attribute: onnx.AttributeProto) -> onnx.TensorProto | None:
    """The tensor of an attribute of a Constant node; None for text, and for sparse tensors."""
    if attribute.name == "value":
        return attribute.t
    dtypes = {"value_int": np.int64, "value_ints": np.int64, "value_float": np.float32, "value_floats": np.float32}
    dtype = dtypes.get(attribute.name)
    if dtype is None:
        return None
    return onnx.numpy_helper.from_array(np.array(onnx.helper.get_attribute_value(attribute), dtype))


def scopes(scope: Scope) -> Iterator[Scope]:
    """A graph, and the graphs inside its nodes."""
    yield scope
    for number, node in enumerate(scope.graph.node):
        for which, (attribute, graph) in enumerate(subgraphs(node)):
            inside = node.op_type if node.op_type in ("If", "Loop") else None
            where = f"{attribute} of {node.op_type} '{label(node)}'"
            outer = "" if scope.outer is None else f", in {scope.where}"
            place = (*scope.place, (number, which))
            yield from scopes(Scope(graph, scope, where + outer, inside, place))


Types = Mapping[str, TensorType]
"""The types of tensors by name."""


@dataclass(frozen=True)
class InferredTypes:
    """The types of all tensors by the graph that they are in: two branches may have tensors of the same name.

    ``assumed`` says which sizes were filled in; ``problem`` what failed.
    """

    by_graph: Mapping[Place, Types]
    assumed: Mapping[str, int]
    problem: str = ""

    def of(self, place: Place) -> Types:
        """The types of the tensors that a graph has, its own and those of the graphs around it."""
        around = [self.by_graph.get(place[:depth], {}) for depth in range(len(place), -1, -1)]
        return ChainMap(*map(dict, around))

    def is_float(self, name: str) -> bool:
        """Whether a tensor of the main graph has numbers of floating point, which may be infinite or NaN."""
        dtype = self.types.get(name, NOT_DECLARED).dtype
        return dtype in NUMPY and is_float(NUMPY[dtype])

    @property
    def types(self) -> Types:
        """The types of the tensors of the main graph."""
        return self.of(())


def shape_of(text: str) -> tuple[str, tuple[int, ...]]:
    """A name and sizes, as ``images=1,3,224,224`` or ``batch=1``. Raises ``ValueError``."""
    name, _, sizes = text.rpartition("=")
    parts = sizes.replace("x", ",").split(",")
    if not name or not all(part.strip().isdecimal() for part in parts):
        raise ValueError(
            f"'{text}' is not NAME=SIZES, such as images=1,3,224,224 for an input or batch=1 for a dimension"
        )
    return name, tuple(int(part) for part in parts)


def _inputs(model: UserModel, proto: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that are tensors, as ``proto``, the model or a copy of it, declares them."""
    names = {value.name for value in model.inputs}
    return [value for value in proto.graph.input if value.name in names and value.type.HasField("tensor_type")]


def names_of_sizes(model: UserModel) -> list[str]:
    """The names that sizes can be given by: those of the inputs, then those of their dimensions."""
    inputs = _inputs(model, model.proto)
    axes = (axis for value in inputs for axis in value.type.tensor_type.shape.dim)
    return list(dict.fromkeys(filter(None, [*(value.name for value in inputs), *map(_name, axes)])))


def at_sizes(model: UserModel, given: Mapping[str, tuple[int, ...]]) -> InferredTypes:
    """The types with a number for each size of the inputs.

    ``given`` are sizes by the name of an input (all of them) or of a dimension (one); other unknown sizes are small ones.
    Raises :class:`BadModel` for a name that the model does not have, and a shape that does not fit.
    """
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    known = names_of_sizes(model)
    if unused := [name for name in given if name not in known]:
        raise BadModel(
            f"{model.path}: --shape names {', '.join(unused)}; the inputs and their dimensions are {', '.join(known) or 'none'}"
        )
    inputs = _inputs(model, proto)
    assumed: dict[str, int] = {}
    for value in inputs:
        _fill(value, given, assumed)
    # The shapes that were inferred before are those of other sizes.
    del proto.graph.value_info[:]
    for value in proto.graph.output:
        for axis in value.type.tensor_type.shape.dim:
            axis.ClearField("dim_param")
    return inferred(proto, assumed)


def _fill(value: onnx.ValueInfoProto, given: Mapping[str, tuple[int, ...]], assumed: dict[str, int]) -> None:
    """Give each axis of an input a number."""
    axes = value.type.tensor_type.shape.dim
    if value.name in given:
        _check_sizes(value, given)
        del axes[:]
        for size in given[value.name]:
            axes.add(dim_value=size)
        return
    sizes = [*map(_size, axes)]
    for number, (known, axis) in enumerate(zip(sizes, axes, strict=True)):
        name = _name(axis) or ""
        if name in given and len(given[name]) != 1:
            raise BadModel(f"--shape gives the dimension '{name}' several sizes; it takes one")
        if name in given:
            axis.dim_value = given[name][0]
        elif not isinstance(known, int):
            axis.dim_value = assumed.setdefault(name or f"{value.name}[{number}]", _small(sizes, number))


def _check_sizes(value: onnx.ValueInfoProto, given: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse sizes of a whole input that contradict what the model or another option says. Raises :class:`BadModel`."""
    sizes, axes = given[value.name], value.type.tensor_type.shape.dim
    if axes and len(sizes) != len(axes):
        raise BadModel(
            f"--shape gives the input '{value.name}' {plural(len(sizes), 'size')}; it has {plural(len(axes), 'axis', 'axes')}"
        )
    for axis, size in zip(axes, sizes, strict=False):
        fixed, name = _size(axis), _name(axis) or ""
        if isinstance(fixed, int) and fixed != size:
            raise BadModel(
                f"--shape gives the input '{value.name}' the sizes {list(sizes)}; the model fixes them as {type_of(value.type)}"
            )
        if given.get(name, (size,)) != (size,):
            raise BadModel(
                f"the sizes of the input '{value.name}' are {list(sizes)}; --shape gives '{name}' another one"
            )


def inferred(proto: onnx.ModelProto, assumed: Mapping[str, int]) -> InferredTypes:
    """The types that follow from those that a model gives, of which ``assumed`` sizes were filled in."""
    problem = ""
    try:
        proto = onnx.shape_inference.infer_shapes(proto, check_type=False, strict_mode=False, data_prop=True)
    except Exception as error:  # errors of several types; the types that are declared remain
        problem = f"ONNX's shape inference failed: {str(error).splitlines()[0]}"
    return InferredTypes(types_by_graph(proto), assumed, problem)


def types_by_graph(proto: onnx.ModelProto) -> Mapping[Place, Types]:
    """The types that a model itself gives, without inference."""
    by_graph: dict[Place, dict[str, TensorType]] = {}
    for scope in scopes(Scope(proto.graph)):
        graph = scope.graph
        types = {each.name: TensorType(_dtype(each.data_type), tuple(each.dims)) for each in graph.initializer}
        for value in (*graph.input, *graph.value_info, *graph.output):
            if kind := value.type.WhichOneof("value"):
                is_tensor = kind == "tensor_type"
                types[value.name] = type_of(value.type) if is_tensor else TensorType(kind.removesuffix("_type"), None)
        by_graph[scope.place] = types
    return by_graph


def type_of(proto: onnx.TypeProto) -> TensorType:
    """The type of a tensor as a model declares it."""
    tensor = proto.tensor_type
    sizes = tuple(map(_size, tensor.shape.dim)) if tensor.HasField("shape") else None
    return TensorType(_dtype(tensor.elem_type), sizes)


def _size(axis: onnx.TensorShapeProto.Dimension) -> Size:
    if axis.HasField("dim_value"):
        return axis.dim_value if axis.dim_value >= 0 else None
    return _name(axis)


def _name(axis: onnx.TensorShapeProto.Dimension) -> str | None:
    """The name of a size; None if it has none, or one that names nothing."""
    return axis.dim_param if axis.dim_param not in ("", "?") else None


def _dtype(number: int) -> str:
    """The name of an element type; ONNX's own where the tool has none."""
    if number in _NAMES:
        return _NAMES[number]
    try:
        return onnx.TensorProto.DataType.Name(number).lower()
    except ValueError:
        return f"{_UNDEFINED} ({number})"
