"""What has changed between two targets for CI systems: a test for each case, and annotations."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import maxpool_check
from maxpool_check.comparing.gate import Assessed, TargetComparison
from maxpool_check.reporting import github
from maxpool_check.reporting.changes import ComparisonReport, cause, details, group_cause, name_of, titles
from maxpool_check.reporting.items import Alert, Checks, Item, Log, Suite, of_case
from maxpool_check.results.changes import IMPROVEMENTS, ONE_SIDED, UNOBSERVABLE, Change
from maxpool_check.words import plural, shortened, some

_MOST_NAMES = 10


def checks(report: ComparisonReport) -> Checks:
    """A suite for each comparison, a test for each case: what blocks fails, and other changes are its output."""
    suites, logs = [], []
    rules = {change.value: {"shortDescription": {"text": change.sentence}} for change in Change}
    for comparison in report.comparisons:

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
            ("decision", comparison.decision.value if comparison.decision else report.exit_code.name),
            ("reason", str(comparison)),
        ]
        suites.append(Suite(name_of(comparison), items, properties))
        logs.append(Log(name_of(comparison), comparison.headers[1].tool, items, rules, comparison.errors))
    if not logs:
        logs.append(Log(report.command, maxpool_check.__version__, lambda: iter(()), {}, report.problems))
    return Checks(suites, logs, report.errors)


def _item(case: str, changes: Sequence[Assessed], comparison: TargetComparison) -> Item:
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
        alerts=lambda: [_alert(case, shown, comparison)] if shown else [],
    )


def _alert(case: str, changes: Sequence[Assessed], comparison: TargetComparison) -> Alert:
    first = changes[0]
    accepted = dict.fromkeys(str(each.accepted) for each in changes if each.accepted is not None)
    is_accepted = bool(accepted) and not any(each.blocks for each in changes)
    is_note = is_accepted or first.change in IMPROVEMENTS
    level = "error" if first.blocks else "note" if is_note else "warning"
    properties = {
        "case": case,
        "changes": {each.execution.variant: each.change.value for each in changes},
        "blocks": first.blocks,
    }
    text = [f"{case}: {'; '.join(_sentences(changes))}", *_explained(changes, comparison)]
    identity = (comparison.old.name, comparison.new.name, case)
    suppressed = "; ".join(accepted) if is_accepted else None
    return Alert(first.change.value, level, "\n".join(text), identity, properties, suppressed=suppressed)


def _sentence(transition: Assessed) -> str:
    """A change and its cause: the known defects of an execution before and after, or its kinds where there is none."""
    change, sides = transition.change, (transition.old, transition.new)
    causes = [(side.known or ", ".join(side.kinds)) if side else "" for side in sides]
    text = change.sentence if change is Change.NOT_COMPARED else cause(change, causes)
    return f"{change.value}{' (accepted)' if transition.accepted is not None else ''}: {text}"


def _sentences(changes: Sequence[Assessed]) -> list[str]:
    """Each change with its cause and the variants that show it: ``regressed: conforms -> ORT-SEED-KEPT (indices)``."""
    variants: dict[str, list[str]] = {}
    for each in changes:
        variants.setdefault(_sentence(each), []).append(each.execution.variant)
    return [f"{text} ({', '.join(names)})" for text, names in variants.items()]


def _explained(changes: Sequence[Assessed], comparison: TargetComparison) -> Iterator[str]:
    """The changes of a case in full: its title, the known defects, and both results of the variants that show the same."""
    yield changes[0].execution.title
    yield from titles([side.known for each in changes for side in (each.old, each.new) if side is not None], comparison)
    yield from dict.fromkeys(f"accepted: {each.accepted}" for each in changes if each.accepted is not None)
    alike: dict[tuple[str, ...], list[Assessed]] = {}
    for each in changes:
        alike.setdefault((_sentence(each), *details(each, comparison.labels)), []).append(each)
    for (_, *lines), transitions in alike.items():
        yield from _sentences(transitions)
        yield from lines


def annotations(report: ComparisonReport) -> list[github.Annotation]:
    """An error at the line of the smallest case of every group that blocks, and other problems."""
    found = []
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
                found.append(github.Annotation(title, lines, smallest.origin))
    found += [github.Annotation("incomplete", [error]) for error in report.errors]
    return found
