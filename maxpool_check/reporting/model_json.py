"""The tests of a user's models as one JSON document, and for CI systems: a test for each node, and perhaps an alert.

Of an upgrade, what counts for CI systems is the change of a node and not its state on either target.
"""

from collections.abc import Iterator
from typing import Any, TextIO

from maxpool_check.comparing.gate import Decision
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.reporting.items import Alert, Checks, Item, Log, Suite
from maxpool_check.reporting.json import result_data, target_data, write_object
from maxpool_check.reporting.model_report import ModelReport, NodeResult
from maxpool_check.reporting.model_view import explained_result

SCHEMA = "maxpool-check/model/1"

_RIGHT = ("", "conforms", Decision.SAFE.value, Decision.REVIEW.value)
"""What is no rule."""


def write(report: ModelReport, file: TextIO) -> None:
    """Write the document: the models with their nodes, and every execution."""
    (label, text), upgrade = report.result, report.upgrade
    document: dict[str, Any] = {"schema": SCHEMA, "exit_code": report.exit_code, "result": label, "message": text}
    document["targets"] = [target_data(target) for target in report.record.header.targets]
    document["models"] = [_model(report, model) for model in report.models]
    if upgrade is not None:
        sides = {"base": upgrade.base, "head": upgrade.head, "decision": upgrade.decision}
        outputs = [vars(each) for each in upgrade.outputs]
        document["upgrade"] = {**sides, "wrong_on_both": list(report.wrong_on_both), "outputs": outputs}
    if (made := report.repair) is not None:
        proved = [{"target": target, **vars(each)} for target, each in made.outputs]
        nodes = [vars(each) for each in made.nodes]
        about: dict[str, Any] = {
            "path": None if made.path is None else str(made.path),
            "sha256": made.sha256,
            "complete": made.is_complete,
            "nodes": nodes,
        }
        about |= {"disabled_optimizers": list(made.optimizers), "session": made.lines(report.models[0].model.path.name)}
        about |= {"executions_in_the_model": made.in_place}
        document["repair"] = {**about, "outputs": proved, "problems": list(made.problems)}
    document["results"] = map(result_data, report.record.executions)
    document["errors"] = [{"message": message} for message in report.run.problems]
    write_object(file, document)
    file.write("\n")


def _model(report: ModelReport, model: ModelAnalysis) -> dict[str, Any]:
    of, not_in_place = model.model, report.test.not_in_place
    about = {"path": str(of.path), "sha256": of.sha256, "opset": of.opset, "notes": model.notes}
    not_run = {target: why for (target, name), why in not_in_place.items() if name == of.name}
    nodes = [_node(report, name, node) for name, node in model.by_id.items()]
    return {**about, "not_run_as_a_model": not_run, "nodes": nodes}


def _node(report: ModelReport, name: str, node: NodeAnalysis) -> dict[str, Any]:
    of, around = node.node, node.around
    decision = report.upgrade.nodes.get(name) if report.upgrade is not None else None
    members: dict[str, Any] = {
        "name": of.name,
        "id": name,
        "op": of.op,
        "domain": of.proto.domain,
        "where": of.where,
        "opset": of.opset,
    }
    members["document"] = node.maker.document.name if node.maker is not None else None
    members |= {"attributes": dict(of.attributes), "input": _type(of.declared)}
    members["tested_input"] = {**_type(of.tested), "assumed": of.is_assumed}
    members |= {"uses_indices": of.indices is not None, "before": list(reversed(around.ahead))}
    members |= {"after": list(around.behind), "rewrites": list(around.rewrites)}
    members["profile"] = [{"clause": each.clause, "message": each.message, "fix": each.fix} for each in node.profile]
    members |= {"open_points": list(node.open_points), "untested": node.untested}
    members["targets"] = {target: _result(report.results[target, name]) for target in report.targets}
    return members | ({} if decision is None else {"decision": decision.decision, "reason": report.reason(name)})


def _type(of: Any) -> dict[str, Any]:
    return {} if of is None else {"dtype": of.dtype, "shape": None if of.sizes is None else list(of.sizes)}


def _result(result: NodeResult) -> dict[str, Any]:
    state, reaches = "untested" if result.node.untested else result.state.value, []
    for each in result.reach:
        if each in result.unseen or each.defect.id in result.seen:
            about = {"defect": each.defect.id, "severity": each.defect.severity.value, "title": each.defect.title}
            reaches.append({**about, "needs": each.needs, "seen": each not in result.unseen})
    return {"state": state, "defects": result.names, "wrong_on": result.special, "can_reach": reaches}


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
    return _item(result.target, model, node, state, rule, node.untested or result.summary, result)


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
    return _item(suite, model, node, state, rule, f"{gate.decision.value} {report.reason(name)}", result)


def _item(
    suite: str, model: ModelAnalysis, node: NodeAnalysis, state: str, rule: str, message: str,
    about: NodeResult | str = "",
) -> tuple[str, Item]:  # fmt: skip
    """An item with the name of its suite; ``about`` is the result on the node, or the text of the item."""
    text = about if isinstance(about, str) else "\n".join(explained_result(about))
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
        alert=alert if is_special or state in ("failure", "error") else None,
    )
