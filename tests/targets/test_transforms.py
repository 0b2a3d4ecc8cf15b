"""The names of targets, and tools that rewrite models: real ones, and ones that are wrong on purpose."""

import sysconfig
import venv
from dataclasses import replace

import numpy as np
import onnx.parser
import pytest

from maxpool_check.results.outcomes import Crashed, NotExecuted, RefusedByTarget, Returned, TimedOut
from maxpool_check.targets.machines import HOST
from maxpool_check.targets.name import BadTarget, ToolName, parse
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import run_record
from tests.targets.test_session import execute


def test_another_release_of_a_target():
    name = parse("transform:onnxruntime?level=basic:on:onnxruntime==1.31.1@CPUExecutionProvider?cpu=1")
    other = name.at("1.23.2")
    assert (name.is_one_version, other.is_one_version) == (False, True)
    assert (other.tool, other.version) == (ToolName("onnxruntime", "1.23.2", {"level": "basic"}), "1.31.1")
    assert (other.distribution, other.provider, other.options) == ("onnxruntime", "CPUExecutionProvider", {"cpu": "1"})
    assert str(parse("onnxruntime-qnn@AProvider").at("1.2.0")) == "onnxruntime-qnn==1.2.0@AProvider"


@pytest.mark.parametrize(("text", "message"), [
    ("", "is not RUNTIME"),
    ("onnxruntine", "did you mean 'onnxruntime'"),
    ("kernels/mine.py:good", "did you mean 'python:kernels/mine.py:good'"),
    ("mine.py", "did you mean 'python:mine.py:FUNCTION'"),
    ("onnxruntime==new", "'new' is not a version"),
    ("onnxruntime?python", "key=value"),
    ("onnxruntime==1.23.2?python=/x", "use one of them"),
    ("python", "unknown runtime 'python'"),
    ("onnxruntime==1.32.0?machine=arm", "machine must be one of x86_64, aarch64"),
    (f"onnxruntime?machine={HOST}&sysroot=here", "a machine other than this one"),
    ("onnxruntime?cpu=max&python=python3", "without python="),
    ("onnxruntime-web==1.30.0?machine=aarch64", "for runtimes with wheels of Python"),
    ("openvino?disable=x", "disable=OPTIMIZER,... is for ONNX Runtime in Python alone"),
    ("python:kernel.py", "python:PATH.py:FUNCTION"),
    ("command:", "command:PROGRAM"),
    ("transform:onnxsim==0.8.1", "it has no :on:RUNTIME"),
    ("transform:onnxsim@CPU:on:onnxruntime", "is not transform:TOOL"),
    ("transform:onnxsin:on:onnxruntime", "unknown tool 'onnxsin' (did you mean 'onnxsim'?)"),
    ("transform:onnxsim?level=all:on:onnxruntime", "unknown option level; onnxsim has python"),
    ("transform:onnxruntime?level=some:on:onnxruntime", "level of onnxruntime must be one of basic, extended"),
    ("transform:onnxruntime?level=all&tool=quant-pre-process:on:onnxruntime", "only one of level, tool"),
    ("transform:onnxsim:on:tract", "'tract' cannot run the models of a tool"),
    ("transform:onnxsim:on:transform:onnxslim:on:onnxruntime", "cannot run the models of a tool"),
])  # fmt: skip
def test_invalid_names(text, message):
    with pytest.raises(BadTarget) as error:
        parse(text)
    assert message in str(error.value)


X = -np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
MODEL = """\
<ir_version: 8, opset_import: ["" : 18]>
g (float[1, 1, 3, 3] X) => (float[N, C, H, W] Y) <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}, float value = {VALUE}> {
  padded = Pad(X, pads, value)
  Y = MaxPool<kernel_shape = [2, 2]>(padded)
}
"""


def request(value, x=X):
    """A MaxPool on X, which a Pad has surrounded by a value."""
    model = onnx.parser.parse_model(MODEL.replace("VALUE", str(value)))
    return Request(x, ("Y",), model.SerializeToString(), {})


def open_session(name, seconds=60):
    return TargetSession(Target(parse(name), seconds))


def first_cell(session, value):
    """The first cell of Y as the tool has made it, and as it is, where it is the padding's value."""
    rewritten, original = execute(session, request(value), replace(request(value), setting="original"))
    assert isinstance(rewritten, Returned), rewritten
    assert isinstance(original, Returned), original
    assert original.outputs["Y"].flat[0] == max(value, -1)
    return rewritten.outputs["Y"].flat[0]


