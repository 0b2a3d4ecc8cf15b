"""A fault as blocks: what is wrong, its example with the window drawn, how to repeat it, its cases."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from maxpool_check.judging.faults import Fault
from maxpool_check.judging.kinds import DESCRIPTIONS, sentence
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Inline, Paragraph, Span, code, slug
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.reruns import commands
from maxpool_check.results.record import Execution, RunHeader
from maxpool_check.words import plural, shortened

MOST_ROWS = 900
"""The most cases of a fault that a page lists in rows; the number of all is always there."""

_BRIEF = 300
"""Of a refusal, and of more cases than these, the rows have no titles and messages."""

_MOST_KINDS, _MOST_ON_SCREEN = 8, 2
_LONGEST = 300
"""A longer title is cut: all of it is in the record."""


@dataclass(frozen=True)
class FaultView:
    """A fault of the run with this header.

    ``label`` stands for its status, ``notes`` say more of it; ``similar`` are the known defects that it looks like. On a site, ``pages``
    gives the address of a page by its folder and name.
    """

    fault: Fault
    header: RunHeader
    label: str = ""
    notes: Sequence[Inline] = ()
    similar: Sequence[str] = ()
    pages: Callable[[str, str], str] | None = None

    @property
    def anchor(self) -> str:
        """The id of its element."""
        return slug(f"fault-{self.fault.target}-{self.fault.status}-{self.fault.name}")

    @property
    def title(self) -> str:
        """The title of the defect, or what the kinds mean."""
        return shortened(self.fault.title, _LONGEST, end=False)

    def block(self, rank: int = blocks.ALWAYS, drawn: int = blocks.SUMMARY) -> blocks.Card:
        """All of it with a rank; ``drawn`` is the rank of the drawing of its example on a screen."""
        fault = self.fault
        severity = Span(fault.severity.value, tone=fault.severity.value)
        tone = "unexpected" if fault.is_unexpected else "known"
        badges = [Span(self.label or fault.label, strong=fault.is_unexpected, tone=tone), severity]
        title: list[str | Span] = [Span(fault.name, code=True)]
        if fault.defect is not None and fault.defect.title:
            title.append(f": {self.title}")
        data = {
            "target": fault.target,
            "severity": fault.severity.value,
            "kinds": " ".join(fault.kinds),
            "name": fault.name,
        }
        first, *others = (blocks.Command(text, about) for about, text in commands(fault.example, self.header))
        again = [replace(first, rank=blocks.SUMMARY), *(replace(each, rank=blocks.PAGE) for each in others)]
        content = [*self._about(), *self._example(drawn), *self._references(), *again, self._cases()]
        amount = f"{plural(len(fault.cases), 'case')}{' such as' if len(fault.cases) > 1 else ':'} "
        executions = f", in {plural(len(fault.executions), 'execution')} on "
        about: list[str | Span] = [amount, code(fault.example.case), executions, code(fault.target)]
        return blocks.Card(self.anchor, title, badges, about, content, data, rank=rank)

    def _about(self) -> Iterator[Block]:
        """What to do; why it happens, if it is reviewed, otherwise what its kinds mean; what else is known of it."""
        fault, defect = self.fault, self.fault.defect
        more = blocks.SUMMARY if self.notes else blocks.ALWAYS
        if defect is not None:
            fixed = [Paragraph(Span(f"Repaired in {defect.fixed}: upgrade.", strong=True))] if defect.fixed else []
            remedy = [Paragraph(Span(f"To avoid it: {defect.remedy}.", strong=True))] if defect.remedy else []
            yield from (replace(each, rank=more) for each in (*fixed, *remedy))
        yield from map(Paragraph, self.notes)
        if defect is not None and defect.reason:
            yield Paragraph(" ".join(defect.reason.split()), rank=blocks.SUMMARY)
        else:
            for number, kind in enumerate(fault.example_kinds[:_MOST_KINDS]):
                yield Paragraph(sentence(kind), rank=more if number < _MOST_ON_SCREEN else blocks.SUMMARY)
        yield from map(Paragraph, fault.notices)
        if self.similar:
            yield Paragraph(f"It looks like {' or '.join(self.similar)}, which is not expected here.")
        notes: list[Inline] = [fault.explanation] if defect is None and fault.explanation else []
        if defect is not None and defect.issue:
            is_link = re.fullmatch(r"https://[\w./?#&=%~+-]+", defect.issue)
            notes.append(["Upstream: ", Span(defect.issue, href=defect.issue if is_link else "")])
        variants = Counter(execution.variant for execution in fault.executions)
        if len(variants) > 1:
            notes.append(f"Executions: {', '.join(f'{number} {variant}' for variant, number in variants.items())}.")
        yield from (Paragraph(note, rank=blocks.SUMMARY) for note in notes)
        if defect is not None and self.pages is not None:
            yield Paragraph(Span("The page of this defect", href=self.pages("defects", defect.id)), rank=blocks.PAGE)
        if defect is not None and defect.versions:
            yield Paragraph(f"Versions that show it: {defect.versions}.", rank=blocks.PAGE)

    def _example(self, drawn: int) -> Iterator[Block]:
        """The example, in each variant that shows something else."""
        example = self.fault.example
        title = shortened(example.title, _LONGEST, end=False)
        # The line below the title of a card names the case, unless a view puts another one there.
        rank = blocks.ALWAYS if self.notes else blocks.SUMMARY
        yield Paragraph(["Example ", code(example.case), f": {title}"], rank=rank)
        alike: dict[tuple[object, ...], list[Execution]] = defaultdict(list)
        for each in self.fault.executions:
            if each.case == example.case:
                alike[each.verdict, each.kinds, each.cells, each.cells or each.message].append(each)
        for number, executions in enumerate(alike.values()):
            variants = Span(", ".join(each.variant for each in executions), strong=True)
            kinds = f" ({', '.join(executions[0].kinds)})" if executions[0].kinds else ""
            about: list[str | Span] = [variants, f": {executions[0].verdict.value}{kinds}"]
            rank = blocks.WHOLE if number else blocks.ALWAYS
            yield blocks.Evidence(ExecutionView(executions[0]), about, number == 0, drawn, rank=rank)

    def _references(self) -> Iterator[Block]:
        """The rules and clauses, and what is wrong with the document."""
        by_case = {execution.case: execution.clauses for execution in self.fault.executions}
        clauses = Counter(clause for named in by_case.values() for clause in named).most_common()
        text: list[str | Span] = ["Its cases are about: " if clauses else "Its cases name no clause."]
        for number, (clause, count) in enumerate(clauses):
            place = f"#search={quote(clause)}" if self.pages is None else self.pages("clauses", clause)
            text += [", "] * (number > 0) + [Span(clause, page=place), f" ({plural(count, 'case')})"]
        about = Paragraph("The kinds that the example shows, with the rule that each is judged by:")
        rules = {kind.value: f" Rule: {each.clause}." for kind, each in DESCRIPTIONS.items() if each.clause}
        shown = dict.fromkeys([*self.fault.example.kinds, *self.fault.example.counts])
        judged = blocks.Facts([(kind, f"{sentence(kind)}{rules.get(kind, '')}") for kind in shown])
        content = [about, judged, Paragraph(text)]
        yield blocks.Folded("The rules and clauses", content, "rules", rank=blocks.PAGE)
        if self.fault.example.erratum:
            erratum = " ".join(self.fault.example.erratum.split())
            yield Paragraph(f"Erratum of the document: {erratum}", rank=blocks.SUMMARY)

    def _cases(self) -> Block:
        cases = self.fault.cases
        words = plural(len(cases), "case")
        rest = [Paragraph(f"{len(cases) - MOST_ROWS} more; the record has all of them.")] * (len(cases) > MOST_ROWS)
        return blocks.Folded(words, [self._rows(), *rest], "cases", rank=blocks.WHOLE)

    def _rows(self) -> blocks.Table:
        """A row for each case: the variants that show it, and the first wrong cell or the message."""
        by_case: dict[str, list[Execution]] = defaultdict(list)
        for execution in self.fault.executions:
            by_case[execution.case].append(execution)
        is_brief = self.fault.is_refusal or len(by_case) > _BRIEF
        rows: list[list[Inline]] = []
        shown = list(by_case.values())[:MOST_ROWS]
        for first, *others in shown:
            place = f"#search={quote(first.case)}" if self.pages is None else self.pages("cases", first.case)
            link = Span(first.case, page=place)
            title = shortened(first.title, _LONGEST, end=False)
            case: list[str | Span] = [link] if is_brief else [link, " ", Span(title, tone="small")]
            variants = ", ".join(execution.variant for execution in (first, *others))
            dtype = first.input.pooled.dtype if first.input is not None else ""
            rows.append([case, variants, first.spec, dtype, *([] if is_brief else [ExecutionView(first).first])])
        headings = ["case", "variants", "document", "dtype", "expected and got"][: 4 if is_brief else 5]
        data = [{"clauses": " ".join(first.clauses)} if first.clauses else {} for first, *_ in shown]
        return blocks.Table(headings, rows, label=f"Cases of {self.fault.name}", name="rows", data=data)
