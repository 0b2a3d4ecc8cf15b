"""``reports/contexts.md``: graphs of several nodes by runtime and level of optimization.

``python -m tests.report_contexts`` writes it again, from the records of ``reports/contexts/`` alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from maxpool_check.reporting.markup import code, codes, escaped, joined, table
from maxpool_check.results.record import FAULTS, NOT_EXECUTED, Execution, Verdict
from tests.conftest import ROOT
from tests.report_matrix import RECORDS, record_at

PAGE = ROOT / "reports/contexts.md"

_INTRODUCTION = """\
What runtimes, and tools that rewrite models, make of MaxPool in graphs of several nodes: the cases of `cases/contexts/`, by
context (the file), target and level of optimization. Runtimes without levels have one row. `make contexts` writes the records
of tools and of the levels between, and this page."""

_CELLS = """\
A number is how many executions were compared; `3 of 40` are wrong: they diverge from what the nodes compute one after the
other, crash, or are refused although the level or the runtime executes the rest. `-`: nothing was executed."""


def executions_of_contexts() -> list[Execution]:
    """All executions of the cases of contexts, of every record; one of a target in a level counts once."""
    kept: dict[tuple[str, str, str], Execution] = {}
    for path in (*RECORDS, *sorted(PAGE.parent.glob("contexts/*.jsonl.xz"))):
        for execution in record_at(path).executions:
            if execution.case.startswith("contexts/"):
                kept.setdefault((execution.target, execution.case, execution.variant), execution)
    return list(kept.values())


def page(executions: list[Execution]) -> str:
    """The page: a table of counts, and what is wrong, by target."""
    contexts = sorted({context_of(execution) for execution in executions})
    by_row: dict[tuple[str, str], dict[str, list[Execution]]] = defaultdict(lambda: defaultdict(list))
    for execution in executions:
        by_row[execution.target, level_of(execution)][context_of(execution)].append(execution)
    rows = [
        [escaped(target), level, *(cell(columns.get(context, ())) for context in contexts)]
        for (target, level), columns in by_row.items()
    ]
    blocks = [
        "# MaxPool in graphs",
        _INTRODUCTION,
        _CELLS,
        table(["target", "level", *contexts], rows, right=range(2, len(contexts) + 2)),
        "## What is wrong",
        *wrong(executions),
    ]
    return joined(blocks) + "\n"


def context_of(execution: Execution) -> str:
    """The file of a case, without its folder."""
    return execution.case.partition(":")[0].rpartition("/")[2]


def level_of(execution: Execution) -> str:
    """The level of graph optimization of an execution."""
    return execution.variant.partition("optimization-")[2] or "default"


def is_wrong(execution: Execution) -> bool:
    """Whether an execution contradicts its document."""
    return execution.verdict in FAULTS


def cell(executions: Iterable[Execution]) -> str:
    """How many executions were compared, and how many of them are wrong."""
    compared = [each for each in executions if each.verdict not in (*NOT_EXECUTED, Verdict.ERROR)]
    count = sum(map(is_wrong, compared))
    return f"**{count} of {len(compared)}**" if count else str(len(compared) or "-")


def wrong(executions: Iterable[Execution]) -> Iterator[str]:
    """For each target, its kinds by level, with the smallest case of each."""
    by_target: dict[str, list[Execution]] = defaultdict(list)
    for execution in executions:
        if is_wrong(execution):
            by_target[execution.target].append(execution)
    for target, found in by_target.items():
        groups: dict[tuple[str, ...], list[Execution]] = defaultdict(list)
        for execution in found:
            groups[execution.kinds].append(execution)
        rows = []
        for kinds, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
            levels = Counter(map(level_of, group))
            smallest = min(group, key=lambda each: (each.size, each.case))
            rows.append(
                [
                    codes(kinds),
                    escaped(", ".join(f"{level} {count}" for level, count in levels.items())),
                    str(len({each.case for each in group})),
                    code(smallest.case),
                    escaped(smallest.title),
                ]
            )
        yield f"### {escaped(target)}"
        yield table(["kinds", "executions by level", "cases", "smallest", ""], rows, right=[2])


if __name__ == "__main__":
    PAGE.write_text(page(executions_of_contexts()))
