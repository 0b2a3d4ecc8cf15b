"""A document that nobody has written yet: one class and one line of the table are all that the commands need."""

import itertools
from dataclasses import replace

import pytest

from maxpool_check.corpus.collection import collect
from maxpool_check.fuzzing.generation import generate
from maxpool_check.reference.geometry import Axis, Placement
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.policies import Nan, Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS, documents
from maxpool_check.specifications.roles import NotExpressible, Role, attributes_for, integers
from maxpool_check.specifications.sonnx import SONNX
from maxpool_check.specifications.specification import Specification
from tests.conftest import KERNELS, ROOT

KERNEL = f"python:{KERNELS}:right"


class Tosa(Specification):
    """TOSA's max_pool2d in short: channels last, no remainder, no Indices."""

    def pooling(self, attributes, dtype, shape, policies):
        self.check_dtype(dtype, "supported data types")
        kernel, stride, pad = self.complete(attributes, 2).values()
        axes = self.placed(Placement(), zip(shape[1:3], kernel, stride, (1, 1), pad[:2], pad[2:], strict=True))
        for axis in axes:
            if (axis.size + axis.begin + axis.end - axis.kernel) % axis.stride:
                raise self.invalid("stride", "must divide what the windows cover")
        return Pooling(axes, policies, layout=self.layout, indices=False)


TOSA = Tosa(
    name="tosa-1",
    title="TOSA max_pool2d",
    attributes={"kernel": integers(Role.KERNEL), "stride": integers(Role.STRIDE), "pad": integers(Role.PADS, 0)},
    dtypes=("int8", "float16", "float32"),
    ranks=(2,),
    policies=Policies(inapplicable=frozenset({"valid_ceil", "same_clamp", "nhwc_index_base"})),
    indices=False,
    layout=Layout.CHANNELS_LAST,
)

CASES = ROOT / "tests/data/tosa.yaml"


@pytest.fixture(autouse=True)
def document(monkeypatch):
    monkeypatch.setitem(SPECIFICATIONS, "tosa-1", TOSA)


def test_cases_are_checked_executed_and_explained(cli):
    cli("cases", "lint", CASES).check(0, "2 cases in 1 file")
    counted = "CONFORMS 1 of 1 comparison conforms"
    cli("run", "-t", KERNEL, CASES).check(0, counted)
    cli("explain", "documents", "-p", CASES).check(0, "TOSA max_pool2d  ")


def test_fuzz_finds_and_shrinks(cli, tmp_path):
    def fuzz(target, count):
        return cli("fuzz", "-t", target, "--spec", "tosa-1", "--max-cases", count, "-o", tmp_path / "cases")

    right = fuzz(KERNEL, 10)
    assert (right.code, right.out.splitlines()[-1]) == (0, "nothing new in 10 cases of tosa-1, seed 0")
    assert fuzz(f"python:{KERNELS}:keeps_the_seed", 40).code == 1
    smallest = min(collect([tmp_path / "cases"]).cases, key=lambda case: case.X.size)
    assert (smallest.spec, smallest.X.size) == ("tosa-1", 1)
    assert dict(smallest.attributes) == {"kernel": [1, 1], "stride": [1, 1]}


def test_attributes_there_and_back():
    axes = (Axis(4, 3, 2, 1, 1, 0, 2), Axis(5, 2, 1, 1, 0, 1, 5))
    (attributes,) = attributes_for(TOSA, axes)
    assert attributes == {"kernel": [3, 2], "stride": [2, 1], "pad": [1, 0, 0, 1]}
    assert TOSA.resolve(attributes, "int8", (1, 4, 5, 1)).geometry == axes
    with pytest.raises(NotExpressible, match="dilations"):
        list(attributes_for(TOSA, (replace(axes[0], dilation=2), axes[1])))


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_some_attributes_have_the_geometry_and_the_numbering_of_any_case(name):
    spec = SPECIFICATIONS[name]
    for case in itertools.islice(generate(name, 5), 50):
        geometry, numbering = case.resolved.geometry, case.resolved.numbering if spec.indices else None
        candidates = [
            spec.resolve(attributes, case.X.dtype.name, case.X.shape)
            for attributes in attributes_for(spec, geometry, numbering)
        ]
        same = [each for each in candidates if isinstance(each, Pooling) and each.geometry == geometry]
        assert any(numbering in (None, each.numbering) for each in same), (case.X.shape, case.attributes)


def test_another_edition_is_another_document_of_its_family_with_rules_of_its_own(cli, monkeypatch, tmp_path):
    policies = replace(SONNX.policies, nan=Nan.PROPAGATES)
    edition = replace(SONNX, name="sonnx-2026-10", title="SONNX MaxPool, 2026-10", policies=policies)
    monkeypatch.setitem(SPECIFICATIONS, edition.name, edition)
    assert documents("sonnx") == ("sonnx", "sonnx-2026-10")
    assert documents("sonnx-2026-10") == ("sonnx-2026-10",)
    for name, printed in (("sonnx", "3"), ("sonnx-2026-10", ".nan")):
        (tmp_path / f"{name}.yaml").write_text(
            f"spec: {name}\ncases:\n  - id: one\n    input: {{dtype: float32, data: [[[[1, .nan], [2, 3]]]]}}\n"
            "    attributes: {kernel_shape: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0],\n"
            "      auto_pad: NOTSET, ceil_mode: 0, storage_order: 0}\n"
            f"    expect: {{Y: [[[[{printed}]]]]}}\n"
        )
    run = cli("run", tmp_path, "-t", KERNEL, "--spec", "sonnx", "-q", "-o", "-", "--known", "none")
    verdicts = {each["case"]: each["verdict"] for each in run.results}
    assert verdicts == {"sonnx:one": "conforms", "sonnx-2026-10:one": "diverges"}
