"""The clause files are whole: every id, name and place in them is one that exists."""

import hashlib
import re

import onnx
import pytest

from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.clauses import ClauseStatus, clause_files, clauses, clauses_of, edition_name, editions


def test_no_id_stands_twice():
    ids = [clause.id for file in clause_files().values() for clause in file.clauses]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("file", clause_files().values(), ids=list(clause_files()))
def test_a_clause_names_what_exists(file):
    numbers = {erratum.number for erratum in file.errata}
    assert set(file.editions) <= set(SPECIFICATIONS)
    for clause in file.clauses:
        assert re.fullmatch(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+", clause.id)
        assert set(clause.documents) <= set(file.editions), clause.id
        assert set(clause.origin) <= {each.id for each in file.clauses}, clause.id
        assert clause.states.endswith("."), clause.id
        assert (clause.status is ClauseStatus.INFORMATIVE) == bool(clause.reason), clause.id
        assert clause.erratum is None or clause.erratum in numbers, clause.id
        assert clause.status is not ClauseStatus.ERRATUM or clause.erratum is not None, clause.id
        # An open clause is about a point that its documents have.
        assert (clause.status is ClauseStatus.OPEN) == (clause.policy is not None), clause.id
        assert clause.policy is None or clause.policy in INTERPRETATIONS, clause.id
        for document in clause.documents:
            assert clause.policy not in SPECIFICATIONS[document].policies.inapplicable, clause.id


def test_a_document_has_the_clauses_that_hold_in_it_and_an_edition():
    assert clauses()["SONNX-R3"] in clauses_of("sonnx")
    assert all("sonnx" in clause.documents for clause in clauses_of("sonnx"))
    assert edition_name("sonnx") == "sonnx@seed"
    assert all(re.fullmatch(r"[0-9a-f]{64}", edition.sha256) for edition in editions().values() if edition.sha256)


def _text(schema):
    """What ONNX has of a version of the operator, as the digests of the editions are made from."""
    lines = [schema.doc]
    for _, each in sorted(schema.attributes.items()):
        lines.append(f"{each.name} {each.type.name}{' required' if each.required else ''}: {each.description}")
    for each in (*schema.inputs, *schema.outputs):
        lines.append(f"{each.name} {each.option.name} {each.type_str}: {each.description}")
    for each in schema.type_constraints:
        lines.append(f"{each.type_param_str} {' '.join(sorted(each.allowed_type_strs))}: {each.description}")
    return "\n".join(lines)


@pytest.mark.parametrize("since", [1, 8, 10, 11, 12, 22])
def test_the_text_of_onnx_is_the_one_that_was_read(since):
    edition = editions()[f"onnx-{since}"]
    if edition.source != f"onnx {onnx.__version__}":
        pytest.skip(f"the text was read in {edition.source}")
    assert hashlib.sha256(_text(onnx.defs.get_schema("MaxPool", since, "")).encode()).hexdigest() == edition.sha256
