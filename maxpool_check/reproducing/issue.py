"""The text of an issue, as the maintainers of the project ask for it."""

from collections.abc import Iterable, Sequence

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.reporting.markup import bullets, code, codes, escaped, fenced, joined, link, table
from maxpool_check.reproducing.documents import Rule, linked, rule_of
from maxpool_check.reproducing.expectation import expectation
from maxpool_check.reproducing.forms import form_of
from maxpool_check.reproducing.inconsistency import words_of
from maxpool_check.reproducing.notes import DefectNote, OtherAnswer
from maxpool_check.reproducing.others import words
from maxpool_check.reproducing.reproduced import Fault, Reproduced
from maxpool_check.reproducing.sections import IssueText
from maxpool_check.reproducing.tables import compared, grid
from maxpool_check.reproducing.titles import operator_of, sentence_of
from maxpool_check.reproducing.writing import Script
from maxpool_check.results.outcomes import Crashed, RefusedByTarget, TimedOut
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import OPTIMIZATION_OFF, Variant
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.target import TargetProfile

_STEPS = (
    "`uv run repro.py` tests the release that the script pins. To test a build, or to bisect, install it and run "
    "`python repro.py`: the exit code is 1 while the defect is there, 0 once it is fixed, and 125 if that cannot be told, as "
    "`git bisect run` expects."
)


def issue(
    reproduced: Reproduced, profile: TargetProfile, script: Script, title: str, output: str, *,
    defect: DefectNote | None, also: Sequence[OtherAnswer],
) -> str:  # fmt: skip
    """The text of an issue; ``output`` is what the script printed, warnings of the runtime included."""
    form = form_of(profile)
    named = script.runtime.named if script.tool is None else f"{script.tool.title} {script.tool.version}"
    rule = rule_of(reproduced, profile, escaped(form.name))
    text = IssueText(
        problem=joined([rule.about, _problem(reproduced, named, rule, script), _nodes(reproduced)]),
        tables=_tensors(reproduced),
        rule=_rule(reproduced, rule),
        context=joined([_others(reproduced, named, also), _levels(reproduced), _cause(reproduced, defect), _versions(defect)]),
        steps=_STEPS,
        script=script.text,
        output=output,
        requirements=script.requirements,
    )  # fmt: skip
    sections = form.sections(text, profile)
    return joined([f"# {form.prefix}{escaped(title)}", *(f"### {name}\n\n{body}" for name, body in sections)]) + "\n"


def _problem(reproduced: Reproduced, named: str, rule: Rule, script: Script) -> str:
    """What happens, in a paragraph."""
    outcome, oracle, subject = reproduced.outcome, reproduced.oracle, escaped(named)
    what, document = _call(reproduced, script), escaped(rule.document.title)
    if isinstance(oracle, Refused):
        happens = f"{subject} {'executes' if reproduced.target.computes else 'accepts'} it"
        if isinstance(outcome, (Crashed, TimedOut)):
            happens = f"with {subject} {_death(outcome)}"
        return (
            f"{document} excludes {what}: {escaped(oracle.message)}. It should be refused with an error, but {happens}."
        )
    if reproduced.fault is not Fault.INCONSISTENT:
        what += f" ({' and '.join(reproduced.variant.outputs)} requested)"
    if isinstance(outcome, RefusedByTarget):
        message = fenced([f"{outcome.status}: {outcome.message}".strip()], "")
        return f"{subject} refuses {what}, which {document} allows:\n\n{message}"
    if isinstance(outcome, (Crashed, TimedOut)):
        return f"With {subject}, {_death(outcome)} when it executes {what}."
    if reproduced.fault is Fault.INCONSISTENT:
        first, second = words_of(reproduced.variant)
        return (
            f"{subject} gives two different results for {what}: {first}, and {second}. The result is to be a "
            f"function of the input and the attributes alone, whatever {document} leaves open."
        )
    sentences = [sentence_of(kind, reproduced) for kind in reproduced.kinds]
    happens = f"{subject} gives a wrong result for {what}"
    if len(sentences) == 1:
        return f"{happens}. {escaped(sentences[0])}."
    return f"{happens}:\n\n{bullets(f'{escaped(each)}.' for each in sentences)}"


def _call(reproduced: Reproduced, script: Script) -> str:
    """What is executed: the graph, the node with its attributes, or the call of a function."""
    M, operator = reproduced.case_run.case.entering, operator_of(reproduced)
    attributes = codes(f"{name}={value}" for name, value in reproduced.request.attributes.items())
    on_input = f" on {M.dtype.name} of shape `{list(M.shape)}`"
    if not script.runtime.takes_models:
        return f"{code(f'{operator}({script.runtime.arguments})')}{on_input}"
    node = f"`MaxPool`{f' with {attributes}' if attributes else ''}{on_input}"
    return f"a graph of {operator}, {node}" if reproduced.is_graph else node


def _death(outcome: Crashed | TimedOut) -> str:
    if isinstance(outcome, TimedOut):
        return f"there is no result within {outcome.seconds:g} s"
    is_signal = outcome.how.startswith("killed")
    return f"the process {'is ' if is_signal else ''}{escaped(outcome.how)}"


def _nodes(reproduced: Reproduced) -> str:
    context = reproduced.case_run.case.context
    if context.is_alone:
        return ""
    return joined([f"The graph, in operator set {context.opset}:", fenced(list(context.lines()), "")])


