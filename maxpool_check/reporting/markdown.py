"""The report of a run, in Markdown: what was tested, the defects by severity, and what was refused or not executed.

Without the lists of all cases it is at most :data:`MOST_BYTES` for each target: the worst defects are drawn, the others are
rows of a table.
"""

from collections.abc import Iterator, Sequence
from typing import TextIO

from maxpool_check.reporting.findings import Finding
from maxpool_check.reporting.interpretations import profiles
from maxpool_check.reporting.markdown_findings import EVERYTHING, anchor, overview, reasons_table, section
from maxpool_check.reporting.markdown_lists import behaviour, clauses, documents, not_given
from maxpool_check.reporting.markup import bullets, code, codes, escaped, folded, joined, opened, short, table, wrapped
from maxpool_check.reporting.provenance import made_with
from maxpool_check.reporting.reasons import refusals
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import Record, RunHeader, TargetDescription, Verdict
from maxpool_check.words import plural

MOST_BYTES = 40_000
"""The size of a report for each target, unless everything is asked for."""

_INCONSISTENT = (
    "The document allows each of these outputs, but they differ from variant to variant. No clause forbids it, so that they "
    "are no divergences; `--strict` fails on those that no known defect expects."
)
_REFUSED = (
    "Graphs that the document allows and the runtime refuses. A `limit` is what the runtime does not implement, as it declares "
    "or as a review found; any other is a `refusal`."
)
_SHORTENED = (
    f"Cases are counted. {EVERYTHING} lists them, and draws every example in full: here, long lines and large drawings are "
    "cut off, which three dots say."
)


def write(report: RunReport, file: TextIO) -> None:
    """Write the whole report."""
    targets = report.record.header.targets
    before, after = _before(report), _after(report)
    behind = [not_given(report, target.name) for target in targets]

    def written(budget: int) -> str:
        of_targets = [_target(report, target, budget) for target in targets]
        blocks = [block for own, rest in zip(of_targets, behind, strict=True) for block in (*own, *rest)]
        return joined([*before, *blocks, *after])

    budget = (MOST_BYTES * len(targets) - len(written(0).encode())) // max(1, len(targets))
    file.write(written(budget).rstrip() + "\n")


def _before(report: RunReport) -> list[str]:
    """What comes before the targets: the result, what was tested, and the numbers."""
    names = ", ".join(target.name for target in report.record.header.targets)
    return [
        f"# MaxPool on {escaped(short(names, 300))}",
        *state(report),
        *tested(report),
        summary_table(report),
        severity_table(report),
        "" if report.cases else wrapped(_SHORTENED),
    ]


def _after(report: RunReport) -> list[str]:
    """What comes after the targets: what was executed by document and clause, open points, the environment."""
    fold = opened if set(report.verdicts) <= _WITHOUT_FAULTS else folded
    return [*documents(report), *clauses(report, fold), *behaviour(report), _setting(report.record)]


_WITHOUT_FAULTS = {
    Verdict.CONFORMS, Verdict.INCONSISTENT, Verdict.UNDEFINED, Verdict.UNKNOWN, Verdict.NOT_EXPRESSIBLE, Verdict.NOT_CLAIMED,
}  # fmt: skip


def _target(report: RunReport, target: TargetDescription, budget: int) -> list[str]:
    """The defects, inconsistencies and refusals of a target, with examples in so many bytes."""
    own = [finding for finding in report.findings if finding.target == target.name]
    inconsistencies = [finding for finding in own if finding.is_inconsistency]
    # A refusal that nobody expects fails the run, and is drawn.
    refused = [finding for finding in own if finding.is_refusal and not finding.is_unexpected]
    defects = [finding for finding in own if finding not in inconsistencies and finding not in refused]
    drawn, left = _drawn(report, defects, budget)
    blocks = [
        f"## Defects of {escaped(target.name)}",
        *_defects(report, defects, drawn),
        *_outdated(report, target.name),
    ]
    blocks += drawn
    if inconsistencies:
        drawn, left = _drawn(report, inconsistencies, left)
        heading = f"## Inconsistencies of {escaped(target.name)}"
        blocks += [heading, wrapped(_INCONSISTENT), *overview(report, inconsistencies, len(drawn)), *drawn]
    if reasons := refusals(own):
        drawn = _drawn(report, refused, left)[0] if report.cases else []
        heading = f"## Refused by {escaped(target.name)}"
        blocks += [heading, wrapped(_REFUSED), *reasons_table(report, reasons), *drawn]
    return blocks


