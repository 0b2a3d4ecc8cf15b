"""A Python function says what it has and wants: in its module, or in the name of the target."""

import shlex

import pytest

from tests.conftest import CASES, command

RIGHT = """\
import sys
sys.path.insert(0, {tests!r})
from kernels import right
"""


@pytest.fixture
def kernel(tmp_path):
    """Writes a module with a function ``f`` that is right, and returns its target with some options."""

    def write(code, options=""):
        (tmp_path / "k.py").write_text(RIGHT.format(tests=str(CASES.parent / "tests")) + code)
        return f"python:{tmp_path / 'k.py'}:f{options}"

    return write


def run(*arguments):
    return command("run", *arguments, "--report", "json")


F = "\n\ndef f(X, attributes):\n    return right(X, attributes)\n"


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("DTYPES, SPATIAL, INDICES = ['int8'], [2], None", ""),
        ("import numpy\nDTYPES, SPATIAL, INDICES = numpy.int8, 2, None", ""),
        ("", "?dtypes=int8&spatial=2&indices=none"),
        ("DTYPES, SPATIAL, INDICES = ['float32'], [3], 'plane'", "?dtypes=int8&spatial=2&indices=none"),
    ],
)
def test_module_and_name_say_what_a_function_has(kernel, code, options):
    done = run("corpus:onnx", "-t", kernel(code + F, options))
    document = done.json
    assert document["errors"] == []
    (part,) = document["tested"]
    assert (done.code, document["result"]) == (0, "CONFORMS")
    assert part["part"].startswith("int8, 2 spatial axes, without ")
    assert "Indices" in part["part"].partition("without ")[2].split(", ")
    assert 0 < part["cases"] < part["of"]
    assert part["cases"] + sum(part["left"].values()) == part["of"]
    assert "it has no float32; it has int8" in part["left"]


def test_what_a_function_does_not_implement_is_counted_and_no_fault(kernel):
    code = F.replace(
        "    return",
        "    if set(attributes['dilations']) != {1}: raise NotImplementedError('no dilations')\n    return",
    )
    done = run("corpus:onnx", "-t", kernel(code))
    (part,) = done.json["tested"]
    assert (done.code, done.json["faults"], part["part"]) == (0, [], "without dilations")
    assert list(part["left"]) == ["no dilations"]
    text = " ".join(command("run", "corpus:onnx", "-t", kernel(code)).out.split())
    assert (
        f"Part: without dilations: {part['cases']} of {part['of']} cases; not: no dilations ({part['left']['no dilations']} case"
        in text
    )
    # A refusal of what is valid is a fault.
    wrong = run("corpus:onnx", "-t", kernel(code.replace("NotImplementedError", "ValueError")))
    assert (wrong.code, {kind for each in wrong.json["faults"] for kind in each["kinds"]}) == (1, {"refuses-valid"})
    # What must be refused is not refused either by what is not implemented.
    code = F.replace("return right", "raise NotImplementedError('nothing') or right")
    assert run("corpus:onnx", "-t", kernel(code)).code == 4


@pytest.mark.parametrize(
    ("code", "options", "code_of_exit", "message"),
    [
        ("DTYPES = ['float31']", "", 3, "'dtypes[0]'"),
        ("", "?dtype=int8", 2, "unknown option dtype (did you mean 'dtypes'?)"),
        ("", "?dtypes=", 2, "the option dtypes has no value"),
        ("", "?spatial=two", 3, "'spatial[0]'"),
        ("WANTS = 'pytorch'", "", 3, "WANTS is 'pytorch'; it may be numpy, "),
        ("", "?indices=rows", 3, "'indices'"),
        ("import no_such_module", "", 3, "No module named 'no_such_module'; the option python of the target names"),
    ],
)
def test_a_mistake_in_what_a_function_says_of_itself(kernel, code, options, code_of_exit, message):
    done = command("run", "corpus:onnx", "-t", kernel(code + F, options))
    words = " ".join((done.out + done.err).split())
    assert done.code == code_of_exit
    assert all(part in words for part in message.split("; ")), words


