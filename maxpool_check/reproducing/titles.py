"""The title of an issue: operator, condition, effect."""

import re

import numpy as np

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reproducing.expectation import expected_values
from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.reproducing.reproduced import Fault, Reproduced
from maxpool_check.results.outcomes import Crashed, Inferred, RefusedByTarget, TimedOut
from maxpool_check.specifications.specification import Refused

_USUAL = (
    ("auto_pad", "NOTSET"), ("auto_pad", "explicit"), ("ceil_mode", 0), ("storage_order", 0), ("rounding_type", "floor"),
    ("index_element_type", "i64"), ("axis", 0),
)  # fmt: skip
"""Attributes that a title need not have."""

_MOST_CHARACTERS = 70
"""The most characters of a runtime's message in a title."""


def composed_title(reproduced: Reproduced, tool: str | None = None) -> str:
    """A title for a defect that has none; ``tool`` is the name of the tool that rewrites the model."""
    effect = _effect(reproduced)
    if tool is not None:
        return f"{tool} changes what {operator_of(reproduced)} computes: {effect[0].lower()}{effect[1:]}"
    if reproduced.dies or reproduced.fault in (Fault.NOT_REFUSED, Fault.REFUSED):
        condition = condition_of(reproduced)
        return f"{operator_of(reproduced)}{f' ({condition})' if condition else ''} {effect}"
    return f"{operator_of(reproduced)}: {effect}"


def condition_of(reproduced: Reproduced) -> str:
    """The dtype and the attributes that matter: of a graph that must be refused, the attribute at fault alone."""
    oracle, attributes = reproduced.oracle, reproduced.request.attributes
    if isinstance(oracle, Refused) and oracle.attribute is not None and oracle.attribute in attributes:
        return keywords_text({oracle.attribute: attributes[oracle.attribute]})
    shown = {name: value for name, value in attributes.items() if not _is_usual(name, value)}
    return ", ".join(filter(None, [reproduced.case_run.case.entering.dtype.name, keywords_text(shown)]))


def _is_usual(name: str, value: object) -> bool:
    """Whether an attribute has the value that it has in most models."""
    numbers = np.asarray(value).reshape(-1) if isinstance(value, (list, tuple)) else None
    if numbers is not None and name.startswith(("stride", "dilation")):
        return bool((numbers == 1).all())
    if numbers is not None and name.startswith("pad"):
        return bool((numbers == 0).all())
    return (name, value) in _USUAL


def first_kind(reproduced: Reproduced) -> DivergenceKind:
    """The kind to name first: of all outputs, then of Y, then of Indices."""
    order = [KindGroup.EXECUTION, KindGroup.GRAPH, KindGroup.ALL_OUTPUTS, KindGroup.Y_CELLS]
    groups = {group: number for number, group in enumerate(order)}
    return min(reproduced.kinds, key=lambda kind: groups.get(DESCRIPTIONS[kind].group, len(order)))


def sentence_of(kind: DivergenceKind, reproduced: Reproduced) -> str:
    """What a kind says, with the attributes of the case."""
    auto_pad = str(reproduced.case_run.case.attributes.get("auto_pad", "SAME_*"))
    return DESCRIPTIONS[kind].sentence.removesuffix(".").replace("SAME_*", auto_pad)


def operator_of(reproduced: Reproduced) -> str:
    """The operators of the graph, or the function that a framework has in place of MaxPool."""
    if reproduced.is_graph:
        return " + ".join(reproduced.case_run.case.context.operators)
    functions = {
        "torch": f"torch.nn.functional.max_pool{reproduced.request.X.ndim - 2}d",
        "jax": "jax.lax.reduce_window",
        "ncnn": {3: "Pooling1D", 4: "Pooling", 5: "Pooling3D"}.get(reproduced.request.X.ndim, "Pooling"),
        "tensorflow": f"tf.nn.max_pool{'_with_argmax' if reproduced.variant.has_indices else ''}",
        "tflite": "MAX_POOL_2D",
    }
    return functions.get(reproduced.speaks, "MaxPool")


def _effect(reproduced: Reproduced) -> str:
    outcome = reproduced.outcome
    instead = "" if isinstance(reproduced.oracle, Oracle) else " instead of being refused"
    if isinstance(outcome, Crashed):
        return f"{_how(outcome.how)}{instead}"
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
        return (
            f"Y differs {variation.sentence}" if variation is not None else "Y depends on whether Indices are requested"
        )
    return _wrong_output(reproduced)


def _wrong_output(reproduced: Reproduced) -> str:
    kind = first_kind(reproduced)
    # What follows a colon explains it.
    sentence = sentence_of(kind, reproduced).partition(": ")[0]
    if isinstance(reproduced.outcome, Inferred):
        inferred = "; ".join(f"{name} is inferred as {output}" for name, output in reproduced.outcome.outputs.items())
        return f"{inferred} ({condition_of(reproduced)})"
    wanted, outputs = expected_values(reproduced), reproduced.returned()
    if kind is DivergenceKind.DTYPE:
        dtypes = [(name, tensor.dtype, wanted[name].dtype) for name, tensor in outputs.items() if name in wanted]
        return "; ".join(f"{name} is {got} instead of {expected}" for name, got, expected in dtypes if got != expected)
    expected, got = wanted.get("Y"), outputs.get("Y")
    if expected is not None and got is not None and expected.shape != got.shape:
        sizes = f"{_sizes(got.shape)} instead of {_sizes(expected.shape)}"
        if kind is DivergenceKind.SHAPE:
            return f"Y has the shape {sizes} ({condition_of(reproduced)})"
        return f"{sentence}; Y is {sizes}"
    condition = "" if reproduced.is_graph else condition_of(reproduced)
    return f"{sentence}{f' ({condition})' if condition else ''}"


def _how(how: str) -> str:
    """How a process died, as a predicate."""
    match = re.fullmatch("killed by (SIG[A-Z]+).*", how, re.DOTALL)
    return f"kills the process with {match[1]}" if match else f"ends the process: it {how}"


def _sizes(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"
