"""Measure what cases notice, choose, and write the pools: ``python -m tests.kits [DOCUMENT...]``."""

import json
import lzma
import multiprocessing
import sys
import tempfile
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from maxpool_check.corpus.case_file import read_cases
from maxpool_check.evidence.kernels import DEATHS, kernel_named, wrong_kernels
from maxpool_check.evidence.kills import task_of
from maxpool_check.exporting.export import too_large
from maxpool_check.exporting.kit import DRAWN, MOST_CELLS, MOST_VECTORS, KitAbout, KitVector, best_first
from maxpool_check.exporting.kit_export import case_files
from maxpool_check.exporting.kit_in_c import c_files
from maxpool_check.exporting.vectors import vector
from tests.conftest import ROOT, shipped
from tests.kits import drawn
from tests.kits.features import features, traits
from tests.kits.kills import BY_Y, Kernels, deadly

DOCUMENTS = (
    "onnx-22",
    "sonnx",
    "sonnx@2026-10",
    "openvino-8",
    "openvino-14",
    "ort-nhwc-11",
    "xmos-maxpool2d",
    "ngraph-0",
)
BUILD, KITS = ROOT / "build/kits", ROOT / "maxpool_check/exporting/kits"
LISTED = ROOT / "maxpool_check/corpus/kits.json"
VERSION = 3
MOST_BYTES_OF_C = 21_500
"""The most bytes of C with one vector, of which about 15,000 are those of every kit."""

MOST_CELLS_OF_A_LOOP = 2**25


@cache
def cases(spec):
    """The cases of a document, those of the corpus first."""
    of_corpus = [case for case in shipped().cases if case.spec == spec and case.context.is_alone]
    return {case.id: case for case in of_corpus + drawn.cases(spec, BUILD)}


def kernels(spec):
    return [kernel for kernel in wrong_kernels() if not kernel.specs or spec in kernel.specs]


@cache
def tasks(spec, specs):
    """The cases of a document for kernels of these ``specs``: the small ones, and the large ones."""
    found = [task for case in cases(spec).values() if (task := task_of(case, specs)) is not None]
    large = [task for task in found if too_large(task.case, MOST_CELLS)]
    return [task for task in found if not too_large(task.case, MOST_CELLS)], large


MEASURED = Kernels()


def measured(job):
    """What a kernel's cases of a document notice: the small ones, or large ones if no small one does."""
    spec, name = job
    kernel = kernel_named(name)
    small, large = tasks(spec, kernel.specs)
    return spec, name, MEASURED.kills(kernel, small) or MEASURED.kills(kernel, large)


def kills(specs):
    """What the cases of documents notice, by document and kernel; measured once."""
    BUILD.mkdir(parents=True, exist_ok=True)
    found = {spec: json.loads(path.read_text()) if (path := BUILD / f"{spec}.json").exists() else {} for spec in specs}
    jobs = [
        (spec, str(kernel)) for spec in specs if not found[spec] for kernel in kernels(spec) if kernel.module != DEATHS
    ]
    # Before the processes begin, which then share them.
    for shared in {(spec, kernel_named(name).specs) for spec, name in jobs}:
        tasks(*shared)
    with multiprocessing.get_context("fork").Pool() as pool:
        for spec, name, each in pool.imap_unordered(measured, jobs, chunksize=4):
            found[spec][name] = each
    deaths = deadly(wrong_kernels()) if jobs else {}
    for spec in {spec for spec, _ in jobs}:
        found[spec] |= {
            str(kernel): {name: BY_Y for name in deaths[str(kernel)] if name in cases(spec)}
            for kernel in kernels(spec) if kernel.module == DEATHS
        }  # fmt: skip
        (BUILD / f"{spec}.json").write_text(json.dumps(found[spec]))
    return found


