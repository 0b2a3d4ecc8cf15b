"""The report of a run as blocks, made once for a terminal, Markdown and a page.

A terminal shows the worst findings in full and the others in a line each, unless everything is asked for. Markdown shows as many
as fit into :data:`MOST_BYTES` for each target. A page shows everything, with filters.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any, TextIO

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
from maxpool_check.reporting.finding_view import Detail, FindingView, filters
from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.provenance import environment, interpretations, profiles
from maxpool_check.reporting.reruns import next_step
from maxpool_check.reporting.run_report import ResultGroup, RunLabel, RunReport, group_of
from maxpool_check.reporting.writers import html, markdown, terminal
from maxpool_check.results.record import COMPARED, NOT_EXECUTED, Execution, Verdict
from maxpool_check.words import plural, shortened

MOST_BYTES = 40_000
"""The size of a report in Markdown for each target, unless everything is asked for."""

MOST_REASONS = 12
"""A table has a row for each of so many reasons; the rarer ones are counted together."""

EVERYTHING = "maxpool-check report RECORD --report markdown --cases"
"""The command that draws an example of everything, and lists all cases."""

_IN_FULL = 4  # Findings on a terminal; the others take a line each.
_MOST_ROWS = 60  # Of a table of defects in Markdown; a target that is wrong in more ways is wrong altogether.
_MOST_CLAUSES = 40
_WIDTH = 120  # Messages that begin alike are one reason.

_NOT_JUDGED = (Verdict.NOT_EXPRESSIBLE, Verdict.NOT_CLAIMED, Verdict.UNKNOWN, Verdict.UNDEFINED)
"""The verdicts that compare nothing with a document."""


@cache
def _texts() -> Mapping[str, Any]:
    """What the report says beside its numbers."""
    table: dict[str, Any] = yaml.safe_load(resources.files(__package__).joinpath("run_texts.yaml").read_bytes())
    return table


@dataclass
class _Compared:
    """The executions of a document on a target by what became of them, those of each clause, too, and conforming cases."""

    counts: Counter[str] = field(default_factory=Counter)
    clauses: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    conforming: Names = field(default_factory=Names)


@dataclass
class _Reason:
    """Executions that have no result for one reason: the reason, their number, and their cases, one as an example."""

    text: Inline
    executions: int = 0
    cases: Names = field(default_factory=Names)
    example: str = ""
    last: str = ""

    def add(self, case: str) -> None:
        """Add an execution of a case; those of a case follow each other."""
        self.executions += 1
        self.example = self.example or case
        if case != self.last:
            self.cases.add(case)
        self.last = case


class RunView:
    """What reports of a run show, computed in one pass over its executions; ``detail`` is how much.

    On a site, ``pages`` gives the address of a page by its folder and name.
    """

    def __init__(self, report: RunReport, detail: Detail, pages: Callable[[str, str], str] | None = None) -> None:
        self.report, self.record, self.detail, self.pages = report, report.record, detail, pages
        self.is_brief = detail is Detail.TERMINAL
        self.everything = report.in_full if self.is_brief else report.cases or detail.is_page
        self.targets = [target.name for target in self.record.header.targets]
        self._documents: dict[tuple[str, str], _Compared] = defaultdict(_Compared)
        self._unjudged: dict[tuple[str, Verdict], dict[str, _Reason]] = defaultdict(dict)
        self._errors: dict[tuple[str, str], list[Execution]] = defaultdict(list)
        self._is_translated = False
        self._places = [
            {name: number for number, name in enumerate(each)} for each in (self.targets, self.record.header.profile)
        ]
        # The variants of a case follow each other.
        for _, executions in groupby(self.record.executions, lambda each: (each.target, each.case)):
            self._add(list(executions))

    def _add(self, executions: Sequence[Execution]) -> None:
        """Count the executions of a case on a target."""
        first = executions[0]
        document = self._documents[first.target, first.spec]
        for each in executions:
            words = [each.verdict.value, *(["compared"] if each.verdict in COMPARED else [])]
            document.counts.update(words)
            self._is_translated |= bool(each.translation)
            if each.verdict is Verdict.ERROR:
                self._errors[each.target, each.message].append(each)
                continue
            for clause in (each.clauses or ("",)) if each.verdict not in NOT_EXECUTED else ():
                document.clauses[clause].update(["executed", *words])
            if each.verdict not in COMPARED:
                text = " ".join(each.message.split())
                if each.verdict is Verdict.UNDEFINED and not each.digests:
                    text = f"refused, which the document leaves open as well: {text}"
                text = text if self.detail.is_page else shortened(text, _WIDTH, end=False)
                self._unjudged[each.target, each.verdict].setdefault(text, _Reason(text)).add(each.case)
        compared = [each.verdict for each in executions if each.verdict in COMPARED]
        if compared and set(compared) == {Verdict.CONFORMS}:
            document.conforming.add(first.case)

    def view_of(self, finding: Finding) -> FindingView:
        """A finding, in this detail."""
        everything = self.report.cases if self.is_brief else self.everything
        return FindingView(finding, self.record.header, self.detail, everything, pages=self.pages)

    def drawn(self, findings: Iterable[Finding], budgets: dict[str, int] | None = None) -> list[blocks.Finding]:
        """Findings in full: those that fit into the bytes left for their target, or all."""
        result = []
        for finding in findings:
            block = self.view_of(finding).block()
            if budgets is not None and not self.everything:
                # Each is a block, and its row of the table becomes a link.
                size = len(f"{markdown.markdown([block], 3)}\n\n[](#{block.anchor})".encode())
                fits = size <= budgets[finding.target]
                budgets[finding.target] = (budgets[finding.target] - size) * fits
                if not fits:
                    continue
            result.append(block)
        return result

    def verdicts(self) -> tuple[list[Block], list[Block]]:
        """The result of the run, and what else is wrong with the run itself."""
        label, text = self.report.result
        tone = "good" if label == RunLabel.CONFORMS else "known" if self.report.passed else "bad"
        size = f"{plural(len(self.record.executions), 'execution')} of {plural(self.record.header.cases, 'case')}"
        problems = [problem.splitlines() or [""] for problem in self.report.problems if self.record.footer is not None]
        result: list[Block] = [blocks.Verdict(label, f"{text} ({size})", tone)]
        others: list[Block] = [Paragraph(first, "problem") for first, *_ in problems]
        if problems and label == RunLabel.INCOMPLETE:
            result, others = [blocks.Verdict(label, first, tone) for first, *_ in problems], []
        others += [blocks.Lines(rest, "What is wrong with the run") for _, *rest in problems if rest]
        for entry in self.report.outdated:
            message = entry.message if self.everything else shortened(entry.message, 240)
            text = f"  {entry.id} on {entry.target}: {message}"
            others.append(Paragraph([Span(entry.status.value.upper(), strong=True), text], "problem"))
        return result, others

    def numbers(self) -> list[Block]:
        """The executions by target and verdict, and what is wrong by severity."""
        report = self.report
        verdicts = [verdict for verdict in Verdict if verdict is Verdict.CONFORMS or report.totals[verdict]]
        by_verdict: list[list[Inline]] = [
            [code(name), *(str(report.counts[name][verdict]) for verdict in verdicts)] for name in self.targets
        ]
        by_severity: list[list[Inline]] = []
        for severity, tally in report.severities.items():
            counts = map(str, (tally.defects, tally.new, tally.executions, tally.cases))
            by_severity.append([Span(severity.value, href=self._filter("severity", severity.value)), *counts])
        right = frozenset(range(1, len(verdicts) + 1))
        headings = ["severity", "defects", "new", "executions", "cases"]
        return [
            Table(["target", *map(str, verdicts)], by_verdict, right, label="Executions by target and verdict"),
            Table(headings, by_severity, frozenset(range(1, 5)), 3, "Summary by severity", "summary"),
        ]

    def by_document(self) -> list[Block]:
        """For each target and document the executions: compared, conforming, of each severity, and not compared by verdict."""
        severities: Counter[tuple[str, str, str]] = Counter()
        for finding in self.report.findings:
            severities.update((finding.target, each.spec, finding.severity.value) for each in finding.executions)
        names = [severity.value for severity in self.report.severities]
        others = [verdict.value for verdict in self.report.verdicts if verdict not in COMPARED]
        rows: list[list[Inline]] = []
        for target, spec in sorted(self._documents, key=self._order):
            document, address = self._documents[target, spec].counts, self._filter("document", spec)
            counts = [document["compared"], document[Verdict.CONFORMS.value]]
            counts += [*(severities[target, spec, name] for name in names), *(document[each] for each in others)]
            row = [code(target), Span(spec, code=not address, href=address)]
            rows.append([*row, *(str(each or "") for each in counts)])
        table = self._by_target(["document", "compared", "conform", *names, *others], rows, 2, "By document")
        return [Paragraph(_texts()["translated"]), table] if self._is_translated else [table]

    def _filter(self, name: str, value: str) -> str:
        """The address of the findings that a filter leaves; empty where there are no filters."""
        return f"#{name}={value}" if self.detail.is_page else ""

    def _by_target(self, headings: Sequence[str], rows: Sequence[Sequence[Inline]], texts: int, label: str) -> Table:
        """A table of rows that begin with a target, which is left out if there is one alone; ``texts`` columns are no numbers."""
        first = len(self.targets) == 1
        right = frozenset(range(texts - first, len(headings) + 1 - first))
        return Table(["target", *headings][first:], [row[first:] for row in rows], right, label=label)

    def _order(self, key: tuple[str, str]) -> tuple[int, int, str]:
        """The place of a target and a document in the header."""
        targets, specs = self._places
        return targets.get(key[0], len(targets)), specs.get(key[1], len(specs)), key[1]

    def overview(self, findings: Sequence[Finding], drawn: Sequence[blocks.Finding] = ()) -> list[Block]:
        """A row for each finding, those that are drawn as links to it, and what is left out."""
        shown = findings[: None if self.everything else _MOST_ROWS]
        rows: list[list[Inline]] = []
        anchors = {block.anchor for block in drawn}
        for finding in shown:
            view = self.view_of(finding)
            # On a terminal, nothing else says what the example of a row is.
            title = finding.smallest.case if self.is_brief and finding.defect is None else view.title
            title += f" (on {finding.target})" if len(self.targets) > 1 else ""
            severity = Span(finding.severity.value, tone=finding.severity.value)
            address = f"#{view.anchor}" if view.anchor in anchors else ""
            name = Span(view.name, code=not self.detail.is_page, href=address)
            rows.append([severity, name, title, str(len(finding.cases)), str(len(finding.executions)), view.status])
        headings = ["severity", "defect", "what is wrong", "cases", "executions", "status"]
        # There, the heading says the status.
        columns, right = (4, frozenset((3,))) if self.is_brief else (6, frozenset((3, 4)))
        table = Table(headings[:columns], [row[:columns] for row in rows], right, label="Defects", name="overview")
        notes = ""
        if rest := findings[len(shown) :]:
            executions = sum(len(finding.executions) for finding in rest)
            cases = plural(len({case for finding in rest for case in finding.cases}), "case")
            amount = f"{plural(executions, 'execution')} of {cases}"
            notes = f"{plural(len(rest), 'less severe defect')} more, {amount}, are left out here. "
        if (left := len(findings) - len(drawn)) and not self.is_brief:
            notes += f"The {plural(left, 'least severe defect')} {'is a row' if left == 1 else 'are rows'} of the table alone, so that "
            notes += f"the page stays readable; {EVERYTHING} draws an example of each."
        return [table, Paragraph(notes)] if notes else [table]

    def refused(self, target: str) -> list[Block]:
        """What a target refused, the most frequent reason first: a known defect, or what the runtime says."""
        reasons: dict[tuple[str, str, str], list[Execution]] = defaultdict(list)
        for finding in (each for each in self.report.findings if each.target == target):
            for each in finding.executions:
                group = group_of(each, finding)
                if group in (ResultGroup.REFUSAL, ResultGroup.LIMIT):
                    name, text = ("", each.message) if finding.defect is None else (finding.defect.id, finding.title)
                    reasons[group.value, name, shortened(text, _WIDTH, end=False)].append(each)
        rows = []
        for (label, name, text), executions in reasons.items():
            words: list[str | Span] = [f"{label}: ", code(name), ": ", text] if name else [f"{label}: {text}"]
            cases = Names(dict.fromkeys(each.case for each in executions))
            rows.append(_Reason(words, len(executions), cases, executions[0].case))
        return self._reasons(rows)

    def not_judged(self, target: str, verdict: Verdict) -> list[Block]:
        """What a target was not given or what was not judged, the most frequent reason first."""
        reasons = self._reasons(list(self._unjudged[target, verdict].values()))
        about = Paragraph(_texts()["not_judged"][verdict.value][1])
        return [about, *reasons] if reasons and not self.is_brief else reasons

    def heading(self, target: str, verdict: Verdict) -> str:
        """The heading of what :meth:`not_judged` lists."""
        return f"{_texts()['not_judged'][verdict.value][0]} {target}"

    def _reasons(self, reasons: Sequence[_Reason]) -> list[Block]:
        """A table of reasons, each with its executions and cases; the rare ones are counted together."""
        order = sorted(reasons, key=lambda each: (-each.executions, blocks.plain(each.text)))
        if self.detail.is_page:
            counts = [f"{plural(each.cases.count, 'case')} in {plural(each.executions, 'execution')}" for each in order]
            return [Folded(f"{count}: {each.text}", [each.cases]) for count, each in zip(counts, order, strict=True)]
        shown = order if self.everything or len(order) <= MOST_REASONS + 1 else order[:MOST_REASONS]
        rows: list[list[Inline]] = [
            [each.text, str(each.executions), str(each.cases.count), code(each.example)] for each in shown
        ]
        if rest := order[len(shown) :]:
            numbers = (sum(each.executions for each in rest), sum(each.cases.count for each in rest))
            lists = "-v" if self.is_brief else EVERYTHING
            rows.append([f"{len(rest)} rarer reasons, which {lists} lists", *map(str, numbers), ""])
        columns = 3 if self.is_brief else 4
        headings = ["reason", "executions", "cases", "example"][:columns]
        return [Table(headings, [row[:columns] for row in rows], frozenset((1, 2)), label="Reasons")] if rows else []

    def errors(self) -> list[Block]:
        """The executions that failed in a way that says nothing about the target, the first with their tracebacks."""
        every = list(self._errors.values())
        result: list[Block] = []
        for first, *others in every if self.detail.is_page else every[:3]:
            message, *more = first.message.splitlines() or [""]
            text = f"  {first.case} ({first.variant}) on {first.target}: {message}"
            text += f" ({len(others) + 1} executions)" if others else ""
            result.append(Paragraph([Span("ERROR", strong=True, tone="bad"), text]))
            lines = [*more, *(first.traceback.splitlines() if self.is_brief else [])]
            result += [blocks.Lines(lines, "Traceback")] if lines else []
        rest = [] if self.detail.is_page else every[3:]
        return [*result, Paragraph(f"... {sum(map(len, every))} executions failed in total")] if rest else result

    def open_points(self) -> list[Block]:
        """How the targets interpret what documents leave open."""
        rows: list[list[Inline]] = []
        for each in interpretations(self.record):
            model = "translated" if each.translated else "direct"
            cells = [each.variant, shortened(each.text, 200), model, str(each.executions)]
            if not (each.translated and self.is_brief):
                rows.append([code(each.target), code(each.point), *cells])
        headings = ["point", "variant", "interpretation", "model", "executions"]
        return [self._by_target(headings, rows, 5, "Open points")] if rows else []

    def policies(self) -> Block:
        """The interpretations by which results were judged."""
        texts = [(specs, ", ".join(map(" ".join, policies.items()))) for specs, policies in profiles(self.record)]
        return Facts([(", ".join(specs), text or "nothing left open") for specs, text in texts])

    def clauses(self) -> list[Block]:
        """What was executed of each document by clause; of many, those with most that do not conform."""
        executed, conforming = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for (_, spec), document in self._documents.items():
            for clause, counts in document.clauses.items():
                executed[spec, clause] += counts["executed"]
                conforming[spec, clause] += counts[Verdict.CONFORMS.value]
        if not executed:
            return []
        named = sorted((key for key in executed if key[1]), key=lambda key: conforming[key] - executed[key])
        shown = named[: None if self.everything else _MOST_CLAUSES] + [key for key in executed if not key[1]]
        rows: list[list[Inline]] = []
        for spec, clause in sorted(shown, key=lambda key: (self._order(("", key[0])), not key[1], key[1])):
            name = code(clause) if clause else "no clause named"
            rows.append([code(spec), name, str(executed[spec, clause]), str(conforming[spec, clause])])
        content: list[Block] = [Table(["document", "clause", "executions", "conform"], rows, frozenset((2, 3)))]
        if rest := len(executed) - len(shown):
            words = f"{plural(rest, 'other clause')} of these documents: fewer executions do not conform."
            content.append(Paragraph(f"{words} maxpool-check evidence trace --record lists all."))
        heading = "What was executed, by document and clause; a case may name several clauses"
        is_open = not self.report.totals[Verdict.ERROR] and all(each.is_inconsistency for each in self.report.findings)
        return [Folded(heading, content, is_open=is_open)]

    def conforming(self) -> list[Block]:
        """What conforms, by target and document: by clause, and the cases."""
        result: list[Block] = []
        for target, spec in sorted(self._documents, key=self._order):
            document = self._documents[target, spec]
            rows = [
                [clause or "(no clause named)", str(counts["compared"]), str(counts[Verdict.CONFORMS.value])]
                for clause, counts in sorted(document.clauses.items())
                if counts["compared"]
            ]
            if rows:
                where = f" on {target}" if len(self.targets) > 1 else ""
                words = f"{where}: {document.counts[Verdict.CONFORMS.value]} of {document.counts['compared']} executions conform; "
                words += f"{plural(document.conforming.count, 'case conforms', 'cases conform')} in every variant"
                table = Table(["clause", "executions", "conform"], rows, frozenset((1, 2)), label=f"Clauses of {spec}")
                names = [] if self.detail is Detail.PART else [document.conforming]
                result.append(Folded([Span(spec, strong=True), words], [table, *names], "conforming"))
        return result or [Paragraph("Nothing was compared.")]

    def faults(self) -> dict[str, list[Finding]]:
        """The defects, the inconsistencies, and what is refused as expected: other refusals fail the run."""
        parts: dict[str, list[Finding]] = {"defects": [], "inconsistencies": [], "refused": []}
        for finding in self.report.findings:
            is_refused = finding.is_refusal and not finding.is_unexpected
            name = "inconsistencies" if finding.is_inconsistency else "refused" if is_refused else "defects"
            parts[name].append(finding)
        return parts


def for_terminal(report: RunReport) -> Document:
    """The report on a terminal: what was tested, what is wrong, refused and not expressible, the result, what to do next."""
    view, header = RunView(report, Detail.TERMINAL), report.record.header
    results, others = view.verdicts()
    head: list[Block] = []
    for target in header.targets:
        opsets = f", operator sets to {target.newest_opset}" if target.newest_opset is not None else ""
        head.append(Paragraph([Span(target.name, strong=True), f"  {target.software()}{opsets}"]))
    head.append(view.policies())
    if (corpus := header.corpus) is not None and (report.in_full or corpus.version is not None):
        head.append(Paragraph(f"Corpus: {corpus}, {plural(corpus.cases, 'case')}, SHA-256 {corpus.sha256[:16]}"))
    head += [Facts(list(environment(header)))] if report.in_full else []
    head += [Paragraph(f"Tested: {report.tested}"), *results]
    unexpected = report.unexpected if report.in_full else report.unexpected[:_IN_FULL]
    expected = [finding for finding in report.findings if finding.is_expected]
    lists = {
        "Also unexpected": report.unexpected[len(unexpected) :],
        "Wrong on special values alone, which may never reach the node of the model": report.special,
        "Known defects": [each for each in expected if not (each.is_inconsistency or each.is_refusal)],
        "Inconsistent: the document allows each output, but variants differ": report.inconsistent,
        "Known inconsistencies": [each for each in expected if each.is_inconsistency],
    }
    tables = {heading: view.overview(findings) for heading, findings in lists.items() if findings}
    for name in view.targets:
        tables[f"Refused by {name}"] = view.refused(name)
        tables |= {view.heading(name, verdict): view.not_judged(name, verdict) for verdict in _NOT_JUDGED}
    in_full = view.drawn([*report.inconsistent, *expected] if report.in_full else [])
    tables["Unspecified behaviour"] = view.open_points()
    sections = [Section(heading, table) for heading, table in tables.items() if table]
    content = [*view.numbers(), *view.drawn(unexpected), *sections, *in_full, *view.errors(), *others]
    return Document("", "", head, content, list(filter(None, [next_step(report)])))


def for_markdown(report: RunReport) -> Document:
    """The report in Markdown, of at most :data:`MOST_BYTES` for each target unless everything is asked for."""
    view = RunView(report, Detail.MARKDOWN)
    left = MOST_BYTES * len(view.targets) - len(markdown.text(_document(view, 0)).encode())
    return _document(view, left // max(1, len(view.targets)))


def for_page(
    report: RunReport, detail: Detail = Detail.PAGE, pages: Callable[[str, str], str] | None = None
) -> Document:
    """The page of a run: everything, with filters; ``pages`` as of :class:`RunView`."""
    return _document(RunView(report, detail, pages))


def _document(view: RunView, budget: int = 0) -> Document:
    """The report with examples in so many bytes for each target, unless it shows everything."""
    report, texts, is_page = view.report, _texts(), view.detail.is_page
    results, problems = view.verdicts()
    points = view.open_points() or [Paragraph("No execution touched a point that its document leaves open.")]
    judged = Folded("The interpretations by which results were judged", [view.policies()])
    notes = [] if view.everything else [Paragraph(texts["cut"].format(everything=EVERYTHING))]
    content: list[Block] = [
        Section("Summary by severity", [*_summary(view), *notes], "summary", "Summary"),
        *filters([view.view_of(finding) for finding in report.findings]),
        *_faults(view, dict.fromkeys(view.targets, budget)),
        Section("Not compared with a document", _not_compared(view), "not-tested", "Not compared"),
        Section(texts["points"], [Paragraph(texts["open_points"]), *points, judged], "open-points", "Open points"),
        Section(
            "Conforming, by document and clause",
            view.conforming() if is_page else view.clauses(),
            "conforming",
            "Conforming",
        ),
        Section("Environment, digests, command line", _setting(view), "environment", "Environment"),
    ]
    title = ", ".join(view.targets)
    return Document(
        "MaxPool conformance",
        title if is_page else f"MaxPool on {shortened(title, 300)}",
        [*results, *_facts(report), *problems],
        content,
    )


def _facts(report: RunReport) -> list[Block]:
    """What the result means, and what was tested."""
    header, label, wrong = report.record.header, report.result[0], report.compared - report.conforming
    outcome = f"{label}: {_texts()['meanings'][label]} (exit code {int(report.exit_code)})."
    outcome += f" {plural(wrong, 'compared execution')} {'does' if wrong == 1 else 'do'} not conform." if wrong else ""
    compared = f"{report.tested}: {report.compared} were compared with a document bit by bit"
    others = [f"{report.totals[each]} {each.value}" for each in report.verdicts if each not in COMPARED]
    facts = [
        ("tested", "; ".join(target.about for target in header.targets)),
        ("with", ", ".join([compared, *others])),
        ("documents", ", ".join(header.profile)),
        ("date", header.started[:10]),
    ]
    return [Paragraph(outcome), Facts(facts)]


def _faults(view: RunView, budgets: dict[str, int]) -> Iterator[Section]:
    """What is wrong, inconsistent and refused: all of it in a table, and examples."""
    targets = ", ".join(view.targets)
    for name, findings in view.faults().items():
        heading, short, about, none = _texts()["faults"][name]
        if name != "refused" or view.detail.is_page:
            drawn = view.drawn(findings, budgets)
            shown = [*view.overview(findings, drawn), *drawn] if findings else []
        else:
            shown = view.refused(targets) if len(view.targets) == 1 else []
            for target in view.targets if len(view.targets) > 1 else ():
                shown += [blocks.Heading(3, target), *reasons] if (reasons := view.refused(target)) else []
            shown += view.drawn(findings) if view.everything else []
        yield Section(f"{heading} {targets}", [Paragraph(about if shown else none), *shown], name, short, len(findings))


def _summary(view: RunView) -> list[Block]:
    """The numbers, and what the words mean."""
    severities = [(severity.value, severity.meaning) for severity in view.report.severities]
    balance = Paragraph(f"{view.report.balance}. {_texts()['balance' if severities else 'nothing_wrong']}")
    result = [*view.numbers(), balance]
    if view.detail.is_page or len(view.record.header.profile) > 1:
        result += [blocks.Heading(3, "By document, in numbers of executions"), *view.by_document()]
    words = Folded("What the words mean", [Facts([*_texts()["words"].items(), *severities])])
    return [*result, words] if view.detail.is_page else result


def _not_compared(view: RunView) -> list[Block]:
    """What was not compared with a document, by verdict and reason."""
    result: list[Block] = []
    for verdict in _NOT_JUDGED:
        for target in view.targets:
            if reasons := view.not_judged(target, verdict):
                total = plural(view.report.counts[target][verdict], "execution")
                result += [blocks.Heading(3, f"{view.heading(target, verdict)}: {total}"), *reasons]
    result = result or [Paragraph("Every case was executed and compared with its document.")]
    if errors := view.errors():
        result += [blocks.Heading(3, _texts()["errors"]), *errors]
    return [Paragraph(_texts()["setting"]), *result]


def _setting(view: RunView) -> list[Block]:
    """What the run was made with; on a page, its command line, too."""
    header, facts = view.record.header, Facts(list(environment(view.record.header)))
    if not view.detail.is_page:
        return [facts]
    command = [blocks.Command(shlex.join(header.command), "repeat the run")] if header.command else []
    return [facts, *command, Paragraph(_texts()["command" if command else "no_command"])]


def write_text(report: RunReport, file: TextIO) -> None:
    """Write the report of a terminal."""
    terminal.write(for_terminal(report), file, report.width, color=report.color, everything=report.in_full)


def write_markdown(report: RunReport, file: TextIO) -> None:
    """Write the report in Markdown."""
    markdown.write(for_markdown(report), file)


def write_html(report: RunReport, file: TextIO) -> None:
    """Write the page."""
    html.write(for_page(report), file)
