"""The catalogue of defects: a list, one defect, plain data."""

import dataclasses
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from maxpool_check.corpus.defect_versions import DefectVersions
from maxpool_check.judging.defects import Combined, Conditions, Defect, Effect
from maxpool_check.judging.target_selector import TRANSFORM
from maxpool_check.reporting.blocks import Block, Command, Facts, Heading, Inline, Paragraph, Span, Table
from maxpool_check.results.details import ARCHITECTURES
from maxpool_check.results.variants import ALL_VARIANTS
from maxpool_check.targets.machines import HOST
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.words import plural


def listed(defects: Sequence[Defect], versions: DefectVersions) -> Iterator[Block]:
    """A table for each runtime: id, severity, the versions that show it, what to do, the title."""
    for runtime in dict.fromkeys(defect.runtime for defect in defects):
        of_runtime = [each for each in defects if each.runtime == runtime]
        tested = max(map(versions.tested, of_runtime), key=len)
        yield Heading(2, [Span(runtime, strong=True), f", tested up to {tested[-1]}" if tested else ""])
        rows: list[list[Inline]] = []
        for defect in of_runtime:
            since = versions.since(defect)
            # What the first tested version shows may be older.
            first = "-" if since is None else f"<={since}" if tested[:1] == [since] else since
            sorts = [
                "rewrite" if each.rewrite else "session" if each.optimizers else "none" for each in defect.remedies
            ]
            remedy = "upgrade" if versions.fixed_in(defect) else next(iter(sorts), "")
            words = (defect.id, defect.severity.value, first, versions.until(defect) or "", remedy)
            rows.append([*(Span(word, code=True) for word in words), defect.title])
        yield Table(["id", "severity", "since", "until", "remedy", "title"], rows)
    yield Paragraph(f"{plural(len(defects), 'defect')}; maxpool-check explain ID shows one")


def explained(defect: Defect, versions: DefectVersions) -> Iterator[Block]:
    """One defect: what to do, what is known of it in a few words, what happens and why, and how to see it."""
    if fixed := versions.fixed_in(defect):
        yield Paragraph(Span(repaired(defect, fixed), strong=True))
    yield Heading(2, f"{defect.id}: {defect.title}")
    upstream, found = defect.upstream, []
    if upstream is not None:
        issue = Span(upstream.issue, href=upstream.issue) if upstream.issue else "no issue found"
        state = f", {upstream.state}" if upstream.issue else ""
        found = [issue, f"{state}, as seen {upstream.seen}. {upstream.note}".strip()]
    pairs: dict[str, Inline] = {
        "runtime": ", ".join(defect.runtimes),
        "severity": defect.severity.value,
        "versions": versions.span(defect),
        "documents": ", ".join(defect.documents),
        "conditions": "; ".join(conditions(defect.conditions)),
        "upstream": found or "not searched",
        "reviewed": f"by {defect.reviewer}, {defect.reviewed}" if defect.reviewed is not None else "",
    }
    remedies: list[tuple[str, Inline]] = []
    for each in defect.remedies:
        bounds = [f"versions {each.versions}"] * bool(each.versions) + conditions(each.conditions)
        where = f" ({'; '.join(bounds)})" if bounds else ""
        text = each.none or f"{each.words}{where}; cost: {each.cost}"
        label = "what stays wrong" if remedies else "no remedy"
        remedies.append((label if each.none else "what to do", text))
    yield Facts([*remedies, *((name, text) for name, text in pairs.items() if text)])
    yield Paragraph(" ".join(defect.mechanism.split()))
    if defect.established:
        yield Paragraph(f"How this is known: {' '.join(defect.established.split())}")
    if defect.fix:
        yield Paragraph(f"Fix: {' '.join(defect.fix.split())}")
    kinds = ", ".join(sorted(kind.value for kind in defect.kinds))
    yield Paragraph(f"It shows as {kinds}; --json says in which cases, variants and versions.")
    if defect.example:
        target = shlex.quote(target_of(defect, versions))
        yield Command(f"maxpool-check explain {defect.example} -t {target}", "draw its example")
        yield Command(f"maxpool-check repro {defect.id} -t {target} -o DIR", "write a reproduction")
    if build := build_of(target_of(defect, versions)):
        yield Paragraph(f"Does a fix work? This tests a build; {VENV}:")
        yield Command(fix_check(defect.id, build), "test a build")


