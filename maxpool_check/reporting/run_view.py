"""The report of a run as blocks, in one form for a terminal, Markdown and a page.

A page shows every finding in full, Markdown the first ones, a terminal the first that are unexpected; the others are rows of a table.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any

import yaml

from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import (
    Block,
    Document,
    Facts,
    Folded,
    Inline,
    Names,
    Paragraph,
    Section,
    Span,
    Table,
    code,
)
from maxpool_check.reporting.finding_view import FindingView, filters
from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.provenance import environment, interpretations, profiles
from maxpool_check.reporting.run_report import ResultGroup, RunLabel, RunReport, group_of
from maxpool_check.reporting.run_screen import closing
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import COMPARED, Execution, Verdict
from maxpool_check.words import plural, shortened

MOST_REASONS = 12
"""A table has a row for each of so many reasons for each target; the rarer ones are counted together."""

EVERYTHING = "maxpool-check report RECORD --report markdown --cases"
"""The command that draws an example of everything, and lists all cases."""

_IN_FULL = {Form.TEXT: 4, Form.MARKDOWN: 6}  # Findings of each target; the others take a line each.
_MOST_ROWS = 60  # Of a table of findings on up to three targets; one that is wrong in more ways is wrong altogether.
_WIDTH = 120  # Messages that begin alike are one reason.


@cache
def _texts() -> Mapping[str, Any]:
    """What the report says beside its numbers."""
    table: dict[str, Any] = yaml.safe_load(resources.files(__package__).joinpath("run_texts.yaml").read_bytes())
    return table


class RunView:
    """What a report of a run shows, computed in one pass over its executions; in a form.

    On a site, ``pages`` gives the address of a page by its folder and name.
    """

    def __init__(self, report: RunReport, form: Form, pages: Callable[[str, str], str] | None = None) -> None:
        self.report, self.record, self.form, self.pages = report, report.record, form, pages
        self.is_terminal = form is Form.TEXT
        self.everything = report.cases or form.is_page or (self.is_terminal and report.verbose)
        self.targets = [target.name for target in self.record.header.targets]
        self._documents: dict[tuple[str, str], Counter[Verdict]] = defaultdict(Counter)
        self._conforming: dict[tuple[str, str], Names] = defaultdict(Names)
        self._reasons: dict[tuple[str, str, str], Names] = defaultdict(Names)
        self._failed: dict[tuple[str, str], Execution] = {}
        # The variants of a case follow each other.
        for _, executions in groupby(self.record.executions, lambda each: (each.target, each.case)):
            self._add(list(executions))
        new = [(each, group_of(each, of)) for of in report.findings if of.defect is None for each in of.executions]
        for each, group in sorted(new, key=lambda item: item[0].case):
            if group in (ResultGroup.REFUSAL, ResultGroup.LIMIT):
                self._reason(each, group.value).add(each.case)

    def _add(self, executions: Sequence[Execution]) -> None:
        """Count the executions of a case on a target."""
        for each in executions:
            self._documents[each.target, each.spec][each.verdict] += 1
            if each.verdict is Verdict.ERROR:
                self._failed.setdefault((each.target, each.message), each)
            if each.verdict not in COMPARED:
                self._reason(each, each.verdict.value).add(each.case)
        compared = {each.verdict for each in executions if each.verdict in COMPARED}
        if compared == {Verdict.CONFORMS}:
            self._conforming[executions[0].target, executions[0].spec].add(executions[0].case)

    def _reason(self, execution: Execution, word: str) -> Names:
        """The cases that were not compared, or refused, for the same reason."""
        text = " ".join(execution.message.split())
        if execution.verdict is Verdict.UNDEFINED and not execution.digests:
            text = f"refused, which the document leaves open as well: {text}"
        text = text if self.form.is_page else shortened(text, _WIDTH, end=False)
        return self._reasons[execution.target, word, text]

    def view_of(self, finding: Finding) -> FindingView:
        """A finding, in this form."""
        everything = self.report.cases or self.form.is_page
        return FindingView(finding, self.record.header, self.form, everything, pages=self.pages)

    def drawn(self, findings: Iterable[Finding]) -> list[blocks.Finding]:
        """Findings in full."""
        return [self.view_of(finding).block() for finding in findings]

    def verdicts(self) -> tuple[list[Block], list[Block]]:
        """The result of the run, and what else is wrong with the run itself."""
        label, text = self.report.result
        problems = [problem.splitlines() or [""] for problem in self.report.problems if self.record.footer is not None]
        result: list[Block] = [blocks.Verdict(label, text, self.report.tone)]
        others: list[Block] = [Paragraph(first, "problem") for first, *_ in problems]
        if problems and label == RunLabel.INCOMPLETE:
            result, others = [blocks.Verdict(label, first, self.report.tone) for first, *_ in problems], []
        others += [blocks.Lines(rest, "What is wrong with the run") for _, *rest in problems if rest]
        for entry in self.report.outdated:
            text = f"  {entry.id} on {entry.target}: {shortened(entry.message)}"
            others.append(Paragraph([Span(entry.status.value.upper(), strong=True), text], "problem"))
        return result, others

    def numbers(self) -> list[Block]:
        """The executions by target, document and verdict, and what is wrong by severity."""
        report = self.report
        verdicts = [verdict for verdict in Verdict if verdict is Verdict.CONFORMS or report.totals[verdict]]
        by_verdict: list[list[Inline]] = []
        for target in self.targets:
            by_verdict.append([code(target), *(str(report.counts[target][verdict]) for verdict in verdicts)])
            documents = [spec for spec in self.record.header.profile if (target, spec) in self._documents]
            for spec in documents if len(documents) > 1 else ():
                name: list[str | Span] = ["by ", Span(spec, href=self._filter("document", spec))]
                numbers = (self._documents[target, spec][verdict] for verdict in verdicts)
                by_verdict.append([name, *(str(number or "") for number in numbers)])
        by_severity: list[list[Inline]] = []
        for severity, tally in report.severities.items():
            counted = map(str, (tally.defects, tally.new, tally.executions, tally.cases))
            by_severity.append([Span(severity.value, href=self._filter("severity", severity.value)), *counted])
        right = frozenset(range(1, len(verdicts) + 1))
        headings = ["severity", "defects", "new", "executions", "cases"]
        return [
            Table(["target", *map(str, verdicts)], by_verdict, right, label="Executions by target and verdict"),
            Table(headings, by_severity, frozenset(range(1, 5)), 3, "Summary by severity", "summary"),
        ]

    def _filter(self, name: str, value: str) -> str:
        """The address of the findings that a filter leaves; empty where there are no filters."""
        return f"#{name}={value}" if self.form.is_page else ""

    def overview(self, findings: Sequence[Finding], drawn: Sequence[blocks.Finding] = ()) -> list[Block]:
        """A row for each finding, those that are drawn as links to it, and what is left out."""
        most = max(_MOST_ROWS, _MOST_ROWS // 3 * len(self.report.record.header.targets))
        shown = findings[: None if self.everything else most]
        anchors = {block.anchor for block in drawn}
        rows: list[list[Inline]] = []
        for finding in shown:
            view = self.view_of(finding)
            title = view.title if finding.defect is not None else finding.smallest.case
            title += f" (on {finding.target})" if len(self.targets) > 1 else ""
            severity = Span(finding.severity.value, tone=finding.severity.value)
            name = Span(view.finding.name, code=True, href=f"#{view.anchor}" if view.anchor in anchors else "")
            rows.append([severity, name, title, str(len(finding.cases)), view.status])
        headings = ["severity", "defect", "what is wrong", "cases", "status"]
        table = Table(headings, rows, frozenset((3,)), label="Defects", name="overview")
        hint = "-v" if self.is_terminal else EVERYTHING
        note = f"{plural(len(findings), 'finding')}: {len(shown)} in the table, {len(drawn)} in full; {hint} shows all."
        return [table, Paragraph(note)] if len(drawn) < len(findings) else [table]

    def faults(self) -> Iterator[Section]:
        """What is wrong, inconsistent and refused: what is not in full is a row."""
        parts: dict[str, list[Finding]] = {"defects": [], "inconsistencies": [], "refused": []}
        for finding in self.report.findings:
            # Other refusals fail the run.
            is_refused = finding.is_refusal and not finding.is_unexpected
            parts["inconsistencies" if finding.is_inconsistency else "refused" if is_refused else "defects"].append(
                finding
            )
        left = dict.fromkeys(self.targets, _IN_FULL.get(self.form, 0))
        for name, findings in parts.items():
            in_full = []
            for finding in findings:
                fits = left[finding.target] > 0 and (finding.is_unexpected or not self.is_terminal)
                if self.everything or fits:
                    left[finding.target] -= 1
                    in_full.append(finding)
            drawn = self.drawn(in_full)
            table = self.overview(findings, drawn) if len(drawn) < len(findings) or not self.is_terminal else []
            yield from self.part(name, [*table, *drawn] if findings else [], len(findings))

    def reasons(self) -> list[Block]:
        """Why executions were refused, not executed or not judged, the most frequent reason first."""
        order = sorted(self._reasons.items(), key=lambda item: (-item[1].added, item[0]))
        if self.form.is_page:
            return [
                Folded(
                    [
                        Span(word, strong=True),
                        f" ({target}), {plural(names.count, 'case')} in {plural(names.added, 'execution')}: {text}",
                    ],
                    [names],
                )
                for (target, word, text), names in order
            ]
        most = MOST_REASONS * max(1, len(self.targets))
        shown = order if self.everything or len(order) <= most + 1 else order[:most]
        rows: list[list[Inline]] = [
            [code(target), word, text, str(names.added), str(names.count), code(names.first)]
            for (target, word, text), names in shown
        ]
        if rest := [names for _, names in order[len(shown) :]]:
            text = f"{len(rest)} rarer reasons, which {'-v' if self.is_terminal else EVERYTHING} lists"
            rows.append(
                ["", "", text, *(str(sum(each)) for each in zip(*((n.added, n.count) for n in rest), strict=True)), ""]
            )
        headings = ["what", "reason", "executions", "cases", "example"]
        return [self._by_target(headings, rows, 3, "Reasons")] if rows else []

    def _by_target(self, headings: Sequence[str], rows: Sequence[Sequence[Inline]], texts: int, label: str) -> Table:
        """A table of rows that begin with a target, left out if there is one alone; numbers begin behind ``texts`` columns."""
        first = len(self.targets) == 1
        numbers = [number for number, heading in enumerate(headings, 1) if number >= texts and heading != "example"]
        right = frozenset(number - first for number in numbers)
        return Table(["target", *headings][first:], [row[first:] for row in rows], right, label=label)

    def tracebacks(self) -> list[Block]:
        """More on the first executions that failed in a way that says nothing about the target."""
        result: list[Block] = []
        for first in list(self._failed.values())[:3]:
            lines = [*first.message.splitlines(), *first.traceback.splitlines()]
            about = f"{first.case} ({first.variant}) on {first.target}:"
            result += [Paragraph(about), blocks.Lines(lines, "Traceback")] if len(lines) > 1 else []
        return result

    def open_points(self) -> list[Block]:
        """How the targets interpret what documents leave open, on a terminal without translated models; how results were judged."""
        rows: list[list[Inline]] = []
        for each in interpretations(self.record):
            model = "translated" if each.translated else "direct"
            cells = [each.variant, shortened(each.text, 200), model, str(each.executions)]
            if not (each.translated and self.is_terminal):
                rows.append([code(each.target), code(each.point), *cells])
        headings = ["point", "variant", "interpretation", "model", "executions"]
        table: list[Block] = [self._by_target(headings, rows, 5, "Open points")] if rows else []
        return table if self.is_terminal else [*table, Facts(self.policies())]

    def conforming(self) -> list[Block]:
        """The cases that conform, by target and document."""
        folds: list[Block] = []
        for (target, spec), names in self._conforming.items():
            words = f" on {target}: {plural(names.count, 'case conforms', 'cases conform')} in every variant"
            folds.append(Folded([Span(spec, strong=True), words], [names], "conforming"))
        return folds

    def policies(self) -> list[tuple[str, Inline]]:
        """The interpretations by which results were judged, by document."""
        texts = [(specs, ", ".join(map(" ".join, policies.items()))) for specs, policies in profiles(self.record)]
        return [(", ".join(specs), text or "nothing left open") for specs, text in texts]

    def part(self, name: str, content: Sequence[Block], number: int | None = None) -> list[Section]:
        """A part of the report; a terminal has it only if there is something, and does not say what it is about."""
        title, short, about, none = _texts()["parts"][name]
        if self.is_terminal:
            return [Section(title, content)] if content else []
        return [Section(title, [Paragraph(about if content else none), *content], name, short, number)]

    def facts(self) -> list[Block]:
        """What the result means, and what was tested."""
        header, report, label = self.record.header, self.report, self.report.result[0]
        outcome = f"{label}: {_texts()['meanings'][label]} (exit code {int(report.exit_code)})."
        facts: list[tuple[str, Inline]] = []
        for target in header.targets:
            opsets = f", operator sets to {target.newest_opset}" if target.newest_opset is not None else ""
            facts.append((target.name, f"{target.software()}{opsets}"))
        facts += self.policies() if self.is_terminal else [("Documents", ", ".join(header.profile))]
        if (corpus := header.corpus) is not None:
            facts.append(("Corpus", f"{corpus}, {plural(corpus.cases, 'case')}, SHA-256 {corpus.sha256[:16]}"))
        facts += [("Tested", report.tested), *([] if self.is_terminal else [("Date", header.started[:10])])]
        return [Facts(facts)] if self.is_terminal else [Paragraph(outcome), Facts(facts)]

    def summary(self) -> list[Block]:
        """The numbers, and what the words mean."""
        severities = [(severity.value, severity.meaning) for severity in self.report.severities]
        words = Folded("What the words mean", [Facts([*_texts()["words"].items(), *severities])])
        balance = _texts()["balance" if severities else "nothing_wrong"]
        counted = ", ".join([self.report.balance, *self.report.apart])
        about = [] if self.is_terminal else [Paragraph(f"{counted}. {balance}")]
        return [*self.numbers(), *about, *([words] if self.form.is_page else [])]

    def setting(self) -> list[Block]:
        """What the run was made with; on a page, its command line, too."""
        header = self.record.header
        command = [blocks.Command(shlex.join(header.command), "repeat the run")] if header.command else []
        note = Paragraph(_texts()["command" if command else "no_command"])
        return [Facts(list(environment(header))), *([*command, note] if self.form.is_page else [])]


def document(report: RunReport, form: Form, pages: Callable[[str, str], str] | None = None) -> Document:
    """The report of a run in a form; ``pages`` as of :class:`RunView`. A terminal has what is wrong alone, unless all is asked for."""
    view = RunView(report, form, pages)
    results, problems = view.verdicts()
    content: list[Block] = [
        Section("" if view.is_terminal else "Summary by severity", view.summary(), "summary", "Summary"),
        *(filters([view.view_of(finding) for finding in report.findings]) if form.is_page else []),
        *view.faults(),
        *view.part("not-tested", [*view.reasons(), *view.tracebacks()]),
        *view.part("open-points", view.open_points()),
        *(view.part("conforming", view.conforming()) if form.is_page else []),
        *(view.part("environment", view.setting()) if view.everything or not view.is_terminal else []),
    ]
    title, is_above = ", ".join(view.targets), not view.is_terminal
    title = title if form.is_page else f"MaxPool on {shortened(title, 300)}"
    if not is_above:
        verdict, following = closing(report)
        return Document("", title, [verdict, *view.facts()], [*content, *problems], following)
    return Document("MaxPool conformance", title, [*results, *view.facts(), *problems], content)
