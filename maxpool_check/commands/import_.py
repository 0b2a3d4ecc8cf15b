"""``maxpool-check import``."""

import errno
from dataclasses import replace
from pathlib import Path

import click

from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.output import Mistakes
from maxpool_check.corpus.case import Case, disagreements
from maxpool_check.corpus.collection import duplicates
from maxpool_check.corpus.importers import Suite, onnx_testdata, read_files, testgenonnx
from maxpool_check.corpus.writing import ForeignFile, write_suite
from maxpool_check.results.record import ExitCode
from maxpool_check.words import plural

_ABOUT = {
    "onnx-backend": "The MaxPool node tests of the onnx package.",
    "onnx-testdata": "Models of one MaxPool node, with the data that stands beside them.",
    "testgenonnx": "SONNX's generated tests of MaxPool.",
}
_NOTHING = "nothing was imported"


@click.command("import")
@click.argument("form", type=options.NearestChoice(_ABOUT), metavar="FORMAT")
@click.argument("source", type=click.Path(path_type=Path, exists=True), required=False, metavar="[SRC]")
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR",
    help="Write the case files here.",
)  # fmt: skip
@case_files.max_cells
def command(form: str, source: Path | None, folder: Path, max_cells: int) -> int:
    """Write the tests of another suite as case files below DIR.

    FORMAT is onnx-backend, the node tests of the installed onnx package, without SRC; onnx-testdata, where SRC is a
    folder with model.onnx and test_data_set_0, or a folder of such folders; or testgenonnx, where SRC is a folder of SONNX's
    generated JSON files.

    The printed outputs become the expectations of the cases. Disagreements with the reference are listed, and stated in
    the case's erratum. Tests that are left out are listed with the reason. Exits with 2, and writes nothing, if a file is broken or
    there is nothing to import.

    \b
    Examples:
      maxpool-check import onnx-backend -o cases/onnx
      maxpool-check import onnx-testdata tests/ -o cases/imported
    """
    suite = _read(form, source, max_cells)
    missing = suite.left_out
    if suite.broken or not suite.cases:
        raise Mistakes([*suite.broken, *missing] or [f"{source}: no tests of the format {form}"], _NOTHING)
    if repeated := list(duplicates(suite.cases)):
        raise Mistakes(repeated, _NOTHING)
    for problem in sorted(missing):
        case_files.left_out(problem)
    cases = [_with_erratum(case) for case in suite.cases]
    named = f" {source.resolve().name}" if source else ""
    try:
        with case_files.mistakes("the files cannot be used"):
            command_line = f"maxpool-check import {form}{named}"
            written = write_suite(cases, folder, _ABOUT[form], command_line, max_cells)
    except ForeignFile as error:
        raise click.UsageError(f"{error}; choose another folder") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise click.UsageError(f"cannot write to {folder}: {error.strerror}") from error
    for path, count in written.items():
        options.echo(f"{path}: {plural(count, 'case')}")
    disagree = sum(case.erratum is not None for case in cases)
    options.echo(f"{len(cases)} written, {len(missing)} left out, {disagree} disagree")
    return ExitCode.AS_EXPECTED


def _read(form: str, source: Path | None, cells: int) -> Suite:
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


def _with_erratum(case: Case) -> Case:
    """The case, with an erratum if the reference disagrees with its expectations, which is printed."""
    differences = disagreements(case)
    if not differences:
        return case
    for text in differences:
        options.echo(f"disagrees: {case.id} {text}", err=True)
    return replace(case, erratum=f"The reference for {case.specification.title} disagrees: {'; '.join(differences)}")