@pytest.mark.runtimes
@pytest.mark.parametrize(("tool", "folds"), [
    ("onnxoptimizer==0.4.2", True),
    ("onnxsim==0.4.36", True),
    ("onnxsim==0.8.1", False),
    ("onnxslim==0.1.98", False),
    ("onnxscript==0.7.2", False),
    ("onnxconverter-common==1.16.0", False),
    ("onnxruntime==1.31.1?level=basic", True),
    ("onnxruntime==1.31.1", True),
    ("onnxruntime==1.31.1?tool=quant-pre-process", True),
])  # fmt: skip
def test_a_pad_with_zero_is_no_padding_of_maxpool(tool, folds):
    with open_session(f"transform:{tool}:on:onnxruntime==1.31.1") as session:
        assert session.profile.description.distribution == tool.partition("==")[0]
        assert first_cell(session, -np.inf) == -1
        assert first_cell(session, 0) == (-1 if folds else 0)
        if tool.startswith("onnxconverter"):
            # float16 only where it has all values.
            assert session.profile.exclude("float64", 2) == "it has no float64; it has float32"
            third, constant = execute(session, request(0, X / 3), request(0.1))
            assert third == NotExecuted("an input is not float32, or has values without an equal in float16")
            assert constant == NotExecuted("a constant of the model has no equal in float16")


@pytest.fixture
def tool(tmp_path):
    """Makes an environment in which ``onnxoptimizer`` is a module with this code; the target's name."""

    def make(code, runtime="onnxruntime"):
        venv.create(tmp_path, symlinks=True)
        (packages,) = tmp_path.glob("lib/python*/site-packages")
        (packages / "installed.pth").write_text(sysconfig.get_path("purelib"))
        (packages / "onnxoptimizer.py").write_text(code)
        (packages / "onnxoptimizer-9.1.dist-info").mkdir()
        (packages / "onnxoptimizer-9.1.dist-info/METADATA").write_text("Name: onnxoptimizer\nVersion: 9.1\n")
        return f"transform:onnxoptimizer?python={tmp_path / 'bin/python'}:on:{runtime}"

    return make


UNCHANGED = "def optimize(model):\n    print('noise')\n    return model\n"

WITHOUT_PADS = """
def optimize(model):
    for node in model.graph.node:
        for attribute in [each for each in node.attribute if each.name == "pads"]:
            node.attribute.remove(attribute)
    return model
"""

# The first model is that of the start, which has a kernel of 1.
DIES = """
import os, signal, tempfile
def optimize(model):
    if model.graph.node[-1].attribute[0].ints == [2, 2]:
        open(os.path.join(tempfile.mkdtemp(), "rest"), "w").close()
        os.kill(os.getpid(), signal.SIGSEGV)
    return model
"""


def verdicts(record):
    return {(each.case.partition(":")[2], each.variant): (each.verdict, each.kinds) for each in record.executions}


def test_a_mistake_of_the_tool(small, tool):
    record = run_record(small, tool(WITHOUT_PADS))
    (target,) = record.header.targets
    assert (target.distribution, target.version) == ("onnxoptimizer", "9.1")
    wrong = {key: kinds for key, (verdict, kinds) in verdicts(record).items() if verdict == "diverges"}
    assert wrong == {("padded", variant): ("pads-ignored",) for variant in ("indices", "y-only")}
    assert verdicts(record)["ordinary", "indices"] == ("conforms", ())


def test_a_mistake_of_the_runtime_is_none_of_the_tool(small, tool):
    record = run_record(small, tool(UNCHANGED, runtime="onnx-reference"))
    ordinary = next(each for each in record.executions if each.case.endswith("ordinary") and each.variant == "indices")
    assert ordinary.verdict == "not-expressible"
    assert ordinary.message.startswith("onnx-reference itself does not conform on the original model: indices-")
    assert verdicts(record)["ordinary", "y-only"] == ("conforms", ())
    assert "diverges" not in {verdict for verdict, _ in verdicts(record).values()}


@pytest.mark.parametrize(
    ("optimize", "outcome"),
    [("assert len(model.graph.node) == 1, 'too many'", RefusedByTarget("onnxoptimizer: AssertionError", "too many")),
     ("while len(model.graph.node) > 1: pass", TimedOut(1))],
)  # fmt: skip
def test_a_tool_that_raises_or_hangs(tool, optimize, outcome):
    seconds = 1 if isinstance(outcome, TimedOut) else 60
    with open_session(tool(f"def optimize(model):\n    {optimize}\n    return model\n"), seconds) as session:
        assert execute(session, request(0)) == [outcome]


def test_the_death_of_the_tool_is_that_of_the_worker_and_leaves_nothing(tool, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with open_session(tool(DIES, runtime="onnx-reference")) as session:
        died, alive = execute(session, request(0), replace(request(0), setting="original"))
    assert isinstance(died, Crashed)
    assert died.how == "killed by SIGSEGV"
    assert "the process of onnxoptimizer ended" in died.stderr
    assert isinstance(alive, Returned)
    assert list(temporary.iterdir()) == []
