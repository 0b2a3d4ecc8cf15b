"""What has changed between two targets: the report of ``gate``, as blocks, as JSON, and for CI systems."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any, TextIO

import msgspec

import maxpool_check
from maxpool_check import inert
from maxpool_check.comparing.gate import TargetComparison, TransitionGroup, worst
from maxpool_check.comparing.transitions import IMPROVEMENTS, ONE_SIDED, UNOBSERVABLE, Change, Transition
from maxpool_check.reporting import blocks, github
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span, slug
from maxpool_check.reporting.drawing import coordinates
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.items import Alert, Checks, Item, Log, Suite, of_case
from maxpool_check.reporting.json import target_data, write_object
from maxpool_check.reporting.provenance import environment
from maxpool_check.reporting.reruns import can_start, run_on
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import Conclusion, Execution, ExitCode, KnownEntry
from maxpool_check.words import plural, shortened, some

_MOST_NAMES = 10
_IN_FULL = 6
"""So many groups of changes are shown in full, and all that block; the others take a row each."""
_ON_A_SCREEN = 2  # That block, each with an example.
_MOST_LINES = 24
_SIDE = ("verdict", "kinds", "known", "message", "opset", "digests", "interpretations", "cells", "differences")


@dataclass(frozen=True)
class ComparisonReport:
    """Comparisons and how to show them; ``command`` is the word of the command that made them.

    ``record`` are the words that name it for 'gate accept'. ``problems`` say why there is no comparison, and ``undecided``
    is the exit code then.
    """

    command: str
    comparisons: Sequence[TargetComparison]
    width: int = 100
    color: bool = False
    verbose: bool = False
    record: Sequence[str] = ()
    problems: Sequence[str] = ()
    undecided: ExitCode = ExitCode.NOTHING_COMPARED

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the worst comparison."""
        return self.conclusion.exit_code

    @property
    def errors(self) -> list[str]:
        """Why a comparison is incomplete, or why there is none."""
        return [*self.problems, *(error for comparison in self.comparisons for error in comparison.errors)]

    @property
    def conclusion(self) -> Conclusion:
        """The decision on all comparisons with its reason, or why there is none."""
        if not self.comparisons:
            return Conclusion(self.undecided, "; ".join(problem.splitlines()[0] for problem in self.problems))
        deciding = worst(self.comparisons)
        if deciding.exit_code is not ExitCode.NOTHING_COMPARED or len(self.comparisons) == 1:
            return deciding.conclusion
        # It must not hide what the others show.
        others = [each for each in self.comparisons if each.exit_code is not deciding.exit_code]
        reasons = [f"{_name(deciding)}: {deciding.conclusion.reason}", *(f"{_name(each)}: {each}" for each in others)]
        return Conclusion(deciding.exit_code, "; ".join(reasons))

    def documents(self, form: Form) -> Iterator[Document]:
        """The report, with fewer and fewer groups in full; all of them on a page, and where everything is asked for."""
        word, reason = self.conclusion.word, self.conclusion.reason
        facts: list[tuple[str, Inline]] = [
            (label, [Span(side.name, strong=True), f": {side.software()}"])
            for comparison in self.comparisons
            for label, side in zip(comparison.labels, (comparison.old, comparison.new), strict=True)
        ]
        head: list[Block] = [
            blocks.Verdict(word, reason, "bad" if self.exit_code else "known" if word == "REVIEW" else "good"),
            blocks.Facts(facts),
            *(Paragraph(error, "problem") for error in self.errors),
        ]
        title = shortened("; ".join(map(_name, self.comparisons)) or f"MaxPool {self.command}")
        for most in [None] if self.verbose or form is Form.HTML else [40, 10, 3]:
            parts = [part for each in self.comparisons for part in self._comparison(each, form, most)]
            yield Document(f"MaxPool {self.command}", title, head, parts, [*self._following()])

    def _following(self) -> Iterator[str]:
        """How to accept what blocks, and how to decide for a model."""
        if self.exit_code is ExitCode.UNEXPECTED and self.record:
            accept = "-o accepted.yaml --author NAME --reason TEXT"
            yield f"maxpool-check gate accept {shlex.join(self.record)} {accept}"
        for each in [worst(self.comparisons)] if self.comparisons else []:
            sides = [
                side.name for side in (each.old, each.new) if can_start(side.name) and side.computes and side.graphs
            ]
            if len({*sides}) == 2:
                yield shlex.join(["maxpool-check", "model", "my.onnx", "--base", sides[0], "--head", sides[1]])

    def _comparison(self, comparison: TargetComparison, form: Form, most: int | None) -> Iterator[Block]:
        """What has changed from one target to another: in numbers, in groups, and with what it was made."""
        which = f" from {_name(comparison)}: {comparison}" if len(self.comparisons) > 1 else ""
        anchor = f"-{slug(_name(comparison))}" if which else ""
        is_brief = form is Form.TEXT and most is not None
        numbers = list(_numbers(comparison, most))
        yield Section(f"Changes in numbers of executions{which}", numbers, f"summary{anchor}", "Summary")
        groups = comparison.summary.groups
        if groups and form is Form.HTML:
            yield blocks.Search("groups of changes")
        blocking = sum(group.blocks for group in groups)
        count = len(groups) if most is None else min(most, max(_IN_FULL, blocking))
        count = min(blocking, _ON_A_SCREEN) if is_brief else count
        shown: list[Block] = [_card(group, comparison, form, most) for group in groups[:count]]
        if groups[count:]:
            shown += [Paragraph("In short, the other groups of changes:")] if count else []
            shown.append(table_of(groups[count:], _IN_FULL if is_brief else 100, comparison.defects))
        shown += [Paragraph("-v shows each with an example and its cases", "dim")] if groups and is_brief else []
        changes = shown or [Paragraph("No change that can be observed.")]
        yield Section(f"Changes{which}", changes, f"changes{anchor}", "Changes")
        if form is Form.HTML:
            made_with: list[Block] = []
            for header, target in zip(comparison.headers, (comparison.old, comparison.new), strict=True):
                made_with.append(Paragraph(Span(target.name, strong=True)))
                made_with.append(blocks.Facts(list(environment(header, [target]))))
            yield Section(f"Environment{which}", made_with, f"environment{anchor}", "Environment")

    def checks(self) -> Checks:
        """A suite for each comparison, a test for each case: what blocks fails, and other changes are its output."""
        suites, logs = [], []
        rules = {change.value: {"shortDescription": {"text": change.meaning}} for change in Change}
        for comparison in self.comparisons:

            def items(comparison: TargetComparison = comparison) -> Iterator[Item]:
                for case, changes in groupby(comparison.transitions, key=lambda each: each.execution.case):
                    yield _item(case, list(changes), comparison)
                for case in comparison.left_out:
                    message = "left out: the case differs between the records"
                    yield Item(*of_case(case), state="skipped", kind="left-out", message=message)

            properties = [
                *(("old", comparison.old.name), ("new", comparison.new.name)),
                ("old_cases_sha256", comparison.headers[0].cases_sha256),
                ("new_cases_sha256", comparison.headers[1].cases_sha256),
                ("decision", comparison.decision.value if comparison.decision else self.exit_code.name),
                ("reason", str(comparison)),
            ]
            suites.append(Suite(_name(comparison), items, properties))
            logs.append(Log(_name(comparison), comparison.headers[1].tool, items, rules, comparison.errors))
        if not logs:
            logs.append(Log(self.command, maxpool_check.__version__, lambda: iter(()), {}, self.problems))
        return Checks(suites, logs, self.errors)


