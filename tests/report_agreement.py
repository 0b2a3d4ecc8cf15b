"""``reports/agreement.md``: how many independent projects return the same bits, from the committed records alone.

``python -m tests.report_agreement`` writes it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from maxpool_check.evidence.agreement import SharedResult, by_number, project, shared_results
from maxpool_check.reporting.markup import code, codes, joined, table
from maxpool_check.results.record import Record
from tests.conftest import ROOT
from tests.report_matrix import RECORDS, record_at

PAGE = ROOT / "reports/agreement.md"

_INTRODUCTION = """\
Runtimes that conform return the reference's bits, except where a document leaves something open. This page counts, for each case,
the projects that returned the same bits of Y and of Indices in the executions that conform. `make pages` makes it from the records."""

_READING = """\
The row 5 counts the cases in which five projects, and no more, returned the same bits. A project counts once for a case, with
all its releases, providers and variants."""

_COLUMNS = """\
`cases`: it conforms. `with others`: at least one other project returned the same bits. `other bits`: most of the projects that
conform returned other bits."""

_LIMITS = """\
The reference does not rest on one reading of the documents alone. Where it is wrong about a case, every project that is counted
for the case is wrong in the same way, in each bit.

What it does not show:

- Independence is assumed by project. Projects read the same documents, were tested on the same examples and models, and take
  over each other's code and habits: a mistake of the document, or one that everybody copied, is in all of them.
- Only executions that conform are counted. Where projects diverge, the reference disagrees with them; each such divergence
  has a clause, and those that are known a [review](defects/README.md).
- A row 1 is one project beside the reference, and a case in which none conforms is in no row.
- Where a document leaves open which of equal maxima is named, what a NaN does, or the index of a window without a cell, projects
  conform with different bits. The most frequent bits count, which need not be the reference's."""


def page(records: Iterable[Record]) -> str:
    """The page."""
    records = list(records)
    shared = shared_results(records)
    counts = by_number(shared)
    numbers = range(max(max(each) for each in counts.values()), 0, -1)
    rows = [[str(number), *(str(counts[output][number]) for output in ("Y", "Indices"))] for number in numbers]
    rows.append(["all", *(str(counts[output].total()) for output in ("Y", "Indices"))])
    blocks = [
        "# How many projects return the same bits",
        _INTRODUCTION,
        table(["projects", "cases: Y", "cases: Indices"], rows, right=range(3)),
        _READING,
        "## By project",
        _by_project(records, shared),
        _COLUMNS,
        "## What this shows, and what not",
        _LIMITS,
    ]
    return joined(blocks) + "\n"


def _by_project(records: Iterable[Record], shared: Iterable[SharedResult]) -> str:
    targets: dict[str, list[str]] = {}
    for record in records:
        for target in record.header.targets:
            targets.setdefault(project(target), []).append(target.name)
    counted = {name: _counts(name, shared) for name in targets}
    rows = [[code(name), codes(sorted(targets[name])), *map(str, counted[name].values())] for name in sorted(targets)]
    header = [
        "project",
        "targets",
        "Y: cases",
        "with others",
        "other bits",
        "Indices: cases",
        "with others",
        "other bits",
    ]
    return table(header, rows, right=range(2, 8))


def _counts(name: str, shared: Iterable[SharedResult]) -> Mapping[tuple[str, str], int]:
    counts: Counter[tuple[str, str]] = Counter()
    for result in shared:
        same, other = name in result.projects, name in result.others
        counts[result.output, "cases"] += same or other
        counts[result.output, "with others"] += same and len(result.projects) > 1
        counts[result.output, "other bits"] += other
    return {
        (output, what): counts[output, what]
        for output in ("Y", "Indices")
        for what in ("cases", "with others", "other bits")
    }


def main() -> None:
    PAGE.write_text(page(map(record_at, RECORDS)), encoding="utf-8")


if __name__ == "__main__":
    main()
