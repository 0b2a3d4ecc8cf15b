"""Runs a user's model as it is deployed: the file as it is on disk, with nothing but its own outputs; and what these must be."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property

import numpy as np
from ml_dtypes import finfo
from onnx import ModelProto, TensorProto

from maxpool_check.models import parts
from maxpool_check.models.analysis import ModelAnalysis
from maxpool_check.models.cases import CaseMaker
from maxpool_check.models.inputs import CannotRun, random_inputs
from maxpool_check.models.model_file import tensors
from maxpool_check.models.upgrade import OutputDifference, output_differences
from maxpool_check.reference.dtypes import NUMPY, identical, is_float
from maxpool_check.reference.evaluator import evaluate
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
from maxpool_check.running.run import Progress
from maxpool_check.targets.name import known_optimizers
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession

Tensors = Mapping[str, np.ndarray]
"""Tensors by name."""

_OFF = "optimization-off"

_QUANTIZING = {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"}

_SEEDS = (1, 2, 3)
"""The seeds of the runs whose constants and inputs are moved by one ulp."""

_ULPS = 16
"""How many ulps of its largest value another order of its sums may always move a tensor by."""

_MARGIN = 8.0
"""How many times as far as one ulp in each constant and input moves an output, another order of its sums may move it."""


class LevelState(str, Enum):
    """What the outputs of a deployed model are at a level of optimization."""

    RIGHT = "right"
    """They are those that the nodes around MaxPool make of its right results."""
    WRONG = "wrong"
    """They are not, and with the right results of MaxPool in its place they are."""
    DIFFERS = "differs"
    """The nodes around MaxPool compute something else than without optimization, more than rounding explains."""
    REQUANTIZED = "requantized"
    """They are those that the nodes around MaxPool make of its right results; these, of a quantized model, are rounded otherwise."""
    UNCLEAR = "unclear"
    """They are not those of the nodes around MaxPool, by no more than what these round otherwise."""
    NOT_RUN = "not run"
    """The target refuses the model, dies of it, or takes too long."""


SHOWN_RIGHT = (LevelState.RIGHT, LevelState.REQUANTIZED)
"""The states in which MaxPool is right in the model."""


@dataclass(frozen=True, eq=False)
class LevelResult:
    """What a deployed model does at a level of optimization.

    ``differences`` are those of its outputs from the right ones, ``message`` says why it was not run. ``without`` are optimizers
    without which the outputs are right. ``is_seen``: with the tensors around MaxPool as outputs, the model computes the same.
    """

    level: str
    state: LevelState
    differences: Sequence[OutputDifference] = ()
    message: str = ""
    without: Sequence[str] = ()
    is_seen: bool = True

    def __str__(self) -> str:
        """What a reader must know of it, without its full stop; empty if there is nothing."""
        if self.state is LevelState.WRONG:
            return f"wrong, compared with the right outputs: {'; '.join(map(str, self.differences))}"
        if self.state is LevelState.REQUANTIZED:
            what = "; ".join(map(str, self.differences))
            return (
                f"right, given what the quantized nodes compute, which differs from that without optimization: {what}"
            )
        if self.state is LevelState.RIGHT and not self.is_seen:
            return "right; its nodes are not judged there, since further outputs change what the model computes"
        return ""


class DeployedModel:
    """A model on a target, with values of its inputs; ``levels`` are the settings of the target's optimization, None the default."""

    def __init__(
        self, session: TargetSession, analysis: ModelAnalysis, inputs: Tensors | None = None,
        progress: Progress = lambda *_: None,
    ) -> None:  # fmt: skip
        """Prepare it; nothing is run yet. ``progress`` gets how many executions are finished. Raises :class:`CannotRun`."""
        self._progress, self._executions = progress, 0
        self.session, self.analysis = session, analysis
        self.inputs = (
            inputs or analysis.inputs or random_inputs(analysis.model, analysis.tested.types, analysis.input_ranges)
        )
        settings = session.profile.settings
        if session.profile.fixed_sizes:
            session.rewrite = parts.with_fixed_sizes
        self.has_fixed_sizes = False
        """Whether the target refuses the file with its open sizes, and gets it with those that are tested."""
        self.levels = (None, *(each for each in settings if each.startswith("optimization-")))
        self.base = _OFF if _OFF in settings else None
        self.run_at = cache(self._run_at)
        self._serialized: tuple[ModelProto, bytes] | None = None

    @cached_property
    def proto(self) -> ModelProto:
        """The model with all constants inside and its functions inlined. Raises :class:`BadModel` and ``OSError``."""
        return parts.inlined(self.analysis.model)

    @cached_property
    def random(self) -> set[str]:
        """The outputs that are others in each run."""
        return parts.random_outputs(self.proto)

    def _run_at(self, level: str | None, disabled: tuple[str, ...] = ()) -> Outcome:
        """What comes of the file at a level, with these optimizers disabled. Missing constants are inputs."""
        outcome = self._of_file(level, disabled)
        if isinstance(outcome, RefusedByTarget) and self.analysis.has_open_inputs and not self.has_fixed_sizes:
            # Some runtimes are told the sizes of inputs before they load a model, which the file alone does not say.
            self.has_fixed_sizes = True
            fixed = self._of_file(level, disabled)
            self.has_fixed_sizes = isinstance(fixed, Returned)
            return fixed if self.has_fixed_sizes else outcome
        return outcome

    def _of_file(self, level: str | None, disabled: tuple[str, ...]) -> Outcome:
        model, path = self.analysis.model, None
        takes_file = self.session.profile.takes_files and not self.has_fixed_sizes
        if model.missing or (self._is_external and not takes_file):
            return self.run(self.proto, level, disabled=disabled)
        data = model.path.read_bytes()
        if self._is_external:
            path = str(model.path.absolute())
        elif len(data) > parts.MOST_BYTES:
            raise CannotRun(f"it has {len(data) >> 20} MB; at most {parts.MOST_BYTES >> 20} MB are sent to a runtime")
        names = [value.name for value in model.proto.graph.output]
        return self._executed(b"" if path else data, names, self.inputs, level, path, disabled)

    @property
    def _is_external(self) -> bool:
        constants = tensors(self.analysis.model.proto.graph)
        return any(each.data_location == TensorProto.EXTERNAL for each in constants)

    def run(
        self, part: ModelProto, level: str | None, more: Tensors | None = None, disabled: tuple[str, ...] = ()
    ) -> Outcome:
        """What comes of a model made of this one at a level; ``more`` are values of further inputs."""
        values = {**self.inputs, **(more or {})}
        try:
            if self._serialized is None or self._serialized[0] is not part:
                self._serialized = part, bytes(part.SerializeToString())
        except Exception as error:  # protobuf raises errors of several types for more than 2 GB
            raise CannotRun(f"it cannot be sent to a runtime: {error}") from error
        inner = {tensor.name for tensor in part.graph.initializer}
        fed = {each.name: values[each.name] for each in part.graph.input if each.name in values.keys() - inner}
        outputs = [value.name for value in part.graph.output]
        return self._executed(self._serialized[1], outputs, fed, level, None, disabled)

    def _executed(
        self, data: bytes, outputs: Sequence[str], fed: Tensors, level: str | None, path: str | None,
        disabled: tuple[str, ...],
    ) -> Outcome:  # fmt: skip
        # X is none of the inputs of a model of a user's own.
        request = Request(
            np.zeros((1,), np.float32), tuple(outputs), data, {}, level, more=fed, feeds_input=False, path=path,
            disabled=disabled,
        )  # fmt: skip
        # Twice at each level, and more often where that does not tell what is right.
        doing = f"running {self.analysis.model.name} on {self.session.profile.description.name} at {level_name(level)}"
        self._progress(self._executions, max(self._executions + 1, 2 * len(self.levels)), doing)
        self._executions += 1
        (number,) = self.session.submit([parts.with_fixed_sizes(request) if self.has_fixed_sizes else request])
        return self.session.outcome(number)

    def optimizers(self, level: str | None, is_right: Callable[[Tensors, str | None], bool]) -> tuple[str, ...]:
        """The fewest optimizers that must be disabled for right outputs at a level; none if that helps nothing."""
        names = known_optimizers() if self.session.profile.takes_files else ()

        def helps(disabled: Sequence[str]) -> bool:
            outcome = self.run_at(level, tuple(disabled))
            return isinstance(outcome, Returned) and is_right(outcome.outputs, level)

        found: list[str] = []
        if not names or not helps(names):
            return ()
        while not (found and helps(found)):
            # The shortest beginning of the list without which, and without what was found, they are right; its last one counts.
            low, high = 0, len(names)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if helps([*names[:middle], *found]) else (middle, high)
            if names[high - 1] in found:
                return ()
            found.append(names[high - 1])
        return tuple(found)


