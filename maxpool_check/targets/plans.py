"""How a case is executed in a variant: its requests, and what is made of their outcomes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from maxpool_check.corpus.case import Case
from maxpool_check.results.outcomes import NotClaimed, NotExecuted, Outcome
from maxpool_check.results.variants import Variant
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.translation import Translation
from maxpool_check.targets.worker.messages import ORIGINAL


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


def original(variant_plan: VariantPlan) -> VariantPlan:
    """The same requests, whose models no tool rewrites."""
    return _with_requests(variant_plan, lambda request: replace(request, setting=ORIGINAL))


def fresh(variant_plan: VariantPlan) -> VariantPlan:
    """The same requests, each with a session of its own."""
    return _with_requests(variant_plan, lambda request: replace(request, fresh=True))


def _with_requests(variant_plan: VariantPlan, changed: Callable[[Request], Request]) -> VariantPlan:
    parts = []
    for part in variant_plan.parts:
        look = part.second_look
        if look is not None:
            look = replace(look, request=changed(look.request))
        parts.append(replace(part, request=changed(part.request), second_look=look))
    return replace(variant_plan, parts=tuple(parts))
