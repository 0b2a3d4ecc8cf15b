"""The outcome of a request, as the case has it."""

from dataclasses import replace

from maxpool_check.results.outcomes import Accepted, Failed, Inferred, Outcome, Returned
from maxpool_check.targets.plans import PlannedRequest
from maxpool_check.targets.target import TargetProfile

_DECIDES = {Returned: "values", Inferred: "shapes", Accepted: "acceptance"}
"""What a target decides, by the outcome of what it does not refuse."""


def converted(part: PlannedRequest, outcome: Outcome, target: TargetProfile) -> Outcome:
    """The outcome with its outputs as the case has them.

    A failure, if another provider than the target's ran the node, or the target decides something else than it says.
    """
    decides = _DECIDES.get(type(outcome))
    if decides is not None and decides != target.description.decides:
        return Failed(f"a message about {decides} of a target that decides {target.description.decides}")
    if isinstance(outcome, Inferred):
        # A program may say something of outputs that it was not asked for.
        asked = {name: outcome.outputs[name] for name in part.request.outputs if name in outcome.outputs}
        return replace(outcome, outputs={name: part.translation.inferred(name, each) for name, each in asked.items()})
    if not isinstance(outcome, Returned):
        return outcome
    # A kernel of the user need not say what runs it, neither once nor of each request.
    provider = target.description.provider
    is_said = target.name.is_released or (provider and outcome.provider is not None)
    if part.opset is not None and is_said and outcome.provider != provider:
        return Failed(f"wrong provider: {outcome.provider} ran the node, not {provider}")
    outputs = {name: part.translation.output(name, value) for name, value in outcome.outputs.items()}
    return replace(outcome, outputs=outputs)
