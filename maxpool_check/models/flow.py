"""Runs models on targets with given or random inputs, and judges their MaxPool nodes by what flows there."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.random_tensors import draw
from maxpool_check.files import open_regular
from maxpool_check.models.analysis import ModelAnalysis
from maxpool_check.models.cases import CaseMaker
from maxpool_check.models.model_file import BadModel, UserModel, size_of, taken, tensors
from maxpool_check.models.shapes import Types, type_of
from maxpool_check.reference.dtypes import NUMPY, is_float
from maxpool_check.results.outcomes import (
    Accepted,
    Crashed,
    Failed,
    Inferred,
    NotClaimed,
    NotExecuted,
    Outcome,
    RefusedByTarget,
    Returned,
    TimedOut,
)
from maxpool_check.results.record import Execution
from maxpool_check.results.variants import LEVELS, Variant
from maxpool_check.running.case_run import executions, judged_case
from maxpool_check.targets.plans import VariantResult
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession

MOST_BYTES = 512 * 2**20
"""The largest model that is sent to a worker."""

MOST_INPUT_BYTES = 256 * 2**20
"""The largest tensor of a file that is read as an input."""

FIRST_SEED = 1
"""The seed of the random values of a model's first input; each further one has the next number."""

_LEVELS = {level.name: level for level in LEVELS}

_Tensors = Mapping[str | None, Mapping[str, np.ndarray]]
"""The tensors of a model at each level of optimization; None: the default."""


class CannotRun(ValueError):
    """A model that cannot be run as it is; the message says why."""


class NotInPlace(CannotRun):
    """Nodes that are never tested in their model, with this target or at this place; the message says why."""


