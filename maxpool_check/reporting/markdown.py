"""The divergence report of a run, in Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict

from maxpool_check.reporting.findings import (
    VERDICTS,
    Finding,
    explained,
    findings,
    interpretations,
    profiles,
    sentence,
    summary,
)
from maxpool_check.reporting.tensors import coordinates, planes, window_cells, window_text
from maxpool_check.results.record import Execution, Record, TargetDescription

_QUESTIONS = {
    "indices": "Asked for Y and Indices",
    "y-only": "Asked for Y alone",
    "indices-in-domain": "Asked for Y and Indices in the document's own operator domain",
    "y-only-in-domain": "Asked for Y alone in the document's own operator domain",
}


def render(record: Record, exit_code: int) -> str:
    """The whole report, ending in a newline."""
    names = ", ".join(target.name for target in record.header.targets)
    lines = [f"# MaxPool on {names}", "", *state(record, exit_code), "", *summary_table(record), *_documents(record)]
    lines += ["", *_setting(record)]
    everything = findings(record)
    for target in record.header.targets:
        found = [finding for finding in everything if finding.target == target.name]
        lines += ["", f"## What is wrong on {target.name}", "", *_overview(found)]
        lines += _known(record, target.name)
        for finding in found:
            lines += _finding(finding)
    lines += _undefined(record)
    return "\n".join(lines).rstrip() + "\n"


def state(record: Record, exit_code: int) -> list[str]:
    """What the run came to, in words, and what is wrong with the run itself."""
    if record.footer is None:
        return ["**Incomplete: the run did not end.** What follows is what it had found by then."]
    asked = f"{record.header.cases} cases, {len(record.executions)} executions."
    words = {
        0: "Everything is as expected: it conforms, or is a known divergence.",
        1: "Some of it is **not expected**.",
        3: "**Incomplete**: some of it could not be asked.",
        4: "**Nothing was compared.**",
    }
    stale = [
        f"- **{entry.status}** on {entry.target}: `{entry.id}`, {entry.message}"
        for entry in record.footer.known
        if entry.status in ("stale", "expired")
    ]
    errors = [f"- {error}" for error in record.footer.errors]
    return [f"{asked} {words.get(exit_code, '')}".rstrip(), *([""] if stale or errors else []), *errors, *stale]


def summary_table(record: Record) -> list[str]:
    """The number of executions by target and verdict."""
    counts = summary(record.executions)
    shown = [verdict for verdict in VERDICTS if any(of_target[verdict] for of_target in counts.values())]
    rows = [
        [f"`{target.name}`", *[str(counts.get(target.name, {}).get(verdict, 0)) for verdict in shown]]
        for target in record.header.targets
    ]
    return table(["target", *shown], rows, right=range(1, len(shown) + 1))


def _documents(record: Record) -> list[str]:
    """The verdicts by document, where there are several, and what the answers show of what they leave open."""
    specs = list(dict.fromkeys(execution.spec for execution in record.executions))
    lines: list[str] = []
    if len(specs) > 1:
        counts: Counter[tuple[str, str, str]] = Counter(
            (one.target, one.spec, one.verdict) for one in record.executions
        )
        shown = [verdict for verdict in VERDICTS if any(verdict == key[2] for key in counts)]
        rows = [
            [f"`{target.name}`", f"`{spec}`", *[str(counts[target.name, spec, verdict]) for verdict in shown]]
            for target in record.header.targets
            for spec in specs
        ]
        lines += ["", *table(["target", "document", *shown], rows, right=range(2, len(shown) + 2))]
    if any(execution.translation for execution in record.executions):
        lines += [
            "",
            (
                "A case of a document that is not ONNX's is translated: to explicit pads, a crop, a transposition, or asked in "
                "the document's own operator domain. The translation stands with each case below, and in the record. What no "
                "graph of the runtime's says is `not-expressible`: counted, and no evidence of anything."
            ),
        ]
    found = interpretations(record)
    if found:
        rows = [
            [
                f"`{one.target}`", f"`{one.point}`", f"`{one.variant}`", escaped(str(one)),
                "by translation" if one.translated else "as it stands", str(one.answers),
            ]
            for one in found
        ]  # fmt: skip
        lines += ["", "How answers read what their documents leave open, as far as they show it:", ""]
        lines += table(["target", "point", "variant", "interpretation", "asked", "answers"], rows, right=[5])
    return lines


def _setting(record: Record) -> list[str]:
    header = record.header
    libraries = ", ".join(f"{name} {version}" for name, version in header.libraries.items())
    lines = [
        "<details><summary>How this was made</summary>",
        "",
        f"- maxpool-check {header.tool} on Python {header.python}, with {libraries}",
        f"- {header.system}, {header.cpu}; started {header.started}",
        f"- cases: SHA-256 `{header.cases_sha256}`",
        f"- known divergences: {f'SHA-256 `{header.known_sha256}`' if header.known_sha256 else 'none used'}",
        *[line for target in header.targets for line in _target(target)],
        "",
        "Where the documents leave a point open, these are the interpretations by which answers were judged:",
        "",
    ]
    points = list(dict.fromkeys(point for policies in header.profile.values() for point in policies))
    rows = [
        [", ".join(f"`{spec}`" for spec in specs), *[policies.get(point, "-") for point in points]]
        for specs, policies in profiles(record)
    ]
    return [*lines, *table(["document", *[f"`{point}`" for point in points]], rows), "", "</details>"]


def _target(target: TargetDescription) -> list[str]:
    options = ", ".join(f"{key}={value}" for key, value in target.session_options.items())
    opsets = f", loads operator sets up to {target.newest_opset}" if target.newest_opset is not None else ""
    return [
        f"- `{target.name}`: {target.distribution} {target.version}, {target.provider}, Python {target.python}, "
        f"numpy {target.numpy}{opsets}" + (f"; {options}" if options else "")
    ]


def _overview(found: list[Finding]) -> list[str]:
    if not found:
        return ["Nothing: every answer that was compared conforms."]
    return table(
        ["kinds", "cases", "smallest", "known as"],
        [
            [
                f"[{', '.join(f'`{kind}`' for kind in finding.kinds)}](#{_anchor(finding)})"
                + (" (a limit)" if finding.limit else ""),
                str(len(finding.cases)),
                f"`{finding.smallest.case}`",
                ", ".join(f"`{known}`" for known in finding.known) or f"**{finding.status}**",
            ]
            for finding in found
        ],
        right=[1],
    )


def _known(record: Record, target: str) -> list[str]:
    """Why the divergences that are known are there."""
    entries = record.footer.known if record.footer else ()
    seen = [entry for entry in entries if entry.target == target and entry.status != "not-executed"]
    if not seen:
        return []
    lines = ["", "What is known of them:", ""]
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry in seen:
        state = "" if entry.status == "expected" else f" **{entry.status}: {entry.message}**"
        issue = f" <{entry.issue}>" if entry.issue else ""
        reasons[f"{' '.join(entry.reason.split())}{issue}", state].append(f"`{entry.id}`")
    lines += [f"- {', '.join(ids)}: {reason}{state}" for (reason, state), ids in reasons.items()]
    return lines


def _finding(finding: Finding) -> list[str]:
    """One defect: what it is, the smallest case with its proof, and where else it shows."""
    smallest = finding.smallest
    variants = Counter(fault.variant for fault in finding.faults)
    count, asked = len(finding.cases), ", ".join(f"{number} `{variant}`" for variant, number in variants.items())
    limit = " (a limit)" if finding.limit else ""
    lines = [
        "",
        f'<a id="{_anchor(finding)}"></a>',
        "",
        f"### {', '.join(f'`{kind}`' for kind in finding.kinds)}{limit}",
        "",
    ]
    lines += [f"- {escaped(sentence(kind))}" for kind in finding.kinds]
    known = ", ".join(f"`{one}`" for one in finding.known)
    state = f"known as {known}" if known else f"**{finding.status}**"
    lines += ["", f"{count} case{'s' if count != 1 else ''} ({asked}), {state}."]
    if finding.explained:
        lines[-1] += f" {finding.explained[0].upper()}{finding.explained[1:]}."
    lines += ["", f"The smallest is `{smallest.case}`: {smallest.title}", "", *_asked(smallest)]
    for fault in finding.faults:
        if fault.case == smallest.case:
            lines += ["", *_execution(finding.execution(fault))]
    if count > 1:
        lines += ["", f"<details><summary>All {count} cases</summary>", "", *_others(finding), "", "</details>"]
    return lines


def _others(finding: Finding) -> list[str]:
    """A line for each answer with its first wrong cell of each output; refusals and the like by file."""
    with_cells = sorted((one for one in finding.faults if one.has_cells), key=lambda one: (one.case, one.variant))
    lines = []
    for one in map(finding.execution, with_cells):
        first = {cell.output: cell for cell in reversed(one.cells)}
        shown = "; ".join(
            f"{name}{coordinates(cell.at)} is `{cell.got}`, expected `{cell.expected}`" for name, cell in first.items()
        )
        total = sum(one.counts.values())
        lines.append(f"- `{one.case}` (`{one.variant}`): {shown}; {total} wrong cell{'s' if total != 1 else ''}")
    # Dicts without values, for sets that keep their order.
    by_file: dict[str, dict[str, None]] = defaultdict(dict)
    for fault in finding.faults:
        if not fault.has_cells:
            file, _, name = fault.case.partition(":")
            by_file[file][name] = None
    return lines + [f"- `{file}`: {', '.join(names)}" for file, names in sorted(by_file.items())]


def _asked(execution: Execution) -> list[str]:
    asked = execution.input
    if asked is None:
        return []
    settings = ", ".join(f"`{name}={value}`" for name, value in asked.attributes.items()) or "no attributes"
    lines = [f"`{execution.spec}`, X {asked.dtype} {coordinates(asked.shape)}, {settings}."]
    if asked.policies:
        lines += [
            "",
            "Read as " + ", ".join(f"`{p}: {interpretation}`" for p, interpretation in asked.policies.items()) + ".",
        ]
    if asked.values:
        first = execution.cells[:1]
        marked = [at for cell in first for at in window_cells(cell.at, cell.window, execution.layout)]
        note = f"X, with the window of {_cell_name(execution)} in brackets:" if marked else "X:"
        lines += ["", note, "", "```text", *planes(asked.values, asked.shape, marked, execution.layout), "```"]
    if execution.clauses:
        lines += ["", f"Clauses: {', '.join(f'`{clause}`' for clause in execution.clauses)}."]
    if execution.erratum:
        lines += ["", f"Erratum of the document: {execution.erratum.strip()}"]
    return lines


def _cell_name(execution: Execution) -> str:
    return f"{execution.cells[0].output}{coordinates(execution.cells[0].at)}"


def _execution(execution: Execution) -> list[str]:
    how = _QUESTIONS.get(execution.variant, f"Asked `{execution.variant}`")
    opset = f" in operator set {execution.opset}" if execution.opset is not None else ""
    known = f" ({execution.status}: `{execution.known}`)" if execution.known else f" (**{execution.status}**)"
    kinds = ", ".join(f"`{kind}`" for kind in execution.kinds)
    lines = [f"{how}{opset}: **{execution.verdict}**, {kinds}{known}"]
    if execution.causes:
        lines += ["", f"{'; '.join(map(explained, execution.causes))}."]
    if execution.translation:
        lines += ["", f"Translated: {'; '.join(execution.translation)}."]
    if not execution.cells:
        return [*lines, "", "```text", _wrapped(execution.message), "```"]
    total = sum(execution.counts.values())
    shown = len(execution.cells)
    lines += ["", *([f"The first {shown} of {total} wrong cells:", ""] if total > shown else [])]
    rows = [
        [
            f"{cell.output}{coordinates(cell.at)}",
            window_text(cell.window),
            f"`{cell.expected}`",
            f"`{cell.got}`" + (f" = X{coordinates(cell.got_cell)}" if cell.got_cell is not None else ""),
            f"`{cell.kind}`",
        ]
        for cell in execution.cells
    ]
    return [*lines, *table(["cell", "window on X", "expected", "got", "kind"], rows)]


def _undefined(record: Record) -> list[str]:
    groups: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for execution in record.executions:
        if execution.verdict in ("undefined", "not-expressible"):
            groups[execution.target, execution.verdict, execution.message][execution.case] = None
    if not groups:
        return []
    rows = [
        [f"`{target}`", verdict, escaped(message), str(len(cases)), ", ".join(f"`{case}`" for case in cases)]
        for (target, verdict, message), cases in groups.items()
    ]
    heading = "Recorded, not judged"
    return ["", f"## {heading}", "", *table(["target", "verdict", "why", "cases", "which"], rows, right=[3])]


def _anchor(finding: Finding) -> str:
    name = f"{finding.target}-{finding.status}-{'-'.join(finding.kinds)}{'-limit' if finding.limit else ''}"
    return "".join(char if char.isalnum() or char in ".-" else "-" for char in name)


def _wrapped(message: str) -> str:
    return message.replace("```", "'''").strip()


def escaped(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def table(headings: list[str], rows: list[list[str]], right: object = ()) -> list[str]:
    """The lines of a table; ``right`` holds the columns that are aligned there."""
    ruler = ["---:" if index in right else "---" for index in range(len(headings))]  # type: ignore[operator]
    return [f"| {' | '.join(row)} |" for row in (headings, ruler, *rows)]
