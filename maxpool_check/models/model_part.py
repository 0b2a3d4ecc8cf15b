"""The part of a model that makes its MaxPool nodes' outputs, with the tensors around each of them as outputs of its own."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from maxpool_check.corpus.random_tensors import draw
from maxpool_check.files import open_regular
from maxpool_check.models.model_file import BadModel, UserModel, size_of, subgraphs, tensors
from maxpool_check.models.shapes import TensorType, Types, type_of
from maxpool_check.reference.dtypes import NUMPY, is_float
from maxpool_check.targets.protocol import Request

MOST_BYTES = 512 * 2**20
"""The largest model that is sent to a worker."""

MOST_INPUT_BYTES = 256 * 2**20
"""The largest tensor of a file that is read as an input."""


class CannotRun(ValueError):
    """A model that cannot be run as it is; the message says why."""


class NotInPlace(CannotRun):
    """Nodes that are never tested in their model, with this target or at this place; the message says why."""


@dataclass(frozen=True, eq=False)
class ModelPart:
    """A part of a model with everything that it needs; ``outputs`` are the names of its outputs."""

    proto: ModelProto
    outputs: tuple[str, ...]

    def request(self, inputs: Mapping[str, np.ndarray], setting: str | None) -> Request:
        """The request that executes it with these inputs. Raises :class:`CannotRun`."""
        try:
            model = bytes(self.proto.SerializeToString())
        except Exception as error:  # protobuf raises errors of several types for more than 2 GB
            raise CannotRun(f"it cannot be sent to a runtime: {error}") from error
        if len(model) > MOST_BYTES:
            raise CannotRun(f"it has {len(model) >> 20} MB; at most {MOST_BYTES >> 20} MB are sent to a runtime")
        own = {value.name for value in self.proto.graph.input}
        fed = {name: value for name, value in inputs.items() if name in own}
        # X is none of the inputs of a model of a user's own.
        X = np.zeros((1,), np.float32)
        return Request(X, self.outputs, model, {}, setting, more=fed, feeds_input=False)


def part_of(model: UserModel, outputs: Sequence[str], types: Types, *, own_outputs: bool = False) -> ModelPart:
    """The nodes of a model's main graph that make these tensors. Raises :class:`CannotRun` and :class:`BadModel`.

    ``types`` are those of its tensors as it declares them: not every runtime takes an output without a type. ``own_outputs``: these are outputs of the model, as it declares them. A missing constant becomes an input.
    """
    graph = model.proto.graph
    needed, nodes = _needed(graph.node, outputs)
    initializers, inputs = [], []
    fed = {value.name: value for value in graph.input}
    for tensor in graph.initializer:
        if tensor.name not in needed:
            continue
        if tensor.name in model.missing:
            inputs.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
            continue
        initializers.append(tensor)
        fed.pop(tensor.name, None)
    inputs += [value for value in fed.values() if value.name in needed and value.name not in model.missing]
    declared = {value.name: value for value in graph.output}
    results = [
        declared[name] if own_outputs and name in declared else _output(name, types.get(name)) for name in outputs
    ]
    part = ModelProto()
    part.CopyFrom(ModelProto(ir_version=model.proto.ir_version))
    part.opset_import.extend(model.proto.opset_import)
    part.graph.name = graph.name or "model"
    part.graph.node.extend(nodes)
    part.graph.initializer.extend(initializers)
    part.graph.sparse_initializer.extend(graph.sparse_initializer)
    part.graph.input.extend(inputs)
    part.graph.output.extend(results)
    if sum(map(size_of, tensors(part.graph))) > MOST_BYTES:
        raise CannotRun(f"its constants have more than {MOST_BYTES >> 20} MB")
    for tensor in tensors(part.graph):
        tensor.CopyFrom(model.inline(tensor))
    return ModelPart(part, tuple(outputs))


def _output(name: str, known: TensorType | None) -> ValueInfoProto:
    """An output with what is known of its type. A name of a size says nothing of an output."""
    if known is None or known.dtype not in NUMPY:
        return ValueInfoProto(name=name)
    sizes = known.sizes
    shape = None if sizes is None else [size if isinstance(size, int) else None for size in sizes]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(NUMPY[known.dtype]), shape)


def _needed(nodes: Sequence[NodeProto], outputs: Sequence[str]) -> tuple[set[str], list[NodeProto]]:
    """The tensors that these outputs depend on, and the nodes that make them, in order."""
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed.intersection(filter(None, node.output)):
            kept.append(node)
            needed.update(_taken(node))
    return needed, kept[::-1]


def _taken(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for _, inner in subgraphs(node):
        yield from (value.name for value in inner.output)
        for each in inner.node:
            yield from _taken(each)


FIRST_SEED = 1
"""The seed of the random values of a model's first input; each further one has the next number."""


