"""``maxpool-check generate``."""

from collections.abc import Callable
from pathlib import Path

import click

from maxpool_check.commands import options
from maxpool_check.commands import seeds as seed_options
from maxpool_check.commands.output import Output
from maxpool_check.corpus.context_generating import contexts_written
from maxpool_check.corpus.generating import written
from maxpool_check.files import open_text
from maxpool_check.results.record import ExitCode
from maxpool_check.running.pool import PoolLost


@click.command("generate")
@click.option(
    "--spec", type=options.DOCUMENT,
    help="The document, e.g. onnx-22; onnx-N is the MaxPool of operator set N.",
)  # fmt: skip
@click.option(
    "--contexts", is_flag=True,
    help="Not a document, but graphs of MaxPool and other nodes, in all operator sets of ONNX.",
)  # fmt: skip
@click.option(
    "--strength", type=click.IntRange(1, 3), default=2, metavar="N",
    help="How many factors are combined with each other: 1, 2 or 3.  [default: 2]",
)  # fmt: skip
@seed_options.option("Other cases; for a range of seeds, a file for each.  [default: 0]")
@click.option(
    "-o", "--output", type=options.FILE, metavar="FILE.yaml|DIR",
    help="Write them here, not to stdout; the files of a range of seeds to DIR.",
)  # fmt: skip
def command(
    spec: str | None, contexts: bool, strength: int, seeds: int | range, jobs: int, dask: str | None, output: Path | None
) -> int:  # fmt: skip
    """Write cases that cover the possible combinations of properties of a MaxPool.

    Ranks, sizes, attributes, element types and values are put in bins; every possible combination of the bins of N
    factors is in some case. With --contexts the factors are the graph around MaxPool, element type, values, attributes and
    operator set. The same arguments give the same bytes.

    A range of seeds is generated in -j processes: DIR/SPEC-strength-N-seed-N.yaml for each seed, with the same cases as
    for that seed alone.

    \b
    Examples:
      maxpool-check generate --spec onnx-22 -o cases/generated.yaml
      maxpool-check generate --spec sonnx --seed 1..8 -j 2 -o generated/
    """
    seed_options.check_divisible(seeds, jobs, dask)
    if contexts == (spec is not None):
        raise click.UsageError("give either --spec NAME or --contexts")
    if spec is None:
        if isinstance(seeds, range) or strength != 2:
            raise click.UsageError("--contexts covers pairs, and takes one seed")
        return _single(lambda: contexts_written(seeds), output)
    if isinstance(seeds, range):
        return _files(spec, strength, seeds, jobs, dask, output)
    return _single(lambda: written(spec, strength, seeds), output)


def _single(text: Callable[[], str], output: Path | None) -> int:
    if output is None:
        options.echo(text(), nl=False)
    else:
        Output(output=output).check_writable()
        _write(text(), output)
    return ExitCode.AS_EXPECTED


def _files(spec: str, strength: int, seeds: range, jobs: int, dask: str | None, folder: Path | None) -> int:
    """Write a file for each seed, in several processes."""
    if folder is None:
        raise click.UsageError("the files of a range of seeds need a folder: -o DIR")

    def path(seed: int) -> Path:
        return folder / f"{spec}-strength-{strength}-seed-{seed}.yaml"

    Output(output=path(seeds.start)).check_writable()
    with seed_options.pool(jobs, dask) as pool:
        done: list[int] = []
        try:
            texts = pool.results(written, ((spec, strength, seed) for seed in seeds))
            for seed, text in zip(seeds, texts, strict=True):
                _write(text, path(seed))
                done.append(seed)
        except PoolLost as lost:
            raise options.Incomplete(f"not written: {seed_options.remaining(seeds, done)}; {lost}") from lost
    return ExitCode.AS_EXPECTED


def _write(text: str, path: Path) -> None:
    with open_text(path) as file:
        file.write(text)
    options.echo(f"{text.count('  - id: ')} cases: {path}", err=True)
