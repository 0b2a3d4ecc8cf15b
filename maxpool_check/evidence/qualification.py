"""What an applicant needs to qualify the tool, in the order in which DO-330 asks for it; without any claim of qualification.

Every number follows from the bundle; what the bundle does not have is not said.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from maxpool_check.evidence.bundle import KILLS, PROOF
from maxpool_check.evidence.contents import Contents
from maxpool_check.evidence.passages import passage
from maxpool_check.evidence.statements import limitations
from maxpool_check.evidence.target_results import TargetResults, target_results
from maxpool_check.reporting.markup import bullets, code, codes, escaped, joined, table, wrapped
from maxpool_check.results.record import Verdict
from maxpool_check.specifications.clauses import ClauseStatus, clause_files, clauses_of
from maxpool_check.words import plural

_NO_CLAIM = wrapped(
    "This file has what DO-330 asks for, in its order, as far as the tool's authors can give it. **The tool is qualified for no "
    "standard, and nothing here claims that it could be.** Whoever uses it decides what it is used for, at which level, and whether "
    "this suffices."
)

_REQUIREMENTS = (
    "It executes every selected case on every named target in every selected variant, and writes a line of the record for each, "
    "or says in the record why it did not.",
    "It judges by the document that a case names, and by that alone; where the document leaves a point open, every interpretation "
    "conforms, and the record has the policies.",
    "It says `conforms` only where every bit of every requested output is one that the document allows, payload and sign of NaN "
    "aside, or where the target refused a graph that the document excludes.",
    "What was not compared with a document never counts as conforming, and is counted apart.",
    "A known defect never makes a wrong result a right one: it stays `diverges`, and is named.",
    "Each target runs in a process of its own; its crash, its silence or its damaged memory costs executions, never a verdict.",
    "A bad input is refused with its place and the reason, before anything is executed.",
    "The record has what a verdict depends on: versions and digests of the tool, the target and the cases, the machine and the "
    "command line. The same input gives the same record but for times.",
    "The exit code says whether the result was expected; see below.",
)
"""What the tool promises; each becomes a numbered requirement."""


def qualification(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The four files."""
    results = target_results(contents)
    pages = (
        ("1-operational-requirements", _requirements(contents)),
        ("2-verification-cases-and-procedures", _procedures(contents)),
        ("3-verification-results", _results(contents, results)),
        ("4-known-problems", _problems(contents, results)),
    )
    for name, blocks in pages:
        yield f"qualification/{name}.md", f"{joined(blocks)}\n".encode()


def _requirements(contents: Contents) -> Iterator[str]:
    yield "# Tool operational requirements"
    yield _NO_CLAIM
    yield "## Use"
    yield wrapped(
        "The tool answers one question: does this runtime compute MaxPool as specified? It executes cases on a runtime and compares "
        "Y and Indices with a reference bit by bit. A user may rely on its verdicts in place of a review of these outputs; it "
        "changes no software that is delivered."
    )
    yield "## Documents by which it judges"
    rows = []
    for name in sorted({case.spec for case in contents.cases.values()}):
        edition = next((file.editions[name] for file in clause_files().values() if name in file.editions), None)
        status = Counter(clause.status for clause in clauses_of(name))
        counts = [str(status[each]) for each in ClauseStatus]
        title = escaped(edition.title) if edition else "no clauses of it are written down"
        digest = code(edition.sha256) if edition and edition.sha256 else ""
        rows.append([code(f"{name}@{edition.name}" if edition else name), title, digest, *counts])
    yield table(
        ["document", "title", "SHA-256 of the text", *(each.value for each in ClauseStatus)],
        rows,
        range(3, 3 + len(ClauseStatus)),
    )
    yield wrapped("The clauses, each in a sentence, are in `clauses/`; the numbers above count them by status.")
    yield "## What it promises"
    yield bullets(wrapped(f"**TOR-{number}** {text}") for number, text in enumerate(_REQUIREMENTS, 1))
    yield "## Verdicts"
    yield passage("verdicts", "Verdicts")
    yield "## Results and exit codes"
    yield passage("verdicts", "Results and exit codes")
    yield "## Environment"
    yield wrapped(
        "Linux and Python 3.10 or later. `environments/` has that of each run of this bundle. Records are JSON lines of the schema "
        "that `maxpool-check schema` prints."
    )


def _procedures(contents: Contents) -> Iterator[str]:
    yield "# Tool verification cases and procedures"
    yield _NO_CLAIM
    yield wrapped(
        "Five things show that a verdict can be relied on. The first four are in this bundle, and `maxpool-check evidence verify` "
        "repeats the first."
    )
    yield bullets(
        wrapped(text)
        for text in (
            "**Two references** (TOR-2, TOR-3): every case is computed by the definition, which is written to be read beside the "
            "documents, and by the evaluator, which judges; they must agree in every bit. `references.json` has the digests of both.",
            *(
                [
                    "**Proof over small geometries** (TOR-3): both references on all small geometries of a range, compared in every bit. `proof.json` is its log; `make proof` in a checkout makes it again."
                ]
                if PROOF in contents.members
                else [
                    "**Proof over small geometries** (TOR-3): the tests compare both references on all small geometries in one dimension. This bundle has no log of it."
                ]
            ),
            *(
                [
                    "**Kernels that are wrong on purpose** (TOR-3, TOR-4): each violates a clause in one way; cases of this clause must notice it. `kills.json` names them."
                ]
                if KILLS in contents.members
                else [
                    "**Kernels that are wrong on purpose** (TOR-3, TOR-4): each is wrong in one way, and the tests fail unless two cases notice it. This bundle has no list of it."
                ]
            ),
            "**Cases with printed results** (TOR-2): examples that a document prints are cases, whose expectation the tool compares "
            "with its reference whenever it reads them; where a document is wrong, the case says so (`erratum`).",
            "**The tool's own tests** (TOR-1 to TOR-9): `make test` in a checkout; targets that crash, hang or lie, inputs that are "
            "broken or hostile, mutants of the judge. This bundle does not hold their result.",
        )
    )


