"""A trace as blocks of a report, and what it says in words."""

from collections import Counter
from collections.abc import Iterator, Sequence

from maxpool_check.evidence.tracing.trace import Gap, Trace, TracedClause, TracedDocuments, TracedRecord, TracedResult
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import (
    Block,
    Bullets,
    Card,
    Document,
    Facts,
    Folded,
    Inline,
    Names,
    Paragraph,
    Section,
    Span,
    Table,
    slug,
)
from maxpool_check.specifications.clauses import ClauseStatus
from maxpool_check.words import plural, some

_PLURALS = {
    "conforms": "conform",
    "diverges": "diverge",
    "refuses": "refuse",
    "crashes": "crash",
    "times out": "time out",
}
_LEGEND = (
    "The results of a clause are those of its cases, and a case that fails may break another of its clauses; "
    "failures of cases that are about one clause alone are counted apart."
)
_COVERAGES = (*(gap.value for gap in Gap), "unexpected", "not compared", "covered", "nothing to test")
"""What the cases of a clause leave to be done, the worst first."""


def document(trace: Trace) -> Document:
    """The clauses of each document, problems first, and the cases: in tables, and in a report with statements, cases and kernels."""
    word, sentence = result(trace)
    numbers = Counter(clause.status.value for clause in trace.clauses)
    counted = ", ".join(f"{numbers[each.value]} {each.value}" for each in ClauseStatus if numbers[each.value])
    tone = {"UNCOVERED": "bad", "COVERED": "good"}.get(word, "known")
    facts = [*trace.targets.items(), *(("record", text) for record in trace.records for text in about_record(record))]
    title = f"Clauses of {', '.join(each.name for each in trace.documents) or 'no document'}"
    title += f" on {', '.join(trace.targets)}" if trace.targets else ""
    head: list[Block] = [blocks.Verdict(word, f"{sentence} ({counted})", tone), Facts(facts)]
    legend: list[Block] = [Paragraph(_LEGEND)] if trace.targets else []
    search: list[Block] = [blocks.Search("clauses", rank=blocks.PAGE)] if trace.clauses else []
    content: list[Block] = [_documents(trace, documents) for documents in trace.documents]
    cases = Section("Cases", list(_cases(trace)))
    return Document("MaxPool trace", title, head, [*search, *content, cases, *legend])


def _cases(trace: Trace) -> Iterator[Block]:
    unnamed = [case.id for case in trace.cases if not case.clauses]
    about = f"{len(unnamed)} of them about no clause: {_listed(unnamed)}" if unnamed else "each about a clause"
    yield Paragraph(f"{plural(len(trace.cases), 'case')}, {about}")
    rows: list[list[Inline]] = []
    for case in trace.cases:
        outcomes = [outcome(case.results[each]) if each in case.results else "" for each in trace.targets]
        name: Inline = [case.id, " ", Span(case.title, tone="dim")]
        rows.append([name, case.document, ", ".join(case.clauses) or "no clause", *outcomes])
    table = Table(["case", "document", "clauses", *trace.targets], rows, label="Cases with their clauses")
    yield Folded(f"{plural(len(rows), 'case')} with their clauses", [table], rank=blocks.REPORT)
    if trace.defects:
        yield blocks.Heading(3, "Known defects that they show", rank=blocks.REPORT)
        yield Facts([*trace.defects.items()], rank=blocks.REPORT)


