"""What kits notice of wrong kernels that they were not chosen for: ``python -m tests.kits.validation MUTANTS [DOCUMENT...]``.

MUTANTS is what :mod:`tests.kits.machine` writes. The number of vectors against the mutants that they notice goes to ``build/kits/``, from
where ``python -m tests.kits`` takes it into the pools. Each module of wrong kernels is left out once, too, and a kit chosen without it.
Only kernels that some case of the document's corpus notices count.
"""

import json
import sys
from pathlib import Path

from msgspec.structs import replace

from maxpool_check.exporting.kit import DRAWN, best_first
from tests.kits.__main__ import BUILD, DOCUMENTS, cases, vectors_of

NUMBERS = range(25, 201, 25)


def quarter(rows):
    """The quarter of the kernels that fewest cases notice, from pairs of a number of cases and anything."""
    return sorted(rows, key=lambda row: row[0])[: len(rows) // 4]


def curve(spec, kit, mutants):
    """How many mutants the first vectors notice, and how many of the quarter that fewest cases notice."""
    of_corpus = {name for name in cases(spec) if not name.startswith(DRAWN)}
    rows = [(len(found), found) for mutant in mutants if (found := of_corpus.intersection(mutant["cases"]))]
    points = []
    for number in NUMBERS:
        chosen = {vector.id for vector in kit[:number]}
        counts = [sum(bool(found & chosen) for _, found in each) for each in (rows, quarter(rows))]
        points.append((min(number, len(kit)), *counts))
    return {"strangers": len(rows), "curve": sorted(set(points))}


def without(vector, module):
    """A vector whose mistakes of a module nobody knows."""
    by_y, with_indices = (
        tuple(name for name in names if name.partition(":")[0] != module)
        for names in (vector.by_y, vector.with_indices)
    )
    return replace(vector, by_y=by_y, with_indices=with_indices)


def left_out(spec, vectors, by_kernel):
    """For each kernel how many cases notice it, and whether a kit notices it that is chosen without its module."""
    for module in sorted({name.partition(":")[0] for name in by_kernel}):
        known = [without(each, module) for each in vectors]
        chosen = {known[at].id for at in best_first(known)}
        for name, found in by_kernel.items():
            ids = {each for each in found if not each.startswith(DRAWN)}
            if name.partition(":")[0] == module and ids:
                yield len(ids), bool(ids & chosen), name


def main(path, specs):
    mutants = json.loads(path.read_text())
    for spec in specs:
        by_kernel = json.loads((BUILD / f"{spec}.json").read_text())
        vectors = [each for each in vectors_of(spec, by_kernel) if not each.id.startswith(DRAWN)]
        kit = [vectors[at] for at in best_first(vectors)]
        measured = curve(spec, kit, mutants)
        (BUILD / f"{spec}-curve.json").write_text(json.dumps(measured))
        rows = list(left_out(spec, vectors, by_kernel))
        hard = quarter(rows)
        print(
            f"{spec}: mutants {measured['curve'][-1][1]} of {measured['strangers']}, of the quarter {measured['curve'][-1][2]} of "
            f"{measured['strangers'] // 4}; modules left out {sum(row[1] for row in rows)} of {len(rows)}, of the quarter "
            f"{sum(row[1] for row in hard)} of {len(hard)}; curve {measured['curve']}"
        )
        print("   missed:", ", ".join(row[2] for row in rows if not row[1]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or DOCUMENTS)
