"""``maxpool-check lint``."""

from __future__ import annotations

from pathlib import Path

import click

from maxpool_check.commands import options


@click.command("lint")
@options.paths
@options.max_cells
def command(paths: tuple[Path, ...], max_cells: int) -> int:
    """Check case files and known divergences against the reference.

    The reference must reproduce every expectation, unless an erratum says why not.
    """
    from maxpool_check.corpus.expectations import contradictions, disagreements
    from maxpool_check.corpus.known_file import read_known, unmatched
    from maxpool_check.corpus.problems import CorpusError

    problems: list[object] = []
    entries = 0
    corpus = options.collect(paths, max_cells)
    for case in corpus.cases:
        problems.extend(contradictions(case))
    for file in corpus.known_files:
        try:
            known = read_known(file)
        except CorpusError as error:
            problems.extend(error.problems)
            continue
        entries += len(known)
        if corpus.whole:
            problems.extend(unmatched(known, [case.id for case in corpus.cases], file))
    if problems:
        raise options.Mistakes(problems)
    errata = [case for case in corpus.cases if case.erratum and disagreements(case)]
    for case in errata:
        click.echo(f"{case.origin.path}:{case.origin.line}: {case.id} {'; '.join(disagreements(case))} (erratum)")
    files = len({case.origin.path for case in corpus.cases})
    click.echo(
        f"{len(corpus.cases)} cases in {files} file{'s' if files != 1 else ''}, {entries} known divergences: "
        f"nothing to mend, {len(errata)} errat{'um' if len(errata) == 1 else 'a'}"
    )
    return 0
