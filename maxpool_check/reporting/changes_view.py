"""What has changed between two targets as blocks."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from maxpool_check.comparing.gate import TargetComparison, TransitionGroup, worst
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span, code, slug
from maxpool_check.reporting.changes import (
    ComparisonReport,
    accept_command,
    differing,
    group_cause,
    name_of,
    result_of,
    titles,
)
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.provenance import environment
from maxpool_check.reporting.reruns import can_start, run_on
from maxpool_check.results.changes import IMPROVEMENTS, Change
from maxpool_check.results.record import Execution, ExitCode, KnownEntry
from maxpool_check.words import Term, plural, shortened

_IN_FULL = 6
"""So many groups of changes are shown in full in a report; the others take a row each."""

_MOST_NAMES = 60
_ON_A_SCREEN, _ROWS = 2, 6
"""On a screen, so many groups that block are in full, and so many are rows."""

_CARD, _NUMBERS, _TABLE, _UNCHANGED = 10, 20, 30, 40
"""What a screen has first: groups that block, the number of each change, rows of groups, what is wrong in both."""


def document(report: ComparisonReport) -> Document:
    """The decision, the changes in numbers, and each group of changes in a row and, as far as there is room, in full."""
    word, reason = report.conclusion.word, report.conclusion.reason
    facts: list[tuple[str, Inline]] = [
        (label, [Span(side.name, strong=True), f": {side.software()}"])
        for comparison in report.comparisons
        for label, side in zip(comparison.labels, (comparison.old, comparison.new), strict=True)
    ]
    head: list[Block] = [
        blocks.Verdict(word, reason, "bad" if report.exit_code else "known" if word == "REVIEW" else "good"),
        blocks.Facts(facts),
        *(Paragraph(error, "problem") for error in report.errors),
    ]
    title = shortened("; ".join(map(name_of, report.comparisons)) or f"MaxPool {report.command}")
    parts = [part for each in report.comparisons for part in _comparison(report, each)]
    return Document(f"MaxPool {report.command}", title, head, parts, [*_following(report)])


def _following(report: ComparisonReport) -> Iterator[str]:
    """How to accept what blocks, and how to decide for a model."""
    if report.exit_code is ExitCode.UNEXPECTED and report.record:
        yield accept_command(report.record)
    for each in [worst(report.comparisons)] if report.comparisons else []:
        sides = [side.name for side in (each.old, each.new) if can_start(side.name) and side.computes and side.graphs]
        if len({*sides}) == 2:
            yield shlex.join(["maxpool-check", "model", "my.onnx", "--base", sides[0], "--head", sides[1]])


def _comparison(report: ComparisonReport, comparison: TargetComparison) -> Iterator[Block]:
    """What has changed from one target to another: in numbers, in groups, and with what it was made."""
    name = name_of(comparison)
    which = f" from {name}: {comparison}" if len(report.comparisons) > 1 else ""
    anchor = f"-{slug(name)}" if which else ""
    numbers = list(_numbers(comparison))
    yield Section(f"Changes in numbers of executions{which}", numbers, f"summary{anchor}", "Summary")
    groups, content = comparison.summary.groups, list[Block]()
    if groups:
        yield blocks.Search("groups of changes", rank=blocks.PAGE)
        content += [table_of(groups, comparison.defects, _TABLE)]
        in_full = max(_IN_FULL, sum(group.blocks for group in groups))
        for number, group in enumerate(groups):
            rank = blocks.SUMMARY + min(number, 99) if number < in_full else blocks.WHOLE
            content.append(_card(group, comparison, _CARD + number if group.blocks and number < _ON_A_SCREEN else rank))
    changes = content or [Paragraph("No change that can be observed.")]
    yield Section(f"Changes{which}", changes, f"changes{anchor}", "Changes", more="more in full: -v")
    made_with: list[Block] = []
    for header, target in zip(comparison.headers, (comparison.old, comparison.new), strict=True):
        made_with.append(Paragraph(Span(target.name, strong=True)))
        made_with.append(blocks.Facts(list(environment(header, [target]))))
    yield Section(f"Environment{which}", made_with, f"environment{anchor}", "Environment", rank=blocks.PAGE)


def side(label: str, execution: Execution | None, *, settings: bool) -> Block:
    """What one side of a change returned: its result, and what is wrong, drawn; with ``settings``, what was executed."""
    about: Inline = [Span(label, strong=True), f": {result_of(execution)}"]
    if execution is None or not (settings or execution.kinds or execution.message):
        return Paragraph(about, rank=blocks.SUMMARY)
    return blocks.Evidence(ExecutionView(execution), about, settings)


def _numbers(comparison: TargetComparison) -> Iterator[Block]:
    """The changes that occur, counted; what is wrong in both; what was not compared."""
    summary, rows, ranks = comparison.summary, list[list[Inline]](), list[int]()
    for change, count in ((change, count) for change, count in summary.counts.items() if count):
        is_blocking, accepted = change in summary.blocking, summary.accepted.get(change, 0)
        wrong = summary.wrong_in_both if change is Change.SAME else 0
        notes = {
            "blocks": is_blocking,
            f"{accepted} of them accepted": accepted,
            f"{wrong} of them wrong in both": wrong,
        }
        tone = "bad" if is_blocking else "good" if change in IMPROVEMENTS else ""
        note = "; ".join(note for note, holds in notes.items() if holds)
        rows.append([Span(change.value, strong=is_blocking, tone=tone), str(count), note, change.sentence])
        ranks.append(blocks.ALWAYS if is_blocking else _NUMBERS)
    headings, label = ["change", "executions", "note", "meaning"], f"Changes from {name_of(comparison)}"
    yield blocks.Table(
        headings, rows, frozenset({1}), label, ranks=ranks, more="more, which block nothing", wide=frozenset({3})
    )
    yield from (Paragraph(shortened(message)) for message in (*comparison.tools, *comparison.unused))
    if summary.unchanged:
        title = f"{plural(summary.wrong_in_both, 'execution')} wrong in both, which is no change"
        table = table_of(summary.unchanged, comparison.defects, _UNCHANGED)
        yield blocks.Folded(title, [table], is_open=True, rank=_UNCHANGED)
    if comparison.left_out:
        title = f"{plural(len(comparison.left_out), 'case')} left out, not the same in both"
        yield blocks.Folded(title, [blocks.Cases(blocks.Names(comparison.left_out))], rank=_NUMBERS)


def table_of(
    groups: Sequence[TransitionGroup], known: Mapping[str, KnownEntry] = MappingProxyType({}), rank: int = blocks.ALWAYS
) -> blocks.Table:
    """Groups of changes, a row each, with what to do about the ``known`` defects after them, or else the smallest case.

    ``rank`` is the rank of the first row.
    """
    rows: list[list[Inline]] = []
    advice = {name: known[name].advice for group in groups if (name := group.defects[1] or "") in known}
    for group in groups:
        accepted = f", accepted: {group.accepted}" if group.accepted is not None else ""
        case = Span(shortened(group.smallest.execution.case, 160), code=True)
        change, why = shortened(f"{group.change.value}{accepted}", 160), shortened(group_cause(group), 160)
        last = advice.get(group.defects[1] or "", "") if any(advice.values()) else case
        rows.append([change, why, str(len(group.sizes)), last])
    headings = ["change", "before and after", "cases", "do" if any(advice.values()) else "smallest"]
    ranks = [rank + number if number < _ROWS else blocks.SUMMARY + min(number, 99) for number in range(len(rows))]
    # What blocks is always said.
    ranks = [blocks.ALWAYS if group.blocks and number < _ROWS else ranks[number] for number, group in enumerate(groups)]
    return blocks.Table(headings, rows, frozenset({2}), ranks=ranks, more="more", rank=min(ranks, default=rank))


class Standing(Term):
    """What a group of changes is for a decision."""

    BLOCKS = "blocks", "the change makes the decision BLOCK"
    ACCEPTED = "accepted", "the change would block, and a file of your own accepts it"
    BETTER = "better", "what was wrong or not executed before is right now"
    TO_REVIEW = "to review", "the change does not block, and somebody should look at it"


def _card(group: TransitionGroup, comparison: TargetComparison, rank: int) -> blocks.Card:
    """A group of changes: why, the smallest case with both results, and its cases."""
    smallest, cases, labels = group.smallest, group.cases, comparison.labels
    # What is executed now, and wrong, is no improvement.
    is_better = group.change in IMPROVEMENTS and not (group.change is Change.ADDED and group.kinds[1])
    passing = Standing.ACCEPTED if group.accepted else Standing.BETTER if is_better else Standing.TO_REVIEW
    standing = Standing.BLOCKS if group.blocks else passing
    tone = "bad" if group.blocks else "good" if is_better else "known"
    names = slug(f"{name_of(comparison)}-{group.change.value}-{group.accepted or ''}-{group_cause(group)}")
    kinds = " ".join(dict.fromkeys(kind for side in group.kinds for kind in side))
    data = {"target": comparison.new.name, "change": group.change.value, "kinds": kinds}
    parts: list[Block] = [Paragraph(f"accepted: {group.accepted}")] if group.accepted is not None else []
    for line in titles(group.defects, comparison):
        # On a screen, the mechanism of a defect is too long.
        is_short = line.startswith("do: ") or line.partition(" ")[0] in comparison.defects
        parts.append(Paragraph(line, rank=blocks.ALWAYS if is_short else blocks.SUMMARY))
    execution = smallest.execution
    parts.append(Paragraph([code(shortened(execution.case)), f" ({execution.variant}): {shortened(execution.title)}"]))
    sides = dict(zip(labels, (smallest.old, smallest.new), strict=True))
    parts.append(Paragraph("; ".join(f"{label} {result_of(each)}" for label, each in sides.items())))
    described = next((each for each in (smallest.new, smallest.old) if each and each.input), None)
    for (label, each), of in zip(sides.items(), (comparison.old, comparison.new), strict=True):
        if each is not None and (each is described or each.kinds or each.message):
            about = Span(f"{label}, {of.name}", strong=True)
            parts.append(blocks.Evidence(ExecutionView(each), about, each is described))
    if cells := differing(smallest, labels):
        parts.append(blocks.Lines(cells, "Cells that differ"))
    words = run_on(execution, [comparison.old.name, comparison.new.name])
    parts.append(blocks.Command(shlex.join(words), "run the example on both targets"))
    if len(cases) > 1:
        listed = [blocks.Cases(blocks.Names(cases))]
        amount = blocks.SUMMARY if len(cases) <= _MOST_NAMES else blocks.WHOLE
        parts.append(blocks.Folded(f"All {len(cases)} cases", listed, "cases", is_open=group.blocks, rank=amount))
    title = f"{group.change.value}: {shortened(group_cause(group))}"
    badges = [Span(standing.value, tone=tone)]
    return blocks.Card(f"change-{names}", title, badges, plural(len(cases), "case"), parts, data, rank=rank)