BESIDE = """
import ctypes

def f(X, attributes):
    result = right(X, attributes)
    ctypes.memset(X.ctypes.data {place}, 1, 1)
    return result
"""


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("+ X.nbytes", "wrote beside X"),
        ("- 1", "wrote beside X"),
        ("", "wrote into X"),
        ("+ X.nbytes - 1", "wrote into X"),
    ],
)
def test_a_function_that_writes_into_its_input_or_beside_it_is_found_out(kernel, place, message):
    done = run("corpus:onnx", "-t", kernel(BESIDE.format(place=place)), "-k", "onnx/examples:*2d*")
    assert done.code == 3
    assert {message in each["message"] for each in done.json["errors"]} == {True}


DIES = """
import os, time

def f(X, attributes):
    if attributes["strides"] == [2, 2]:
        {how}
    return right(X, attributes)
"""


@pytest.mark.parametrize(("how", "kind"), [("os.kill(os.getpid(), 9)", "crash"), ("time.sleep(60)", "timeout")])
def test_a_call_that_hangs_or_kills_the_process_costs_its_own_execution_alone(kernel, how, kind, tmp_path):
    cases = "".join(
        f"  - {{id: s{n}, title: T, input: {{dtype: float32, shape: [1, 1, 4, 4], arange: {{}}}}, attributes: {{kernel_shape: [2, 2], "
        f"strides: [{n}, {n}]}}, outputs: [Y]}}\n"
        for n in (1, 2, 3)
    )
    (tmp_path / "c.yaml").write_text(f"spec: onnx-22\ncases:\n{cases}")
    done = run(tmp_path / "c.yaml", "-t", kernel(DIES.format(how=how)), "--timeout", "2")
    document = done.json
    assert (done.code, document["summary"]["conforms"]) == (1, 2)
    assert [(each["kinds"], each["example"]["case"][-2:]) for each in document["faults"]] == [([kind], "s2")]


TORCH = """
import torch
import torch.nn.functional as F

WANTS, SPATIAL, DTYPES = "torch", 2, [torch.float32, torch.int8]


def f(x, kernel_size, stride, padding, dilation, ceil_mode):
    assert x.device.type == "cpu" and len(kernel_size) == len(stride) == len(padding) == len(dilation) == 2
    assert isinstance(ceil_mode, bool)
    return F.max_pool2d(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)


def by_name(input, kernel_size, stride=None, padding=0, return_indices=False):
    return F.max_pool2d(input, kernel_size, stride, padding, return_indices=return_indices)


def swallows_nan(x, kernel_size, stride, padding, dilation, ceil_mode):
    y, indices = f(torch.nan_to_num(x, nan=-torch.inf) if x.dtype == torch.float32 else x, kernel_size, stride, padding, dilation, ceil_mode)
    return y, indices


def last_of_equals(x, kernel_size, stride, padding, dilation, ceil_mode):
    y, indices = f(x.flip(2, 3), kernel_size, stride, padding, dilation, ceil_mode)
    plane = x.shape[2] * x.shape[3]
    return y.flip(2, 3), plane - 1 - indices.flip(2, 3)


def counts_the_whole_tensor(x, kernel_size, stride, padding, dilation, ceil_mode):
    y, indices = f(x, kernel_size, stride, padding, dilation, ceil_mode)
    planes = torch.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1, 1)
    return y, indices + planes * x.shape[2] * x.shape[3]
"""


@pytest.fixture(scope="module")
def torch_kernel(tmp_path_factory):
    """The targets of a module of torch's functions."""
    path = tmp_path_factory.mktemp("torch") / "k.py"
    path.write_text(TORCH)
    prepared = command("targets", "prepare", "torch==2.13.0").check(0)
    python = prepared.out.split()[-1] + "/bin/python"
    return lambda name: f"python:{path}:{name}?python={python}"


@pytest.mark.network
def test_functions_of_torch(torch_kernel):
    right = run("corpus:kit", "corpus:edge", "-t", torch_kernel("f"))
    assert (right.code, right.json["faults"]) == (0, [])
    assert right.json["summary"]["conforms"] > 250
    by_name = run("corpus:edge", "-t", torch_kernel("by_name"))
    (part,) = by_name.json["tested"]
    assert (by_name.code, "dilations" in part["part"], "ceil_mode" in part["part"]) == (0, True, True)
    assert {"the function has no parameter dilation", "the function has no parameter ceil_mode"} <= {*part["left"]}


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "case"),
    [("swallows_nan", "edge/nan:*"), ("last_of_equals", "edge/ties:*"), ("counts_the_whole_tensor", "*")],
)
def test_a_function_of_torch_is_held_to_what_torch_does(torch_kernel, name, case):
    done = run("corpus:edge", "-t", torch_kernel(name), "-k", case)
    assert done.code == 1
    assert done.json["faults"][0]["status"] == "new"