def _results(contents: Contents, results: list[TargetResults]) -> Iterator[str]:
    yield "# Tool verification results"
    yield _NO_CLAIM
    yield "## Of the tool"
    yield bullets(wrapped(text) for text in _own_results(contents))
    yield "## Of the runs in this bundle"
    yield "These are results of the tool's use: executions by verdict."
    verdicts = [verdict for verdict in Verdict if any(each.executions[verdict] for each in results)]
    yield table(
        ["target", "cases", *(verdict.value for verdict in verdicts)],
        [
            [code(each.target.name), str(len(each.cases)), *(str(each.executions[verdict]) for verdict in verdicts)]
            for each in results
        ],
        range(1, len(verdicts) + 2),
    )


def _own_results(contents: Contents) -> Iterator[str]:
    counts = contents.references.counts
    yield (
        f"**Two references**: {plural(counts.cases, 'case')}; documents exclude {counts.refused} of them, and both references computed "
        f"{counts.computed}, {plural(counts.results, 'result')} under all interpretations. They agree in {counts.agree} and differ in {counts.differ}."
    )
    if (proof := _json(contents, PROOF)) is not None:
        yield f"**Proof over small geometries**: {escaped(_proved(proof))}"
    if (kills := _json(contents, KILLS)) is not None:
        by_clause = kills["clauses"]
        killed = sum(any(cases for cases in by_kernel.values()) for by_kernel in by_clause.values())
        yield (
            f"**Kernels that are wrong on purpose**: {plural(len(kills['kernels']), 'kernel')}. Of {plural(len(by_clause), 'testable clause')}, "
            f"{killed} have cases in this bundle that notice a kernel which violates them."
        )
    expecting = [case for case in contents.cases.values() if case.expect is not None]
    yield (
        f"**Cases with printed results**: {plural(len(expecting), 'case')} of {len(contents.cases)} say what is expected; "
        f"{plural(sum(case.erratum is not None for case in expecting), 'case')} of them name an erratum of their document. "
        "The tool has read them all, so that the reference contradicts none of the others."
    )


def _json(contents: Contents, name: str) -> Any:
    return json.loads(contents.members[name]) if name in contents.members else None


def _proved(proof: Any) -> str:
    return str(proof.get("summary", "see proof.json"))


def _problems(contents: Contents, results: list[TargetResults]) -> Iterator[str]:
    yield "# Known problems"
    yield _NO_CLAIM
    yield "## Of the tool"
    yield bullets(wrapped(text) for text in _OWN_PROBLEMS)
    yield "## Points that documents leave open"
    rows = [
        [code(clause.id), codes(clause.documents), escaped(clause.states), code(clause.policy) if clause.policy else ""]
        for file in clause_files().values()
        for clause in file.clauses
        if clause.status is ClauseStatus.OPEN
    ]
    yield table(["clause", "documents", "statement", "policy"], rows) if rows else "None is written down."
    yield "## Errata of documents"
    errata = [
        [
            codes(file.editions),
            str(erratum.number),
            escaped(erratum.where),
            escaped(erratum.printed),
            escaped(erratum.correct),
            escaped(erratum.reviewer or "nobody"),
        ]
        for file in clause_files().values()
        for erratum in file.errata
    ]
    yield (
        table(["documents", "number", "where", "printed", "what holds", "reviewed by"], errata)
        if errata
        else "None is written down."
    )
    yield "## Defects of the runtimes in this bundle"
    yield "Known defects, as the records have them; they are no problems of the tool."
    known = [
        [
            code(each.target.name),
            code(entry.id),
            escaped(" ".join((entry.title or entry.reason).split())),
            entry.status.value,
            str(len(each.defects.get(entry.id, ()))),
        ]
        for each in results
        for entry in each.known
    ]
    yield table(["target", "defect", "what is wrong", "status", "cases"], known, {4}) if known else "None."
    yield limitations(contents, results).replace("\n## ", "\n### ").replace("# Limitations", "## Limitations", 1)


_OWN_PROBLEMS = (
    "The definition and the evaluator share the computation of output sizes and of the begin of the padding "
    "(`reference/geometry.py`): a mistake there is in both. The examples that documents print, and runtimes that conform, are what "
    "speaks against one.",
    "Documents were read and put into clauses by the tool's authors. Nobody of the documents has reviewed the clauses, unless an "
    "erratum or a defect names its reviewer.",
    "Inputs and outputs travel as JSON and base64 between the tool and the process of a runtime, and models are built by the "
    "`onnx` package: a mistake there would show as a divergence, not as a false `conforms`, as far as bits differ.",
    "A runtime that recognises the cases, or the process of the tool, can return what is expected. The tool tests runtimes, not intentions.",
    "The digests of wheels and libraries are those that the environment of the run gives.",
)
