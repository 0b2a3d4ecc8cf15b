"""Case files: the cases they define, and every problem with its place."""

from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

from maxpool_check.corpus import stored_cases
from maxpool_check.corpus.case import contradictions, disagreements
from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.problems import CorpusError

CASE = (
    "cases:\n  - id: a\n    input: {dtype: float32, shape: [1, 1, 3, 3], fill: 0}\n"
    "    attributes: {kernel_shape: [2, 2]}\n"
)


@pytest.fixture
def corpus(tmp_path):
    """Writes a case file, and others by their names, and gives their folder."""

    def write(text, name="x", **others):
        for path, content in {name: text, **others}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / f"{path}.yaml").write_text(content)
        return tmp_path

    return write


@pytest.fixture
def cases(corpus):
    """The cases of a case file."""
    return lambda text, name="x": collect([corpus(text, name)]).cases


def problems(folder):
    with pytest.raises(CorpusError) as error:
        collect([folder], check=True)
    return [str(problem).removeprefix(f"{folder}/") for problem in error.value.problems]


def test_a_case_in_full(cases):
    first, second = cases(
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
        "sub/x",
    )
    assert first.id == "sub/x:one"
    assert (first.title, first.covers, first.tags, first.erratum) == ("Why", ("SONNX-MAX",), ("t",), "none really")
    assert (first.attributes["pads"], first.attributes["strides"]) == ([1, 0, 0, 0], [1, 1])
    assert first.outputs == ("Y", "Indices")
    assert (first.policies.nan, first.policies.tie, first.policies.zero_sign) == ("propagates", "any", "chosen")
    assert first.expect.Y.dtype == np.int8
    assert (first.origin.line, first.origin.column) == (8, 5)
    assert disagreements(first) == []
    assert (second.title, second.tags, second.outputs, second.expect) == ("two", (), ("Y",), None)


def test_the_matrix_is_a_product_whose_values_keep_their_type(cases):
    made = cases("""\
defaults: {title: "All minima of $dtype, window $kernel", input: {dtype: $dtype}}
cases:
  - matrix: {dtype: [float32, int8], kernel: [[2, 2], [3, 2]], mode: [0, 1]}
    id: m-$dtype-k$kernel-$mode
    input: {shape: [1, 2, 5, 7], fill: lowest}
    attributes: {kernel_shape: $kernel, ceil_mode: $mode}
""")
    assert [case.id for case in made][:3] == ["x:m-float32-k2x2-0", "x:m-float32-k2x2-1", "x:m-float32-k3x2-0"]
    assert len(made) == 8
    assert made[-1].attributes == {"kernel_shape": [3, 2], "ceil_mode": 1}
    assert made[-1].title == "All minima of int8, window 3x2"
    assert (made[-1].X.tensor() == -128).all()


def test_minus_zero_has_its_sign_in_floats_and_is_zero_in_integers(cases):
    data, fill, constant, integers = cases("""\
defaults: {attributes: {kernel_shape: [1, 1]}}
cases:
  - {id: data, input: {dtype: float16, data: [[[[-0, 0, -0]]]]},
     expect: {Y: [[[[-0, 0, -0]]]], Indices: [[[[-0, 1, 2]]]]}}
  - {id: fill, input: {dtype: bfloat16, shape: [1, 1, 1, 3], fill: -0, set: [{at: [0, 0, -0, 1], to: 0}]}}
  - {id: constant, input: {dtype: float32, data: [[[[0]]]]},
     graph: [{op: Pad, pads: [0, 0, 0, 1, 0, 0, 0, 1], constant_value: -0}, {op: MaxPool}]}
  - {id: integers, input: {dtype: int8, data: [[[[-0]]]]}, expect: {Y: [[[[-0, -0, -0]]]]},
     graph: [{op: Pad, pads: [0, 0, 0, 1, 0, 0, 0, 1], constant_value: -0}, {op: MaxPool}]}
""")
    floats = (data.X.tensor(), fill.X.tensor(), data.expect.Y, constant.entering)
    assert [np.signbit(tensor).tolist() for tensor in floats] == [[[[[True, False, True]]]]] * 4
    assert integers.entering.tolist() == [[[[0, 0, 0]]]]


