"""The divergence report of a run, in Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from typing import TextIO

from maxpool_check.reporting.findings import Finding, explained, interpretations, profiles, sentence
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.tensors import coordinates, planes, window_cells, window_text
from maxpool_check.results.record import Execution, KnownStatus, Record, TargetDescription, Verdict
from maxpool_check.words import plural

_VARIANTS = {
    "indices": "Y and Indices requested",
    "y-only": "Y alone requested",
    "indices-in-domain": "Y and Indices requested, in the document's own operator domain",
    "y-only-in-domain": "Y alone requested, in the document's own operator domain",
}


def write(report: RunReport, file: TextIO) -> None:
    """Write the whole report."""
    record = report.record
    names = ", ".join(target.name for target in record.header.targets)
    lines = [f"# MaxPool on {names}", "", *state(report), "", *summary_table(report), *_documents(report)]
    lines += ["", *_setting(record)]
    for target in record.header.targets:
        findings = [finding for finding in report.findings if finding.target == target.name]
        lines += ["", f"## Divergences of {target.name}", "", *_overview(findings)]
        lines += _known(report, target.name)
        for finding in findings:
            lines += _finding(finding)
    lines += _undefined(record)
    file.write("\n".join(lines).rstrip() + "\n")


def state(report: RunReport) -> list[str]:
    """The result of the run in a sentence, and what is wrong with the run itself."""
    label, result = report.result
    if report.record.footer is None:
        return ["**Incomplete: the run did not end.** This is the report of the part that is recorded."]
    cases, executions = report.record.header.cases, len(report.record.executions)
    if label == "INCOMPLETE":
        result = "incomplete: some executions failed"
    result = result[0].upper() + result[1:]
    strong = "" if label == "AS EXPECTED" else "**"
    outdated = [
        f"- **{entry.status.value}** on {entry.target}: `{entry.id}`, {entry.message}" for entry in report.outdated
    ]
    problems = [f"- {problem}" for problem in report.problems]
    lines = [f"{plural(cases, 'case')}, {plural(executions, 'execution')}. {strong}{result}.{strong}"]
    return [*lines, *([""] if outdated or problems else []), *problems, *outdated]


def summary_table(report: RunReport) -> list[str]:
    """The number of executions by target and verdict."""
    rows = [
        [f"`{target.name}`", *[str(report.counts[target.name][verdict]) for verdict in report.verdicts]]
        for target in report.record.header.targets
    ]
    headings = ["target", *[verdict.value for verdict in report.verdicts]]
    return table(headings, rows, right=range(1, len(headings)))


def _documents(report: RunReport) -> list[str]:
    """The verdicts by document, if there are several, and the interpretations of open points that the results show."""
    record = report.record
    counts: Counter[tuple[str, str, Verdict]] = Counter()
    translated = False
    for execution in record.executions:
        counts[execution.target, execution.spec, execution.verdict] += 1
        translated |= bool(execution.translation)
    specs = list(dict.fromkeys(spec for _, spec, _ in counts))
    lines: list[str] = []
    if len(specs) > 1:
        rows = [
            [f"`{target.name}`", f"`{spec}`", *[str(counts[target.name, spec, verdict]) for verdict in report.verdicts]]
            for target in record.header.targets
            for spec in specs
        ]
        headings = ["target", "document", *[verdict.value for verdict in report.verdicts]]
        lines += ["", *table(headings, rows, right=range(2, len(headings)))]
    if translated:
        lines += [
            "",
            (
                "A case of a document other than ONNX's is translated: to explicit pads, a crop, a transposition, or to the "
                "document's own operator domain. Each case below, and the record, states its translation. "
                "`not-expressible`: no graph of the runtime means the same as the case, so it is not executed."
            ),
        ]
    rows = [
        [
            f"`{observed.target}`", f"`{observed.point}`", f"`{observed.variant}`", escaped(str(observed)),
            "translated" if observed.translated else "direct", str(observed.executions),
        ]
        for observed in interpretations(record)
    ]  # fmt: skip
    if rows:
        lines += ["", "Behaviour observed where the documents leave a point open:", ""]
        lines += table(["target", "point", "variant", "interpretation", "model", "executions"], rows, right=[5])
    return lines


def _setting(record: Record) -> list[str]:
    header = record.header
    libraries = ", ".join(f"{name} {version}" for name, version in header.libraries.items())
    points = list(dict.fromkeys(point for policies in header.profile.values() for point in policies))
    rows = [
        [", ".join(f"`{spec}`" for spec in specs), *[policies.get(point, "-") for point in points]]
        for specs, policies in profiles(record)
    ]
    return [
        "<details><summary>Environment and settings</summary>",
        "",
        f"- maxpool-check {header.tool} on Python {header.python}, with {libraries}",
        f"- {header.system}, {header.cpu}; started {header.started}",
        f"- cases: SHA-256 `{header.cases_sha256}`",
        f"- known divergences: {f'SHA-256 `{header.known_sha256}`' if header.known_sha256 else 'none used'}",
        *map(_target, header.targets),
        "",
        "The interpretations by which results were judged where the documents leave a point open:",
        "",
        *table(["document", *[f"`{point}`" for point in points]], rows),
        "",
        "</details>",
    ]


def _target(target: TargetDescription) -> str:
    options = ", ".join(f"{key}={value}" for key, value in target.session_options.items())
    opsets = f", loads operator sets up to {target.newest_opset}" if target.newest_opset is not None else ""
    return (
        f"- `{target.name}`: {target.distribution} {target.version}, {target.provider}, Python {target.python}, "
        f"numpy {target.numpy}{opsets}" + (f"; {options}" if options else "")
    )


def _overview(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return ["None: every result that was compared conforms."]
    rows = [
        [
            f"[{_kinds(finding.kinds)}](#{_anchor(finding)})" + (" (a limit)" if finding.limit else ""),
            str(len(finding.cases)),
            f"`{finding.smallest.case}`",
            _kinds(finding.known) or f"**{finding.status}**",
        ]
        for finding in findings
    ]
    return table(["kinds", "cases", "smallest", "known as"], rows, right=[1])


def _kinds(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _known(report: RunReport, target: str) -> list[str]:
    """The reasons of the known divergences."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for entry in report.known:
        if entry.target == target and entry.status is not KnownStatus.NOT_EXECUTED:
            state = "" if entry.status is KnownStatus.EXPECTED else f" **{entry.status.value}: {entry.message}**"
            issue = f" <{entry.issue}>" if entry.issue else ""
            reasons[f"{' '.join(entry.reason.split())}{issue}{state}"].append(entry.id)
    return (
        ["", "Known divergences:", "", *(f"- {_kinds(ids)}: {text}" for text, ids in reasons.items())]
        if reasons
        else []
    )


