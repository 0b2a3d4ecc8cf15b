"""The tests of a user's models as one JSON document."""

from typing import Any, TextIO

from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.reporting.json import result_data, target_data, write_object
from maxpool_check.reporting.model_report import ModelReport, NodeResult

SCHEMA = "maxpool-check/model/1"


def write(report: ModelReport, file: TextIO) -> None:
    """Write the document: the models with their nodes, and every execution."""
    label, text = report.result
    upgrade = report.upgrade
    document = {
        "schema": SCHEMA,
        "exit_code": report.exit_code,
        "result": label,
        "message": text,
        "targets": [target_data(target) for target in report.record.header.targets],
        "models": [_model(report, model) for model in report.models],
        **({} if upgrade is None else {"upgrade": {
            "base": upgrade.base, "head": upgrade.head, "decision": upgrade.decision,
            "wrong_on_both": list(report.wrong_on_both),
            "outputs": [vars(each) for each in upgrade.outputs],
        }}),
        "results": map(result_data, report.record.executions),
        "errors": [{"message": message} for message in report.run.problems],
    }  # fmt: skip
    write_object(file, document)
    file.write("\n")


def _model(report: ModelReport, model: ModelAnalysis) -> dict[str, Any]:
    not_run = {target: why for (target, name), why in report.test.not_in_place.items() if name == model.model.name}
    return {
        "path": str(model.model.path),
        "sha256": model.model.sha256,
        "opset": model.model.opset,
        "notes": model.notes,
        "not_run_as_a_model": not_run,
        "nodes": [_node(report, name, node) for name, node in model.by_id.items()],
    }


def _node(report: ModelReport, name: str, node: NodeAnalysis) -> dict[str, Any]:
    of = node.node
    decision = report.upgrade.nodes.get(name) if report.upgrade is not None else None
    return {
        "name": of.name,
        "id": name,
        "op": of.op,
        "domain": of.proto.domain,
        "where": of.where,
        "opset": of.opset,
        "document": node.maker.document.name if node.maker is not None else None,
        "attributes": dict(of.attributes),
        "input": _type(of.declared),
        "tested_input": {**_type(of.tested), "assumed": of.is_assumed},
        "uses_indices": of.indices is not None,
        "before": list(reversed(node.around.ahead)),
        "after": list(node.around.behind),
        "rewrites": list(node.around.rewrites),
        "profile": [{"clause": each.clause, "message": each.message, "fix": each.fix} for each in node.profile],
        "open_points": list(node.open_points),
        "untested": node.untested,
        "targets": {target: _result(report.results[target, name]) for target in report.targets},
        **({"decision": decision.decision, "reason": report.reason(name)} if decision is not None else {}),
    }


def _type(of: Any) -> dict[str, Any]:
    return {} if of is None else {"dtype": of.dtype, "shape": None if of.sizes is None else list(of.sizes)}


def _result(result: NodeResult) -> dict[str, Any]:
    reach = [each for each in result.reach if each in result.unseen or each.defect.id in result.seen]
    return {
        "state": "untested" if result.node.untested else result.state.value,
        "defects": result.names,
        "wrong_on": result.special,
        "can_reach": [
            {
                "defect": each.defect.id,
                "severity": each.defect.severity.value,
                "title": each.defect.title,
                "needs": each.needs,
                "seen": each not in result.unseen,
            }
            for each in reach
        ],
    }
