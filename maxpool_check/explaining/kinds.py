"""The kinds of divergence explained: a list, one kind with its example, a page of all."""

from maxpool_check.judging.examples import Example, example_of
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.reporting.markup import fenced, joined
from maxpool_check.reporting.tensors import described
from maxpool_check.results.outcomes import Crashed, RefusedByTarget, Returned, TimedOut

_INTRODUCTION = """\
Each kind is decided from X, the attributes, the expected and the actual outputs. A mistake in all outputs is found
by computing with it: it is named only if the result is the actual one in every cell. Tests check that the judge
finds in each example exactly the kind above it. `maxpool-check explain --format markdown` writes this page."""


def listed() -> str:
    """All kinds, a line each."""
    width = max(len(kind.value) for kind in DivergenceKind)
    blocks = [
        "\n".join([heading, *(f"  {kind.value:{width}}  {DESCRIPTIONS[kind].sentence}" for kind in kinds)])
        for heading, kinds in _grouped()
    ]
    return joined([*blocks, "maxpool-check explain KIND shows an example."]) + "\n"


def explained(kind: DivergenceKind) -> str:
    """One kind: the sentence, the clause, and an example."""
    about = DESCRIPTIONS[kind]
    lines = [kind.value, f"  {about.sentence}", f"  Clause: {about.clause}."]
    if about.hypothesis:
        lines.append(f"  Found by computing with the mistake: the result equals {about.hypothesis} in every cell.")
    return "\n".join([*lines, "", "Example", *(f"  {line}" for line in _example(example_of(kind))), ""])


def page() -> str:
    """All kinds with their examples, in Markdown."""
    blocks = ["# The kinds of divergence", _INTRODUCTION]
    for heading, kinds in _grouped():
        blocks.append(f"## {heading}")
        for kind in kinds:
            about = DESCRIPTIONS[kind]
            blocks += [f"### `{kind.value}`", about.sentence, f"Clause: {about.clause}."]
            blocks.append(f"Found if the result equals {about.hypothesis}." if about.hypothesis else "")
            blocks.append(fenced(_example(example_of(kind))))
    return joined(blocks) + "\n"


def _grouped() -> list[tuple[str, list[DivergenceKind]]]:
    return [
        (group.value, [kind for kind, description in DESCRIPTIONS.items() if description.group is group])
        for group in KindGroup
    ]


def _example(example: Example) -> list[str]:
    oracle, variant = example.oracle, example.variant
    graph = example.graph
    settings = ", ".join(f"{name}={value}" for name, value in graph.attributes.items())
    interpretations = "".join(f"  {point}: {interpretation}" for point, interpretation in example.policies.items())
    lines = [f"{graph.document.name}, {variant.name}: {settings}{interpretations}", *described("X", graph.X)]
    if not graph.context.is_alone:
        lines += [f"Graph: {', '.join(['X', *graph.context.lines()])}"]
    if isinstance(oracle, GraphOracle):
        for name in variant.outputs:
            lines += described(f"Expected {name}", oracle.expected[name])
    else:
        lines.append(f"Expected: a refusal: {oracle.message}")
    if example.base is not None:
        base = variant.base.name if variant.variation else "indices"
        for name in variant.outputs:
            lines += described(f"{name} of {base}", example.base[name])
    return [*lines, *_actual(example)]


def _actual(example: Example) -> list[str]:
    """The result of the runtime."""
    lines: list[str] = []
    match example.actual:
        case Returned(outputs):
            for name, value in outputs.items():
                lines += described(f"Actual {name}", value)
            lines += [f"{name} missing" for name in example.variant.outputs if name not in outputs]
        case RefusedByTarget(status, message):
            lines.append(f"Actual: refused, {status}: {message}")
        case Crashed(how, _):
            lines.append(f"Actual: the process was {how}")
        case TimedOut(seconds):
            lines.append(f"Actual: no result within {seconds:g} s")
    return lines
