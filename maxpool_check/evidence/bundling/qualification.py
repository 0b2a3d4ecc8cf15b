"""What an applicant needs to qualify the tool, in the order in which DO-330 asks for it; without any claim of qualification.

Every number follows from the bundle; what the bundle does not have is not said.
"""

from collections import Counter
from collections.abc import Iterator

from maxpool_check.corpus.case import contradictions
from maxpool_check.evidence.bundling.contents import Contents
from maxpool_check.evidence.bundling.documentation import passage
from maxpool_check.evidence.bundling.notes import limitations
from maxpool_check.evidence.bundling.target_results import TargetResults
from maxpool_check.evidence.kills import Kills
from maxpool_check.evidence.proof import Proof, sources
from maxpool_check.reporting.markup import bullets, code, codes, escaped, joined, table, wrapped
from maxpool_check.results.record import Verdict
from maxpool_check.specifications.clauses import ClauseStatus, clause_files, clauses_of
from maxpool_check.words import plural

KNOWN_IS_WRONG = (
    "A known defect is wrong all the same, and excuses nothing. The test-result of in-toto has only PASSED, WARNED and FAILED: there "
    "known defects count as failed, so that a target with KNOWN DEFECTS is FAILED."
)

_NO_CLAIM = """\
This file has what DO-330 asks for, in its order, as far as the authors of the tool can give it. **The tool is qualified for no
standard, and nothing here claims that it could be.** Whoever uses it decides what it is used for, at which level, and whether
this suffices."""

_USE = """\
The tool answers one question: does this runtime compute MaxPool as specified? It executes cases on a runtime and compares Y and
Indices with a reference bit by bit. A user may rely on its verdicts in the place of a review of these outputs; it changes no
software that is delivered."""

_REQUIREMENTS = """\
It executes every selected case on every named target in every selected variant, and writes a line of the record for each, or
says in the record why it did not.

It judges by the document that a case names, and by that alone; where the document leaves a point open, every interpretation
conforms, and the record has the policies.

It says `conforms` only where every bit of every requested output is one that the document allows, payload and sign of NaN aside,
or where the target refused a graph that the document excludes.

What was not compared with a document never counts as conforming, and is counted apart.

A known defect never makes a wrong result a right one: it stays `diverges`, and is named.

Each target runs in a process of its own. Its crash, its silence or its damaged memory costs executions, never a verdict.

A bad input is refused with its place and the reason, before anything is executed.

The record has what a verdict depends on: versions and digests of the tool, the target and the cases, the machine and the command
line. The same input gives the same record but for times.

The exit code says whether the result was expected; see below.
"""
"""What the tool promises; each paragraph becomes a numbered requirement."""

_ENVIRONMENT = """\
Linux and Python 3.10 or later. `environments/` has that of each run of this bundle. Records are JSON lines of the schema that
`maxpool-check schema record` prints."""

_PROCEDURES = """\
**Two references** (TOR-2, TOR-3). Every case is computed by the definition, which is written to be read beside the documents, and
by the evaluator, which judges; they must agree in every bit. `references.json.gz` has the digests of both; `maxpool-check evidence
verify` makes it again.

**Proof over small geometries** (TOR-3). Both references compute all small geometries in one and two dimensions, and are compared in
every bit. `proof.json` is the log, with the digests of the files that were compared; `make prove` in a checkout makes it again.

**Kernels that are wrong on purpose** (TOR-3, TOR-4). Each violates a clause in one way; cases of this clause must notice it.
`kills.json` names them, with cases that do; `maxpool-check trace --mutants` makes the list again.

**Cases with an expectation** (TOR-2). Results that documents print are cases; the tool compares what a case expects with its
reference before it runs anything. Where a document is wrong, the case has an erratum.

**The tool's own tests** (TOR-1 to TOR-9). `make test` in a checkout: targets that crash, hang or lie, broken and hostile input, and
a judge that is wrong on purpose. This bundle does not hold their result.
"""

_OWN_PROBLEMS = """\
The definition and the evaluator share the computation of output sizes and of the begin of the padding (`reference/geometry.py`):
a mistake there is in both. What speaks against one are the results that documents print, and other runtimes that conform.

The tool's authors have read the documents and put them into clauses. Nobody else has reviewed the clauses; an erratum or a defect
names its reviewer, if there is one.

Inputs and outputs travel as text between the tool and the process of a runtime, and the `onnx` package builds the models. A
mistake there changes bits, and so shows as a divergence; it can hide one only if it undoes it.

A runtime that recognises the cases, or the process of the tool, can return what is expected. The tool tests runtimes, not
intentions.

The digests of wheels and libraries are those that the environment of the run gave.
"""


