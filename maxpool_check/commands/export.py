"""``maxpool-check export``."""

import errno
from pathlib import Path

import click

from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.output import Mistakes
from maxpool_check.corpus.tensors import MOST_CELLS as MOST_CELLS_OF_CASES
from maxpool_check.exporting.export import MANIFEST, MOST_CELLS, Export, NotFree, check_folder, write_export
from maxpool_check.exporting.onnx_testdata import export_onnx_testdata
from maxpool_check.exporting.vectors import export_vectors
from maxpool_check.results.record import ExitCode
from maxpool_check.words import plural

_FORMS = {"json": export_vectors, "onnx-testdata": export_onnx_testdata}


@click.command("export")
@click.argument("form", type=click.Choice(list(_FORMS)), metavar="FORMAT")
@case_files.selected
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR",
    help="Write the files here; an earlier export in this folder is replaced.",
)  # fmt: skip
@click.option(
    "--largest", type=options.COUNT, default=MOST_CELLS, metavar="N",
    help=f"Leave out cases whose X or Y has more cells; --max-cells refuses whole files.  [default: {MOST_CELLS}]",
)  # fmt: skip
def command(form: str, files: case_files.CaseFiles, folder: Path, largest: int) -> int:
    """Write cases in a form that other programs read, without Python.

    FORMAT is json, vectors with every output that is right ('maxpool-check schema vectors' has the form); or onnx-testdata,
    a folder with model.onnx and test_data_set_0 for each case, as in onnx's own tests.

    manifest.json has the digest of every file and case, and what is left out, with the reason. The same cases give the same
    bytes.

    \b
    Examples:
      maxpool-check export json cases/ -o vectors
      maxpool-check export onnx-testdata cases/edge -k 'edge/dilations:*' -o testdata
    """
    try:
        corpus = files.read()
    except Mistakes as error:
        if files.max_cells >= MOST_CELLS_OF_CASES:
            raise
        every = plural(len(error.problems), "problem")
        use = "to leave out large cases, use --largest in place of --max-cells"
        raise Mistakes([error.problems[0]], f"the first of {every}; {use}") from error
    cases = files.select(corpus)
    if not cases:
        return ExitCode.USAGE
    try:
        earlier = check_folder(folder, corpus.files)
    except NotFree as error:
        raise click.UsageError(str(error)) from error
    export = _FORMS[form](cases, largest)
    for reason, count in export.reasons.items():
        partly = f", and one test of {plural(count.partly, 'other')}" if count.partly else ""
        options.echo(f"left out, {reason}: {plural(count.whole, 'case')}{partly}", err=True)
    if not export.cases:
        raise click.UsageError("nothing was exported: the form holds none of the selected cases")
    try:
        write_export(export, folder, earlier)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise click.UsageError(f"cannot write to {folder}: {error.strerror}") from error
    _print(export, folder, len(cases), replaced=bool(earlier))
    return ExitCode.AS_EXPECTED


def _print(export: Export, folder: Path, selected: int, *, replaced: bool) -> None:
    written = f"{len(export.cases)} of {plural(selected, 'case')} in {plural(len(export.files), 'file')}"
    options.echo(f"{folder}: {written}{'; the earlier export was replaced' if replaced else ''}")
    options.echo(f"{folder / MANIFEST}: digests, and what is left out")
