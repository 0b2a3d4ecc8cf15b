"""The words of reports, explained: kinds of divergence, clauses, and the documents, alone and side by side."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import yaml

from maxpool_check.corpus.case import Case, disagreements
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
from maxpool_check.specifications import SPECIFICATIONS, claims
from maxpool_check.specifications.clauses import Clause, ClauseKind, Erratum, clauses_of, edition_name, file_of
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
def points() -> Mapping[str, Mapping[str, Any]]:
    """The points in which documents differ, in order, by the ids of their cases."""
    text = resources.files("maxpool_check.explaining").joinpath("points.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(text)
    return found


def kinds_listed(*, examples: bool) -> Iterator[Block]:
    """All kinds by group: a line each, or each with its example."""
    for group in KindGroup:
        of_group = [kind for kind, about in DESCRIPTIONS.items() if about.group is group]
        rows: list[list[Inline]] = [[code(kind.value), DESCRIPTIONS[kind].sentence] for kind in of_group]
        of_kinds: list[Block] = [block for kind in of_group for block in kind_explained(kind)]
        yield Section(group.value, of_kinds if examples else [Table(["", ""], rows)])
    yield Paragraph("maxpool-check explain KIND shows an example; -v all of them.")


def word_explained(word: str, rows: Sequence[tuple[str, str]]) -> Iterator[Block]:
    """A word of reports, by what the tables of words say of it, as of :func:`glossary.meanings`."""
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
    """A clause: its statement and place, whether a test can violate it, and the ``cases`` that are about it."""
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
    yield blocks.Cases(blocks.Names(about))


def document_explained(document: Specification, cases: Collection[Case]) -> Iterator[Block]:
    """What it takes, what it leaves open, its results on the points in which documents differ, claims, errata and clauses."""
    yield Heading(2, f"{document.name}: {document.title}")
    yield Facts([(name, text) for name, text in _facts(document).items() if text])
    if follows := file_of(document.name).editions[document.name].follows:
        yield _changed(SPECIFICATIONS[follows], document, cases)
    rows: list[list[Inline]] = [
        [case.title, *row[1:]]
        for case in in_order(case for case in cases if case.spec == document.name)
        for row in result_rows(case)
    ]
    if rows:
        yield Section("Points in which documents differ", [Paragraph(_COMPARED), Table(["point", *_COLUMNS[1:]], rows)])
    yield Paragraph(claims.SMALL)
    for outcome, texts in _claims(document, cases).items():
        if texts:
            yield Section(f"Claims that {outcome}", [blocks.Bullets(texts)])
    errata = [_erratum(document, each) for each in file_of(document.name).errata]
    if errata:
        yield Section("Errata", [blocks.Bullets(errata)])
    rows = [[code(each.id), each.status.value, each.states] for each in clauses_of(document.name)]
    yield Section("Clauses", [Table(["clause", "status", "statement"], rows)])


def document_data(document: Specification, cases: Iterable[Case]) -> dict[str, Any]:
    """The document as JSON, with its claims by what became of them."""
    return {
        "document": document.name, "title": document.title, "policies": document.policies.names(),
        "clauses": [clause.id for clause in clauses_of(document.name)], "claims": _claims(document, cases),
    }  # fmt: skip


def _facts(document: Specification) -> dict[str, str]:
    edition, defaults = file_of(document.name).editions[document.name], document.attributes.items()
    restrictions = (each.states for each in clauses_of(document.name) if each.kind is ClauseKind.RESTRICTION)
    return {
        "edition": ", ".join(filter(None, (edition_name(document.name), edition.title, edition.date, edition.source))),
        "dtypes": ", ".join(document.dtypes),
        "spatial axes": ", ".join(map(str, document.ranks)),
        "layout": document.layout.value,
        "outputs": "Y and Indices" if document.indices else "Y",
        "attributes": ", ".join(name if each.default is None else f"{name}={each.default}" for name, each in defaults),
        "restrictions": " ".join(restrictions),
        "open points": ", ".join(f"{point}: {name}" for point, name in document.policies.names().items()),
    }


def _changed(before: Specification, document: Specification, cases: Iterable[Case]) -> Block:
    """What an edition changes: what it takes and excludes, and its results on the points in which documents differ."""
    earlier, later = map(_facts, (before, document))
    for case in in_order(case for case in cases if case.spec in (before.name, document.name)):
        # Shape and Y; a refusal by whichever clause.
        rows = [["refused"] if row[2] == "refused" else row[2:4] for row in result_rows(case)]
        heading = points().get(case.name, {}).get("heading", case.name)
        (later if case.spec == document.name else earlier)[heading] = "; ".join(" ".join(map(str, row)) for row in rows)
    names = [name for name in list(later)[1:] if earlier.get(name, later[name]) != later[name]]
    changes = [f"{name}: {earlier[name]} -> {later[name]}" for name in names]
    return Section(f"Changed since {edition_name(before.name)}", [blocks.Bullets(changes)])


def _claims(document: Specification, cases: Iterable[Case]) -> dict[str, list[str]]:
    """The claims of a document, with its examples, by what became of them."""
    failing, holding, beyond = list[str](), list[str](), list[str]()
    for each in claims.checked_claims(document.name):
        claim, text = each.claim, f"{', '.join(each.claim.clauses)}: {each.claim.states}"
        standing = f"Erratum {claim.erratum}." if claim.erratum is not None else claim.reason
        if each.counterexample is not None:
            smallest = f"Smallest counterexample: {claims.described(each.counterexample)}."
            failing.append(f"{text} {smallest} {standing} What holds: {claim.mended}")
        elif claim.holds:
            holding.append(f"{text} ({each.axes:,} axes)")
        else:
            beyond.append(f"{text} {claim.reason}")
    examples = {clause.id for clause in clauses_of(document.name) if clause.kind is ClauseKind.EXAMPLE}
    for case in cases:
        if case.spec == document.name and (about := [name for name in case.covers if name in examples]):
            wrong, text = disagreements(case), f"{', '.join(about)}: {case.id}"
            (failing if wrong else holding).append(f"{text} {'; '.join(wrong)}".strip())
    return {"fail": failing, "hold": holding, "cannot be executed": beyond}


def _erratum(document: Specification, erratum: Erratum) -> str:
    claims_made = file_of(document.name).claims
    claimed = {name for each in claims_made if each.erratum == erratum.number for name in each.clauses}
    names = [each.id for each in clauses_of(document.name) if each.erratum == erratum.number or each.id in claimed]
    where = f"{erratum.where} ({', '.join(names)})" if names else erratum.where
    proposal = f" Proposed: {erratum.proposal}" if erratum.proposal else ""
    return f"{erratum.number}, {where}: {erratum.printed} Correct: {erratum.correct}{proposal}"


def side_by_side(cases: Collection[Case]) -> Iterator[Block]:
    """The documents compared on each point."""
    cases = sorted(cases, key=lambda case: list(SPECIFICATIONS).index(case.spec))
    yield Paragraph(_COMPARED)
    by_point: dict[str, list[Case]] = defaultdict(list)
    for case in in_order(cases):
        by_point[case.name].append(case)
    for name, of_point in by_point.items():
        table = Table(_COLUMNS, [row for case in of_point for row in result_rows(case)])
        yield Section(points().get(name, {}).get("heading", name), [table])


def in_order(cases: Iterable[Case]) -> list[Case]:
    """The cases in which documents are compared, by point."""
    order = list(points())
    tagged = [case for case in cases if TAG in case.tags]
    return sorted(tagged, key=lambda case: order.index(case.name) if case.name in order else len(order))


def policies_in_which_differ(oracle: Oracle, oracles: Sequence[Oracle]) -> str:
    """The policies of an oracle for the points in which the oracles differ: ``nan: ignored, tie: first``."""
    every = [other.pooling.policies.names() for other in oracles]
    names = oracle.pooling.policies.names()
    return ", ".join(f"{point}: {names[point]}" for point in names if len({other[point] for other in every}) > 1)


def result_rows(case: Case) -> Iterator[list[Inline]]:
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
    point = points().get(case.name, {}).get("policy", "")
    fixed = f"{point}: {policies[point]}" if point in policies else ""
    for outputs, labels in results.items():
        yield [title, "; ".join(labels) if len(results) > 1 else fixed, *outputs, name]


def _text(values: np.ndarray | None, empty: np.ndarray) -> str:
    pairs = [] if values is None else zip(values.reshape(-1), empty.reshape(-1), strict=True)
    return " ".join("-" if is_empty else str(value) for value, is_empty in pairs)
