"""The matrix of ``reports/README.md``: what each target of the committed records does with each theme of the corpus.

``python -m tests.report_matrix`` writes it again, from the records alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path

from maxpool_check.reporting.markup import escaped, table
from maxpool_check.results.record import Execution, Record, Verdict
from maxpool_check.results.storage import read
from tests.conftest import ROOT

REPORTS = ROOT / "reports"
RECORDS = sorted(REPORTS.glob("*.jsonl.gz"))

GROUPS = {
    Verdict.CONFORMS: "conforms",
    Verdict.DIVERGES: "diverges",
    Verdict.UNSTABLE: "diverges",
    Verdict.CRASHES: "diverges",
    Verdict.TIMES_OUT: "diverges",
    Verdict.INCONSISTENT: "inconsistent",
    Verdict.REFUSES: "refuses",
    Verdict.NOT_EXPRESSIBLE: "not-expressible",
}
"""How verdicts are counted together; the others prove nothing and are left out."""

COLUMNS = ("conforms", "diverges", "inconsistent", "refuses", "not-expressible")
SECTION = re.compile(r"(<!-- matrix -->\n)(?:.*\n)*?(<!-- /matrix -->)")


def name_of(path: Path) -> str:
    """The name of a report, from its record's path."""
    return path.name.removesuffix(".jsonl.gz")


@lru_cache(len(RECORDS) or 1)
def record_at(path: Path) -> Record:
    """A record, read once."""
    stored = read(path)
    return Record(stored.header, tuple(stored.executions), stored.footer)


def theme(execution: Execution) -> str:
    """What a case is about: the file of an edge case, the folder of any other."""
    folder, _, file = execution.case.partition(":")[0].rpartition("/")
    return file.removesuffix("-sonnx") if folder == "edge" or not folder else folder


def render(records: Mapping[str, Record]) -> str:
    """Two tables: the targets, and the targets by theme. ``records`` by the file name of their report."""
    rows: list[list[str]] = []
    columns: list[dict[str, list[Execution]]] = []
    for report, record in records.items():
        for target in record.header.targets:
            executions = [execution for execution in record.executions if execution.target == target.name]
            by_theme: dict[str, list[Execution]] = {}
            for execution in executions:
                by_theme.setdefault(theme(execution), []).append(execution)
            columns.append(by_theme)
            verdicts = Counter(execution.verdict for execution in executions)
            rows.append(
                [
                    str(len(columns)), f"[{escaped(target.name)}]({report})", f"{target.distribution} {target.version}",
                    target.provider, target.speaks, target.indices or "none", str(record.header.cases),
                    *counts(executions), str(verdicts[Verdict.UNDEFINED]), str(verdicts[Verdict.ERROR]),
                ]
            )  # fmt: skip
    heads = ["", "target", "release", "provider", "language", "Indices", "cases", *COLUMNS, "undefined", "error"]
    themes = sorted({name for by_theme in columns for name in by_theme})
    body = [[f"`{name}`", *[cell(by_theme.get(name, ())) for by_theme in columns]] for name in themes]
    numbers = [str(number) for number in range(1, len(columns) + 1)]
    targets = table(heads, rows, right=[0, *range(6, len(heads))])
    return f"{targets}\n\n{table(['theme', *numbers], body, right=range(1, len(columns) + 1))}"


def counts(executions: Collection[Execution]) -> list[str]:
    """The number of executions in each column."""
    count = Counter(GROUPS.get(execution.verdict) for execution in executions)
    return [str(count[column]) for column in COLUMNS]


def cell(executions: Collection[Execution]) -> str:
    """The numbers of a target and a theme, with dots for zeros."""
    return " / ".join("·" if count == "0" else count for count in counts(executions))


def with_matrix(text: str) -> str:
    """A page with its matrix made again from the committed records."""
    tables = render({f"{name_of(path)}.md": record_at(path) for path in RECORDS})
    return SECTION.sub(lambda match: f"{match[1]}\n{tables}\n\n{match[2]}", text)


if __name__ == "__main__":
    README = REPORTS / "README.md"
    README.write_text(with_matrix(README.read_text()))
