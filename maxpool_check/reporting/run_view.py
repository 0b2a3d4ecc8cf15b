"""The report of a run as blocks: faults first, what is new, then what is known; then numbers, reasons and the environment."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any

import yaml

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.faults import Fault, alike, by_name, cases_of
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Folded, Inline, Paragraph, Section, Span, Table, code
from maxpool_check.reporting.fault_view import FaultView
from maxpool_check.reporting.matrix import fault_of
from maxpool_check.reporting.provenance import environment, interpretations, profiles
from maxpool_check.reporting.reruns import can_start, explain_again, next_step
from maxpool_check.reporting.run_report import Failure, RunReport
from maxpool_check.results.record import COMPARED, GIVEN_UP, Execution, ExitCode, Verdict
from maxpool_check.results.result import Result
from maxpool_check.words import Term, plural, shortened, some

MOST_REASONS = 12
"""A table has a row for each of so many reasons for each target; the rarer ones are counted together."""

EVERYTHING = "maxpool-check report RECORD --report markdown -v"
"""The command that draws an example of everything, and lists all cases."""

_IN_FULL = 6  # Faults of each target; the others take a line each.
_MOST_ROWS = 60  # Of a table of faults; a target that is wrong in more ways is wrong altogether.
_WIDTH = 120  # Messages that begin alike are one reason.
_GENERAL = (Result.CONFORMS, Result.CONFORMS_ON_FINITE_VALUES, Result.DEVIATES_AS_KNOWN, Result.UNEXPECTED)
"""The results that the numbers beside them make precise, so that a page explains the word."""

_MOST_KNOWN, _MOST_PROBLEMS = 10, 6  # On a screen.

# On a screen, the new faults come first; then a drawing of the first, and what is known; then drawings of the others.
_NEW, _KNOWN = (0, 10, 11, 12, 13), {"defects": 20, "inconsistencies": 30, "refused": 40}
_DRAWN = dict(zip(_NEW, (14, 51, 52, 53, 54), strict=True))
_FEW = 2
"""The rows of known defects that are always shown."""


@cache
def _texts() -> Mapping[str, Any]:
    """What the report says beside its numbers."""
    table: dict[str, Any] = yaml.safe_load(resources.files(__package__).joinpath("run_texts.yaml").read_bytes())
    return table


class Form(Term):
    """How the cases were executed that show an interpretation."""

    DIRECT = "direct", "the target takes the attributes of the document as they are"
    TRANSLATED = "translated", "the case was translated to attributes that the target takes and that mean the same"


class RunView:
    """What a report of a run shows, computed in one pass over its executions.

    On a site, ``pages`` gives the address of a page by its folder and name.
    """

    def __init__(self, report: RunReport, pages: Callable[[str, str], str] | None = None) -> None:
        self.report, self.record, self.pages = report, report.record, pages
        self.targets = [target.name for target in self.record.header.targets]
        self._documents: dict[tuple[str, str], Counter[Verdict]] = defaultdict(Counter)
        self._conforming: dict[tuple[str, str], blocks.Names] = defaultdict(blocks.Names)
        self._reasons: dict[tuple[str, str, str], blocks.Names] = defaultdict(blocks.Names)
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
            if each.verdict not in (*COMPARED, Verdict.ERROR):
                self._reason(each, each.verdict.value).add(each.case)
        compared = {each.verdict for each in executions if each.verdict in COMPARED}
        if compared == {Verdict.CONFORMS}:
            self._conforming[executions[0].target, executions[0].spec].add(executions[0].case)

    def _reason(self, execution: Execution, word: str) -> blocks.Names:
        """The cases that were not compared, or refused, for the same reason."""
        text = " ".join(execution.message.split())
        if execution.verdict is Verdict.UNDEFINED and not execution.digests:
            text = f"refused, which the document leaves open as well: {text}"
        return self._reasons[execution.target, word, shortened(text, _WIDTH, end=False)]

    def view_of(self, fault: Fault) -> FaultView:
        """A fault."""
        similar = alike(fault, self.report.known) if fault.is_unexpected else []
        return FaultView(fault, self.record.header, similar=similar, pages=self.pages)

    def head(self) -> list[Block]:
        """The result of the run with its numbers, what was tested, and what is wrong with the run itself."""
        report = self.report
        label, sentence = report.result
        meaning = ""
        if label in _GENERAL and (report.unexpected or report.passed):
            meaning = Result(label).whole_sentence.rstrip(".") + f"; {report.repaired}" * bool(report.repaired) + "."
        known = sum(fault.is_expected for fault in report.accepted)
        share = f"{100 * report.totals[Verdict.CONFORMS] // report.compared} %" if report.compared else "-"
        numbers = [(str(len(report.unexpected)), "new"), (str(known), "known"), (share, "conform")]
        numbers = [] if label == Result.INCOMPLETE else numbers
        result = blocks.Verdict(label, sentence, report.tone, numbers, meaning)
        wrong: list[Block] = [Paragraph(line, "problem") for line in some(problems(report), _MOST_PROBLEMS)]
        for failure in report.failures[:_MOST_PROBLEMS]:
            wrong += _failed(failure)
        if more := len(report.failures[_MOST_PROBLEMS:]):
            wrong.append(Paragraph(f"and {more} more messages of executions that failed: {EVERYTHING}", "problem"))
        stale = [(each.problem, each.message.splitlines()[1:]) for each in report.outdated]
        listed = [blocks.Lines([first, *rest], rank=blocks.WHOLE) for first, rest in stale if rest]
        return [result, *self.facts(), *wrong, *listed]

    def facts(self) -> list[Block]:
        """What was tested, and how much of it is new, known and right."""
        report, header = self.report, self.record.header
        facts: list[tuple[str, Inline]] = [(each.name, each.software()) for each in header.targets]
        facts += [(each.name, f"decides {each.decides} only") for each in header.targets if each.decides != "values"]
        time = f" in {report.seconds:.0f} s" if report.seconds else ""
        facts.append(("Tested", f"{report.tested}{time}, {header.started[:10]}, exit code {int(report.exit_code)}"))
        several = len(report.parts) > 1
        facts += [(f"Part, {part.target}" if several else "Part", part.words) for part in report.parts]
        facts += [(f"Kit, {kit.target}" if len(report.kits) > 1 else "Kit", kit.words) for kit in report.kits]
        corpus = [("Corpus", f"{of}, {plural(of.cases, 'case')}")] if (of := header.corpus) is not None else []
        tested: list[Block] = [blocks.Facts(facts), blocks.Facts(corpus, rank=blocks.WHOLE)]
        if not report.compared:
            return tested
        count = len(report.unexpected)
        new = Span(plural(count, "new fault"), strong=True, tone="bad") if count else "0 new"
        known, balance = ", ".join(report.counted) or "0 known", ", ".join([report.balance, *report.apart])
        return [*tested, Paragraph([new, f", {known}; {balance}"])]

    def numbers(self) -> Table:
        """The executions by target, document and verdict."""
        report = self.report
        verdicts = [verdict for verdict in Verdict if verdict is Verdict.CONFORMS or report.totals[verdict]]
        by_verdict: list[list[Inline]] = []
        for target in self.targets:
            by_verdict.append([code(target), *(str(report.counts[target][verdict]) for verdict in verdicts)])
            documents = [spec for spec in self.record.header.profile if (target, spec) in self._documents]
            for spec in documents if len(documents) > 1 else ():
                name: list[str | Span] = ["by ", Span(spec, page=f"#search={spec}")]
                numbers = (self._documents[target, spec][verdict] for verdict in verdicts)
                by_verdict.append([name, *(str(number or "") for number in numbers)])
        right = frozenset(range(1, len(verdicts) + 1))
        headings, label = ["target", *map(str, verdicts)], "Executions by target and verdict"
        return Table(headings, by_verdict, right, label, rank=blocks.SUMMARY)

    def overview(self, faults: Sequence[Fault], drawn: Sequence[blocks.Card], first: int) -> Table:
        """A row for each defect, with its number of cases on each target, which links to the card of its fault.

        ``first`` is the rank of the first row.
        """
        grouped = by_name(faults)
        if len(self.targets) > 1:
            grouped.sort(key=lambda same: (_worst(same).rank, -len(cases_of(same))))
        anchors = {block.anchor for block in drawn if block.rank < blocks.WHOLE}
        rows: list[list[Inline]] = []
        for same in grouped:
            fault, severity, defect = same[0], _worst(same), same[0].defect
            title = self.view_of(fault).title if defect is not None else fault.example.case
            links = {each.target: f"#{self.view_of(each).anchor}" for each in same}
            shown = [link for link in links.values() if link[1:] in anchors]
            numbers: list[Inline] = []
            for target in self.targets:
                own = cases_of([each for each in same if each.target == target])
                numbers.append(Span(str(len(own) or ""), page=links.get(target, "") if len(self.targets) > 1 else ""))
            name = Span(fault.name, code=True, href=shown[0] if shown else "", page=next(iter(links.values())))
            advice = defect.advice if defect is not None else ""
            rows.append([Span(severity.value, tone=severity.value), name, title, *numbers, advice])
        of_targets = self.targets if len(self.targets) > 1 else ["cases"]
        headings = ["severity", "defect", "what is wrong", *of_targets, "do"]
        numbers_of_targets = frozenset(range(3, 3 + len(self.targets)))
        runtimes = dict.fromkeys(name.partition("==")[0] for name in self.targets)
        listing = f"maxpool-check defects list {' '.join(runtimes)}"
        more = "more: -v" if any(":" in name for name in runtimes) else f"more: {listing}"
        ranks = [
            first + number if number < _MOST_KNOWN else blocks.SUMMARY if number < _MOST_ROWS else blocks.WHOLE
            for number in range(len(rows))
        ]
        if first == _KNOWN["defects"]:
            ranks[:_FEW] = [blocks.ALWAYS] * len(ranks[:_FEW])
        return Table(
            headings,
            rows,
            right=numbers_of_targets,
            label="Defects",
            name="overview",
            ranks=ranks,
            more=more,
            wide=frozenset({0}),
            each=numbers_of_targets,
            rank=min(ranks),
        )

    def faults(self) -> Iterator[Section]:
        """What is new, known, inconsistent and refused, in tables, and as far as there is room in full."""
        parts: dict[str, list[Fault]] = {"new": [], "defects": [], "inconsistencies": [], "refused": []}
        for fault in self.report.faults:
            name = "inconsistencies" if fault.is_inconsistency else "refused" if fault.is_refusal else "defects"
            parts["new" if fault.is_unexpected else name].append(fault)
        left, names = dict.fromkeys(self.targets, _IN_FULL), set[str]()
        for part, faults in parts.items():
            drawn = []
            for number, fault in enumerate(faults):
                left[fault.target] -= 1
                # The worst of each target comes first.
                rank = blocks.REPORT + _IN_FULL - left[fault.target] if left[fault.target] >= 0 else blocks.WHOLE
                if part == "new":
                    is_first = fault.name not in names and len(names) < len(_NEW)
                    rank = _NEW[len(names)] if is_first else blocks.SUMMARY + min(number, 99)
                    names.add(fault.name)
                card = self.view_of(fault).block(rank, _DRAWN.get(rank, blocks.SUMMARY))
                others = [each.target for each in faults if each.name == fault.name and each is not fault]
                also = [Paragraph(f"The same on {', '.join(others)}.")] if others else []
                drawn.append(replace(card, blocks=[*also, *card.blocks]))
            if not faults:
                yield from self.part(part, [], 0)
                continue
            is_limit = all(fault.severity is Severity.LIMIT for fault in faults)
            first = blocks.SUMMARY if part == "new" or is_limit else _KNOWN[part]
            table = self.overview(faults, drawn, first)
            note = Paragraph(f"{EVERYTHING} shows each of them in full.", rank=blocks.REPORT)
            notes = [note] if any(card.rank == blocks.WHOLE for card in drawn) else []
            # As few new faults as these are a list of their own.
            is_listed = part != "new" or len(faults) > _IN_FULL * len(self.targets)
            content = [*([table] if is_listed else []), *notes, *drawn]
            yield from self.part(part, content, len(faults))

    def reasons(self) -> list[Block]:
        """Why executions were refused, not executed or not judged, the most frequent reason first."""
        order = sorted(self._reasons.items(), key=lambda item: (-item[1].added, item[0]))
        if not order:
            return []
        rows: list[list[Inline]] = [
            [code(target), word, text, str(names.added), str(names.count), code(names.first)]
            for (target, word, text), names in order
        ]
        most = MOST_REASONS * max(1, len(self.targets))
        ranks = [blocks.REPORT if number < most else blocks.WHOLE for number in range(len(rows))]
        table = self._by_target(["what", "reason", "executions", "cases", "example"], rows, 3, "Reasons")
        folds: list[Block] = []
        for (target, word, text), names in order:
            about = f" ({target}), {plural(names.count, 'case')}: {text}"
            folds.append(Folded([Span(word, strong=True), about], [blocks.Cases(names)], rank=blocks.PAGE))
        return [replace(table, ranks=ranks, more=f"more, rarer: {EVERYTHING}"), *folds]

    def _by_target(self, headings: Sequence[str], rows: Sequence[Sequence[Inline]], texts: int, label: str) -> Table:
        """A table of rows that begin with a target, left out if there is one alone; numbers begin behind ``texts`` columns."""
        first = len(self.targets) == 1
        numbers = [number for number, heading in enumerate(headings, 1) if number >= texts and heading != "example"]
        right = frozenset(number - first for number in numbers)
        return Table(["target", *headings][first:], [row[first:] for row in rows], right, label=label)

    def tracebacks(self) -> list[Block]:
        """More on the first executions that failed in a way that says nothing about the target."""
        result: list[Block] = []
        for first in [failure.example for failure in self.report.failures][:3]:
            # The head has the first line of the message.
            lines = [*first.message.splitlines()[1:], *first.traceback.splitlines()]
            about = f"{first.case} ({first.variant}) on {first.target}:"
            result += [Paragraph(about), blocks.Lines(lines, "Traceback")] if lines else []
        return result

    def open_points(self) -> list[Block]:
        """How the targets interpret what documents leave open, and how results were judged."""
        rows: list[list[Inline]] = []
        for each in interpretations(self.record):
            form = Form.TRANSLATED if each.translated else Form.DIRECT
            cells = [each.variant, shortened(each.text, 200), form.value, str(each.executions)]
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
            folds.append(Folded([Span(spec, strong=True), words], [blocks.Cases(names)], "conforming"))
        return folds

    def part(
        self, name: str, content: Sequence[Block], number: int | None = None, rank: int = blocks.ALWAYS
    ) -> list[Section]:
        """A part of the report; only a page has those without content, and says what each is about."""
        title, short, about, none = _texts()["parts"][name]
        note = Paragraph(about if content else none, rank=blocks.PAGE)
        more = "more new: -v" if name == "new" else ""
        return [Section(title, [note, *content], name, short, number, more, rank=rank if content else blocks.PAGE)]

    def summary(self) -> list[Block]:
        """The numbers, and what the words mean."""
        occurring = {fault.severity for fault in self.report.faults}
        severities = [(severity.value, severity.whole_sentence) for severity in Severity if severity in occurring]
        facts = blocks.Facts([*_texts()["words"].items(), *severities])
        balance = Paragraph(_texts()["balance" if severities else "nothing_wrong"], rank=blocks.REPORT)
        return [balance, self.numbers(), Folded("What the words mean", [facts], rank=blocks.PAGE)]

    def setting(self) -> list[Block]:
        """What the run was made with; on a page, its command line, too."""
        header = self.record.header
        again = blocks.Command(shlex.join(header.command), "repeat the run", rank=blocks.PAGE)
        note = Paragraph(_texts()["command" if header.command else "no_command"], rank=blocks.PAGE)
        facts = blocks.Facts([("documents", ", ".join(header.profile)), *environment(header)])
        return [facts, *([again] if header.command else []), note]


def _failed(failure: Failure) -> Iterator[Block]:
    """Executions that failed, with the command that executes the smallest again."""
    yield Paragraph(f"{plural(len(failure.executions), 'execution')} failed: {failure.message}", "problem")
    if not failure.message.startswith(GIVEN_UP):
        yield blocks.Command(shlex.join(explain_again(failure.example)), "execute one of them again")


def problems(report: RunReport) -> list[str]:
    """What is wrong with the run itself, and which known defects are to be removed, as lines."""
    lines = [line for problem in report.problems for line in problem.splitlines()]
    # The result begins with the first.
    lines = lines[report.result[0] == Result.INCOMPLETE :]
    return lines + [each.problem for each in report.outdated]


def following(report: RunReport) -> Iterator[str]:
    """What to type next, and how to test a model on the same runtime."""
    if step := next_step(report):
        yield step
    has_ended = report.exit_code in (ExitCode.AS_EXPECTED, ExitCode.UNEXPECTED) and report.record.header.corpus
    for target in report.record.header.targets[:1] if has_ended else ():
        if target.newest_opset is not None and target.computes and can_start(target.name):
            yield f"Your model?  {shlex.join(['maxpool-check', 'model', 'my.onnx', '-t', target.name])}"


def _worst(faults: Sequence[Fault]) -> Severity:
    return min((fault.severity for fault in faults), key=lambda severity: severity.rank)


def document(report: RunReport, pages: Callable[[str, str], str] | None = None) -> Document:
    """The report of a run; ``pages`` as of :class:`RunView`."""
    view = RunView(report, pages)
    content: list[Block] = [
        *([blocks.Search(rank=blocks.PAGE)] if report.faults else []),
        *view.faults(),
        Section("In numbers", view.summary(), "summary", "Numbers", rank=blocks.SUMMARY),
        *view.part("not-tested", [*view.reasons(), *view.tracebacks()], rank=blocks.REPORT),
        *view.part("open-points", view.open_points(), rank=blocks.REPORT),
        *view.part("conforming", view.conforming(), rank=blocks.PAGE),
        *view.part("environment", view.setting(), rank=blocks.REPORT),
    ]
    title = shortened(f"MaxPool on {', '.join(view.targets)}", 300)
    return Document("MaxPool conformance", title, view.head(), content, [*following(report)])