def repaired(defect: Defect, fixed: str) -> str:
    """What to do about a defect that a version no longer has."""
    return f"{defect.id} is repaired in {re.split('[@?]', defect.runtime)[0]} {fixed}: do not report it, upgrade"


def conditions(of: Conditions) -> list[str]:
    """The conditions of a defect, each with what it names or states."""
    texts = {name: str(value).lower() for name, value in of.said.items()}
    texts |= {name: ", ".join(map(str, value)) for name, value in of.said.items() if isinstance(value, (list, tuple))}
    return [f"{name.replace('_', ' ')}: {text}" for name, text in texts.items()]


def data(defect: Defect, versions: DefectVersions) -> dict[str, Any]:
    """A defect as a member of a JSON document."""
    upstream = None
    if (known := defect.upstream) is not None:
        upstream = {"issue": known.issue, "state": known.state, "seen": str(known.seen), "note": known.note}
    return {
        **{
            name: getattr(defect, name)
            for name in ("id", "runtime", "title", "mechanism", "established", "fix", "example")
        },
        **{name: getattr(versions, name)(defect) for name in ("since", "until", "fixed_in", "tested")},
        "severity": defect.severity.value,
        "live": versions.is_live(defect),
        "upstream": upstream,
        "reviewer": defect.reviewer or None,
        "reviewed": str(defect.reviewed) if defect.reviewed is not None else None,
        "remedies": [
            {**dataclasses.asdict(each), "words": each.words, "conditions": _conditions_data(each.conditions)}
            for each in defect.remedies
        ],
        "documents": list(defect.documents),
        "conditions": _conditions_data(defect.conditions),
        "expect": [
            {
                "runtime": effect.when.runtime,
                "versions": effect.when.bounds,
                "cases": list(effect.cases) or None,
                "kinds": sorted(kind.value for kind in effect.kinds),
                "variants": _variants(effect),
                "conditions": _conditions_data(effect.conditions),
            }
            for effect in defect.effects
        ],
    }


def _conditions_data(of: Conditions) -> dict[str, Any]:
    """The conditions that say something, with combined rules in words."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return list(map(plain, value))
        return str(value) if isinstance(value, Combined) else value

    return {name: plain(value) for name, value in of.said.items()}


VENV = "VENV is an environment with the wheel of a build"
"""What a target is whose name has VENV."""


def build_of(target: str) -> str:
    """How ``-t`` names a build instead of a released target; empty if it cannot, as of a kernel that is not known."""
    try:
        name = parse(target)
    except BadTarget:
        return ""
    return name.build


def fix_check(defect: str, target: str, path: Sequence[str] = ()) -> str:
    """The command that says whether a target still shows a defect, of the corpus at a path."""
    corpus = [word for each in path for word in ("-p", each)]
    return shlex.join(["maxpool-check", "defects", "check", defect, "-t", target, *corpus])


def target_of(defect: Defect, versions: DefectVersions) -> str:
    """A target that shows a defect: its runtime in the last version that is known to, on the processor that it needs."""
    showing = versions.showing(defect)
    end = next((at for at, sign in enumerate(defect.runtime) if sign in "@?"), len(defect.runtime))
    version = f"=={showing[-1]}" if showing and ":on:" not in defect.runtime else ""
    pinned = f"{defect.runtime[:end]}{version}{defect.runtime[end:]}"
    machines = {name for each in defect.effects for name in each.conditions.processor if name in ARCHITECTURES}
    if len(machines) == 1 and not any(each.must_show(HOST) for each in defect.effects):
        pinned += f"{'&' if '?' in pinned else '?'}machine={machines.pop()}"
    return f"{pinned}:on:onnxruntime" if defect.runtime.startswith(TRANSFORM) and ":on:" not in pinned else pinned


def _variants(effect: Effect) -> list[str] | None:
    if effect.variants is None:
        return None
    return [variant.name for variant in ALL_VARIANTS if variant in effect.variants]