@pytest.mark.parametrize(
    "expect",
    [
        "{Y: [[[[1, 0], [0, 0]]]]}", "{Indices: [[[[8, 1], [3, 4]]]]}", "{Y: [[[[0]]]]}", "{shape: [1, 1, 3, 3]}",
        "{refuse: invalid-shape}", "{undefined: empty-window}",
    ],
)  # fmt: skip
def test_an_expectation_the_reference_does_not_share_is_a_problem_unless_an_erratum_explains_it(cases, expect):
    (case,) = cases(f"{CASE}    expect: {expect}\n")
    (problem,) = contradictions(case)
    assert str(problem).startswith(f"{case.origin.path}:2:5: x:a ")
    (case,) = cases(f"{CASE}    expect: {expect}\n    erratum: a misprint\n")
    assert contradictions(case) == []
    assert disagreements(case)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [(("float32", "int32"), "invalid-type"), (("[2, 2]}", "[5, 5]}"), "window-larger-than-input")],
)
def test_a_case_that_the_document_excludes_must_expect_the_refusal(corpus, cases, cli, changed, reason):
    """Otherwise a mistake in a case would conform on every runtime that refuses it."""
    text = CASE.replace(*changed)
    (case,) = cases(text)
    (problem,) = contradictions(case)
    assert f"if that is intended, write expect: {{refuse: {reason}}}" in problem.message
    cli("run", corpus(text)).check(2, problem.message)
    (case,) = cases(f"{text}    expect: {{refuse: {reason}}}\n")
    assert contradictions(case) == []
    (case,) = cases(f"{text}    expect: {{refuse: invalid-shape}}\n")
    assert f"refused as {reason}" in contradictions(case)[0].message


def but(old, new, more=""):
    """The case with another text for a part of it, and more lines."""
    return CASE.replace(old, new) + more


ONE = "cases:\n  - id: a\n    input: "
ATTRIBUTE = "[2, 2]}"

BROKEN = [
    ("- 1\n", "1:1: expected a map, found a list"),
    ("spec: onnx-22x\n" + CASE, "1:7: unknown specification 'onnx-22x' (did you mean 'onnx-22'?)"),
    (CASE + "    atributes: {}\n", "5:5: unknown key 'atributes' (did you mean 'attributes'?)"),
    (but("id: a", "id: 1"), "2:9: expected text, found the number 1"),
    (but("id: a", "id: 'a:b'"), "2:9: expected an id without spaces"),
    (but("float32", "float31"), "3:20: expected one of float16 |"),
    (but("3, 3]", "a]"), "3:43: expected an integer, found the text 'a'"),
    (but("1, 1, 3, 3]", "1000000, 1000000]"), "3:36: a tensor of shape"),
    (ONE + "\n      dtype: int8\n      data: [[1, 2],\n             [3]]\n", "6:14: ragged"),
    (ONE + "{dtype: int8, data: [[[1, 300]]]}\n", "3:38: int8 holds -128 to 127, not 300"),
    (ONE + "{dtype: int8, shape: [1], random: {seed: 1, values: special, nan: true}}\n", "3:78: nan: true requires"),
    (ONE + "{npy: y.npy}\n", "3:18: there is no file 'y.npy'"),
    (ONE + '{npy: "a\\0b"}\n', "3:18: "),
    (but(ATTRIBUTE, "[2, 2], stride: 1}"), "4:40: ONNX MaxPool-22 has no attribute 'stride' (did you mean 'strides'?)"),
    (but(ATTRIBUTE, "two}"), "4:32: kernel_shape must be a list of integers, got 'two'"),
    (but(ATTRIBUTE, f"[2, 2], strides: [{10**20}, 1]}}"), "4:49: strides must be a list of integers of 64 bits"),
    (but(ATTRIBUTE, "[2, 2], pads: [0, 0, 100000, 100000]}"), "4:17: Y would have"),
    # Of no cells, but of a size that is too large.
    (but(ATTRIBUTE, "[4, 1], pads: [0, 0, 0, 2147483648]}"), "4:17: Y would have 2147483651 cells"),
    ("spec: onnx-1\n" + CASE + "    outputs: [Y, Indices]\n", "6:14: ONNX MaxPool-1 has no Indices"),
    (CASE + "    expect: {Indices: [[[[0.5]]]]}\n", "5:27: int64 cannot hold 0.5"),
    (CASE + "    policies: {nan: ignore}\n", "5:21: expected one of as-neg-inf"),
    (CASE + "    matrix: {n: [1, 2]}\n", "2:9: the id must name every axis"),
    (CASE + "    matrix: {1a: [1]}\n", "5:14: expected a name of letters"),
    (but("id: a", "id: a-$n", "    matrix: {n: [{}]}\n"), "5:18: a map cannot be written in an id"),
    (but("id: a", "id: $a$b", f"    matrix: {{a: &n {[*range(999)]}, b: *n}}\n"), "5:13: the matrix has 998001"),
    (but("id: a", "id: a-$n", "    tags: [$m]\n    matrix: {n: [1]}\n"), "5:12: $m is not an axis of the matrix; the"),
    ("defaults: {id: x}\n" + CASE, "1:12: 'id' belongs to a case"),
]


