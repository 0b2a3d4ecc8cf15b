"""The tests of a user's models for CI systems: a test for each node, and perhaps an alert.

Of an upgrade, what counts is the change of a node and not its state on either target.
"""

import shlex
from collections.abc import Iterator, Sequence

from maxpool_check.comparing.gate import Decision
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.reporting import github
from maxpool_check.reporting.changes import accept_command
from maxpool_check.reporting.items import Alert, Checks, Item, Log, Suite
from maxpool_check.reporting.model_report import ModelReport, NodeResult
from maxpool_check.reporting.model_view import explained_result
from maxpool_check.words import shortened

_RIGHT = ("", "conforms", Decision.SAFE.value, Decision.REVIEW.value)
"""What is no rule."""


def checks(report: ModelReport) -> Checks:
    """A suite for each target, a test for each node; an alert for each that fails, or is wrong on special values alone."""
    suites: dict[str, list[Item]] = {}
    for suite, item in _items(report):
        suites.setdefault(suite, []).append(item)
    problems = [*report.run.problems]
    untested = [f"{each.node.node.name} on {each.target}: {each.summary}" for each in report.untested]
    every = [item for items in suites.values() for item in items]
    log = Log("model", report.record.header.tool, lambda: iter(every), {}, [*problems, *untested])
    return Checks([Suite(name, items.__iter__) for name, items in suites.items()], [log], problems)


def _items(report: ModelReport) -> Iterator[tuple[str, Item]]:
    """Each item with the name of its suite."""
    for model in report.models:
        for name, node in model.by_id.items():
            if report.upgrade is not None:
                yield _of_upgrade(report, model, name, node)
            else:
                for target in report.targets:
                    yield _of_target(report, model, node, name, target)
            if report.checks_profile and node.maker is not None:
                broken = [f"{each.clause}: {each.message}; fix: {each.fix}" for each in node.profile]
                message = f"outside SONNX's profile: {', '.join(each.short for each in node.profile)}"
                state, rule = ("failure", "outside-profile") if broken else ("passed", "")
                yield _item("SONNX profile", model, node, state, rule, message, "\n".join(broken))


def _of_target(
    report: ModelReport, model: ModelAnalysis, node: NodeAnalysis, name: str, target: str
) -> tuple[str, Item]:
    result = report.results[target, name]
    state, value = "passed", result.state.value
    if value == "error":
        state = "error"
    elif result.state.fails:
        state = "failure"
    elif node.untested or value in ("not tested", "accepted"):
        state = "skipped"
    rule = next(iter(result.names), value)
    fix = _fix(report, str(model.model.path), result)
    return _item(result.target, model, node, state, rule, node.untested or result.summary, result, fix)


def _of_upgrade(report: ModelReport, model: ModelAnalysis, name: str, node: NodeAnalysis) -> tuple[str, Item]:
    assert report.upgrade is not None
    suite = f"{report.upgrade.base} to {report.upgrade.head}"
    gate = report.upgrade.nodes.get(name)
    if gate is None:
        return _item(suite, model, node, "skipped", "", node.untested or "nothing was compared")
    result = report.results[report.upgrade.head, name]
    # What is wrong on both changes nothing, and is to be seen all the same.
    rule = next(iter(result.names), result.state.value) if name in report.wrong_on_both else gate.decision.value
    state = "failure" if gate.decision is Decision.BLOCK else "passed"
    fix = _fix(report, str(model.model.path), result)
    return _item(suite, model, node, state, rule, f"{gate.decision.value} {report.reason(name)}", result, fix)


def _item(
    suite: str, model: ModelAnalysis, node: NodeAnalysis, state: str, rule: str, message: str,
    about: NodeResult | str = "", fix: Sequence[str] = (),
) -> tuple[str, Item]:  # fmt: skip
    """An item with the name of its suite; ``about`` is the result on the node, which has a ``fix``, or the text of the item."""
    text = about if isinstance(about, str) else "\n".join([*explained_result(about), *fix])
    seconds = 0.0 if isinstance(about, str) else sum(execution.seconds for execution in about.executions)
    path, name, is_special = str(model.model.path), node.node.name, state == "passed" and rule not in _RIGHT

    def alert() -> Alert:
        lines = filter(None, [f"{name} ({suite}): {message}", text])
        names, properties = (name, f"{model.model.name}:{name}"), {"suite": suite, "where": node.node.where}
        level = "note" if is_special else "error"
        return Alert(rule, level, "\n".join(lines), (suite, model.model.name, name), properties, names)

    return suite, Item(
        path,
        name,
        f"{path}:0",
        state,
        rule,
        message,
        text=lambda: text,
        output=lambda: f"{message}\n{text}" if state == "passed" and text else "",
        seconds=seconds,
        alerts=lambda: [alert()] if is_special or state in ("failure", "error") else [],
    )


def _fix(report: ModelReport, path: str, result: NodeResult) -> list[str]:
    """What can be done about a node that fails, in lines: repair its model, or accept what is wrong."""
    faults = [each for each in result.faults if each.is_unexpected]
    strict = ["--strict"] * report.record.header.effective_settings.strict
    repair = ["maxpool-check", "model", path, "-t", result.target, *report.inputs.get(path, ()), *strict]
    is_repairable = any(each.defect is not None and each.defect.remedy for each in faults)
    lines = [f"repair: {shlex.join([*repair, '--repair', 'repaired.onnx'])}"] if is_repairable else []
    return [*lines, *([f"accept: {accept_command([report.written])}"] if faults else [])]


def annotations(report: ModelReport) -> list[github.Annotation]:
    """An error at the file of the model for each node that fails on a target, or whose upgrade blocks, and other problems.

    Of a model that was repaired, no node is one.
    """
    found = []
    for suite, item in _items(report) if report.exit_code else ():
        if item.state in ("failure", "error"):
            title = shortened(f"{item.kind}: {item.name} on {suite}")
            found.append(github.Annotation(title, [item.message, *item.text().splitlines()], item.origin))
    return [*found, *(github.Annotation("incomplete", [problem]) for problem in report.run.problems)]
