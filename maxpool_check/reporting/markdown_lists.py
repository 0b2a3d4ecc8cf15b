"""What a run executed and did not execute, in Markdown: by document and clause, not expressible, not judged, left open."""

from collections import Counter
from collections.abc import Callable

from maxpool_check.reporting.interpretations import interpretations
from maxpool_check.reporting.markdown_findings import reasons_table
from maxpool_check.reporting.markup import code, escaped, folded, short, table, wrapped
from maxpool_check.reporting.reasons import not_judged
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import NOT_EXECUTED, Record, Verdict

_TRANSLATED = (
    "A case of a document other than ONNX's is translated: to explicit pads, a crop, a transposition, or to the document's "
    "own operator domain. The record states the translation of each."
)
_NOT_JUDGED = {
    Verdict.NOT_EXPRESSIBLE: (
        "Not expressible to",
        "Nothing that the runtime accepts means the same as these cases, so that they were not executed: no refusals.",
    ),
    Verdict.NOT_CLAIMED: ("Not claimed by", "The target claims no document that means the same; not executed."),
    Verdict.UNDEFINED: (
        "Not judged on",
        "The document defines no result here, so that whatever is returned is recorded alone.",
    ),
}


def not_given(report: RunReport, target: str) -> list[str]:
    """What a target was not given, and what was not judged, by reason."""
    blocks = []
    for verdict, reasons in not_judged(report.record, target).items():
        heading, about = _NOT_JUDGED[verdict]
        if reasons:
            blocks += [f"## {heading} {escaped(target)}", wrapped(about), *reasons_table(reasons, report.cases)]
    return blocks


def documents(report: RunReport) -> list[str]:
    """The verdicts by document, if there are several."""
    counts: Counter[tuple[str, str, Verdict]] = Counter()
    for execution in report.record.executions:
        counts[execution.target, execution.spec, execution.verdict] += 1
    specs = list(dict.fromkeys(spec for _, spec, _ in counts))
    if len(specs) <= 1:
        return []
    rows = [
        [code(target.name), code(spec), *[str(counts[target.name, spec, verdict]) for verdict in report.verdicts]]
        for target in report.record.header.targets
        for spec in specs
    ]
    headings = ["target", "document", *map(str, report.verdicts)]
    is_translated = any(execution.translation for execution in report.record.executions)
    return [
        "## By document",
        wrapped(_TRANSLATED) if is_translated else "",
        table(headings, rows, right=range(2, len(headings))),
    ]


def clauses(report: RunReport, fold: Callable[..., str]) -> list[str]:
    """What was executed of each document, by the clauses that the cases name."""
    executed: Counter[tuple[str, str]] = Counter()
    conforming: Counter[tuple[str, str]] = Counter()
    for execution in report.record.executions:
        if execution.verdict in NOT_EXECUTED or execution.verdict is Verdict.ERROR:
            continue
        for clause in execution.clauses or ("",):
            executed[execution.spec, clause] += 1
            conforming[execution.spec, clause] += execution.verdict is Verdict.CONFORMS
    specs = list(report.record.header.profile)
    order = sorted(executed, key=lambda key: (specs.index(key[0]) if key[0] in specs else len(specs), not key[1], key))
    rows = [
        [
            code(spec),
            code(clause) if clause else "no clause named",
            str(executed[spec, clause]),
            str(conforming[spec, clause]),
        ]
        for spec, clause in order
    ]
    if not rows:
        return []
    heading = "What was executed, by document and clause; a case may name several clauses"
    return [fold(heading, table(["document", "clause", "executions", "conform"], rows, right=[2, 3]))]


def behaviour(record: Record) -> list[str]:
    """What the results show of points that documents leave open."""
    rows = [
        [
            code(observed.target), code(observed.point), code(observed.variant), escaped(short(observed.text, 200)),
            "translated" if observed.translated else "direct", str(observed.executions),
        ]
        for observed in interpretations(record)
    ]  # fmt: skip
    headings = ["target", "point", "variant", "interpretation", "model", "executions"]
    return (
        [folded("Behaviour observed where the documents leave a point open", table(headings, rows, right=[5]))]
        if rows
        else []
    )
