"""The matrix of ``reports/README.md``: what each target of the committed records does with each theme of the corpus.

``python -m tests.report_matrix`` writes it again, from the records alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from maxpool_check.reporting.findings import findings
from maxpool_check.reporting.markup import code, escaped, table
from maxpool_check.reporting.matrix import WORDS, cell, counts
from maxpool_check.results.record import Execution, Record, TargetDescription
from maxpool_check.results.storage import read
from tests.conftest import ROOT

REPORTS = ROOT / "reports"
RECORDS = sorted(REPORTS.glob("*.jsonl.xz"))

MOST_TARGETS = 6
"""The targets side by side in a table, so that it stays readable."""

SECTION = re.compile(r"(<!-- matrix -->\n)(?:.*\n)*?(<!-- /matrix -->)")


def name_of(path: Path) -> str:
    """The name of a report, from its record's path."""
    return path.name.removesuffix(".jsonl.xz")


@lru_cache(len(RECORDS) or 1)
def record_at(path: Path) -> Record:
    """A record of the matrix, read once."""
    return in_memory(path)


def in_memory(path: Path) -> Record:
    """A record whose executions are read once."""
    stored = read(path)
    return Record(stored.header, tuple(stored.executions), stored.footer)


def theme(execution: Execution) -> str:
    """What a case is about: the file of an edge case, the folder of any other."""
    folder, _, file = execution.case.partition(":")[0].rpartition("/")
    return file.removesuffix("-sonnx") if folder == "edge" or not folder else folder


def render(records: Mapping[str, Record]) -> str:
    """A table of the targets, and tables of themes and targets. ``records`` by the file name of their report."""
    rows: list[list[str]] = []
    columns: list[tuple[str, dict[str, Counter[str]]]] = []
    for report, record in records.items():
        for target in record.header.targets:
            by_theme = counts(record, target.name, findings(record), theme)
            total = sum(by_theme.values(), Counter[str]())
            link = f"[{escaped(short_name(target))}]({report})"
            columns.append((link, by_theme))
            rows.append(
                [
                    link, code(target.name), target.provider, target.speaks, target.indices or "none",
                    str(record.header.cases), *[str(total[word]) for word in WORDS],
                ]
            )  # fmt: skip
    shown = [number for number, word in enumerate(WORDS) if any(row[6 + number] != "0" for row in rows)]
    heads = ["report", "target", "provider", "language", "Indices", "cases", *[WORDS[number] for number in shown]]
    targets = [[*row[:6], *[row[6 + number] for number in shown]] for row in rows]
    themes = sorted({name for _, by_theme in columns for name in by_theme})
    tables = [table(heads, targets, right=range(5, len(heads)))]
    for start in range(0, len(columns), MOST_TARGETS):
        side_by_side = columns[start : start + MOST_TARGETS]
        body = [[code(name), *[cell(by_theme.get(name, Counter())) for _, by_theme in side_by_side]] for name in themes]
        tables.append(table(["theme", *[link for link, _ in side_by_side]], body))
    return "\n\n".join(tables)


def short_name(target: TargetDescription) -> str:
    """The distribution and version of a target, with its operator set or engine if it says one."""
    option = re.search(r"[?&](opset|engine)=(\w+)", target.name)
    return f"{target.distribution} {target.version.partition('+')[0]}" + (
        f" ({option[1]} {option[2]})" if option else ""
    )


def with_matrix(text: str) -> str:
    """A page with its matrix made again from the committed records."""
    tables = render({f"{name_of(path)}.md": record_at(path) for path in RECORDS})
    return SECTION.sub(lambda match: f"{match[1]}\n{tables}\n\n{match[2]}", text)


if __name__ == "__main__":
    README = REPORTS / "README.md"
    README.write_text(with_matrix(README.read_text()))
