"""The tests of a user's models for CI systems: a test for each node, and perhaps an alert.

Of an upgrade, what counts is the change of a node and not its state on either target.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from maxpool_check.comparing.gate import Decision
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.reporting.items import Alert, Checks, Item, Log, Suite
from maxpool_check.reporting.model_view import explained_result

if TYPE_CHECKING:
    from maxpool_check.reporting.model_report import ModelReport

_PROFILE = "SONNX profile"
_RIGHT = ("", "conforms", Decision.SAFE.value, Decision.REVIEW.value)
"""What is no rule."""


def checks(report: "ModelReport") -> Checks:
    """A suite for each target, a test for each node; an alert for each that fails, or is wrong on special values alone."""
    suites: dict[str, list[Item]] = {}
    for suite, item in _items(report):
        suites.setdefault(suite, []).append(item)
    problems = [*report.run.problems]
    untested = [f"{each.node.node.name} on {each.target}: {each.summary}" for each in report.untested]
    every = [item for items in suites.values() for item in items]
    log = Log("model", report.record.header.tool, lambda: iter(every), {}, [*problems, *untested])
    return Checks([Suite(name, items.__iter__) for name, items in suites.items()], [log], problems)


def _items(report: "ModelReport") -> Iterator[tuple[str, Item]]:
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
                yield _item(_PROFILE, model, node, state, rule, message, "\n".join(broken))


def _of_target(
    report: "ModelReport", model: ModelAnalysis, node: NodeAnalysis, name: str, target: str
) -> tuple[str, Item]:
    result = report.results[target, name]
    state, value = "passed", result.state.value
    if value == "error":
        state = "error"
    elif result.state.fails:
        state = "failure"
    elif node.untested or value in ("not tested", "accepted"):
        state = "skipped"
    text = "\n".join(explained_result(result))
    seconds = sum(execution.seconds for execution in result.executions)
    rule = next(iter(result.names), value)
    return _item(result.target, model, node, state, rule, node.untested or result.summary, text, seconds)


def _of_upgrade(report: "ModelReport", model: ModelAnalysis, name: str, node: NodeAnalysis) -> tuple[str, Item]:
    assert report.upgrade is not None
    suite = f"{report.upgrade.base} to {report.upgrade.head}"
    gate = report.upgrade.nodes.get(name)
    if gate is None:
        return _item(suite, model, node, "skipped", "", node.untested or "nothing was compared", "")
    result = report.results[report.upgrade.head, name]
    # What is wrong on both changes nothing, and is to be seen all the same.
    rule = next(iter(result.names), result.state.value) if name in report.wrong_on_both else gate.decision.value
    message, text = f"{gate.decision.value} {report.reason(name)}", "\n".join(explained_result(result))
    seconds = sum(execution.seconds for execution in result.executions)
    state = "failure" if gate.decision is Decision.BLOCK else "passed"
    return _item(suite, model, node, state, rule, message, text, seconds)


def _item(
    suite: str, model: ModelAnalysis, node: NodeAnalysis, state: str, rule: str, message: str, text: str,
    seconds: float = 0.0,
) -> tuple[str, Item]:  # fmt: skip
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
        alert=alert if is_special or state in ("failure", "error") else None,
    )