class RightOutputs:
    """What the outputs of a model must be: those of the nodes around MaxPool, given its right results.

    ``makers`` are of the nodes that are judged in the model; ``inside`` has the tensors around these by level, and ``conforming``
    the levels at which they are right, with the same outputs as the deployed model.
    """

    def __init__(
        self, deployed: DeployedModel, makers: Sequence[CaseMaker], inside: Mapping[str | None, Tensors],
        conforming: Collection[str | None],
    ) -> None:  # fmt: skip
        self._deployed, self._makers, self._inside, self._conforming = deployed, makers, inside, conforming
        self._results = {name for each in makers for name in (each.node.output, each.node.indices) if name}
        self._rounding = parts.rounding(deployed.proto, self._results)
        self._starts = {each.around.start for each in makers}
        self._names = {value.name for value in deployed.proto.graph.output}
        self.sees_all = len(makers) == len(deployed.analysis.nodes)
        """Whether every MaxPool of the model is among those that are judged in it."""
        # A step of a quantized tensor is much more than what rounding moves a number by.
        self._is_quantized = any(node.op_type in _QUANTIZING for node in deployed.proto.graph.node)
        self._others: list[Tensors] = []
        """Outputs that are right besides those without optimization."""
        self._results_at, self._at = cache(self._settled), cache(self._given)

    def __call__(self, outputs: Tensors, level: str | None) -> bool:
        """Whether the outputs at a level are right."""
        return self.compared(outputs, level)[0] in SHOWN_RIGHT

    def compared(self, outputs: Tensors, level: str | None) -> tuple[LevelState, list[OutputDifference]]:
        """What outputs at a level are, and how they differ from the right ones."""
        base, at_base = self._right_at_base(), self._deployed.base
        if base is None:
            return LevelState.UNCLEAR, []
        outputs = {name: value for name, value in outputs.items() if name in self._names}
        apart = self._differences(base, outputs)
        if not apart or any(not self._differences(each, outputs) for each in self._others):
            return LevelState.RIGHT, []
        if self.sees_all and {level, at_base} <= {*self._conforming} and self._is_near(base, outputs, level):
            return LevelState.RIGHT, []
        here = self._at(level, level) if level != at_base else base
        if here is None:
            return LevelState.UNCLEAR, apart
        without = self._at(at_base, level) if level != at_base else base
        from_here = self._differences(here, outputs)
        if without is None or not self._is_rounded(without, here):
            is_alike = self._is_quantized and self.sees_all and not from_here
            return LevelState.REQUANTIZED if is_alike else LevelState.DIFFERS, apart
        if not from_here:
            self._others.append(outputs)
            return LevelState.RIGHT, []
        spread = {each.output: each.largest for each in self._differences(without, here)}
        if all(each.largest is not None and each.largest <= 4 * (spread.get(each.output) or 0) for each in from_here):
            return LevelState.UNCLEAR, from_here
        return LevelState.WRONG, from_here

    def with_results_of(self, makers: Sequence[CaseMaker], level: str | None) -> Tensors | None:
        """The outputs at a level, given the right results of some nodes alone; None where they are not known."""
        results, _ = self._results_at(level)
        names = {name for each in makers for name in (each.node.output, each.node.indices)}
        if results is None:
            return None
        return self._run_with({name: value for name, value in results.items() if name in names}, level)

    def _differences(self, right: Tensors, outputs: Tensors) -> list[OutputDifference]:
        both = ({name: each[name] for name in each.keys() - self._deployed.random} for each in (right, outputs))
        # The sign of a zero is open in ONNX; where it is not, it is judged by a look at MaxPool.
        return [
            each
            for each in output_differences(self._deployed.analysis.model.name, *both)
            if each.cells and each.largest != 0
        ]

    def _right_at_base(self) -> Tensors | None:
        base = self._deployed.base
        if base in self._conforming:
            outcome = self._deployed.run_at(base)
            assert isinstance(outcome, Returned)
            return outcome.outputs
        return self._at(base, base)

    def _given(self, level: str | None, of: str | None) -> Tensors | None:
        """The outputs at a level, given the right results of MaxPool at the level ``of``; None where they cannot be computed."""
        results, outputs = self._results_at(of)
        return outputs if level == of or results is None else self._run_with(results, level)

    def _settled(self, level: str | None) -> tuple[Tensors | None, Tensors | None]:
        """The right results of MaxPool at a level, and the outputs given these; None where they are not known."""
        flowing = self._inside.get(level) or next(iter(self._inside.values()), None) or self._zeros
        results = self._results_of(flowing)
        # At another level than that of the look, and behind a wrong MaxPool, the input of the next one is another.
        for _ in range(len(self._makers) + 2):
            outputs = None if results is None else self._run_with(results, level)
            if results is None or outputs is None:
                break
            again = self._results_of({**flowing, **outputs})
            if again is not None and all(identical(value, again[name]) for name, value in results.items()):
                return results, outputs
            results = again
        return None, None

    @property
    def flowing(self) -> Tensors:
        """The tensors in front of each MaxPool without optimization, given the right results of those before; empty if unknown."""
        return self._results_at(self._deployed.base)[1] or {}

    @property
    def _zeros(self) -> Tensors:
        """Zeros for what flows into each MaxPool, to begin with."""
        types = self._deployed.analysis.tested.types
        known = {name: types.get(name) for name in self._starts}
        return {
            name: np.zeros(each.shape, NUMPY[each.dtype])
            for name, each in known.items()
            if each is not None and each.shape is not None and each.dtype in NUMPY
        }

    def _run_with(self, results: Tensors, level: str | None, seed: int = 0) -> Tensors | None:
        """The outputs and the tensors in front of MaxPool at a level, given its results; None if the target has none.

        With a ``seed``, constants, inputs and results of floating point are moved by one ulp.
        """
        part, fed = parts.without_pools(self._deployed.proto, results), results
        if seed:
            random = np.random.default_rng(seed)
            part = parts.moved(part, seed)
            fed = {name: parts.next_to(value, random) for name, value in {**self._deployed.inputs, **results}.items()}
        outside = {value.name for value in (*part.graph.input, *part.graph.initializer)} | results.keys()
        starts = self._starts - outside
        part = parts.with_outputs(part, starts, self._deployed.analysis.declared.types)
        if not part.graph.output:
            return results
        outcome = self._deployed.run(part, level, fed)
        return {**results, **outcome.outputs} if isinstance(outcome, Returned) else None

    def _results_of(self, flowing: Tensors) -> dict[str, np.ndarray] | None:
        """The right results of each MaxPool, by the names of its outputs; None where they are not known or not unique."""
        results: dict[str, np.ndarray] = {}
        for each in self._makers:
            X = flowing.get(each.around.start, self._deployed.inputs.get(each.around.start))
            case = None if X is None else each.in_place(X)
            if case is None:
                return None
            pooled = evaluate(case.entering, replace(case.graph.pooling, indices=True))
            results[each.node.output] = pooled.Y
            if each.node.indices is not None and pooled.Indices is not None:
                results[each.node.indices] = pooled.Indices
        return {name: value for name, value in results.items() if name}

    def _is_near(self, base: Tensors, outputs: Tensors, level: str | None) -> bool:
        """Whether outputs, and what flows into MaxPool, differ by the least that rounding may always move them by."""
        looks = (self._inside.get(each) for each in (self._deployed.base, level))
        a, b = ({name: look[name] for name in self._starts & look.keys()} if look else {} for look in looks)
        plain = {**a, **base}
        bounds = {name: _least(value) for name, value in plain.items() if name in self._rounding}
        return self._is_rounded(plain, {**b, **outputs}, bounds)

    def _is_rounded(self, a: Tensors, b: Tensors, bounds: Mapping[str, float] | None = None) -> bool:
        """Whether tensors differ by no more than what rounding explains, in those that it can reach."""
        for each in self._differences(a, b):
            if each.output in self._results:
                continue
            if each.output not in self._rounding or each.largest is None:
                return False
            if each.largest > (self._rounding_bounds if bounds is None else bounds).get(each.output, 0):
                return False
        return True

    @cached_property
    def _rounding_bounds(self) -> Mapping[str, float]:
        """How far rounding may move each tensor: a multiple of what one ulp in all constants and inputs moves it."""
        base, bounds = self._deployed.base, dict[str, float]()
        results, plain = self._results_at(base)
        if results is None or plain is None:
            return bounds
        for seed in _SEEDS:
            moved = self._run_with(results, base, seed)
            for each in self._differences(plain, moved) if moved is not None else ():
                bounds[each.output] = max(bounds.get(each.output, 0), _MARGIN * (each.largest or 0))
        return {
            name: max(bounds.get(name, 0), _least(value)) for name, value in plain.items() if name in self._rounding
        }


def _least(right: np.ndarray) -> float:
    """What rounding may always move a right tensor by: a step of 8 bits, or some ulps of its largest value."""
    if not is_float(right.dtype):
        return 1.0 if right.dtype.itemsize == 1 else 0.0
    with np.errstate(all="ignore"):
        largest = np.abs(right[np.isfinite(right)].astype(np.float64)).max(initial=0)
    return float(_ULPS * largest * finfo(right.dtype).eps)


def level_name(level: str | None) -> str:
    """The name of a level of optimization."""
    return "default" if level is None else level.removeprefix("optimization-")


def why_not_run(outcome: Outcome) -> str:
    """Why a model was not run, in words."""
    match outcome:
        case RefusedByTarget(status, message):
            # A report breaks a sentence at its semicolons.
            return f"the target refuses it: {status}: {message.replace('; ', ', ')}"
        case TimedOut(seconds):
            return f"no result within {seconds:g} s (--timeout)"
        case Crashed(how, stderr):
            return f"its process died: {how}{': ' if stderr else ''}{stderr}"
        case NotExecuted(why) | NotClaimed(why) | Failed(why):
            return why
        case Inferred() | Accepted() | Returned():
            return "the target computes no values"