def _name(comparison: TargetComparison) -> str:
    return f"{comparison.old.name} to {comparison.new.name}"


def cause(change: Change, causes: Sequence[str]) -> str:
    """What is so before and after, in words: ``conforms -> ORT-SEED-KEPT``."""
    before, after = (each or "conforms" for each in causes)
    if change in (Change.MISSING, Change.ADDED):
        return before if change is Change.MISSING else after
    return before if before == after else f"{before} -> {after}"


def group_cause(group: TransitionGroup) -> str:
    """The known defects before and after, or the kinds where there is none."""
    sides = zip(group.defects, group.kinds, strict=True)
    return cause(group.change, [defect or ", ".join(kinds) for defect, kinds in sides])


def titles(names: Sequence[str | None], comparison: TargetComparison, *, is_brief: bool = False) -> list[str]:
    """Severity, title and mechanism of the known defects among some ids, and what to do about the last: they excuse nothing."""
    lines = []
    for name in dict.fromkeys(names):
        entry = comparison.defects.get(name or "")
        if entry is not None and entry.title:
            lines.append(f"{entry.id} ({entry.severity}): {entry.title}")
            lines += [f"do: {entry.advice}"] if entry.advice and name == names[-1] else []
            lines += [entry.reason] if entry.reason != entry.title and not is_brief else []
    return lines


