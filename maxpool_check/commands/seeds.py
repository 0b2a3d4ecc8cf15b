"""The options of a search through a range of seeds, its processes, and seeds in words."""

import contextlib
import re
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import Any, TypeVar

import click

from maxpool_check.commands import old_options as options
from maxpool_check.running.pool import Pool, PoolLost, Resource, pool_of

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _seeds(text: str) -> int | range:
    match = re.fullmatch(r"([0-9]+)(?:\.\.([0-9]+))?", text)
    if match is None:
        raise ValueError(f"'{text}' is neither a seed, such as 7, nor an inclusive range of seeds, such as 0..7")
    first, last = match.groups()
    if last is None:
        return int(first)
    if int(last) < int(first):
        raise ValueError(f"'{text}' contains no seed; write {last}..{first}")
    return range(int(first), int(last) + 1)


def option(about: str) -> Callable[[_Command], _Command]:
    """``--seed``, ``-j`` and ``--dask``; ``about`` says what a seed is for."""
    jobs = click.option(
        "-j", "--jobs", type=options.COUNT, default=1, metavar="N",
        help="Processes for a range of seeds; each works on one seed at a time.  [default: 1]",
    )  # fmt: skip
    kind = options.Parsed("N|A..B", _seeds)
    seeds = click.option("--seed", "seeds", type=kind, default=0, metavar="N|A..B", help=about)
    return lambda command: seeds(jobs(options.dask(command)))


def check_divisible(seeds: int | range, jobs: int, dask: str | None) -> None:
    """Refuse several processes for one seed."""
    options.check_exclusive(jobs, dask)
    if isinstance(seeds, int) and (jobs > 1 or dask is not None):
        raise click.UsageError(
            f"-j and --dask divide a range of seeds, and --seed {seeds} is one; write for example {seeds}..{seeds + 3}"
        )


@contextlib.contextmanager
def pool(make: Callable[[], Resource], jobs: int, dask: str | None) -> Iterator[Pool]:
    """The processes. One that is lost, and that the command does not handle, is an error."""
    try:
        with pool_of(make, jobs, dask) as processes:
            yield processes
    except PoolLost as lost:
        raise options.Incomplete(str(lost)) from lost


def remaining(seeds: range, done: Collection[int]) -> str:
    """The seeds that are not done, in words; empty if all are."""
    edges = [seeds.start - 1, *sorted(done), seeds.stop]
    return words(*(range(before + 1, after) for before, after in pairwise(edges) if after - before > 1))


def words(*ranges: range) -> str:
    """Seeds in words: ``seed 7``, ``seeds 0..7``, ``seeds 0, 2..4``; empty without any."""
    spans = [f"{seeds.start}..{seeds.stop - 1}" if len(seeds) > 1 else str(seeds.start) for seeds in ranges]
    return f"seed{'s' if sum(map(len, ranges)) > 1 else ''} {', '.join(spans)}" if spans else ""