def _finding(finding: Finding) -> list[str]:
    """One defect: what it is, the smallest case with its wrong cells, and the other cases."""
    smallest = finding.smallest
    variants = Counter(execution.variant for execution in finding.executions)
    numbers = ", ".join(f"{number} `{variant}`" for variant, number in variants.items())
    known = f"known as {_kinds(finding.known)}" if finding.known else f"**{finding.status}**"
    cases = plural(len(finding.cases), "case")
    lines = ["", f'<a id="{_anchor(finding)}"></a>', ""]
    lines += [f"### {_kinds(finding.kinds)}{' (a limit)' if finding.limit else ''}", ""]
    lines += [f"- {escaped(sentence(kind))}" for kind in finding.kinds]
    lines += ["", f"{cases} ({numbers}), {known}. {finding.explanation}".rstrip()]
    lines += ["", f"The smallest is `{smallest.case}`: {smallest.title}", "", *_input(smallest)]
    for execution in finding.executions:
        if execution.case == smallest.case:
            lines += ["", *_execution(execution)]
    if len(finding.cases) > 1:
        lines += ["", f"<details><summary>All {cases}</summary>", "", *_cases(finding), "", "</details>"]
    return lines


def _cases(finding: Finding) -> list[str]:
    """A line for each execution with its first wrong cell of each output; those without wrong cells by file."""
    lines, by_file = [], defaultdict[str, dict[str, None]](dict)
    for execution in finding.executions:
        if not execution.cells:
            file, _, name = execution.case.partition(":")
            by_file[file][name] = None
            continue
        first = {cell.output: cell for cell in reversed(execution.cells)}
        cells = "; ".join(
            f"{name}{coordinates(cell.at)} is `{cell.got}`, expected `{cell.expected}`" for name, cell in first.items()
        )
        total = plural(sum(execution.counts.values()), "wrong cell")
        lines.append(f"- `{execution.case}` (`{execution.variant}`): {cells}; {total}")
    return [*sorted(lines), *(f"- `{file}`: {', '.join(names)}" for file, names in sorted(by_file.items()))]


