"""``maxpool-check cases``: list, lint, copy and lock cases; other suites are read and written by ``exchange``."""

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

import maxpool_check
from maxpool_check import inert
from maxpool_check.commands import exchange, options
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case


@click.group("cases")
def command() -> None:
    """List, lint, copy and lock cases; import those of other suites, and export cases for other programs.

    Wherever a PATH of case files is expected, 'corpus' is the corpus that comes with the tool, and 'corpus:onnx' or
    'corpus:contexts/pad' a part. A file or folder of your own that is called 'corpus' comes first; 'corpus:' is always the one
    that comes with the tool.

    \b
    Examples:
      maxpool-check cases list corpus:edge -k tag:neg-inf
      maxpool-check cases copy my-cases
    """


@command.command("list", short_help="List cases, or the parts of the corpus.")
@options.paths
@options.selected
@options.spec
@options.as_json
def list_(paths: Sequence[Path], selected: tuple[str, ...], spec: tuple[str, ...], as_json: bool) -> int:
    """List the cases, one line each: id, document, X and the operators that it flows through, title.

    Without a PATH and a selection, the parts of the corpus that comes with the tool are listed, with the number of their cases.
    \b
    Examples:
      maxpool-check cases list
      maxpool-check cases list cases/ -k tag:neg-inf
    """
    from maxpool_check.commands.case_files import CaseFiles

    files = CaseFiles(paths, selected, spec)
    corpus = files.read()
    if click.get_current_context().get_parameter_source("paths") is ParameterSource.DEFAULT and not (selected or spec):
        return _list_parts(corpus.cases, as_json)
    cases = files.select(corpus)
    if as_json:
        options.echo(inert.dumps({"schema": "maxpool-check/list/1", "cases": [*map(_data, cases)]}, indent=1))
        return 0
    for case in cases:
        flow = f" {' > '.join(case.context.operators)}" if case.context and case.context.has_nodes else ""
        X = f"{case.X.dtype.name}{list(case.X.shape)}{flow}"
        options.echo(f"{case.id:48}  {case.spec:8}  {X:24}  {case.title}")
    return 0


def _list_parts(cases: "Sequence[Case]", as_json: bool) -> int:
    from maxpool_check.corpus.collection import PREFIX, shipped_root
    from maxpool_check.reporting.blocks import Table

    root, version = shipped_root(), maxpool_check.__version__
    counts = Counter(case.origin.path.removeprefix(PREFIX).partition("/")[0].removesuffix(".yaml") for case in cases)
    if as_json:
        parts = [{"name": f"{PREFIX}{part}", "cases": count} for part, count in sorted(counts.items())]
        document = {"schema": "maxpool-check/corpus/1", "version": version, "folder": str(root), "parts": parts}
        options.echo(inert.dumps(document, indent=1))
        return 0
    options.echo(f"Corpus of maxpool-check {version}: {plural(len(cases), 'case')} in {root}")
    options.show([Table(["", ""], [(f"{PREFIX}{part}", str(counts[part])) for part in sorted(counts)], frozenset([1]))])
    options.echo("maxpool-check cases list PATH lists the cases of one; of all, PATH is 'corpus'")
    return 0


def _data(case: "Case") -> dict[str, object]:
    """A case as a member of a JSON document."""
    from maxpool_check.graphs.context import json_data

    return {
        "id": case.id,
        "title": case.title,
        "spec": case.spec,
        "tags": list(case.tags),
        "covers": list(case.covers),
        "dtype": case.X.dtype.name,
        "shape": list(case.X.shape),
        "attributes": dict(case.attributes),
        **(json_data(case.context) if case.context else {}),
        "outputs": list(case.outputs),
        "origin": f"{case.origin.path}:{case.origin.line}",
        "sha256": case.sha256,
        "provenance": dict(case.provenance),
    }


