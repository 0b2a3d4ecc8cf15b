"""What CI systems read: tests by suite, each with its state and perhaps an alert; and those of a run, a test for each case."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from maxpool_check.judging.defects import Severity, worst
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.markup import clipped
from maxpool_check.results.record import NOT_EXECUTED, Execution, KnownEntry, TargetDescription, Verdict

if TYPE_CHECKING:
    from maxpool_check.reporting.run_report import RunReport

_WARNINGS = frozenset({Severity.REFUSES_VALID, Severity.LIMIT, Severity.INCONSISTENCY})
"""The severities of results that are not wrong."""

_LONGEST = 1000
"""A longer line is cut."""


@dataclass(frozen=True)
class Alert:
    """A result of SARIF: an ``error``, a ``warning`` or a ``note`` by some rule.

    ``identity`` are words that stay the same as long as it is the same alert. ``names`` are those of what it is about, the short one
    and the full one. ``suppressed`` says why nobody needs to look at it.
    """

    rule: str
    level: str
    text: str
    identity: Sequence[str]
    properties: Mapping[str, Any]
    names: tuple[str, str] | None = None
    suppressed: str | None = None


@dataclass(frozen=True)
class Item:
    """A test of JUnit, in which ``group`` is the class, and the place of it, ``FILE:LINE``; line 0 is that of a model.

    ``state`` is ``passed``, ``failure``, ``error`` or ``skipped``, of the type ``kind``. ``text`` explains it, and ``output`` is to be
    known besides; these and the ``alert`` are made where they are written, not where items are counted.
    """

    group: str
    name: str
    origin: str = ""
    state: str = "passed"
    kind: str = ""
    message: str = ""
    text: Callable[[], str] = str
    output: Callable[[], str] = str
    seconds: float | None = None
    properties: Sequence[tuple[str, str]] = ()
    alert: Callable[[], Alert] | None = None


Items = Callable[[], Iterator[Item]]
"""Items, made again at each call: those of a long run are not held in memory."""


@dataclass(frozen=True)
class Suite:
    """A suite of JUnit."""

    name: str
    items: Items
    properties: Sequence[tuple[str, str]] = ()
    timestamp: str = ""


@dataclass(frozen=True)
class Log:
    """A run of SARIF: the alerts of its items. ``rules`` has what is known of rules, by their ids.

    ``problems`` are those of the run itself, ``outdated`` those of its files.
    """

    name: str
    tool: str
    items: Items
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: Sequence[str] = ()
    outdated: Sequence[str] = ()


@dataclass(frozen=True)
class Checks:
    """A report for CI systems. ``problems`` are those of the command itself; it took so many ``seconds``, if that is known."""

    suites: Sequence[Suite]
    logs: Sequence[Log]
    problems: Sequence[str] = ()
    seconds: float = 0.0


class Report(Protocol):
    """A report that CI systems can read."""

    def checks(self) -> Checks:
        """The report for CI systems."""


def of_case(case: str) -> tuple[str, str]:
    """The group and the name of the item of a case."""
    file, _, name = case.rpartition(":")
    return file.replace("/", "."), name


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
    def defects(self) -> list[str]:
        """The ids of the known defects that executions show."""
        return list(dict.fromkeys(each.known for each in self.executions if each.known is not None))

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


def of_run(report: "RunReport") -> Checks:
    """A suite for each target, with an item for each case. A known defect is skipped; one that no longer occurs fails."""
    suites, logs = [], []
    header = report.record.header
    for target in header.targets:
        items = partial(_of_target, report, target)
        facts = [(name, getattr(target, name)) for name in ("distribution", "version", "provider")]
        suites.append(Suite(target.name, items, [*facts, ("cases_sha256", header.cases_sha256)], header.started))
        errors = [
            f"{each.case}: {each.message}"
            for each in report.record.executions
            if each.target == target.name and each.verdict == Verdict.ERROR
        ]
        outdated = [
            f"{each.id} is {each.status}: {each.message}" for each in report.outdated if each.target == target.name
        ]
        known = {entry.id: _described(entry) for entry in report.known if entry.target == target.name}
        rules = {
            kind.value: {"shortDescription": {"text": about.sentence}, "help": {"text": about.clause}}
            for kind, about in DESCRIPTIONS.items()
        }
        logs.append(Log(target.name, header.tool, items, rules | known, [*report.problems, *errors], outdated))
    return Checks(suites, logs, report.problems, report.seconds)


def _described(entry: KnownEntry) -> dict[str, Any]:
    """A rule of SARIF: the title of a known defect, its mechanism, what to do about it, and its issue."""
    mechanism = " ".join(entry.reason.split())
    rule: dict[str, Any] = {"shortDescription": {"text": entry.title or mechanism or entry.id}}
    if mechanism:
        advice = f" To do: {entry.advice}." if entry.advice else ""
        rule |= {"fullDescription": {"text": mechanism}, "help": {"text": f"{mechanism}{advice}"}}
    if entry.issue and urlsplit(entry.issue).scheme in ("http", "https"):
        rule["helpUri"] = quote(entry.issue, safe=":/?#[]@!$&'()*+,;=%")
    return rule


def _of_target(report: "RunReport", target: TargetDescription) -> Iterator[Item]:
    known = [entry for entry in report.known if entry.target == target.name]
    reasons = {entry.id: " ".join((entry.title or entry.reason).split()) for entry in known}
    for case in case_results(each for each in report.record.executions if each.target == target.name):
        yield _of_case(case, reasons)
    for entry in (each for each in report.outdated if each.target == target.name):
        yield Item("known-divergences", entry.id, state="failure", kind=entry.status.value, message=entry.message)


def _state(case: CaseResult) -> str:
    """The state of a case: passed, if a variant was compared and none is wrong."""
    worst = case.worst
    if worst.verdict == Verdict.ERROR:
        return "error"
    nothing = worst.verdict in (Verdict.UNDEFINED, Verdict.UNKNOWN, *NOT_EXECUTED)
    if nothing or worst.status in ("expected", "inconsistent", "special", "outside"):
        return "skipped"
    return "failure" if worst.status else "passed"


def _of_case(case: CaseResult, reasons: Mapping[str, str]) -> Item:
    worst, state = case.worst, _state(case)
    message, kind, known = " ".join(worst.message.split()), worst.verdict.value, list[str]()
    if worst.status == "expected" and state == "skipped":
        message, kind = f"known as {worst.known}: {reasons.get(worst.known or '', '')}", "known"
        # GitLab shows the text alone.
        known = [message]
    elif worst.status == "special":
        message, kind = f"wrong on special values alone, {', '.join(worst.kinds)}: {message}", "special"
    elif worst.status == "outside":
        message, kind = f"wrong outside the model, and right in it, {', '.join(worst.kinds)}: {message}", "outside"
    elif state == "failure":
        kind = ",".join(worst.kinds)
    faults = CaseResult([execution for execution in case.executions if execution.status])
    properties = [
        ("spec", worst.spec),
        *(("clause", clause) for clause in case.clauses),
        *(("defect", defect) for defect in case.defects),
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
        alert=(lambda: _alert(faults, reasons)) if faults.executions else None,
    )


def _alert(case: CaseResult, reasons: Mapping[str, str]) -> Alert:
    """The alert of a case that is not executed as its document says, by the known defect or the worst kind."""
    worst, severity = case.worst, case.severity
    # The first kind, one that is about a variant alone last.
    kind = min(worst.kinds, key=lambda kind: "-depends-on-" in kind or "-depend-on-" in kind, default="")
    rule = worst.known or kind or worst.verdict.value
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
    is_known = all(execution.status == "expected" for execution in case.executions)
    return Alert(
        rule,
        "note" if worst.status in ("expected", "special", "outside") else level,
        "\n".join([f"{worst.case}: {worst.title}", *case.lines]),
        (worst.target, worst.case),
        properties,
        (worst.case.rpartition(":")[2], worst.case),
        "; ".join(f"{defect}: {reasons.get(defect, '')}" for defect in case.defects) if is_known else None,
    )
