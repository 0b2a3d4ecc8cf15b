"""Whose rule it is that a result breaks: the documents, their addresses, and which of them a runtime implements."""

from dataclasses import dataclass, replace

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.judging.judge import judge
from maxpool_check.reporting.markup import escaped
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.specifications import SPECIFICATIONS, specification
from maxpool_check.specifications.specification import Refused, Specification
from maxpool_check.targets.target import TargetProfile

_OPENVINO = "https://docs.openvino.ai/2024/documentation/openvino-ir-format/operation-sets/operation-specs/pooling"
_SONNX = (
    "https://github.com/onnx/working-groups/blob/main/safety-related-profile/sonnx/ops/spec/informal/maxpool/maxpool.md"
)

_ABOUT = {
    "sonnx": "the profile of ONNX for safety-related systems",
    "ort-nhwc-11": "an operator domain of ONNX Runtime's own",
}
"""What a document is, where its name does not say."""


def address(name: str) -> str | None:
    """Where a document can be read; None if it has no page of its own."""
    family, _, version = name.partition("-")
    if family == "onnx":
        return f"https://onnx.ai/onnx/operators/onnx__MaxPool.html#maxpool-{version}"
    if family == "openvino":
        return f"{_OPENVINO}/max-pool-{version}.html"
    return {"sonnx": _SONNX, "xmos": "https://github.com/xmos/lib_nn"}.get(family)


def linked(document: Specification) -> str:
    """The title of a document in Markdown, with its address."""
    url = address(document.name)
    return f"[{escaped(document.title)}]({url})" if url else escaped(document.title)


def own_document(reproduced: Reproduced, profile: TargetProfile) -> Specification | None:
    """The document that the target implements, of the version in which the case was executed; None if there is none."""
    if not profile.name.is_released:
        return reproduced.case_run.case.specification
    if profile.name.takes_models:
        if reproduced.variant.in_domain:
            return reproduced.case_run.case.specification
        opset = reproduced.case_run.results[reproduced.variant].opset
        return specification(f"onnx-{opset}") if opset is not None else None
    return SPECIFICATIONS.get(reproduced.speaks)


def is_own(reproduced: Reproduced, profile: TargetProfile) -> bool:
    """Whether the case is judged by a document that the target implements, in whatever version."""
    own, case = own_document(reproduced, profile), reproduced.case_run.case
    return own is not None and own.name.partition("-")[0] == case.spec.partition("-")[0]


@dataclass(frozen=True)
class Rule:
    """The document that an issue rests on, and a paragraph on whose rule it is, where it is not the project's own alone."""

    document: Specification
    about: str = ""


def rule_of(reproduced: Reproduced, profile: TargetProfile, project: str) -> Rule:
    """The project's own document, if it requires the same as that of the case; otherwise that of the case."""
    case, own = reproduced.case_run.case, own_document(reproduced, profile)
    document = case.specification
    if is_own(reproduced, profile):
        return Rule(document)
    about = _ABOUT.get(case.spec)
    named = f"{linked(document)}{f', {about},' if about else ''}"
    if own is None:
        return Rule(document, f"What is expected here is what {named} says; documentation of {project} is not quoted.")
    says_so = None if reproduced.is_graph else _judged_by(own, reproduced)
    if says_so:
        is_profile = case.spec == "sonnx"
        return Rule(own, f"{linked(own)} requires this, and so does {named.removesuffix(',')}." if is_profile else "")
    text = f"The rule is that of {named} and not of {linked(own)} itself, which "
    if says_so is None:
        return Rule(document, f"{text}does not say what such a graph gives.")
    return Rule(document, f"{text}allows what {project} does here.")


def _judged_by(document: Specification, reproduced: Reproduced) -> bool | None:
    """Whether a document finds fault with the outcome, too; None if it does not decide."""
    request, case = reproduced.request, reproduced.case_run.case
    own = Case(
        case.id, document.name, Recipe.of(request.X), request.attributes, case.outputs, document.policies
    )  # fmt: skip
    outcome, oracle = reproduced.outcome, own.oracle()
    if isinstance(outcome, Returned):
        outcome = replace(outcome, outputs=reproduced.returned())
    variant = Variant(reproduced.variant.outputs)
    verdict = judge(oracle, {variant: outcome})[variant].verdict
    if verdict is Verdict.UNDEFINED or (isinstance(oracle, Refused) and oracle.is_open):
        return None
    return verdict is not Verdict.CONFORMS
