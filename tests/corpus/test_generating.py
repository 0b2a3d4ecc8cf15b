"""Generated cases: what they cover, that they are what they were drawn for, and that they can be made again."""

import random
import subprocess
import sys
from functools import cache
from itertools import combinations, product

import pytest

from maxpool_check.corpus.case import contradictions
from maxpool_check.corpus.collection import collect
from maxpool_check.corpus.features import BINS, bins
from maxpool_check.reference import definition
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.geometry import AutoPad
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.roles import Role, RoundingType, meanings
from tests.conftest import CASES, ROOT, environment, shipped
from tests.generating.documents import NAMES, generate, written
from tests.generating.space import Drawn, geometric, has, pooling, space
from tests.reference.test_equivalence import assert_same

USUAL = ("onnx-22", "sonnx", "xmos-maxpool2d")
EVERY = [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in NAMES]


text_of = cache(written)


@pytest.fixture(scope="module", params=EVERY)
def generated(request, tmp_path_factory):
    """The name of a document, the cases of its file, read again, and the bins that each was drawn for by its id."""
    path = tmp_path_factory.mktemp(request.param) / f"{request.param}.yaml"
    path.write_text(text_of(request.param))
    return request.param, collect([path]).cases, {entry.id: entry.bins for entry in generate(request.param)}


def short(case):
    return case.id.partition(":")[2]


def test_a_case_has_the_bins_it_was_drawn_for(generated):
    _, cases, drawn = generated
    assert len(drawn) == len(cases)
    for case in cases:
        actual = bins(case)
        assert {factor: actual.get(factor) for factor in drawn[short(case)]} == drawn[short(case)], case.id


def test_every_possible_pair_is_in_some_case(generated):
    name, cases, _ = generated
    seen = {pair for case in cases for pair in combinations(sorted(bins(case).items()), 2)}
    allowed = space(name)
    factors = sorted(allowed.factors)
    missing = [
        pair
        for first, second in combinations(factors, 2)
        for pair in product(
            [(first, a) for a in allowed.factors[first]], [(second, b) for b in allowed.factors[second]]
        )
        if pair not in seen
    ]
    # What no case has is impossible; random geometries are tried elsewhere in this file.
    assert [pair for pair in missing if allowed.possible(dict(pair))] == []
    assert len(missing) < len(seen)


def test_every_case_is_valid_and_both_references_agree(generated):
    _, cases, _ = generated
    assert [problem for case in cases for problem in contradictions(case)] == []
    for case in cases:
        assert isinstance(case.resolved, Pooling), case.id
        X = case.resolved.layout.to_core(case.X.tensor())
        for pooling_of_case in (case.resolved, *case.resolved.alternatives):
            outputs = evaluate(X, pooling_of_case)
            assert not outputs.empty.any(), case.id
            assert_same(outputs, definition.evaluate(X, pooling_of_case))


def test_no_case_is_there_twice(generated):
    _, cases, _ = generated
    assert len({case.sha256 for case in cases}) == len(cases)


def test_what_a_dtype_can_have():
    assert {name for name in BINS["values"] if not has("uint8", name)} == {
        "negative", "wide", "fraction", "neg-inf", "all-neg-inf", "inf", "zeros", "subnormal", "nan", "nan-planes",
    }  # fmt: skip
    assert {name for name in BINS["values"] if not has("float16", name)} == {"wide"}
    assert has("int64", "wide")
    assert not has("int8", "wide")


def test_the_same_bytes_whatever_the_order_of_sets():
    code = "import sys; from tests.generating.documents import written; sys.stdout.write(written('xmos-maxpool2d'))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT,
            env=environment(PYTHONHASHSEED=seed),
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert texts == {text_of("xmos-maxpool2d")}


def any_geometry(chance, document):
    """A geometry, larger than those of the menu, of any attributes that the document has."""
    starts = Role.START in document.roles
    rank = 2 if len(document.ranks) == 1 else chance.choice((1, 2, 3))

    def sizes(low, high):
        same = chance.random() < 0.4
        return (chance.randint(low, high),) * rank if same else tuple(chance.randint(low, high) for _ in range(rank))

    kernel = sizes(1, 5)
    pads = (-3, 0) if starts else chance.choice(((0, 0), (0, 3)))
    auto_pads = sorted(AutoPad, key=lambda auto_pad: auto_pad.value)
    return Drawn(
        sizes(2, 12), kernel, chance.choice((kernel, sizes(1, 6))), sizes(1, chance.choice((1, 3))), sizes(*pads),
        sizes(*pads), chance.choice((AutoPad.EXPLICIT, *auto_pads)),
        chance.choice(meanings(document, Role.ROUNDING) or (RoundingType.FLOOR,)),
    )  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_nothing_that_a_geometry_has_is_called_impossible(name):
    allowed = space(name)
    document = allowed.document
    chance = random.Random(name)
    seen = set()
    for _ in range(1500):
        drawn = any_geometry(chance, document)
        resolved = pooling(document, drawn, allowed.dtypes[0])
        if resolved is None or any(not axis.window(i) for axis in resolved.geometry for i in range(axis.output)):
            continue
        named = geometric(resolved.geometry, drawn.auto_pad, drawn.rounding).items()
        described = [(factor, bin_) for factor, bin_ in named if factor in allowed.factors and bin_ in BINS[factor]]
        seen.update(combinations(described, 2))
    assert len(seen) > 30
    assert [pair for pair in seen if not allowed.possible(dict(pair))] == []


@pytest.mark.parametrize("name", EVERY)
def test_nothing_that_the_corpus_has_is_called_impossible(name):
    cases, allowed = {}, space(name)
    for case in shipped().cases:
        # Graphs have other factors, and generated cases at most three axes.
        if case.spec != name or not case.context.is_alone or case.X.ndim > 5:
            continue
        if not isinstance(case.resolved, Pooling):
            assert bins(case) == {}
            continue
        if evaluate(case.resolved.layout.to_core(case.X.tensor()), case.resolved).empty.any():
            continue
        described = {factor: bin_ for factor, bin_ in bins(case).items() if factor in allowed.factors}
        cases.update((pair, case.id) for pair in combinations(described.items(), 2))
    assert [(case, pair) for pair, case in cases.items() if not allowed.possible(dict(pair))] == []


@pytest.mark.parametrize("name", EVERY)
def test_the_committed_files_are_what_the_tool_writes(name):
    path = CASES / f"generated/{name}.yaml"
    assert path.read_text() == text_of(name)
    assert path.stat().st_size < 300_000
