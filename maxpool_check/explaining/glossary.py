"""The words of reports in tables, made from the enumerations that define them; the documentation has these tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import groupby
from typing import Any, NamedTuple

import yaml

from maxpool_check.comparing.gate import Decision
from maxpool_check.judging.cells import MIXED
from maxpool_check.judging.defects import Severity
from maxpool_check.models.cases import FLOWING, VALUES, Way
from maxpool_check.reporting.changes_view import Standing
from maxpool_check.reporting.model_report import NodeState
from maxpool_check.reporting.run_view import Form
from maxpool_check.results.changes import BLOCKING, Change
from maxpool_check.results.record import FAULTS, KnownStatus, Status, Verdict
from maxpool_check.results.result import Result
from maxpool_check.results.variants import VARIATIONS, Requested
from maxpool_check.specifications.specification import Reason
from maxpool_check.words import Term


class Row(NamedTuple):
    """A row of a table: the words that it explains, and its cells in Markdown."""

    words: tuple[str, ...]
    cells: tuple[str, ...]


class WordTable(NamedTuple):
    """A table of words: the page of the documentation that has it, its headings and its rows."""

    page: str
    headings: tuple[str, ...]
    rows: Sequence[Row]

    def markdown(self) -> str:
        """The table in Markdown; a first cell that repeats the cell above it is empty."""
        aligned = ["---:" if heading == "exit code" else "---" for heading in self.headings]
        lines = [f"| {' | '.join(self.headings)} |", f"|{'|'.join(aligned)}|"]
        above = ""
        for _, (first, *others) in self.rows:
            lines.append(f"| {' | '.join(['' if first == above else first, *others])} |".replace("|  |", "| |"))
            above = first
        return "\n".join(lines)


@cache
def tables() -> Mapping[str, WordTable]:
    """All tables, by name."""
    return {
        "verdicts": _table("verdicts", ("verdict", "meaning", "fails a run"), Verdict, _fails),
        "results": WordTable("verdicts", ("last line", "of", "exit code", "meaning"), [*_results()]),
        "statuses": WordTable("verdicts", ("status", "of", "meaning"), [*_statuses()]),
        "severities": _table("verdicts", ("severity, the worst first", "meaning"), Severity),
        "variants": _table("verdicts", ("variant", "meaning"), Requested),
        "variations": WordTable("verdicts", ("variation", "the outputs must be the same"), [*_variations()]),
        "interpretations": WordTable("verdicts", ("point", "interpretation", "meaning"), [*_points("policies")]),
        "observed": WordTable("verdicts", ("point", "observed", "meaning"), [*_points("observed"), _mixed()]),
        "forms": _table("verdicts", ("model", "meaning"), Form),
        "reasons": _table("verdicts", ("reason", "the document excludes"), Reason),
        "decisions": _table(
            "gate", ("result", "meaning", "exit code"), Decision, lambda each: str(int(each.exit_code))
        ),
        "changes": _table(
            "gate", ("change", "meaning", "blocks"), Change, lambda each: "yes" if each in BLOCKING else "no"
        ),
        "standings": _table("gate", ("a change is", "meaning"), Standing),
        "nodes": _table("model", ("result of a node", "meaning"), NodeState),
        "ways": _table("model", ("how a node is tested", "what is executed"), Way),
        "values": WordTable("model", ("values of X", "what they are", "sort"), [*_values()]),
    }


def meanings(word: str) -> list[tuple[str, str]]:
    """What the tables say of a word, such as a verdict, a severity or an interpretation, or of it in small letters: page and text."""
    found = []
    rows = [(table, row) for table in tables().values() for row in table.rows]
    known = {each for _, row in rows for each in row.words}
    for table, row in rows:
        if (word if word in known else word.lower()) in row.words:
            pairs = zip(table.headings, row.cells, strict=True)
            found.append((table.page, "; ".join(f"{head}: {cell}" for head, cell in pairs).replace("`", "")))
    return found


def _row(term: Term, *others: str) -> Row:
    return Row((term.value,), (f"`{term}`", term.sentence, *others))


def _table(page: str, headings: tuple[str, ...], terms: Iterable[Any], *others: Callable[[Any], str]) -> WordTable:
    """The table of an enumeration: the word, its sentence, and what ``others`` say of it."""
    return WordTable(page, headings, [_row(term, *(other(term) for other in others)) for term in terms])


def _fails(verdict: Verdict) -> str:
    """When a verdict fails a run."""
    if verdict in FAULTS:
        return "if no known defect expects it"
    if verdict is Verdict.INCONSISTENT:
        return "with `--strict`, if no known defect expects it"
    return "exit code 3" if verdict is Verdict.ERROR else "no"


def _results() -> Iterator[Row]:
    """The results and the decisions, by exit code."""
    words: list[tuple[Result | Decision, str]] = [(each, each.of) for each in Result]
    words += [(each, "gate, model --base") for each in Decision]
    for word, of in sorted(words, key=lambda each: each[0].exit_code):
        commands = ", ".join(f"`{command}`" for command in of.split(", "))
        cells = (f"`{word}`", commands if of else "all", str(int(word.exit_code)), word.sentence)
        yield Row((word.value,), cells)


def _statuses() -> Iterator[Row]:
    """The statuses of executions, and those of known defects after a run."""
    of: tuple[tuple[Iterable[Term], str], ...] = ((Status, "an execution"), (KnownStatus, "a known defect"))
    for terms, what in of:
        yield from (Row((each.value,), (f"`{each}`", what, each.sentence)) for each in terms)


def _variations() -> Iterator[Row]:
    """The variations; those that change the same share a row."""
    for sentence, alike in groupby(VARIATIONS, lambda each: each.sentence):
        names = tuple(each.name for each in alike)
        yield Row(names, (", ".join(f"`{name}`" for name in names), sentence))


def _values() -> Iterator[Row]:
    """The values with which nodes of models are tested."""
    yield from (Row((each.name,), (f"`{each.name}`", each.words, each.tag)) for each in (*VALUES, FLOWING))


def _points(which: str) -> Iterator[Row]:
    """The interpretations of the open points: those that ``policies`` can name, or those that are only ``observed``."""
    text = resources.files("maxpool_check.explaining").joinpath("interpretations.yaml").read_text(encoding="utf-8")
    points: dict[str, dict[str, Any]] = yaml.safe_load(text)
    for point, about in points.items():
        for interpretation, sentence in about.get(which, {}).items():
            cells = (f"`{point}`: {about['about']}", f"`{interpretation}`", sentence)
            yield Row((point, interpretation), cells)


def _mixed() -> Row:
    words = ("inconsistent", MIXED)
    sentence = "no single interpretation explains all outputs, of one execution or of several"
    return Row(words, ("all", f"`inconsistent`; in records `{MIXED}`", sentence))