def _documents(trace: Trace, documents: TracedDocuments) -> Section:
    def rank(clause: TracedClause) -> tuple[int, bool, bool]:
        failed = any(result.failed for result in clause.results.values())
        return _COVERAGES.index(_coverage(clause)), not failed, not clause.not_compared

    title, clauses = ", ".join(documents.edition_names), sorted(documents.clauses, key=rank)
    rows = [row for clause in clauses for row in _rows(trace, clause)]
    table = Table(["clause", "cases", "results"], rows, frozenset({1}))
    facts: list[tuple[str, Inline]] = []
    for name, edition in documents.editions.items():
        digest = f"SHA-256 {edition.sha256}" if edition.sha256 else ""
        facts.append((name, ", ".join(filter(None, (edition.title, edition.date, digest)))))
    for each in documents.errata:
        confirmed = f" Confirmed by {each.reviewer}, {each.reviewed}." if each.reviewer else ""
        proposal = f" Proposed: {each.proposal}" if each.proposal else ""
        text = f"{each.where}. Printed: {each.printed} Correct: {each.correct}{proposal}{confirmed}"
        facts.append((f"erratum {each.number}", text))
    inner: list[Block] = [table, Facts(facts, rank=blocks.REPORT), *(_card(trace, clause) for clause in clauses)]
    return Section(title, inner, f"documents-{slug(documents.name)}", documents.name)


def _rows(trace: Trace, clause: TracedClause) -> Iterator[Sequence[Inline]]:
    """A clause in the table of a terminal: what is to be said of it, the results on each target in a line of its own."""
    says = standing(clause) if standing(clause) != "testable" else ""
    lines = list(filter(None, ["; ".join(filter(None, [says, kernels(clause)]))]))
    for target in trace.targets if clause.cases else ():
        text = outcome(clause.results[target], 3) if target in clause.results else "not executed"
        lines.append(f"{target}: {text}" if len(trace.targets) > 1 else text)
    tone, number = _tone(clause).replace("good", ""), plural(len(clause.cases), "case") if clause.cases else ""
    yield clause.id, number, Span(lines[0] if lines else "", tone=tone)
    yield from (("", "", Span(line, tone=tone)) for line in lines[1:])


def _card(trace: Trace, clause: TracedClause) -> Card:
    origin = f"Follows from {', '.join(clause.origin)}." if clause.origin else ""
    without = (
        f"No case of {', '.join(clause.without_case)} is about it." if clause.cases and clause.without_case else ""
    )
    inner: list[Block] = [Paragraph(text) for text in (clause.states, clause.reason, origin, without) if text]
    inner += (Paragraph([Span(target, code=True), f": {outcome(each)}"]) for target, each in clause.results.items())
    if clause.kernels:
        items: list[Inline] = [
            [Span(name, code=True), f" ({trace.kernels.get(name, '')}) is noticed by {', '.join(cases) or 'no case'}"]
            for name, cases in clause.kernels.items()
        ]
        inner.append(Folded(kernels(clause), [Bullets(items)]))
    if clause.cases:
        inner.append(Folded(plural(len(clause.cases), "case"), [blocks.Cases(Names(clause.cases))], "cases"))
    # The reason stands below.
    badge = Span(standing(clause).partition(f": {clause.reason}")[0], tone=_tone(clause))
    data = {"status": clause.status.value, "coverage": _coverage(clause), "kinds": ""}
    about, anchor = f"{clause.kind.value} in {place(clause)}", slug(f"clause-{clause.id}")
    return Card(anchor, Span(clause.id, code=True), [badge], about, inner, data, rank=blocks.REPORT)


def _coverage(clause: TracedClause) -> str:
    """What its cases leave to be done, as the filter names it."""
    if clause.gap is not None:
        return clause.gap.value
    if any(each.unexpected for each in clause.results.values()):
        return "unexpected"
    return "not compared" if clause.never_compared else "covered" if clause.cases else "nothing to test"


def _tone(clause: TracedClause) -> str:
    if _coverage(clause) not in ("covered", "nothing to test"):
        return "bad"
    return "good" if clause.status is ClauseStatus.TESTABLE else ""


def outcome(result: TracedResult, most: int | None = None) -> str:
    """``30 conform, 6 diverge``, what is unexpected, and the known defects, so many of them at most; None: all."""
    numbers = {verdict.replace("-", " "): count for verdict, count in result.verdicts.items()}
    parts = [", ".join(f"{count} {_PLURALS.get(name, name) if count > 1 else name}" for name, count in numbers.items())]
    if result.failed and result.failed_alone is not None:
        parts.append(f"{result.failed_alone} of {plural(result.failed, 'failure')} in cases of this clause alone")
    if result.unexpected:
        parts.append(f"{result.unexpected} UNEXPECTED ({', '.join(some(result.kinds, most or len(result.kinds)))})")
    defects = ", ".join(some(result.defects, most or len(result.defects)))
    return "; ".join(parts + ([f"known: {defects}"] if defects else []))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(some(names, 5))


