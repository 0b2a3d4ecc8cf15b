"""The report of a run on one screen: what was run, what is new, what is known and what to do about it, and what to type."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from maxpool_check.judging.faults import Fault, alike, by_name, cases_of, sentence
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Document, Inline, Paragraph, Section, Span, Table
from maxpool_check.reporting.executions import ExecutionView, cell_line
from maxpool_check.reporting.reruns import can_start, next_step
from maxpool_check.reporting.run_report import RunLabel, RunReport
from maxpool_check.results.record import ExitCode, Verdict
from maxpool_check.words import plural, shortened, some

_LINES = 25
_MOST_NEW = 5  # New faults with an example; the others are counted.
_MOST_KNOWN = 10  # Lines.
_MOST_ROWS = 6  # Of a drawing.
_MOST_PROBLEMS = 6
_NAME, _ADVICE = 18, 28  # Columns.


def screen(report: RunReport) -> Document:
    """The report for a terminal: each block is a line, or a row of a table."""
    errors = Counter(each.message for each in report.record.executions if each.verdict is Verdict.ERROR)
    failed = [f"{plural(number, 'execution')} failed: {message}" for message, number in errors.items()]
    wrong = some([*problems(report), *failed], _MOST_PROBLEMS)
    head = [*_head(report), *(Paragraph(line, "problem") for line in wrong)]
    verdict, following = closing(report)
    room = _LINES - len(head) - len(following) - 3
    # As many faults are drawn as there is room for.
    new = next(
        lines for drawn in range(_MOST_NEW, -1, -1) if len(lines := list(_new(report, drawn))) < room - 3 or not drawn
    )
    known = list(_known(report, room - len(new) - 1))
    return Document("", "", [verdict], [Section("", part) for part in (head, new, known) if part], following)


def closing(report: RunReport) -> tuple[blocks.Verdict, list[str]]:
    """The result with what to type, and how to test a model on the same runtime."""
    label, text = report.result
    step = next_step(report)
    line = "  ".join(filter(None, (text, step)))
    fits = len(label) + len(line) + 2 <= report.width
    following = [] if fits or not step else [step]
    has_ended = report.exit_code in (ExitCode.AS_EXPECTED, ExitCode.UNEXPECTED) and report.record.header.corpus
    for target in report.record.header.targets[:1] if has_ended else ():
        if target.newest_opset is not None and target.computes and can_start(target.name):
            following.append(f"Your model?  {shlex.join(['maxpool-check', 'model', 'my.onnx', '-t', target.name])}")
    return blocks.Verdict(label, line if fits else text, report.tone), following


def _head(report: RunReport) -> Iterator[Block]:
    """What was run, and how much of it is new, known and right."""
    header = report.record.header
    numbers = [plural(header.cases, "case"), plural(len(report.record.executions), "execution")]
    size = "  ".join([*numbers, *([f"{report.seconds:.0f} s"] if report.seconds else [])])
    what = ", ".join(each.name for each in header.targets) or "no target"
    if len(header.targets) == 1:
        what = header.targets[0].software() + f", {what}" * (":" in what)
    yield Paragraph(f"{_cut(what, report.width - len(size) - 2)}  {size}")
    partly = [each for each in header.targets if each.decides != "values"]
    yield from (Paragraph(f"{_cut(each.name, report.width // 2)} decides {each.decides} only") for each in partly)
    if report.compared:
        count = len(report.unexpected)
        new = Span(f"{count} NEW", strong=True, tone="bad") if count else "0 new"
        known = ", ".join(report.counted) or "0 known"
        yield Paragraph([new, f"{' fault' * bool(count)}{'s' * (count > 1)}, {known}; {report.balance}"])


def problems(report: RunReport) -> list[str]:
    """What is wrong with the run itself, and which known defects are to be removed, as lines."""
    lines = [line for problem in report.problems for line in problem.splitlines()]
    # The result begins with the first.
    lines = lines[report.result[0] == RunLabel.INCOMPLETE :]
    return lines + [
        f"{each.status.value.upper()}  {each.id} on {each.target}: {each.message}" for each in report.outdated
    ]


def _new(report: RunReport, drawn: int) -> Iterator[Block]:
    """The first new faults, each with its example, which is drawn of the first of them; how many more there are."""
    grouped = by_name(report.unexpected)
    for number, faults in enumerate(grouped[:_MOST_NEW]):
        first, cases = faults[0], {case for each in faults for case in each.cases}
        place = f" on {', '.join(each.target for each in faults)}" if len(report.counts) > 1 else ""
        label = Span(f"{first.label.upper()}  ", strong=True, tone="bad")
        name = first.name if first.defect is not None else ", ".join(some(first.example_kinds or first.kinds, 1))
        about = f"  {first.severity.value}, {plural(len(cases), 'case')}: {first.smallest.case}{place}"
        yield Paragraph([label, Span(name, strong=True), _cut(about, report.width - len(label.text) - len(name))])
        lines = [*_example(first, number < drawn)]
        if names := alike(first, report.known):
            lines.append(f"looks like {' or '.join(names)}, not expected here")
        yield from (Paragraph(f"  {_cut(line, report.width - 2)}") for line in lines if line.strip())
    if left := sum(map(len, grouped[_MOST_NEW:])):
        yield Paragraph(f"{left} more new {'fault' if left == 1 else 'faults'}: -v")


def _example(fault: Fault, is_drawn: bool) -> Iterator[str]:
    """What is wrong in words, the example, and what explains it."""
    view, cells = ExecutionView(fault.smallest), fault.smallest.cells
    yield fault.title if fault.defect is not None else " ".join(map(sentence, fault.example_kinds[:2]))
    yield from fault.notices
    if fault.defect is not None and fault.defect.advice:
        yield f"do: {fault.defect.advice}"
    if is_drawn:
        yield f"  {view.settings}"
        yield from (f"    {line}" for line in some(_window(view), _MOST_ROWS))
    total = sum(fault.smallest.counts.values())
    more = f"  (and {total - 1} more)" if total > 1 else ""
    wrong = [f"{cell_line(cells[0], kind=False)}{more}"] if cells else [*filter(None, [view.message]), *view.reasons]
    yield from (f"  {line}" for line in wrong[:1])
    if fault.explanation and is_drawn:
        yield fault.explanation.partition(" Symptoms of it")[0]


def _window(view: ExecutionView) -> list[str]:
    """X around the first wrong cell, without marks, which need a legend; or the graph."""
    if view.drawing is None or not view.drawing.planes:
        return view.graph[:1]
    plane, shape = view.drawing.planes[0], view.execution.input.pooled.shape if view.execution.input else ()
    lines = [re.sub("[=!]", " ", line) for line in plane.lines]
    return [plane.heading] * (math.prod(shape[:2]) > 1) + lines


def _known(report: RunReport, room: int) -> Iterator[Block]:
    """What is known, the worst first, in so many lines, how much of it is left out, and what is no fault."""
    grouped = by_name(report.accepted)
    # Its headings, an empty line and two lines of what is left out.
    rows, count = _rows(report, grouped, min(_MOST_KNOWN, room - 4))
    if rows:
        is_known = any(first.is_expected for first, *_ in grouped)
        cases = "cases on each" if len(report.counts) > 1 else "cases"
        headings = ["Known, worst first" if is_known else "Allowed, worst first", "", cases, "do"]
        yield Table(headings, rows, frozenset((2,)), label="Known")
    if left := len(grouped) - count:
        runtimes = dict.fromkeys(name.partition("==")[0] for name in report.counts)
        listing = f"maxpool-check defects list {' '.join(runtimes)}"
        words = f"{left} more" if rows else ", ".join(report.counted)
        yield Paragraph(f"{words}: {'-v' if any(':' in name for name in runtimes) else listing}")
    if report.apart:
        yield Paragraph(f"{', '.join(report.apart)}: -v")


def _rows(report: RunReport, grouped: Sequence[Sequence[Fault]], most: int) -> tuple[list[list[Inline]], int]:
    """What is wrong, in how many cases on each target, and what to do, on one or two of so many lines; and how many defects."""
    cases = {alike[0].name: " / ".join(_numbers(report, alike)) for alike in grouped}
    widest = max([len("cases on each" if len(report.counts) > 1 else "cases"), *map(len, cases.values())])
    room = report.width - max([_NAME, *map(len, cases)]) - widest - _ADVICE - 8
    rows: list[list[Inline]] = []
    for number, (first, *_) in enumerate(grouped):
        # Every title is about MaxPool.
        title = re.sub("^(A )?MaxPool ", "", first.title)
        advice = first.defect.advice if first.defect is not None and first.defect.advice else "-"
        sizes = ((title, max(room, 12)), (advice, _ADVICE))
        columns = [wrap(text, size, max_lines=2, placeholder=" ...") for text, size in sizes]
        lines: list[list[Inline]] = [["", text, "", do] for text, do in zip_longest(*columns, fillvalue="")]
        lines[0][::2] = first.name, cases[first.name]
        if len(rows) + len(lines) > most:
            return rows, number
        rows += lines
    return rows, len(grouped)


def _numbers(report: RunReport, alike: Sequence[Fault]) -> Iterator[str]:
    """How many cases show a defect on each target; a dash for none."""
    for target in report.counts:
        yield str(len(cases_of([fault for fault in alike if fault.target == target])) or "-")


def _cut(text: str, most: int) -> str:
    indent = len(text) - len(text.lstrip())
    return f"{' ' * indent}{shortened(text, most - indent, end=False)}" if len(text) > most else text
