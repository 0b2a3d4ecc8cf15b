"""The image of the page on working offline: its steps, in a clean environment, and then a run as another user."""

import os
import re
import shutil
import subprocess

import pytest

from tests.conftest import environment
from tests.packages import CONSTRAINTS, built, uv
from tests.pages import blocks


def steps():
    (text,) = (block.text for block in blocks("offline.md") if block.language == "dockerfile")
    return re.findall(r"^(\w+) (.+)$", text, re.MULTILINE)


@pytest.mark.long
@pytest.mark.network
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_the_steps_of_the_image_make_what_a_user_without_rights_needs(tmp_path):
    built(tmp_path / "dist")
    uv("venv", "--quiet", "--seed", tmp_path / "python")
    variables = environment(
        PATH=f"{tmp_path / 'python/bin'}:/usr/bin:/bin", PIP_FIND_LINKS=str(tmp_path / "dist"), PIP_CONSTRAINT=str(CONSTRAINTS)
    )  # fmt: skip
    weaker = []

    def run(line):
        return subprocess.run(
            [*weaker, "bash", "-euc", line], env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    for step, rest in steps():
        if step == "ENV":
            name, _, value = rest.partition("=")
            variables[name] = value.replace("/opt", str(tmp_path / "opt"))
        elif step == "RUN":
            done = run(rest)
            assert done.returncode == 0, done.stderr
        elif step == "USER":
            subprocess.run(["chmod", "-R", "a-w", tmp_path / "opt"], check=True)
            # Root may write anywhere, unless it gives up that right.
            weaker = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
        else:
            assert step == "FROM"
    try:
        assert run("touch opt/maxpool-check/x").returncode != 0
        done = run("maxpool-check run corpus:onnx -t onnxruntime==1.31.1 -o record.jsonl")
        missing = run("maxpool-check run corpus:onnx -t onnxruntime==1.23.2")
    finally:
        subprocess.run(["chmod", "-R", "u+w", tmp_path / "opt"], check=True)
    assert done.returncode == 0, done.stderr
    assert "onnxruntime 1.31.1" in done.stdout
    assert missing.returncode == 3
    assert "maxpool-check targets prepare onnxruntime==1.23.2" in missing.stdout
