"""A run for CI systems: a test for each case, an alert for each case of a fault, an annotation for each new fault."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from urllib.parse import quote, urlsplit

from maxpool_check.judging.defects import Severity, worst
from maxpool_check.judging.faults import Fault
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting import github
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.items import Alert, Checks, Item, Log, Suite, of_case
from maxpool_check.reporting.markup import clipped
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import NOT_EXECUTED, Execution, Status, TargetDescription, Verdict
from maxpool_check.words import plural

_WARNINGS = frozenset({Severity.REFUSES_VALID, Severity.LIMIT, Severity.INCONSISTENCY})
"""The severities of results that are not wrong."""

_LONGEST = 1000
"""A longer line is cut."""


@dataclass(frozen=True)
class CaseResult:
    """The executions of a case on a target."""

    executions: Sequence[Execution]

    @cached_property
    def worst(self) -> Execution:
        """The execution that stands for the case: one that fails the run, then the worst severity."""
        return min(self.executions, key=self._rank)

    @property
    def severity(self) -> Severity:
        """The severity of the worst execution."""
        return worst([self.worst])

    @property
    def kinds(self) -> list[str]:
        """The kinds of all executions."""
        return list(dict.fromkeys(kind for execution in self.executions for kind in execution.kinds))

    @property
    def clauses(self) -> list[str]:
        """The clauses that the case is about."""
        return list(dict.fromkeys(clause for execution in self.executions for clause in execution.clauses))

    @property
    def lines(self) -> list[str]:
        """The verdict on each variant, then the details; what several show is written once, with the names of all."""
        verdicts: dict[str, list[str]] = {}
        blocks: dict[tuple[str, ...], list[str]] = {}
        for execution in self.executions:
            known = f" (known as {execution.known})" if execution.known is not None else ""
            if execution.unexplained:
                known = f" (new: {', '.join(execution.unexplained)}; the rest is {', '.join(execution.explained_by)})"
            kinds = f": {', '.join(execution.kinds)}" if execution.kinds else ""
            verdicts.setdefault(f"{execution.verdict}{kinds}{known}", []).append(execution.variant)
            for block in dict.fromkeys(_blocks(ExecutionView(execution).lines())):
                blocks.setdefault(block, []).append(execution.variant)
        lines = [f"{', '.join(variants)}: {verdict}" for verdict, variants in verdicts.items()]
        sections: dict[tuple[str, ...], list[str]] = {tuple(each.variant for each in self.executions): []}
        for block, variants in blocks.items():
            sections.setdefault(tuple(variants), []).extend(block)
        (_, of_all), *others = sections.items()
        lines += of_all
        for names, block_lines in others:
            lines += [f"{', '.join(names)}:", *(f"  {line}" for line in block_lines)]
        return clipped(lines, len(lines), _LONGEST)

    def _rank(self, execution: Execution) -> tuple[int, int]:
        if execution.verdict is Verdict.ERROR:
            return 0, 0
        if execution.status:
            return 1 if execution.unexpected else 2, worst([execution]).rank
        # What was compared counts, where other variants could not be.
        return (4 if execution.verdict in (Verdict.UNDEFINED, Verdict.UNKNOWN, *NOT_EXECUTED) else 3), 0


def case_results(executions: Iterable[Execution]) -> Iterator[CaseResult]:
    """The cases on each target in the order of a record, where the variants of a case on a target follow each other."""
    current: dict[str, list[Execution]] = {}
    for execution in executions:
        variants = current.setdefault(execution.target, [])
        if variants and variants[0].case != execution.case:
            yield CaseResult(variants)
            variants = current[execution.target] = []
        variants.append(execution)
    yield from map(CaseResult, current.values())


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The lines, each with the indented ones that follow it."""
    block: list[str] = []
    for line in filter(None, lines):
        if block and not line.startswith(" "):
            yield tuple(block)
            block = []
        block.append(line)
    if block:
        yield tuple(block)


def checks(report: RunReport) -> Checks:
    """A suite for each target, with an item for each case. A known defect is skipped; one that no longer occurs fails."""
    suites, logs = [], []
    header = report.record.header
    for target in header.targets:
        items = partial(_of_target, report, target)
        facts = [(name, getattr(target, name)) for name in ("distribution", "version", "provider")]
        facts += [("part", part.words) for part in report.parts if part.target == target.name]
        facts += [("kit", kit.words) for kit in report.kits if kit.target == target.name]
        suites.append(Suite(target.name, items, [*facts, ("cases_sha256", header.cases_sha256)], header.started))
        errors = [
            f"{each.case}: {each.message}"
            for each in report.record.executions
            if each.target == target.name and each.verdict == Verdict.ERROR
        ]
        outdated = [
            f"{each.id} is {each.status}: {each.first_line}" for each in report.outdated if each.target == target.name
        ]
        rules = {fault.name: _described(fault) for fault in report.faults if fault.target == target.name}
        logs.append(Log(target.name, header.tool, items, rules, [*report.problems, *errors], outdated))
    return Checks(suites, logs, report.problems, report.seconds)


def _described(fault: Fault) -> dict[str, Any]:
    """A rule of SARIF: what is wrong; of a known defect its mechanism, what to do about it, and its issue, else the clauses of its kinds."""
    entry = fault.defect
    if entry is None:
        clauses = [about.clause for kind, about in DESCRIPTIONS.items() if kind.value in fault.kinds and about.clause]
        return {"shortDescription": {"text": f"{fault.title}."}, "help": {"text": " ".join(dict.fromkeys(clauses))}}
    mechanism = " ".join(entry.reason.split())
    rule: dict[str, Any] = {"shortDescription": {"text": entry.title or mechanism or entry.id}}
    if mechanism:
        advice = f" To do: {entry.advice}." if entry.advice else ""
        rule |= {"fullDescription": {"text": mechanism}, "help": {"text": f"{mechanism}{advice}"}}
    if entry.issue and urlsplit(entry.issue).scheme in ("http", "https"):
        rule["helpUri"] = quote(entry.issue, safe=":/?#[]@!$&'()*+,;=%")
    return rule