def _input(execution: Execution) -> list[str]:
    data = execution.input
    if data is None:
        return []
    settings = ", ".join(f"`{name}={value}`" for name, value in data.attributes.items()) or "no attributes"
    lines = [f"`{execution.spec}`, X {data.dtype} {coordinates(data.shape)}, {settings}."]
    if data.policies:
        policies = ", ".join(f"`{point}: {interpretation}`" for point, interpretation in data.policies.items())
        lines += ["", f"Interpretation of this case: {policies}."]
    if data.values:
        cells = execution.cells[:1]
        marked = [at for cell in cells for at in window_cells(cell.at, cell.window, execution.layout)]
        name = f"{cells[0].output}{coordinates(cells[0].at)}" if cells else ""
        heading = f"X, with the window of {name} in brackets:" if marked else "X:"
        lines += ["", heading, "", "```text", *planes(data.values, data.shape, marked, execution.layout), "```"]
    if execution.clauses:
        lines += ["", f"Clauses: {_kinds(execution.clauses)}."]
    if execution.erratum:
        lines += ["", f"Erratum of the document: {execution.erratum.strip()}"]
    return lines


def _execution(execution: Execution) -> list[str]:
    variant = _VARIANTS.get(execution.variant, f"Variant `{execution.variant}`")
    opset = f", operator set {execution.opset}" if execution.opset is not None else ""
    known = f"{execution.status}: `{execution.known}`" if execution.known else f"**{execution.status}**"
    lines = [f"{variant}{opset}: **{execution.verdict.value}**, {_kinds(execution.kinds)} ({known})"]
    if execution.causes:
        lines += ["", f"{'; '.join(map(explained, execution.causes))}."]
    if execution.translation:
        lines += ["", f"Translation: {'; '.join(execution.translation)}."]
    if not execution.cells:
        return [*lines, "", "```text", execution.message.replace("```", "'''").strip(), "```"]
    total = sum(execution.counts.values())
    if total > len(execution.cells):
        lines += ["", f"The first {len(execution.cells)} of {total} wrong cells:"]
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
    return [*lines, "", *table(["cell", "window on X", "expected", "actual", "kind"], rows)]


def _undefined(record: Record) -> list[str]:
    groups: dict[tuple[str, Verdict, str], dict[str, None]] = defaultdict(dict)
    for execution in record.executions:
        if execution.verdict in (Verdict.UNDEFINED, Verdict.NOT_EXPRESSIBLE):
            groups[execution.target, execution.verdict, execution.message][execution.case] = None
    if not groups:
        return []
    rows = [
        [f"`{target}`", verdict.value, escaped(message), str(len(cases)), ", ".join(f"`{case}`" for case in cases)]
        for (target, verdict, message), cases in groups.items()
    ]
    headings = ["target", "verdict", "reason", "number", "cases"]
    return ["", "## Recorded, not judged", "", *table(headings, rows, right=[3])]


def _anchor(finding: Finding) -> str:
    name = f"{finding.target}-{finding.status}-{'-'.join(finding.kinds)}{'-limit' if finding.limit else ''}"
    return "".join(char if char.isalnum() or char in ".-" else "-" for char in name)


def escaped(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """The lines of a table; ``right`` holds the columns that are aligned there."""
    ruler = ["---:" if index in right else "---" for index in range(len(headings))]
    return [f"| {' | '.join(row)} |" for row in (headings, ruler, *rows)]
