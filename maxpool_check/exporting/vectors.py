"""Cases as vectors in JSON: the input in bits, and every output that is right."""

import json
from collections.abc import Iterable
from typing import Any

import maxpool_check
from maxpool_check import inert
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.graph_fields import graph_fields
from maxpool_check.corpus.vector_results import accepted_by, judged_members
from maxpool_check.corpus.vectors import SCHEMA, plain, tensor_data
from maxpool_check.exporting.export import Export, LeftOutCase, document_data, too_large
from maxpool_check.exporting.flags import FLAGS, flags
from maxpool_check.judging.acceptance import NotListed
from maxpool_check.judging.oracle import Oracle
from maxpool_check.specifications.specification import Refused

FORMAT = "vectors"

NOT_HELD = (
    "That Y alone must be the Y beside Indices, where the document allows several: run finds such an inconsistency.",
    "That all cells follow the same interpretation of NaN: each cell may follow its own, as for the judge of run.",
)
"""What somebody who compares with the vectors does not check."""


def export_vectors(cases: Iterable[Case], most_cells: int) -> Export:
    """The files of the vectors of some cases, one for each document.

    Cases are left out whose X or Y has more than ``most_cells`` cells, or whose right outputs are no list for each cell.
    """
    lines: dict[str, dict[str, list[str]]] = {}
    tests: dict[str, dict[str, Any]] = {}
    left_out = []
    used: dict[str, set[str]] = {}
    for case in cases:
        try:
            test = vector(case, most_cells)
        except NotListed as error:
            left_out.append(LeftOutCase(case.id, None, str(error)))
            continue
        policies = json.dumps(case.policies.names())
        lines.setdefault(case.spec, {}).setdefault(policies, []).append(_text(test))
        used.setdefault(case.spec, set()).update(test["flags"])
        tests[case.id] = {"sha256": case.sha256, "file": f"{case.spec}.json"}
    files = {f"{spec}.json": _file(spec, groups, used[spec]).encode() for spec, groups in sorted(lines.items())}
    return Export(FORMAT, files, tests, tuple(left_out), tuple(sorted(lines)), {"not_held": list(NOT_HELD)})


def _text(value: object) -> str:
    return inert.dumps(value, separators=(",", ":"))


def _file(spec: str, groups: dict[str, list[str]], used: set[str]) -> str:
    """The text of a file: a line for each test, so that a program can read them one by one."""
    header = {
        "schema": SCHEMA,
        "tool": {"name": "maxpool-check", "version": maxpool_check.__version__},
        "document": document_data(spec),
        "numberOfTests": sum(map(len, groups.values())),
        "flags": {flag: about for flag, about in FLAGS.items() if flag in used},
    }
    written = [
        f'{{"policies":{_text(json.loads(policies))},"tests":[\n' + ",\n".join(tests) + "\n]}"
        for policies, tests in groups.items()
    ]
    beginning = "".join(f"{_text(key)}:{_text(value)},\n" for key, value in header.items())
    return "{" + beginning + '"testGroups":[\n' + ",\n".join(written) + "\n]}\n"


def vector(case: Case, most_cells: int) -> dict[str, Any]:
    """A case as a test: plain data, its keys in the order of the file. Raises :class:`NotListed`."""
    if reason := too_large(case, most_cells):
        raise NotListed(reason)
    oracle = case.oracle()
    results = accepted_by(oracle)
    right = judged_members(case, oracle, results)
    graph = graph_fields(case, {})
    fields = {
        "id": case.id, "sha256": case.sha256, "title": case.title, "covers": list(case.covers), "tags": list(case.tags),
        "flags": flags(case, oracle, results), "result": right["result"], "refusal": _refusal(oracle),
        "provenance": dict(case.provenance), "attributes": plain(case.attributes),
        "opset": graph.get("opset"), "graph": plain(graph.get("graph")), "initializer": "input" in graph or None,
        "inputs": {"X": tensor_data(case.X.tensor())}, "outputs": right["outputs"], "results": right["results"],
    }  # fmt: skip
    needed = ("attributes", "flags", "results")
    return {key: value for key, value in fields.items() if key in needed or value not in (None, [], {})}


def _refusal(oracle: Oracle | Refused) -> dict[str, str] | None:
    if not isinstance(oracle, Refused):
        return None
    return {"reason": oracle.reason.value, "message": oracle.message, "clause": oracle.clause}
