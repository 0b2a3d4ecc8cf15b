"""A finding as blocks: what is wrong, its example with the window drawn, how to repeat it, a text for an issue, its cases."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from urllib.parse import quote

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Inline, Names, Paragraph, Span, code, slug
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.findings import Finding, sentence
from maxpool_check.reporting.reruns import commands
from maxpool_check.reporting.writers import markdown
from maxpool_check.results.record import Execution, RunHeader, TargetDescription
from maxpool_check.words import plural, shortened

MOST_ROWS = 900
"""The most cases of a finding that a page lists in rows; the number of all is always there."""

_BRIEF = 300
"""Of a refusal, and of more cases than these, the rows have no titles and messages."""

_MOST_KINDS = 8
_MOST_LINES = 24


class Detail(Enum):
    """How much is shown of a finding."""

    TERMINAL = 1
    """What is wrong, the example, and the command that executes it."""
    MARKDOWN = 2
    """The same, shortened, with its variants and clauses; without commands."""
    PAGE = 3
    """Everything: each variant of the example, the rules, a text for an issue, and a row for each case."""
    PART = 4
    """What a page shows, with the cases by name: each has a page of its own."""
    ALONE = 5
    """What a page shows, without the cases, which are elsewhere."""

    @property
    def is_page(self) -> bool:
        """Whether it is for HTML."""
        return self.value >= Detail.PAGE.value


@dataclass(frozen=True)
class FindingView:
    """A finding of the run with this header, and how to show it; with ``everything``, nothing is shortened.

    ``label`` stands for its status, ``notes`` are more to know of it. On a site, ``pages`` gives the address
    of a page by its folder and name.
    """

    finding: Finding
    header: RunHeader
    detail: Detail
    everything: bool = False
    label: str = ""
    notes: Sequence[Inline] = ()
    pages: Callable[[str, str], str] | None = None

    @property
    def name(self) -> str:
        """The id of the defect, or the kinds of what no known defect expects."""
        limit = " (a limit)" if self.finding.limit and self.finding.defect is None else ""
        return (self.finding.defect.id if self.finding.defect is not None else ", ".join(self.finding.kinds)) + limit

    @property
    def anchor(self) -> str:
        """The id of its element."""
        return slug(f"finding-{self.finding.target}-{self.finding.status}-{self.name}")

    @property
    def status(self) -> str:
        """``known``, or what is not expected of it."""
        return self.label or {"SPECIAL": "special values", "": "not reviewed"}.get(
            self.finding.label, self.finding.label.lower()
        )

    @property
    def title(self) -> str:
        """The title of the defect, or what the kinds mean."""
        return self._cut(self.finding.title, 240)

    def block(self, *, is_brief: bool = False) -> blocks.Finding:
        """All of it; ``is_brief``: the notes alone instead of why it happens."""
        finding, example = self.finding, self.finding.smallest
        severity = Span(finding.severity.value, tone=finding.severity.value)
        status = Span(
            self.status, strong=finding.is_unexpected, tone="unexpected" if finding.is_unexpected else "known"
        )
        title: list[str | Span] = [Span(self.name, code=True)]
        if finding.defect is not None and finding.defect.title:
            title.append(f": {self.title}")
        amount = plural(len(finding.cases), "case")
        if self.detail is not Detail.TERMINAL:
            amount += f" in {plural(len(finding.executions), 'execution')}"
        data = {
            "target": finding.target,
            "severity": finding.severity.value,
            "kinds": " ".join(self.kinds),
            "example": example.case,
            "name": self.name,
        }
        about = map(Paragraph, self.notes) if is_brief else self._about()
        content = [*about, *self._example(), *self._references(), *self._repeat(), *self._cases()]
        return blocks.Finding(
            self.anchor, title, [status, severity], [f"{amount} on ", Span(finding.target, code=True)], content, data
        )

    @property
    def kinds(self) -> list[str]:
        """The kinds of its executions and of their wrong cells."""
        counted = (kind for each in self.finding.executions for kind in each.counts)
        return list(dict.fromkeys([*self.finding.kinds, *counted]))

    @property
    def issue(self) -> str:
        """A text for an issue, as Markdown: what is wrong, where, the example, the rules, and how to repeat it."""
        finding, example, target = self.finding, self.finding.smallest, self._target
        opset = f"; operator set of the model: {example.opset}" if example.opset is not None else ""
        facts = [
            ("runtime", target.software()),
            ("system", f"{self.header.system}; processor: {target.processor or 'unknown'}"),
            ("document", f"{example.spec}{opset}"),
            ("severity", finding.severity.value),
            ("versions that show it", self._versions),
        ]
        title = finding.title if "MaxPool" in finding.title else f"MaxPool: {finding.title}"
        view = replace(self, detail=Detail.MARKDOWN, everything=True, notes=())
        about = [blocks.Heading(1, title), blocks.Facts(facts), *view._about(), *view._example()]
        again = (blocks.Command(text, about) for about, text in commands(example, self.header))
        return markdown.markdown([*about, blocks.Facts(self._judged), *again])

    @property
    def _target(self) -> TargetDescription:
        return next(target for target in self.header.targets if target.name == self.finding.target)

    @property
    def _versions(self) -> str:
        """The versions that show it, in words; the tested one if no more is known."""
        known = self.finding.defect.versions if self.finding.defect is not None else ""
        tested = f"{self._target.version or 'this one'}, which was tested here"
        return f"{known}, by runs of other releases; {tested}" if known else f"{tested}; others are not known"

    @property
    def _judged(self) -> list[tuple[str, Inline]]:
        """The kinds of the example, what they mean, and the rule that each is judged by."""
        rules = {kind.value: f" Rule: {about.clause}." for kind, about in DESCRIPTIONS.items() if about.clause}
        shown = dict.fromkeys([*self.finding.smallest.kinds, *self.finding.smallest.counts])
        return [(kind, f"{sentence(kind)}{rules.get(kind, '')}") for kind in shown]

    def _about(self) -> Iterator[Block]:
        """Why it happens, if it is reviewed, otherwise what its kinds mean; what else is known of it."""
        finding, defect, is_brief = self.finding, self.finding.defect, self.detail is Detail.TERMINAL
        if defect is not None and defect.reason:
            yield Paragraph(" ".join(defect.reason.split()))
        if defect is None or not defect.reason or is_brief:
            shown = finding.example_kinds if is_brief else finding.kinds
            yield from (Paragraph(sentence(kind)) for kind in shown[: None if self.everything else _MOST_KINDS])
        notes: list[Inline] = [finding.explanation] if defect is None and finding.explanation else []
        notes += finding.notices
        if defect is not None and defect.issue:
            is_link = re.fullmatch(r"https://[\w./?#&=%~+-]+", defect.issue)
            notes.append(["Upstream: ", Span(defect.issue, href=defect.issue if is_link else "")])
        if not is_brief:
            variants = Counter(execution.variant for execution in finding.executions)
            numbers = ", ".join(f"{number} {variant}" for variant, number in variants.items())
            more = f". All kinds: {', '.join(finding.kinds)}" if finding.kinds != finding.example_kinds else ""
            notes.append(f"Executions: {numbers}{self._cut(more, 240)}.")
        if self.pages is not None and self.detail is Detail.PART and defect is not None:
            notes.append(Span("The page of this defect", href=self.pages("defects", defect.id)))
        yield from map(Paragraph, [*notes, *self.notes])
        if self.detail.is_page:
            yield Paragraph(f"Versions that show it: {self._versions}.")

    def _example(self) -> Iterator[Block]:
        example = self.finding.smallest
        title = self._cut(example.title, 240)
        if not self.detail.is_page:
            most = _MOST_LINES if self.detail is Detail.MARKDOWN and not self.everything else None
            start = [] if self.detail is Detail.TERMINAL else ["Example "]
            yield Paragraph([*start, code(example.case), f" ({example.variant}): {title}"])
            yield blocks.Evidence(ExecutionView(example), most=most)
            return
        yield blocks.Heading(4, ["Example: ", code(example.case)])
        yield Paragraph(title)
        alike: dict[tuple[object, ...], list[Execution]] = defaultdict(list)
        for each in self.finding.executions:
            if each.case == example.case:
                alike[each.verdict, each.kinds, each.cells, each.cells or each.message].append(each)
        for number, executions in enumerate(alike.values()):
            variants = Span(", ".join(each.variant for each in executions), strong=True)
            shown = f" ({', '.join(executions[0].kinds)})" if executions[0].kinds else ""
            about: list[str | Span] = [variants, f": {executions[0].verdict.value}{shown}"]
            yield blocks.Evidence(ExecutionView(executions[0]), about, settings=number == 0)

    def _references(self) -> Iterator[Block]:
        """The rules and clauses, and what is wrong with the document."""
        example = self.finding.smallest
        if self.detail.is_page:
            rules = Paragraph("The kinds that the example shows, with the rule that each is judged by:")
            yield blocks.Folded("The rules and clauses", [rules, blocks.Facts(self._judged), self._clauses()], "rules")
        elif self.detail is Detail.MARKDOWN and example.clauses:
            yield Paragraph(["Clauses: ", code(", ".join(example.clauses)), "."])
        if example.erratum and self.detail is not Detail.TERMINAL:
            yield Paragraph(f"Erratum of the document: {self._cut(example.erratum, 600)}")

    def _clauses(self) -> Paragraph:
        by_case = {execution.case: execution.clauses for execution in self.finding.executions}
        clauses = Counter(clause for named in by_case.values() for clause in named).most_common()
        text: list[str | Span] = []
        for clause, count in clauses:
            text += [", " if text else "The clauses that its cases are about: "]
            place = f"#clause={quote(clause)}" if self.pages is None else self.pages("clauses", clause)
            text += [Span(clause, href=place), f" ({plural(count, 'case')})"]
        return Paragraph([*text, "."] if clauses else "Its cases name no clause.")

    def _repeat(self) -> Iterator[Block]:
        every = [blocks.Command(text, about) for about, text in commands(self.finding.smallest, self.header)]
        if not self.detail.is_page:
            yield from every[: self.detail is Detail.TERMINAL]
            return
        yield blocks.Heading(4, "Repeat it")
        yield from every
        if self.detail is not Detail.PART:
            text = blocks.Lines(self.issue.splitlines(), f"A text for an issue about {self.name}")
            yield blocks.Folded("A text for an issue", [text], "issue")

    def _cases(self) -> Iterator[Block]:
        cases = self.finding.cases
        words = "The case" if len(cases) == 1 else f"All {len(cases)} cases"
        if self.detail is Detail.TERMINAL and self.everything:
            yield Names(cases)
        elif self.detail is Detail.PART or (self.detail is Detail.MARKDOWN and self.everything and len(cases) > 1):
            yield blocks.Folded(words, [Names(cases)], "cases")
        elif self.detail is Detail.PAGE:
            rest = [Paragraph(f"{len(cases) - MOST_ROWS} more; the record has all of them.")] * (len(cases) > MOST_ROWS)
            yield blocks.Folded(words, [self._rows(), *rest], "cases")

    def _rows(self) -> blocks.Table:
        """A row for each case: the variants that show it, and the first wrong cell or the message."""
        by_case: dict[str, list[Execution]] = defaultdict(list)
        for execution in self.finding.executions:
            by_case[execution.case].append(execution)
        is_brief = self.finding.is_refusal or len(by_case) > _BRIEF
        rows: list[list[Inline]] = []
        shown = list(by_case.values())[:MOST_ROWS]
        for first, *others in shown:
            link = Span(first.case, href=f"#case={quote(first.case)}")
            case: list[str | Span] = [link] if is_brief else [link, Span(first.title, tone="small")]
            variants = ", ".join(execution.variant for execution in (first, *others))
            dtype = first.input.pooled.dtype if first.input is not None else ""
            rows.append([case, variants, first.spec, dtype, *([] if is_brief else [ExecutionView(first).first])])
        headings = ["case", "variants", "document", "dtype", "expected and got"][: 4 if is_brief else 5]
        data = [{"clauses": " ".join(first.clauses)} if first.clauses else {} for first, *_ in shown]
        return blocks.Table(headings, rows, label=f"Cases of {self.name}", name="rows", data=data)

    def _cut(self, text: str, most: int) -> str:
        is_whole = self.everything or self.detail is not Detail.MARKDOWN
        return " ".join(text.split()) if is_whole else shortened(text, most, end=False)


def filters(views: Sequence[FindingView]) -> list[Block]:
    """The values of each filter that occur in findings; nothing if there are none."""
    if not views:
        return []
    listed = [each for view in views if view.detail is Detail.PAGE for each in view.finding.executions]
    targets = list(dict.fromkeys(view.finding.target for view in views))
    occurring = {view.finding.severity for view in views}
    choices = {
        "target": targets if len(targets) > 1 else [],
        "severity": [severity.value for severity in Severity if severity in occurring],
        "document": sorted({each.spec for each in listed}),
        "dtype": sorted({each.input.pooled.dtype for each in listed if each.input is not None}),
        "kind": sorted({kind for view in views for kind in view.kinds}),
        "clause": sorted({clause for each in listed for clause in each.clauses}),
    }
    return [blocks.Filters({name: values for name, values in choices.items() if values})]
