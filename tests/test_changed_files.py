"""Messages, files of outputs, records, models and cases with changed bytes or values: each ends as a clear error or a result."""

import json
import random
from contextlib import suppress

import onnx
import pytest

from maxpool_check import CorpusError, read_cases
from maxpool_check.corpus.graph_fields import graph_fields
from maxpool_check.models.analysis import analyse
from maxpool_check.models.model_file import BadModel, read_model
from maxpool_check.targets.protocol import MOST_TEXT, in_message, in_ready, outcome_of, parsed
from tests.commands.test_outputs import ORDINARY, READY, SHAPES, TWICE
from tests.conftest import CASES, KERNELS
from tests.models import zoo

REFUSAL = {"case": "small:ordinary", "type": "refusal", "status": "INVALID_ARGUMENT", "message": "no"}
PROCESSOR = {"architecture": "aarch64", "model": "Cortex-A76", "features": ["neon"]}
DESCRIBED = {**READY, "dtypes": ["float32"], "spatial": [2], "specs": ["onnx-22"], "graphs": 22, "version": "1",
             "session_options": {"a": [1]}, "processor": PROCESSOR}  # fmt: skip
MESSAGES = [ORDINARY, SHAPES, TWICE, REFUSAL, {"case": "small:ordinary", "type": "timeout", "seconds": 3}]

VALUES = [
    None, True, 0, -1, 1.5, 1e308, 2**31, 2**62, 2**64, -(2**63) - 1, 10**400, "", "x", "float32", "int64", "V4", ">f4", "object",
    "\x1b[31m", "\ud800", "\u202e", "a" * 5000, [], {}, [[]], [2**62, 2**62], {"a": {"a": {"a": 1}}}, "AAAA", "-", "1" * 5000,
]  # fmt: skip
TEXTS = [
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"[" * 3000,
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b'"',
    b"}",
    b"9" * 400,
    b"::error::",
]


def with_other_value(chance, value):
    """A JSON value in which one value or key, at any depth, is another one."""
    if isinstance(value, (dict, list)) and value and chance.random() < 0.8:
        value = value.copy()
        key = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        if chance.random() < 0.15:
            del value[key]
        elif isinstance(value, dict) and chance.random() < 0.15:
            value[chance.choice(["", "x", "\x1b", "id", "data", "hex", *value])] = value.pop(key)
        else:
            value[key] = with_other_value(chance, value[key])
        return value
    return chance.choice(VALUES)


def with_other_bytes(chance, content):
    """The bytes, some of them replaced, removed or inserted."""
    content = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 8])):
        at = chance.randrange(len(content) + 1)
        match chance.randrange(4):
            case 0:
                content[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del content[at : at + chance.choice([1, 2, 100])]
            case 2:
                content[at:at] = chance.choice(TEXTS)
            case 3:
                content[at:at] = content[chance.randrange(len(content) + 1) :][:50]
    return bytes(content)


def other_lines(chance, lines):
    """Lines of JSON as bytes, with some values or bytes changed."""
    lines = list(lines)
    at = chance.randrange(len(lines))
    lines[at] = with_other_value(chance, lines[at])
    content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    return content if chance.random() < 0.6 else with_other_bytes(chance, content)


def ended_well(done, *codes):
    """Whether a command has ended with a result or a clear error, in characters that a terminal shows."""
    shown = done.out + done.err
    return done.code in codes and "internal error" not in shown and "Traceback" not in shown and "\x1b" not in shown


def test_messages():
    chance = random.Random(1)
    for number in range(4000):
        message = {"id": number, **chance.choice(MESSAGES)}
        line = other_lines(chance, [message if chance.random() < 0.8 else DESCRIBED]).partition(b"\n")[0]
        with suppress(ValueError):
            said = parsed(line)
            for _, mistake in in_ready(said):
                assert len(mistake) < 4 * MOST_TEXT
            if not in_message(said, number):
                outcome_of(said, number)


def test_outputs(cli, small, tmp_path):
    chance, path = random.Random(2), tmp_path / "board.jsonl"
    for _ in range(300):
        content = other_lines(chance, [DESCRIBED, *chance.sample(MESSAGES, 2)])
        path.write_bytes(content)
        assert ended_well(cli("run", small, "-t", f"outputs:{path}"), 0, 1, 2, 3, 4), content


def test_records(cli, small, tmp_path):
    chance, record, path = random.Random(3), tmp_path / "record.jsonl", tmp_path / "changed.jsonl"
    cli("run", small, "-t", f"python:{KERNELS}:pads_with_zero", "-o", record)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    for number in range(300):
        content = other_lines(chance, lines)
        path.write_bytes(content)
        command = [("report", path), ("report", path, "--report", "json"), ("gate", record, path)][number % 3]
        assert ended_well(cli(*command), 0, 1, 2, 3, 4), content


def test_models(tmp_path):
    chance, path = random.Random(4), tmp_path / "model.onnx"
    models = [onnx.shape_inference.infer_shapes(zoo.plain()).SerializeToString(), zoo.plain().SerializeToString()]
    for _ in range(1500):
        content = with_other_bytes(chance, chance.choice(models))
        path.write_bytes(content)
        with suppress(BadModel):
            analyse(read_model(path))


def test_cases(cli, small, tmp_path):
    chance, path = random.Random(5), tmp_path / "cases.yaml"
    content = (small / "small.yaml").read_bytes()
    for _ in range(300):
        changed = with_other_bytes(chance, content)
        path.write_bytes(changed)
        assert ended_well(cli("cases", "lint", path), 0, 2), changed


def test_graphs(tmp_path):
    chance, path = random.Random(6), tmp_path / "cases.yaml"
    files = sorted((CASES / "contexts").glob("*.yaml"))
    fields = [graph_fields(case, {}) for file in files for case in read_cases(file)]
    graphs = [each["graph"] for each in fields if "graph" in each]
    X = {"dtype": "float32", "shape": [1, 2, 6, 6], "random": {"seed": 1, "values": "distinct"}}
    case = {"id": "a", "title": "A", "opset": 22, "input": X}
    case["attributes"] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    for _ in range(1500):
        graph = with_other_value(chance, chance.choice(graphs))
        path.write_text(json.dumps({"spec": "onnx-22", "cases": [{**case, "graph": graph}]}))
        with suppress(CorpusError):
            for read in read_cases(path):
                read.check_exact()


@pytest.mark.parametrize("command", [("cases", "lint"), ("report",), ("model",)])
@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 1000, b"\xff" * 1000, b"\n" * 1000, b"[" * 100_000, b"{" * 1000, b"\x08" * 1000]
)
def test_files_without_a_meaning(cli, tmp_path, command, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert ended_well(cli(*command, path), 2, 3)
