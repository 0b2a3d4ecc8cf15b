"""Makes kits: ``python -m tests.kits SPEC MATRIX`` chooses the fewest vectors and writes ``maxpool_check/exporting/kits/``.

MATRIX is the file of what each case catches; it is measured first, in some minutes, if it does not exist. A kit that is published
keeps its bytes, so that another choice is another version.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import scipy
from msgspec.structs import replace
from scipy.optimize import Bounds, LinearConstraint, milp

from maxpool_check.evidence.kernels import DEATHS, WITH_MEMORY, WrongKernel, kernel_named, wrong_kernels
from maxpool_check.exporting.export import too_large
from maxpool_check.exporting.kit import IMAGES, MOST_CELLS, Kit, KitVector, is_image, kits, unfrozen_kit
from maxpool_check.exporting.kit_in_c import c_files
from maxpool_check.exporting.onnx_testdata import export_onnx_testdata
from maxpool_check.exporting.vectors import vector
from tests.conftest import CASES, ROOT, shipped
from tests.mutants.in_process import faults, is_excused, tasks
from tests.mutants.test_kill_matrix import measure

SMALL = 10_000
"""The most bytes of an image that is in a kit for the type of the image."""

Matrix = Mapping[str, list[str]]
"""The cases that catch each wrong kernel: the small ones, or the large ones if no small one does."""


def cases_of(spec):
    return {case.id: case for case in shipped().cases if case.spec == spec and case.context.is_alone}


def kernels_of(spec):
    return [kernel for kernel in wrong_kernels() if not kernel.specs or spec in kernel.specs]


def catching(kernel: WrongKernel, ids, variants=None) -> list[str]:
    """Which of some cases catch a kernel, in any variant, or in those that ``variants`` has of a case."""
    chosen = [task for task in tasks(kernel.specs) if task.case.id in ids]
    # One with a memory is called for each case anew: what it does must not depend on the cases before.
    found = (
        [each for task in chosen for each in faults(kernel, [task])]
        if kernel.module == WITH_MEMORY
        else faults(kernel, chosen)
    )
    counted = [(name, each) for name, each in found if variants is None or each in variants[name]]
    caught = {name for name, variant in counted if not is_excused(kernel, (name, variant))}
    return [name for name in ids if name in caught]


def measured(spec) -> Matrix:
    """What the cases of a document catch; large cases are tried where no small one catches a kernel."""
    cases = cases_of(spec)
    large = [name for name, case in cases.items() if too_large(case, MOST_CELLS)]
    small = [name for name in cases if name not in large]
    kernels = kernels_of(spec)
    deadly = measure([kernel for kernel in kernels if kernel.module == DEATHS], path=CASES / "refusals")
    matrix = {str(kernel): [name for name in ids if name in cases] for kernel, ids in deadly.items()}
    others = [kernel for kernel in kernels if kernel.module != DEATHS]
    return matrix | {str(kernel): catching(kernel, small) or catching(kernel, large) for kernel in others}


def size_of(case, is_large) -> int | None:
    """How many bytes a case has in the largest form, JSON, or a large one in C; None if C cannot hold it."""
    test = vector(case, 2**25)
    try:
        in_c = c_files("", case.spec, *([], [test]) if is_large else ([test], []))["maxpool_kit.c"]
    except ValueError:
        return None
    return len(in_c) if is_large else len(json.dumps(test, separators=(",", ":")))


def by_images(matrix: Matrix, cases, sizes) -> Matrix:
    """The same, and what small images of one type catch: a kernel may take nothing else."""
    rows = dict(matrix)
    for dtype in IMAGES:
        images = {name for name, size in sizes.items() if size and size <= SMALL and is_image(cases[name], dtype)}
        of_type = {f"{kernel} {dtype}": sorted(images.intersection(ids)) for kernel, ids in matrix.items()}
        rows |= {kernel: ids for kernel, ids in of_type.items() if ids}
    return rows


def solve(matrix: Matrix, costs: Mapping[str, float]) -> tuple[list[str], float]:
    """The fewest cases that catch every kernel which any of them catches, the cheapest of them; and how few are possible."""
    names = list(costs)
    rows = {tuple(name in killing for name in names) for killing in map(set, matrix.values())}
    caught = LinearConstraint(np.array(sorted(row for row in rows if any(row)), float), lb=1)
    one = np.ones(len(names))
    fewest = milp(one, integrality=one, bounds=Bounds(0, 1), constraints=caught)
    count = LinearConstraint(one, lb=round(fewest.fun), ub=round(fewest.fun))
    best = milp(np.array(list(costs.values())), integrality=one, bounds=Bounds(0, 1), constraints=[caught, count])
    return sorted(name for name, chosen in zip(names, best.x, strict=True) if chosen > 0.5), fewest.mip_dual_bound


def chosen_kit(spec, matrix: Matrix) -> Kit:
    """The kit of a document, without its digest."""
    cases = cases_of(spec)
    large = {name: size_of(case, True) for name, case in cases.items() if too_large(case, MOST_CELLS)}
    sizes = {name: size_of(case, False) for name, case in cases.items() if name not in large}
    in_onnx = export_onnx_testdata([cases[name] for name in sizes], MOST_CELLS).cases
    # Of two that catch the same, the one that models can hold too, unless it is much larger.
    costs = {name: size + 100 * (name not in in_onnx) for name, size in sizes.items() if size is not None}
    names, bound = solve(by_images(matrix, cases, sizes), costs)
    needs_large = {kernel: ids for kernel, ids in matrix.items() if ids and set(ids) <= large.keys()}
    # Rather of images, which most kernels take.
    in_a_loop = {name: size + 1000 * (cases[name].X.ndim != 4) for name, size in large.items() if size is not None}
    large_names = solve(needs_large, in_a_loop)[0] if in_a_loop and needs_large else []
    lost = [kernel for kernel, ids in matrix.items() if set(ids) - large.keys() and not set(ids) & set(names)]
    print(f"{spec}: {len(names)} vectors, no fewer than {bound:g}; {len(large_names)} large; not held: {lost}")
    earlier = kits().get(spec)
    number = int(earlier.name.rpartition("-")[2]) + 1 if earlier else 1
    assert not lost

    def vectors(chosen, kernels):
        return {
            name: KitVector(cases[name].sha256, tuple(sorted(kernel for kernel in kernels if name in matrix[kernel])))
            for name in chosen
        }

    kit = Kit(
        name=f"{spec}-{number}", document=spec, sha256="", bound=round(bound), solver=f"HiGHS, by scipy {scipy.__version__}",
        mistakes={str(kernel): kernel.sentence for kernel in kernels_of(spec)}, vectors=vectors(names, matrix),
        large=vectors(large_names, needs_large), not_in_onnx=(),
        missed=tuple(sorted(kernel for kernel, ids in matrix.items() if not {*names, *large_names}.intersection(ids))),
    )  # fmt: skip
    kit = replace(kit, not_in_onnx=tuple(sorted(not_caught_in_onnx(kit))))
    made = unfrozen_kit(kit, [cases[name] for name in kit.vectors], [cases[name] for name in kit.large])
    return replace(kit, sha256=hashlib.sha256(made.manifest()).hexdigest())


def not_caught_in_onnx(kit: Kit) -> list[str]:
    """The kernels that the vectors of a kit catch, but not the models with one answer that ONNX's form has of them."""
    cases = cases_of(kit.document)
    tests = export_onnx_testdata([cases[name] for name in kit.vectors], MOST_CELLS).cases
    variants = {name: about["tests"] for name, about in tests.items()}
    kernels = [kernel_named(name) for name in {kernel for each in kit.vectors.values() for kernel in each.catches}]
    return [str(each) for each in kernels if each.module == DEATHS or not catching(each, variants, variants)]


if __name__ == "__main__":
    spec, file = sys.argv[1], Path(sys.argv[2])
    if not file.exists():
        file.write_text(json.dumps(measured(spec)))
    kit = chosen_kit(spec, json.loads(file.read_text()))
    text = msgspec.json.format(msgspec.json.encode(kit), indent=0).replace(b"\n", b" ").replace(b"}, ", b"},\n")
    (ROOT / f"maxpool_check/exporting/kits/{kit.document}.json").write_bytes(text + b"\n")
