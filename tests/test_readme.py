"""The README shows what the program prints.

After a change that is meant: ``python -m tests.test_readme`` writes the quoted output again.
"""

import re
import shlex
import tempfile
from pathlib import Path

import onnx
import pytest

from maxpool_check.corpus.case import contradictions
from maxpool_check.corpus.collection import collect
from tests.conftest import ROOT, command
from tests.models import zoo

README = ROOT / "README.md"
CONSOLE = re.compile(r"```console\n\$ (?P<command>.+)\n(?P<output>(?:.*\n)*?)```")


def printed(line):
    program, *arguments = shlex.split(line)
    assert program == "maxpool-check"
    if arguments[0] != "model":
        return command(*arguments).out
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(zoo.resnet_v2(), Path(folder) / "resnet50v2.onnx")
        return command(*arguments, cwd=folder).out


@pytest.mark.network
@pytest.mark.parametrize("block", list(CONSOLE.finditer(README.read_text())), ids=lambda block: block["command"])
def test_quoted_output(block):
    # The Python that runs the test is not that of the README.
    def without_python(text):
        return re.sub(r"Python \d+\.\d+\.\d+", "Python X", text)

    assert without_python(printed(block["command"])) == without_python(block["output"])


def test_the_example_of_a_case_file(tmp_path):
    blocks = re.findall(r"```yaml\n(spec: (?:.*\n)*?)```", README.read_text())
    for number, block in enumerate(blocks):
        (tmp_path / f"{number}.yaml").write_text(block)
    cases = collect([tmp_path]).cases
    assert {case.spec: sum(other.spec == case.spec for other in cases) for case in cases} == {
        "onnx-12": 4, "onnx-22": 9, "xmos-maxpool2d": 1,
    }  # fmt: skip
    assert [problem for case in cases for problem in contradictions(case)] == []


def examples():
    return re.findall(r"```python\n(import numpy(?:.*\n)*?)```", README.read_text())


def test_the_example_of_the_reference():
    names = {}
    exec(examples()[0], names)
    assert names["pooled"].Y.tolist() == [[[[float("-inf")]]]]
    assert names["pooled"].Indices.tolist() == [[[[0]]]]
    assert not names["pooled"].empty.any()


def test_the_example_of_the_judge_and_of_a_run():
    names = {}
    exec(examples()[1], names)
    judgement, results = names["judgement"], names["results"]
    assert (judgement.verdict, [kind.value for kind in judgement.kinds]) == ("diverges", ["y-in-window-not-maximum"])
    assert judgement.message == "Y[0, 0, 1, 1] is 7.0, expected 8.0"
    assert [(each.variant, each.verdict) for each in results.executions] == [
        ("indices", "conforms"), ("y-only", "conforms"),
    ]  # fmt: skip
    assert (results.unexpected, results.errors, results.exit_code) == ([], (), 0)


if __name__ == "__main__":
    README.write_text(
        CONSOLE.sub(
            lambda block: f"```console\n$ {block['command']}\n{printed(block['command'])}```", README.read_text()
        )
    )
