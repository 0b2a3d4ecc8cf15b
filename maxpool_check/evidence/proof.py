"""The evaluator is the definition: the log of a comparison that is exhaustive where everything is small.

``python -m maxpool_check.evidence.proof -o FILE -j N`` makes it, ``make prove`` that of the package. It has five parts:

- values: every pattern of special values in windows of up to three cells, in every element type and interpretation of NaN;
- numbers: the index of every cell of small tensors in one to three dimensions, in every numbering;
- one dimension: every small axis, on the planes of :func:`~maxpool_check.evidence.small_geometries.planes`, in every
  interpretation of NaN;
- two dimensions: every pair of distinct tables, on such planes. Axes that have the same table take turns;
- tunings: every axis, and every tenth pair, in parts of some planes and of some windows, as the evaluator takes large tensors.

Activations are one program, which both references call; they are not compared here.
"""

import argparse
import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from importlib import resources
from importlib.metadata import version
from pathlib import Path

import msgspec

import maxpool_check
from maxpool_check.evidence.reference_comparison import (
    ALL_SETTINGS,
    MOST_MISMATCHES,
    Counts,
    EvaluatorComparison,
    TunedComparison,
    compare_numbers,
    compare_row,
    compare_values,
)
from maxpool_check.evidence.small_geometries import BOUNDS, Bounds, Table, every_axis, tables
from maxpool_check.reference.geometry import Axis

SCHEMA = "maxpool-check/proof/1"

PROVED = ("definition", "dtypes", "evaluator", "geometry", "numbering", "policies", "pooling")
PROVING = ("proof", "reference_comparison", "small_geometries")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One table as the first axis, with every table as the second; ``axes`` is how many axes have it.

    ``sha256`` is the digest of all that the evaluator returned.
    """

    table: Table
    axes: int
    sha256: str


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The log of a comparison. ``sources`` are the digests of what was compared, and of the programs that compared it.

    There are so many ``pairs`` of the ``tables`` that the ``axes`` within the bounds have; each is the geometry of several
    evaluations in ``two_dimensions``.
    """

    schema: str = SCHEMA
    sources: dict[str, str]
    libraries: dict[str, str]
    bounds: Bounds
    axes: int
    tables: int
    pairs: int
    values: Counts
    numbers: Counts
    one_dimension: Counts
    two_dimensions: Counts
    tunings: Counts = Counts()
    mismatches: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def total(self) -> Counts:
        """The counts of all parts."""
        return self.values + self.numbers + self.one_dimension + self.two_dimensions + self.tunings

    def encode(self) -> bytes:
        """The log as JSON; equal logs have equal bytes."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def sources() -> dict[str, str]:
    """The SHA-256 of the files of the reference and of this program."""
    files = resources.files(maxpool_check)
    names = [f"reference/{name}.py" for name in PROVED] + [f"evidence/{name}.py" for name in PROVING]
    return {name: hashlib.sha256(files.joinpath(name).read_bytes()).hexdigest() for name in names}


def shipped_proof() -> Proof:
    """The log that comes with the package."""
    return msgspec.json.decode(resources.files(__package__).joinpath("proof.json").read_bytes(), type=Proof)


def _row(number: int, bounds: Bounds) -> tuple[str, Counts, Counts, list[str]]:
    compared, tuned = EvaluatorComparison(), TunedComparison()
    axes_of = list(_tables(bounds).values())
    compare_row(compared, number, axes_of)
    tuned.row(number, axes_of)
    return compared.digest.hexdigest(), compared.counts, tuned.counts, compared.mismatches + tuned.mismatches


@cache
def _tables(bounds: Bounds) -> Mapping[Table, Sequence[Axis]]:
    return tables(bounds)


def prove(bounds: Bounds, jobs: int = 1, progress: Callable[[int, int], None] | None = None) -> Proof:
    """Compare everything within the bounds, in so many processes."""
    compared_sources = sources()
    parts = [EvaluatorComparison() for _ in range(3)]
    values, numbers, one_dimension = parts
    tuned = TunedComparison()
    compare_values(values)
    compare_numbers(numbers)
    for axis in every_axis(bounds):
        one_dimension.by_windows((axis,), ALL_SETTINGS)
        one_dimension.on_one_plane((axis,))
        tuned.axis(axis)
    mismatches = [mismatch for part in parts for mismatch in part.mismatches] + tuned.mismatches
    two_dimensions, tunings, rows = Counts(), tuned.counts, []
    by_table = _tables(bounds)
    with ProcessPoolExecutor(jobs) as pool:
        results = pool.map(partial(_row, bounds=bounds), range(len(by_table)))
        for (table_, axes), (digest, counts, tuned_counts, found) in zip(by_table.items(), results, strict=True):
            rows.append(Row(table=table_, axes=len(axes), sha256=digest))
            two_dimensions += counts
            tunings += tuned_counts
            mismatches += found
            if progress is not None:
                progress(len(rows), len(by_table))
    return Proof(
        sources=compared_sources, libraries={name: version(name) for name in ("numpy", "ml_dtypes")}, bounds=bounds,
        axes=sum(map(len, by_table.values())), tables=len(by_table), pairs=len(by_table) ** 2,
        values=values.counts, numbers=numbers.counts, one_dimension=one_dimension.counts,
        two_dimensions=two_dimensions, tunings=tunings, mismatches=tuple(mismatches[:MOST_MISMATCHES]), rows=tuple(rows),
    )  # fmt: skip


def main() -> int:
    """Write the log."""
    parser = argparse.ArgumentParser(prog="python -m maxpool_check.evidence.proof", description=prove.__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="where to write the log")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="processes")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error("-j: at least one process")
    if not arguments.output.parent.is_dir():
        parser.error(f"-o: there is no folder {arguments.output.parent}")

    def progress(done: int, of: int) -> None:
        if done % max(1, of // 50) == 0:
            sys.stderr.write(f"{done} of {of} tables\n")

    proof = prove(BOUNDS, arguments.jobs, progress)
    arguments.output.write_bytes(proof.encode())
    total = proof.total
    sys.stderr.write(
        f"{proof.axes} axes, {proof.tables} tables, {proof.pairs} pairs; "
        f"{total.evaluations} evaluations, {total.cells} cells, {total.mismatches} mismatches\n"
    )
    return 1 if total.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
