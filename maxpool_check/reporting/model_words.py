"""Nodes of models and what is wrong with them, in words, for every form of report."""

import re
from collections import defaultdict
from collections.abc import Iterable

from maxpool_check.models.analysis import NodeAnalysis
from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.model_report import NodeResult, NodeState
from maxpool_check.reporting.text import details
from maxpool_check.results.record import Execution, Verdict
from maxpool_check.words import plural

_MOST_CELLS = 2
"""The wrong cells that are shown of an execution."""

_LONGEST = 60
"""The longest name of a node that is shown in full."""

_NEAREST = 2
"""The operators that are shown on each side of a node."""

_HOW = {"alone": "alone", "graph": "with the nodes around it", "in-place": "in the model, on what flows there"}


def attributes(node: NodeAnalysis) -> str:
    """The attributes that are not the defaults, shortly: ``3x3, strides 2x2, pads 0x0x1x1``."""
    written = node.node.attributes
    parts = [node.node.op] if node.node.op != "MaxPool" else []
    for name, value in sorted(written.items(), key=lambda item: item[0] != "kernel_shape"):
        text = "x".join(map(str, value)) if isinstance(value, list) else str(value)
        usual = {"strides": 1, "dilations": 1, "pads": 0}.get(name)
        if name == "kernel_shape":
            parts.append(text)
        elif not (isinstance(value, list) and set(value) <= {usual}) and value not in ("NOTSET", 0):
            parts.append(f"{name} {text}")
    return ", ".join(parts)


def between(node: NodeAnalysis) -> str:
    """The operators on both sides, in the order of the graph: ``Conv, Pad | Relu``."""
    ahead, behind = node.around.ahead, node.around.behind
    before = ", ".join([*(["..."] if len(ahead) > _NEAREST else []), *reversed(ahead[:_NEAREST])])
    after = ", ".join([*behind[:_NEAREST], *(["..."] if len(behind) > _NEAREST else [])])
    return f"{before or '-'} | {after or '-'}"


def input_type(node: NodeAnalysis) -> str:
    """The type of the input at the sizes to test, those that the model leaves open marked by ``*``."""
    declared, tested = node.node.declared, node.node.tested
    if node.node.is_assumed or declared is None or declared.sizes is None or tested.sizes is None:
        return f"{tested}, assumed" if node.node.is_assumed else str(tested)
    sizes = [
        str(size) if known == size else f"{size}*" for known, size in zip(declared.sizes, tested.sizes, strict=False)
    ]
    return f"{tested.dtype} [{', '.join(sizes)}]"


def profile_of(node: NodeAnalysis) -> str:
    """The short names of the conditions of SONNX that it breaks."""
    if node.maker is None:
        return "-"
    return ", ".join(dict.fromkeys(each.short for each in node.profile)) or "inside"


def state_of(finding: Finding) -> NodeState:
    """The state of the nodes that a finding is about."""
    verdict = finding.smallest.verdict.value
    return {"refuses": NodeState.REFUSED, "crashes": NodeState.CRASHES, "times-out": NodeState.CRASHES}.get(
        verdict, NodeState.WRONG
    )


def seen(finding: Finding) -> str:
    """How and with which values a finding was seen."""
    by_how: dict[str, dict[str, None]] = defaultdict(dict)
    for case in finding.cases:
        _, how, values = case.rsplit("/", 2)
        by_how[how][values] = None
    parts = [_HOW[how] + (f" ({', '.join(values)})" if how != "in-place" else "") for how, values in by_how.items()]
    levels = sorted({level(execution.variant) for execution in finding.executions})
    return f"Seen {'; '.join(parts)}, with optimization {', '.join(levels)}."


def right_at(finding: Finding, executions: Iterable[Execution]) -> str:
    """The levels of optimization at which the cases of a finding conform, in a sentence; empty if there are none.

    ``executions`` are those of its target.
    """
    cases = set(finding.cases)
    right = {level(each.variant) for each in executions if each.case in cases and each.verdict is Verdict.CONFORMS}
    right -= {level(each.variant) for each in finding.executions}
    return f"Right with optimization {', '.join(sorted(right))}." if right else ""


def level(variant: str) -> str:
    """The level of optimization of a variant, by its name."""
    return variant.partition("optimization-")[2] or "default"


def example(finding: Finding) -> Execution:
    """The execution to show: one with the values that flow in the model, if there is one."""
    return next((each for each in finding.executions if "/in-place/" in each.case), finding.smallest)


def shortened(execution: Execution) -> list[str]:
    """The details of an execution without X, which is large, and with a few of the wrong cells."""
    lines = details(execution)
    cells = [line for line in lines if ": expected " in line][:_MOST_CELLS]
    total = sum(execution.counts.values())
    more = [f"... {plural(total, 'wrong cell')} in total"] if total > len(cells) else []
    head = [f"{execution.case} ({execution.variant})"]
    nodes = execution.input.graph if execution.input is not None else ()
    # The others say how the model presents X.
    nodes = tuple(node for node in nodes if not re.match("(shape|inside|X): ", node))
    graph = [" > ".join(["X", *nodes])] if nodes else []
    return [*head, *graph, *(cells or [" ".join(execution.message.split())]), *more]


def explained_result(result: NodeResult) -> list[str]:
    """Why a node fails: each finding with its title and the smallest execution that shows it."""
    lines = []
    for finding in result.findings:
        if finding.is_unexpected:
            name = finding.defect.id if finding.defect is not None else ", ".join(finding.kinds)
            lines += [
                f"{state_of(finding).value}  {name}  {result.node.node.name} on {result.target} ({finding.severity.value})",
                f"  {finding.title}",
            ]
            lines += [f"  {seen(finding)}", *(f"    {line}" for line in shortened(example(finding))), ""]
    errors = [execution.message for execution in result.executions if execution.verdict is Verdict.ERROR]
    return [*lines, *errors[:1]]


def cut(name: str) -> str:
    """A name of foreign length, without its middle where it is long."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}...{name[-_LONGEST // 2 :]}"
