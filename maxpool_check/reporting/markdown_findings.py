"""The defects of a target in Markdown: a table of all, a drawn example of the worst, and tables of reasons."""

from collections import Counter
from collections.abc import Sequence

from maxpool_check.reporting.findings import Finding, sentence
from maxpool_check.reporting.markup import (
    bullets,
    by_file,
    clipped,
    code,
    codes,
    escaped,
    fenced,
    folded,
    link,
    short,
    table,
    wrapped,
)
from maxpool_check.reporting.reasons import ReasonGroup
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.text import details
from maxpool_check.words import plural

EVERYTHING = "`maxpool-check report RECORD --format markdown --cases`"
"""The command that draws an example of everything, and lists all cases."""

MOST_REASONS = 12
"""A table has a row for each of so many reasons; the rarer ones are counted together."""

_MOST_LINES = 24
_MOST_ROWS = 60  # Of a table of defects; a target that is wrong in more ways is wrong altogether.
_MOST_KINDS = 8


def overview(report: RunReport, findings: Sequence[Finding], drawn: int) -> list[str]:
    """A row for each defect, the first ``drawn`` as links to their examples, and a sentence on what is left out."""
    rows = [
        [
            finding.severity.value,
            f"[{_name(finding)}](#{anchor(report, finding)})" if number < drawn else _name(finding),
            escaped(_cut(report, finding.title, 120)),
            str(len(finding.executions)),
            str(len(finding.cases)),
        ]
        for number, finding in enumerate(findings)
        if report.cases or number < _MOST_ROWS
    ]
    left = len(findings) - len(rows)
    sentences = [f"{plural(left, 'less severe defect')} more, {_amount(findings[len(rows) :])}, are left out here."] * (
        left > 0
    )
    if drawn < len(findings):
        rest = "is a row" if len(findings) - drawn == 1 else "are rows"
        sentences.append(
            f"The {plural(len(findings) - drawn, 'least severe defect')} {rest} of the table alone, so that the page stays "
            f"readable; {EVERYTHING} draws an example of each."
        )
    return [
        table(["severity", "defect", "title", "executions", "cases"], rows, right=[3, 4]),
        wrapped(" ".join(sentences)),
    ]


def _amount(findings: Sequence[Finding]) -> str:
    executions = sum(len(finding.executions) for finding in findings)
    cases = len({case for finding in findings for case in finding.cases})
    return f"{plural(executions, 'execution')} of {plural(cases, 'case')}"


def section(report: RunReport, finding: Finding) -> list[str]:
    """One defect: what it is, how often it occurs, and its example with the first wrong cells."""
    example = finding.smallest
    variants = Counter(execution.variant for execution in finding.executions)
    numbers = ", ".join(f"{number} {code(variant)}" for variant, number in variants.items())
    amount = f"{plural(len(finding.cases), 'case')} in {plural(len(finding.executions), 'execution')} ({numbers})"
    blocks = [f'<a id="{anchor(report, finding)}"></a>']
    if finding.defect is not None:
        issue = f" Upstream: {link(finding.defect.issue)}." if finding.defect.issue else ""
        issue += f" Expected until {escaped(finding.defect.expires)}." if finding.defect.expires else ""
        issue += f" {escaped(finding.defect.review)}" if finding.defect.review else ""
        mechanism = " ".join(finding.defect.reason.split())
        status = "" if finding.is_expected else f", **{escaped(finding.status)}**"
        blocks += [
            f"### {code(finding.defect.id)}: {escaped(_cut(report, finding.title, 240))}",
            wrapped(f"**{finding.severity.value}**{status}. {escaped(mechanism)}{issue}"),
            wrapped(f"{amount}. {_kinds(report, finding)}".rstrip()),
        ]
    else:
        blocks += [
            f"### {_name(finding)}",
            bullets(wrapped(escaped(sentence(kind))) for kind in finding.kinds[: _most_kinds(report)]),
            wrapped(f"**{finding.severity.value}.** {amount}. {escaped(finding.explanation)}".rstrip()),
        ]
    about = f"Example {code(example.case)} ({code(example.variant)}), {codes(finding.example_kinds)}: "
    clauses = f"Clauses: {codes(example.clauses)}." if example.clauses else ""
    erratum = f"Erratum of the document: {escaped(_cut(report, example.erratum, 600))}" if example.erratum else ""
    drawing = [f"{example.spec}, {line}" if number == 0 else line for number, line in enumerate(details(example))]
    blocks += [
        wrapped(about + escaped(_cut(report, example.title, 240))),
        fenced(drawing if report.cases else clipped(drawing, _MOST_LINES)),
        wrapped(f"{clauses} {erratum}".strip()),
    ]
    if report.cases and len(finding.cases) > 1:
        blocks.append(
            folded(f"All {plural(len(finding.cases), 'case')}", bullets(map(wrapped, by_file(finding.cases))))
        )
    return blocks


def _kinds(report: RunReport, finding: Finding) -> str:
    if finding.kinds == finding.example_kinds:
        return ""
    shown = finding.kinds[: _most_kinds(report)]
    more = len(finding.kinds) - len(shown)
    return f"Kinds in all of them: {codes(shown)}{f' and {more} more' if more else ''}."


def _most_kinds(report: RunReport) -> int | None:
    return None if report.cases else _MOST_KINDS


def _cut(report: RunReport, text: str, most: int) -> str:
    """Foreign text on one line, cut off where it is long, unless everything is asked for."""
    return " ".join(text.split()) if report.cases else short(text, most)


def _name(finding: Finding) -> str:
    """The id of the defect, or the kinds of what no known defect expects."""
    status = "" if finding.is_expected else f"**{escaped(finding.status)}** "
    if finding.defect is not None:
        return status + code(finding.defect.id)
    return status + codes(finding.kinds) + (" (a limit)" if finding.limit else "")


def anchor(report: RunReport, finding: Finding) -> str:
    """The name of the place of a defect on the page: its id, or status and kinds, and the target if there are several."""
    targets = [target.name for target in report.record.header.targets]
    parts = [finding.target] if len(targets) > 1 else []
    parts += [] if finding.is_expected else [finding.status]
    parts += (
        [finding.defect.id] if finding.defect is not None else [*finding.kinds, *(["limit"] if finding.limit else [])]
    )
    return "".join(char if char.isalnum() or char in ".-" else "-" for char in "-".join(parts))


def reasons_table(report: RunReport, reasons: Sequence[ReasonGroup]) -> list[str]:
    """A table of reasons, each with its executions and cases; the rare ones are counted together."""
    shown = list(reasons if report.cases or len(reasons) <= MOST_REASONS + 1 else reasons[:MOST_REASONS])
    rows = [
        [_reason(reason), str(len(reason.executions)), str(reason.cases), code(reason.executions[0].case)]
        for reason in shown
    ]
    rest = [execution for reason in reasons[len(shown) :] for execution in reason.executions]
    if rest:
        words = f"{len(reasons) - len(shown)} rarer reasons, which {EVERYTHING} lists"
        rows.append([words, str(len(rest)), str(len({execution.case for execution in rest})), ""])
    return [table(["reason", "executions", "cases", "example"], rows, right=[1, 2])] if rows else []


def _reason(reason: ReasonGroup) -> str:
    names = [escaped(reason.label), code(reason.defect) if reason.defect else ""]
    return ": ".join([*filter(None, names), escaped(reason.text)])