def random_inputs(model: UserModel, types: Types) -> dict[str, np.ndarray]:
    """Random values for each input of a model, and each missing constant, by its type and shape; the same for the same model.

    Raises :class:`CannotRun` for an input of another type than numbers and truth values, or of an unknown shape.
    """
    names = dict.fromkeys([*(value.name for value in model.inputs), *model.missing])
    inputs = {}
    for seed, name in enumerate(names, FIRST_SEED):
        known = types.get(name)
        if known is None or known.shape is None:
            raise CannotRun(
                f"the shape of the input '{name}' is not known; pass it as --shape '{name}=1,3,224,224', or --inputs"
            )
        if any(size > 2**31 for size in known.shape) or int(np.prod(known.shape, dtype=object)) > MOST_INPUT_BYTES // 8:
            raise CannotRun(f"the input '{name}' of the shape {list(known.shape)} is too large")
        inputs[name] = _random(known.dtype, known.shape, seed, name)
    return inputs


def _random(dtype: str, shape: tuple[int, ...], seed: int, name: str) -> np.ndarray:
    if dtype == "bool":
        return np.ones(shape, bool)
    if dtype not in NUMPY:
        raise CannotRun(f"the input '{name}' is of {dtype}; pass it as --inputs")
    if is_float(NUMPY[dtype]) or dtype in ("int8", "uint8"):
        return draw("normal", seed, shape, NUMPY[dtype], False)
    # Numbers of tokens, lengths and the like, which must be small.
    return np.ones(shape, NUMPY[dtype])


def read_inputs(path: Path, model: UserModel) -> dict[str, np.ndarray]:
    """The inputs of a model: an .npz file with a tensor for each, or a folder with ``NAME.npy`` or ``input_0.pb`` and so on.

    Raises :class:`BadModel`, also for values that the model does not take.
    """
    names = [value.name for value in model.inputs]
    if path.suffix == ".npy" and not path.is_dir():
        raise BadModel(f"the inputs {path} are one tensor; pass an .npz file or a folder, which name the inputs")
    try:
        if path.is_dir():
            found = {file.stem: _tensor_of(file) for file in sorted(path.glob("*.npy"))}
            numbered = [file for number in range(len(names)) if (file := path / f"input_{number}.pb").is_file()]
            found |= {names[number]: _tensor_of(file) for number, file in enumerate(numbered)}
        else:
            with open_regular(path, MOST_INPUT_BYTES) as stream, np.load(stream, allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
    except OSError as error:
        raise BadModel(f"the inputs {path} cannot be read: {error.strerror}") from error
    except Exception as error:  # numpy and zipfile raise errors of several types, with advice that is unsafe
        raise BadModel(
            f"the inputs {path} are no .npz file of tensors: numpy.savez('inputs.npz', X=X) writes one"
        ) from error
    unknown, missing = sorted(found.keys() - set(names)), [name for name in names if name not in found]
    if unknown or missing:
        parts = [f"has {', '.join(unknown)}, which the model does not take" if unknown else ""]
        parts += [f"lacks {', '.join(missing)}" if missing else ""]
        raise BadModel(f"{path} {' and '.join(filter(None, parts))}; the inputs of {model.path} are {', '.join(names)}")
    for value in model.inputs:
        _check_fits(path, value, found[value.name])
    return found


def _check_fits(path: Path, value: ValueInfoProto, tensor: np.ndarray) -> None:
    """Refuse a tensor of another type, number of axes, or size than the model declares. Raises :class:`BadModel`."""
    declared = type_of(value.type)
    dtype = tensor.dtype.name
    if declared.dtype in NUMPY and dtype != declared.dtype:
        raise BadModel(f"{path}: '{value.name}' is {dtype}, the model takes {declared}")
    sizes = declared.sizes
    if sizes is not None and (
        len(sizes) != tensor.ndim
        or any(isinstance(size, int) and size != given for size, given in zip(sizes, tensor.shape, strict=True))
    ):
        raise BadModel(f"{path}: '{value.name}' has the shape {list(tensor.shape)}, the model takes {declared}")


def _tensor_of(file: Path) -> np.ndarray:
    with open_regular(file, MOST_INPUT_BYTES) as stream:
        if file.suffix == ".npy":
            return np.asarray(np.load(stream, allow_pickle=False))
        return np.asarray(numpy_helper.to_array(onnx.TensorProto.FromString(stream.read())))


def levels_of(settings: Collection[str]) -> list[str | None]:
    """The levels of optimization to run a model at, by the settings of a target: the default first, then the others."""
    return [None, *(setting for setting in settings if setting.startswith("optimization-"))]