def standing(clause: TracedClause) -> str:
    """What a clause asks of a test, with the policy, the erratum or the reason; what is wrong about it in capitals."""
    if clause.gap is Gap.NO_CASE:
        return "NO CASE"
    if clause.gap is not None:
        return "NO WRONG KERNEL NOTICED" if clause.kernels else "NO WRONG KERNEL"
    if clause.never_compared:
        return "NOT COMPARED on any target"
    if clause.status is ClauseStatus.INFORMATIVE:
        return f"informative: {clause.reason}"
    status = f"open, by the policy {clause.policy}" if clause.status is ClauseStatus.OPEN else clause.status.value
    if clause.erratum is None:
        return status
    erratum = f"erratum {clause.erratum}"
    return erratum if clause.status is ClauseStatus.ERRATUM else f"{status}, {erratum}"


def kernels(clause: TracedClause) -> str:
    """How many of the wrong kernels that violate a clause its cases notice; empty if none were run."""
    return f"{clause.noticed} of {plural(len(clause.kernels), 'wrong kernel')} noticed" if clause.kernels else ""


def place(clause: TracedClause) -> str:
    """Where the statement is: the place, and the document's own name of it."""
    return f"{clause.where}, {clause.anchor}" if clause.anchor else clause.where


def about_record(record: TracedRecord) -> Iterator[str]:
    """What was counted of a record, and what was not, a sentence each."""
    yield f"{record.name}: {record.counted} of {plural(record.executions, 'execution')} on {', '.join(record.targets)}"
    if record.changed:
        count = plural(len(record.changed), "case has", "cases have")
        yield f"{count} changed since, and count for nothing: {_listed(record.changed)}"
    if record.missing:
        yield f"{plural(len(record.missing), 'case is', 'cases are')} not in the files: {_listed(record.missing)}"
    for target, decides in record.decides.items():
        yield f"{target} decides {decides} only, and counts for no clause"
    if not record.complete:
        yield "incomplete: the run did not end"


def result(trace: Trace) -> tuple[str, str]:
    """One word, and a sentence."""
    if not trace.testable:
        return "NOTHING TO TEST", "none of the clauses is testable"
    testable, parts = f"of {plural(trace.testable, 'testable clause')}", []
    where = next(iter(trace.targets)) if len(trace.targets) == 1 else "any target"
    clauses = [*trace.clauses]
    for names, what in (
        ([clause.id for clause in clauses if clause.gap is Gap.NO_CASE], "no case"),
        ([clause.id for clause in clauses if clause.gap is Gap.NO_KILL], "cases that notice no wrong kernel"),
        ([clause.id for clause in clauses if clause.never_compared], f"no case that was compared on {where}"),
    ):
        if names:
            parts.append(f"{len(names)} {testable} {'has' if len(names) == 1 else 'have'} {what}: {_listed(names)}")
    is_covered = not any(clause.gap is not None for clause in clauses)
    word = "UNCOVERED" if not is_covered else "NOT ALL COMPARED" if parts else "COVERED"
    numbers = {target: sum(target in clause.not_compared for clause in clauses) for target in trace.targets}
    if len(numbers) > 1 and any(numbers.values()):
        by_target = ", ".join(f"{number} on {target}" for target, number in numbers.items())
        parts.append(f"clauses without a compared case by target: {by_target}")
    if is_covered:
        noticed = any(clause.kernels is not None for clause in clauses)
        more = ", and cases that notice a wrong kernel" if noticed else ""
        parts.append(f"{testable[3:]} {'has a case' if trace.testable == 1 else 'each have a case'}{more}")
    return word, "; ".join(parts)
