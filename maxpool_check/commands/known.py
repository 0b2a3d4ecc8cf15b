"""``maxpool-check known``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options, records

if TYPE_CHECKING:
    from maxpool_check.judging.known import KnownDivergence


@click.group("known")
def command() -> None:
    """Write known divergences from a record, and check those there are."""


@command.command("add")
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--reason", required=True, metavar="TEXT", help="Why it diverges, in words.")
@click.option("--kind", metavar="KIND", help="Only what shows this kind.  [default: everything that is not known]")
@click.option(
    "--known", "file", type=click.Path(path_type=Path), metavar="FILE",
    help="Where to write.  [default: known-divergences.yaml at the root of the record's cases]",
)  # fmt: skip
def add(record: Path, reason: str, kind: str | None, file: Path | None) -> int:
    """Write the narrowest entries for what RECORD shows and no entry expects.

    Exact cases, exact kinds, the variants that show them, the version that was asked. Widen 'when' by hand, or with
    bisect --write-known, once you know since when and until when.
    """
    from maxpool_check.comparing.entries import entries_for
    from maxpool_check.corpus.known_file import append
    from maxpool_check.judging.kinds import DivergenceKind
    from maxpool_check.specifications.attributes import nearest

    names = [one.value for one in DivergenceKind]
    if kind is not None and kind not in names:
        raise click.UsageError(f"there is no kind '{kind}'{nearest(kind, names)}; there are {', '.join(names)}")
    if not reason.strip():
        raise click.UsageError("a reason is words")
    read = records.read(record)
    path = file or _beside(next((execution.origin for execution in read.executions), ""))
    known = _entries(path) if path.exists() else []
    found = entries_for(read, known, reason, kind)
    if not found:
        click.echo("nothing that is not known already")
        return 0
    append(path, found)
    for entry in found:
        kinds = ", ".join(sorted(one.value for one in entry.kinds))
        click.echo(
            f"{entry.id}: {kinds} of {len(entry.cases)} case{'s' if len(entry.cases) != 1 else ''}, {entry.when}"
        )
    click.echo(f"{len(found)} entries added to {path}; read them before you keep them")
    return 0


@command.command("check")
@options.paths
@click.option(
    "--record", "paths_of_records", multiple=True, type=click.Path(path_type=Path), metavar="RECORD",
    help="Name the entries that no execution of these records shows, too. Repeatable.",
)  # fmt: skip
@options.max_cells
def check(paths: tuple[Path, ...], paths_of_records: tuple[Path, ...], max_cells: int) -> int:
    """List the entries that are expired, that name no case, or that nothing shows.

    Exits with 1 if there are any.
    """
    from datetime import date

    from maxpool_check.comparing.entries import never_matching
    from maxpool_check.corpus.known_file import unmatched

    corpus = options.collect(paths, max_cells)
    read = [records.read(path) for path in paths_of_records]
    found, count = [], 0
    for file in corpus.known_files:
        entries = _entries(file)
        count += len(entries)
        found += [f"{file}: {one.id} expired on {one.expires}" for one in entries if one.expired(date.today())]
        if corpus.whole:
            found += [
                f"{problem}: orphaned" for problem in unmatched(entries, [case.id for case in corpus.cases], file)
            ]
        found += [f"{file}: {one.id} is shown by none of the records" for one in never_matching(entries, read)]
    for line in found:
        click.echo(line)
    click.echo(f"{count} entries, {len(found)} to look at")
    return 1 if found else 0


def _entries(file: Path) -> list[KnownDivergence]:
    from maxpool_check.corpus.known_file import read_known
    from maxpool_check.corpus.problems import CorpusError

    try:
        return read_known(file)
    except CorpusError as error:
        raise options.Mistakes(error.problems) from error


def _beside(origin: str) -> Path:
    """The file of known divergences of the corpus that a case comes from."""
    from maxpool_check.corpus.collection import KNOWN_NAME, root_of

    path = Path(origin.rpartition(":")[0])
    if not path.is_file():
        raise click.UsageError(f"the record's cases are not here ({path}); say where to write with --known")
    return root_of(path) / KNOWN_NAME
