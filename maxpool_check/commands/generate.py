"""``maxpool-check generate``."""

from __future__ import annotations

from pathlib import Path

import click

from maxpool_check.commands import executing, options
from maxpool_check.commands import seeds as of_seeds


@click.command("generate")
@options.document(required=True)
@click.option(
    "--strength",
    type=click.IntRange(1, 3),
    default=2,
    metavar="N",
    help="How many factors are combined with each other: 1, 2 or 3.  [default: 2]",
)
@of_seeds.option("Other cases; for a range of seeds, a file for each.  [default: 0]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.yaml|DIR",
    help="Write them here, not to stdout; the files of a range of seeds to DIR.",
)  # fmt: skip
def command(spec: str, strength: int, seeds: int | range, jobs: int, dask: str | None, output: Path | None) -> int:
    """Write cases that cover what can be particular about a MaxPool.

    Ranks, sizes, attributes, element types and values are put in bins; every possible combination of the bins of N
    factors is in some case. The same arguments give the same bytes.

    A range of seeds is generated in other processes, -j of them at a time: DIR/SPEC-strength-N-seed-N.yaml for each, as it
    is for that seed alone.
    """
    from maxpool_check.corpus.generating import written

    of_seeds.check_divisible(seeds, jobs, dask)
    if isinstance(seeds, range):
        return _files(spec, strength, seeds, jobs, dask, output)
    if output is not None:
        options.check_writable([output])
    text = written(spec, strength, seeds)
    if output is None:
        click.echo(text, nl=False)
        return 0
    _write(text, output)
    return 0


def _files(spec: str, strength: int, seeds: range, jobs: int, dask: str | None, folder: Path | None) -> int:
    """A file for each seed, made in some process."""
    from maxpool_check.corpus.generating import written
    from maxpool_check.running.pool import PoolLost

    if folder is None:
        raise click.UsageError("the files of a range of seeds need a folder: -o DIR")

    def path(seed: int) -> Path:
        return folder / f"{spec}-strength-{strength}-seed-{seed}.yaml"

    options.check_writable([path(seeds.start)])
    with of_seeds.pool(jobs, dask) as pool:
        done: list[int] = []
        try:
            texts = pool.results(written, ((spec, strength, seed) for seed in seeds))
            for seed, text in zip(seeds, texts, strict=True):
                _write(text, path(seed))
                done.append(seed)
        except PoolLost as lost:
            raise executing.CannotExecute(f"not written: {of_seeds.remaining(seeds, done)}; {lost}") from lost
    return 0


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    click.echo(f"{text.count('  - id: ')} cases: {path}", err=True)
