"""Case files: the cases they define, and every problem with its place."""

import pickle
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

from maxpool_check.corpus.case import Refusal, Shape, Undefined, Values, contradictions, disagreements
from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.corpus.schema import case_file_schema
from maxpool_check.corpus.selection import NothingSelected, select

CASE = "cases:\n  - id: a\n    input: {dtype: float32, shape: [1, 1, 3, 3], fill: 0}\n    attributes: {kernel_shape: [2, 2]}\n"


@pytest.fixture
def corpus(tmp_path):
    def write(text, name="x.yaml", **others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        for other, content in others.items():
            (tmp_path / f"{other}.yaml").write_text(content)
        return tmp_path

    return write


def problems(folder, **limits):
    with pytest.raises(CorpusError) as error:
        collect([folder], **limits)
    return [str(problem).removeprefix(f"{folder}/") for problem in error.value.problems]


def test_a_case_in_full(corpus):
    folder = corpus(
        """\
spec: sonnx
about: One.
defaults:
  tags: [t]
  attributes: {kernel_shape: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0],
               auto_pad: NOTSET, ceil_mode: 0, storage_order: 0}
cases:
  - id: one
    title: Why
    covers: [SONNX-MAX]
    input: {dtype: int8, data: [[[[1, 2], [3, 4]]]]}
    attributes: {pads: [1, 0, 0, 0]}
    expect: {Y: [[[[2], [4]]]], Indices: [[[[1], [3]]]]}
    erratum: none really
    policies: {nan: propagates, tie: any}
  - id: two
    tags: []
    input: {dtype: int8, data: [[[[1, 2], [3, 4]]]]}
    outputs: [Y]
""",
        "sub/x.yaml",
    )
    first, second = collect([folder]).cases
    assert first.id == "sub/x:one"
    assert (first.title, first.covers, first.tags, first.erratum) == ("Why", ("SONNX-MAX",), ("t",), "none really")
    assert first.attributes["pads"] == [1, 0, 0, 0]
    assert first.attributes["strides"] == [1, 1]
    assert first.outputs == ("Y", "Indices")
    assert (first.policies.nan, first.policies.tie, first.policies.zero_sign) == ("propagates", "any", "chosen")
    assert isinstance(first.expect, Values)
    assert first.expect.Y.dtype == np.int8
    assert (first.origin.line, first.origin.column) == (8, 5)
    assert disagreements(first) == []
    assert (second.title, second.tags, second.outputs, second.expect) == ("two", (), ("Y",), None)


def test_the_matrix_is_a_product_whose_values_keep_their_type(corpus):
    folder = corpus(
        """\
cases:
  - matrix: {dtype: [float32, int8], kernel: [[2, 2], [3, 2]], mode: [0, 1]}
    id: m-$dtype-k$kernel-$mode
    title: All minima of $dtype, window $kernel
    input: {dtype: $dtype, shape: [1, 2, 5, 7], fill: lowest}
    attributes: {kernel_shape: $kernel, ceil_mode: $mode}
"""
    )
    cases = collect([folder]).cases
    assert [case.id for case in cases][:3] == ["x:m-float32-k2x2-0", "x:m-float32-k2x2-1", "x:m-float32-k3x2-0"]
    assert len(cases) == 8
    assert cases[-1].attributes == {"kernel_shape": [3, 2], "ceil_mode": 1}
    assert cases[-1].title == "All minima of int8, window 3x2"
    assert (cases[-1].X.tensor() == -128).all()


def test_minus_zero_has_its_sign_in_floats_and_is_zero_in_integers(corpus):
    folder = corpus(
        """\
defaults: {attributes: {kernel_shape: [1, 1]}}
cases:
  - {id: data, input: {dtype: float16, data: [[[[-0, 0, -0]]]]}, expect: {Y: [[[[-0, 0, -0]]]], Indices: [[[[-0, 1, 2]]]]}}
  - {id: fill, input: {dtype: bfloat16, shape: [1, 1, 1, 3], fill: -0, set: [{at: [0, 0, -0, 1], to: 0}]}}
  - {id: cell, input: {dtype: float64, shape: [1, 1, 1, 3], fill: -0.0, set: [{at: [0, 0, 0, 1], to: +0}]}}
  - {id: constant, input: {dtype: float32, data: [[[[0]]]]},
     graph: [{op: Pad, pads: [0, 0, 0, 1, 0, 0, 0, 1], constant_value: -0}, {op: MaxPool}]}
  - {id: integers, input: {dtype: int8, data: [[[[-0]]]]}, expect: {Y: [[[[-0, -0, -0]]]]},
     graph: [{op: Pad, pads: [0, 0, 0, 1, 0, 0, 0, 1], constant_value: -0}, {op: MaxPool}]}
"""
    )
    data, fill, cell, constant, integers = collect([folder]).cases
    for case in (data, fill, cell):
        assert np.signbit(case.X.tensor()).tolist() == [[[[True, False, True]]]]
    assert np.signbit(data.expect.Y).tolist() == [[[[True, False, True]]]]
    assert np.signbit(constant.entering).tolist() == [[[[True, False, True]]]]
    assert integers.entering.tolist() == [[[[0, 0, 0]]]]


def test_the_forms_of_expect(corpus):
    folder = corpus(
        """\
defaults: {input: {dtype: float32, shape: [1, 1, 1, 3], fill: 0}}
cases:
  - {id: shape, attributes: {kernel_shape: [1, 2]}, expect: {shape: [1, 1, 1, 2]}}
  - {id: refuse, attributes: {kernel_shape: [3, 2]}, expect: {refuse: window-larger-than-input}}
  - {id: undefined, attributes: {kernel_shape: [2, 1], dilations: [2, 1], pads: [1, 0, 1, 0]},
     expect: {undefined: empty-window}}
  - {id: indices, attributes: {kernel_shape: [1, 3]}, expect: {Indices: [[[[0]]]]}}
  - {id: nothing, attributes: {kernel_shape: [1, 3]}}
"""
    )
    cases = collect([folder]).cases
    kinds = [Shape, Refusal, Undefined, Values, type(None)]
    assert [type(case.expect) for case in cases] == kinds
    assert [problem for case in cases for problem in contradictions(case)] == []


def test_an_expectation_the_reference_does_not_share_is_a_problem_unless_an_erratum_explains_it(corpus):
    wrong = (
        "    expect: {Y: [[[[1, 0], [0, 0]]]]}\n",
        "    expect: {Indices: [[[[8, 1], [3, 4]]]]}\n",
        "    expect: {Y: [[[[0]]]]}\n",
        "    expect: {shape: [1, 1, 3, 3]}\n",
        "    expect: {refuse: invalid-shape}\n",
        "    expect: {undefined: empty-window}\n",
    )
    for text in wrong:
        (case,) = collect([corpus(CASE + text)]).cases
        (problem,) = contradictions(case)
        assert str(problem).startswith(f"{case.origin.path}:2:5: x:a ")
        (case,) = collect([corpus(CASE + text + "    erratum: a misprint\n")]).cases
        assert contradictions(case) == []
        assert disagreements(case)


def test_refused_with_another_reason_than_expected(corpus):
    folder = corpus(
        "cases:\n  - id: a\n    input: {dtype: int32, shape: [1, 1, 3], fill: 0}\n"
        "    attributes: {kernel_shape: [2]}\n    expect: {refuse: invalid-shape}\n"
    )
    (case,) = collect([folder]).cases
    (problem,) = contradictions(case)
    assert "refused as invalid-type" in str(problem)


BROKEN = {
    "not a map": ("- 1\n", "x.yaml:1:1: expected a map, found a list"),
    "no cases": ("spec: sonnx\n", "x.yaml:1:1: missing 'cases'"),
    "cases is text": ("cases: all\n", "x.yaml:1:8: expected a list, found the text 'all'"),
    "no case": ("cases: []\n", "x.yaml:1:8: expected at least 1 entry, found 0"),
    "a case that is none": ("cases: [1]\n", "x.yaml:1:9: expected a map, found the number 1"),
    "an unknown document": (
        "spec: onnx-22x\n" + CASE,
        "x.yaml:1:7: unknown specification 'onnx-22x' (did you mean 'onnx-22'?)",
    ),
    "an operator set that is none": (
        "spec: onnx-0\n" + CASE,
        "x.yaml:1:7: unknown specification 'onnx-0': operator set 0 is none",
    ),
    "an unknown key": (
        CASE + "    atributes: {}\n",
        "x.yaml:5:5: unknown key 'atributes' (did you mean 'attributes'?)",
    ),
    "an unknown key of the file": ("Cases: []\n" + CASE, "x.yaml:1:1: unknown key 'Cases' (did you mean 'cases'?)"),
    "no id": (CASE.replace("id: a", "title: a"), "x.yaml:2:5: missing 'id'"),
    "an id that is a number": (CASE.replace("id: a", "id: 1"), "x.yaml:2:9: expected text, found the number 1"),
    "an id with a colon": (CASE.replace("id: a", "id: 'a:b'"), "x.yaml:2:9: expected an id without spaces"),
    "no input": ("cases:\n  - id: a\n", "x.yaml:2:5: missing 'input'"),
    "an unknown dtype": (CASE.replace("float32", "float31"), "x.yaml:3:20: expected one of float16 |"),
    "a shape with text": (
        CASE.replace("[1, 1, 3, 3]", "[1, a]"),
        "x.yaml:3:40: expected an integer, found the text 'a'",
    ),
    "a negative size": (CASE.replace("[1, 1, 3, 3]", "[1, -1]"), "x.yaml:3:40: expected 0 or more"),
    "a huge shape": (CASE.replace("[1, 1, 3, 3]", "[1000000, 1000000]"), "x.yaml:3:36: a tensor of shape"),
    "two forms": (CASE.replace("fill: 0", "fill: 0, data: []"), "x.yaml:3:"),
    "ragged data": (
        "cases:\n  - id: a\n    input:\n      dtype: int8\n      data: [[1, 2],\n             [3]]\n",
        "x.yaml:6:14: ragged",
    ),
    "a value that does not fit": (
        "cases:\n  - id: a\n    input: {dtype: int8, data: [[[1, 300]]]}\n",
        "x.yaml:3:38: int8 holds -128 to 127, not 300",
    ),
    "an unknown attribute": (
        CASE.replace("kernel_shape: [2, 2]", "kernel_shape: [2, 2], stride: [1, 1]"),
        "x.yaml:4:40: ONNX MaxPool-22 has no attribute 'stride' (did you mean 'strides'?)",
    ),
    "an ill-typed attribute": (
        CASE.replace("kernel_shape: [2, 2]", "kernel_shape: two"),
        "x.yaml:4:32: kernel_shape must be a list of integers, got 'two'",
    ),
    "an attribute of a float": (CASE.replace("[2, 2]}", "[2.5, 2]}"), "x.yaml:4:32: kernel_shape must be a list"),
    "an attribute that is a map": (CASE.replace("[2, 2]}", "{h: 2}}"), "x.yaml:4:32: kernel_shape must be a list"),
    "outputs in another order": (CASE + "    outputs: [Indices, Y]\n", "x.yaml:5:14: expected one of"),
    "Indices of a document without": (
        "spec: onnx-1\n" + CASE + "    outputs: [Y, Indices]\n",
        "x.yaml:6:14: ONNX MaxPool-1 has no Indices",
    ),
    "mixed expectations": (
        CASE + "    expect: {shape: [1], refuse: invalid-type}\n",
        "x.yaml:5:13: expected one of {Y,",
    ),
    "an empty expectation": (CASE + "    expect: {}\n", "x.yaml:5:13: expected one of {Y,"),
    "an unknown reason": (CASE + "    expect: {refuse: invalid}\n", "x.yaml:5:22: expected one of invalid-attribute"),
    "ragged Y": (CASE + "    expect: {Y: [[1], 2]}\n", "x.yaml:5:23: ragged"),
    "fractional Indices": (CASE + "    expect: {Indices: [[[[0.5]]]]}\n", "x.yaml:5:27: int64 cannot hold 0.5"),
    "an unknown policy": (CASE + "    policies: {nans: x}\n", "x.yaml:5:16: unknown key 'nans' (did you mean 'nan'?)"),
    "an unknown interpretation": (CASE + "    policies: {nan: ignore}\n", "x.yaml:5:21: expected one of as-neg-inf"),
    "tags that are text": (CASE + "    tags: neg-inf\n", "x.yaml:5:11: expected a list, found the text 'neg-inf'"),
    "a matrix that is a list": (CASE + "    matrix: [1]\n", "x.yaml:5:13: expected a map, found a list"),
    "a matrix axis without values": (CASE + "    matrix: {n: []}\n", "x.yaml:5:17: expected at least 1 entry"),
    "a matrix axis that is no list": (
        CASE + "    matrix: {n: 3}\n",
        "x.yaml:5:17: expected a list, found the number 3",
    ),
    "a matrix the id does not name": (CASE + "    matrix: {n: [1, 2]}\n", "x.yaml:2:9: the id must name every axis"),
    "a matrix of maps": (
        CASE.replace("id: a", "id: a-$n") + "    matrix: {n: [{}]}\n",
        "x.yaml:5:18: a map cannot be written in an id",
    ),
    "a huge matrix": (
        CASE.replace("id: a", "id: $a$b$c")
        + f"    matrix: {{a: {[*range(100)]}, b: {[*range(100)]}, c: {[*range(100)]}}}\n",
        "x.yaml:5:13: the matrix has 1000000 combinations",
    ),
    "a variable that is none": (
        CASE.replace("id: a", "id: a-$n").replace("fill: 0", "fill: $m") + "    matrix: {n: [1]}\n",
        "x.yaml:3:56: $m is not an axis of the matrix; the axes are n",
    ),
    "a path that leaves the corpus": (
        "cases:\n  - id: a\n    input: {npy: ../x.npy}\n",
        "x.yaml:3:18: '../x.npy' leads out of the corpus",
    ),
    "no npy file": ("cases:\n  - id: a\n    input: {npy: y.npy}\n", "x.yaml:3:18: there is no file 'y.npy'"),
    "a large output": (CASE.replace("[2, 2]}", "[2, 2], pads: [0, 0, 100000, 100000]}"), "x.yaml:4:17: Y would have"),
    "an attribute too large for ONNX": (
        CASE.replace("[2, 2]}", "[2, 2], strides: [99999999999999999999, 1]}"),
        "x.yaml:4:49: strides must be a list of integers of 64 bits",
    ),
    "an id with a line break": (CASE.replace("id: a", 'id: "a\\n"'), "x.yaml:2:9: expected an id without spaces"),
    "outputs that are no list": (CASE + "    outputs: 3\n", "x.yaml:5:14: expected one of"),
    "a truth value for an integer": (
        CASE.replace("[2, 2]}", "[2, 2], ceil_mode: true}"),
        "x.yaml:4:51: ceil_mode must be an integer",
    ),
    "a number without end": (
        f"cases:\n  - id: a\n    input: {{dtype: int8, data: [[[1{'0' * 350}]]]}}\n",
        "x.yaml:3:35: int8 holds -128 to 127",
    ),
    "a huge size beside a 0": (CASE.replace("[1, 1, 3, 3]", f"[0, 1, {10**30}]"), "x.yaml:3:36: a tensor of shape"),
    "more axes than there can be": (CASE.replace("[1, 1, 3, 3]", f"{[1] * 70}"), "x.yaml:3:36: a tensor of 70 axes"),
    "a path with a NUL": ('cases:\n  - id: a\n    input: {npy: "a\\0b"}\n', "x.yaml:3:18: "),
    "a path too long": (f"cases:\n  - id: a\n    input: {{npy: {'a' * 300}}}\n", "x.yaml:3:18: "),
    "NaN among integers": (
        "cases:\n  - id: a\n    input: {dtype: int8, shape: [1], random: {seed: 1, values: special, nan: true}}\n",
        "x.yaml:3:78: nan: true requires",
    ),
    "an unknown attribute in the defaults": (
        "defaults: {attributes: {foo: 1}}\n" + CASE,
        "x.yaml:1:25: ONNX MaxPool-22 has no attribute 'foo'",
    ),
    "an id in the defaults": ("defaults: {id: x}\n" + CASE, "x.yaml:1:12: 'id' belongs to a case"),
    "defaults of another type": ("defaults: {input: x}\n" + CASE, "x.yaml:1:19: expected a map"),
    "a name of the matrix": (CASE + "    matrix: {1a: [1]}\n", "x.yaml:5:14: expected a name of letters"),
    "Indices expected of a document without": (
        "spec: onnx-1\n" + CASE + "    expect: {Indices: [0]}\n",
        "x.yaml:6:23: ONNX MaxPool-1 has no Indices",
    ),
    "a misspelt attribute of a profile": (
        "spec: sonnx\n" + CASE.replace("[2, 2]}", "[2, 2], stride: [1, 1]}"),
        "x.yaml:5:40: SONNX MaxPool has no attribute 'stride' (did you mean 'strides'?)",
    ),
    "empty": ("", "x.yaml:1:1: the file is empty"),
    "tabs": ("cases:\n\t- id: a\n", "x.yaml:2:1: not YAML"),
    "two documents": (CASE + "---\n" + CASE, "x.yaml:5:1: a second document"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_reported_with_its_place(corpus, name):
    text, expected = BROKEN[name]
    lines = problems(corpus(text))
    assert any(line.startswith(expected) for line in lines), lines


def test_a_duplicate_id_names_the_first(corpus):
    second = CASE.removeprefix("cases:\n")
    assert problems(corpus(CASE + second)) == ["x.yaml:5:9: duplicate id 'a', first on line 2"]


def test_all_problems_of_all_files_are_reported_together(corpus):
    folder = corpus(
        "cases:\n  - id: a\n    input: {dtype: x}\n  - id: b\n    input: {dtype: int8, data: [300]}\n    tags: t\n  - id: c\n",
        y="spec: none\n" + CASE,
    )
    assert [line.split(": ")[0] for line in problems(folder)] == [
        "x.yaml:3:20", "x.yaml:5:33", "x.yaml:6:11", "x.yaml:7:5", "y.yaml:1:7",
    ]  # fmt: skip


def test_all_problems_of_one_case_are_reported_together(corpus):
    folder = corpus(
        "titel: x\ncases:\n  - id: a\n    titel: x\n    input: {dtype: int8, data: [[[300, x, 400]]], set: [{at: [9], to: 1}]}\n"
        "    attributes: {foo: 1, bar: 2, kernel_shape: x}\n    expect: {Y: [x]}\n"
        "  - id: a\n    input: {dtype: int8, data: [[[1, 2]]]}\n    attributes: {kernel_shape: [2]}\n    expect: {Indices: [[[0]]]}\n"
    )
    assert [":".join(line.split(":")[1:3]) for line in problems(folder)] == [
        "1:1", "4:5", "5:35", "5:40", "5:43", "6:18", "6:26", "6:48", "8:9",
    ]  # fmt: skip


def test_a_contradicted_expectation_is_reported_with_the_other_problems_of_its_file(corpus):
    folder = corpus(CASE + "    expect: {shape: [1]}\n  - id: b\n")
    assert [line.split(": ")[0] for line in problems(folder)] == ["x.yaml:2:5", "x.yaml:6:5"]


def test_a_variable_in_the_defaults_is_one_of_the_matrix(corpus):
    folder = corpus(
        "defaults: {title: About $dtype, input: {dtype: $dtype}}\n"
        "cases:\n  - matrix: {dtype: [int8, uint8]}\n    id: a-$dtype\n    input: {shape: [1, 1, 2], fill: 0}\n"
        "    attributes: {kernel_shape: [2]}\n"
    )
    cases = collect([folder]).cases
    assert [(case.title, case.X.dtype.name) for case in cases] == [("About int8", "int8"), ("About uint8", "uint8")]


def test_a_path_upwards_has_the_root_of_its_own(tmp_path, monkeypatch):
    for name, text in (("a", CASE), ("b", CASE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text(text)
    (tmp_path / "a/known-divergences.yaml").write_text("known: []\n")
    monkeypatch.chdir(tmp_path / "a")
    corpus = collect([Path("../b")])
    assert [case.id for case in corpus.cases] == ["x:a"]
    assert corpus.known_files == []
    monkeypatch.chdir(tmp_path / "b")
    corpus = collect([Path("../a/x.yaml")])
    assert [case.id for case in corpus.cases] == ["x:a"]
    assert corpus.known_files == [Path("../a/known-divergences.yaml")]


def test_a_problem_of_several_expanded_cases_is_reported_once(corpus):
    folder = corpus(CASE.replace("id: a", "id: a-$n").replace("fill: 0", "fill: x") + "    matrix: {n: [1, 2, 3]}\n")
    assert len(problems(folder)) == 1


def test_a_problem_in_the_defaults_is_shown_there(corpus):
    folder = corpus("defaults: {tags: 3}\n" + CASE)
    assert problems(folder) == ["x.yaml:1:18: expected a list, found the number 3"]


def test_a_wrong_attribute_is_allowed_where_the_refusal_is_expected(corpus):
    folder = corpus(
        CASE.replace("kernel_shape: [2, 2]", "kernel_shape: two, foo: 1.5")
        + "    expect: {refuse: invalid-attribute}\n"
    )
    (case,) = collect([folder]).cases
    assert contradictions(case) == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (("[2, 2]}", "[2, 2], strides: [-1, 1]}"), "invalid-attribute"),
        (("float32", "int32"), "invalid-type"),
        (("[1, 1, 3, 3]", "[1, 3, 3]"), "invalid-attribute"),
        (("[2, 2]}", "[5, 5]}"), "window-larger-than-input"),
    ],
)
def test_a_case_that_the_document_excludes_must_expect_the_refusal(corpus, cli, changed, reason):
    """Otherwise a mistake in a case would conform on every runtime that refuses it."""
    folder = corpus(CASE.replace(*changed))
    (case,) = collect([folder]).cases
    (problem,) = contradictions(case)
    assert f"if that is intended, write expect: {{refuse: {reason}}}" in problem.message
    for command in (("cases", "lint"), ("run",)):
        done = cli(*command, folder)
        assert (done.code, problem.message in done.err) == (2, True)
    (case,) = collect([corpus(CASE.replace(*changed) + f"    expect: {{refuse: {reason}}}\n")]).cases
    assert contradictions(case) == []


def test_limits_can_be_raised(corpus):
    folder = corpus(CASE.replace("[1, 1, 3, 3]", "[1, 1, 40, 40]"))
    assert problems(folder, most_cells=100)
    assert len(collect([folder], 2000).cases) == 1


LARGE = """\
cases:
  - id: a$i
    matrix: {i: [1, 2, 3, 4, 5, 6]}
    input: {dtype: float32, shape: [1, 1, 300, 300], fill: $i, set: [{at: [0, 0, 0, 1], to: 9}]}
    attributes: {kernel_shape: [2, 2]}
  - id: random
    input: {dtype: float32, shape: [1, 1, 300, 300], random: {seed: 1, values: normal}}
    attributes: {kernel_shape: [2, 2]}
"""


def test_a_large_input_is_made_again_wherever_it_is_needed(corpus):
    folder = corpus(LARGE)
    *filled, drawn = collect([folder]).cases
    assert all(len(pickle.dumps(case)) < 5000 for case in (*filled, drawn))
    first = [case.X.tensor().copy() for case in (*filled, drawn)]
    assert [X[0, 0, 0, :3].tolist() for X in first[:-1]] == [[i, 9, i] for i in range(1, 7)]
    for case, X in zip((*filled, drawn), first, strict=True):
        assert (case.X.dtype, case.X.shape, case.X.size, case.X.ndim) == (np.float32, X.shape, 90_000, 4)
        assert np.array_equal(case.X.tensor(), X)
        assert np.array_equal(pickle.loads(pickle.dumps(case)).X.tensor(), X)
    # Those of all cases together do not fit into the limit of one, and need not.
    assert len(collect([folder], 90_000).cases) == 7


OF_A_FILE = """\
cases:
  - id: a$i
    matrix: {i: [5, 6, 7, 8, 9]}
    input: {npy: x.npy, set: [{at: [0, 0, 0, 0], to: $i}]}
    attributes: {kernel_shape: [2, 2]}
"""


def test_a_large_file_is_read_again_and_must_be_the_same(corpus):
    folder = corpus(OF_A_FILE)
    np.save(folder / "x.npy", np.ones((1, 1, 100, 100), np.float32))
    case, *_ = collect([folder]).cases
    elsewhere = pickle.loads(pickle.dumps(case))
    assert case.X.tensor()[0, 0, 0, :2].tolist() == [5, 1]
    np.save(folder / "x.npy", np.zeros((1, 1, 100, 100), np.float32))
    read_again, *_ = collect([folder]).cases
    assert read_again.X.tensor()[0, 0, 0, :2].tolist() == [5, 0]
    case, *_ = collect([folder]).cases
    np.save(folder / "x.npy", np.ones((1, 1, 100, 100), np.float32))
    with pytest.raises(OSError, match=r"x\.npy has changed since the cases were read"):
        case.X.tensor()
    # Another machine may have no such file.
    assert elsewhere.X.tensor()[0, 0, 0, :2].tolist() == [5, 1]


def test_ids_count_from_the_folder_of_the_known_divergences(corpus):
    folder = corpus(CASE, "deep/er/x.yaml", **{"known-divergences": "known: []\n"})
    for path in (folder, folder / "deep", folder / "deep/er/x.yaml"):
        collected = collect([path])
        assert [case.id for case in collected.cases] == ["deep/er/x:a"]
        assert collected.known_files == [folder / "known-divergences.yaml"]
    assert collect([folder]).whole
    assert collect([folder, folder / "deep"]).whole


def test_part_of_a_corpus_is_not_the_whole(corpus):
    folder = corpus(CASE, y=CASE, **{"known-divergences": "known: []\n"})
    assert not collect([folder / "x.yaml"]).whole
    assert collect([folder]).whole


def test_links_that_leave_the_corpus(tmp_path):
    outside = tmp_path / "outside.yaml"
    outside.write_text(CASE)
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "x.yaml").symlink_to(outside)
    assert "leads out of the corpus" in problems(folder)[0]


def test_paths_without_cases(tmp_path):
    with pytest.raises(CorpusError, match="not found"):
        collect([tmp_path / "absent"])
    with pytest.raises(CorpusError, match="no case file"):
        collect([tmp_path])


def test_the_same_id_in_two_corpora(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text(CASE)
    with pytest.raises(CorpusError, match="the id 'x:a' is also used in"):
        collect([tmp_path / "a", tmp_path / "b"])


def test_selection(corpus):
    folder = corpus(CASE + "    tags: [t]\n", y=CASE)
    cases = collect([folder]).cases
    assert [case.id for case in select(cases, [])] == ["x:a", "y:a"]
    assert [case.id for case in select(cases, ["tag:t"])] == ["x:a"]
    assert [case.id for case in select(cases, ["y:*"])] == ["y:a"]
    assert [case.id for case in select(cases, ["a"])] == ["x:a", "y:a"]
    with pytest.raises(NothingSelected, match="'z'"):
        select(cases, ["z"])


def test_the_digest_of_a_case_depends_only_on_what_determines_the_result(corpus):
    def digest(text):
        (case,) = collect([corpus(text)]).cases
        return case.sha256

    first = digest(CASE)
    assert first == digest(CASE + "    title: other\n    tags: [t]\n")
    for other in (
        CASE.replace("fill: 0", "fill: 1"),
        CASE.replace("fill: 0", "fill: -0.0"),
        CASE.replace("[2, 2]}", "[1, 2]}"),
        CASE + "    outputs: [Y]\n",
        CASE + "    policies: {nan: ignored}\n",
        "spec: onnx-12\n" + CASE,
    ):
        assert digest(other) != first


def test_a_case_of_an_operator_set_is_one_of_the_version_in_force_there(corpus):
    (case,) = collect([corpus("spec: onnx-21\n" + CASE)]).cases
    (same,) = collect([corpus("spec: onnx-12\n" + CASE)]).cases
    assert (case.spec, case.sha256) == ("onnx-12", same.sha256)


def test_the_published_schema_allows_what_the_tool_allows():
    schema = case_file_schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    text = """\
spec: sonnx
defaults: {attributes: {kernel_shape: [2, 2]}, input: {dtype: int8}}
cases:
  - matrix: {dtype: [float32], value: [lowest]}
    id: a-$dtype-$value
    input: {dtype: $dtype, shape: [1], fill: $value}
    expect: {refuse: invalid-shape}
"""
    assert list(validator.iter_errors(yaml.safe_load(text))) == []
    assert list(validator.iter_errors(yaml.safe_load(text.replace("refuse:", "refuses:"))))
    assert list(validator.iter_errors(yaml.safe_load(text.replace("spec: sonnx", "spec: onnx-21")))) == []
    assert list(validator.iter_errors(yaml.safe_load(text.replace("spec: sonnx", "spec: onnx-x"))))


def test_the_published_schema_is_printed(cli):
    assert cli("docs", "schema-case").json == case_file_schema()


def test_a_pickled_case_leaves_its_cached_results_behind(corpus):
    (case,) = collect([corpus(CASE)]).cases
    before = pickle.dumps(case)
    digest, pooling = case.sha256, case.resolved
    assert pickle.dumps(case) == before
    (restored, again) = pickle.loads(pickle.dumps((case, case)))
    assert restored is again
    assert (restored.sha256, restored.resolved, restored.origin) == (digest, pooling, case.origin)
    assert restored.provenance == case.provenance
