"""The clause files are whole: every id, name and place in them is one that exists."""

import hashlib
import re

import onnx
import pytest

from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.clauses import ClauseStatus, clause_files, clauses, clauses_of, edition_name, editions

CLAUSES = [(name, file, clause) for name, file in clause_files().items() for clause in file.clauses]


def test_no_id_stands_twice():
    ids = [clause.id for _, _, clause in CLAUSES]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize(("name", "file", "clause"), CLAUSES, ids=[clause.id for *_, clause in CLAUSES])
def test_a_clause_names_what_exists(name, file, clause):
    assert re.fullmatch(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+", clause.id)
    assert set(clause.documents) <= set(file.editions) <= set(SPECIFICATIONS)
    assert set(clause.origin) <= {each.id for each in file.clauses}
    assert clause.states.endswith(".")
    assert (clause.status is ClauseStatus.OPEN) == (clause.policy is not None)
    assert clause.policy is None or clause.policy in INTERPRETATIONS
    assert (clause.status is ClauseStatus.INFORMATIVE) == bool(clause.reason)
    numbers = {erratum.number for erratum in file.errata}
    assert clause.erratum is None or clause.erratum in numbers
    assert clause.status is not ClauseStatus.ERRATUM or clause.erratum is not None


@pytest.mark.parametrize("clause", [clause for *_, clause in CLAUSES if clause.policy], ids=lambda clause: clause.id)
def test_an_open_clause_is_about_a_point_that_its_documents_have(clause):
    for document in clauses()[clause.id].documents:
        assert clause.policy not in SPECIFICATIONS[document].policies.inapplicable


def test_the_clauses_of_a_document_are_those_that_hold_in_it():
    assert clauses()["SONNX-R3"] in clauses_of("sonnx")
    assert all("sonnx" in clause.documents for clause in clauses_of("sonnx"))


def test_a_document_names_its_edition():
    assert edition_name("sonnx") == "sonnx@seed"
    assert all(re.fullmatch(r"[0-9a-f]{64}", edition.sha256) for edition in editions().values() if edition.sha256)


def _text(since):
    """What ONNX has of a version of the operator, as the digests of the editions are made from."""
    schema = onnx.defs.get_schema("MaxPool", since, "")
    attributes = [each for _, each in sorted(schema.attributes.items())]
    tensors = (*schema.inputs, *schema.outputs)
    types = schema.type_constraints
    return "\n".join(
        [
            schema.doc,
            *(
                f"{each.name} {each.type.name}{' required' if each.required else ''}: {each.description}"
                for each in attributes
            ),
            *(f"{each.name} {each.option.name} {each.type_str}: {each.description}" for each in tensors),
            *(
                f"{each.type_param_str} {' '.join(sorted(each.allowed_type_strs))}: {each.description}"
                for each in types
            ),
        ]
    )


@pytest.mark.parametrize("since", [1, 8, 10, 11, 12, 22])
def test_the_text_of_onnx_is_the_one_that_was_read(since):
    edition = editions()[f"onnx-{since}"]
    if edition.source != f"onnx {onnx.__version__}":
        pytest.skip(f"the text was read in {edition.source}")
    assert hashlib.sha256(_text(since).encode()).hexdigest() == edition.sha256
