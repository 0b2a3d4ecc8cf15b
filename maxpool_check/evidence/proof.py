"""The evaluator is the definition: the log of a comparison that is exhaustive where everything is small.

``python -m maxpool_check.evidence.proof -o FILE -j N`` makes it, ``make prove`` that of the package. It has five parts:

- values: every pattern of special values in windows of up to three cells, in every element type and interpretation of NaN;
- numbers: the index of every cell of small tensors in one to three dimensions, in every numbering;
- one dimension: every small axis, on the planes of :func:`~maxpool_check.evidence.small_geometries.planes`, in every
  interpretation of NaN;
- two dimensions: every pair of distinct tables, on such planes. Axes that have the same table take turns;
- tunings: every axis, and every tenth pair, in parts of some planes and of some windows, as the evaluator takes large tensors,
  tap by tap as short windows, and by doubling runs as long windows.

Activations are one program, which both references call; they are not compared here.
"""

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from importlib import resources
from importlib.metadata import version
from pathlib import Path

import msgspec

import maxpool_check
from maxpool_check.evidence import reference_comparison as comparison
from maxpool_check.evidence.reference_comparison import Counts, EvaluatorComparison, TunedComparison
from maxpool_check.evidence.small_geometries import BOUNDS, Bounds, Table, every_axis, tables

PROVED = ("definition", "dtypes", "evaluator", "geometry", "numbering", "policies", "pooling")
PROVING = ("reference_comparison", "small_geometries")


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The log of a comparison. ``sources`` are the digests of what was compared, and of what compared it.

    There are so many ``pairs`` of the ``tables`` that the ``axes`` within the bounds have; each is the geometry of several
    evaluations in ``two_dimensions``. ``families`` has a digest of all that the evaluator returned there, by the number of
    windows of the first axis.
    """

    schema: str = "maxpool-check/proof/1"
    sources: dict[str, str]
    libraries: dict[str, str]
    bounds: Bounds
    axes: int
    tables: int
    pairs: int
    counts: dict[str, Counts]
    mismatches: tuple[str, ...]
    families: dict[str, str]

    @property
    def total(self) -> Counts:
        """The counts of all parts."""
        return sum(self.counts.values(), Counts())


def sources() -> dict[str, str]:
    """The SHA-256 of the files of the reference and of this program."""
    files = resources.files(maxpool_check)
    names = [f"reference/{name}.py" for name in PROVED] + [f"evidence/{name}.py" for name in PROVING]
    return {name: hashlib.sha256(files.joinpath(name).read_bytes()).hexdigest() for name in names}


def shipped_proof() -> Proof:
    """The log that comes with the package."""
    return msgspec.json.decode(resources.files(__package__).joinpath("proof.json").read_bytes(), type=Proof)


def families(rows: Iterable[tuple[Table, str]]) -> dict[str, str]:
    """For the tables of as many windows, the digest of the digests of their rows, in order."""
    digests: dict[int, hashlib._Hash] = {}
    for table, digest in rows:
        digests.setdefault(len(table.windows), hashlib.sha256()).update(digest.encode())
    return {f"{windows} windows": digests[windows].hexdigest() for windows in sorted(digests)}


def _row(number: int, bounds: Bounds) -> tuple[str, Counts, Counts, list[str]]:
    """The table of that number as the first axis: the digest of all that the evaluator returned, counts, and mismatches."""
    compared, tuned, axes_of = EvaluatorComparison(), TunedComparison(), list(_tables(bounds).values())
    comparison.compare_row(compared, number, axes_of)
    tuned.row(number, axes_of)
    return compared.digest.hexdigest(), compared.counts, tuned.counts, compared.mismatches + tuned.mismatches


_tables = cache(tables)


def prove(bounds: Bounds, jobs: int, progress: Callable[[int, int], object]) -> Proof:
    """Compare everything within the bounds, in so many processes."""
    compared_sources, by_table, digests = sources(), _tables(bounds), []
    parts = {name: EvaluatorComparison() for name in ("values", "numbers", "one_dimension")}
    comparison.compare_values(parts["values"])
    comparison.compare_numbers(parts["numbers"])
    tuned = TunedComparison()
    for axis in every_axis(bounds):
        parts["one_dimension"].by_windows((axis,), comparison.ALL_SETTINGS)
        parts["one_dimension"].on_one_plane((axis,))
        tuned.axis(axis)
    counts = {name: part.counts for name, part in parts.items()} | {"two_dimensions": Counts(), "tunings": tuned.counts}
    mismatches = [mismatch for part in parts.values() for mismatch in part.mismatches] + tuned.mismatches
    with ProcessPoolExecutor(jobs) as pool:
        for digest, *both, found in pool.map(partial(_row, bounds=bounds), range(len(by_table))):
            digests.append(digest)
            counts["two_dimensions"] += both[0]
            counts["tunings"] += both[1]
            mismatches += found
            progress(len(digests), len(by_table))
    return Proof(
        sources=compared_sources,
        libraries={name: version(name) for name in ("numpy", "ml_dtypes")},
        bounds=bounds,
        axes=sum(map(len, by_table.values())),
        tables=len(by_table),
        pairs=len(by_table) ** 2,
        counts=counts,
        mismatches=tuple(mismatches[: comparison.MOST_MISMATCHES]),
        families=families(zip(by_table, digests, strict=True)),
    )


def main() -> int:
    """Write the log; 1 if there is a mismatch."""
    parser = argparse.ArgumentParser(prog="python -m maxpool_check.evidence.proof", description=prove.__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="where to write the log")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="processes")
    arguments = parser.parse_args()
    proof = prove(BOUNDS, arguments.jobs, lambda done, of: sys.stderr.write(f"{done} of {of} tables\r"))
    arguments.output.write_bytes(msgspec.json.format(msgspec.json.encode(proof), indent=1) + b"\n")
    sys.stderr.write(f"{proof.axes} axes, {proof.tables} tables, {proof.pairs} pairs; {proof.total}\n")
    return 1 if proof.total.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
