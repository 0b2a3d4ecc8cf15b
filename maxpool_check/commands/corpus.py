"""``maxpool-check corpus``."""

import shutil
from collections import Counter
from pathlib import Path

import click

import maxpool_check
from maxpool_check import inert
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.old_output import Output
from maxpool_check.corpus.collection import NAME, PREFIX, shipped_root
from maxpool_check.corpus.lock import lock_of
from maxpool_check.files import STDOUT, open_text
from maxpool_check.results.record import ExitCode
from maxpool_check.words import plural


@click.group("corpus")
def command() -> None:
    """List or copy the corpus that comes with the tool; lock a corpus.

    Wherever a PATH of case files is expected, 'corpus' is all of it, and 'corpus:onnx' or 'corpus:contexts/pad' a part. A
    file or folder of your own that is called 'corpus' comes first; 'corpus:' is always the one that comes with the tool.

    \b
    Examples:
      maxpool-check run corpus:edge -t onnxruntime==1.31.1
      maxpool-check corpus copy my-cases
    """


@command.command("list", short_help="List its parts.")
@options.form()
def list_parts(form: str) -> int:
    """List the parts of the corpus, with the number of their cases.

    \b
    Examples:
      maxpool-check corpus list
      maxpool-check corpus list --format json
    """
    root = shipped_root()
    cases = case_files.CaseFiles([Path(NAME)]).read().cases
    counts = Counter(case.origin.path.removeprefix(PREFIX).partition("/")[0].removesuffix(".yaml") for case in cases)
    version = maxpool_check.__version__
    if form == "json":
        parts = [{"name": f"{PREFIX}{part}", "cases": count} for part, count in sorted(counts.items())]
        document = {"schema": "maxpool-check/corpus/1", "version": version, "folder": str(root), "parts": parts}
        options.echo(inert.dumps(document, indent=1))
        return ExitCode.AS_EXPECTED
    options.echo(f"Corpus of maxpool-check {version}: {plural(len(cases), 'case')} in {root}")
    for part, count in sorted(counts.items()):
        options.echo(f"  {PREFIX + part:<20}  {count:>5}")
    return ExitCode.AS_EXPECTED


@command.command("copy", short_help="Copy it, to change it.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
def copy(folder: Path) -> int:
    """Copy the corpus, cases and known defects, into the new or empty folder DIR, to change and to extend it.

    \b
    Examples:
      maxpool-check corpus copy my-cases
      maxpool-check corpus copy my-cases && maxpool-check run my-cases
    """
    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"'{folder}' is not empty; name a new folder")
    shutil.copytree(shipped_root(), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    options.echo(f"{plural(sum(1 for file in folder.rglob('*') if file.is_file()), 'file')} copied to {folder}")
    return ExitCode.AS_EXPECTED


@command.command("lock", short_help="Write the digest of each case of a corpus.")
@click.option(
    "-o", "--output", type=options.FILE, required=True, metavar="FILE", help="Write the lock here; - is stdout."
)
@case_files.every
def lock(files: case_files.CaseFiles, output: Path) -> int:
    """Write a lock of the corpus of PATH...: the digest of each case, and of the files of defects.

    PATH is by default the corpus that comes with the tool. With --corpus-lock FILE, run, gate and history refuse another
    corpus before anything is run.

    \b
    Examples:
      maxpool-check corpus lock -o corpus-lock.json
      maxpool-check corpus lock cases -o corpus-lock.json
    """
    corpus = files.read()
    Output(reports=[("lock", output)]).check_writable([*corpus.files, *corpus.known_files])
    with open_text(output) as file:
        file.write(lock_of(corpus, maxpool_check.__version__).json())
    if output != STDOUT:
        defects = plural(len(corpus.known_files), "file of defects", "files of defects")
        options.echo(f"{plural(len(corpus.cases), 'case')} and {defects} of {corpus.name} locked in {output}")
    return ExitCode.AS_EXPECTED