class ModelRun:
    """A model that was run on a target, at every level of optimization. The tensors around each MaxPool are outputs of it.

    ``executed`` are the cases of its nodes in the model, with their executions; ``flowing`` are cases with the values that flow
    there, as its nodes compute them without optimization. ``problems`` have the levels at which it was not run, by the reason.
    """

    def __init__(self, session: TargetSession, analysis: ModelAnalysis) -> None:
        """Run the model. Raises :class:`CannotRun` and :class:`BadModel`."""
        self._session, self._analysis = session, analysis
        self._inputs = analysis.inputs or random_inputs(analysis.model, analysis.tested.types)
        self.problems: dict[str, list[str]] = {}
        if session.profile.description.graphs is None:
            raise NotInPlace("it takes no ONNX models of several nodes")
        nodes = [each for each in analysis.nodes if each.cases and each.node.scope.outer is None]
        makers = [each.maker for each in nodes if each.maker is not None]
        if not makers:
            # A target that refuses the model says so.
            self.own_outputs()
            raise NotInPlace(
                "its MaxPool nodes are inside of other nodes, whose tensors cannot be outputs of the model"
            )
        tensors = self._tensors(makers)
        # A node around MaxPool may have no exact result for what flows there, such as Relu of NaN.
        inexact = [
            each for each in makers if each.around.has_nodes and each.in_place(tensors[None][each.around.start]) is None
        ]
        pairs = [(maker, tensors) for maker in makers if maker not in inexact]
        if inexact:
            alone = [maker.without_nodes for maker in inexact]
            others = self._tensors(alone)
            pairs += [(maker, others) for maker in alone]
        self.executed = [executed for maker, of in pairs for executed in self._executed(maker, of)]
        self.flowing = [
            case
            for maker, of in pairs
            for case in maker.of_flow(of.get("optimization-off", of[None])[maker.around.start])
        ]

    def own_outputs(self) -> Mapping[str, np.ndarray]:
        """The outputs of the whole model, as it declares them. Raises :class:`CannotRun`, also after :attr:`problems`."""
        if self.problems:
            others = [f"at {', '.join(levels)}, {why}" for why, levels in self.problems.items()]
            raise CannotRun(f"it runs at the default level of optimization, but {'; '.join(others)}")
        names = [value.name for value in self._analysis.model.proto.graph.output]
        part = _part_of(self._analysis.model, names, self._analysis.declared.types, own_outputs=True)
        outcome = self._outcome(part, None)
        if not isinstance(outcome, Returned):
            raise CannotRun(f"as a whole, {_why(outcome)}")
        return outcome.outputs

    def _tensors(self, makers: Sequence[CaseMaker]) -> _Tensors:
        names = [name for each in makers for name in (each.around.start, each.around.end, each.node.indices)]
        part = _part_of(self._analysis.model, [*dict.fromkeys(filter(None, names))], self._analysis.declared.types)
        returned = {}
        settings = self._session.profile.settings
        for level in (None, *(setting for setting in settings if setting.startswith("optimization-"))):
            outcome = self._outcome(part, level)
            if isinstance(outcome, Returned):
                returned[level] = outcome.outputs
            elif level is None:
                raise CannotRun(_why(outcome))
            else:
                self.problems.setdefault(_why(outcome), []).append(level.removeprefix("optimization-"))
            if isinstance(outcome, TimedOut):
                # The other levels would take as long.
                break
        return returned

    def _outcome(self, part: ModelProto, setting: str | None) -> Outcome:
        """What comes of a part of the model with this setting of the target. Raises :class:`CannotRun`."""
        try:
            model = bytes(part.SerializeToString())
        except Exception as error:  # protobuf raises errors of several types for more than 2 GB
            raise CannotRun(f"it cannot be sent to a runtime: {error}") from error
        if len(model) > MOST_BYTES:
            raise CannotRun(f"it has {len(model) >> 20} MB; at most {MOST_BYTES >> 20} MB are sent to a runtime")
        fed = {value.name: self._inputs[value.name] for value in part.graph.input if value.name in self._inputs}
        # X is none of the inputs of a model of a user's own.
        X, outputs = np.zeros((1,), np.float32), tuple(value.name for value in part.graph.output)
        (number,) = self._session.submit([Request(X, outputs, model, {}, setting, more=fed, feeds_input=False)])
        return self._session.outcome(number)

    def _executed(self, maker: CaseMaker, outputs: _Tensors) -> Iterator[tuple[Case, list[Execution]]]:
        """The executions of a node: what comes out is held to the reference on what goes in.

        Other nodes may compute other values at another level of optimization: those of equal values are judged together.
        """
        groups: dict[bytes, tuple[Case, dict[Variant, VariantResult]]] = {}
        model, indices = self._analysis.model, maker.node.indices
        for level, flowing in outputs.items():
            X = flowing[maker.around.start]
            if X.tobytes() not in groups:
                if (in_place := maker.in_place(X)) is None:
                    continue
                groups[X.tobytes()] = in_place, {}
            case, results = groups[X.tobytes()]
            returned = {"Y": flowing[maker.around.end]} | ({} if indices is None else {"Indices": flowing[indices]})
            variant = Variant(case.outputs, None if level is None else _LEVELS[level])
            results[variant] = VariantResult(Returned(returned), model.opset)
        for case, results in groups.values():
            judged = judged_case(case, self._session.profile.description.name, case.oracle(), results)
            # The values that flow there depend on the arithmetic of other nodes: two targets are compared by what was
            # executed, and by the verdict on it.
            digest = hashlib.sha256(f"{model.sha256} {case.id}".encode()).hexdigest()
            yield (
                case,
                [
                    msgspec.structs.replace(line, case_sha256=digest, digests=dict.fromkeys(line.digests, digest))
                    for line in executions(judged)
                ],
            )


def _why(outcome: Outcome) -> str:
    """Why a model was not run, in words."""
    match outcome:
        case RefusedByTarget(status, message):
            return f"the target refuses it: {status}: {message}"
        case TimedOut(seconds):
            return f"no result within {seconds:g} s (--timeout)"
        case Crashed(how, stderr):
            return f"its process died: {how}{': ' if stderr else ''}{stderr}"
        case NotExecuted(why) | NotClaimed(why) | Failed(why):
            return why
        case Inferred() | Accepted() | Returned():
            return "the target computes no values"


