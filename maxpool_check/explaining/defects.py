"""The catalogue of defects: a list, one defect on a page, plain data."""

import shlex
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from maxpool_check import inert
from maxpool_check.corpus.defect_versions import DefectVersions
from maxpool_check.judging.defects import Conditions, Defect, ExpectedDivergence
from maxpool_check.judging.target_selector import TRANSFORM
from maxpool_check.reporting.text import styled, terminal
from maxpool_check.results.variants import ALL_VARIANTS
from maxpool_check.words import plural

_NARROW = 100
"""Below so many columns a defect takes two lines."""


def in_order(defects: Iterable[Defect], versions: DefectVersions) -> list[Defect]:
    """By runtime, live ones first, then by severity."""
    return sorted(
        defects, key=lambda defect: (defect.runtime, not versions.is_live(defect), defect.severity.rank, defect.id)
    )


def write_list(defects: Sequence[Defect], versions: DefectVersions, width: int, file: TextIO, *, color: bool) -> None:
    """A table for each runtime: id, severity, the versions that show it, the title."""
    with terminal(file, width, color) as console:
        for runtime in dict.fromkeys(defect.runtime for defect in defects):
            tested = max((versions.tested(each) for each in defects if each.runtime == runtime), key=len)
            until = f", tested up to {tested[-1]}" if tested else ""
            console.print(f"[bold]{styled(runtime)}[/]{styled(until)}")
            if width < _NARROW:
                _write_narrow(console, [each for each in defects if each.runtime == runtime], versions)
                continue
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for name in ("id", "severity", "since", "until"):
                table.add_column(name, no_wrap=True, overflow="fold")
            table.add_column("title", overflow="fold", ratio=1)
            table.add_column("upstream", no_wrap=True)
            for defect in (each for each in defects if each.runtime == runtime):
                cells = (defect.id, defect.severity.value, *_span(defect, versions), defect.title, _number(defect))
                table.add_row(*map(styled, cells))
            console.print(table)
            console.print()
        console.print(f"{plural(len(defects), 'defect')}; maxpool-check defects ID shows one", soft_wrap=True)


def _write_narrow(console: Console, defects: Iterable[Defect], versions: DefectVersions) -> None:
    """Two lines for each defect: what a table has beside the title, and the title."""
    for defect in defects:
        cells = (defect.id, defect.severity.value, *_span(defect, versions), _number(defect))
        console.print(styled("  ".join(filter(None, cells))), soft_wrap=True)
        console.print(Padding(styled(defect.title), (0, 0, 0, 2), expand=False))
    console.print()


def _span(defect: Defect, versions: DefectVersions) -> tuple[str, str]:
    """Since and until; what the first tested version shows may be older."""
    since, tested = versions.since(defect), versions.tested(defect)
    shown = "-" if since is None else f"<={since}" if tested[:1] == [since] else since
    return shown, versions.until(defect) or ""


def page(defect: Defect, versions: DefectVersions, width: int) -> str:
    """One defect: what happens and why, where it shows, and how to see it."""
    fields = {
        "runtime": ", ".join(defect.runtimes),
        "severity": defect.severity.value,
        "versions": versions.span(defect),
        "documents": ", ".join(defect.documents),
        "conditions": "; ".join(conditions(defect.conditions)),
        "upstream": _upstream(defect),
        "reviewed": f"by {defect.reviewer}, {defect.reviewed}" if defect.reviewed is not None else "",
    }
    label = max(map(len, fields)) + 2
    lines = [f"{defect.id}: {defect.title}", ""]
    for name, value in fields.items():
        if value:
            lines += textwrap.wrap(value, width, initial_indent=f"{name:{label}}", subsequent_indent=" " * label)
    lines += ["", *textwrap.wrap(defect.mechanism, width)]
    if defect.established:
        lines += ["", *textwrap.wrap(f"How this is known: {defect.established}", width)]
    lines += ["", "Expected"]
    for expected in defect.expected:
        lines += textwrap.wrap(
            _expected(expected, defect.runtime), width, initial_indent="  ", subsequent_indent="    "
        )
    if defect.example:
        target = shlex.quote(_target(defect, versions))
        lines += ["", f"maxpool-check explain {defect.example} -t {target}"]
        lines += [f"maxpool-check repro {defect.id} -t {target} -o DIR"]
    return "\n".join(map(inert.line, lines)) + "\n"