@pytest.mark.parametrize(("text", "expected"), BROKEN, ids=[expected for _, expected in BROKEN])
def test_a_broken_file_is_reported_with_its_place(corpus, text, expected):
    lines = problems(corpus(text))
    assert any(line.startswith(f"x.yaml:{expected}") for line in lines), lines


def test_all_problems_are_reported_together_and_once(corpus):
    three = but("id: a", "id: a-$n", "    matrix: {n: [1, 2, 3]}\n").replace("fill: 0", "fill: x")
    folder = corpus(
        "titel: x\ncases:\n  - id: a\n    titel: x\n"
        "    input: {dtype: int8, data: [[[300, x, 400]]], set: [{at: [9], to: 1}]}\n"
        "    attributes: {foo: 1, bar: 2, kernel_shape: x}\n    expect: {Y: [x]}\n"
        "  - id: a\n    input: {dtype: int8, data: [[[1, 2]]]}\n    attributes: {kernel_shape: [2]}\n"
        "    expect: {Indices: [[[0]]]}\n",
        contradicted=CASE + "    expect: {shape: [1]}\n  - id: b\n",
        defaults="defaults: {tags: 3}\n" + CASE,
        expanded=three,
    )
    assert [line.split(": ")[0] for line in problems(folder)] == [
        "contradicted.yaml:2:5", "contradicted.yaml:6:5", "defaults.yaml:1:18", "expanded.yaml:3:56",
        *[f"x.yaml:{place}" for place in ("1:1", "4:5", "5:35", "5:40", "5:43", "6:18", "6:26", "6:48", "8:9")],
    ]  # fmt: skip
    assert "x.yaml:8:9: duplicate id 'a', first on line 3" in problems(folder)


@pytest.mark.parametrize("most", [5, 500])
def test_a_large_file_is_read_again_and_must_be_the_same(corpus, monkeypatch, most):
    monkeypatch.setattr(stored_cases, "MOST_IN_MEMORY", most)
    folder = corpus(f"cases:\n  - id: a$i\n    matrix: {{i: {[*range(5, 127)]}}}\n    "
                    "input: {npy: x.npy, set: [{at: [0, 0, 0, 0], to: $i}]}\n"
                    "    attributes: {kernel_shape: [2, 2]}\n")  # fmt: skip
    np.save(folder / "x.npy", np.ones((1, 1, 100, 100), np.float32))
    case, *_ = collect([folder]).cases
    assert case.X.tensor()[0, 0, 0, :2].tolist() == [5, 1]
    case, *_ = collect([folder]).cases
    np.save(folder / "x.npy", np.zeros((1, 1, 100, 100), np.float32))
    with pytest.raises(OSError, match=r"x\.npy has changed since the cases were read"):
        case.X.tensor()
    case, *_ = collect([folder]).cases
    assert case.X.tensor()[0, 0, 0, :2].tolist() == [5, 0]


