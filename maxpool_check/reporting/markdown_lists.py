"""What a run executed and did not execute, in Markdown: by document and clause, not expressible, not judged, left open."""

from collections import Counter
from collections.abc import Callable, Sequence

from maxpool_check.reporting.interpretations import interpretations
from maxpool_check.reporting.markdown_findings import reasons_table
from maxpool_check.reporting.markup import code, escaped, folded, short, table, wrapped
from maxpool_check.reporting.reasons import not_judged
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.results.record import NOT_EXECUTED, Verdict
from maxpool_check.words import plural

_MOST_CLAUSES = 40

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
    Verdict.UNKNOWN: (
        "Not inferred by",
        "The target infers shapes alone, and does not know these; what it knows of them is right.",
    ),
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
            blocks += [f"## {heading} {escaped(target)}", wrapped(about), *reasons_table(report, reasons)]
    return blocks


def documents(report: RunReport) -> list[str]:
    """The verdicts by document, if there are several."""
    counts: Counter[tuple[str, str, Verdict]] = Counter()
    for execution in report.record.executions:
        counts[execution.target, execution.spec, execution.verdict] += 1
    specs = sorted({spec for _, spec, _ in counts}, key=_place(report))
    if len(specs) <= 1:
        return []
    rows = [
        [code(target.name), code(spec), *[str(counts[target.name, spec, verdict]) for verdict in report.verdicts]]
        for target in report.record.header.targets
        for spec in specs
    ]
    is_translated = any(execution.translation for execution in report.record.executions)
    return [
        "## By document",
        wrapped(_TRANSLATED) if is_translated else "",
        _by_target(report, ["document", *map(str, report.verdicts)], rows, right=range(1, len(report.verdicts) + 1)),
    ]


def _place(report: RunReport) -> Callable[[str], tuple[int, str]]:
    """The place of a document in the order of the run."""
    order = {spec: number for number, spec in enumerate(report.record.header.profile)}
    return lambda spec: (order.get(spec, len(order)), spec)


def _by_target(report: RunReport, headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """A table of rows that begin with a target, which is left out if there is one alone."""
    if len(report.record.header.targets) == 1:
        return table(headings, [row[1:] for row in rows], right)
    return table(["target", *headings], rows, [column + 1 for column in right])


def clauses(report: RunReport, fold: Callable[..., str]) -> list[str]:
    """What was executed of each document, by the clauses that the cases name; of many, those with most that do not conform."""
    executed: Counter[tuple[str, str]] = Counter()
    conforming: Counter[tuple[str, str]] = Counter()
    for execution in report.record.executions:
        if execution.verdict in NOT_EXECUTED or execution.verdict is Verdict.ERROR:
            continue
        for clause in execution.clauses or ("",):
            executed[execution.spec, clause] += 1
            conforming[execution.spec, clause] += execution.verdict is Verdict.CONFORMS
    if not executed:
        return []
    place = _place(report)
    shown = sorted((key for key in executed if key[1]), key=lambda key: conforming[key] - executed[key])[:_MOST_CLAUSES]
    shown += [key for key in executed if not key[1]]
    order = sorted(shown, key=lambda key: (place(key[0]), not key[1], key[1]))
    rows = [
        [
            code(spec),
            code(clause) if clause else "no clause named",
            str(executed[spec, clause]),
            str(conforming[spec, clause]),
        ]
        for spec, clause in order
    ]
    heading = "What was executed, by document and clause; a case may name several clauses"
    content = table(["document", "clause", "executions", "conform"], rows, right=[2, 3])
    if left_out := len(executed) - len(shown):
        content += (
            f"\n\n{plural(left_out, 'other clause')} of these documents: fewer executions do not conform. "
            "`maxpool-check trace --record` lists all."
        )
    return [fold(heading, content)]


def behaviour(report: RunReport) -> list[str]:
    """What the results show of points that documents leave open."""
    rows = [
        [
            code(observed.target), code(observed.point), code(observed.variant), escaped(short(observed.text, 200)),
            "translated" if observed.translated else "direct", str(observed.executions),
        ]
        for observed in interpretations(report.record)
    ]  # fmt: skip
    headings = ["point", "variant", "interpretation", "model", "executions"]
    if not rows:
        return []
    return [
        folded(
            "Behaviour observed where the documents leave a point open", _by_target(report, headings, rows, right=[4])
        )
    ]
