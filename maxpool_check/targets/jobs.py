"""The jobs of a case on a target: a request for each variant, how its outcome is read, and what is asked next."""

from dataclasses import dataclass, replace
from typing import Any

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
from maxpool_check.results.variants import Variant
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import TargetProfile
from maxpool_check.targets.translation import Translation

_DECIDES = {Returned: "values", Inferred: "shapes", Accepted: "acceptance"}
"""What a target decides, by the outcome of a request that it does not refuse."""


NOT_YET = Failed("it was not executed")
"""The outcome of a job that is not finished."""


@dataclass(frozen=True, eq=False)
class Control:
    """A request that shows whether a refusal concerns MaxPool at all."""

    request: Request
    after: tuple[type[Outcome], ...]
    """It is executed only after outcomes of these types."""
    rules_out: tuple[type[Outcome], ...]
    """If its own outcome is of one of these types, the case counts as not executed."""
    reason: str
    """Why the case counts as not executed."""


@dataclass(frozen=True, eq=False)
class Job:
    """One variant of a case on a target: the request, how its outcome is read, and what is asked next.

    The job of a variant that is not executed has no request, and its outcome from the beginning.
    """

    variant: Variant
    request: Request | None = None
    translation: Translation | None = None
    """How the case was translated into the request, and the outputs are converted back."""
    opset: int | None = None
    """The operator set of the request's model."""
    control: Control | None = None
    number: int | None = None
    """The number of the request in its session, once it is submitted."""
    outcome: Outcome = NOT_YET
    """The outcome, with the outputs as the case has them."""
    seconds: float = 0.0
    """How long the target had the requests."""

    @property
    def why(self) -> str:
        """Why the variant is not executed; empty if it is."""
        return self.outcome.why if isinstance(self.outcome, (NotExecuted, NotClaimed)) else ""

    @property
    def steps(self) -> tuple[str, ...]:
        """What the translation changed, in words."""
        return () if self.translation is None else self.translation.steps

    def with_request(self, **changes: Any) -> "Job":
        """The same job, with other fields of its request and of its control's request."""
        if self.request is None:
            return self
        control = self.control
        if control is not None:
            control = replace(control, request=replace(control.request, **changes))
        return replace(self, request=replace(self.request, **changes), control=control)

    def finished(
        self, outcome: Outcome, seconds: float, profile: TargetProfile, of_control: Outcome | None = None
    ) -> "Job":
        """The job with its outcome as the case has it, and the seconds that the target had the requests.

        ``of_control`` is the outcome of the control, if it was executed. An exception is an outcome, too.
        """
        try:
            if self.control is not None and isinstance(of_control, self.control.rules_out):
                refusal = of_control if isinstance(of_control, RefusedByTarget) else outcome
                assert isinstance(refusal, RefusedByTarget)
                why = f"{self.control.reason}: {refusal.status}: {refusal.message}"
                return Job(self.variant, outcome=NotExecuted(why), seconds=seconds)
            return replace(self, outcome=self._as_of_the_case(outcome, profile), seconds=seconds)
        except Exception as error:
            return Job(self.variant, outcome=Failed.internal(error), seconds=seconds)

    def _as_of_the_case(self, outcome: Outcome, target: TargetProfile) -> Outcome:
        """The outcome with its outputs as the case has them.

        A failure, if another provider than the target's ran the node, or it decides something else than it says.
        """
        assert self.request is not None
        assert self.translation is not None
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
