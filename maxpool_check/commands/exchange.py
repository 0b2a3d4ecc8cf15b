"""``maxpool-check cases import`` and ``cases export``."""

import contextlib
import errno
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.importers import Suite

_SUITES = {
    "onnx-backend": "The MaxPool node tests of the onnx package.",
    "onnx-testdata": "Models of one MaxPool node, with the data that stands beside them.",
    "testgenonnx": "SONNX's generated tests of MaxPool.",
}
_NOTHING = "nothing was imported"


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn what the user can correct about a folder into an error of usage; a full disk is none."""
    from maxpool_check.corpus.writing import ForeignFile
    from maxpool_check.exporting.export import NotFree

    try:
        yield
    except (ForeignFile, NotFree) as error:
        another = "; choose another folder" if isinstance(error, ForeignFile) else ""
        raise click.UsageError(f"{error}{another}") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise click.UsageError(f"cannot write to {folder}: {error.strerror}") from error


@click.command("import", short_help="Write the tests of other suites as case files.")
@click.argument("form", type=click.Choice(list(_SUITES)), metavar="FORMAT")
@click.argument("source", type=click.Path(path_type=Path, exists=True), required=False, metavar="[SRC]")
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR",
    help="Write the case files here.",
)  # fmt: skip
def import_(form: str, source: Path | None, folder: Path) -> int:
    """Write the tests of another suite as case files below DIR.

    FORMAT is onnx-backend, the node tests of the installed onnx package, without SRC; onnx-testdata, where SRC is a
    folder with model.onnx and test_data_set_0, or a folder of such folders; or testgenonnx, where SRC is a folder of SONNX's
    generated JSON files.

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
    from maxpool_check.corpus.collection import duplicates
    from maxpool_check.corpus.writing import write_suite

    max_cells = options.setting("max_cells")
    suite = _read(form, source, max_cells)
    if suite.broken or not suite.cases:
        raise Mistakes([*suite.broken, *suite.left_out] or [f"{source}: no tests of the format {form}"], _NOTHING)
    if repeated := list(duplicates(suite.cases)):
        raise Mistakes(repeated, _NOTHING)
    for problem in sorted(suite.left_out):
        options.echo(f"left out: {problem.path}: {problem.message}", err=True)
    cases = [_with_erratum(case) for case in suite.cases]
    command_line = f"maxpool-check cases import {form}{f' {source.resolve().name}' if source else ''}"
    with _writing(folder), case_files.mistakes("the files cannot be used"):
        written = write_suite(cases, folder, _SUITES[form], command_line, max_cells)
    for path, count in written.items():
        options.echo(f"{path}: {plural(count, 'case')}")
    disagree = sum(case.erratum is not None for case in cases)
    options.echo(f"{len(cases)} written, {len(suite.left_out)} left out, {disagree} disagree")
    return 0


def _read(form: str, source: Path | None, cells: int) -> "Suite":
    from maxpool_check.corpus.importers import onnx_testdata, read_files, testgenonnx

    if form == onnx_testdata.PACKAGE_NAME:
        if source is not None:
            raise click.UsageError(f"{form} takes no SRC; its tests come with the installed onnx package")
        return onnx_testdata.read_package(cells)
    if source is None:
        raise click.UsageError(f"{form} needs SRC, the folder to import")
    root = source if source.is_dir() else source.parent
    suite = {module.NAME: module for module in (onnx_testdata, testgenonnx)}[form]
    files = sorted(source.rglob(suite.PATTERN)) if source.is_dir() else [source]
    return read_files(files, lambda file: suite.read(file, root, cells))


def _with_erratum(case: "Case") -> "Case":
    """The case, with an erratum if the reference disagrees with its expectations, which is printed."""
    from maxpool_check.corpus.case import disagreements

    differences = disagreements(case)
    for text in differences:
        options.echo(f"disagrees: {case.id} {text}", err=True)
    erratum = f"The reference for {case.specification.title} disagrees: {'; '.join(differences)}"
    return replace(case, erratum=erratum) if differences else case


@click.command("export", short_help="Write cases in a form that other programs read.")
@click.argument("form", type=click.Choice(["json", "onnx-testdata"]), metavar="FORMAT")
@options.paths
@options.selected
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR",
    help="Write the files here; an earlier export in this folder is replaced.",
)  # fmt: skip
@click.option(
    "--largest", type=options.COUNT, metavar="N",
    help="Leave out cases whose X or Y has more cells.  [default: 131072]",
)  # fmt: skip
def export(form: str, paths: Sequence[Path], selected: tuple[str, ...], folder: Path, largest: int | None) -> int:
    """Write cases in a form that other programs read, without Python.

    FORMAT is json, vectors with every output that is right ('maxpool-check docs schema-vectors' has the form); or onnx-testdata,
    a folder with model.onnx and test_data_set_0 for each case, as in onnx's own tests.

    manifest.json has the digest of every file and case, and what is left out, with the reason. The same cases give the same
    bytes.

    \b
    Examples:
      maxpool-check cases export json cases/ -o vectors
      maxpool-check cases export onnx-testdata cases/edge -k 'edge/dilations:*' -o testdata
    """
    from maxpool_check.commands.case_files import CaseFiles
    from maxpool_check.exporting.export import MANIFEST, MOST_CELLS, check_folder, write_export
    from maxpool_check.exporting.onnx_testdata import export_onnx_testdata
    from maxpool_check.exporting.vectors import export_vectors

    files = CaseFiles(paths, selected)
    corpus = files.read()
    cases = files.select(corpus)
    with _writing(folder):
        earlier = check_folder(folder, corpus.files)
    exported = (export_vectors if form == "json" else export_onnx_testdata)(cases, largest or MOST_CELLS)
    for reason, (whole, partly) in exported.reasons.items():
        others = f", and one test of {plural(partly, 'other')}" if partly else ""
        options.echo(f"left out, {reason}: {plural(whole, 'case')}{others}", err=True)
    if not exported.cases:
        raise click.UsageError("nothing was exported: the form holds none of the selected cases")
    with _writing(folder):
        write_export(exported, folder, earlier)
    written = f"{len(exported.cases)} of {plural(len(cases), 'case')} in {plural(len(exported.files), 'file')}"
    options.echo(f"{folder}: {written}{'; the earlier export was replaced' if earlier else ''}")
    options.echo(f"{folder / MANIFEST}: digests, and what is left out")
    return 0