def test_ids_count_from_the_folder_of_the_known_divergences(corpus, monkeypatch):
    folder = corpus(CASE, "deep/er/x", y=CASE, **{"known-divergences": "defects: []\n"})
    for path in (folder, folder / "deep", folder / "deep/er/x.yaml"):
        collected = collect([path])
        assert (collected.cases[0].id, collected.whole) == ("deep/er/x:a", path == folder)
        assert collected.known_files == [folder / "known-divergences.yaml"]
    assert collect([folder, folder / "deep"]).whole
    # A path upwards has the root of its own.
    (folder / "other").mkdir()
    monkeypatch.chdir(folder / "other")
    collected = collect([Path("../deep/er/x.yaml")])
    assert ([case.id for case in collected.cases], collected.known_files) == (
        ["deep/er/x:a"], [Path("../known-divergences.yaml")],
    )  # fmt: skip


def test_paths_that_are_no_corpus(tmp_path):
    (tmp_path / "outside.yaml").write_text(CASE)
    for name in ("a", "b", "empty", "link"):
        (tmp_path / name).mkdir()
    for name in ("a", "b"):
        (tmp_path / name / "x.yaml").write_text(CASE)
    (tmp_path / "link/x.yaml").symlink_to(tmp_path / "outside.yaml")
    messages = ("leads out of the corpus", "not found", "no case file", "is also used in")
    for names, message in zip(("link", "absent", "empty", "a b"), messages, strict=True):
        with pytest.raises(CorpusError, match=message):
            collect([tmp_path / name for name in names.split()])


def test_the_digest_of_a_case_depends_only_on_what_determines_the_result(cases):
    first, same, *others = (
        cases(text)[0].sha256
        for text in (
            CASE, CASE + "    title: other\n    tags: [t]\n",
            but("fill: 0", "fill: 1"), but("fill: 0", "fill: -0.0"), but("[2, 2]}", "[1, 2]}"),
            CASE + "    outputs: [Y]\n", CASE + "    policies: {nan: ignored}\n", "spec: onnx-12\n" + CASE,
        )
    )  # fmt: skip
    assert first == same
    assert first not in others
    # A case of an operator set is one of the version in force there.
    (case,) = cases("spec: onnx-21\n" + CASE)
    assert (case.spec, case.sha256) == ("onnx-12", others[-1])


def test_the_published_schema_allows_what_the_tool_allows(cli):
    schema = cli("docs", "schema-case").json
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
    changes = (("refuse:", "refuses:"), ("onnx", "onnx"), ("sonnx", "onnx-21"), ("sonnx", "onnx-x"))
    valid = [validator.is_valid(yaml.safe_load(text.replace(old, new))) for old, new in changes]
    assert valid == [False, True, True, False]


def test_many_unknown_keys_are_refused_with_the_names_of_some_and_half_a_million_are_not_read(cli, tmp_path):
    path, keys = tmp_path / "many.yaml", [f"    key{number}: 1\n" for number in range(500_000)]
    path.write_text(CASE + "".join(keys[:9_000]))
    done = cli("cases", "lint", path).check(2, "9000 unknown keys, 8900 of which are not named")
    assert "unknown key 'key7'" in done.err
    path.write_text(CASE + "".join(keys))
    cli("cases", "lint", path).check(2, "a map has more than 10000 keys", "1 problem")
