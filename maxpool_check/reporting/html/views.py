"""What the pages show of a finding: its example, drawn; all its cases; how to repeat it; a text for an issue."""

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from maxpool_check.judging.defects import Severity
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reporting.drawing import Drawing, coordinates, drawings, planes, window_text
from maxpool_check.reporting.executions import axis_lines
from maxpool_check.reporting.findings import Finding, explained, sentence
from maxpool_check.reporting.html.issues import issue_lines
from maxpool_check.reporting.html.names import Names
from maxpool_check.reporting.html.page import slug
from maxpool_check.reporting.reruns import commands
from maxpool_check.results.record import Execution, Record, TargetDescription

MOST_ROWS = 1000
"""The most cases of a finding that a page lists; the number of all is always there."""

_MOST_CELLS = 120
"""The most cells of X that are written in full."""

_LONGEST = 160
"""The longest message in a row of a table."""


class Listing(Enum):
    """How the cases of a finding are listed: in rows with titles and messages, in rows without, or by name."""

    FULL = 1
    BRIEF = 2
    NAMES = 3


@dataclass(frozen=True)
class CaseRow:
    """A case of a finding: the variants that show it, and the first wrong cell or the message."""

    case: str
    title: str
    variants: str
    spec: str
    dtype: str
    clauses: str
    evidence: str


@dataclass(frozen=True)
class ExecutionView:
    """An execution of the example of a finding, or several that show the same cells."""

    executions: Sequence[Execution]

    @property
    def execution(self) -> Execution:
        """The first of them."""
        return self.executions[0]

    @property
    def variants(self) -> str:
        """The variants, by name."""
        return ", ".join(execution.variant for execution in self.executions)

    @cached_property
    def drawings(self) -> list[Drawing]:
        """The wrong cells by place, each with its window drawn; the first one only."""
        return drawings(self.execution)[:1]

    @property
    def sentences(self) -> list[str]:
        """The mistakes that explain the outputs, as sentences."""
        return [f"{each}." for each in explained(self.execution.causes, self.execution.counts)]

    @property
    def shapes(self) -> list[str]:
        """The axes of outputs whose sizes are wrong, each with the formulas of both sizes."""
        return list(axis_lines(self.execution.shapes, self.execution.spec))

    @property
    def total(self) -> int:
        """The number of wrong cells."""
        return sum(self.execution.counts.values())