def _part_of(model: UserModel, outputs: Sequence[str], types: Types, *, own_outputs: bool = False) -> ModelProto:
    """The nodes of a model's main graph that make these tensors. Raises :class:`CannotRun` and :class:`BadModel`.

    ``types`` are those of its tensors as it declares them: not every runtime takes an output without a type. ``own_outputs``: these are outputs of the model, as it declares them. A missing constant becomes an input.
    """
    graph = model.proto.graph
    needed, nodes = set(outputs), []
    for node in reversed(graph.node):
        if needed.intersection(filter(None, node.output)):
            nodes.append(node)
            needed.update(taken(node))
    constants = [tensor for tensor in graph.initializer if tensor.name in needed]
    absent = [tensor for tensor in constants if tensor.name in model.missing]
    given = {tensor.name for tensor in constants} | model.missing.keys()
    declared = {value.name: value for value in graph.output} if own_outputs else {}
    part = ModelProto(ir_version=model.proto.ir_version)
    part.opset_import.extend(model.proto.opset_import)
    part.graph.name = graph.name or "model"
    part.graph.node.extend(reversed(nodes))
    part.graph.initializer.extend(tensor for tensor in constants if tensor.name not in model.missing)
    part.graph.sparse_initializer.extend(graph.sparse_initializer)
    part.graph.input.extend(helper.make_tensor_value_info(each.name, each.data_type, each.dims) for each in absent)
    part.graph.input.extend(value for value in graph.input if value.name in needed - given)
    part.graph.output.extend(declared.get(name) or _output(name, types) for name in outputs)
    if sum(map(size_of, tensors(part.graph))) > MOST_BYTES:
        raise CannotRun(f"its constants have more than {MOST_BYTES >> 20} MB")
    for tensor in tensors(part.graph):
        tensor.CopyFrom(model.inline(tensor))
    return part


def _output(name: str, types: Types) -> ValueInfoProto:
    """An output with what is known of its type. A name of a size says nothing of an output."""
    known = types.get(name)
    if known is None or known.dtype not in NUMPY:
        return ValueInfoProto(name=name)
    shape = known.sizes and [size if isinstance(size, int) else None for size in known.sizes]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(NUMPY[known.dtype]), shape)


def random_inputs(model: UserModel, types: Types) -> dict[str, np.ndarray]:
    """Random values for each input of a model, and each missing constant, by its type and shape; the same for the same model.

    Raises :class:`CannotRun` for an input of another type than numbers and truth values, or of an unknown shape.
    """
    inputs = {}
    for seed, name in enumerate(dict.fromkeys([*(value.name for value in model.inputs), *model.missing]), FIRST_SEED):
        known = types.get(name)
        if known is None or (shape := known.shape) is None:
            raise CannotRun(
                f"the shape of the input '{name}' is not known; pass it as --shape '{name}=1,3,224,224', or --inputs"
            )
        if any(size > 2**31 for size in shape) or math.prod(shape) > MOST_INPUT_BYTES // 8:
            raise CannotRun(f"the input '{name}' of the shape {list(shape)} is too large")
        dtype = np.dtype(bool) if known.dtype == "bool" else NUMPY.get(known.dtype)
        if dtype is None:
            raise CannotRun(f"the input '{name}' is of {known.dtype}; pass it as --inputs")
        # Other integers are numbers of tokens, lengths and the like, which must be small.
        has_values = is_float(dtype) or known.dtype in ("int8", "uint8")
        inputs[name] = draw("normal", seed, shape, dtype, False) if has_values else np.ones(shape, dtype)
    return inputs


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
        declared, dtype, shape = type_of(value.type), found[value.name].dtype.name, found[value.name].shape
        if declared.dtype in NUMPY and dtype != declared.dtype:
            raise BadModel(f"{path}: '{value.name}' is {dtype}, the model takes {declared}")
        sizes = shape if declared.sizes is None else declared.sizes
        differs = any(isinstance(size, int) and size != given for size, given in zip(sizes, shape, strict=False))
        if differs or len(sizes) != len(shape):
            raise BadModel(f"{path}: '{value.name}' has the shape {list(shape)}, the model takes {declared}")
    return found


def _tensor_of(file: Path) -> np.ndarray:
    with open_regular(file, MOST_INPUT_BYTES) as stream:
        if file.suffix == ".npy":
            return np.asarray(np.load(stream, allow_pickle=False))
        return np.asarray(numpy_helper.to_array(TensorProto.FromString(stream.read())))
