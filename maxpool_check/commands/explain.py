"""``maxpool-check explain``: a case, kind, defect, clause, document, attribute or wrong kernel."""

import re
import shlex
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.explaining.cases import ExecutedCase
    from maxpool_check.reporting.blocks import Block
    from maxpool_check.results.record import TargetDescription
    from maxpool_check.results.variants import Variant
    from maxpool_check.running.case_run import JudgedRun
    from maxpool_check.targets.name import TargetName

_DOCUMENTS = "documents"
"""The word for all documents, side by side."""


@options.command("explain")
@click.argument("word", required=False, type=options.WORD, metavar="[WORD]")
@options.targets()
@options.claims
@options.folder
@click.option("--at", metavar="CELL", help="Draw the window of this cell of Y, e.g. 0,0,1,2.")
@options.variants
@options.as_json
def command(
    word: str | None, targets: "tuple[TargetName, ...]", claims: tuple[str, ...], path: Path | None, at: str | None,
    variants: "frozenset[Variant]", as_json: bool,
) -> int:  # fmt: skip
    """Draw a case and what is wrong with the outputs of a target, or say what a word of a report means.

    WORD is a case, by its full id such as sonnx/float:float-example-3 or as FILE.yaml:ID; a kind, such as
    y-lowest-for-neg-inf; the id of a defect or of a clause; a document, such as onnx-22, or 'documents', all of them side by side;
    an attribute, such as ceil_mode; a kernel that is wrong on purpose, such as padding:zero; or another word of a report, such as
    extremes. Without it, all kinds are listed.

    \b
    Examples:
      maxpool-check explain edge/ties:all-equal -t onnxruntime==1.23.2
      maxpool-check explain ORT-PAD-FOLDED
    """
    from maxpool_check.commands import case_files

    if word is None or ":" not in word or _is_kernel(word):
        from maxpool_check.commands import model_cases

        model_cases.refuse_without_node(Path(word or ""))
        blocks, data = _term(word, path, in_full=options.setting("verbose") > 0)
        if as_json:
            options.dump("explain", data)
        else:
            options.show(blocks)
        return 0
    takes_models = not targets or any(target.takes_models for target in targets)
    case = case_files.find(word, path, takes_models=takes_models)
    cell = _cell(at, case) if at is not None else None
    named = options.claiming(targets, claims)
    runs = _executed(case, named, variants)
    from maxpool_check.explaining import cases

    if as_json:
        options.echo(inert.dumps(cases.data(case, runs), indent=1))
    else:
        from maxpool_check.reporting.blocks import Paragraph, Span
        from maxpool_check.reporting.reruns import place_of

        shown = [*cases.heading(case)]
        for each in runs:
            shown += [Paragraph([Span(each.run.target, strong=True), f": {each.about}"]), *cases.results(each)]
        if cell is not None or not runs:
            shown += cases.reference(case, cell, everything=options.setting("verbose") > 0)
        options.show(shown)
        for each, target in zip(runs, named, strict=True):
            if each.run.diverging and target.outputs is None:
                words = ["repro", place_of(case.id, str(case.origin.path)), "-t", each.run.target]
                words += [*(("--spec", case.spec) if claims else ()), "-o", "repro"]
                options.echo(f"\nNext: {shlex.join(['maxpool-check', *words])}")
    failed = any(execution.verdict == "error" for each in runs for execution in each.executions)
    return options.Incomplete.exit_code if failed else 0


def _term(word: str | None, path: Path | None, *, in_full: bool) -> "tuple[Iterable[Block], dict[str, Any]]":
    """What is printed of a word that names no case, and its JSON. Raises ``click.UsageError`` for an unknown one."""
    import msgspec

    from maxpool_check.commands import case_files
    from maxpool_check.explaining import attributes, defects, glossary, terms
    from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
    from maxpool_check.specifications import SPECIFICATIONS
    from maxpool_check.specifications.clauses import clauses

    if word is None:
        return terms.kinds_listed(examples=in_full), {
            "kinds": [{"kind": kind, **msgspec.to_builtins(about)} for kind, about in DESCRIPTIONS.items()]
        }
    if word in {*DivergenceKind}:
        kind = DivergenceKind(word)
        return terms.kind_explained(kind), {"kind": kind, **msgspec.to_builtins(DESCRIPTIONS[kind])}
    if word in (_DOCUMENTS, *SPECIFICATIONS, *clauses(), *attributes.names()):
        return _of_documents(word, path, in_full=in_full)
    found, versions, ids = case_files.all_defects(path, word)
    for defect in (each for each in found if each.id == word):
        return defects.explained(defect, versions), defects.data(defect, versions)
    if rows := glossary.meanings(word):
        return terms.word_explained(word, rows), {
            "word": word,
            "meanings": [{"page": page, "text": text} for page, text in rows],
        }
    return _of_kernel(word, ids, in_full=in_full)


