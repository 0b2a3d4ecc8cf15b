"""The report of a run as blocks: faults first, what is new, then what is known; then numbers, reasons and the environment.

A page and a terminal that shows all have every fault in full, Markdown the first ones; the others are rows of a table.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any

import yaml

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault, by_name, cases_of
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Folded, Inline, Paragraph, Section, Span, Table, code
from maxpool_check.reporting.fault_view import FaultView
from maxpool_check.reporting.matrix import fault_of
from maxpool_check.reporting.provenance import environment, interpretations, profiles
from maxpool_check.reporting.run_report import RunLabel, RunReport
from maxpool_check.reporting.run_screen import closing, problems
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import COMPARED, Execution, Verdict
from maxpool_check.words import plural, shortened

MOST_REASONS = 12
"""A table has a row for each of so many reasons for each target; the rarer ones are counted together."""

EVERYTHING = "maxpool-check report RECORD --report markdown --cases"
"""The command that draws an example of everything, and lists all cases."""

_IN_FULL = 6  # Faults of each target; the others take a line each.
_MOST_ROWS = 60  # Of a table of faults; a target that is wrong in more ways is wrong altogether.
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
        self.everything = report.cases or form in (Form.HTML, Form.TEXT)
        self.targets = [target.name for target in self.record.header.targets]
        self._documents: dict[tuple[str, str], Counter[Verdict]] = defaultdict(Counter)
        self._conforming: dict[tuple[str, str], blocks.Names] = defaultdict(blocks.Names)
        self._reasons: dict[tuple[str, str, str], blocks.Names] = defaultdict(blocks.Names)
        self._failed: dict[tuple[str, str], Execution] = {}
        # The variants of a case follow each other.
        for _, executions in groupby(self.record.executions, lambda each: (each.target, each.case)):
            self._add(list(executions))
        new = [(each, fault_of(each, of)) for of in report.faults if of.defect is None for each in of.executions]
        for each, word in sorted(new, key=lambda item: item[0].case):
            if each.verdict is Verdict.REFUSES:
                self._reason(each, word).add(each.case)

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

    def _reason(self, execution: Execution, word: str) -> blocks.Names:
        """The cases that were not compared, or refused, for the same reason."""
        text = " ".join(execution.message.split())
        if execution.verdict is Verdict.UNDEFINED and not execution.digests:
            text = f"refused, which the document leaves open as well: {text}"
        text = text if self.form.is_page else shortened(text, _WIDTH, end=False)
        return self._reasons[execution.target, word, text]

    def view_of(self, fault: Fault) -> FaultView:
        """A fault, in this form."""
        everything = self.report.cases or self.form.is_page
        return FaultView(fault, self.record.header, self.form, everything, pages=self.pages)

    def verdicts(self) -> tuple[list[Block], list[Block]]:
        """The result of the run with its numbers, and what else is wrong with the run itself."""
        report = self.report
        label, text = report.result
        if label in _texts()["meanings"] and (report.unexpected or report.passed):
            meaning = f"{_texts()['meanings'][label]}{f'; {report.repaired}' * bool(report.repaired)}"
            text = meaning[:1].upper() + meaning[1:]
        known = sum(fault.is_expected for fault in report.accepted)
        share = f"{100 * report.totals[Verdict.CONFORMS] // report.compared} %" if report.compared else "-"
        numbers = [(str(len(report.unexpected)), "new"), (str(known), "known"), (share, "conform")]
        numbers = [] if label == RunLabel.INCOMPLETE else numbers
        result: list[Block] = [blocks.Verdict(label, f"{text}.", report.tone, numbers)]
        return result, [Paragraph(line, "problem") for line in problems(report)]

    def numbers(self) -> list[Block]:
        """The executions by target, document and verdict."""
        report = self.report
        verdicts = [verdict for verdict in Verdict if verdict is Verdict.CONFORMS or report.totals[verdict]]
        by_verdict: list[list[Inline]] = []
        for target in self.targets:
            by_verdict.append([code(target), *(str(report.counts[target][verdict]) for verdict in verdicts)])
            documents = [spec for spec in self.record.header.profile if (target, spec) in self._documents]
            for spec in documents if len(documents) > 1 else ():
                name: list[str | Span] = ["by ", Span(spec, href=f"#search={spec}" if self.form.is_page else "")]
                numbers = (self._documents[target, spec][verdict] for verdict in verdicts)
                by_verdict.append([name, *(str(number or "") for number in numbers)])
        right = frozenset(range(1, len(verdicts) + 1))
        return [Table(["target", *map(str, verdicts)], by_verdict, right, "Executions by target and verdict")]

    def overview(self, faults: Sequence[Fault], drawn: Sequence[blocks.Card] = ()) -> list[Block]:
        """A row for each defect, with its number of cases on each target, which links to what is drawn; and what is left out."""
        grouped = by_name(faults)
        if len(self.targets) > 1:
            grouped.sort(key=lambda alike: (_worst(alike).rank, -len(cases_of(alike))))
        shown = grouped[: None if self.everything else _MOST_ROWS]
        anchors = {block.anchor for block in drawn}
        rows: list[list[Inline]] = []
        for alike in shown:
            first, severity, defect = alike[0], _worst(alike), alike[0].defect
            title = self.view_of(first).title if defect is not None else first.smallest.case
            # The first that is drawn, and on each target the first that is drawn there.
            links = [(fault, anchor) for fault in alike if (anchor := self.view_of(fault).anchor) in anchors]
            numbers: list[Inline] = []
            for target in self.targets:
                own = cases_of([fault for fault in alike if fault.target == target])
                link = next((anchor for fault, anchor in links if fault.target == target), "")
                # In Markdown, lines would become too long.
                is_link = link and len(self.targets) > 1 and self.form.is_page
                numbers.append(Span(str(len(own)), href=f"#{link}") if is_link else str(len(own) or ""))
            name = Span(first.name, code=True, href=f"#{links[0][1]}" if links else "")
            advice = defect.advice if defect is not None else ""
            rows.append([Span(severity.value, tone=severity.value), name, title, *numbers, advice])
        of_targets = self.targets if len(self.targets) > 1 else ["cases"]
        headings = ["severity", "defect", "what is wrong", *of_targets, "do"]
        right = frozenset(range(3, 3 + len(self.targets)))
        table = Table(headings, rows, right, "Defects", "overview")
        count = sum(map(len, shown))
        note = f"{plural(len(faults), 'fault')}: {count} in the table, {len(drawn)} in full; {EVERYTHING} shows all."
        return [table, Paragraph(note)] if len(drawn) < len(faults) else [table]

    def faults(self) -> Iterator[Section]:
        """What is new, known, inconsistent and refused: what is not in full is a row."""
        parts: dict[str, list[Fault]] = {"new": [], "defects": [], "inconsistencies": [], "refused": []}
        for fault in self.report.faults:
            name = "inconsistencies" if fault.is_inconsistency else "refused" if fault.is_refusal else "defects"
            parts["new" if fault.is_unexpected else name].append(fault)
        left = dict.fromkeys(self.targets, _IN_FULL)
        for name, faults in parts.items():
            in_full = []
            for fault in faults:
                if self.everything or left[fault.target] > 0:
                    left[fault.target] -= 1
                    in_full.append(fault)
            drawn = [self.view_of(fault).block() for fault in in_full]
            table = self.overview(faults, drawn) if len(drawn) < len(faults) or name != "new" else []
            yield from self.part(name, [*table, *drawn] if faults else [], len(faults))

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
            text = f"{len(rest)} rarer reasons, which {EVERYTHING} lists"
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
        """How the targets interpret what documents leave open, and how results were judged."""
        rows: list[list[Inline]] = []
        for each in interpretations(self.record):
            model = "translated" if each.translated else "direct"
            cells = [each.variant, shortened(each.text, 200), model, str(each.executions)]
            rows.append([code(each.target), code(each.point), *cells])
        headings = ["point", "variant", "interpretation", "model", "executions"]
        table: list[Block] = [self._by_target(headings, rows, 5, "Open points")] if rows else []
        texts = [(specs, ", ".join(map(" ".join, policies.items()))) for specs, policies in profiles(self.record)]
        return [*table, blocks.Facts([(", ".join(specs), text or "nothing left open") for specs, text in texts])]

    def conforming(self) -> list[Block]:
        """The cases that conform, by target and document."""
        folds: list[Block] = []
        for (target, spec), names in self._conforming.items():
            words = f" on {target}: {plural(names.count, 'case conforms', 'cases conform')} in every variant"
            folds.append(Folded([Span(spec, strong=True), words], [names], "conforming"))
        return folds

    def part(self, name: str, content: Sequence[Block], number: int | None = None) -> list[Section]:
        """A part of the report; only a page has those without content, and says what each is about."""
        title, short, about, none = _texts()["parts"][name]
        if not content and (name == "new" or not self.form.is_page):
            return []
        notes = [Paragraph(about if content else none)] if self.form.is_page else []
        return [Section(title, [*notes, *content], name, short, number)]

    def facts(self) -> list[Block]:
        """What was tested."""
        facts: list[tuple[str, Inline]] = [(each.name, each.software()) for each in self.record.header.targets]
        tested = f"{self.report.tested}, {self.record.header.started[:10]}, exit code {int(self.report.exit_code)}"
        if (corpus := self.record.header.corpus) is not None and self.form is Form.TEXT:
            facts.append(("Corpus", f"{corpus}, {plural(corpus.cases, 'case')}"))
        return [blocks.Facts([*facts, ("Tested", tested)])]

    def summary(self) -> list[Block]:
        """The numbers, and what the words mean."""
        occurring = {fault.severity for fault in self.report.faults}
        severities = [(severity.value, severity.meaning) for severity in Severity if severity in occurring]
        words = Folded("What the words mean", [blocks.Facts([*_texts()["words"].items(), *severities])])
        balance = _texts()["balance" if severities else "nothing_wrong"]
        counted = ", ".join([self.report.balance, *self.report.apart])
        return [Paragraph(f"{counted}. {balance}"), *self.numbers(), *([words] if self.form.is_page else [])]

    def setting(self) -> list[Block]:
        """What the run was made with; on a page, its command line, too."""
        header = self.record.header
        command = [blocks.Command(shlex.join(header.command), "repeat the run")] if header.command else []
        note = Paragraph(_texts()["command" if command else "no_command"])
        facts = [("documents", ", ".join(header.profile)), *environment(header)]
        return [blocks.Facts(facts), *([*command, note] if self.form.is_page else [])]


def _worst(faults: Sequence[Fault]) -> Severity:
    return min((fault.severity for fault in faults), key=lambda severity: severity.rank)


def document(report: RunReport, form: Form, pages: Callable[[str, str], str] | None = None) -> Document:
    """The whole report of a run in a form; ``pages`` as of :class:`RunView`."""
    view = RunView(report, form, pages)
    results, others = view.verdicts()
    content: list[Block] = [
        *([blocks.Search()] if form.is_page and report.faults else []),
        *view.faults(),
        Section("In numbers", view.summary(), "summary", "Numbers"),
        *view.part("not-tested", [*view.reasons(), *view.tracebacks()]),
        *view.part("open-points", view.open_points()),
        *(view.part("conforming", view.conforming()) if form.is_page else []),
        *view.part("environment", view.setting()),
    ]
    title = ", ".join(view.targets)
    if form is Form.TEXT:
        verdict, following = closing(report)
        return Document("", title, [verdict, *view.facts()], [*content, *others], following)
    title = title if form.is_page else f"MaxPool on {shortened(title, 300)}"
    return Document("MaxPool conformance", title, [*results, *view.facts(), *others], content)
