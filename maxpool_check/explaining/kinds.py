"""The kinds of divergence for people: a list, one of them with its example, a page of all."""

from __future__ import annotations

import numpy as np

from maxpool_check.judging.examples import EXAMPLES, Example
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reporting.tensors import planes
from maxpool_check.results.outcomes import Crashed, RefusedByTarget, Returned, TimedOut

_GROUPS = (
    ("Cells of Y", DivergenceKind.Y_LOWEST_FOR_NEG_INF),
    ("Cells of Indices", DivergenceKind.INDICES_SENTINEL),
    ("All Indices", DivergenceKind.INDICES_PLANE_RELATIVE),
    ("The whole answer", DivergenceKind.PADS_BEGIN_END_EXCHANGED),
    ("Outputs, refusals and deaths", DivergenceKind.SHAPE),
    ("Answers that are not always the same", DivergenceKind.Y_DEPENDS_ON_INDICES),
)
"""Each group begins with a kind, in the order of the list."""


def listed() -> str:
    """All kinds, a line each."""
    width = max(len(kind.value) for kind in DivergenceKind)
    lines = []
    for heading, kinds in _grouped():
        lines += ["", heading, *[f"  {kind.value:{width}}  {DESCRIPTIONS[kind].sentence}" for kind in kinds]]
    return "\n".join([*lines[1:], "", "maxpool-check explain KIND shows an example."]) + "\n"


def explained(kind: DivergenceKind) -> str:
    """One kind: the sentence, the clause, and an example."""
    about = DESCRIPTIONS[kind]
    lines = [kind.value, f"  {about.sentence}", f"  Clause: {about.clause}."]
    if about.hypothesis:
        lines.append(f"  Found by computing with the mistake: the answer equals {about.hypothesis}, cell for cell.")
    return "\n".join([*lines, "", "Example", *(f"  {line}" for line in _example(EXAMPLES[kind])), ""])


def page() -> str:
    """All kinds with their examples, in Markdown."""
    lines = [
        "# The kinds of divergence",
        "",
        "Each is decided from X, the attributes, what was expected and what came. A mistake in the whole answer is found by",
        "computing with it: it is named only where what comes out equals the answer in every cell. Made by",
        "`maxpool-check explain --format markdown`; the judge says of every example here what stands above it.",
    ]
    for heading, kinds in _grouped():
        lines += ["", f"## {heading}"]
        for kind in kinds:
            about = DESCRIPTIONS[kind]
            lines += ["", f"### `{kind.value}`", "", about.sentence, "", f"Clause: {about.clause}."]
            if about.hypothesis:
                lines += ["", f"Found where the answer equals {about.hypothesis}."]
            lines += ["", "```text", *_example(EXAMPLES[kind]), "```"]
    return "\n".join(lines) + "\n"


def _grouped() -> list[tuple[str, list[DivergenceKind]]]:
    every = list(DivergenceKind)
    starts = [every.index(first) for _, first in _GROUPS]
    return [
        (heading, every[start:end])
        for (heading, _), start, end in zip(_GROUPS, starts, [*starts[1:], len(every)], strict=True)
    ]


def _example(example: Example) -> list[str]:
    meaning, outcome = example.oracle, example.came
    settings = ", ".join(f"{name}={value}" for name, value in example.attributes.items())
    interpretations = "".join(f"  {point}: {interpretation}" for point, interpretation in example.policies.items())
    lines = [f"{example.spec}, {example.variant.name}: {settings}{interpretations}", *_tensor("X", example.tensor)]
    if isinstance(meaning, Oracle):
        for name in example.variant.outputs:
            due = meaning.pooled.Y if name == "Y" else meaning.pooled.Indices
            assert due is not None
            lines += _tensor(f"{name} expected", due)
    else:
        lines.append(f"to be refused: {meaning.message}")
    if example.base is not None:
        of = example.variant.base.name if example.variant.variation else "indices"
        for name in example.variant.outputs:
            values = np.array(example.base[name])
            lines += _tensor(f"{name} came of {of}", values.reshape((1,) * (4 - values.ndim) + values.shape))
    match outcome:
        case Returned(outputs):
            for name, value in outputs.items():
                lines += _tensor(f"{name} came", value)
            lines += [f"{name} did not come" for name in example.variant.outputs if name not in outputs]
        case RefusedByTarget(status, message):
            lines.append(f"refused: {status}: {message}")
        case Crashed(how, _):
            lines.append(f"the process was {how}")
        case TimedOut(seconds):
            lines.append(f"no answer within {seconds:g} s")
    return lines


def _tensor(name: str, tensor: np.ndarray) -> list[str]:
    shown = planes([str(value) for value in tensor.reshape(-1)], tensor.shape)
    return [f"{name} {tensor.dtype.name}{list(tensor.shape)}", *(f"  {line}".rstrip() for line in shown)]
