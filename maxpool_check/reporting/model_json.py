"""The tests of a user's models as one JSON document."""

from typing import Any, TextIO

from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.reporting.json import result_data, target_data, write_object
from maxpool_check.reporting.model_report import ModelReport, NodeResult

SCHEMA = "maxpool-check/model/1"


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
        about = {"path": str(made.path), "sha256": made.sha256, "complete": made.is_complete, "nodes": nodes}
        about |= {"disabled_optimizers": list(made.optimizers), "executions_in_the_model": made.in_place}
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
