"""``targets check`` and ``example``: a program is talked through the protocol, and examples are printed."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.conftest import misbehaving

READ = """\
import json, sys
def send(message):
    print(json.dumps(message), flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def c_program(tmp_path_factory):
    from tests.conftest import command

    folder = tmp_path_factory.mktemp("c")
    (folder / "maxpool.c").write_text(command("targets", "example", "c").out)
    subprocess.run([shutil.which("cc"), "-o", folder / "maxpool", folder / "maxpool.c"], check=True)
    return f"command:{folder / 'maxpool'}"


@pytest.fixture
def check(cli, tmp_path):
    """Check the Python program with this text, or the example with a part of it replaced."""

    def check(text="", old="", new="", seconds=60):
        path = tmp_path / "program.py"
        example = cli("targets", "example", "python").out
        assert old in example
        path.write_text(READ + text if text else example.replace(old, new))
        done = cli("targets", "check", f"command:{sys.executable} {path}", "--json", MAXPOOL_CHECK_TIMEOUT=str(seconds))
        (target,) = done.json["targets"]
        return done.code, {step["name"]: step for step in target["protocol"] if step["state"] != "ok"}

    return check


def test_the_examples_pass(cli, c_program, check):
    done = cli("targets", "check", c_program)
    assert done.code == 0, done.out
    assert "float32 over 2 spatial axes, Y and Indices" in done.out
    assert check() == (0, {})


@pytest.mark.parametrize(
    ("old", "new", "step", "state", "words"),
    [
        ('"version": "1.0"', '"version": "1.0", "dtype": ["int8"]', "ready: 'dtype'", "wrong", "'dtypes' meant"),
        ('"dtypes": DTYPES', '"dtypes": ["float"]', "ready: 'dtypes'", "wrong", "expected one of float16"),
        ('"version": "1.0"', '"version": "1.0", "specs": ["onyx-22"]', "ready: 'specs'", "wrong", "did you mean 'onnx-22'"),
        ('"dtypes": DTYPES', '"dtypes": ["float32", "bfloat16"]', "bfloat16 over 2 spatial axes, Y", "missing", "no outputs"),
        ('tensor.tobytes()', 'tensor.byteswap().tobytes()', "float32 over 2 spatial axes, values (indices)", "wrong", "little-endian"),
        ('np.int64', 'np.int32', "float32 over 2 spatial axes, Y and Indices", "wrong", "expected int64[1, 1, 2, 3]"),
        ('for name in request["outputs"]:', 'for name in ["Y"]:', "float32 over 2 spatial axes, Y and Indices", "missing", '"indices": null'),
        ('{"id": request["id"], **message}', '{"id": 1, **message}', "two requests written ahead", "wrong", "expected"),
        ('min([*kernel, *strides, *dilations]) < 1', "(strides := [1] * len(kernel)) is None", "a request to refuse, with strides of 0", "wrong", "excludes the graph"),
        ("request = json.loads(line)", "request = json.loads(line); assert 'more' not in request", "an unknown key in a request",
         "wrong", "ignore keys"),
        ('**message}), flush=True)', '**message}) + "\\nbye", flush=True)', "float32 over 2 spatial axes, Y", "wrong", "bye"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line_and_how_to_fix_it(check, old, new, step, state, words):
    code, steps = check(old=old, new=new)
    assert code == 1
    assert steps[step]["state"] == state
    assert words in json.dumps(steps[step]).replace('\\"', '"')
    assert steps[step]["fix"]


@pytest.mark.parametrize(
    ("text", "step", "words"),
    [
        ("import time; time.sleep(60)", "ready line", "no line within 2 s"),
        ("sys.exit('no library')", "ready line", "no library"),
        ("print('hello', flush=True)", "ready line", "hello"),
        ('send({"type": "ready", "protocol": 2})', "ready line", "found the number 2"),
    ],
)
def test_a_program_that_does_not_begin_as_it_must(check, text, step, words):
    code, steps = check(text, seconds=2 if "sleep" in text else 60)
    assert code == 1
    assert words in json.dumps(steps[step])


@pytest.mark.parametrize(
    ("old", "new", "words", "fix"),
    [
        ("**message}), flush=True)", '**message}) + "\\nbye", flush=True)', "column 1: Expecting value, at 'bye'", "after the answer before"),
        ("**message}), flush=True)", "**message})[:-1], flush=True)", "it ends too early, after", "left open"),
        ("**message}), flush=True)", "**message}).replace(':', '=', 1), flush=True)", "column 6: Expecting ':' delimiter", "that column"),
        ('{"id": request["id"], **message}', '{"id": 1, **message}', "'id' is 1", "the id of its request"),
    ],
)  # fmt: skip
def test_a_mistake_in_every_line_has_the_same_fix_in_every_step(check, old, new, words, fix):
    _, steps = check(old=old, new=new)
    wrong = [step for step in steps.values() if step["state"] == "wrong"]
    assert len(wrong) > 2
    assert all(words in step["message"] and fix in step["fix"] for step in wrong[1:]), wrong


def test_a_program_that_does_not_end(check):
    code, steps = check(
        old="    for line in sys.stdin:",
        new="    import time\n    for line in [*sys.stdin, time.sleep(60)]:",
        seconds=3,
    )
    assert code == 1
    code, steps = check(
        old='if __name__ == "__main__":\n    main()', new="import time\nmain()\ntime.sleep(60)", seconds=10
    )
    assert code == 1
    assert set(steps) == {"ends when stdin ends"}


def test_what_is_no_program_or_cannot_be_run(cli, tmp_path):
    done = cli("targets", "check", f"command:{tmp_path / 'none'}")
    assert done.code == 3
    assert "cannot be run: No such file" in done.err
    done = cli("targets", "check", misbehaving("dies"))
    assert done.code == 1
    assert "exited with status 9" in done.out
