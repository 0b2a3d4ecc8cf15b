"""The tests of a user's models for continuous integration: JUnit and SARIF, a test or a result for each node.

Of an upgrade, what counts is the change of a node and not its state on either target.
"""

import hashlib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from urllib.parse import quote

from maxpool_check.comparing.gate import Decision
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.reporting.json import write_object
from maxpool_check.reporting.junit import element, start
from maxpool_check.reporting.model_report import ModelReport, NodeResult, NodeState
from maxpool_check.reporting.model_view import explained_result
from maxpool_check.reporting.sarif import SCHEMA

_PROFILE = "SONNX profile"


class _Test(NamedTuple):
    """A test of a node: in which suite, its result (``passed``, ``failure``, ``error`` or ``skipped``), and why.

    ``seconds`` is the time of its executions.
    """

    suite: str
    model: ModelAnalysis
    node: NodeAnalysis
    result: str
    rule: str
    message: str
    text: str
    seconds: float = 0.0


def _tests(report: ModelReport) -> Iterator[_Test]:
    for model in report.models:
        for name, node in model.by_id.items():
            if report.upgrade is not None:
                yield _of_upgrade(report, model, name, node)
            else:
                for target in report.targets:
                    yield _of_target(report, model, node, report.results[target, name])
            if report.checks_profile and node.maker is not None:
                broken = [f"{each.clause}: {each.message}; fix: {each.fix}" for each in node.profile]
                result, rule = ("failure", "outside-profile") if broken else ("passed", "")
                message = f"outside SONNX's profile: {', '.join(each.short for each in node.profile)}"
                yield _Test(_PROFILE, model, node, result, rule, message, "\n".join(broken))


def _of_target(report: ModelReport, model: ModelAnalysis, node: NodeAnalysis, result: NodeResult) -> _Test:
    outcome = "passed"
    if result.state is NodeState.ERROR:
        outcome = "error"
    elif result.state.fails:
        outcome = "failure"
    elif node.untested or result.state in (NodeState.NOT_TESTED, NodeState.ACCEPTED):
        outcome = "skipped"
    versions = [f"{name}: {report.test.versions[name]}" for name in result.names if name in report.test.versions]
    text = "\n".join([*explained_result(result), *versions])
    message = node.untested or result.summary
    rule = next(iter(result.names), result.state.value)
    return _Test(result.target, model, node, outcome, rule, message, text, _seconds(result))


def _of_upgrade(report: ModelReport, model: ModelAnalysis, name: str, node: NodeAnalysis) -> _Test:
    assert report.upgrade is not None
    suite = f"{report.upgrade.base} to {report.upgrade.head}"
    made = report.upgrade.nodes.get(name)
    if made is None:
        return _Test(suite, model, node, "skipped", "", node.untested or "nothing was compared", "")
    outcome = "failure" if made.decision is Decision.BLOCK else "passed"
    result = report.results[report.upgrade.head, name]
    # What is wrong on both changes nothing, and is to be seen all the same.
    rule = next(iter(result.names), result.state.value) if name in report.wrong_on_both else made.decision.value
    message, text = f"{made.decision.value} {report.reason(name)}", "\n".join(explained_result(result))
    return _Test(suite, model, node, outcome, rule, message, text, _seconds(result))


def _seconds(result: NodeResult) -> float:
    return sum(execution.seconds for execution in result.executions)


def write_junit(report: ModelReport, file: TextIO) -> None:
    """Write JUnit: a suite for each target, a test for each node."""
    suites: dict[str, list[_Test]] = {}
    for test in _tests(report):
        suites.setdefault(test.suite, []).append(test)
    counts = {
        suite: Counter({"tests": len(tests)}) + Counter(test.result for test in tests)
        for suite, tests in suites.items()
    }
    problems = report.run.problems
    run = Counter(tests=1, error=len(problems)) if problems else Counter[str]()
    seconds = {suite: sum(test.seconds for test in tests) for suite, tests in suites.items()}
    file.write(start("testsuites", "maxpool-check", sum(counts.values(), run), sum(seconds.values())))
    for suite, tests in suites.items():
        file.write(start("testsuite", suite, counts[suite], seconds[suite]))
        for test in tests:
            path = test.model.model.path
            time = f"{test.seconds:.3f}"
            case = element("testcase", name=test.node.node.name, classname=str(path), file=str(path), time=time)
            if test.result != "passed":
                case.append(element(test.result, test.text or None, message=test.message, type=test.rule))
            elif test.text:
                case.append(element("system-out", f"{test.message}\n{test.text}"))
            file.write(ET.tostring(case, "unicode"))
        file.write("</testsuite>")
    if problems:
        file.write(start("testsuite", "run", run))
        case = element("testcase", name="complete", classname="run")
        case.extend(element("error", message=problem, type="incomplete") for problem in problems)
        file.write(ET.tostring(case, "unicode") + "</testsuite>")
    file.write("</testsuites>\n")


def write_sarif(report: ModelReport, file: TextIO) -> None:
    """Write SARIF: a run with a result for each node that fails, and a note for one that is wrong on special values alone."""
    results = [result for test in _tests(report) if (result := _sarif_result(test)) is not None]
    rules = dict.fromkeys(result["ruleId"] for result in results)
    problems = [*report.run.problems]
    problems += [f"{each.node.node.name} on {each.target}: {each.summary}" for each in report.untested]
    run = {
        "tool": {
            "driver": {
                "name": "maxpool-check",
                "version": report.record.header.tool,
                "rules": [{"id": rule} for rule in rules],
            }
        },
        "automationDetails": {"id": "maxpool-check/model/"},
        "invocations": [
            {
                "executionSuccessful": not problems,
                "toolExecutionNotifications": [{"level": "error", "message": {"text": text}} for text in problems],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    write_object(file, {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
    file.write("\n")


def _sarif_result(test: _Test) -> dict[str, Any] | None:
    is_special = test.result == "passed" and test.rule not in (
        "",
        NodeState.CONFORMS.value,
        Decision.SAFE.value,
        Decision.REVIEW.value,
    )
    if test.result not in ("failure", "error") and not is_special:
        return None
    path, name = test.model.model.path, test.node.node.name
    uri = path.as_uri() if path.is_absolute() else quote(Path(path).as_posix())
    digest = hashlib.sha256(f"{test.suite} {test.model.model.name} {name} {test.rule}".encode())
    return {
        "ruleId": test.rule,
        "level": "note" if is_special else "error",
        "message": {"text": "\n".join(filter(None, [f"{name} ({test.suite}): {test.message}", test.text]))},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": uri}},
                "logicalLocations": [{"name": name, "fullyQualifiedName": f"{test.model.model.name}:{name}"}],
            }
        ],
        "partialFingerprints": {"maxpoolCheck/v1": digest.hexdigest()},
        "properties": {"suite": test.suite, "where": test.node.node.where},
    }