@dataclass(frozen=True)
class FindingView:
    """A finding of a record and what a page shows of it."""

    finding: Finding
    target: TargetDescription
    record: Record
    listing: Listing = Listing.FULL

    @property
    def name(self) -> str:
        """The id of the defect, or the kinds of what no known defect expects."""
        if self.finding.defect is not None:
            return self.finding.defect.id
        return ", ".join(self.finding.kinds) + (" (a limit)" if self.finding.limit else "")

    @property
    def anchor(self) -> str:
        """The id of its element."""
        return slug(f"finding-{self.finding.target}-{self.finding.status}-{self.name}")

    @property
    def status(self) -> str:
        """``known``, or what is not expected of it."""
        return {"expected": "known", "special": "special values", "": "not reviewed"}.get(
            self.finding.status, self.finding.status
        )

    @property
    def mechanism(self) -> list[str]:
        """Why it happens, if it is reviewed, otherwise what its kinds mean."""
        if self.finding.defect is not None and self.finding.defect.reason:
            return [" ".join(self.finding.defect.reason.split())]
        return [*map(sentence, self.finding.kinds), *([self.finding.explanation] if self.finding.explanation else [])]

    @property
    def judged(self) -> list[tuple[str, str]]:
        """The kinds of the example with the rule that each is judged by."""
        about = {kind.value: description.clause for kind, description in DESCRIPTIONS.items()}
        kinds = dict.fromkeys([*self.finding.smallest.kinds, *self.finding.smallest.counts])
        return [(kind, about.get(kind, "")) for kind in kinds]

    @property
    def clauses(self) -> list[tuple[str, int]]:
        """The clauses that the cases are about, with the number of cases, the most frequent first."""
        by_case = {execution.case: execution.clauses for execution in self.finding.executions}
        return Counter(clause for clauses in by_case.values() for clause in clauses).most_common()

    @property
    def kinds(self) -> list[str]:
        """The kinds of its executions and of their wrong cells."""
        executions = self.finding.executions
        return list(dict.fromkeys([*self.finding.kinds, *(kind for each in executions for kind in each.counts)]))

    @property
    def versions(self) -> str:
        """The versions that show it, in words; the tested one if no more is known."""
        known = self.finding.defect.versions if self.finding.defect is not None else ""
        tested = f"{self.target.version or 'this one'}, which was tested here"
        return f"{known}, by runs of other releases; {tested}" if known else f"{tested}; others are not known"

    @property
    def upstream(self) -> str:
        """The address of its issue upstream; empty if there is none, or it is no address of a page."""
        issue = self.finding.defect.issue if self.finding.defect is not None else None
        return issue if issue is not None and re.fullmatch(r"https://[\w./?#&=%~+-]+", issue) else ""

    @cached_property
    def examples(self) -> list[ExecutionView]:
        """The executions of the example, those that show the same cells together."""
        by_cells: dict[tuple[object, ...], list[Execution]] = defaultdict(list)
        for execution in self.finding.executions:
            if execution.case == self.finding.smallest.case:
                shown = (execution.verdict, execution.kinds, execution.cells, execution.cells or execution.message)
                by_cells[shown].append(execution)
        return [ExecutionView(executions) for executions in by_cells.values()]

    @property
    def settings(self) -> str:
        """The dtype and shape of X and the attributes of the example, on one line."""
        return settings(self.finding.smallest)

    @property
    def graph_input_lines(self) -> list[str]:
        """X of a graph of several nodes as text, if it is small and another tensor enters MaxPool."""
        data = self.finding.smallest.input
        if data is None or data.entering is None or not data.values or len(data.values) > _MOST_CELLS:
            return []
        return planes(data.values, data.shape, self.finding.smallest.layout)

    @property
    def input_lines(self) -> list[str]:
        """The tensor that is pooled as text, if it is small and nothing is drawn."""
        data = self.finding.smallest.input
        drawn = any(drawing.planes for example in self.examples for drawing in example.drawings)
        if data is None or drawn or not data.pooled.values or len(data.pooled.values) > _MOST_CELLS:
            return []
        return planes(data.pooled.values, data.pooled.shape, self.finding.smallest.layout)

    @cached_property
    def rows(self) -> list[CaseRow]:
        """The cases, with the variants that show it; empty if they are listed by name."""
        if self.listing is Listing.NAMES:
            return []
        by_case: dict[str, list[Execution]] = defaultdict(list)
        for execution in self.finding.executions:
            by_case[execution.case].append(execution)
        return [self._row(executions) for executions in list(by_case.values())[:MOST_ROWS]]

    @property
    def names(self) -> Names:
        """The cases by file."""
        names = Names()
        for case in self.finding.cases:
            names.add(case)
        return names

    @property
    def unlisted(self) -> int:
        """The number of cases that are not listed."""
        return max(0, len(self.finding.cases) - MOST_ROWS)

    def _row(self, executions: Sequence[Execution]) -> CaseRow:
        first = executions[0]
        return CaseRow(
            first.case,
            "" if self.listing is Listing.BRIEF else first.title,
            ", ".join(execution.variant for execution in executions),
            first.spec,
            first.input.pooled.dtype if first.input is not None else "",
            " ".join(first.clauses),
            "" if self.listing is Listing.BRIEF else evidence(first),
        )

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Command lines that repeat it, each with what it does."""
        return commands(self.finding.smallest, self.record.header)

    @property
    def issue(self) -> str:
        """A text for an issue, as plain Markdown: what is wrong, the example, expected and actual, versions, how to repeat."""
        return "\n".join(issue_lines(self))


def filters(views: Sequence[FindingView]) -> dict[str, list[str]]:
    """The values of each filter that occur in findings; empty if there are none."""
    if not views:
        return {}
    rows = [row for view in views for row in view.rows]
    targets = list(dict.fromkeys(view.finding.target for view in views))
    occurring = {view.finding.severity for view in views}
    return {
        "target": targets if len(targets) > 1 else [],
        "severity": [severity.value for severity in Severity if severity in occurring],
        "document": sorted({row.spec for row in rows}),
        "dtype": sorted({row.dtype for row in rows if row.dtype}),
        "kind": sorted({kind for view in views for kind in view.kinds}),
        "clause": sorted({clause for row in rows for clause in row.clauses.split()}),
    }


def evidence(execution: Execution) -> str:
    """The first wrong cell with its window, or the message, on one line."""
    if not execution.cells:
        return textwrap.shorten(execution.message, _LONGEST, placeholder=" ...")
    cell = execution.cells[0]
    return f"{cell.output}{coordinates(cell.at)} ({window_text(cell.window)}): expected {cell.expected}, got {cell.got}"


def settings(execution: Execution) -> str:
    """The dtype and shape of X and the attributes, on one line."""
    data = execution.input
    if data is None:
        return ""
    pairs = (f"{name}={value}" if value != "" else f"{name}='' (empty)" for name, value in data.attributes.items())
    attributes = ", ".join(pairs) or "no attributes"
    return f"X {data.dtype} {coordinates(data.shape)}; {attributes}"