@command.command("lint", short_help="Check case files and defects against the reference.")
@click.option(
    "--references", is_flag=True, help="Also compute every case by both references, which must agree in every bit."
)
@options.paths
def lint(paths: Sequence[Path], references: bool) -> int:
    """Check case files and defects against the reference.

    The reference must reproduce every expectation, unless an erratum explains the difference.

    \b
    Examples:
      maxpool-check cases lint cases/
      maxpool-check cases lint corpus:sonnx
    """
    from maxpool_check.commands import executing
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Mistakes
    from maxpool_check.corpus.case import contradictions, disagreements
    from maxpool_check.corpus.defect_file import read_defects, unmatched, unmet_conditions
    from maxpool_check.corpus.problems import CorpusError

    corpus = CaseFiles(paths).read()
    problems: list[object] = [problem for case in corpus.cases for problem in contradictions(case)]
    count = 0
    for file in corpus.known_files:
        try:
            defects = read_defects(file)
        except CorpusError as error:
            problems.extend(error.problems)
            continue
        count += len(defects)
        if corpus.whole:
            problems.extend(unmatched(file, [case.id for case in corpus.cases]))
            problems.extend(unmet_conditions(file, defects, corpus.cases))
    if problems:
        raise Mistakes(problems)
    agreement = executing.compare_references(corpus.cases, "results cannot be trusted") if references else None
    errata = 0
    for case in corpus.cases:
        if case.erratum and (text := "; ".join(disagreements(case))):
            errata += 1
            options.echo(f"{case.origin.path}:{case.origin.line}: {case.id} {text} (erratum)")
    files_of_cases = len({case.origin.path for case in corpus.cases})
    options.echo(
        f"{plural(len(corpus.cases), 'case')} in {plural(files_of_cases, 'file')}, {plural(count, 'defect')}: "
        f"no problems, {plural(errata, 'erratum', 'errata')}"
    )
    if agreement is not None:
        options.echo(f"both references computed {plural(agreement.compared, 'case')}, and agree in every bit")
    return 0


@command.command("copy", short_help="Copy the corpus, to change it.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
def copy(folder: Path) -> int:
    """Copy the corpus, cases and known defects, into the new or empty folder DIR, to change and to extend it.

    \b
    Examples:
      maxpool-check cases copy my-cases
      maxpool-check cases copy my-cases && maxpool-check run my-cases
    """
    from maxpool_check.corpus.collection import shipped_root

    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"'{folder}' is not empty; name a new folder")
    shutil.copytree(shipped_root(), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    options.echo(f"{plural(sum(1 for file in folder.rglob('*') if file.is_file()), 'file')} copied to {folder}")
    return 0


@command.command("lock", short_help="Write the digest of each case of a corpus.")
@click.option(
    "-o", "--output", type=options.FILE, required=True, metavar="FILE", help="Write the lock here; - is stdout."
)
@options.paths
def lock(paths: Sequence[Path], output: Path) -> int:
    """Write a lock of the corpus of PATH...: the digest of each case, and of the files of defects.

    PATH is by default the corpus that comes with the tool. With --corpus-lock FILE, run and gate refuse another corpus before
    anything is run.

    \b
    Examples:
      maxpool-check cases lock -o corpus-lock.json
      maxpool-check cases lock cases -o corpus-lock.json
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Output
    from maxpool_check.corpus.lock import lock_of
    from maxpool_check.files import STDOUT, open_text

    corpus = CaseFiles(paths).read()
    Output(reports=[("lock", output)]).check_writable([*corpus.files, *corpus.known_files])
    with open_text(output) as file:
        file.write(lock_of(corpus, maxpool_check.__version__).json())
    if output != STDOUT:
        defects = plural(len(corpus.known_files), "file of defects", "files of defects")
        options.echo(f"{plural(len(corpus.cases), 'case')} and {defects} of {corpus.name} locked in {output}")
    return 0


command.add_command(exchange.import_)
command.add_command(exchange.export)
