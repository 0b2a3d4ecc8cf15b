"""Programs that write what no JSON, record or report can hold, or that harm the process that guards them."""

import json
import sys

import pytest

from maxpool_check.targets.process import Worker
from tests.conftest import eventually

PROGRAM = """\
import json, os, signal, sys, base64
def send(message):
    sys.stdout.write(message if isinstance(message, str) else json.dumps(message)); sys.stdout.write("\\n"); sys.stdout.flush()
sys.stdin.readline()
send({ready})
for line in sys.stdin:
    request = json.loads(line)
    {then}
    send({{"type": "refusal", "id": request["id"], "status": "FAIL", "message": "no"}})
"""
READY = {"type": "ready", "protocol": 1}


@pytest.fixture
def run(cli, tmp_path):
    """Run a case on a program, with the JSON text of its first line and what it does with a request."""

    def run(ready, then="pass", *options):
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.format(ready=repr(ready), then=then))
        case = "cases: [{id: a, input: {dtype: int8, shape: [1, 1, 2], fill: 1}, attributes: {kernel_shape: [2]}}]\n"
        (tmp_path / "c.yaml").write_text(case)
        return cli("run", tmp_path / "c.yaml", "-t", f"command:python3 {path}", "--timeout", "60", *options)

    return run


@pytest.mark.parametrize(
    "field",
    ['"spatial": [1e999]', '"session_options": {"a": NaN}', '"session_options": [[null, 1]]', '"specs": ["\\ud800"]',
     '"session_options": {"a": "\\ud800"}', '"session_options": {"\\udfff": 1}'],
)  # fmt: skip
def test_a_description_that_no_report_can_hold(run, tmp_path, field):
    report = tmp_path / "r.json"
    done = run(f'{{"type": "ready", "protocol": 1, {field}}}', "pass", "--report", f"json={report}")
    assert "internal error" not in done.err
    assert done.code in (1, 3, 4)
    json.loads(report.read_text(), parse_constant=pytest.fail)


def test_a_name_of_an_output_that_is_no_text(run):
    then = (
        'send(\'{"type": "result", "id": %d, "outputs": {"\\\\ud800": {"dtype": "int8", "shape": [1], "data": "AA=="}}}\''
        ' % request["id"]); continue'
    )
    done = run(json.dumps(READY), then)
    assert "internal error" not in done.err
    assert done.code in (1, 3)


def test_a_program_that_stops_its_guard_does_not_stop_the_tool(run):
    done = run(json.dumps(READY), "os.kill(os.getppid(), signal.SIGSTOP)")
    assert done.code == 1


def test_a_record_on_stdout_is_ascii(run):
    done = run(json.dumps({**READY, "version": "\x9b\u202e##[x"}), "pass", "-o", "-")
    assert done.out.isascii()
    assert "##[" not in done.out
    assert json.loads(done.out.splitlines()[0])["targets"][0]["version"] == "\x9b\u202e##[x"


def test_a_program_that_floods_the_tool_waits_for_its_reader(tmp_path):
    count = tmp_path / "count"
    program = f"""
import json, sys
sys.stdin.readline()
print(json.dumps({READY}), flush=True)
for number in range(3000):
    sys.stdout.write("x" * 2**16 + "\\n")
    sys.stdout.flush()
    open({str(count)!r}, "w").write(str(number))
"""
    worker = Worker([sys.executable, "-c", program], {}, isolated=False)
    try:
        assert worker.description["type"] == "ready"
        assert not eventually(lambda: count.exists() and int(count.read_text() or 0) > 1000, 2)
    finally:
        worker.close()