def _of_target(report: RunReport, target: TargetDescription) -> Iterator[Item]:
    known = [entry for entry in report.known if entry.target == target.name]
    reasons = {entry.id: " ".join((entry.title or entry.reason).split()) for entry in known}
    own = (fault for fault in report.faults if fault.target == target.name)
    faults = {(each.case, each.variant): fault for fault in own for each in fault.executions}
    for case in case_results(each for each in report.record.executions if each.target == target.name):
        yield _of_case(case, reasons, faults)
    for entry in (each for each in report.outdated if each.target == target.name):
        words = {"kind": entry.status.value, "message": entry.first_line}
        yield Item(
            "known-divergences", entry.id, state="failure", text=partial(str, entry.message.partition("\n")[2]), **words
        )


def _state(case: CaseResult) -> str:
    """The state of a case: passed, if a variant was compared and none is wrong."""
    worst = case.worst
    if worst.verdict == Verdict.ERROR:
        return "error"
    nothing = worst.verdict in (Verdict.UNDEFINED, Verdict.UNKNOWN, *NOT_EXECUTED)
    if nothing or worst.status in (Status.EXPECTED, Status.INCONSISTENT, Status.SPECIAL, Status.OUTSIDE):
        return "skipped"
    return "failure" if worst.status else "passed"


def _of_case(case: CaseResult, reasons: Mapping[str, str], faults: Mapping[tuple[str, str], Fault]) -> Item:
    worst, state = case.worst, _state(case)
    message, kind, known = " ".join(worst.message.split()), worst.verdict.value, list[str]()
    if worst.status == Status.EXPECTED and state == "skipped":
        message, kind = f"known as {worst.known}: {reasons.get(worst.known or '', '')}", "known"
        # GitLab shows the text alone.
        known = [message]
    elif worst.status == Status.SPECIAL:
        message, kind = f"wrong on special values alone, {', '.join(worst.kinds)}: {message}", "special"
    elif worst.status == Status.OUTSIDE:
        message, kind = f"wrong outside the model, and right in it, {', '.join(worst.kinds)}: {message}", "outside"
    elif state == "failure":
        kind = ",".join(worst.kinds)
    shown: dict[Fault, list[Execution]] = {}
    for each in case.executions:
        if fault := faults.get((each.case, each.variant)):
            shown.setdefault(fault, []).append(each)
    properties = [
        ("spec", worst.spec),
        *(("clause", clause) for clause in case.clauses),
        *(("fault", name) for name in dict.fromkeys(fault.name for fault in shown)),
        *([("kinds", ", ".join(case.kinds))] if case.kinds else []),
    ]
    return Item(
        *of_case(worst.case),
        origin=worst.origin,
        state=state,
        kind=kind,
        message=message,
        text=lambda: "\n".join([worst.title, *known, *case.lines]),
        seconds=sum(execution.seconds for execution in case.executions),
        properties=properties,
        alerts=partial(_alerts, shown, reasons) if shown else tuple,
    )


def _alerts(shown: Mapping[Fault, Sequence[Execution]], reasons: Mapping[str, str]) -> list[Alert]:
    """The alerts of a case, one for each fault that it shows."""
    return [_alert(fault, CaseResult(executions), reasons) for fault, executions in shown.items()]


def _alert(fault: Fault, case: CaseResult, reasons: Mapping[str, str]) -> Alert:
    """The alert of a fault in the executions of a case that show it."""
    worst, severity = case.worst, case.severity
    level = "warning" if severity in _WARNINGS else "error"
    properties = {
        "case": worst.case,
        "spec": worst.spec,
        "verdict": worst.verdict,
        "severity": severity,
        "variants": {execution.variant: execution.verdict for execution in case.executions},
        "kinds": case.kinds,
        "clauses": case.clauses,
        # Of the properties, viewers show and filter the tags.
        **({"tags": case.clauses} if case.clauses else {}),
    }
    return Alert(
        fault.name,
        "note" if worst.status in (Status.EXPECTED, Status.SPECIAL, Status.OUTSIDE) else level,
        "\n".join([f"{worst.case}: {worst.title}", *case.lines]),
        (worst.target, worst.case),
        properties,
        (worst.case.rpartition(":")[2], worst.case),
        f"{fault.name}: {reasons.get(fault.name, '')}" if fault.is_expected else None,
    )


def annotations(report: RunReport) -> list[github.Annotation]:
    """An error at the line of the example of every unexpected fault of a run, and other problems."""
    found = []
    for fault in report.unexpected:
        example = fault.example
        lines = [f"{example.case}: {example.title}", *ExecutionView(example).lines()]
        lines += [f"{len(fault.cases)} cases in total"] if len(fault.cases) > 1 else []
        lines += [f"do: {fault.defect.advice}"] if fault.defect is not None and fault.defect.advice else []
        found.append(github.Annotation(f"{', '.join(fault.kinds)} on {fault.target}", lines, example.origin))
    found += [github.Annotation(f"{each.id} is {each.status.value}", [each.first_line]) for each in report.outdated]
    if report.record.footer is not None:
        found += [github.Annotation("incomplete", [problem]) for problem in report.problems]
    for target, counts in report.counts.items():
        if counts[Verdict.ERROR]:
            found.append(
                github.Annotation("error", [f"{plural(counts[Verdict.ERROR], 'execution')} failed on {target}"])
            )
    return found
