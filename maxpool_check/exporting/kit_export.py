"""The files of a kit: in C, JSON and ONNX's form, as tests of several languages, and the cases."""

import itertools
import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.writing import input_of
from maxpool_check.exporting.export import Export, LeftOutCase, document_data, rendered
from maxpool_check.exporting.kit import MOST_CELLS, Kit, KitKernel, KitVector, proof_of
from maxpool_check.exporting.kit_forms import form_files
from maxpool_check.exporting.kit_in_c import c_files
from maxpool_check.exporting.onnx_testdata import export_onnx_testdata
from maxpool_check.exporting.vectors import NOT_HELD, tensor_of, vector_file
from maxpool_check.specifications import specification


def export_kit(kit: Kit, kernel: KitKernel) -> Export:
    """The files of a kit for a kernel. Raises ``ValueError`` if such a kernel computes no vector."""
    vectors, large, document = kit.chosen(kernel), kit.large(kernel), kit.about.document
    if all(vector.test["result"] == "invalid" for vector in vectors):
        raise ValueError(f"{kit.about.name} has nothing to compute for such a kernel: {kernel.words}")
    tool = {"name": "maxpool-check", "kit": kit.about.name, **({"for": kernel.words} if kernel.words else {})}
    cases_by_path = case_files(vectors, document)
    cases = _cases(cases_by_path)
    models, proof = export_onnx_testdata(cases, MOST_CELLS), proof_of(kit, vectors, kernel)
    # Without Indices it is another case.
    digests = {case.id: case.sha256 for case in cases}
    tests = [(each.policies, {**each.test, "sha256": digests[each.id]}) for each in vectors]
    files = {
        f"{document}.json": vector_file(document, tests, tool),
        **{f"onnx/{path}": content for path, content in models.files.items()},
        **c_files(kit.about.name, document, list(proof.mistakes), vectors, large),
        **form_files(kit.about.name, document, [each.test for each in vectors]),
        **{path: text.encode() for path, text in cases_by_path.items()},
    }
    exported = {
        each.id: {"sha256": each.sha256, "file": f"{document}.json", **models.cases.get(each.id, {})} for each in cases
    }
    left_out = [LeftOutCase(each.case, each.variant, f"of onnx/: {each.why}") for each in models.left_out]
    files["README.md"] = rendered(
        "kits/README.md.j2", kit=kit.about, kernel=kernel, vectors=vectors, large=large, proof=proof, concerned=kit.concerning(kernel),
        title=document_data(document)["title"],
    )  # fmt: skip
    limits = {"not_held": list(NOT_HELD), **models.limits}
    return Export(
        "kit", files, exported, left_out, {document}, limits, {"tool": tool, "proof": msgspec.to_builtins(proof)}
    )


def case_files(vectors: Iterable[KitVector], document: str) -> dict[str, str]:
    """The case files of vectors, by their paths, with the same ids."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for vector in vectors:
        path, _, name = vector.id.rpartition(":")
        entries.setdefault(f"{path}.yaml", []).append({**_case_fields(vector, document), "id": name})
    return {path: case_file_of(document, "vectors of a kit", each) for path, each in entries.items()}


def case_file_of(spec: str, about: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """The text of a case file whose cases are JSON, each on a line."""
    lines = "".join(f"- {json.dumps(each)}\n" for each in entries)
    return f"spec: {spec}\nabout: {about}\ncases:\n{lines}"


def _case_fields(vector: KitVector, document: str) -> dict[str, Any]:
    """The fields of a case from its test."""
    test, usual = vector.test, specification(document).policies.names()
    kept = ("title", "covers", "tags", "provenance", "attributes", "outputs", "opset")
    fields: dict[str, Any] = {name: test[name] for name in kept if name in test}
    fields["input"] = input_of(tensor_of(test["inputs"]["X"]))
    fields["policies"] = {point: choice for point, choice in vector.policies.items() if choice != usual[point]}
    fields["expect"] = {"refuse": test["refusal"]["reason"]} if "refusal" in test else {}
    return {name: value for name, value in fields.items() if value or name == "attributes"}


def _cases(files: Mapping[str, str]) -> list[Case]:
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, path).write_text(text)
        return list(itertools.chain.from_iterable(read_cases(Path(folder, path), Path(folder)) for path in files))
