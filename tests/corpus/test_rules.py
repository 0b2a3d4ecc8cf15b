"""Rules that a defect states itself: they hold as flags do, read well, and a wrong one is reported at its place."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

import maxpool_check
from maxpool_check.corpus import features
from maxpool_check.corpus.conditions import CaseFeatures, unmet
from maxpool_check.corpus.defect_file import read_defects
from maxpool_check.corpus.features import FLAGS
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.corpus.quantities import IN_WORDS, NAMES, OF_AXES, OF_CASES, YES_OR_NO, Features
from maxpool_check.corpus.rules import stated
from maxpool_check.docs import topics
from maxpool_check.judging.defects import Conditions
from tests.corpus.test_conditions import EXAMPLES, case, graph

FILE = """\
defects:
  - id: D
    runtime: onnxruntime
    title: It crashes
    severity: crash
    mechanism: Unknown.
    conditions: {CONDITIONS}
    remedies: [{none: Nothing helps.REMEDY}]
    expect: [{kinds: [crash]}]
"""
CASES = [each for _, _, having, others in EXAMPLES for each in (*having, *others)]


@pytest.fixture
def defects(tmp_path):
    """Reads a file with a defect that has these conditions."""

    def read(conditions, remedy=""):
        path = tmp_path / "onnxruntime.yaml"
        path.write_text(FILE.replace("CONDITIONS", conditions).replace("REMEDY", remedy))
        return read_defects(path)

    return read


def holding(conditions):
    return [CaseFeatures(each).meets(conditions) for each in CASES]


@pytest.mark.parametrize("form", ["geometry", "values", "graph"])
def test_a_rule_holds_wherever_a_flag_of_this_rule_does(form):
    rules = yaml.safe_load(Path(features.__file__).with_suffix(".yaml").read_text())[form]
    for flag, rule in rules.items():
        own = stated(rule, FLAGS[form])
        assert holding(Conditions(**{form: (own,)})) == holding(Conditions(**{form: (flag,)})), flag


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("some stride <= 1", True),
        ("every stride <= 1", False),
        ("some stride < 1", False),
        ("every stride >= 1", True),
        ("no stride == 2", False),
        ("some stride multiple-of 2", True),
        ("every stride <= kernel", True),
        ("every given-dilation == 1", False),
        ("no given-dilation != 1", True),
        ({"any": ["some stride < 1", "same"]}, False),
        ({"any": [["same", "some stride > 1"], "strides"]}, True),
        ({"not": ["strides", "same"]}, True),
    ],
)
def test_a_rule_of_strides_of_1_and_2(defects, rule, expected):
    (defect,) = defects(f"geometry: {json.dumps([rule])}")
    assert CaseFeatures(case(strides=[1, 2])).meets(defect.conditions) is expected


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ("geometry: [some stride > 2, no-dilation]", "geometry: some stride > 2, no-dilation"),
        ("geometry: [some   stride  <= kernel]", "geometry: some stride <= kernel"),
        ("geometry: [{any: [same, [valid, every kernel == 2]]}]", "geometry: (same or (valid and every kernel == 2))"),
        ("geometry: [{not: {any: [same, valid]}}]", "geometry: not (same or valid)"),
        ("any_values: [nan, some value < -1.5]", "any_values: nan, some value < -1.5"),
        ("graph: [{not: some cast-behind == int64}]", "graph: not some cast-behind == int64"),
    ],
)
def test_a_rule_reads_well_and_is_text_in_json(cli, defects, tmp_path, conditions, text):
    (defect,) = defects(conditions)
    name, _, rules = text.partition(": ")
    assert [str(each) for each in getattr(defect.conditions, name)] == rules.split(", ")
    (tmp_path / "defects").mkdir()
    (tmp_path / "onnxruntime.yaml").rename(tmp_path / "defects/onnxruntime.yaml")
    cli("explain", "D", "-p", tmp_path).check(0, text.replace("any_values", "any values"))
    (listed,) = cli("defects", "list", "-p", tmp_path, "--json").json["defects"]
    assert listed["conditions"] == {name: rules.split(", ")}


def test_a_condition_that_a_case_does_not_meet_is_named_by_its_rule(defects):
    (defect,) = defects("geometry: [{any: [some stride > 2, same]}], graph: [no first-behind == Cast]")
    assert [*unmet(defect.conditions, Features(case(strides=2)))] == [
        "graph: no first-behind == Cast",
        "geometry: (some stride > 2 or same)",
    ]


def test_a_case_without_nodes_meets_no_rule_about_them():
    rule = Conditions(graph=("no first-behind == Cast",))
    assert [CaseFeatures(each).meets(rule) for each in (graph(inside="If"), case())] == [True, False]


@pytest.mark.parametrize(
    ("conditions", "place", "words"),
    [
        ("geometry: [paddin]", "7:29", "expected one of padding | dilation"),
        ("geometry: [paddin]", "7:29", "found the text 'paddin' (did you mean 'padding'?)"),
        (
            "geometry: [sme stride > 1]",
            "7:29",
            "begins with 'some' or 'no' or 'every', found the text 'sme stride > 1'",
        ),
        (
            "geometry: [same, some strid > 1]",
            "7:35",
            "'some strid > 1', unknown quantity 'strid' (did you mean 'stride'?)",
        ),
        ("geometry: [some qqqqqq > 1]", "7:29", "unknown quantity 'qqqqqq'; known quantities: size, kernel, stride"),
        ("geometry: [some stride => 1]", "7:29", "unknown comparison '=>'; known comparisons: ==, !=, <, <=, >, >="),
        ("geometry: [some stride >]", "7:29", "expected 'stride', one comparison, and one number, word or quantity"),
        ("geometry: [no dilation]", "7:29", "expected 'dilation', one comparison"),
        ("geometry: [some stride > kernl]", "7:29", "unknown quantity 'kernl' (did you mean 'kernel'?)"),
        ("geometry: [some stride > channels]", "7:29", "'stride' is not compared with 'channels'"),
        (
            "geometry: [some given-stride > given-dilation]",
            "7:29",
            "'given-stride' is not compared with 'given-dilation'",
        ),
        (
            "geometry: [some channels multiple-of 0]",
            "7:29",
            "expected a positive integer behind 'multiple-of', found '0'",
        ),
        ("geometry: [some row-clipped == 1]", "7:29", "'row-clipped' is so or not, and is compared with nothing"),
        ("graph: [some operator > Cast]", "7:26", "'operator' is in words, which only == and != compare"),
        ("graph: [nan]", "7:26", "expected one of small-zero-pad-in-front |"),
        ("values: [some value == 1.2.3]", "7:27", "unknown quantity '1.2.3'"),
        ("any_values: [some valu > 1]", "7:31", "unknown quantity 'valu' (did you mean 'value'?)"),
        ("geometry: [{any: [same, {not: [some strid > 1]}]}]", "7:49", "unknown quantity 'strid'"),
        ("geometry: [{any: []}]", "7:35", "expected at least 1 entry, found 0"),
        ("geometry: [{not: {any: []}}]", "7:35", "'any' of rules, or 'not' a rule, found a map"),
        ("geometry: [{any: [same], not: valid}]", "7:29", "'any' of rules, or 'not' a rule, found a map"),
        ("geometry: [{ny: [same]}]", "7:30", "unknown key 'ny' (did you mean 'any'?)"),
        ("geometry: [3]", "7:29", "expected text or a map, found the number 3"),
        ("geometry: [{any: [3]}]", "7:36", "found the number 3"),
    ],
)
def test_a_wrong_rule_says_where_it_is_and_what_was_expected(defects, conditions, place, words):
    with pytest.raises(CorpusError) as error:
        defects(conditions)
    assert [words in str(problem) for problem in error.value.problems] == [True], error.value
    assert f"onnxruntime.yaml:{place}: " in str(error.value)


def test_every_wrong_rule_is_told_those_of_remedies_as_well(defects):
    with pytest.raises(CorpusError) as error:
        defects("geometry: [some strid > 1, {any: [x, y]}], graph: [z]", ", conditions: {values: [nann]}")
    places = [(each.line, each.column) for each in error.value.problems]
    assert places == [(7, 29), (7, 52), (7, 55), (7, 69), (8, 61)]


def kind(value):
    """What a quantity says: a word, whether something is so, or a number."""
    return "word" if isinstance(value, str) else "so" if isinstance(value, (bool, np.bool_)) else "number"


@pytest.mark.parametrize("name", NAMES)
def test_a_quantity_is_of_its_kind_also_without_spatial_axes(name):
    flat = [
        maxpool_check.case(np.ones(sizes), kernel_shape=2, expect={"refuse": "invalid-shape"})
        for sizes in ((), 2, (2, 2))
    ]
    found = [value for each in (*CASES, *flat) for value in Features(each)[name].reshape(-1)[:9] if value is not None]
    expected = "word" if name in IN_WORDS else "so" if name.removeprefix("row-") in YES_OR_NO else "number"
    assert {*map(kind, found)} <= {expected}


def test_the_page_of_defects_names_every_quantity():
    page = topics()["defects"].text
    assert {name for name in (*OF_AXES, *OF_CASES) if f"`{name}`" not in page} == set()
