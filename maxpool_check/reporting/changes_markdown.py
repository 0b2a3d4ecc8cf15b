"""What has changed between two targets, in Markdown: whole, and as a step summary of GitHub."""

from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from maxpool_check.comparing.gate import TargetComparison, TransitionGroup
from maxpool_check.reporting.abridged import abridged, some
from maxpool_check.reporting.changes import MEANINGS, MOST_NAMES, ComparisonReport, details, group_cause, titles
from maxpool_check.reporting.markdown import software
from maxpool_check.reporting.markup import bullets, code, escaped, fenced, folded, joined, table
from maxpool_check.words import plural

LARGEST = 40_000
"""The characters of a report, which names fewer cases rather than become longer; with ``-v`` it may."""

_MOST_NAMES_VERBOSE = 200
_MOST_SECTIONS = 40
_MOST_ROWS = 100
_LINE = 390
_CELL = 160

_Sections = Callable[[TargetComparison, int], Iterator[str]]


def write(report: ComparisonReport, file: TextIO) -> None:
    """Write the whole report: of each comparison the decision, the numbers, and a section for each group of changes."""
    _write(report, file, _every_section)


def write_github(report: ComparisonReport, file: TextIO) -> None:
    """Write the summary: the decision, the numbers, a section for each group that blocks, a row for each other one."""
    _write(report, file, _blocking_sections)


def _write(report: ComparisonReport, file: TextIO, sections: _Sections) -> None:
    numbers = [_MOST_NAMES_VERBOSE] if report.verbose else [MOST_NAMES, 3, 1]
    for most in numbers:
        text = joined(_blocks(report, sections, most)) + "\n"
        if len(text) <= LARGEST:
            break
    file.write(text)


def _blocks(report: ComparisonReport, sections: _Sections, most: int) -> Iterator[str]:
    if not report.comparisons:
        yield f"# MaxPool {report.command}"
        yield f"**{_text(report.result)}**"
    for comparison in report.comparisons:
        old, new = comparison.old, comparison.new
        yield f"# {_text(old.name)} to {_text(new.name)}"
        yield f"**{escaped(abridged(str(comparison), _LINE))}**"
        targets = [f"{label}: {code(side.name)}, {software(side)}" for label, side in (("old", old), ("new", new))]
        errors = [_text(error) for error in comparison.errors]
        left_out = [f"left out: {_text(name)}" for name in some(comparison.left_out, most)]
        yield bullets([*targets, *errors, *left_out, *map(_text, [*comparison.tools, *comparison.unused])])
        rows = [
            [
                f"**{change.value}**" if change in comparison.summary.blocking else change.value,
                str(count),
                MEANINGS[change],
            ]
            for change, count in comparison.summary.counts.items()
            if count
        ]
        yield table(["change", "executions", "meaning"], rows, right=[1])
        yield from sections(comparison, most)
        if comparison.summary.unchanged:
            wrong = plural(comparison.summary.wrong_in_both, "execution")
            yield folded(f"{wrong} wrong in both, which is no change", _table(comparison.summary.unchanged))


def _every_section(comparison: TargetComparison, most: int) -> Iterator[str]:
    for group in comparison.groups[:_MOST_SECTIONS]:
        yield from _section(group, comparison, most)
    if len(comparison.groups) > _MOST_SECTIONS:
        yield "## Other changes"
        yield _table(comparison.groups[_MOST_SECTIONS:])


def _blocking_sections(comparison: TargetComparison, most: int) -> Iterator[str]:
    blocking = [group for group in comparison.groups if group.blocks]
    for group in blocking[:_MOST_SECTIONS]:
        yield from _section(group, comparison, most)
    others = [*blocking[_MOST_SECTIONS:], *(group for group in comparison.groups if not group.blocks)]
    if others:
        yield folded(f"{plural(len(others), 'other group')} of changes", _table(others))


def _section(group: TransitionGroup, comparison: TargetComparison, most: int) -> Iterator[str]:
    execution, cases = group.smallest.execution, plural(len(group.cases), "case")
    yield f"## {group.change.value}: {_text(group_cause(group))}"
    yield f"{cases}. The smallest is {_name(execution.case)} ({_text(execution.variant)}):"
    yield _text(execution.title)
    accepted = [f"accepted: {group.accepted}"] if group.accepted is not None else []
    yield bullets(map(_text, [*titles(group.defects, comparison), *accepted]))
    yield fenced(line if len(line) <= _LINE else f"{line[:160]} ... {line[-220:]}" for line in details(group.smallest))
    if len(group.cases) == 1:
        return
    more = len(group.cases) - most
    listed = bullets([*map(_name, group.cases[:most]), *([f"and {more} more"] if more > 0 else [])])
    if group.blocks and most <= MOST_NAMES:
        yield listed
    else:
        yield folded(f"The first {most} of {cases}" if more > 0 else f"All {cases}", listed)


def _table(groups: Sequence[TransitionGroup]) -> str:
    rows = [
        [
            _change(group), escaped(abridged(group_cause(group), _CELL)), str(len(group.cases)),
            code(abridged(group.smallest.execution.case, _CELL)),
        ]
        for group in groups[:_MOST_ROWS]
    ]  # fmt: skip
    more = len(groups) - _MOST_ROWS
    rows += [["", f"and {more} more", "", ""]] if more > 0 else []
    return table(["change", "before and after", "cases", "smallest"], rows, right=[2])


def _change(group: TransitionGroup) -> str:
    """The change, and who has accepted it, and why."""
    return escaped(
        abridged(f"{group.change.value}, accepted: {group.accepted}" if group.accepted else group.change.value, _CELL)
    )


def _text(text: str) -> str:
    """Foreign text on a line that is not too long."""
    return escaped(abridged(text))


def _name(case: str) -> str:
    return code(abridged(case))
