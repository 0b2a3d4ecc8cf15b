"""A document that nobody has written yet: one class and one line of the table are all that the commands need."""

from dataclasses import replace

import pytest
import yaml

from maxpool_check.corpus.collection import collect
from maxpool_check.fuzzing.generation import generate
from maxpool_check.reference.geometry import Axis, Placement
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.policies import Nan, Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.running.shrinking import shrink
from maxpool_check.specifications import SPECIFICATIONS, documents
from maxpool_check.specifications.roles import NotExpressible, Role, attributes_for, integers
from maxpool_check.specifications.sonnx import SONNX
from maxpool_check.specifications.specification import Reason, Refused, Specification
from tests.conftest import KERNELS

KERNEL = f"python:{KERNELS}:right"


class Tosa(Specification):
    """TOSA's max_pool2d in short: channels last, the pads of an axis side by side, no remainder, no Indices."""

    def pooling(self, attributes, dtype, shape, policies):
        self.check_dtype(dtype, "supported data types")
        if len(shape) != 4:
            raise Refused(Reason.INVALID_SHAPE, "X must be N x H x W x C", clause=f"{self.title}, input")
        kernel, stride, pad = self.complete(attributes, 2).values()
        axes = self.placed(Placement(), zip(shape[1:3], kernel, stride, (1, 1), pad[::2], pad[1::2], strict=True))
        for axis in axes:
            if max(axis.begin, axis.end) >= axis.kernel:
                raise self.invalid("pad", "must be smaller than the kernel")
            if (axis.size + axis.begin + axis.end - axis.kernel) % axis.stride:
                raise self.invalid("stride", "must divide what the windows cover")
        return Pooling(axes, policies, layout=self.layout, indices=False)


TOSA = Tosa(
    name="tosa-1",
    title="TOSA max_pool2d",
    attributes={
        "kernel": integers(Role.KERNEL),
        "stride": integers(Role.STRIDE),
        "pad": integers(Role.PADS_BY_AXIS, 0),
    },
    dtypes=("int8", "float16", "float32"),
    ranks=(2,),
    policies=Policies(inapplicable=frozenset({"valid_ceil", "same_clamp", "nhwc_index_base"})),
    indices=False,
    layout=Layout.CHANNELS_LAST,
)

CASES = """\
spec: tosa-1
cases:
  - id: top-and-left
    title: Padded at the top and at the left
    tags: [documents]
    input: {dtype: float32, shape: [1, 3, 3, 2], arange: {}}
    attributes: {kernel: [2, 2], stride: [2, 2], pad: [1, 0, 1, 0]}
    expect: {Y: [[[[0, 1], [4, 5]], [[12, 13], [16, 17]]]]}
  - id: remainder
    title: A remainder is refused
    input: {dtype: int8, shape: [1, 4, 3, 1], fill: 1}
    attributes: {kernel: [2, 2], stride: [2, 2]}
    expect: {refuse: invalid-attribute}
"""


@pytest.fixture(autouse=True)
def document(monkeypatch):
    monkeypatch.setitem(SPECIFICATIONS, "tosa-1", TOSA)


def test_cases_are_checked_executed_and_explained(cli, tmp_path):
    (tmp_path / "tosa.yaml").write_text(CASES)
    lint, run, explained = (
        cli(*words, tmp_path) for words in (("cases", "lint"), ("run", "-t", KERNEL), ("explain", "documents", "-p"))
    )
    assert (lint.code, lint.out.partition(",")[0]) == (0, "2 cases in 1 file")
    assert (run.code, explained.code) == (0, 0)
    # The last line may be wrapped to the terminal.
    assert " ".join(run.out.split()).endswith(
        "CONFORMS 0 unexpected; 1 of 1 compared execution conforms, 1 not expressible (2 executions of 2 cases)"
    )
    assert "TOSA max_pool2d  " in explained.out
    schema = yaml.safe_load(cli("docs", "schema-case").out)
    assert "tosa-1" in schema["properties"]["spec"]["anyOf"][0]["enum"]


def test_fuzz_finds_and_shrinks(cli, tmp_path):
    def fuzz(target, count):
        return cli("fuzz", "-t", target, "--spec", "tosa-1", "--max-cases", count, "-o", tmp_path / "cases")

    right = fuzz(KERNEL, 10)
    assert (right.code, right.out.splitlines()[-1]) == (0, "nothing new in 10 cases of tosa-1, seed 0")
    assert fuzz(f"python:{KERNELS}:keeps_the_seed", 40).code == 1
    smallest = min(collect([tmp_path / "cases"]).cases, key=lambda case: case.X.size)
    assert (smallest.spec, smallest.X.size) == ("tosa-1", 1)
    assert dict(smallest.attributes) == {"kernel": [1, 1], "stride": [1, 1]}


def test_drawn_cases_use_all_attributes_and_are_excluded_where_they_must_be():
    cases = [case for case, _ in zip(generate("tosa-1", 0), range(60), strict=False)]
    assert {name for case in cases for name in case.attributes} == set(TOSA.attributes)
    assert {case.X.dtype.name for case in cases} == set(TOSA.dtypes)
    excluded = [case for case, _ in zip(generate("tosa-1", 0, invalid=True), range(20), strict=False)]
    assert all(isinstance(case.resolved, Refused) for case in excluded)


def test_pads_by_axis_there_and_back():
    axes = (Axis(4, 3, 2, 1, 1, 0, 2), Axis(5, 2, 1, 1, 0, 1, 5))
    (attributes,) = attributes_for(TOSA, axes)
    assert attributes == {"kernel": [3, 2], "stride": [2, 1], "pad": [1, 0, 0, 1]}
    assert TOSA.resolve(attributes, "int8", (1, 4, 5, 1)).geometry == axes
    with pytest.raises(NotExpressible, match="dilations"):
        list(attributes_for(TOSA, (replace(axes[0], dilation=2), axes[1])))
    # Of another rank the document excludes everything; what is dropped shows in what is tried.
    case = replace(next(generate("tosa-1", 3)), attributes={"kernel": [3, 2], "stride": [1, 1], "pad": [1, 2, 3, 4]})
    tried = []
    shrink(case, lambda candidate: bool(tried.append(candidate.attributes.get("pad"))))
    assert [1, 2] in tried
    assert [3, 4] in tried


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
    run = cli("run", tmp_path, "-t", KERNEL, "--spec", "sonnx", "--report", "json", "--known", "none")
    verdicts = {each["case"]: each["verdict"] for each in run.json["results"]}
    assert verdicts == {"sonnx:one": "conforms", "sonnx-2026-10:one": "diverges"}
