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
from maxpool_check.reproducing.reproduced import Fault, Reproduced
from maxpool_check.reproducing.runtimes import table
from maxpool_check.results.outcomes import Crashed, Inferred, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.specifications import SPECIFICATIONS, specification
from maxpool_check.specifications.specification import Refused, Specification
from maxpool_check.targets.name import ToolName
from maxpool_check.targets.target import TargetProfile

_MOST_CHARACTERS = 70
"""The most characters of a runtime's message in a title."""


def title_of(reproduced: Reproduced, tool: ToolName | None = None) -> str:
    """A title for a defect that has none: operator, condition, effect; ``tool`` is the one that rewrites the model."""
    effect, operator, condition = _effect(reproduced), operator_of(reproduced), condition_of(reproduced)
    if tool is not None:
        return f"{tool.name} changes what {operator} computes: {effect[0].lower()}{effect[1:]}"
    if reproduced.ends or reproduced.fault in (Fault.NOT_REFUSED, Fault.REFUSED):
        return f"{operator}{f' ({condition})' if condition else ''} {effect}"
    return f"{operator}: {effect}"


def condition_of(reproduced: Reproduced) -> str:
    """The dtype and the attributes that matter: of a graph that must be refused, the attribute at fault alone."""
    oracle, attributes = reproduced.oracle, reproduced.request.attributes
    if isinstance(oracle, Refused) and oracle.attribute is not None and oracle.attribute in attributes:
        return f"{oracle.attribute}={attributes[oracle.attribute]!r}"
    # A title need not have those that have the value of most models.
    usual = {"stride": 1, "dilation": 1, "pad": 0}
    shown = []
    for name, value in attributes.items():
        number = next((number for start, number in usual.items() if name.startswith(start)), None)
        is_usual = isinstance(value, (list, tuple)) and number is not None and bool((np.asarray(value) == number).all())
        if not is_usual and value not in table("forms")["usual"].get(name, ()):
            shown.append(f"{name}={value!r}")
    return ", ".join([reproduced.case_run.case.entering.dtype.name, *shown])


def operator_of(reproduced: Reproduced) -> str:
    """The operators of the graph, or the function that a framework has in place of MaxPool."""
    if reproduced.is_graph:
        return " + ".join(reproduced.case_run.case.context.operators)
    rank = reproduced.request.X.ndim
    return str(table("forms")["functions"].get(reproduced.target.speaks, "MaxPool")).format(
        axes=rank - 2, argmax="_with_argmax" if reproduced.variant.has_indices else "",
        dimensions={3: "1D", 5: "3D"}.get(rank, ""),
    )  # fmt: skip


def sentence_of(kind: DivergenceKind, reproduced: Reproduced) -> str:
    """What a kind says, with the attributes of the case."""
    auto_pad = str(reproduced.case_run.case.attributes.get("auto_pad", "SAME_*"))
    return DESCRIPTIONS[kind].sentence.removesuffix(".").replace("SAME_*", auto_pad)


def _effect(reproduced: Reproduced) -> str:
    outcome = reproduced.outcome
    instead = "" if isinstance(reproduced.oracle, Oracle) else " instead of being refused"
    if isinstance(outcome, Crashed):
        killed = re.fullmatch("killed by (SIG[A-Z]+).*", outcome.how, re.DOTALL)
        how = f"kills the process with {killed[1]}" if killed else f"ends the process: it {outcome.how}"
        return f"{how}{instead}"
    if isinstance(outcome, TimedOut):
        return f"does not end{instead}"
    if reproduced.fault is Fault.NOT_REFUSED:
        return f"is {'executed' if reproduced.target.computes else 'accepted'}{instead}"
    if isinstance(outcome, RefusedByTarget):
        message = " ".join(outcome.message.split())
        if len(message) > _MOST_CHARACTERS:
            message = message[:_MOST_CHARACTERS].rsplit(" ", 1)[0] + " ..."
        return f"is refused: {message}"
    if reproduced.fault is Fault.INCONSISTENT:
        variation = reproduced.variant.variation
        return f"Y differs {variation.sentence}" if variation else "Y depends on whether Indices are requested"
    return _wrong_output(reproduced)


def _wrong_output(reproduced: Reproduced) -> str:
    # The kind to name first is one of all outputs, then of Y, then of Indices.
    order = (KindGroup.EXECUTION, KindGroup.GRAPH, KindGroup.ALL_OUTPUTS, KindGroup.Y_CELLS)
    groups = {group: number for number, group in enumerate(order)}
    kind = min(reproduced.kinds, key=lambda kind: groups.get(DESCRIPTIONS[kind].group, len(order)))
    if isinstance(reproduced.outcome, Inferred):
        inferred = "; ".join(f"{name} is inferred as {output}" for name, output in reproduced.outcome.outputs.items())
        return f"{inferred} ({condition_of(reproduced)})"
    outputs = reproduced.returned()
    wanted = {name: output.reference for name, output in expected_outputs(reproduced)[0].items()}
    if kind is DivergenceKind.DTYPE:
        dtypes = [(name, tensor.dtype, wanted[name].dtype) for name, tensor in outputs.items() if name in wanted]
        return "; ".join(f"{name} is {got} instead of {right}" for name, got, right in dtypes if got != right)
    # What follows a colon explains it.
    sentence, condition = sentence_of(kind, reproduced).partition(": ")[0], condition_of(reproduced)
    if {"Y"} <= wanted.keys() & outputs.keys() and wanted["Y"].shape != outputs["Y"].shape:
        sizes = " instead of ".join("x".join(map(str, each["Y"].shape)) or "a scalar" for each in (outputs, wanted))
        return f"Y has the shape {sizes} ({condition})" if kind is DivergenceKind.SHAPE else f"{sentence}; Y is {sizes}"
    return sentence if reproduced.is_graph else f"{sentence} ({condition})"


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
    case, speaks = reproduced.case_run.case, reproduced.target.speaks
    document, own = case.specification, SPECIFICATIONS.get(speaks)
    if not profile.name.is_released or (profile.name.takes_models and reproduced.variant.in_domain):
        own = document
    elif profile.name.takes_models:
        # Of the version in which the case was executed.
        opset = reproduced.case_run.results[reproduced.variant].opset
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
    if verdict is Verdict.UNDEFINED or (isinstance(oracle, Refused) and oracle.is_open):
        return None
    return verdict is not Verdict.CONFORMS
