"""Exported vectors: the cases that ``maxpool-check export json`` wrote, with the results that the file lists first."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case, Expectation, Origin, Refusal, Values
from maxpool_check.corpus.case_file import checked_output
from maxpool_check.corpus.clauses import check_covers, with_clauses
from maxpool_check.corpus.graph_fields import context_of, document_in
from maxpool_check.corpus.importers import Broken, LeftOut, manifest, read_bytes
from maxpool_check.corpus.problems import BadValue, Structure
from maxpool_check.corpus.schema import ID
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.corpus.vector_results import accepted_by, judged_members
from maxpool_check.corpus.vectors import FILE, FORM, MANIFEST_SCHEMA, SCHEMA, tensor_of, unplain
from maxpool_check.graphs.node import Inexact
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import Reason, override

NAME = "vectors"
PATTERN = "*.json"
MAX_BYTES = 2**30

_STRUCTURE = Structure(FILE)
_ID = Structure(ID)


def read(file: Path, root: Path, most_cells: int) -> list[Case]:  # noqa: ARG001 (ids are those of the file)
    """The cases of a file, with the same ids and digests as those that were exported; none of a manifest.

    Raises :class:`LeftOut` and :class:`Broken`.
    """
    try:
        content = read_bytes(file, MAX_BYTES)
        data = json.loads(content, parse_constant=_not_json)
    except json.JSONDecodeError as error:
        raise Broken(f"not JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except (ValueError, RecursionError) as error:
        raise Broken(f"not JSON: {error}") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema == MANIFEST_SCHEMA:
        manifest.check_files(file.parent, data)
        return []
    if schema != SCHEMA and isinstance(schema, str) and schema.startswith(FORM):
        raise Broken(f'another version of maxpool-check wrote it: its "schema" is "{schema}", not "{SCHEMA}"')
    if schema != SCHEMA:
        raise LeftOut(f'not a file of vectors: its "schema" is not "{SCHEMA}"')
    for path, key, message in _STRUCTURE.mistakes(data):
        raise Broken(f"{'.'.join(map(str, [*path, *([] if key is None else [key])]))}: {message}")
    cases = list(_cases(data, file, most_cells))
    if len(cases) != data["numberOfTests"]:
        raise Broken(f"it has {len(cases)} of {data['numberOfTests']} tests (numberOfTests); export the cases again")
    manifest.check_beside(file, content)
    return cases


def _not_json(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _cases(data: Mapping[str, Any], file: Path, most_cells: int) -> Iterator[Case]:
    provenance = {"suite": NAME, "version": data["tool"]["version"], "file": file.name}
    for group in data["testGroups"]:
        for test in group["tests"]:
            try:
                yield _case(data["document"]["name"], group["policies"], test, file, provenance, most_cells)
            except BadValue as error:
                place = "".join(f".{step}" for step in error.path)
                raise Broken(f"{test['id']}{place}: {error}") from error
            except (ValueError, Inexact) as error:
                raise Broken(f"{test['id']}: {error}") from error


def _case(
    spec: str, policies: Mapping[str, str], test: Mapping[str, Any], file: Path, provenance: Mapping[str, str], most_cells: int
) -> Case:  # fmt: skip
    """A test as a case. Raises ``ValueError``."""
    group, _, name = test["id"].rpartition(":")
    if not group or next(_ID.mistakes(name), None):
        raise ValueError("not the id of a case")
    document = specification(spec)
    if "opset" in test and document_in(test["opset"], document) is not document:
        raise BadValue(f"operator set {test['opset']} does not have {document.title}", "opset")
    X = tensor_of(test["inputs"]["X"], most_cells)
    graph = {key: unplain(test[key]) for key in ("graph", "opset") if key in test}
    if "initializer" in test:
        graph["input"] = {"as": "initializer"}
    attributes = unplain(test["attributes"])
    if test["result"] != "invalid" and "refusal" not in test:
        document.typed(attributes)
    case = Case(
        id=test["id"], spec=spec, X=Recipe.of(X), attributes=attributes,
        outputs=tuple(output for output in ("Y", "Indices") if output in test["outputs"]),
        policies=override(document.policies, policies), title=test["title"], covers=tuple(test.get("covers", ())),
        tags=tuple(test.get("tags", ())), expect=_expectation(test, most_cells), origin=Origin(str(file), 1, 1),
        provenance=test.get("provenance", provenance), context=context_of(graph, document, X.shape),
    )  # fmt: skip
    check_covers(case.covers, case.spec)
    checked_output(case, most_cells)
    if case.sha256 != test["sha256"]:
        raise ValueError(
            "its sha256 is another: the file was changed, or another version wrote it; export the cases again"
        )
    oracle = case.oracle()
    for name, value in judged_members(case, oracle, accepted_by(oracle)).items():
        if (place := _difference(value, test.get(name), name)) is not None:
            raise BadValue(
                "not what the reference has: the file was changed, or another version wrote it; export the cases again",
                *place,
            )
    return with_clauses(case)


def _difference(a: Any, b: Any, *place: str | int) -> tuple[str | int, ...] | None:
    """Where plain data differs first: the keys and positions that lead there."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        pairs = [(key, a[key], b[key]) for key in a]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(at, *each) for at, each in enumerate(zip(a, b, strict=True))]
    else:
        return None if a == b else place
    return next((found for key, *each in pairs if (found := _difference(*each, *place, key)) is not None), None)


def _expectation(test: Mapping[str, Any], most_cells: int) -> Expectation | None:
    if "refusal" in test:
        return Refusal(Reason(test["refusal"]["reason"]))
    if not test["results"]:
        raise BadValue("expected at least one result, or a refusal", "results")
    outputs = test["results"][0]["outputs"]
    tensors = {name: tensor_of(outputs[name], most_cells) for name in ("Y", "Indices") if name in outputs}
    Indices = tensors.get("Indices")
    return Values(tensors.get("Y"), None if Indices is None else Indices.astype(np.int64))
