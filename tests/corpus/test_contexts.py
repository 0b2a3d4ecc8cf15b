"""The bins of graphs around MaxPool, and the cases that are generated for them."""

import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.context_bins import context_bins
from maxpool_check.corpus.context_generating import contexts_written
from maxpool_check.corpus.context_space import FACTORS, TEMPLATES, combinations_of, drawn_case
from tests.conftest import CASES

GENERATED = CASES / "generated/contexts.yaml"


def bins_of(tmp_path, text):
    (tmp_path / "x.yaml").write_text(f"spec: onnx-22\ncases:\n  - id: a\n    title: t\n{text}")
    (case,) = collect([tmp_path]).cases
    return context_bins(case)


def test_the_bins_of_a_graph(tmp_path):
    text = """\
    opset: 14
    input: {dtype: float16, shape: [1, 8, 4, 5], fill: -1}
    graph:
      nodes:
        - {op: Relu, consumers: 2}
        - {op: Pad, pads: [0, 0, 1, 1, 0, 0, 0, 0], as: constant}
        - {op: MaxPool}
        - {op: Relu}
      shape: [N, 8, 4, 5]
      inside: If
    attributes: {kernel_shape: [2, 2], strides: [2, 2], pads: [1, 0, 0, 0]}
"""
    bins = bins_of(tmp_path, text)
    assert [each["context"] for each in bins] == [
        "relu-before", "pad-zero", "relu-behind", "relu-around", "constants-constant", "two-consumers", "partly-dynamic",
        "inside-if", "blocks-of-channels",
    ]  # fmt: skip
    others = {"dtype": "float16", "values": "constant", "geometry": "padded", "opset": "13"}
    assert all(each == {"context": each["context"], **others} for each in bins)


@pytest.mark.parametrize(
    ("attributes", "geometry"),
    [
        ("kernel_shape: [2, 2]", "plain"),
        ("kernel_shape: [1, 1], dilations: [2, 2]", "plain"),
        ("kernel_shape: [2, 2], dilations: [1, 2], pads: [1, 0, 0, 0]", "dilated"),
        ("kernel_shape: [2, 2], auto_pad: SAME_LOWER, strides: [2, 2]", "same"),
        ("kernel_shape: [2, 2], strides: [2, 2], storage_order: 1", "column-major"),
    ],
)
def test_the_bins_of_the_attributes(tmp_path, attributes, geometry):
    text = f"""\
    input: {{dtype: float32, shape: [1, 1, 4, 5], arange: {{start: 0, step: 1}}}}
    graph: [{{op: Neg}}, {{op: MaxPool}}]
    attributes: {{{attributes}}}
"""
    assert [each["geometry"] for each in bins_of(tmp_path, text)] == [geometry]


def test_a_case_of_one_node_has_no_such_bins(tmp_path):
    text = "    input: {dtype: float32, shape: [1, 1, 2], fill: 1}\n    attributes: {kernel_shape: [1]}\n"
    assert bins_of(tmp_path, text) == []


def test_a_row_without_an_exact_result_gives_no_case():
    row = {"dtype": "float32", "values": "ties", "geometry": "plain", "opset": "22"}
    assert drawn_case({**row, "template": "unpool-behind"}, 0) is None
    assert drawn_case({**row, "template": "relu-before", "dtype": "int8", "opset": "13"}, 0) is None
    assert drawn_case({**row, "template": "relu-before"}, 0) is not None


def test_each_generated_case_has_the_bins_of_its_id():
    cases = collect([GENERATED]).cases
    for case in cases:
        template, *_ = [name for name in TEMPLATES if case.name.startswith(f"{name}-")]
        dtype, *values, geometry, opset = case.name.removeprefix(f"{template}-").split("-")
        if geometry == "major":
            geometry = f"{values.pop()}-major"
        expected = {"dtype": dtype, "values": "-".join(values), "geometry": geometry, "opset": opset}
        for bins in context_bins(case):
            assert {name: bins[name] for name in expected} == expected, case.id
    assert 400 <= len(cases) <= 550


@pytest.mark.long
def test_the_generated_cases_are_those_of_the_command_and_cover_every_pair():
    text = GENERATED.read_text()
    assert contexts_written(0) == text
    assert contexts_written(1) != text
    covered = set()
    for case in collect([GENERATED]).cases:
        for bins in context_bins(case):
            names = ["context", *list(FACTORS)[1:]]
            covered |= {((a, bins[a]), (b, bins[b])) for i, a in enumerate(names) for b in names[i + 1 :]}
    left = [pair for pair in combinations_of(2) if pair not in covered]
    # Not tried alone: what values and attributes make of each other behind two functions.
    assert len(left) < 10, left
