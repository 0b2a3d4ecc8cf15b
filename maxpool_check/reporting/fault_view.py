"""A fault as blocks: what is wrong, its example with the window drawn, how to repeat it, its cases."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from maxpool_check.judging.faults import Fault, sentence
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Inline, Names, Paragraph, Span, code, slug
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.reruns import commands
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import Execution, RunHeader
from maxpool_check.words import plural, shortened

MOST_ROWS = 900
"""The most cases of a fault that a page lists in rows; the number of all is always there."""

_BRIEF = 300
"""Of a refusal, and of more cases than these, the rows have no titles and messages."""

_MOST_KINDS = 8
_MOST_LINES = 24
_LONGEST = 300


@dataclass(frozen=True)
class FaultView:
    """A fault of the run with this header, and how to show it; with ``everything``, nothing is shortened.

    A page shows each variant of the example, the rules, and a row for each case; other forms the example and a command that runs it.

    ``label`` stands for its status, ``notes`` are more to know of it. On a site, ``pages`` gives the address
    of a page by its folder and name.
    """

    fault: Fault
    header: RunHeader
    form: Form
    everything: bool = False
    label: str = ""
    notes: Sequence[Inline] = ()
    pages: Callable[[str, str], str] | None = None

    @property
    def anchor(self) -> str:
        """The id of its element."""
        return slug(f"fault-{self.fault.target}-{self.fault.status}-{self.fault.name}")

    @property
    def title(self) -> str:
        """The title of the defect, or what the kinds mean."""
        return self._cut(self.fault.title)

    def block(self, *, is_brief: bool = False) -> blocks.Card:
        """All of it; ``is_brief``: the notes alone instead of why it happens."""
        fault = self.fault
        severity = Span(fault.severity.value, tone=fault.severity.value)
        tone = "unexpected" if fault.is_unexpected else "known"
        badges = [Span(self.label or fault.label, strong=fault.is_unexpected, tone=tone), severity]
        title: list[str | Span] = [Span(self.fault.name, code=True)]
        if fault.defect is not None and fault.defect.title:
            title.append(f": {self.title}")
        amount = f"{plural(len(fault.cases), 'case')} in {plural(len(fault.executions), 'execution')} on "
        data = {
            "target": fault.target,
            "severity": fault.severity.value,
            "kinds": " ".join(fault.kinds),
            "name": self.fault.name,
        }
        about = map(Paragraph, self.notes) if is_brief else self._about()
        again = [blocks.Command(text, about) for about, text in commands(fault.smallest, self.header)]
        again = again if self.form.is_page else again[:1]
        content = [*about, *self._example(), *self._references(), *again, *self._cases()]
        return blocks.Card(self.anchor, title, badges, [amount, code(fault.target)], content, data)

    def _about(self) -> Iterator[Block]:
        """What to do; why it happens, if it is reviewed, otherwise what its kinds mean; what else is known of it."""
        fault, defect = self.fault, self.fault.defect
        if defect is not None and not self.notes:
            yield from [Paragraph(Span(f"Repaired in {defect.fixed}: upgrade.", strong=True))] if defect.fixed else []
            yield from [Paragraph(Span(f"To avoid it: {defect.remedy}.", strong=True))] if defect.remedy else []
        if defect is not None and defect.reason:
            yield Paragraph(" ".join(defect.reason.split()))
        else:
            yield from (Paragraph(sentence(kind)) for kind in fault.example_kinds[:_MOST_KINDS])
        notes: list[Inline] = [fault.explanation] if defect is None and fault.explanation else []
        notes += fault.notices
        if defect is not None and defect.issue:
            is_link = re.fullmatch(r"https://[\w./?#&=%~+-]+", defect.issue)
            notes.append(["Upstream: ", Span(defect.issue, href=defect.issue if is_link else "")])
        variants = Counter(execution.variant for execution in fault.executions)
        if len(variants) > 1:
            notes.append(f"Executions: {', '.join(f'{number} {variant}' for variant, number in variants.items())}.")
        if defect is not None and self.pages is not None:
            notes.append(Span("The page of this defect", href=self.pages("defects", defect.id)))
        if self.form.is_page and defect is not None and defect.versions:
            notes.append(f"Versions that show it: {defect.versions}.")
        yield from map(Paragraph, [*notes, *self.notes])

    def _example(self) -> Iterator[Block]:
        """The example, on a page in each variant that shows something else."""
        example = self.fault.smallest
        yield Paragraph(["Example ", code(example.case), f": {self._cut(example.title)}"])
        alike: dict[tuple[object, ...], list[Execution]] = defaultdict(list)
        for each in self.fault.executions:
            if each.case == example.case:
                alike[each.verdict, each.kinds, each.cells, each.cells or each.message].append(each)
        most = None if self.everything or self.form.is_page else _MOST_LINES
        for number, executions in enumerate(list(alike.values())[: None if self.form.is_page else 1]):
            variants = Span(", ".join(each.variant for each in executions), strong=True)
            kinds = f" ({', '.join(executions[0].kinds)})" if executions[0].kinds else ""
            about: list[str | Span] = [variants, f": {executions[0].verdict.value}{kinds}"]
            yield blocks.Evidence(ExecutionView(executions[0]), about, settings=number == 0, most=most)

    def _references(self) -> Iterator[Block]:
        """The rules and clauses, and what is wrong with the document."""
        by_case = {execution.case: execution.clauses for execution in self.fault.executions}
        clauses = Counter(clause for named in by_case.values() for clause in named).most_common()
        if self.form.is_page:
            text: list[str | Span] = ["Its cases are about: " if clauses else "Its cases name no clause."]
            for number, (clause, count) in enumerate(clauses):
                place = f"#search={quote(clause)}" if self.pages is None else self.pages("clauses", clause)
                text += [", "] * (number > 0) + [Span(clause, href=place), f" ({plural(count, 'case')})"]
            about = Paragraph("The kinds that the example shows, with the rule that each is judged by:")
            rules = {kind.value: f" Rule: {each.clause}." for kind, each in DESCRIPTIONS.items() if each.clause}
            shown = dict.fromkeys([*self.fault.smallest.kinds, *self.fault.smallest.counts])
            judged = blocks.Facts([(kind, f"{sentence(kind)}{rules.get(kind, '')}") for kind in shown])
            yield blocks.Folded("The rules and clauses", [about, judged, Paragraph(text)], "rules")
        if self.fault.smallest.erratum:
            yield Paragraph(f"Erratum of the document: {self._cut(self.fault.smallest.erratum)}")

    def _cases(self) -> Iterator[Block]:
        cases = self.fault.cases
        words = plural(len(cases), "case")
        if self.form.is_page:
            rest = [Paragraph(f"{len(cases) - MOST_ROWS} more; the record has all of them.")] * (len(cases) > MOST_ROWS)
            yield blocks.Folded(words, [self._rows(), *rest], "cases")
        elif self.everything:
            yield blocks.Folded(words, [Names(cases)], "cases")

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
            link = Span(first.case, href=place)
            case: list[str | Span] = [link] if is_brief else [link, Span(first.title, tone="small")]
            variants = ", ".join(execution.variant for execution in (first, *others))
            dtype = first.input.pooled.dtype if first.input is not None else ""
            rows.append([case, variants, first.spec, dtype, *([] if is_brief else [ExecutionView(first).first])])
        headings = ["case", "variants", "document", "dtype", "expected and got"][: 4 if is_brief else 5]
        data = [{"clauses": " ".join(first.clauses)} if first.clauses else {} for first, *_ in shown]
        return blocks.Table(headings, rows, label=f"Cases of {self.fault.name}", name="rows", data=data)

    def _cut(self, text: str) -> str:
        is_whole = self.everything or self.form.is_page
        return " ".join(text.split()) if is_whole else shortened(text, _LONGEST, end=False)
