"""The steps of the check of a program that speaks the protocol, and what a line shows of one."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import NUMPY, name_of
from maxpool_check.reference.geometry import Axis
from maxpool_check.results.outcomes import Accepted, Inferred, Outcome, Returned
from maxpool_check.results.variants import Variant
from maxpool_check.specifications.roles import attributes_for
from maxpool_check.specifications.specification import Specification
from maxpool_check.targets.mistakes import in_message, unknown_in_ready
from maxpool_check.targets.protocol import outcome_of, parsed

OK, MISSING, WRONG, SKIPPED = "ok", "missing", "wrong", "skipped"

EXECUTED = (Returned, Inferred, Accepted)
"""The outcomes of a request that a program did not refuse, whatever it decides."""

Lines = tuple[tuple[str, str], ...]
"""Lines with their directions, ``in`` to the program and ``out`` of it."""


@dataclass(frozen=True)
class ProtocolStep:
    """One step of the check: its ``state``, what was seen, the lines in and out, and how to fix it."""

    name: str
    state: str
    message: str = ""
    lines: Lines = ()
    fix: str = ""


def plain_case(document: Specification, dtype: str, axes: int) -> Case:
    """A case of windows of two cells on each of so many axes, with different values in a mixed order."""
    sizes = range(3, 3 + axes)
    attributes = next(attributes_for(document, tuple(Axis(size, 2, 1, 1, 0, 0, size - 1) for size in sizes)))
    shape = document.layout.arranged((1, document.channel_multiple, *sizes))
    count = math.prod(shape)
    # 7 and the sizes have no common divisor up to four axes.
    X = (1 + np.arange(count) * 7 % count % 100).astype(NUMPY[dtype]).reshape(shape)
    outputs = ("Y", "Indices") if document.indices else ("Y",)
    title = f"Windows of two cells over {axes} axes of {dtype}"
    return Case(f"{dtype}-{axes}d", document.name, Recipe.of(X), attributes, outputs, document.policies, title)


def ready_keys(message: Mapping[str, Any], mistakes: list[tuple[str, str]], lines: Lines) -> Iterator[ProtocolStep]:
    """A step for each key of a ``ready`` line, and for those that say what the program gets."""
    unknown = unknown_in_ready(message)
    for key, value in message.items():
        wrong = [text for name, text in mistakes if name.partition("[")[0].partition(".")[0] == key]
        if key in ("type", "protocol"):
            continue
        if wrong:
            yield ProtocolStep(f"ready: '{key}'", WRONG, "; ".join(wrong), lines, f"correct or leave out '{key}'")
        elif key in unknown:
            fix = f"is '{unknown[key]}' meant? Otherwise leave it out" if unknown[key] else ""
            yield ProtocolStep(
                f"ready: '{key}'", WRONG if fix else OK, "the protocol has no such key; it is ignored", (), fix
            )
        else:
            yield ProtocolStep(f"ready: '{key}'", OK, json.dumps(value)[:100])
    for key, meaning in (("dtypes", "any dtype"), ("spatial", "any number of spatial axes")):
        if key not in message:
            yield ProtocolStep(f"ready: '{key}'", OK, f"left out, so it gets {meaning}, also what it does not have")


def outcome_and_mistake(line: bytes, number: int) -> tuple[Outcome | None, str]:
    """What a line says about the request of this number, and what is wrong with it."""
    try:
        message = parsed(line)
        return outcome_of(message, number), in_message(message, number)
    except ValueError as error:
        return None, str(error)


def fix_of(mistake: str) -> str:
    """How to fix a mistake in a line that is the same whatever the request was; empty if it depends on the request."""
    if mistake.startswith("'id'"):
        return "give each line the id of its request"
    if "it ends too early" in mistake:
        return "write each message whole, on one line: is a quote, a bracket or a brace left open?"
    if mistake.startswith("a line is not JSON (column") and "(column 1:" not in mistake:
        return "correct the line at that column"
    if mistake.startswith("a line is not"):
        return "print what is no message to stderr; perhaps this line was printed after the answer before"
    return ""


def with_outputs(step: ProtocolStep, case: Case, variant: Variant, outcome: Outcome) -> ProtocolStep:
    """The step of a request with outputs, whose names, shapes and dtypes are checked."""
    oracle = case.oracle()
    if not isinstance(outcome, Returned) or not isinstance(oracle, Oracle):
        return step
    for name in variant.outputs:
        if name not in outcome.outputs:
            fix = f"give '{name}' where it is among the 'outputs' of the request" + (
                ', or write "indices": null in ready' if name == "Indices" else ""
            )
            return replace(step, state=MISSING, message=f"'outputs' has no '{name}'", fix=fix)
        value = outcome.outputs[name]
        expected = f"{name_of(oracle.dtype(name))}{list(oracle.shape)}"
        if f"{name_of(value.dtype)}{list(value.shape)}" != expected:
            message = f"'{name}' is {name_of(value.dtype)}{list(value.shape)}; expected {expected}"
            return replace(step, state=WRONG, message=message, fix="see 'Tensors' in 'maxpool-check docs kernel'")
    return step
