"""Tools that rewrite models: their names, real ones, and ones that are wrong on purpose."""

import sysconfig
import venv
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from maxpool_check.results.outcomes import Crashed, NotExecuted, RefusedByTarget, Returned, TimedOut
from maxpool_check.targets.name import BadTarget, ToolName, parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from tests.conftest import run_record


def test_names():
    name = parse("transform:onnxsim==0.8.1:on:onnxruntime==1.31.1@CPUExecutionProvider?a=1")
    assert name.tool == ToolName("onnxsim", "0.8.1")
    assert (name.runtime, name.version, name.provider) == ("onnxruntime", "1.31.1", "CPUExecutionProvider")
    assert name.options == {"a": "1"}
    assert parse("transform:onnxruntime?level=basic:on:onnx-reference").tool.options == {"level": "basic"}
    assert parse("transform:onnxslim?python=/x/python:on:onnxruntime").tool.options == {"python": "/x/python"}


def test_releases_of_a_tool():
    name = parse("transform:onnxruntime?level=basic:on:onnxruntime==1.31.1")
    assert not name.is_one_version
    assert name.at("1.23.2").tool == ToolName("onnxruntime", "1.23.2", {"level": "basic"})
    assert name.at("1.23.2").version == "1.31.1"
    assert name.at("1.23.2").is_one_version
    assert parse("transform:onnxsim:on:onnxruntime").distribution == "onnxsim"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("transform:onnxsim==0.8.1", "it has no :on:RUNTIME"),
        ("transform:onnxsim", "it has no :on:RUNTIME"),
        ("transform::on:onnxruntime", "is not transform:TOOL"),
        ("transform:onnxsim@CPU:on:onnxruntime", "is not transform:TOOL"),
        ("transform:onnxsin:on:onnxruntime", "unknown tool 'onnxsin' (did you mean 'onnxsim'?)"),
        ("transform:onnxsim==new:on:onnxruntime", "'new' is not a version"),
        ("transform:onnxsim?level=all:on:onnxruntime", "unknown option level; onnxsim has python"),
        ("transform:onnxruntime?level=some:on:onnxruntime", "level of onnxruntime must be one of basic, extended"),
        ("transform:onnxruntime?level=all&tool=quant-pre-process:on:onnxruntime", "only one of level, tool"),
        ("transform:onnxsim==0.8.1?python=/x:on:onnxruntime", "use one of them"),
        ("transform:onnxsim:on:onnxruntine", "did you mean 'onnxruntime'"),
        ("transform:onnxsim:on:tract", "'tract' cannot run the models of a tool"),
        ("transform:onnxsim:on:command:x", "'command:x' cannot run the models of a tool"),
        ("transform:onnxsim:on:transform:onnxslim:on:onnxruntime", "cannot run the models of a tool"),
    ],
)
def test_invalid_names(text, message):
    with pytest.raises(BadTarget) as error:
        parse(text)
    assert message in str(error.value)


X = -np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)


def request(value, x=X):
    """A MaxPool on X, which a Pad has surrounded by a value."""
    constants = [
        numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "pads"),
        numpy_helper.from_array(np.array(value, np.float32), "value"),
    ]
    nodes = [
        helper.make_node("Pad", ["X", "pads", "value"], ["padded"]),
        helper.make_node("MaxPool", ["padded"], ["Y"], kernel_shape=[2, 2]),
    ]
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, x.shape)]
    outputs = [helper.make_tensor_value_info("Y", TensorProto.FLOAT, ["N", "C", "H", "W"])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return Request(x, ("Y",), model.SerializeToString(), {})


def open_session(name, seconds=60):
    return TargetSession(Target(parse(name), seconds))


def execute(session, *requests):
    return [session.outcome(number) for number in session.submit(requests)]


def y_of(outcome):
    assert isinstance(outcome, Returned), outcome
    return outcome.outputs["Y"]


def first_cell(session, value):
    """The first cell of Y as the tool has made it, and as it is, where it is the padding's value."""
    rewritten, original = execute(session, request(value), replace(request(value), setting="original"))
    assert y_of(original).flat[0] == max(value, -1)
    return y_of(rewritten).flat[0]


def test_the_offline_model_of_the_installed_onnx_runtime():
    with open_session("transform:onnxruntime?level=basic:on:onnxruntime") as session:
        description = session.profile.description
        assert description.distribution == "onnxruntime"
        assert description.session_options["runs_on"] == f"onnxruntime {description.version}"
        assert description.session_options["graph_optimization_level"] == "ORT_DISABLE_ALL"
        assert description.session_options["tool_level"] == "basic"
        assert first_cell(session, -np.inf) == -1


runtimes = pytest.mark.runtimes


@runtimes
@pytest.mark.parametrize(
    ("tool", "folds"),
    [
        ("onnxoptimizer==0.4.2", True),
        ("onnxsim==0.4.36", True),
        ("onnxsim==0.8.1", False),
        ("onnxslim==0.1.98", False),
        ("onnxscript==0.7.2", False),
        ("onnxconverter-common==1.16.0", False),
        ("onnxruntime==1.31.1?level=basic", True),
        ("onnxruntime==1.31.1", True),
        ("onnxruntime==1.31.1?tool=quant-pre-process", True),
    ],
)
def test_a_pad_with_zero_is_no_padding_of_maxpool(tool, folds):
    with open_session(f"transform:{tool}:on:onnxruntime==1.31.1") as session:
        assert first_cell(session, -np.inf) == -1
        assert first_cell(session, 0) == (-1 if folds else 0)


@runtimes
def test_float16_only_where_it_has_all_values():
    with open_session("transform:onnxconverter-common==1.16.0:on:onnxruntime==1.31.1") as session:
        assert session.profile.exclude("float64", 2) == "it has no float64; it has float32"
        third, constant = execute(session, request(0, X / 3), request(0.1))
        assert third == NotExecuted("an input is not float32, or has values without an equal in float16")
        assert constant == NotExecuted("a constant of the model has no equal in float16")


@runtimes
def test_a_tool_with_all_cases_of_a_file(cli):
    target = "transform:onnxoptimizer==0.4.2:on:onnxruntime==1.31.1"
    process = cli("run", "cases/edge/strides.yaml", "-t", target, "--known", "none", "--report", "json")
    assert process.code == 0, process.err
    assert process.json["targets"][0]["distribution"] == "onnxoptimizer"


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


def test_an_exception_of_the_tool_is_a_refusal_that_names_it(tool):
    code = "def optimize(model):\n    assert len(model.graph.node) == 1, 'too many'\n    return model\n"
    with open_session(tool(code)) as session:
        assert execute(session, request(0)) == [RefusedByTarget("onnxoptimizer: AssertionError", "too many")]


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


def test_a_tool_that_hangs(tool):
    code = "def optimize(model):\n    while len(model.graph.node) > 1:\n        pass\n    return model\n"
    with open_session(tool(code), seconds=1) as session:
        assert execute(session, request(0)) == [TimedOut(1)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("transform:onnxoptimizer:on:onnxruntime", "onnxoptimizer is not installed in this environment"),
        ("transform:onnxsim?python=/none/python:on:onnxruntime", "No such file or directory"),
    ],
)
def test_a_tool_that_cannot_be_started(name, message):
    with open_session(name) as session, pytest.raises(CannotStart, match=message):
        _ = session.profile
