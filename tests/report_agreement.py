"""``reports/agreement.md``: how many independent projects return the same bits, from the committed records alone.

Both programs of the reference are from one hand. That others, written elsewhere and for other purposes, return the same bits
where the judge says that they conform, is evidence for the reference as well. Programs of one project count once: they share code.

``python -m tests.report_agreement`` writes it again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from maxpool_check.reporting.markup import code, codes, joined, table
from maxpool_check.results.record import Record, TargetDescription, Verdict
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


_PROJECTS = {
    "onnxruntime-ep-webgpu": "onnxruntime",
    "onnxruntime-gpu": "onnxruntime",
    "onnxruntime-node": "onnxruntime",
    "onnxruntime-openvino": "openvino",
    "onnxruntime-qnn": "qnn",
    "onnxruntime-web": "onnxruntime",
}
"""The projects whose kernels a distribution runs, where it is not that of its own name."""


@dataclass(frozen=True)
class SharedResult:
    """The bits of an output of a case that most projects returned, where the judge says that they conform.

    ``others`` are projects that conform with other bits alone: the document leaves something open.
    """

    case: str
    case_sha256: str
    output: str
    digest: str
    projects: frozenset[str]
    others: frozenset[str]


def project(target: TargetDescription) -> str:
    """The project whose kernels a target runs."""
    return _PROJECTS.get(target.distribution, target.distribution)


def shared_results(records: Iterable[Record], outputs: tuple[str, ...] = ("Y", "Indices")) -> list[SharedResult]:
    """For each case and output that was compared, the bits on which most projects agree; in the order of the records."""
    returned: dict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        projects = {target.name: project(target) for target in record.header.targets}
        for execution in record.executions:
            if execution.verdict is Verdict.CONFORMS:
                for output in outputs:
                    if output in execution.digests:
                        key = execution.case, execution.case_sha256, output
                        returned[key][execution.digests[output]].add(projects[execution.target])
    return [_shared(*key, by_digest) for key, by_digest in returned.items()]


def _shared(case: str, case_sha256: str, output: str, by_digest: Mapping[str, set[str]]) -> SharedResult:
    # Of equally many, the first in the order of digests: any rule, as long as it is one.
    digest = min(by_digest, key=lambda digest: (-len(by_digest[digest]), digest))
    everyone = frozenset[str]().union(*by_digest.values())
    projects = frozenset(by_digest[digest])
    return SharedResult(case, case_sha256, output, digest, projects, everyone - projects)


def by_number(shared: Iterable[SharedResult]) -> dict[str, Counter[int]]:
    """For each output, how many cases so many projects gave the same bits of."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for result in shared:
        counts[result.output][len(result.projects)] += 1
    return dict(counts)


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
