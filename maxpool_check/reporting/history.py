"""What many releases of one runtime show: a matrix of kinds and releases, and what changed with each."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from maxpool_check.comparing.timeline import Release, Step
from maxpool_check.comparing.transitions import Group, counts
from maxpool_check.reporting.findings import VERDICTS, sentence
from maxpool_check.reporting.markdown import escaped, table


def _rows(releases: Sequence[Release]) -> list[tuple[str, list[int]]]:
    """The kinds, then the verdicts, each with its counts by release."""
    kinds = sorted({kind for release in releases for kind in release.kinds})
    verdicts = [verdict for verdict in VERDICTS if any(release.verdicts[verdict] for release in releases)]
    return [
        *((kind, [release.kinds[kind] for release in releases]) for kind in kinds),
        *((verdict, [release.verdicts[verdict] for release in releases]) for verdict in verdicts),
    ]


def text(name: str, releases: Sequence[Release], found: Sequence[Step], *, width: int) -> str:
    """For a terminal: one line a kind or verdict, one column a release, in as many blocks as the width asks for."""
    asked = [release for release in releases if release.record is not None]
    rows = _rows(asked)
    first = max((len(label) for label, _ in rows), default=0)
    column = max((len(release.version) for release in asked), default=0) + 2
    fits = max(1, (width - first) // column)
    console = Console(file=io.StringIO(), width=width, no_color=True, highlight=False)
    with console.capture() as captured:
        console.print(f"{name}: cases by kind, executions by verdict\n")
        for start in range(0, len(asked), fits):
            block = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            block.add_column("")
            for release in asked[start : start + fits]:
                block.add_column(release.version, justify="right", no_wrap=True)
            for label, values in rows:
                block.add_row(label, *[str(value or ".") for value in values[start : start + fits]])
            console.print(block)
            console.print()
        for release in releases:
            if release.record is None:
                console.print(f"passed over {release.version}: {release.skipped}", soft_wrap=True)
        for step in found:
            changed = _summary(step)
            if changed:
                console.print(f"{step.old.version} -> {step.new.version}: {changed}", soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _summary(step: Step) -> str:
    observed = {group.change.value for group in step.groups}
    return ", ".join(f"{count} {change}" for change, count in counts(step.transitions).items() if change in observed)


def markdown(name: str, releases: Sequence[Release], found: Sequence[Step]) -> str:
    """The whole report in Markdown."""
    asked = [release for release in releases if release.record is not None]
    rows = _rows(asked)
    lines = [f"# {name}: a history", ""]
    if asked and asked[0].record is not None:
        header = asked[0].record.header
        executions = len(asked[0].record.executions)
        lines += [
            (
                f"{header.cases} cases, {executions} executions of each release. Cases: SHA-256 `{header.cases_sha256}`. "
                f"{header.system}, {header.cpu}; {header.started.partition('T')[0]}."
            ),
            "",
        ]
    lines += ["The number of cases that show each kind, and of executions by verdict:", ""]
    body = [[f"`{label}`", *[str(value or "") for value in values]] for label, values in rows]
    lines += table(["", *[release.version for release in asked]], body, right=range(1, len(asked) + 1))
    kinds = sorted({kind for release in asked for kind in release.kinds})
    lines += ["", "What the kinds mean:", "", *[f"- `{kind}`: {sentence(kind)}" for kind in kinds]]
    lines += ["", "## What changed"]
    for step in found:
        lines += ["", f"### {step.old.version} to {step.new.version}", ""]
        groups = step.groups
        if not groups:
            lines.append("Nothing.")
            continue
        lines += table(["change", "before", "after", "cases", "smallest"], [_row(group) for group in groups], right=[3])
    skipped = [f"- {release.version}: {escaped(release.skipped)}" for release in releases if release.record is None]
    if skipped:
        lines += ["", "## Passed over", "", *skipped]
    return "\n".join(lines) + "\n"


def _row(group: Group) -> list[str]:
    before, after = (", ".join(f"`{kind}`" for kind in kinds) for kinds in group.kinds)
    return [group.change.value, before, after, str(len(group.cases)), f"`{group.smallest.execution.case}`"]


def as_json(name: str, releases: Sequence[Release], found: Sequence[Step], exit_code: int) -> str:
    """One JSON document."""
    return json.dumps(
        {
            "schema": "maxpool-check/history/1",
            "exit_code": exit_code,
            "target": name,
            "releases": [_release(release) for release in releases],
            "changes": [
                {
                    "from": step.old.version,
                    "to": step.new.version,
                    "summary": counts(step.transitions),
                    "groups": [_group(group) for group in step.groups],
                }
                for step in found
            ],
            "errors": [],
        },
        indent=1,
    )


def _release(release: Release) -> Mapping[str, object]:
    if release.record is None:
        return {"version": release.version, "skipped": release.skipped}
    return {
        "version": release.version,
        "cases_sha256": release.record.header.cases_sha256,
        "verdicts": dict(release.verdicts),
        "kinds": dict(release.kinds),
    }


def _group(group: Group) -> Mapping[str, object]:
    before, after = group.kinds
    return {"change": group.change.value, "before": list(before), "after": list(after), "cases": group.cases}