def _drawn(report: RunReport, findings: Sequence[Finding], budget: int) -> tuple[list[str], int]:
    """The sections of the first findings that fit into a budget of bytes, and what is left of it."""
    sections: list[str] = []
    for finding in findings:
        text = joined(section(report, finding))
        # Each is a block, and its row of the table becomes a link.
        size = len(f"{text}\n\n[](#{anchor(report, finding)})".encode())
        if size > budget and not report.cases:
            return sections, 0
        sections.append(text)
        budget -= size
    return sections, budget


def _defects(report: RunReport, defects: Sequence[Finding], drawn: Sequence[str]) -> list[str]:
    if defects:
        return overview(report, defects, len(drawn))
    return ["None: every result that was compared conforms, is inconsistent, or is refused."]


def state(report: RunReport) -> list[str]:
    """The result of the run in a sentence, and what is wrong with the run itself."""
    label, result = report.result
    if report.record.footer is None:
        return ["**Incomplete: the run did not end.** This is the report of the part that is recorded."]
    if label == "INCOMPLETE":
        result = "incomplete: some executions failed"
    strong = "" if label == "CONFORMS" else "**"
    outdated = [
        f"**{entry.status}** on {escaped(entry.target)}: {code(entry.id)}, {escaped(short(entry.message, 240))}"
        for entry in report.outdated
    ]
    return [
        wrapped(f"{strong}{escaped(result[0].upper() + result[1:])}.{strong}"),
        bullets([*(escaped(short(problem, 300)) for problem in report.problems), *outdated]),
    ]


def tested(report: RunReport) -> list[str]:
    """What was tested: the targets, the documents, and how many cases and executions."""
    header = report.record.header
    targets = "; ".join(f"{code(target.name)} ({software(target)})" for target in header.targets)
    return [wrapped(f"Tested: {report.tested} on {targets}, by {codes(header.profile) or 'no document'}.")]


def summary_table(report: RunReport) -> str:
    """The number of executions by target and verdict."""
    rows = [
        [code(target.name), *[str(report.counts[target.name][verdict]) for verdict in report.verdicts]]
        for target in report.record.header.targets
    ]
    return table(["executions", *map(str, report.verdicts)], rows, right=range(1, len(report.verdicts) + 1))


def severity_table(report: RunReport) -> str:
    """The numbers of defects, executions and cases by severity."""
    rows = [
        [severity.value, str(tally.defects), str(tally.new), str(tally.executions), str(tally.cases)]
        for severity, tally in report.severities.items()
    ]
    return table(["severity", "defects", "new", "executions", "cases"], rows, right=range(1, 5)) if rows else ""


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
        escaped(f"machine of the tool: {header.system}, {header.cpu}; started {header.started}"),
        *corpus_line(header),
        f"cases: SHA-256 {code(header.cases_sha256)}",
        f"known defects: {f'SHA-256 {code(header.known_sha256)}' if header.known_sha256 else 'none used'}",
        *(escaped(f"{name}: {fact}") for name, fact in made_with(header, header.targets)),
    ]
    return folded(
        "Environment and settings",
        bullets(map(wrapped, [*settings, *map(_target_settings, header.targets)])),
        "The interpretations by which results were judged; some points are decided by the document, others are left open:",
        table(["document", *[code(point) for point in points]], rows),
    )


def corpus_line(header: RunHeader) -> Iterator[str]:
    """What a record says of its corpus, in Markdown."""
    if (corpus := header.corpus) is not None:
        yield f"corpus: {code(str(corpus))}, {plural(corpus.cases, 'case')}, SHA-256 {code(corpus.sha256)}"


def _target_settings(target: TargetDescription) -> str:
    options = ", ".join(f"{key}={value}" for key, value in target.session_options.items())
    opsets = f", loads operator sets up to {target.newest_opset}" if target.newest_opset is not None else ""
    return f"{code(target.name)}: {software(target)}{opsets}" + (f"; {escaped(options)}" if options else "")


def software(target: TargetDescription) -> str:
    """The distribution, version, provider, Python and numpy of a target, as far as it has them, in Markdown."""
    return escaped(target.software(numpy=True))


def _outdated(report: RunReport, target: str) -> list[str]:
    """The known defects that no longer occur as written."""
    items = [
        f"{code(entry.id)}: **{entry.status.value}**: {escaped(short(entry.message, 240))}"
        for entry in report.outdated
        if entry.target == target
    ]
    return ["Known defects to remove or review:", bullets(items)] if items else []
