"""The words of reports, explained: kinds of divergence, clauses, and the documents, alone and side by side."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources

import numpy as np
import yaml

from maxpool_check.corpus.case import Case
from maxpool_check.docs import topics
from maxpool_check.judging.examples import Example, example_of
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import ALL_INTERPRETATIONS, Oracle
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reporting import blocks
from maxpool_check.reporting.blocks import Block, Facts, Heading, Inline, Lines, Paragraph, Section, Table, code
from maxpool_check.reporting.drawing import described
from maxpool_check.reproducing.others import words
from maxpool_check.results.outcomes import Returned
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.clauses import Clause, clause_files, clauses_of, edition_name, editions
from maxpool_check.specifications.specification import Specification

TAG = "documents"
"""The tag of the cases in which documents are compared: those with the same id test the same point."""

_COLUMNS = ("document", "interpretation", "shape", "Y", "Indices", "case")
_COMPARED = (
    "The reference computes every cell from the case that is named, in the document's own terms; a document without the notion "
    "refuses it. '-' stands for what the document does not define: the index of a window without a cell of X, and its value where "
    "the padding has none."
)


@cache
def _points() -> Mapping[str, Mapping[str, str]]:
    """The points in which documents differ, in order, by the ids of their cases."""
    text = resources.files("maxpool_check.explaining").joinpath("points.yaml").read_text(encoding="utf-8")
    points: Mapping[str, Mapping[str, str]] = yaml.safe_load(text)
    return points


def kinds_listed(*, examples: bool) -> Iterator[Block]:
    """All kinds by group: a line each, or each with its example."""
    for group in KindGroup:
        of_group = [kind for kind, about in DESCRIPTIONS.items() if about.group is group]
        rows: list[list[Inline]] = [[code(kind.value), DESCRIPTIONS[kind].sentence] for kind in of_group]
        of_kinds: list[Block] = [block for kind in of_group for block in kind_explained(kind)]
        yield Section(group.value, of_kinds if examples else [Table(["", ""], rows)])
    yield Paragraph("maxpool-check explain KIND shows an example; -v all of them.")


def in_pages(word: str) -> list[tuple[str, str]]:
    """What tables of the documentation say of a word, such as a verdict, a severity or an interpretation: page and text."""
    rows = []
    for name in ("verdicts", "gate", "model"):
        tables = re.findall(r"^\|.*\n\|[-:| ]+\n(?:\|.*\n)+", topics()[name].text, re.MULTILINE)
        for head, _, *lines in (table.splitlines() for table in tables):
            headings = [cell.strip() for cell in head.strip("|").split("|")]
            point = ""
            for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in lines):
                if headings[0] == "point":
                    # The interpretations of a point follow each other.
                    cells[0] = point = cells[0] or point
                if any(f"`{word}`" in cell.partition(":")[0] for cell in cells[:2]):
                    pairs = (f"{heading}: {cell}" for heading, cell in zip(headings, cells, strict=True) if cell)
                    rows.append((name, "; ".join(pairs).replace("`", "")))
    return rows


def word_explained(word: str, rows: Sequence[tuple[str, str]]) -> Iterator[Block]:
    """A word of reports, by what the pages of the documentation say of it, as of :func:`in_pages`."""
    yield Heading(3, code(word))
    yield from (Paragraph(text) for _, text in rows)
    yield Paragraph(f"maxpool-check docs {rows[0][0]} has more.")


def kind_explained(kind: DivergenceKind) -> Iterator[Block]:
    """One kind: the sentence, the clause, and the example in which the judge finds it."""
    about = DESCRIPTIONS[kind]
    yield Heading(3, code(kind.value))
    yield Paragraph(about.sentence)
    yield Paragraph(f"Clause: {about.clause}.")
    if about.hypothesis:
        yield Paragraph(f"Found by computing with the mistake: the result equals {about.hypothesis} in every cell.")
    yield Lines(_example(example_of(kind)), "Example")


def _example(example: Example) -> list[str]:
    """The input of an example, the expected outputs and the result."""
    graph, outputs = example.graph, example.variant.outputs
    settings = ", ".join(f"{name}={value}" for name, value in graph.attributes.items())
    policies = "".join(f"  {point}: {interpretation}" for point, interpretation in example.policies.items())
    lines = [f"{graph.document.name}, {example.variant.name}: {settings}{policies}", *described("X", graph.X)]
    if not graph.context.is_alone:
        lines += [f"Graph: {', '.join(['X', *graph.context.lines()])}"]
    oracle, actual = example.oracle, example.actual
    if isinstance(oracle, GraphOracle):
        lines += [line for name in outputs for line in described(f"Expected {name}", oracle.expected[name])]
    else:
        lines.append(f"Expected: a refusal: {oracle.message}")
    if example.base is not None:
        base = example.variant.base.name if example.variant.variation else "indices"
        lines += [line for name in outputs for line in described(f"{name} of {base}", example.base[name])]
    if not isinstance(actual, Returned):
        return [*lines, f"Actual: {words(actual, example.variant)}"]
    lines += [line for name, output in actual.outputs.items() for line in described(f"Actual {name}", output)]
    return lines + [f"{name} missing" for name in outputs if name not in actual.outputs]


def clause_explained(clause: Clause, cases: Iterable[Case]) -> Iterator[Block]:
    """A clause: what it states and where, what it asks of a test, and those of the ``cases`` that are about it."""
    yield Heading(2, code(clause.id))
    yield Paragraph(clause.states)
    policy = f", by the policy {clause.policy}" if clause.policy else ""
    erratum = f", erratum {clause.erratum}" if clause.erratum is not None else ""
    facts = {
        "documents": ", ".join(map(edition_name, clause.documents)),
        "place": f"{clause.where}, {clause.anchor}" if clause.anchor else clause.where,
        "kind": clause.kind.value,
        "status": f"{clause.status.value}{policy}{erratum}{': ' if clause.reason else ''}{clause.reason or ''}",
        "follows from": ", ".join(clause.origin),
        "violated by": ", ".join(clause.violated_by),
    }
    yield Facts([(name, text) for name, text in facts.items() if text])
    about = [case.id for case in cases if clause.id in case.covers]
    yield Paragraph(f"Cases about it: {len(about) or 'none'}")
    yield blocks.Names(about)


def document_explained(document: Specification, cases: Iterable[Case]) -> Iterator[Block]:
    """A document: what it takes, what it leaves open, its results on the points in which documents differ, errata and clauses."""
    edition, defaults = editions()[document.name], document.attributes.items()
    yield Heading(2, f"{document.name}: {document.title}")
    facts = {
        "edition": ", ".join(filter(None, (edition_name(document.name), edition.title, edition.date, edition.source))),
        "dtypes": ", ".join(document.dtypes),
        "spatial axes": ", ".join(map(str, document.ranks)),
        "layout": document.layout.value,
        "outputs": "Y and Indices" if document.indices else "Y",
        "attributes": ", ".join(name if each.default is None else f"{name}={each.default}" for name, each in defaults),
        "open points": ", ".join(f"{point}: {name}" for point, name in document.policies.names().items()),
    }
    yield Facts(list(facts.items()))
    rows: list[list[Inline]] = [
        [case.title, *row[1:]]
        for case in _in_order(case for case in cases if case.spec == document.name)
        for row in _rows(case)
    ]
    if rows:
        yield Section("Points in which documents differ", [Paragraph(_COMPARED), Table(["point", *_COLUMNS[1:]], rows)])
    file = next(file for file in clause_files().values() if document.name in file.editions)
    errata = [f"{each.number}, {each.where}: {each.printed} Correct: {each.correct}" for each in file.errata]
    if errata:
        yield Section("Errata", [blocks.Bullets(errata)])
    rows = [[code(each.id), each.status.value, each.states] for each in clauses_of(document.name)]
    yield Section("Clauses", [Table(["clause", "status", "statement"], rows)])


def side_by_side(cases: Sequence[Case]) -> Iterator[Block]:
    """The documents compared on each point."""
    cases = sorted(cases, key=lambda case: list(SPECIFICATIONS).index(case.spec))
    yield Paragraph(_COMPARED)
    points: dict[str, list[Case]] = defaultdict(list)
    for case in _in_order(cases):
        points[case.name].append(case)
    for name, of_point in points.items():
        table = Table(_COLUMNS, [row for case in of_point for row in _rows(case)])
        yield Section(_points().get(name, {}).get("heading", name), [table])


def _in_order(cases: Iterable[Case]) -> list[Case]:
    """The cases in which documents are compared, by point."""
    order = list(_points())
    tagged = [case for case in cases if TAG in case.tags]
    return sorted(tagged, key=lambda case: order.index(case.name) if case.name in order else len(order))


def policies_in_which_differ(oracle: Oracle, oracles: Sequence[Oracle]) -> str:
    """The policies of an oracle for the points in which the oracles differ: ``nan: ignored, tie: first``."""
    every = [other.pooling.policies.names() for other in oracles]
    names = oracle.pooling.policies.names()
    return ", ".join(f"{point}: {names[point]}" for point in names if len({other[point] for other in every}) > 1)


def _rows(case: Case) -> Iterator[list[Inline]]:
    """Document, interpretation, shape, Y, Indices and case; interpretations with the same result share a row."""
    title, policies, pooling = case.specification.title, case.policies.names(), case.resolved
    name = code(case.id)
    if not isinstance(pooling, Pooling):
        yield [title, "", "refused", f"{pooling.reason.value}: {pooling}", "", name]
        return
    results: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    oracles = Oracle(case.X.tensor(), pooling).alternatives
    for oracle in oracles:
        # Without a NaN that matters there is a single result for all interpretations of NaN.
        several = len(oracle.interpretations) > 1
        for nan, pooled in zip(ALL_INTERPRETATIONS if several else (None,), oracle.interpretations, strict=True):
            arranged = pooled.arranged(pooling.layout)
            indices = arranged.Indices if pooling.indices else None
            outputs = (str(list(oracle.shape)), _text(arranged.Y, arranged.undefined), _text(indices, arranged.empty))
            label = f"nan: {nan.value}" if nan else policies_in_which_differ(oracle, oracles)
            results[outputs].append(label)
    point = _points().get(case.name, {}).get("policy", "")
    fixed = f"{point}: {policies[point]}" if point in policies else ""
    for outputs, labels in results.items():
        yield [title, "; ".join(labels) if len(results) > 1 else fixed, *outputs, name]


def _text(values: np.ndarray | None, empty: np.ndarray) -> str:
    pairs = [] if values is None else zip(values.reshape(-1), empty.reshape(-1), strict=True)
    return " ".join("-" if is_empty else str(value) for value, is_empty in pairs)