RAISES = """
def g(values, place):
    return values[place]


def f(X, attributes):
    if attributes["strides"][-1] == 2:
        return g([], 0)
    if attributes["strides"][-1] == 3:
        raise KeyError("windows")
    return right(X, attributes)
"""


def test_an_exception_is_told_with_its_line_a_case_and_the_command_that_shows_it_again(kernel, tmp_path):
    target = kernel(RAISES)
    lines = (tmp_path / "k.py").read_text().splitlines()
    document = run("corpus:onnx", "-t", target).check(3).json
    by_type = {error["message"].partition(":")[0]: error for error in document["errors"]}
    place = f"at k.py:{lines.index('    return values[place]') + 1}: return values[place]"
    assert by_type["IndexError"]["message"] == f"IndexError: list index out of range, {place}"
    assert by_type["KeyError"]["message"].endswith('raise KeyError("windows")')
    assert document["message"].endswith("executions failed")
    for error in by_type.values():
        words = shlex.split(error["command"])
        assert (words[2], words[4]) == (error["case"], target)
        assert error["message"] in command(*words[1:]).out
    text = command("run", "corpus:onnx", "-t", target).out
    assert all(f"\n{error['command']}\n" in text for error in by_type.values())
    assert text.splitlines()[-1] == f"Next: {max(by_type.values(), key=lambda error: error['executions'])['command']}"


def test_an_exception_while_the_module_is_read_has_its_line(kernel, tmp_path):
    done = command("run", "corpus:onnx", "-t", kernel("TABLE = {}['key']\n" + F)).check(3)
    number = (tmp_path / "k.py").read_text().splitlines().index("TABLE = {}['key']") + 1
    assert f"KeyError: 'key', at k.py:{number}: TABLE = {{}}['key']" in " ".join((done.out + done.err).split())


def test_a_run_stops_at_its_first_fault(kernel, tmp_path):
    wrong = kernel(
        "def f(X, attributes):\n    Y, Indices = right(X, attributes)\n    return Y + (X.ndim == 3), Indices\n"
    )
    document = run("corpus:onnx", "-x", "-t", wrong).check(1).json
    assert (document["complete"], len(document["faults"])) == (False, 1)
    whole = command("run", "corpus:onnx", "-t", wrong, "--report", "json").json
    assert document["summary"]["executions"] < whole["summary"]["executions"]
    record = tmp_path / "r.jsonl"
    text = " ".join(command("run", "corpus:onnx", "-x", "-t", wrong, "-o", record).check(1).out.split())
    assert f" of {whole['summary']['cases']} in " in text
    assert "until the first that shows a fault" in text
    # The record says it, too, and what is made of it.
    assert " ".join(command("report", record).out.split()).count("until the first that shows a fault") == 1
    assert run("corpus:onnx", "-x", "-t", kernel(F)).check(0).json["complete"]
    assert (
        run("corpus:onnx", "-x", "-t", kernel(F.replace("return", "return 1 / 0 or"))).check(3).json["summary"]["error"]
        <= 2
    )


def test_a_function_that_refuses_nothing_is_not_asked_to(kernel):
    careless = "def f(X, attributes):\n    return right(X, {**attributes, 'strides': [max(1, each) for each in attributes['strides']]})\n"
    assert run("corpus:kit", "-t", kernel(careless)).code in (1, 3)
    document = run("corpus:kit", "-t", kernel("REFUSES = False\n" + careless)).check(0).json
    assert document["tested"][0]["part"] == "without refusals"
    assert (
        run("corpus:kit", "-t", kernel(careless, "?refuses=no")).check(0).json["tested"][0]["part"]
        == "without refusals"
    )


def test_a_kit_says_for_a_program_which_wrong_kernels_it_would_have_noticed(kernel):
    (kit,) = run("corpus:kit", "-t", kernel("DTYPES = ['int8']" + F)).check(0).json["kits"]
    names = [*kit["noticed"], *kit["by_refusals"], *kit["not_noticed"]]
    assert len(names) == len({*names}) > 150
    assert {"seeds:zero", "padding:zero"} <= {*names}
    assert run("corpus:onnx", "-t", kernel(F)).json["kits"] == []