def _tensors(reproduced: Reproduced) -> str:
    """X, and the expected and actual outputs."""
    X = reproduced.request.X
    blocks = [grid("X", X)]
    if isinstance(reproduced.oracle, Refused):
        got = reproduced.returned()
        return joined([*blocks, *(grid(f"Got {name}", tensor) for name, tensor in got.items())])
    if reproduced.oracle.graph.context.before:
        blocks.append(grid("The tensor that enters MaxPool", reproduced.oracle.X))
    if reproduced.fault is Fault.INCONSISTENT:
        first, second = words_of(reproduced.variant)
        for words, variant in zip((first, second), reproduced.pair, strict=True):
            outputs = reproduced.returned(variant)
            blocks += [grid(words if words.startswith("Y") else f"Y, {words}", outputs["Y"])] if "Y" in outputs else []
        return joined(blocks)
    if not reproduced.target.computes:
        return (
            f"X has the dtype {X.dtype.name} and the shape `{list(X.shape)}`. {escaped(reproduced.judgement.message)}."
        )
    expected, got = expectation(reproduced), reproduced.returned()
    is_signed = DivergenceKind.Y_SIGNED_ZERO in reproduced.kinds
    for name, value in expected.values.items():
        blocks.append(compared(name, value, expected.allowed[name], got.get(name), is_signed=is_signed))
    return joined(blocks)


def _rule(reproduced: Reproduced, rule: Rule) -> str:
    """The clauses that it rests on, with the document."""
    oracle, document = reproduced.oracle, linked(rule.document)
    if isinstance(oracle, Refused):
        clause = escaped(oracle.clause).replace(escaped(rule.document.title), document)
        return f"The rule: {escaped(oracle.message)} ({clause if document in clause else f'{clause}; {document}'})."
    if reproduced.fault is Fault.INCONSISTENT:
        return f"Document: {document}."
    kinds = [kind for kind in reproduced.kinds if DESCRIPTIONS[kind].group is not KindGroup.DEPENDENCE]
    clauses = dict.fromkeys(_clause(kind, reproduced) for kind in kinds)
    allowed = f" A refusal would be right as well: {escaped(reproduced.refusable)}." if reproduced.refusable else ""
    if reproduced.fault is Fault.REFUSED:
        return f"{document} allows the graph: it meets all constraints on attributes, types and shapes."
    if all(DESCRIPTIONS[kind].group is KindGroup.GRAPH for kind in kinds) or reproduced.dies:
        # It is not for the document of an operator to say so.
        return f"{'; '.join(map(escaped, clauses))}. The operator is that of {document}.{allowed}"
    return f"The rule in short ({document}): {'; '.join(map(escaped, clauses))}.{_legend(clauses)}{allowed}"


def _clause(kind: DivergenceKind, reproduced: Reproduced) -> str:
    """The clause of a kind, without the rules of a document that the case is not of."""
    clause = DESCRIPTIONS[kind].clause
    if clause.startswith("SONNX:") and not reproduced.case_run.case.spec.startswith("sonnx"):
        return "The document does not define what a NaN gives, but no rule for NaN gives all of these values"
    return clause


def _legend(clauses: Iterable[str]) -> str:
    """What the letters of a formula are."""
    if not any("ceil(n / s)" in clause or "n + b + e" in clause for clause in clauses):
        return ""
    return (
        " Here n is the size of the input, o that of the output, k the kernel, s the stride, d the dilation, b and e the pads, "
        "and K = (k - 1) * d + 1."
    )


def _others(reproduced: Reproduced, named: str, also: Sequence[OtherAnswer]) -> str:
    if not also:
        return ""
    right = {True: "as expected", False: "not as expected", None: "the document does not decide"}
    if reproduced.fault is Fault.INCONSISTENT:
        own = " and ".join(words_of(reproduced.variant)) + " differ"
    else:
        own = words(reproduced.outcome, reproduced.variant)
    mine = [escaped(named), code(own), right[False]]
    rows = [[escaped(each.runtime), code(each.answer), right[each.is_right]] for each in also]
    return joined(["The same input and attributes elsewhere:", table(["runtime", "result", ""], [mine, *rows])])


def _levels(reproduced: Reproduced) -> str:
    """Whether a graph is right without optimization."""
    variant = reproduced.variant
    unoptimized = reproduced.case_run.judgements.get(Variant(variant.outputs, OPTIMIZATION_OFF))
    if unoptimized is None or variant.variation is OPTIMIZATION_OFF:
        return ""
    is_right = unoptimized.verdict is Verdict.CONFORMS
    return f"Without graph optimization (`ORT_DISABLE_ALL`) the outputs are {'right' if is_right else 'wrong, too'}."


def _cause(reproduced: Reproduced, defect: DefectNote | None) -> str:
    """The suspected cause: that of the catalogue, or a mistake with which the whole result can be computed."""
    if defect is not None and defect.mechanism:
        known = f"How this is known: {defect.established.strip()}" if defect.established else ""
        return joined([f"Suspected cause: {defect.mechanism.strip()}", known])
    proven = [DESCRIPTIONS[kind].hypothesis for kind in reproduced.kinds]
    mistakes = [each for each in proven if each is not None]
    if len(mistakes) != 1 or len(proven) != 1:
        return ""
    return f"Suspected cause: the result is, in every cell, that of {escaped(mistakes[0])}."


def _versions(defect: DefectNote | None) -> str:
    lines = []
    if defect is not None and defect.versions:
        lines.append(f"Versions that show it: {escaped(defect.versions)}.")
    if defect is not None and defect.upstream_issue:
        state = f" ({escaped(defect.upstream_state)})" if defect.upstream_state else ""
        lines.append(f"Related: {link(defect.upstream_issue)}{state}.")
    return " ".join(lines)