def conditions(of: Conditions) -> list[str]:
    """The conditions of a defect in words."""
    parts = [
        ", ".join(of.dtypes),
        f"{' or '.join(map(str, of.spatial))} spatial axes" if of.spatial else "",
        f"channels a multiple of {of.channels_multiple_of}" if of.channels_multiple_of else "",
        {True: "with Indices", False: "Y alone", None: ""}[of.indices],
        ", ".join(of.geometry),
        ", ".join(of.graph),
        f"values: {', '.join(of.values)}" if of.values else "",
        f"values: {' or '.join(of.any_values)}" if of.any_values else "",
        f"behind {', '.join(of.before)}" if of.before else "",
        f"in front of {', '.join(of.after)}" if of.after else "",
        f"optimization {', '.join(of.optimization)}" if of.optimization else "",
        f"processor: {', '.join(of.processor)}" if of.processor else "",
        f"operator sets {of.opset}" if of.opset else "",
        f"excluded by the document as {of.refused}" if of.refused else "",
    ]
    return [part for part in parts if part]


def data(defect: Defect, versions: DefectVersions) -> dict[str, Any]:
    """A defect as a member of a JSON document."""
    upstream = defect.upstream
    return {
        "id": defect.id,
        "runtime": defect.runtime,
        "severity": defect.severity.value,
        "title": defect.title,
        "since": versions.since(defect),
        "until": versions.until(defect),
        "live": versions.is_live(defect),
        "tested": versions.tested(defect),
        "upstream": None
        if upstream is None
        else {"issue": upstream.issue, "state": upstream.state, "seen": str(upstream.seen), "note": upstream.note},
        "reviewer": defect.reviewer or None,
        "reviewed": str(defect.reviewed) if defect.reviewed is not None else None,
        "mechanism": defect.mechanism,
        "established": defect.established,
        "documents": list(defect.documents),
        "conditions": dict(defect.conditions.said),
        "example": defect.example,
        "expect": [
            {
                "runtime": expected.when.runtime,
                "versions": expected.when.bounds,
                "cases": None if expected.by_conditions else list(expected.cases),
                "kinds": sorted(kind.value for kind in expected.kinds),
                "variants": _variants(expected),
                "conditions": dict(expected.conditions.said),
            }
            for expected in defect.expected
        ],
    }


def _target(defect: Defect, versions: DefectVersions) -> str:
    """A target that shows a defect: its runtime in the last version that is known to."""
    showing = versions.showing(defect)
    end = next((at for at, sign in enumerate(defect.runtime) if sign in "@?"), len(defect.runtime))
    version = f"=={showing[-1]}" if showing and ":on:" not in defect.runtime else ""
    pinned = f"{defect.runtime[:end]}{version}{defect.runtime[end:]}"
    return f"{pinned}:on:onnxruntime" if defect.runtime.startswith(TRANSFORM) and ":on:" not in pinned else pinned


def _number(defect: Defect) -> str:
    """The issue upstream, in short: ``#25234 closed``."""
    if defect.upstream is None:
        return ""
    if defect.upstream.issue is None:
        return "none found"
    return f"#{defect.upstream.issue.rpartition('/')[2]} {defect.upstream.state}"


def _upstream(defect: Defect) -> str:
    upstream = defect.upstream
    if upstream is None:
        return "not searched"
    found = f"{upstream.issue}, {upstream.state}" if upstream.issue else "no issue found"
    return f"{found}, as seen {upstream.seen}. {upstream.note}".strip()


def _variants(expected: ExpectedDivergence) -> list[str] | None:
    if expected.variants is None:
        return None
    return [variant.name for variant in ALL_VARIANTS if variant in expected.variants]


def _expected(expected: ExpectedDivergence, runtime: str) -> str:
    kinds = ", ".join(sorted(kind.value for kind in expected.kinds))
    cases = "cases that meet the conditions" if expected.by_conditions else plural(len(expected.cases), "case")
    versions = f", versions {expected.when.bounds}" if expected.when.bounds else ""
    own = "; ".join(conditions(expected.conditions))
    on = f" on {expected.when.runtime}" if expected.when.runtime != runtime else ""
    variants = ", ".join(_variants(expected) or ["any variant"])
    return f"{kinds} of {cases} ({variants}){on}{versions}{own and f': {own}'}"
