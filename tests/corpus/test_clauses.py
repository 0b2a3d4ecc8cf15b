"""The clauses of cases that name none: they follow from the bins, by a rule that is compared with the attributes."""

from dataclasses import replace

import numpy as np
import pytest

from maxpool_check.corpus.clauses import OUTPUTS, clauses_by_rule
from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.features import BINS
from maxpool_check.specifications.clauses import clauses
from maxpool_check.specifications.specification import Refused
from tests.conftest import ROOT, shipped
from tests.models import zoo
from tests.models.writing import saved

GENERATED = [case for case in shipped().cases if case.id.startswith("generated/")]


def by_attributes(case):
    """What some clauses say, read from the attributes and X alone."""
    attributes, X = case.attributes, case.X.tensor()
    padded, same = any(attributes.get("pads", ())), str(attributes.get("auto_pad", "")).startswith("SAME")
    dilated = max(attributes.get("dilations", [1])) > 1 and max(attributes["kernel_shape"]) > 1
    if case.spec == "sonnx":
        yield "SONNX-TYPES-INT", X.dtype in (np.int8, np.uint8)
        yield "SONNX-PADS", padded
        yield "SONNX-WINDOW-DILATIONS", dilated
        yield "SONNX-WINDOW-PLANES", X.shape[0] * X.shape[1] > 1 and len({cell.tobytes() for cell in X.reshape(-1)}) > 1
        yield "SONNX-NAN", X.dtype.kind == "f" and bool(np.isnan(X).any())
        yield "SONNX-MAX", True
    else:
        yield "ONNX-SAME-PADS", same
        yield "ONNX-PADS", padded
        yield "ONNX-SIZE-DILATED", dilated and not same
        yield "ONNX-MAX", True


def test_the_factors_and_bins_of_clauses_exist():
    existing = {**BINS, "outputs": tuple(OUTPUTS.values())}
    named = [item for clause in clauses().values() for wanted in clause.bins for item in wanted.items()]
    assert [(name, bins) for name, bins in named if not set(bins) <= set(existing[name])] == []


def test_the_rule_finds_what_the_attributes_say():
    seen = set()
    for case in (case for case in GENERATED if case.spec in ("sonnx", "onnx-22") and case.context.is_alone):
        for clause, applies in by_attributes(case):
            assert (clause in case.covers) is applies, (case, clause)
            seen.add((clause, applies))
    assert len(seen) == 18
    refused = [case for case in shipped().cases if isinstance(case.resolved, Refused)]
    assert not any(map(clauses_by_rule, refused))


def test_indices_alone_are_about_no_type_of_y_and_y_alone_about_no_cell_that_indices_name():
    both, indices = "ONNX-Y-TYPE", "ONNX-INDICES-SELECTED"
    of_outputs = {case.outputs: case for case in GENERATED if case.spec == "onnx-12" and case.X.dtype == np.float64}
    case = of_outputs["Y", "Indices"]
    for outputs, expected in {("Y", "Indices"): {both, indices}, ("Y",): {both}, ("Indices",): {indices}}.items():
        of = of_outputs.get(outputs) or replace(case, outputs=outputs)
        assert {both, indices} & set(clauses_by_rule(of)) == expected


def test_cases_that_are_made_are_about_what_follows_from_their_bins(cli, kernel_target, tmp_path):
    samples = ROOT / "tests/data/testgenonnx"
    assert cli("cases", "import", "testgenonnx", samples, "-o", tmp_path / "imported").code == 0
    fuzz = ("fuzz", "-t", kernel_target("counts_in_the_plane"), "-o", tmp_path / "found")
    assert cli(*fuzz, "--max-cases", 10).code == 1
    assert cli("model", saved(zoo.plain(), tmp_path, "m.onnx"), "--cases", tmp_path / "model.yaml").code == 0
    for path in (samples, tmp_path / "imported", tmp_path / "found", tmp_path / "model.yaml"):
        for case in collect([path]).cases:
            assert case.covers == clauses_by_rule(case) != (), case.id


@pytest.mark.parametrize(
    ("covers", "message"),
    [
        ("[SONNX-MAXX]", "3:29: unknown clause 'SONNX-MAXX' (did you mean 'SONNX-MAX'?)"),
        ("[ONNX-22-CEIL-CLIP]", "3:29: the clause 'ONNX-22-CEIL-CLIP' does not hold in sonnx, only in onnx-22"),
        ("SONNX-MAX", "3:28: expected a list of clauses or the word by-bins, found the text 'SONNX-MAX'"),
        ("[$clause]", "3:29: unknown clause 'NOT-A-CLAUSE'"),
    ],
)
def test_clauses_that_a_case_cannot_cover_are_mistakes_of_its_file(cli, tmp_path, covers, message):
    (tmp_path / "own.yaml").write_text(
        "spec: sonnx\ncases:\n- {id: one$clause, covers: " + covers + ", matrix: {clause: [NOT-A-CLAUSE]},\n"
        "  input: {dtype: int8, data: [[[[1, 2], [3, 4]]]]}}\n"
    )
    cli("cases", "lint", tmp_path / "own.yaml").check(2, f"own.yaml:{message}")
