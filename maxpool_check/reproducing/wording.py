"""What an issue calls things: its title, the operator, and whose rule it is that a result breaks."""

import re
from dataclasses import replace

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.judging.judge import judge
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reporting.markup import escaped
from maxpool_check.reproducing.expectation import expected_outputs
from maxpool_check.reproducing.reproduced import FaultForm, Reproduced
from maxpool_check.reproducing.runtimes import table
from maxpool_check.results.outcomes import Crashed, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.specifications import SPECIFICATIONS, specification
from maxpool_check.specifications.specification import Refused, Specification
from maxpool_check.targets.name import ToolName
from maxpool_check.targets.target import TargetProfile
from maxpool_check.words import shortened

_MOST_CHARACTERS = 74
"""The most characters of a runtime's message in a title."""

_FIRST = (KindGroup.EXECUTION, KindGroup.GRAPH, KindGroup.ALL_OUTPUTS, KindGroup.Y_CELLS)
"""A title names a kind of these groups, in this order, before one of Indices."""


def title_of(reproduced: Reproduced, tool: ToolName | None = None) -> str:
    """A title for a defect that has none: operator, condition, effect; ``tool`` is the one that rewrites the model."""
    operator, condition, outcome = operator_of(reproduced), condition_of(reproduced), reproduced.outcome
    instead = "" if isinstance(reproduced.oracle, Oracle) else " instead of being refused"
    ends = f"{operator} ({condition})" if condition else operator
    if isinstance(outcome, Crashed):
        killed = re.match("killed by (SIG[A-Z]+)", outcome.how)
        effect = f"kills the process with {killed[1]}" if killed else f"ends the process: it {outcome.how}"
        title = f"{ends} {effect}{instead}"
    elif isinstance(outcome, TimedOut):
        title = f"{ends} does not end{instead}"
    elif reproduced.fault is FaultForm.NOT_REFUSED:
        title = f"{ends} is {'executed' if reproduced.target.computes else 'accepted'}{instead}"
    elif isinstance(outcome, RefusedByTarget):
        title = f"{ends} is refused: {shortened(outcome.message, _MOST_CHARACTERS, end=False)}"
    elif reproduced.fault is FaultForm.INCONSISTENT:
        variation = reproduced.variant.variation
        difference = f"differs {variation.sentence}" if variation else "depends on whether Indices are requested"
        title = f"{operator}: Y {difference}"
    else:
        title = f"{operator}: {_wrong_output(reproduced, condition)}"
    effect = title.removeprefix(operator).lstrip(": ")
    return title if tool is None else f"{tool.name} changes what {operator} computes: {effect}"


def _wrong_output(reproduced: Reproduced, condition: str) -> str:
    """What is wrong with outputs, with the kind that matters most."""
    groups = {kind: DESCRIPTIONS[kind].group for kind in reproduced.kinds}
    kind = min(groups, key=lambda kind: _FIRST.index(groups[kind]) if groups[kind] in _FIRST else len(_FIRST))
    outputs = reproduced.returned()
    wanted = {name: each.reference for name, each in expected_outputs(reproduced)[0].items() if name in outputs}
    if kind is DivergenceKind.DTYPE:
        dtypes = {name: (outputs[name].dtype, each.dtype) for name, each in wanted.items()}
        return "; ".join(f"{name} is {got} instead of {right}" for name, (got, right) in dtypes.items() if got != right)
    # What follows a colon explains it.
    sentence = sentence_of(kind, reproduced).partition(": ")[0]
    if "Y" in wanted and outputs["Y"].shape != wanted["Y"].shape:
        got, right = ("x".join(map(str, each["Y"].shape)) or "a scalar" for each in (outputs, wanted))
        return f"{sentence}; Y is {got} instead of {right}"
    return sentence if reproduced.is_graph else f"{sentence} ({condition})"


def condition_of(reproduced: Reproduced) -> str:
    """The dtype and the attributes that matter: of a graph that must be refused, the attribute at fault alone."""
    oracle, attributes = reproduced.oracle, reproduced.request.attributes
    if isinstance(oracle, Refused) and oracle.attribute is not None and oracle.attribute in attributes:
        return f"{oracle.attribute}={attributes[oracle.attribute]!r}"
    # A title need not have those that have the value of most models.
    shown = [reproduced.case_run.case.entering.dtype.name]
    for name, value in attributes.items():
        usual = [each for start, each in table("forms")["usual"].items() if name.startswith(start)]
        if not usual or any(each not in usual[0] for each in np.ravel(value).tolist()):
            shown.append(f"{name}={value!r}")
    return ", ".join(shown)


def operator_of(reproduced: Reproduced) -> str:
    """The operators of the graph, or the function that a framework has in place of MaxPool."""
    if reproduced.is_graph:
        return " + ".join(reproduced.case_run.case.context.operators)
    rank, argmax = reproduced.request.X.ndim, "_with_argmax" if reproduced.variant.has_indices else ""
    function = str(table("forms")["functions"].get(reproduced.target.speaks, "MaxPool"))
    return function.format(axes=rank - 2, argmax=argmax, dimensions={3: "1D", 5: "3D"}.get(rank, ""))


def sentence_of(kind: DivergenceKind, reproduced: Reproduced) -> str:
    """What a kind says, with the attributes of the case."""
    auto_pad = str(reproduced.case_run.case.attributes.get("auto_pad", "SAME_*"))
    return DESCRIPTIONS[kind].sentence.removesuffix(".").replace("SAME_*", auto_pad)


def address(name: str) -> str | None:
    """Where a document can be read; None if it has no page of its own."""
    family, _, version = name.partition("-")
    found = table("forms")["addresses"].get(family)
    return str(found).format(version=version) if found is not None else None


def linked(document: Specification) -> str:
    """The title of a document in Markdown, with its address."""
    url = address(document.name)
    return f"[{escaped(document.title)}]({url})" if url else escaped(document.title)


def rule_of(reproduced: Reproduced, profile: TargetProfile) -> tuple[Specification, Specification | None, bool | None]:
    """The document that an issue rests on, the project's own, if it has one, and whether that finds fault with the outcome.

    It rests on the project's own, if that is of another family and does; otherwise on that of the case. None: it does not
    decide.
    """
    case = reproduced.case_run.case
    document, own = case.specification, SPECIFICATIONS.get(reproduced.target.speaks)
    if not profile.name.is_released or (profile.name.takes_models and reproduced.variant.in_domain):
        own = document
    elif profile.name.takes_models:
        # Of the version in which the case was executed.
        opset = reproduced.case_run.jobs[reproduced.variant].opset
        own = specification(f"onnx-{opset}") if opset is not None else None
    if own is None or own.name.partition("-")[0] == case.spec.partition("-")[0]:
        return document, own, None
    says_so = None if reproduced.is_graph else _finds_fault(own, reproduced)
    return own if says_so else document, own, says_so


def _finds_fault(document: Specification, reproduced: Reproduced) -> bool | None:
    """Whether a document finds fault with the outcome, too; None if it does not decide."""
    request, case, outcome = reproduced.request, reproduced.case_run.case, reproduced.outcome
    own = Case(case.id, document.name, Recipe.of(request.X), request.attributes, case.outputs, document.policies)
    oracle, variant = own.oracle(), Variant(reproduced.variant.outputs)
    if isinstance(outcome, Returned):
        outcome = replace(outcome, outputs=reproduced.returned())
    verdict = judge(oracle, {variant: outcome})[variant].verdict
    is_open = verdict is Verdict.UNDEFINED or (isinstance(oracle, Refused) and oracle.is_open)
    return None if is_open else verdict is not Verdict.CONFORMS
