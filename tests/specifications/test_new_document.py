"""A document that nobody has written yet: one class and one line of the table are all that the commands need."""

from dataclasses import replace

import pytest
import yaml

from maxpool_check.corpus.collection import collect
from maxpool_check.fuzzing.generation import generate
from maxpool_check.reference.geometry import Axis, Placement
from maxpool_check.reference.numbering import Layout
from maxpool_check.reference.policies import Policies
from maxpool_check.reference.pooling import Pooling
from maxpool_check.running.shrinking import shrink
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.roles import NotExpressible, Role, attributes_for, integers
from maxpool_check.specifications.specification import Reason, Refused, Specification
from tests.conftest import KERNELS, command

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
    return TOSA


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus" / "tosa.yaml"
    path.parent.mkdir()
    path.write_text(CASES)
    return path


def execute(*arguments):
    """Exit code and stdout of the command line, in this process, which knows the document."""
    done = command(*arguments)
    return done.code, done.out


def test_lint(corpus):
    code, output = execute("cases", "lint", corpus)
    assert (code, output.partition(",")[0]) == (0, "2 cases in 1 file")


def test_run(corpus):
    code, output = execute("run", corpus, "-t", KERNEL)
    assert code == 0
    # The last line may be wrapped to the terminal.
    assert " ".join(output.split()).endswith(
        "CONFORMS 0 unexpected; 1 of 1 compared execution conforms, 1 not expressible (2 executions of 2 cases)"
    )


def test_fuzz(tmp_path):
    code, output = execute("fuzz", "-t", KERNEL, "--spec", "tosa-1", "--max-cases", "30", "-o", tmp_path / "cases")
    assert (code, output.splitlines()[-1]) == (0, "nothing new in 30 cases of tosa-1, seed 0")


def test_fuzz_finds_and_shrinks(tmp_path):
    target = f"python:{KERNELS}:keeps_the_seed"
    code, _ = execute("fuzz", "-t", target, "--spec", "tosa-1", "--max-cases", "60", "-o", tmp_path / "cases")
    assert code == 1
    smallest = min(collect([tmp_path / "cases"]).cases, key=lambda case: case.X.size)
    assert smallest.spec == "tosa-1"
    assert (smallest.X.size, dict(smallest.attributes)) == (1, {"kernel": [1, 1], "stride": [1, 1]})


def test_drawn_cases_use_all_attributes_and_are_excluded_where_they_must_be(document):
    cases = [case for case, _ in zip(generate("tosa-1", 0), range(60), strict=False)]
    assert {name for case in cases for name in case.attributes} == set(document.attributes)
    assert {case.X.dtype.name for case in cases} == set(document.dtypes)
    excluded = [case for case, _ in zip(generate("tosa-1", 0, invalid=True), range(20), strict=False)]
    assert all(isinstance(case.resolved, Refused) for case in excluded)


def test_documents(corpus):
    code, output = execute("explain", "documents", "-p", corpus)
    assert code == 0
    assert "TOSA max_pool2d  " in output


def test_the_published_schema_has_it(corpus):
    code, output = execute("docs", "schema-case")
    assert code == 0
    assert "tosa-1" in yaml.safe_load(output)["properties"]["spec"]["anyOf"][0]["enum"]


def test_attributes_of_a_geometry_and_back(document):
    axes = (Axis(4, 3, 2, 1, 1, 0, 2), Axis(5, 2, 1, 1, 0, 1, 5))
    (attributes,) = attributes_for(document, axes)
    assert attributes == {"kernel": [3, 2], "stride": [2, 1], "pad": [1, 0, 0, 1]}
    assert document.resolve(attributes, "int8", (1, 4, 5, 1)).geometry == axes
    with pytest.raises(NotExpressible, match="dilations"):
        list(attributes_for(document, (replace(axes[0], dilation=2), axes[1])))


def test_pads_by_axis_lose_those_of_an_axis(document):
    # Of another rank the document excludes everything; what is dropped shows in what is tried.
    (case,) = [case for case, _ in zip(generate("tosa-1", 3), range(1), strict=False)]
    case = replace(case, attributes={"kernel": [3, 2], "stride": [1, 1], "pad": [1, 2, 3, 4]})
    tried = []
    shrink(case, lambda candidate: bool(tried.append(candidate)))
    assert {(3, 4), (1, 2)} <= {
        tuple(each.attributes["pad"]) for each in tried if len(each.attributes.get("pad", ())) == 2
    }
