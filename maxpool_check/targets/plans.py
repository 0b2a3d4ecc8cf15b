"""How a case is executed in a variant: its requests, and what their outcomes mean for the case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.outcomes import (
    Accepted,
    Failed,
    Inferred,
    NotClaimed,
    NotExecuted,
    Outcome,
    RefusedByTarget,
    Returned,
)
from maxpool_check.results.variants import BATCH_SPLIT, CHANNELS_PERMUTED, Variant, Variation
from maxpool_check.specifications.roles import NotExpressible
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import TargetProfile
from maxpool_check.targets.translation import Translation

_DECIDES = {Returned: "values", Inferred: "shapes", Accepted: "acceptance"}
"""What a target decides, by the outcome of what it does not refuse."""


@dataclass(frozen=True, eq=False)
class SecondLook:
    """A request that shows whether a refusal concerns MaxPool at all.

    It is executed ``after`` outcomes of these types. If its own outcome is of a type that ``rules_out``, the case counts as
    not executed, for this ``reason``.
    """

    request: Request
    after: tuple[type[Outcome], ...]
    rules_out: tuple[type[Outcome], ...]
    reason: str


@dataclass(frozen=True, eq=False)
class PlannedRequest:
    """A request, and the translation that its outputs must be converted back from."""

    request: Request
    translation: Translation
    opset: int | None = None
    second_look: SecondLook | None = None

    def with_request(self, **changes: Any) -> "PlannedRequest":
        """The same, with other fields of the request and of that of its second look."""
        look = self.second_look
        if look is not None:
            look = replace(look, request=replace(look.request, **changes))
        return replace(self, request=replace(self.request, **changes), second_look=look)

    def converted(self, outcome: Outcome, target: TargetProfile) -> Outcome:
        """The outcome with its outputs as the case has them.

        A failure, if another provider than the target's ran the node, or it decides something else than it says.
        """
        described = target.description
        decides = _DECIDES.get(type(outcome), described.decides)
        if decides != described.decides:
            return Failed(f"a message about {decides} of a target that decides {described.decides}")
        if isinstance(outcome, Inferred):
            # A program may say something of outputs that it was not asked for.
            asked = {name: outcome.outputs[name] for name in self.request.outputs if name in outcome.outputs}
            return replace(
                outcome, outputs={name: self.translation.inferred(name, each) for name, each in asked.items()}
            )
        if not isinstance(outcome, Returned):
            return outcome
        # A kernel of the user need not say what runs it, neither once nor of each request.
        is_said = target.name.is_released or (described.provider and outcome.provider is not None)
        has_provider = self.opset is not None or not target.name.is_released
        if has_provider and is_said and outcome.provider != described.provider:
            return Failed(f"wrong provider: {outcome.provider} ran the node, not {described.provider}")
        outputs = {name: self.translation.output(name, value) for name, value in outcome.outputs.items()}
        return replace(outcome, outputs=outputs)


@dataclass(frozen=True)
class VariantResult:
    """The outcome of a variant, the operator set it was executed in, how the case was translated, and the last request.

    ``seconds`` is the time that the target had its requests.
    """

    outcome: Outcome
    opset: int | None = None
    steps: tuple[str, ...] = ()
    request: Request | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class VariantPlan:
    """How a case is executed in one variant: its requests in order, or why it cannot be executed."""

    case: Case
    variant: Variant
    parts: tuple[PlannedRequest, ...] = ()
    not_executed: NotExecuted | NotClaimed | None = None

    @property
    def requests(self) -> list[Request]:
        """The requests to execute."""
        return [part.request for part in self.parts]

    def with_requests(self, **changes: Any) -> "VariantPlan":
        """The same plan, with other fields of all requests."""
        return replace(self, parts=tuple(part.with_request(**changes) for part in self.parts))

    def second_look(self, outcomes: Sequence[Outcome]) -> SecondLook | None:
        """The second look that the outcomes of the requests call for, if they do."""
        if not self.parts:
            return None
        part, outcome = self._decisive(outcomes)
        look = part.second_look
        return look if look is not None and isinstance(outcome, look.after) else None

    def result(
        self, outcomes: Sequence[Outcome], target: TargetProfile, second: Outcome | None = None, seconds: float = 0.0
    ) -> VariantResult:
        """The result from the outcomes of the requests, and of the second look if there was one; all took so many seconds."""
        if self.not_executed is not None:
            return VariantResult(self.not_executed)
        part, outcome = self._decisive(outcomes)
        look = part.second_look
        if look is not None and isinstance(second, look.rules_out):
            refusal = second if isinstance(second, RefusedByTarget) else outcome
            assert isinstance(refusal, RefusedByTarget)
            return VariantResult(NotExecuted(f"{look.reason}: {refusal.status}: {refusal.message}"), seconds=seconds)
        own = [part.converted(each, target) for part, each in zip(self.parts, outcomes, strict=True)]
        part, outcome = self._decisive(own)
        variation = self.variant.variation
        if isinstance(outcome, Returned) and variation in (BATCH_SPLIT, CHANNELS_PERMUTED):
            outputs = [each.outputs for each in own if isinstance(each, Returned)]
            outcome = replace(outcome, outputs=_whole(self.case, variation, outputs))
        return VariantResult(outcome, part.opset, part.translation.steps, part.request, seconds)

    def _decisive(self, outcomes: Sequence[Outcome]) -> tuple[PlannedRequest, Outcome]:
        """The first request without outputs and its outcome; the last request if all have outputs."""
        pairs = list(zip(self.parts, outcomes, strict=True))
        return next((pair for pair in pairs if not isinstance(pair[1], Returned)), pairs[-1])


def parts_of(case: Case, variation: Variation | None) -> list[Case]:
    """The cases to execute: the images one by one, the case with its channels in reverse order, or the case itself.

    Raises :class:`NotExpressible` where there is nothing to split or to reorder.
    """
    if variation not in (BATCH_SPLIT, CHANNELS_PERMUTED):
        return [case]
    if not case.context.is_alone:
        raise NotExpressible("a graph of several nodes is executed as it is")
    if not isinstance(case.resolved, Pooling):
        raise NotExpressible("its document excludes the graph: there are no outputs to compare")
    layout, X = case.specification.layout, case.X.tensor()
    batch, channels = layout.sizes(X.shape)[:2]
    if variation == CHANNELS_PERMUTED:
        if channels < 2:
            raise NotExpressible("there are no two channels to exchange")
        tensors = [np.flip(X, _channel_axis(layout))]
    elif batch < 2 or layout is Layout.IMAGE:
        raise NotExpressible(f"a batch of {batch} cannot be split")
    else:
        tensors = [X[n : n + 1] for n in range(batch)]
    return [replace(case, X=Recipe.of(np.ascontiguousarray(tensor))) for tensor in tensors]


def _whole(case: Case, variation: Variation, outputs: Sequence[Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
    """The outputs of the parts of a case as outputs of the case: Indices number the cells of its X again."""
    names = [name for name in outputs[0] if all(name in part for part in outputs)]
    return {name: _joined(case, variation, name, [part[name] for part in outputs]) for name in names}


def _joined(case: Case, variation: Variation | None, name: str, tensors: Sequence[np.ndarray]) -> np.ndarray:
    pooling, first = case.resolved, tensors[0]
    assert isinstance(pooling, Pooling)
    layout, numbering = pooling.layout, pooling.numbering
    counts = name == "Indices" and first.dtype.kind == "i"
    channels, *spatial = layout.sizes(case.X.shape)[1:]
    if any((each.ndim, each.shape[1:], each.dtype) != (case.X.ndim, first.shape[1:], first.dtype) for each in tensors):
        # No output of this case; the judge tells it by its shape.
        return first
    if variation == CHANNELS_PERMUTED:
        axis = _channel_axis(layout)
        tensor = np.ascontiguousarray(np.flip(first, axis))
        if counts and numbering.axis < 2 and tensor.shape[axis] == channels:
            # Channel C - 1 - c of the request is channel c of the case.
            step = prod(spatial) if numbering.layout is Layout.CHANNELS_FIRST else 1
            shift = (2 * np.arange(channels) - (channels - 1)) * step
            tensor = tensor + np.moveaxis(shift.reshape(-1, *[1] * (tensor.ndim - 1)), 0, axis).astype(tensor.dtype)
        return tensor
    if counts and numbering.axis == 0:
        tensors = [tensor + np.int64(n * channels * prod(spatial)) for n, tensor in enumerate(tensors)]
    return np.concatenate(tensors).astype(first.dtype)


def _channel_axis(layout: Layout) -> int:
    return 1 if layout is Layout.CHANNELS_FIRST else -1
