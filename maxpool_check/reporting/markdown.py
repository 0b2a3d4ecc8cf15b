"""The divergence report of a run, in Markdown."""

import textwrap
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TextIO

from maxpool_check.reporting.findings import Finding, explained, sentence
from maxpool_check.reporting.interpretations import interpretations, profiles
from maxpool_check.reporting.markup import (
    bullets,
    by_file,
    code,
    codes,
    counted_by_file,
    escaped,
    fenced,
    folded,
    joined,
    link,
    table,
)
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.tensors import coordinates, planes, window_cells, window_text
from maxpool_check.results.record import NOT_EXECUTED, Execution, Record, TargetDescription, Verdict
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

_INCONSISTENT = (
    "The document allows each of these outputs, but they differ from variant to variant. No clause forbids it, so that they "
    "are no divergences; `--strict` fails on those that no known defect expects."
)


def write(report: RunReport, file: TextIO) -> None:
    """Write the whole report."""
    record = report.record
    names = ", ".join(target.name for target in record.header.targets)
    blocks = [
        f"# MaxPool on {escaped(names)}",
        *state(report),
        summary_table(report),
        *_documents(report),
        _setting(record),
    ]
    for target in record.header.targets:
        findings = [finding for finding in report.findings if finding.target == target.name]
        inconsistencies = [finding for finding in findings if finding.is_inconsistency]
        divergences = [finding for finding in findings if not finding.is_inconsistency]
        blocks += [f"## Divergences of {escaped(target.name)}", _overview(divergences), *_outdated(report, target.name)]
        for finding in divergences:
            blocks += _finding(finding)
        if inconsistencies:
            blocks += [f"## Inconsistencies of {escaped(target.name)}", _INCONSISTENT, _overview(inconsistencies)]
        for finding in inconsistencies:
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
    strong = "" if report.passed else "**"
    outdated = [
        f"**{entry.status}** on {escaped(entry.target)}: {code(entry.id)}, {escaped(entry.message)}"
        for entry in report.outdated
    ]
    return [
        f"{plural(cases, 'case')}, {plural(executions, 'execution')}. {strong}{escaped(result[0].upper() + result[1:])}.{strong}",
        bullets([*map(escaped, report.problems), *outdated]),
    ]


def summary_table(report: RunReport) -> str:
    """The number of executions by target and verdict."""
    rows = [
        [code(target.name), *[str(report.counts[target.name][verdict]) for verdict in report.verdicts]]
        for target in report.record.header.targets
    ]
    return table(["target", *map(str, report.verdicts)], rows, right=range(1, len(report.verdicts) + 1))


