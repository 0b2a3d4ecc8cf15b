"""What the documents say of themselves, executed: which claims fail is kept, and so is what is to hold instead."""

import pytest
import yaml
from msgspec.structs import replace

from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.claims import checked, checked_claims, described, small_axes
from maxpool_check.specifications.clauses import Claim, ClauseKind, clause_files, file_of
from tests.conftest import ROOT, shipped

FAILING = yaml.safe_load((ROOT / "tests/data/failing-claims.yaml").read_text())


def failing(document):
    return {
        f"{each.claim.clauses[0]}: {described(each.counterexample)}"
        for each in checked_claims(document)
        if each.counterexample is not None
    }


@pytest.mark.parametrize("document", SPECIFICATIONS)
def test_the_claims_that_fail_are_these_and_what_is_to_hold_instead_does(document):
    assert sorted(failing(document)) == FAILING[document]
    for each in checked_claims(document):
        claim, fails = each.claim, each.counterexample is not None
        assert each.axes or not claim.holds, claim
        # One that fails is an erratum or has a reason, and says what holds; so has one that cannot be executed.
        assert (fails or not claim.holds) == bool(claim.erratum or claim.reason), claim
        assert fails == bool(claim.mended), claim
        if fails:
            assert checked(replace(claim, holds=claim.mended), small_axes(document)).counterexample is None, claim


@pytest.mark.parametrize("name", clause_files())
def test_each_erratum_is_executed_as_a_claim_or_by_cases_or_says_why_not(name):
    file, cases = clause_files()[name], shipped().cases
    executed = {claim.erratum for claim in file.claims} | {each.number for each in file.errata if each.cases}
    assert {each.number for each in file.errata} == executed - {None}
    assert {clause for claim in file.claims for clause in claim.clauses} <= {clause.id for clause in file.clauses}
    covered = {clause for case in cases for clause in case.covers}
    examples = {clause.id for clause in file.clauses if clause.kind is ClauseKind.EXAMPLE and not clause.reason}
    assert examples <= covered


def test_the_edition_of_2026_10_is_refuted_four_times_and_each_erratum_has_a_clause_and_a_mend():
    assert {text.partition(": Y")[0].partition(": ")[2] for text in failing("sonnx@2026-10")} >= {
        "size 1, kernel 1, pads (0, 1)",
        "size 1, kernel 2, dilation 2, pads (1, 1)",
        "size 0, kernel 1, pads (0, 1)",
        "size 0, kernel 2",
    }
    file = file_of("sonnx@2026-10")
    claimed = {claim.erratum for claim in file.claims} | {clause.erratum for clause in file.clauses}
    assert all(erratum.proposal and erratum.number in claimed for erratum in file.errata)


def test_the_smallest_axis_that_refutes_a_claim_is_named():
    axes = small_axes("onnx-22")
    strided = checked(Claim(clauses=(), states="", given="auto_pad == 'valid' and s == 3", holds="size < 2"), axes)
    expected = "size 4, kernel 1, stride 3, valid: Y has size 2, cells of X in its windows: 1, 1"
    assert described(strided.counterexample) == expected


def test_explain_lists_the_claims_and_what_an_edition_changes(cli):
    document = cli("explain", "sonnx@2026-10", "--json").json
    assert len(document["claims"]["fail"]) == len(FAILING["sonnx@2026-10"]) + 1
    assert any("the case expects inf, the reference has nan" in text for text in document["claims"]["fail"])
    shown = cli("explain", "sonnx@2026-10", COLUMNS="400").out
    for text in ("Changed since sonnx@seed", "spatial axes: 2 -> 1, 2, 3, 4", "Proposed: [R4]: p < k"):
        assert text in shown, text
