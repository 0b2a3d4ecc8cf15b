"""A kit: the fewest vectors of a document that catch every wrong kernel, frozen, for programs that never run Python.

``kits/NAME.json`` names the cases and says what each of them catches. The same kit has the same bytes for ever: what would write
others refuses to. The forms are those of the other exports, C, and the cases themselves.
"""

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

import msgspec

from maxpool_check.corpus.case import Case, Refusal
from maxpool_check.corpus.writing import write_suite
from maxpool_check.exporting.export import Export, LeftOutCase, NotFree, document_data, rendered
from maxpool_check.exporting.kit_in_c import c_files
from maxpool_check.exporting.onnx_testdata import export_onnx_testdata
from maxpool_check.exporting.vectors import export_vectors, vector

MOST_CELLS = 2**12
"""The most cells of a tensor of a vector, but for those that are made by a loop."""

IMAGES = ("float32", "int8")
"""Types of which the images, tensors with two spatial axes, catch by themselves what any small image of the type catches."""

_MOST_CELLS_OF_A_LOOP = 2**25

_KITS = resources.files(__package__).joinpath("kits")


class KitVector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case by its digest, and the wrong kernels that it catches."""

    sha256: str
    catches: tuple[str, ...]


class Kit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A frozen kit.

    ``sha256`` is the digest of its manifest, which has those of all files. ``mistakes`` says what each wrong kernel does. No fewer
    than ``bound`` vectors catch what ``vectors`` catch, also as images of one type, as ``solver`` has proved; ``large`` vectors
    catch what only large tensors do. ``not_in_onnx``: what the vectors catch, and their models with one answer do not. ``missed``:
    what no vector catches, since no case of the document does.
    """

    name: str
    document: str
    sha256: str
    bound: int
    solver: str
    mistakes: dict[str, str]
    vectors: dict[str, KitVector]
    large: dict[str, KitVector]
    not_in_onnx: tuple[str, ...]
    missed: tuple[str, ...]


def is_image(case: Case, dtype: str) -> bool:
    """Whether a case has an image of a type."""
    return (case.X.dtype.name, case.X.ndim) == (dtype, 4)


def kits() -> dict[str, Kit]:
    """The kits that come with the package, by document."""
    files = [each for each in _KITS.iterdir() if each.name.endswith(".json")]
    read = [msgspec.json.decode(each.read_bytes(), type=Kit) for each in files]
    return {kit.document: kit for kit in sorted(read, key=lambda kit: kit.name)}


def export_kit(kit: Kit, corpus: Iterable[Case]) -> Export:
    """The files of a kit, from the cases of the corpus. Raises :class:`NotFree` where they would not be those that were frozen."""
    by_id = {case.id: case for case in corpus}
    frozen = {**kit.vectors, **kit.large}
    changed = [name for name in frozen if name not in by_id or by_id[name].sha256 != frozen[name].sha256]
    if changed:
        raise NotFree(
            f"{kit.name} cannot be made from this corpus: {', '.join(changed[:3])} was changed after it was frozen"
        )
    export = unfrozen_kit(kit, [by_id[name] for name in kit.vectors], [by_id[name] for name in kit.large])
    digest = hashlib.sha256(export.manifest()).hexdigest()
    if digest != kit.sha256:
        raise NotFree(
            f"{kit.name} would have other bytes than were frozen: the SHA-256 of its manifest is {digest}, not {kit.sha256}; "
            "another version of onnx or of this tool made it"
        )
    return export


def unfrozen_kit(kit: Kit, cases: Sequence[Case], large: Sequence[Case]) -> Export:
    """The files that the cases of a kit make, whatever its digest."""
    tool = {"name": "maxpool-check", "kit": kit.name}
    vectors, models = export_vectors(cases, MOST_CELLS, tool), export_onnx_testdata(cases, MOST_CELLS)
    tests = [vector(case, MOST_CELLS) for case in cases]
    files = {
        **vectors.files,
        **{f"onnx/{path}": content for path, content in models.files.items()},
        **c_files(kit.name, kit.document, tests, [vector(case, _MOST_CELLS_OF_A_LOOP) for case in large]),
        **_case_files(cases, kit),
    }
    exported = {name: {**about, **models.cases.get(name, {})} for name, about in vectors.cases.items()}
    left_out = [LeftOutCase(each.case, each.variant, f"of onnx/: {each.why}") for each in models.left_out]
    images = {dtype: [case.id for case in cases if is_image(case, dtype)] for dtype in IMAGES}
    caught = {dtype: _caught(kit, names) for dtype, names in images.items()}
    by_images = {dtype: {"caught": len(each), "caught_alone": _alone(each)} for dtype, each in caught.items()}
    by_all = _caught(kit, kit.vectors)
    # Which wrong kernels the vectors catch, and that no fewer vectors do.
    proof = {
        "vectors": len(kit.vectors), "fewest": kit.bound, "solver": kit.solver,
        "kernels": {kernel: {"mistake": kit.mistakes[kernel], "vectors": names} for kernel, names in by_all.items()},
        "caught_alone": _alone(by_all), "not_in_onnx": kit.not_in_onnx,
        "large": {name: each.catches for name, each in kit.large.items()}, "missed": kit.missed,
        "by_images": by_images,
    }  # fmt: skip
    about = {"tool": tool, "proof": proof}
    export = Export("kit", files, exported, left_out, {kit.document}, {**vectors.limits, **models.limits}, about)
    title = document_data(kit.document)["title"]
    files["README.md"] = rendered("kits/README.md.j2", kit=kit, caught=len(by_all), by_images=by_images, title=title)
    return export


def _caught(kit: Kit, names: Iterable[str]) -> dict[str, list[str]]:
    """The vectors, of some, that catch each wrong kernel."""
    caught: dict[str, list[str]] = defaultdict(list)
    for name in names:
        for kernel in kit.vectors[name].catches:
            caught[kernel].append(name)
    return dict(sorted(caught.items()))


def _alone(caught: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """What each vector alone catches."""
    alone: dict[str, list[str]] = defaultdict(list)
    for kernel, names in caught.items():
        if len(names) == 1:
            alone[names[0]].append(kernel)
    return dict(sorted(alone.items()))


def _case_files(cases: Iterable[Case], kit: Kit) -> dict[str, bytes]:
    """The cases as files, with the same ids."""
    with tempfile.TemporaryDirectory() as folder:
        plain = [case if isinstance(case.expect, Refusal) else replace(case, expect=None) for case in cases]
        written = write_suite(plain, Path(folder), kit.name, "maxpool-check")
        names = {path for file in written for path in (file, *file.with_suffix("").glob("*.npy"))}
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(names)}