def result_of(execution: Execution | None) -> str:
    """The verdict with its kinds: ``diverges (shape)``."""
    if execution is None:
        return "not executed"
    return execution.verdict.value + (f" ({', '.join(execution.kinds)})" if execution.kinds else "")


def side(label: str, execution: Execution | None, *, settings: bool) -> Block:
    """What one side of a change returned: its result, and what is wrong, drawn; with ``settings``, what was executed."""
    about: Inline = [Span(label, strong=True), f": {result_of(execution)}"]
    if execution is None or not (settings or execution.kinds or execution.message):
        return Paragraph(about)
    return blocks.Evidence(ExecutionView(execution), about, settings, _MOST_LINES)


def details(transition: Transition, labels: tuple[str, str] = ("old", "new")) -> list[str]:
    """Both results as lines, with what is wrong."""
    lines = []
    for label, execution in zip(labels, (transition.old, transition.new), strict=True):
        lines.append(f"{label}: {result_of(execution)}")
        lines += [f"  {line}" for line in (ExecutionView(execution).lines(settings=False) if execution else ())]
    return [*lines, *_differing(transition, labels)]


def _differing(transition: Transition, labels: tuple[str, str]) -> list[str]:
    """The first cells in which one of two conforming results differs from the reference, and the other not or otherwise."""
    old, new = transition.old, transition.new
    if transition.change is not Change.CONFORMING_BUT_DIFFERENT or old is None or new is None:
        return []
    lines = [
        f"{each.output}{coordinates(each.at)}: reference {each.reference}, {label} {each.got}"
        for label, own, other in ((labels[0], old, new), (labels[1], new, old))
        for each in own.differences
        if each not in other.differences
    ]
    return lines or ["other bits, in none of the cells that the records hold"]


def _numbers(comparison: TargetComparison, most: int | None) -> Iterator[Block]:
    """The changes that occur, counted; what is wrong in both; what was not compared."""
    summary, rows = comparison.summary, list[list[Inline]]()
    for change, count in ((change, count) for change, count in summary.counts.items() if count):
        is_blocking, accepted = change in summary.blocking, summary.accepted.get(change, 0)
        wrong = summary.wrong_in_both if change is Change.SAME else 0
        notes = {
            "blocks": is_blocking,
            f"{accepted} of them accepted": accepted,
            f"{wrong} of them wrong in both": wrong,
        }
        tone = "bad" if is_blocking else "good" if change in IMPROVEMENTS else ""
        meaning = "; ".join([change.meaning, *(note for note, holds in notes.items() if holds)])
        rows.append([Span(change.value, strong=is_blocking, tone=tone), str(count), meaning])
    label = f"Changes from {_name(comparison)}"
    yield blocks.Table(["change", "executions", "meaning"], rows, frozenset({1}), label)
    yield from (Paragraph(shortened(message)) for message in (*comparison.tools, *comparison.unused))
    if summary.unchanged:
        title = f"{plural(summary.wrong_in_both, 'execution')} wrong in both, which is no change"
        table = table_of(summary.unchanged, most and _IN_FULL, comparison.defects)
        yield blocks.Folded(title, [table], is_open=True)
    if comparison.left_out:
        title = f"{plural(len(comparison.left_out), 'case')} left out, not the same in both"
        yield blocks.Folded(title, [blocks.Names(comparison.left_out)])


def table_of(
    groups: Sequence[TransitionGroup], most: int | None = 100, known: Mapping[str, KnownEntry] = MappingProxyType({})
) -> blocks.Table:
    """Groups of changes, a row each, with what to do about the ``known`` defects after them, or else the smallest case."""
    rows: list[list[Inline]] = []
    advice = {name: known[name].advice for group in groups[:most] if (name := group.defects[1] or "") in known}
    for group in groups[:most]:
        accepted = f", accepted: {group.accepted}" if group.accepted is not None else ""
        case = Span(shortened(group.smallest.execution.case, 160), code=True)
        change, why = shortened(f"{group.change.value}{accepted}", 160), shortened(group_cause(group), 160)
        last = advice.get(group.defects[1] or "", "") if any(advice.values()) else case
        rows.append([change, why, str(len(group.sizes)), last])
    more = len(groups) - len(rows)
    rows += [["", f"and {more} more", "", ""]] if more else []
    headings = ["change", "before and after", "cases", "do" if any(advice.values()) else "smallest"]
    return blocks.Table(headings, rows, frozenset({2}))


