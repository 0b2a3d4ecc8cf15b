"""``maxpool-check cases``: list, lint and copy cases; import those of other suites, and export cases."""

import contextlib
import errno
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

import maxpool_check
from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.importers import Suite
    from maxpool_check.judging.defects import Defect


_SUITES = {
    "onnx-backend": "The MaxPool node tests of the onnx package.",
    "onnx-testdata": "Models of one MaxPool node, with the data that stands beside them.",
    "testgenonnx": "SONNX's generated tests of MaxPool.",
    "specloop": "Mismatches in a report of SONNX's own loop.",
}
_NOTHING = "nothing was imported"


@click.group("cases", cls=options.Group)
def command() -> None:
    """List, lint and copy cases; import those of other suites, and export cases for other programs.

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
@options.as_json
def list_(paths: Sequence[Path], selected: tuple[str, ...], as_json: bool) -> int:
    """List the cases, one line each: id, document, X and the operators that it flows through, title.

    Without a PATH and a selection, the parts of the corpus that comes with the tool are listed, with the number of their cases.

    \b
    Examples:
      maxpool-check cases list
      maxpool-check cases list cases/ -k tag:neg-inf
    """
    from maxpool_check.commands.case_files import CaseFiles

    files = CaseFiles(paths, selected)
    corpus = files.read()
    if click.get_current_context().get_parameter_source("paths") is ParameterSource.DEFAULT and not selected:
        return _list_parts(corpus.cases, as_json)
    cases = files.select(corpus)
    if as_json:
        options.dump("list", {"cases": [*map(_data, cases)]})
        return 0
    for case in cases:
        flow = f" {' > '.join(case.context.operators)}" if case.context and case.context.has_nodes else ""
        X = f"{case.X.dtype.name}{list(case.X.shape)}{flow}"
        options.echo(inert.line(f"{case.id:48}  {case.spec:8}  {X:24}  {case.title}"))
    return 0


def _list_parts(cases: "Collection[Case]", as_json: bool) -> int:
    from maxpool_check.corpus.collection import PREFIX, kits, shipped_root
    from maxpool_check.reporting.blocks import Table

    root, version = shipped_root(), maxpool_check.__version__
    counts = Counter(case.origin.path.removeprefix(PREFIX).partition("/")[0].removesuffix(".yaml") for case in cases)
    counts |= {kit.removeprefix(PREFIX): len(ids) for kit, ids in kits().items()}
    if as_json:
        parts = [{"name": f"{PREFIX}{part}", "cases": count} for part, count in sorted(counts.items())]
        options.dump("corpus", {"version": version, "folder": str(root), "parts": parts})
        return 0
    options.echo(f"Corpus of maxpool-check {version}: {plural(len(cases), 'case')} in {root}")
    options.show([Table(["", ""], [(f"{PREFIX}{part}", str(counts[part])) for part in sorted(counts)], frozenset([1]))])
    options.echo(
        "corpus:kit: of the cases above, those that notice most wrong kernels; without a document's name of onnx-22"
    )
    options.echo("maxpool-check cases list PATH lists the cases of one; of all, PATH is 'corpus'")
    return 0


def _data(case: "Case") -> dict[str, object]:
    """A case as a member of a JSON document."""
    from maxpool_check.graphs.context import json_data

    return {
        **{name: getattr(case, name) for name in ("id", "title", "spec", "tags", "covers")},
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
@options.paths
def lint(paths: Sequence[Path]) -> int:
    """Check case files and defects against the reference.

    The reference must reproduce every expectation, unless an erratum explains the difference.

    \b
    Examples:
      maxpool-check cases lint cases/
      maxpool-check cases lint corpus:sonnx
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.commands.output import Mistakes
    from maxpool_check.corpus.case import disagreements
    from maxpool_check.corpus.defect_file import read_all_defects, unmatched, unmet_conditions
    from maxpool_check.corpus.problems import CorpusError

    corpus, problems = CaseFiles(paths).read(check=True), list[object]()
    defects, ids = list["Defect"](), {case.id for case in corpus.cases}
    try:
        defects = read_all_defects(corpus.known_files)
    except CorpusError as error:
        problems.extend(error.problems)
    for file in corpus.known_files if corpus.whole and not problems else ():
        problems.extend(unmatched(file, ids))
        problems.extend(unmet_conditions(file, defects, corpus.cases))
    if problems:
        raise Mistakes(problems)
    errata = 0
    for case in corpus.cases:
        if case.erratum and (text := "; ".join(disagreements(case))):
            errata += 1
            options.echo(f"{case.origin.path}:{case.origin.line}: {case.id} {text} (erratum)")
    files_of_cases = len({case.origin.path for case in corpus.cases})
    options.echo(
        f"{plural(len(corpus.cases), 'case')} in {plural(files_of_cases, 'file')}, {plural(len(defects), 'defect')}: "
        f"no problems, {plural(errata, 'erratum', 'errata')}"
    )
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


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn what the user can correct about a folder into an error of usage; a full disk is none."""
    from maxpool_check.corpus.writing import ForeignFile
    from maxpool_check.exporting.export import NotFree

    try:
        yield
    except (ForeignFile, NotFree) as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise click.UsageError(f"cannot write to {folder}: {error.strerror}") from error


@command.command("import", short_help="Write the tests of other suites as case files.")
@click.argument("form", type=click.Choice(list(_SUITES)), metavar="FORMAT")
@click.argument("source", type=click.Path(path_type=Path, exists=True), required=False, metavar="[SRC]")
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR",
    help="Write the case files here.",
)  # fmt: skip
def import_(form: str, source: Path | None, folder: Path) -> int:
    """Write the tests of another suite as case files below DIR.

    FORMAT is onnx-backend, the node tests of the installed onnx package, without SRC; onnx-testdata, where SRC is a
    folder with model.onnx and test_data_set_0, or a folder of such folders; testgenonnx, where SRC is a folder of SONNX's
    generated JSON files; or specloop, where SRC is a report of SONNX's own loop. Of the mismatches between an implementation and
    ONNX Runtime in it, a table says whose fault each is.

    The printed outputs become the expectations of the cases. Disagreements with the reference are listed, and stated in
    the case's erratum. Tests that are left out are listed with the reason. Exits with 2, and writes nothing, if a file is broken or
    there is nothing to import.

    \b
    Examples:
      maxpool-check cases import onnx-backend -o cases/onnx
      maxpool-check cases import onnx-testdata tests/ -o cases/imported
    """
    from maxpool_check.commands import case_files
    from maxpool_check.commands.output import Mistakes
    from maxpool_check.corpus.case import disagreements
    from maxpool_check.corpus.collection import duplicates
    from maxpool_check.corpus.importers import specloop
    from maxpool_check.corpus.writing import write_suite
    from maxpool_check.explaining.adjudication import adjudicated

    max_cells = options.setting("max_cells")
    suite = _read(form, source, max_cells)
    if suite.broken or not suite.cases:
        raise Mistakes([*suite.broken, *suite.left_out] or [f"{source}: no tests of the format {form}"], _NOTHING)
    if repeated := list(duplicates(suite.cases)):
        raise Mistakes(repeated, _NOTHING)
    for problem in sorted(suite.left_out):
        options.echo(f"left out: {problem.path}: {problem.message}", err=True)
    cases = []
    for case in suite.cases:
        differences = disagreements(case)
        for text in differences:
            options.echo(f"disagrees: {case.id} {text}", err=True)
        erratum = f"The reference for {case.specification.title} disagrees: {'; '.join(differences)}"
        cases.append(replace(case, erratum=erratum) if differences else case)
    command_line = f"maxpool-check cases import {form}{f' {source.resolve().name}' if source else ''}"
    with _writing(folder), case_files.mistakes("the files cannot be used"):
        written = write_suite(cases, folder, _SUITES[form], command_line, max_cells)
    for path, count in written.items():
        options.echo(f"{path}: {plural(count, 'case')}")
    if form == specloop.NAME:
        options.show(adjudicated(cases, case_files.all_defects(None)[0]))
    disagree = sum(case.erratum is not None for case in cases)
    options.echo(f"{len(cases)} written, {len(suite.left_out)} left out, {disagree} disagree")
    return 0


def _read(form: str, source: Path | None, cells: int) -> "Suite":
    from maxpool_check.corpus.importers import onnx_testdata, read_files, specloop, testgenonnx

    if form == onnx_testdata.PACKAGE_NAME:
        if source is not None:
            raise click.UsageError(f"{form} takes no SRC; its tests come with the installed onnx package")
        return onnx_testdata.read_package(cells)
    if source is None:
        raise click.UsageError(f"{form} needs SRC, the folder to import")
    root = source if source.is_dir() else source.parent
    suite = {module.NAME: module for module in (onnx_testdata, testgenonnx, specloop)}[form]
    files = sorted(source.rglob(suite.PATTERN)) if source.is_dir() else [source]
    if suite is specloop:
        return read_files(files, lambda file: specloop.read(file, root, cells, _vector))
    return read_files(files, lambda file: suite.read(file, root, cells))


def _vector(name: str) -> "Case | None":
    """The case of the corpus of an id, of which a kit has a vector; None if there is none."""
    from maxpool_check.corpus.collection import PREFIX, collect
    from maxpool_check.corpus.problems import CorpusError

    group, colon, _ = name.partition(":")
    try:
        cases = collect([Path(f"{PREFIX}{group}")]).cases if group and colon else ()
    except CorpusError:
        return None
    return next((case for case in cases if case.id == name), None)


@command.command("export", short_help="Write cases in a form that other programs read.")
@click.argument("form", type=click.Choice(["kit", "json", "onnx-testdata"]), metavar="FORMAT")
@options.paths
@options.selected
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR",
    help="Write the files here; an earlier export in this folder is replaced.",
)  # fmt: skip
@click.option("--spec", metavar="DOCUMENT", help="The document of a kit.  [default: onnx-22]")
@click.option(
    "--dtype", "dtypes", multiple=True, callback=options.words, metavar="DTYPES", help="A kit for these dtypes."
)
@click.option(
    "--axes", multiple=True, callback=options.words, metavar="NUMBERS", help="A kit for these numbers of spatial axes."
)
@click.option(
    "--without", multiple=True, callback=options.words, metavar="WORDS",
    help="A kit for a kernel that lacks these, such as indices,dilations; a wrong word lists all.",
)  # fmt: skip
def export(
    form: str, paths: Sequence[Path], selected: tuple[str, ...], folder: Path, spec: str | None, dtypes: tuple[str, ...],
    axes: tuple[str, ...], without: tuple[str, ...],
) -> int:  # fmt: skip
    """Write cases in a form that other programs read, without Python.

    FORMAT is kit, vectors of a document that notice wrong kernels, in C, JSON, ONNX's form and as tests of GoogleTest, Rust and
    pytest; json, vectors with every output that is right ('maxpool-check docs schema-vectors' has the form); or onnx-testdata,
    a folder with model.onnx and test_data_set_0 for each case, as in onnx's own tests.

    A kit is frozen; with --dtype, --axes and --without, other vectors are chosen from a larger set, for a kernel that has less than
    the document. Several words are separated by commas.

    manifest.json has the digest of every file and case, and what is left out, with the reason. The same cases give the same
    bytes.

    \b
    Examples:
      maxpool-check cases export kit --dtype int8 --axes 2 --without indices,dilations -o kit
      maxpool-check cases export onnx-testdata cases/edge -k 'edge/dilations:*' -o testdata
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.exporting.export import MANIFEST, MOST_CELLS, check_folder, write_export
    from maxpool_check.exporting.kit import kit_of
    from maxpool_check.exporting.kit_export import export_kit
    from maxpool_check.exporting.onnx_testdata import export_onnx_testdata
    from maxpool_check.exporting.vectors import export_vectors

    is_kit = form == "kit"
    if is_kit and (options.is_given("paths") or selected):
        raise click.UsageError(
            "a kit takes no PATH and no -k: --spec names its document, and --dtype, --axes and --without the kernel"
        )
    if not is_kit and (spec is not None or dtypes or axes or without):
        raise click.UsageError(
            "--spec, --dtype, --axes and --without are for a kit; -k selects cases, such as 'dtype:int8'"
        )
    if is_kit:
        with _writing(folder), options.raising((LookupError, ValueError)):
            kit = kit_of(spec or "onnx-22")
            kernel = kit.kernel(dtypes, axes, without)
            earlier = check_folder(folder, ())
            exported = export_kit(kit, kernel)
        described = plural(len(exported.cases), "vector")
    else:
        files = CaseFiles(paths, selected)
        corpus = files.read()
        cases = files.select(corpus)
        with _writing(folder):
            earlier = check_folder(folder, corpus.files)
            exported = (export_vectors if form == "json" else export_onnx_testdata)(cases, MOST_CELLS)
        for reason, (whole, partly) in exported.reasons.items():
            others = f", and one test of {plural(partly, 'other')}" if partly else ""
            options.echo(f"left out, {reason}: {plural(whole, 'case')}{others}", err=True)
        if not exported.cases:
            raise click.UsageError("nothing was exported: the form holds none of the selected cases")
        described = f"{len(exported.cases)} of {plural(len(cases), 'case')}"
    with _writing(folder):
        write_export(exported, folder, earlier)
    written = f"{described} in {plural(len(exported.files), 'file')}"
    options.echo(f"{folder}: {written}{'; the earlier export was replaced' if earlier else ''}")
    options.echo(f"{folder / MANIFEST}: digests, and what is left out")
    return 0