PAGES = tuple(
    f"qualification/{name}.md"
    for name in (
        "1-operational-requirements", "2-verification-cases-and-procedures", "3-verification-results", "4-known-problems",
    )
)  # fmt: skip


def qualification(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """The four files."""
    results = contents.results
    texts = (_requirements(contents), _procedures(), _results(contents, results), _problems(contents, results))
    for name, blocks in zip(PAGES, texts, strict=True):
        yield name, f"{joined(blocks)}\n".encode()


def _requirements(contents: Contents) -> Iterator[str]:
    yield "# Tool operational requirements"
    yield _NO_CLAIM
    yield "## Use"
    yield _USE
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
    yield bullets(f"**TOR-{number}** {text}" for number, text in enumerate(_paragraphs(_REQUIREMENTS), 1))
    yield "## Verdicts"
    yield passage("verdicts", "Verdicts")
    yield "## Results and exit codes"
    yield passage("verdicts", "Results and exit codes")
    yield "## Environment"
    yield _ENVIRONMENT


def _procedures() -> Iterator[str]:
    yield "# Tool verification cases and procedures"
    yield _NO_CLAIM
    yield bullets(_paragraphs(_PROCEDURES))


def _results(contents: Contents, results: list[TargetResults]) -> Iterator[str]:
    yield "# Tool verification results"
    yield _NO_CLAIM
    yield "## Of the tool"
    yield bullets(wrapped(text) for text in own_results(contents))
    yield "## Of the runs in this bundle"
    yield "These are results of the tool's use: the word that ended the run of each target, and executions by verdict."
    yield bullets(
        wrapped(f"{code(each.target.name)}: {each.report.result[0]}. {escaped(each.report.result[1])}.")
        for each in results
    )
    yield wrapped(KNOWN_IS_WRONG)
    verdicts = [verdict for verdict in Verdict if any(each.executions[verdict] for each in results)]
    yield table(
        ["target", "cases", *(verdict.value for verdict in verdicts)],
        [
            [code(each.target.name), str(len(each.cases)), *(str(each.executions[verdict]) for verdict in verdicts)]
            for each in results
        ],
        range(1, len(verdicts) + 2),
    )


def own_results(contents: Contents) -> Iterator[str]:
    """What shows that the tool is right, in numbers: a paragraph for each of the procedures that a bundle holds."""
    counts = contents.references.counts
    yield (
        f"**Two references**: {plural(counts.cases, 'case')}; documents exclude {counts.refused} of them, and both references computed "
        f"{counts.computed}, {plural(counts.results, 'result')} under all interpretations. They agree in {counts.agree} and differ in {counts.differ}."
    )
    yield f"**Proof over small geometries**: {_proved(contents.proof)}"
    yield f"**Kernels that are wrong on purpose**: {_killed(contents.kills)}"
    expecting = [case for case in contents.cases.values() if case.expect is not None]
    wrong = sum(bool(contradictions(case)) for case in expecting)
    yield (
        f"**Cases with an expectation**: {plural(len(expecting), 'case')} of {len(contents.cases)}; "
        f"{sum(case.erratum is not None for case in expecting)} of them name an erratum of their document. The reference "
        f"contradicts {wrong} of the others."
    )


def _proved(proof: Proof) -> str:
    total = proof.total
    return (
        f"{proof.tables} distinct tables of taps, which {proof.axes} axes have, and all {proof.pairs} pairs of them in two dimensions. "
        f"{total.evaluations} evaluations with {total.cells} cells were compared; {total.mismatches} differ."
        + (
            ""
            if proof.sources == sources()
            else " **The log is of other files than those of this tool, and proves nothing of them.**"
        )
    )


def _killed(kills: Kills) -> str:
    kernels = {kernel for by_kernel in kills.values() for kernel in by_kernel}
    killed = sum(any(by_kernel.values()) for by_kernel in kills.values())
    return (
        f"{plural(len(kernels), 'kernel')}. Of {plural(len(kills), 'testable clause')} of the documents of this bundle, "
        f"{killed} have cases here that notice a kernel which violates them."
    )


def _problems(contents: Contents, results: list[TargetResults]) -> Iterator[str]:
    yield "# Known problems"
    yield _NO_CLAIM
    yield "## Of the tool"
    yield bullets(_paragraphs(_OWN_PROBLEMS))
    yield "## Points that documents leave open"
    rows = [
        [
            code(clause.id),
            codes(clause.documents or file.editions),
            escaped(clause.states),
            code(clause.policy) if clause.policy else "",
        ]
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


def _paragraphs(text: str) -> list[str]:
    return text.strip().split("\n\n")
