"""Many records in one table: what each target makes of each theme of the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from maxpool_check.reporting.markdown import escaped, table
from maxpool_check.results.record import Execution, Record

_GROUPS = {
    "conforms": "conforms",
    "diverges": "diverges",
    "unstable": "diverges",
    "crashes": "diverges",
    "times-out": "diverges",
    "refuses": "refuses",
    "not-expressible": "not-expressible",
}
"""How verdicts are counted together; the others prove nothing and are left out."""


def theme(execution: Execution) -> str:
    """What a case is about: the file of an edge case, the folder of any other."""
    folder, _, file = execution.case.partition(":")[0].rpartition("/")
    return file.removesuffix("-sonnx") if folder == "edge" or not folder else folder


def render(records: Mapping[str, Record]) -> list[str]:
    """The lines of two tables: the targets, and the targets by theme. ``records`` by the file name of their report."""
    rows: list[list[str]] = []
    columns: list[list[Execution]] = []
    for report, record in records.items():
        for target in record.header.targets:
            executions = [one for one in record.executions if one.target == target.name]
            counts = _counts(executions)
            undefined = sum(one.verdict == "undefined" for one in executions)
            errors = sum(one.verdict == "error" for one in executions)
            number = len(columns) + 1
            columns.append(executions)
            rows.append(
                [
                    str(number), f"[{escaped(target.name)}]({report})", f"{target.distribution} {target.version}",
                    target.provider, target.speaks, target.indices or "none", *[str(counts[kind]) for kind in _SHOWN],
                    str(undefined), str(errors),
                ]
            )  # fmt: skip
    heads = ["", "target", "release", "provider", "asked in", "Indices", *_SHOWN, "undefined", "error"]
    lines = table(heads, rows, right=[0, *range(6, len(heads))])
    themes = sorted({theme(one) for executions in columns for one in executions})
    body = [
        [f"`{name}`", *[_cell([one for one in column if theme(one) == name]) for column in columns]] for name in themes
    ]
    numbers = [str(number + 1) for number in range(len(columns))]
    return [*lines, "", *table(["theme", *numbers], body, right=range(1, len(columns) + 1))]


_SHOWN = ("conforms", "diverges", "refuses", "not-expressible")


def _counts(executions: list[Execution]) -> Counter[str]:
    return Counter(_GROUPS[one.verdict] for one in executions if one.verdict in _GROUPS)


def _cell(executions: list[Execution]) -> str:
    counts = _counts(executions)
    return " / ".join(str(counts[kind] or "·") for kind in _SHOWN)