def _card(group: TransitionGroup, comparison: TargetComparison, form: Form, most: int | None) -> blocks.Card:
    """A group of changes: why, the smallest case with both results, and its cases; on a terminal, shortly."""
    smallest, cases, is_brief = group.smallest, group.cases, form is Form.TEXT and most is not None
    # What is executed now, and wrong, is no improvement.
    is_better = group.change in IMPROVEMENTS and not (group.change is Change.ADDED and group.kinds[1])
    state = "blocks" if group.blocks else "accepted" if group.accepted else "better" if is_better else "to review"
    tone = "bad" if group.blocks else "good" if is_better else "known"
    names = slug(f"{_name(comparison)}-{group.change.value}-{group.accepted or ''}-{group_cause(group)}")
    kinds = " ".join(dict.fromkeys(kind for side in group.kinds for kind in side))
    data = {"target": comparison.new.name, "change": group.change.value, "kinds": kinds}
    parts: list[Block] = [Paragraph(f"accepted: {group.accepted}")] if group.accepted is not None else []
    parts += map(Paragraph, titles(group.defects, comparison, is_brief=is_brief))
    execution = smallest.execution
    about: Inline = [
        Span(shortened(execution.case), code=True),
        f" ({execution.variant}): {shortened(execution.title)}",
    ]
    old, new = comparison.labels
    sides = {f"{old}, {comparison.old.name}": smallest.old, f"{new}, {comparison.new.name}": smallest.new}
    described = next((each for each in (smallest.new, smallest.old) if each and each.input), None)
    parts.append(Paragraph(about))
    if is_brief:
        results = zip(comparison.labels, (smallest.old, smallest.new), strict=True)
        parts.append(Paragraph("; ".join(f"{label} {result_of(each)}" for label, each in results)))
        parts += [Paragraph(first) for first in [ExecutionView(described or execution).first] if first]
    else:
        parts += [side(label, each, settings=each is described) for label, each in sides.items()]
    if differing := _differing(smallest, comparison.labels):
        parts.append(blocks.Lines(differing, "Cells that differ"))
    if form in (Form.TEXT, Form.HTML):
        words = run_on(execution, [comparison.old.name, comparison.new.name])
        parts.append(blocks.Command(shlex.join(words), "run the example on both targets"))
    if len(cases) > 1 and not is_brief:
        listed = blocks.Names(cases) if most is None else blocks.Lines(some(cases, _MOST_NAMES), "Cases")
        parts.append(blocks.Folded(f"All {len(cases)} cases", [listed], "cases", is_open=group.blocks))
    title = [group.change.value, f": {shortened(group_cause(group))}"]
    badges = [Span(state, tone=tone)]
    return blocks.Card(f"change-{names}", title, badges, plural(len(cases), "case"), parts, data)


def write_json(report: ComparisonReport, file: TextIO) -> None:
    """Write one JSON document with every transition, one by one."""
    schema = inert.dumps(f"maxpool-check/{report.command}/1")
    file.write(f'{{"schema": {schema}, "exit_code": {report.exit_code.value}, "comparisons": [')
    for number, comparison in enumerate(report.comparisons):
        file.write(",\n" if number else "\n")
        members = {
            "old": target_data(comparison.old),
            "new": target_data(comparison.new),
            "decision": comparison.decision,
            "message": str(comparison),
            "compared": comparison.summary.compared,
            "left_out": comparison.left_out,
            "summary": {change.value: count for change, count in comparison.summary.counts.items()},
            "wrong_in_both": comparison.summary.wrong_in_both,
            "tools": comparison.tools,
            "unused": comparison.unused,
            "transitions": map(_transition, comparison.transitions),
        }
        write_object(file, members)
    errors = [{"message": error} for error in report.errors]
    file.write(f'],\n"errors": {inert.dumps(errors)}}}\n')


