"""The matrix of ``reports/README.md``: what each target of the committed records does with each theme of the corpus."""

import dataclasses
import re
from collections import Counter
from functools import cache

from maxpool_check.judging.faults import faults
from maxpool_check.reporting.markup import code, escaped, table
from maxpool_check.reporting.matrix import WORDS, cell, counts
from maxpool_check.results.storage import name_of, read
from tests.conftest import ROOT

REPORTS = ROOT / "reports"
RECORDS = sorted(REPORTS.glob("*.jsonl.xz"))
MOST_TARGETS = 6
"""The targets side by side in a table, so that it stays readable."""


@cache
def record_at(path):
    """A record of the matrix, read once."""
    stored = read(path)
    return dataclasses.replace(stored, executions=tuple(stored.executions))


def theme(execution):
    """What a case is about: the file of an edge case, the folder of any other."""
    folder, _, file = execution.case.partition(":")[0].rpartition("/")
    return file.removesuffix("-sonnx") if folder == "edge" or not folder else folder


def short_name(target):
    """The distribution and version of a target, with its operator set or engine if it says one."""
    option = re.search(r"[?&](opset|engine)=(\w+)", target.name)
    return f"{target.distribution} {target.version.partition('+')[0]}" + (
        f" ({option[1]} {option[2]})" if option else ""
    )


def with_matrix(text):
    """A page with its matrix made again from the committed records: a table of the targets, and tables of themes and targets."""
    rows, columns = [], []
    for path in RECORDS:
        record = record_at(path)
        found = faults(record)
        for target in record.header.targets:
            by_theme = counts(record, target.name, found, theme)
            total = sum(by_theme.values(), Counter())
            link = f"[{escaped(short_name(target))}]({name_of(path)}.md)"
            columns.append((link, by_theme))
            about = [link, code(target.name), target.provider, target.speaks, target.indices or "none"]
            rows.append([*about, str(record.header.cases), *[str(total[word]) for word in WORDS]])
    heads = ["report", "target", "provider", "language", "Indices", "cases", *WORDS]
    shown = [number for number in range(len(heads)) if number < 6 or any(row[number] != "0" for row in rows)]
    targets = [[row[number] for number in shown] for row in rows]
    tables = [table([heads[number] for number in shown], targets, right=range(5, len(shown)))]
    themes = sorted({name for _, by_theme in columns for name in by_theme})
    for start in range(0, len(columns), MOST_TARGETS):
        side_by_side = columns[start : start + MOST_TARGETS]
        body = [[code(name), *[cell(by_theme.get(name, Counter())) for _, by_theme in side_by_side]] for name in themes]
        tables.append(table(["theme", *[link for link, _ in side_by_side]], body))
    section, made = r"(<!-- matrix -->\n)(?:.*\n)*?(<!-- /matrix -->)", "\n\n".join(tables)
    return re.sub(section, lambda match: f"{match[1]}\n{made}\n\n{match[2]}", text)
