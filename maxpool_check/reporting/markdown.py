"""The divergence report of a run, in Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TextIO

from maxpool_check.reporting.findings import Finding, explained, interpretations, profiles, sentence
from maxpool_check.reporting.markup import bullets, codes, escaped, fenced, folded, joined, table
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
_TRANSLATED = (
    "A case of a document other than ONNX's is translated: to explicit pads, a crop, a transposition, or to the document's "
    "own operator domain. Each case below, and the record, states its translation. `not-expressible`: no graph of the "
    "runtime means the same as the case, so it is not executed."
)


def write(report: RunReport, file: TextIO) -> None:
    """Write the whole report."""
    record = report.record
    names = ", ".join(target.name for target in record.header.targets)
    blocks = [f"# MaxPool on {names}", *state(report), summary_table(report), *_documents(report), _setting(record)]
    for target in record.header.targets:
        findings = [finding for finding in report.findings if finding.target == target.name]
        blocks += [f"## Divergences of {target.name}", _overview(findings), *_known(report, target.name)]
        for finding in findings:
            blocks += _finding(finding)
    file.write(joined([*blocks, *_undefined(record)]).rstrip() + "\n")


def state(report: RunReport) -> list[str]:
    """The result of the run in a sentence, and what is wrong with the run itself."""
    label, result = report.result
    if report.record.footer is None:
        return ["**Incomplete: the run did not end.** This is the report of the part that is recorded."]
    cases, executions = report.record.header.cases, len(report.record.executions)
    if label == "INCOMPLETE":
        result = "incomplete: some executions failed"
    strong = "" if label == "AS EXPECTED" else "**"
    outdated = [f"**{entry.status}** on {entry.target}: `{entry.id}`, {entry.message}" for entry in report.outdated]
    return [
        f"{plural(cases, 'case')}, {plural(executions, 'execution')}. {strong}{result[0].upper()}{result[1:]}.{strong}",
        bullets([*report.problems, *outdated]),
    ]


def summary_table(report: RunReport) -> str:
    """The number of executions by target and verdict."""
    rows = [
        [f"`{target.name}`", *[str(report.counts[target.name][verdict]) for verdict in report.verdicts]]
        for target in report.record.header.targets
    ]
    return table(["target", *map(str, report.verdicts)], rows, right=range(1, len(report.verdicts) + 1))


def _documents(report: RunReport) -> list[str]:
    """The verdicts by document, if there are several, and the interpretations of open points that the results show."""
    record = report.record
    counts: Counter[tuple[str, str, Verdict]] = Counter()
    translated = False
    for execution in record.executions:
        counts[execution.target, execution.spec, execution.verdict] += 1
        translated |= bool(execution.translation)
    specs = list(dict.fromkeys(spec for _, spec, _ in counts))
    blocks: list[str] = []
    if len(specs) > 1:
        rows = [
            [f"`{target.name}`", f"`{spec}`", *[str(counts[target.name, spec, verdict]) for verdict in report.verdicts]]
            for target in record.header.targets
            for spec in specs
        ]
        headings = ["target", "document", *map(str, report.verdicts)]
        blocks.append(table(headings, rows, right=range(2, len(headings))))
    if translated:
        blocks.append(_TRANSLATED)
    rows = [
        [
            f"`{observed.target}`", f"`{observed.point}`", f"`{observed.variant}`", escaped(observed.text),
            "translated" if observed.translated else "direct", str(observed.executions),
        ]
        for observed in interpretations(record)
    ]  # fmt: skip
    if rows:
        headings = ["target", "point", "variant", "interpretation", "model", "executions"]
        blocks += ["Behaviour observed where the documents leave a point open:", table(headings, rows, right=[5])]
    return blocks


def _setting(record: Record) -> str:
    header = record.header
    libraries = ", ".join(f"{name} {version}" for name, version in header.libraries.items())
    points = list(dict.fromkeys(point for policies in header.profile.values() for point in policies))
    rows = [[codes(specs), *[policies.get(point, "-") for point in points]] for specs, policies in profiles(record)]
    settings = [
        f"maxpool-check {header.tool} on Python {header.python}, with {libraries}",
        f"{header.system}, {header.cpu}; started {header.started}",
        f"cases: SHA-256 `{header.cases_sha256}`",
        f"known divergences: {f'SHA-256 `{header.known_sha256}`' if header.known_sha256 else 'none used'}",
    ]
    return folded(
        "Environment and settings",
        bullets([*settings, *map(_target, header.targets)]),
        "The interpretations by which results were judged where the documents leave a point open:",
        table(["document", *[f"`{point}`" for point in points]], rows),
    )


def _target(target: TargetDescription) -> str:
    options = ", ".join(f"{key}={value}" for key, value in target.session_options.items())
    opsets = f", loads operator sets up to {target.newest_opset}" if target.newest_opset is not None else ""
    return f"`{target.name}`: {software(target)}{opsets}" + (f"; {options}" if options else "")


def software(target: TargetDescription) -> str:
    """The distribution, version, provider, Python and numpy of a target."""
    return f"{target.distribution} {target.version}, {target.provider}, Python {target.python}, numpy {target.numpy}"


def _overview(findings: Sequence[Finding]) -> str:
    if not findings:
        return "None: every result that was compared conforms."
    rows = [
        [
            f"[{codes(finding.kinds)}](#{_anchor(finding)})" + (" (a limit)" if finding.limit else ""),
            str(len(finding.cases)), f"`{finding.smallest.case}`", codes(finding.known) or f"**{finding.status}**",
        ]
        for finding in findings
    ]  # fmt: skip
    return table(["kinds", "cases", "smallest", "known as"], rows, right=[1])


def _known(report: RunReport, target: str) -> list[str]:
    reasons: dict[str, list[str]] = defaultdict(list)
    for entry in report.known:
        if entry.target == target and entry.status is not KnownStatus.NOT_EXECUTED:
            state = "" if entry.status is KnownStatus.EXPECTED else f" **{entry.status.value}: {entry.message}**"
            issue = f" <{entry.issue}>" if entry.issue else ""
            reasons[f"{' '.join(entry.reason.split())}{issue}{state}"].append(entry.id)
    items = [f"{codes(ids)}: {text}" for text, ids in reasons.items()]
    return ["Known divergences:", bullets(items)] if items else []


def _finding(finding: Finding) -> list[str]:
    """One defect: what it is, the smallest case with its wrong cells, and the other cases."""
    smallest = finding.smallest
    variants = Counter(execution.variant for execution in finding.executions)
    numbers = ", ".join(f"{number} `{variant}`" for variant, number in variants.items())
    known = f"known as {codes(finding.known)}" if finding.known else f"**{finding.status}**"
    cases = plural(len(finding.cases), "case")
    blocks = [
        f'<a id="{_anchor(finding)}"></a>',
        f"### {codes(finding.kinds)}{' (a limit)' if finding.limit else ''}",
        bullets(escaped(sentence(kind)) for kind in finding.kinds),
        f"{cases} ({numbers}), {known}. {finding.explanation}".rstrip(),
        f"The smallest is `{smallest.case}`: {smallest.title}",
        *_input(smallest),
    ]
    for execution in finding.executions:
        if execution.case == smallest.case:
            blocks += _execution(execution)
    if len(finding.cases) > 1:
        blocks.append(folded(f"All {cases}", bullets(_cases(finding))))
    return blocks


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
        lines.append(f"`{execution.case}` (`{execution.variant}`): {cells}; {total}")
    return [*sorted(lines), *(f"`{file}`: {', '.join(names)}" for file, names in sorted(by_file.items()))]


def _input(execution: Execution) -> list[str]:
    data = execution.input
    if data is None:
        return []
    settings = codes(f"{name}={value}" for name, value in data.attributes.items()) or "no attributes"
    blocks = [f"`{execution.spec}`, X {data.dtype} {coordinates(data.shape)}, {settings}."]
    if data.policies:
        policies = codes(f"{point}: {interpretation}" for point, interpretation in data.policies.items())
        blocks.append(f"Interpretation of this case: {policies}.")
    if data.values:
        cells = execution.cells[:1]
        marked = [at for cell in cells for at in window_cells(cell.at, cell.window, execution.layout)]
        name = f"{cells[0].output}{coordinates(cells[0].at)}" if cells else ""
        heading = f"X, with the window of {name} in brackets:" if marked else "X:"
        blocks += [heading, fenced(planes(data.values, data.shape, marked, execution.layout))]
    if execution.clauses:
        blocks.append(f"Clauses: {codes(execution.clauses)}.")
    if execution.erratum:
        blocks.append(f"Erratum of the document: {execution.erratum.strip()}")
    return blocks


def _execution(execution: Execution) -> list[str]:
    variant = _VARIANTS.get(execution.variant, f"Variant `{execution.variant}`")
    opset = f", operator set {execution.opset}" if execution.opset is not None else ""
    known = f"{execution.status}: `{execution.known}`" if execution.known else f"**{execution.status}**"
    blocks = [f"{variant}{opset}: **{execution.verdict.value}**, {codes(execution.kinds)} ({known})"]
    if execution.causes:
        blocks.append(f"{'; '.join(map(explained, execution.causes))}.")
    if execution.translation:
        blocks.append(f"Translation: {'; '.join(execution.translation)}.")
    if not execution.cells:
        return [*blocks, fenced([execution.message.strip()])]
    total = sum(execution.counts.values())
    if total > len(execution.cells):
        blocks.append(f"The first {len(execution.cells)} of {total} wrong cells:")
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
    return [*blocks, table(["cell", "window on X", "expected", "actual", "kind"], rows)]


def _undefined(record: Record) -> list[str]:
    groups: dict[tuple[str, Verdict, str], dict[str, None]] = defaultdict(dict)
    for execution in record.executions:
        if execution.verdict in (Verdict.UNDEFINED, Verdict.NOT_EXPRESSIBLE):
            groups[execution.target, execution.verdict, execution.message][execution.case] = None
    rows = [
        [f"`{target}`", verdict.value, escaped(message), str(len(cases)), codes(cases)]
        for (target, verdict, message), cases in groups.items()
    ]
    headings = ["target", "verdict", "reason", "number", "cases"]
    return ["## Recorded, not judged", table(headings, rows, right=[3])] if rows else []


def _anchor(finding: Finding) -> str:
    name = f"{finding.target}-{finding.status}-{'-'.join(finding.kinds)}{'-limit' if finding.limit else ''}"
    return "".join(char if char.isalnum() or char in ".-" else "-" for char in name)