def _of_documents(word: str, path: Path | None, *, in_full: bool) -> "tuple[Iterable[Block], dict[str, Any]]":
    """What is printed of a document or all, a clause or an attribute, with the cases about it, and its JSON."""
    import msgspec

    from maxpool_check.commands import case_files
    from maxpool_check.corpus.collection import default_path
    from maxpool_check.explaining import attributes, terms
    from maxpool_check.specifications import SPECIFICATIONS
    from maxpool_check.specifications.clauses import clauses

    cases = case_files.CaseFiles([path or default_path()]).read().cases
    if word in clauses():
        return terms.clause_explained(clauses()[word], cases), msgspec.to_builtins(clauses()[word])
    if word == _DOCUMENTS:
        if not any(terms.TAG in case.tags for case in cases):
            raise click.UsageError(f"none of {plural(len(cases), 'case')} has the tag {terms.TAG}")
        return terms.side_by_side(cases), {"documents": list(SPECIFICATIONS)}
    if word in SPECIFICATIONS:
        document = SPECIFICATIONS[word]
        return terms.document_explained(document, cases), terms.document_data(document, cases)
    defects, _, _ = case_files.all_defects(path)
    about = attributes.attribute_explained(word, cases, defects, everything=in_full)
    return about, attributes.attribute_data(word, cases, defects)


def _of_kernel(word: str, ids: Iterable[str], *, in_full: bool) -> "tuple[Iterable[Block], dict[str, Any]]":
    """What is printed of a wrong kernel, and its JSON. Raises ``click.UsageError`` for an unknown word; ``ids`` are those of defects."""
    from maxpool_check.evidence import kernel_view
    from maxpool_check.explaining import attributes
    from maxpool_check.judging.kinds import DivergenceKind
    from maxpool_check.specifications import SPECIFICATIONS
    from maxpool_check.specifications.clauses import clauses
    from maxpool_check.specifications.specification import nearest

    kernels = kernel_view.kernels_named(word)
    if len(kernels) == 1:
        return kernel_view.kernel_explained(kernels[0], everything=in_full), kernel_view.kernel_data(kernels[0])
    if kernels:
        raise click.UsageError(f"'{word}' is the name of several wrong kernels: {', '.join(map(str, kernels))}")
    names = [*(kind.value for kind in DivergenceKind), *ids, *SPECIFICATIONS, *clauses(), *attributes.names()]
    raise click.UsageError(
        f"'{word}' is neither a case, FILE.yaml:ID or a full id, nor a kind, defect, clause, document, attribute or wrong kernel"
        f"{nearest(word, names)}; "
        "'maxpool-check explain' lists the kinds, 'maxpool-check docs verdicts' has verdicts, severities and decisions"
    )


def _is_kernel(word: str) -> bool:
    """Whether a word is the full name of a wrong kernel; FILE.yaml:ID names a case whose id is the same."""
    if not re.fullmatch(r"\w+:\w+", word):
        return False
    from maxpool_check.evidence.kernel_view import kernels_named

    return bool(kernels_named(word))


def _executed(case: "Case", targets: "Sequence[TargetName]", variants: "frozenset[Variant]") -> "list[ExecutedCase]":
    """The case, executed on each target. Raises :class:`options.Incomplete`."""
    from maxpool_check.running.case_run import run_case
    from maxpool_check.running.outputs import session_of
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.target import Target

    runs = []
    for target in targets:
        with options.raising(incomplete=CannotStart), session_of(Target(target, options.setting("timeout"))) as session:
            runs.append(_named(run_case(session, case, variants), session.profile.description))
    return runs


def _named(run: "JudgedRun", target: "TargetDescription") -> "ExecutedCase":
    """A case that was executed, with the defects that come with the tool and explain what is wrong."""
    from maxpool_check.explaining.cases import ExecutedCase
    from maxpool_check.running.labels import Catalogue, Labels

    catalogue = Catalogue([target])
    labels = Labels([target], (), date.today(), lambda: catalogue.defects)
    labelled = tuple(labels.label(run.case, execution) for execution in run.executions)
    defects = {defect.id: defect for defect in catalogue.defects} if run.diverging else {}
    return ExecutedCase(run, target.about, labelled, defects)


def _cell(text: str, case: "Case") -> tuple[int, ...]:
    from maxpool_check.specifications.specification import Refused

    oracle = case.oracle()
    if isinstance(oracle, Refused):
        raise click.UsageError(f"--at {text}: {case.specification.title} excludes the case, which has no Y")
    try:
        at = tuple(int(part) for part in text.strip("[]() ").split(","))
    except ValueError:
        at = ()
    if len(at) != len(oracle.shape) or not all(0 <= i < size for i, size in zip(at, oracle.shape, strict=True)):
        first = ",".join("0" * len(oracle.shape))
        raise click.UsageError(f"--at {text}: Y has the shape {list(oracle.shape)}, its first cell is {first}")
    return at