def held(case, by_kernel, is_large):
    """A case as a vector; None if C or a case file cannot hold it, or if it is too long."""
    try:
        test = vector(case, MOST_CELLS_OF_A_LOOP if is_large else MOST_CELLS)
    except ValueError:
        return None
    noticed = {name: each[case.id] for name, each in by_kernel.items() if case.id in each}
    made = KitVector(
        test, case.policies.names(), tuple(features(case, test)), tuple(traits(case, test)),
        by_y=tuple(sorted(name for name, how in noticed.items() if how == BY_Y)),
        with_indices=tuple(sorted(name for name, how in noticed.items() if how != BY_Y and "Indices" in test["outputs"])),
    )  # fmt: skip
    if is_large:
        test["inputs"]["X"] |= filled(test["inputs"]["X"])
        made = msgspec.structs.replace(made, large=True)
    try:
        size = len(c_files("", case.spec, [], *([], [made]) if is_large else ([made], []))["maxpool_kit.c"])
    except ValueError:
        return None
    if size > MOST_BYTES_OF_C or not (is_large or reads_back(case, made)):
        return None
    return made


def reads_back(case, made):
    """Whether the case file of a vector has the same case."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in case_files([made], case.spec).items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text(text)
            (read,) = read_cases(file, Path(folder))
    return (read.id, read.sha256) == (case.id, case.sha256)


def filled(X):
    """The most frequent cell of a tensor, and the others."""
    width = np.dtype(X["dtype"]).itemsize
    cells = np.frombuffer(bytes.fromhex(X["hex"]), f"<u{width}")
    found, counts = np.unique(cells, return_counts=True)
    fill = found[counts.argmax()]
    return {
        "hex": fill.tobytes().hex(),
        "set": [[int(at), cells[at].tobytes().hex()] for at in np.flatnonzero(cells != fill)],
    }


def vectors_of(spec, by_kernel):
    """The small cases of a document as vectors."""
    small = [case for case in cases(spec).values() if not too_large(case, MOST_CELLS)]
    return [made for case in small if (made := held(case, by_kernel, False))]


def written(spec, by_kernel):
    """The lines of a pool: the kit first, the best first."""
    by_id, vectors = cases(spec), vectors_of(spec, by_kernel)
    kit = [each for each in vectors if not each.id.startswith(DRAWN)]
    first = [kit[at] for at in best_first(kit)]
    # Where the corpus has few cases, drawn ones fill the kit.
    more = [each for each in vectors if each.id.startswith(DRAWN)]
    first += [more[at] for at in best_first(more, MOST_VECTORS - len(first))]
    taken = {each.id for each in first}
    others = [each for each in vectors if each.id not in taken]
    large = []
    for cases_of_kernel in by_kernel.values():
        for id_ in cases_of_kernel if all(too_large(by_id[each], MOST_CELLS) for each in cases_of_kernel) else ():
            if id_ not in large and (made := held(by_id[id_], by_kernel, True)):
                others.append(made)
                large.append(id_)
                break
    noticed = {name for each in [*first, *others] for name in each.by_y + each.with_indices}
    curve = (
        json.loads(path.read_text())
        if (path := BUILD / f"{spec}-curve.json").exists()
        else {"strangers": 0, "curve": []}
    )
    about = KitAbout(
        name=f"{spec}-{VERSION}", document=spec, vectors=len(first),
        mistakes={str(kernel): kernel.sentence for kernel in kernels(spec)},
        missed=tuple(sorted({str(kernel) for kernel in kernels(spec)} - noticed)), **curve,
    )  # fmt: skip
    return [msgspec.json.encode(each) for each in [about, *first, *others]]


if __name__ == "__main__":
    specs = sys.argv[1:] or DOCUMENTS
    for spec, by_kernel in kills(specs).items():
        lines = written(spec, by_kernel)
        content = lzma.compress(b"\n".join(lines) + b"\n", preset=9 | lzma.PRESET_EXTREME)
        (KITS / f"{spec}.jsonl.xz").write_bytes(content)
        first = msgspec.json.decode(lines[0])["vectors"]
        listed = json.loads(LISTED.read_text()) if LISTED.exists() else {}
        ids = [msgspec.json.decode(line)["test"]["id"] for line in lines[1 : 1 + first]]
        listed[spec] = [each for each in ids if not each.startswith(DRAWN)]
        LISTED.write_text(json.dumps(dict(sorted(listed.items())), indent=1) + "\n")
        print(f"{spec}: {len(lines) - 1} vectors in {len(content)} bytes")