def _transition(transition: Transition) -> dict[str, Any]:
    def members(execution: Execution, *names: str) -> dict[str, Any]:
        return {name: msgspec.to_builtins(getattr(execution, name)) for name in names}

    entry = transition.accepted
    accepted = entry and {"author": entry.author, "reason": entry.reason, "expires": entry.expires.isoformat()}
    return {
        **members(transition.execution, "case", "variant", "title", "origin"),
        "change": transition.change,
        "blocks": transition.blocks,
        "accepted": accepted,
        "old": transition.old and members(transition.old, *_SIDE),
        "new": transition.new and members(transition.new, *_SIDE),
    }


def _item(case: str, changes: Sequence[Transition], comparison: TargetComparison) -> Item:
    """The changes of a case: the worst is that of the item."""
    order = list(Change)
    shown = [each for each in changes if each.change not in UNOBSERVABLE]
    shown.sort(key=lambda each: (not each.blocks, order.index(each.change)))
    blocking, others = ([each for each in shown if each.blocks is blocks] for blocks in (True, False))
    state = "failure" if blocking else "passed"
    if not blocking and all(each.change in ONE_SIDED for each in changes):
        state = "skipped"
    told = blocking or changes
    return Item(
        *of_case(case),
        origin=changes[0].execution.origin,
        state=state,
        kind=blocking[0].change.value if blocking else "not-compared",
        message="; ".join(_sentences(told)),
        text=lambda: "\n".join(_explained(blocking, comparison)) if blocking else "",
        output=lambda: "\n".join(_explained(others, comparison)) if others else "",
        alert=(lambda: _alert(case, shown, comparison)) if shown else None,
    )


def _alert(case: str, changes: Sequence[Transition], comparison: TargetComparison) -> Alert:
    first = changes[0]
    level = "error" if first.blocks else "note" if first.change in IMPROVEMENTS else "warning"
    properties = {
        "case": case,
        "changes": {each.execution.variant: each.change.value for each in changes},
        "blocks": first.blocks,
    }
    text = [f"{case}: {'; '.join(_sentences(changes))}", *_explained(changes, comparison)]
    identity = (comparison.old.name, comparison.new.name, case)
    return Alert(first.change.value, level, "\n".join(text), identity, properties)


def _sentence(transition: Transition) -> str:
    """A change and its cause: the known defects of an execution before and after, or its kinds where there is none."""
    change, sides = transition.change, (transition.old, transition.new)
    causes = [(side.known or ", ".join(side.kinds)) if side else "" for side in sides]
    text = change.meaning if change is Change.NOT_COMPARED else cause(change, causes)
    return f"{change.value}{' (accepted)' if transition.accepted is not None else ''}: {text}"


def _sentences(changes: Sequence[Transition]) -> list[str]:
    """Each change with its cause and the variants that show it: ``regressed: conforms -> ORT-SEED-KEPT (indices)``."""
    variants: dict[str, list[str]] = {}
    for each in changes:
        variants.setdefault(_sentence(each), []).append(each.execution.variant)
    return [f"{text} ({', '.join(names)})" for text, names in variants.items()]


def _explained(changes: Sequence[Transition], comparison: TargetComparison) -> Iterator[str]:
    """The changes of a case in full: its title, the known defects, and both results of the variants that show the same."""
    yield changes[0].execution.title
    yield from titles([side.known for each in changes for side in (each.old, each.new) if side is not None], comparison)
    yield from dict.fromkeys(f"accepted: {each.accepted}" for each in changes if each.accepted is not None)
    alike: dict[tuple[str, ...], list[Transition]] = {}
    for each in changes:
        alike.setdefault((_sentence(each), *details(each, comparison.labels)), []).append(each)
    for (_, *lines), transitions in alike.items():
        yield from _sentences(transitions)
        yield from lines


def workflow_commands(report: ComparisonReport) -> list[str]:
    """An error at the line of the smallest case of every group that blocks, and other problems."""
    annotations = []
    for comparison in report.comparisons:
        for group in comparison.summary.groups:
            if group.blocks:
                smallest = group.smallest.execution
                lines = [
                    f"{smallest.case} ({smallest.variant}): {smallest.title}",
                    *details(group.smallest, comparison.labels),
                ]
                if len(group.cases) > 1:
                    lines += [f"{plural(len(group.cases), 'case')} in total:", *some(group.cases, _MOST_NAMES)]
                title = f"{group.change.value} on {comparison.new.name}: {shortened(group_cause(group))}"
                annotations.append(github.Annotation(title, lines, smallest.origin))
    annotations += [github.Annotation("incomplete", [error]) for error in report.errors]
    return github.commands(annotations)
