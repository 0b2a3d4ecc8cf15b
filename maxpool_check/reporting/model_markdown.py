"""The tests of a user's models in Markdown: the nodes in a table, what is wrong with each, and what SONNX says of them."""

from collections.abc import Iterator
from typing import TextIO

from maxpool_check.models.analysis import ModelAnalysis
from maxpool_check.reporting.markdown import software
from maxpool_check.reporting.markdown_execution import execution_blocks, input_blocks
from maxpool_check.reporting.markup import bullets, code, codes, escaped, fenced, joined, link, table
from maxpool_check.reporting.model_report import ModelReport
from maxpool_check.reporting.model_words import attributes, between, input_type, profile_of, seen, shortened, state_of


def write(report: ModelReport, file: TextIO) -> None:
    """Write the whole report."""
    file.write(joined([*_summary(report), *_findings(report), *_others(report)]) + "\n")


def write_github(report: ModelReport, file: TextIO) -> None:
    """Write the summary for the page of a workflow: the nodes, and what fails, shortly."""
    blocks = list(_summary(report))
    for finding in report.run.unexpected:
        name = finding.defect.id if finding.defect is not None else ", ".join(finding.kinds)
        blocks += [
            f"### {escaped(name)} on {escaped(finding.target)}",
            escaped(finding.title),
            fenced(shortened(finding.smallest)),
        ]
    if report.checks_profile:
        blocks += _profile(report)
    file.write(joined([*blocks, *_outputs(report)]) + "\n")


def _summary(report: ModelReport) -> Iterator[str]:
    label, text = report.result
    names = ", ".join(model.model.path.name for model in report.models)
    yield f"# MaxPool in {escaped(names)}"
    yield f"**{escaped(label)}** {escaped(text)}."
    targets = [f"{code(target.name)}: {software(target)}" for target in report.record.header.targets]
    yield bullets([*targets, *map(escaped, report.run.problems)])
    for model in report.models:
        yield f"## {escaped(model.model.path.name)}"
        yield escaped(f"Operator set {model.model.opset}, SHA-256 {model.model.sha256}.")
        why = [
            f"not run as a model on {target}: {why}"
            for (target, name), why in report.test.not_in_place.items()
            if name == model.model.name
        ]
        yield bullets(map(escaped, [*model.notes, *why]))
        yield _table(report, model)


def _table(report: ModelReport, model: ModelAnalysis) -> str:
    headings = ["node", "MaxPool", "between", "input", "SONNX", *map(code, report.targets)]
    headings += ["decision"] if report.upgrade is not None else []
    rows = []
    for name, node in model.by_id.items():
        results = [report.results[target, name] for target in report.targets]
        states = [
            escaped(each.node.untested if each.node.untested and not each.node.excluded else each.summary)
            for each in results
        ]
        decision = []
        if report.upgrade is not None:
            made = report.upgrade.nodes.get(name)
            decision = ["" if made is None else f"**{made.decision.value}** {escaped(report.reason(name))}"]
        where = "" if node.node.where == "main graph" else f" ({escaped(node.node.where)})"
        columns = (attributes(node), between(node).replace("|", "/"), input_type(node), profile_of(node))
        rows.append([code(node.node.name) + where, *map(escaped, columns), *states, *decision])
    return table(headings, rows)


def _findings(report: ModelReport) -> Iterator[str]:
    """What is wrong, also on special values alone: the defect, and the smallest execution that shows it."""
    findings = [*report.run.unexpected, *(each for each in report.run.findings if each.is_special)]
    if findings:
        yield "## What is wrong"
    for finding in findings:
        name = code(finding.defect.id) if finding.defect is not None else codes(finding.kinds)
        label = "special values alone" if finding.is_special else state_of(finding).value
        yield f"### {label}: {name} on {escaped(finding.target)}"
        yield f"{escaped(finding.title)}. {escaped(seen(finding))}"
        if finding.defect is not None:
            issue = f" Upstream: {link(finding.defect.issue)}." if finding.defect.issue else ""
            yield f"{escaped(' '.join(finding.defect.reason.split()))}{issue}"
        yield f"The smallest is {code(finding.smallest.case)}: {escaped(finding.smallest.title)}"
        yield from input_blocks(finding.smallest)
        yield from execution_blocks(finding.smallest)


def _others(report: ModelReport) -> Iterator[str]:
    rows = []
    for (target, _), result in report.results.items():
        for reach in result.unseen:
            rows.append(
                [
                    code(result.node.node.name),
                    code(target),
                    code(reach.defect.id),
                    escaped(reach.needs or "any"),
                    escaped(reach.defect.title),
                ]
            )
    if rows:
        yield "## Known defects that can reach a node, not seen with the values tested"
        yield table(["node", "target", "defect", "needs", "title"], rows)
    yield from _profile(report)
    points = [
        f"{code(node.node.name)}: {escaped(each)}"
        for model in report.models
        for node in model.nodes
        for each in node.open_points
    ]
    if points:
        yield "## Open in ONNX's text"
        yield bullets(points)
    yield from _outputs(report)


def _profile(report: ModelReport) -> Iterator[str]:
    profile = [
        [code(node.node.name), escaped(each.clause), escaped(each.message), escaped(each.fix)]
        for model in report.models
        for node in model.nodes
        for each in node.profile
    ]
    if profile:
        yield "## Outside SONNX's profile"
        yield table(["node", "clause", "what is so", "what would fix it"], profile)


def _outputs(report: ModelReport) -> Iterator[str]:
    if report.upgrade is not None and report.upgrade.outputs:
        yield "## Outputs of the models, base against head"
        yield "No verdict: other nodes than MaxPool compute them, too."
        yield bullets(escaped(f"{each.model}: {each}") for each in report.upgrade.outputs)