def _documents(report: RunReport) -> list[str]:
    """The verdicts by document, if there are several, and the interpretations of open points that the results show."""
    record = report.record
    counts: Counter[tuple[str, str, Verdict]] = Counter()
    for execution in record.executions:
        counts[execution.target, execution.spec, execution.verdict] += 1
    specs = list(dict.fromkeys(spec for _, spec, _ in counts))
    blocks: list[str] = []
    if len(specs) > 1:
        rows = [
            [code(target.name), code(spec), *[str(counts[target.name, spec, verdict]) for verdict in report.verdicts]]
            for target in record.header.targets
            for spec in specs
        ]
        headings = ["target", "document", *map(str, report.verdicts)]
        blocks.append(table(headings, rows, right=range(2, len(headings))))
    if any(execution.translation for execution in record.executions):
        blocks.append(_TRANSLATED)
    rows = [
        [
            code(observed.target), code(observed.point), code(observed.variant), escaped(observed.text),
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
    rows = [
        [codes(specs), *[escaped(policies[point]) if point in policies else "-" for point in points]]
        for specs, policies in profiles(record)
    ]
    settings = [
        escaped(f"maxpool-check {header.tool} on Python {header.python}, with {libraries}"),
        escaped(f"{header.system}, {header.cpu}; started {header.started}"),
        f"cases: SHA-256 {code(header.cases_sha256)}",
        f"known defects: {f'SHA-256 {code(header.known_sha256)}' if header.known_sha256 else 'none used'}",
    ]
    return folded(
        "Environment and settings",
        bullets([*settings, *map(_target, header.targets)]),
        "The interpretations by which results were judged; some points are decided by the document, others are left open:",
        table(["document", *[code(point) for point in points]], rows),
    )


def _target(target: TargetDescription) -> str:
    options = ", ".join(f"{key}={value}" for key, value in target.session_options.items())
    opsets = f", loads operator sets up to {target.newest_opset}" if target.newest_opset is not None else ""
    return f"{code(target.name)}: {software(target)}{opsets}" + (f"; {escaped(options)}" if options else "")


def software(target: TargetDescription) -> str:
    """The distribution, version, provider, Python and numpy of a target, in Markdown."""
    python = f"Python {target.python}, numpy {target.numpy}"
    return escaped(f"{target.distribution} {target.version}, {target.provider}, {python}")


def _overview(findings: Sequence[Finding]) -> str:
    if not findings:
        return "None: every result that was compared conforms."
    rows = [
        [
            finding.severity.value, f"[{_name(finding)}](#{_anchor(finding)})", escaped(finding.title),
            str(len(finding.cases)), code(finding.smallest.case),
        ]
        for finding in findings
    ]  # fmt: skip
    return table(["severity", "defect", "title", "cases", "example"], rows, right=[3])


def _name(finding: Finding) -> str:
    """The id of the defect, or the kinds of what no known defect expects."""
    if finding.defect is not None:
        return code(finding.defect.id)
    return f"**{escaped(finding.status)}** {codes(finding.kinds)}" + (" (a limit)" if finding.limit else "")


def _outdated(report: RunReport, target: str) -> list[str]:
    """The known defects that no longer occur as written."""
    items = [
        f"{code(entry.id)}: **{entry.status.value}**: {escaped(entry.message)}"
        for entry in report.outdated
        if entry.target == target
    ]
    return ["Known defects to remove or review:", bullets(items)] if items else []


def _finding(finding: Finding) -> list[str]:
    """One defect: what it is, the example with its wrong cells, and the other cases."""
    example = finding.smallest
    variants, cases = Counter(each.variant for each in finding.executions), plural(len(finding.cases), "case")
    numbers = ", ".join(f"{number} {code(variant)}" for variant, number in variants.items())
    blocks = [f'<a id="{_anchor(finding)}"></a>']
    if finding.defect is not None:
        issue = f" Upstream: {link(finding.defect.issue)}." if finding.defect.issue else ""
        blocks += [
            f"### {code(finding.defect.id)}: {escaped(finding.title)}",
            f"**{finding.severity.value}.** {escaped(' '.join(finding.defect.reason.split()))}{issue}",
            f"{cases} ({numbers}), {codes(finding.kinds)}.",
        ]
    else:
        blocks += [
            f"### {codes(finding.kinds)}{' (a limit)' if finding.limit else ''}",
            bullets(escaped(sentence(kind)) for kind in finding.kinds),
            f"{cases} ({numbers}), **{escaped(finding.status)}**. {escaped(finding.explanation)}".rstrip(),
        ]
    blocks += [f"The example is {code(example.case)}: {escaped(example.title)}", *input_blocks(example)]
    for execution in finding.executions:
        if execution.case == example.case:
            blocks += execution_blocks(execution)
    if len(finding.cases) > 1:
        blocks.append(folded(f"All {cases}", bullets(by_file(finding.cases))))
    return blocks


def input_blocks(execution: Execution) -> list[str]:
    """X, attributes and graph of an execution, with the window of its first wrong cell in brackets."""
    data = execution.input
    if data is None:
        return []
    settings = codes(f"{name}={value}" for name, value in data.attributes.items()) or "no attributes"
    blocks = [f"{code(execution.spec)}, X {escaped(data.dtype)} {coordinates(data.shape)}, {settings}."]
    if data.policies:
        policies = codes(f"{point}: {interpretation}" for point, interpretation in data.policies.items())
        blocks.append(f"Interpretation of this case: {policies}.")
    if data.graph:
        heading = (
            f"Graph, with the attributes above at MaxPool, operator set {execution.opset}. "
            "Cells of Y and Indices are those of MaxPool; functions of each value behind it are applied to them:"
        )
        blocks += [heading, fenced(["X", *data.graph])]
    if data.entering is not None and data.values:
        blocks += ["X:", fenced(planes(data.values, data.shape, [], execution.layout))]
    pooled, name_of_X = data.pooled, "X" if data.entering is None else "The tensor that enters MaxPool"
    if pooled.values:
        cells = execution.cells[:1]
        marked = [at for cell in cells for at in window_cells(cell.at, cell.window, execution.layout)]
        name = f"{escaped(cells[0].output)}{coordinates(cells[0].at)}" if cells else ""
        heading = f"{name_of_X}, with the window of {name} in brackets:" if marked else f"{name_of_X}:"
        blocks += [heading, fenced(planes(pooled.values, pooled.shape, marked, execution.layout))]
    if execution.clauses:
        blocks.append(f"Clauses: {codes(execution.clauses)}.")
    if execution.erratum:
        blocks.append(f"Erratum of the document: {escaped(execution.erratum.strip())}")
    return blocks


def execution_blocks(execution: Execution) -> list[str]:
    """What is wrong with an execution: verdict, kinds, and a table of wrong cells, or the message."""
    variant = _VARIANTS.get(execution.variant, f"Variant {code(execution.variant)}")
    opset = f", operator set {execution.opset}" if execution.opset is not None else ""
    status = escaped(execution.status)
    known = f"{status}: {code(execution.known)}" if execution.known else f"**{status}**"
    blocks = [f"{variant}{opset}: **{execution.verdict.value}**, {codes(execution.kinds)} ({known})"]
    if sentences := explained(execution.causes, execution.counts):
        blocks.append(f"{escaped('; '.join(sentences))}.")
    if execution.translation:
        blocks.append(f"Translation: {escaped('; '.join(execution.translation))}.")
    if not execution.cells:
        return [*blocks, fenced([execution.message.strip()])]
    total = sum(execution.counts.values())
    if total > len(execution.cells):
        blocks.append(f"The first {len(execution.cells)} of {total} wrong cells:")
    rows = [
        [
            f"{escaped(cell.output)}{coordinates(cell.at)}",
            window_text(cell.window),
            code(cell.expected),
            code(cell.got) + (f" = X{coordinates(cell.got_cell)}" if cell.got_cell is not None else ""),
            code(cell.kind),
        ]
        for cell in execution.cells
    ]
    return [*blocks, table(["cell", "window on X", "expected", "actual", "kind"], rows)]


def _undefined(record: Record) -> list[str]:
    groups: dict[tuple[str, Verdict, str], dict[str, None]] = defaultdict(dict)
    for execution in record.executions:
        if execution.verdict is Verdict.UNDEFINED or execution.verdict in NOT_EXECUTED:
            shown = textwrap.shorten(execution.message, 120, placeholder=" ...")
            groups[execution.target, execution.verdict, shown][execution.case] = None
    rows = [
        [code(target), verdict.value, escaped(message), str(len(cases)), counted_by_file(cases)]
        for (target, verdict, message), cases in groups.items()
    ]
    headings = ["target", "verdict", "reason", "cases", "in"]
    return ["## Recorded, not judged", table(headings, rows, right=[3])] if rows else []


def _anchor(finding: Finding) -> str:
    named = "-".join(finding.kinds) + ("-limit" if finding.limit else "")
    name = f"{finding.target}-{finding.status}-{finding.defect.id if finding.defect is not None else named}"
    return "".join(char if char.isalnum() or char in ".-" else "-" for char in name)
