"""What has changed between two targets, for continuous integration: JUnit, SARIF, and annotations of GitHub."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import maxpool_check
from maxpool_check import inert
from maxpool_check.comparing.gate import TargetComparison, TransitionGroup
from maxpool_check.comparing.transitions import IMPROVEMENTS, UNOBSERVABLE, Change, Transition
from maxpool_check.reporting.abridged import abridged, some
from maxpool_check.reporting.changes import (
    MEANINGS,
    MOST_NAMES,
    ComparisonReport,
    by_case,
    details,
    group_cause,
    titles,
    transition_cause,
)
from maxpool_check.reporting.ci import JUnitSuite, Log, case_test, result, write_logs, write_suites
from maxpool_check.reporting.github import MOST_ANNOTATIONS
from maxpool_check.reporting.junit import element
from maxpool_check.words import plural

_ONE_SIDED = frozenset({Change.MISSING, Change.ADDED, Change.NOT_COMPARED})


def write_junit(report: ComparisonReport, file: TextIO) -> None:
    """Write JUnit: a suite for each comparison, a test for each case. What blocks fails; other changes are its output."""
    suites = [
        JUnitSuite(_name(comparison), _properties(report, comparison), _Tests(comparison))
        for comparison in report.comparisons
    ]
    write_suites(file, suites, report.errors)


def _name(comparison: TargetComparison) -> str:
    return f"{comparison.old.name} to {comparison.new.name}"


def _properties(report: ComparisonReport, comparison: TargetComparison) -> dict[str, str]:
    digests = [header.cases_sha256 for header in comparison.headers]
    return {
        "old": comparison.old.name,
        "new": comparison.new.name,
        **{f"{label}_cases_sha256": digest for label, digest in zip(("old", "new"), digests, strict=True)},
        "decision": comparison.decision.value if comparison.decision else report.exit_code.name,
        "reason": str(comparison),
    }


@dataclass(frozen=True)
class _Tests:
    """The tests of a comparison, made again at each iteration."""

    comparison: TargetComparison

    def __iter__(self) -> Iterator[ET.Element]:
        for case, changes in by_case(self.comparison):
            yield _test(case, changes, self.comparison)
        for case in self.comparison.left_out:
            file, _, name = case.rpartition(":")
            test = element("testcase", name=name, classname=file.replace("/", "."))
            test.append(element("skipped", message="left out: the case differs between the records", type="left-out"))
            yield test


def _test(case: str, changes: Sequence[Transition], comparison: TargetComparison) -> ET.Element:
    test = case_test(case, changes[0].execution.origin)
    blocking = [each for each in changes if each.blocks]
    others = [each for each in changes if not each.blocks and each.change not in UNOBSERVABLE]
    if blocking:
        message = "; ".join(_sentences(blocking))
        text = "\n".join(_explained(blocking, comparison))
        test.append(element("failure", text, message=message, type=_worst(blocking).change.value))
    elif all(each.change in _ONE_SIDED for each in changes):
        test.append(element("skipped", message="; ".join(_sentences(changes)), type="not-compared"))
    if others:
        test.append(element("system-out", "\n".join(_explained(others, comparison))))
    return test


def _sentence(transition: Transition) -> str:
    is_compared = transition.change is not Change.NOT_COMPARED
    accepted = " (accepted)" if transition.accepted is not None else ""
    cause = transition_cause(transition) if is_compared else MEANINGS[transition.change]
    return f"{transition.change.value}{accepted}: {cause}"


def _sentences(changes: Sequence[Transition]) -> list[str]:
    """Each change with its cause and the variants that show it: ``regressed: conforms -> ORT-SEED-KEPT (indices)``."""
    variants: dict[str, list[str]] = {}
    for each in changes:
        variants.setdefault(_sentence(each), []).append(each.execution.variant)
    return [f"{text} ({', '.join(names)})" for text, names in variants.items()]


def _explained(changes: Sequence[Transition], comparison: TargetComparison) -> Iterator[str]:
    """The changes of a case in full: its title, the known defects, and both results of the variants that show the same."""
    yield changes[0].execution.title
    known = [side.known for each in changes for side in (each.old, each.new) if side is not None]
    yield from titles(known, comparison)
    yield from dict.fromkeys(f"accepted: {each.accepted}" for each in changes if each.accepted is not None)
    alike: dict[tuple[str, ...], list[Transition]] = {}
    for each in changes:
        alike.setdefault((_sentence(each), *details(each)), []).append(each)
    for (_, *lines), transitions in alike.items():
        yield from _sentences(transitions)
        yield from lines


def _worst(changes: Sequence[Transition]) -> Transition:
    order = list(Change)
    return min(changes, key=lambda each: (not each.blocks, order.index(each.change)))


def write_sarif(report: ComparisonReport, file: TextIO) -> None:
    """Write SARIF: a run for each comparison, a result for each case whose change can be observed."""
    rules = {change.value: text for change, text in MEANINGS.items() if change not in UNOBSERVABLE}
    logs = [Log(_name(each), each.headers[1].tool, rules, _results(each), each.errors) for each in report.comparisons]
    if not logs:
        logs = [Log(report.command, maxpool_check.__version__, {}, iter(()), report.problems)]
    write_logs(file, logs)


def _results(comparison: TargetComparison) -> Iterator[dict[str, Any]]:
    for case, changes in by_case(comparison):
        observable = [each for each in changes if each.change not in UNOBSERVABLE]
        if observable:
            worst = _worst(observable)
            level = "error" if worst.blocks else "warning"
            level = "note" if worst.change in IMPROVEMENTS and not worst.blocks else level
            text = "\n".join([f"{case}: {'; '.join(_sentences(observable))}", *_explained(observable, comparison)])
            properties = {
                "case": case,
                "changes": {each.execution.variant: each.change.value for each in observable},
                "blocks": worst.blocks,
            }
            names = (comparison.old.name, comparison.new.name, case)
            yield result(worst.change.value, level, text, worst.execution.origin, properties, *names)


def workflow_commands(report: ComparisonReport) -> list[str]:
    """Workflow commands: an error at the line of the smallest case of every group that blocks, and other problems."""
    lines = [
        _annotation(group, comparison)
        for comparison in report.comparisons
        for group in comparison.groups
        if group.blocks
    ]
    lines += [f"::error title=incomplete::{inert.data(error)}" for error in report.errors]
    more = len(lines) - MOST_ANNOTATIONS + 1
    return lines if more <= 1 else [*lines[: MOST_ANNOTATIONS - 1], f"::error::{more} more; see the step summary"]


def _annotation(group: TransitionGroup, comparison: TargetComparison) -> str:
    smallest = group.smallest.execution
    path, _, line = smallest.origin.rpartition(":")
    lines = [f"{smallest.case} ({smallest.variant}): {smallest.title}", *details(group.smallest)]
    if len(group.cases) > 1:
        lines += [f"{plural(len(group.cases), 'case')} in total:", *some(group.cases, MOST_NAMES)]
    title = f"{group.change.value} on {comparison.new.name}: {abridged(group_cause(group))}"
    properties = {"file": path, **({"line": line} if int(line) else {}), "title": title}
    message = inert.data("\n".join(lines))
    shown = ",".join(f"{name}={inert.property_value(value)}" for name, value in properties.items())
    return f"::error {shown}::{message}"
