"""Traces in the tools that they are written for: StrictDoc and Sphinx-Needs, each in an environment of its own."""

import json
import subprocess
from xml.etree import ElementTree as ET

import pytest

from maxpool_check.targets.environments import run_uv
from tests.conftest import command

pytestmark = [pytest.mark.network, pytest.mark.long]

HOSTILE = "[LINK: SONNX-MAX] >>> <script>alert(1)</script> **b** `x`_ |s| [[copy('id')]] <<a>> {{ 1 }} .. raw:: html"
CASES = f"""\
spec: sonnx
defaults:
  input: {{dtype: int8, data: [[[[1, 2], [3, 4]]]]}}
  attributes: {{kernel_shape: [1, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0], auto_pad: NOTSET,
               ceil_mode: 0, storage_order: 0}}
cases:
- {{id: "one<b>&é", covers: [SONNX-MAX], title: "{HOSTILE}"}}
- {{id: two, covers: by-bins, title: "[ANCHOR: SONNX-MAX]"}}
- {{id: three, covers: [SONNX-MAX, SONNX-INDICES-FIRST], title: ">>>", input: {{data: [[[[7, 7], [7, 7]]]]}}}}
- {{id: unnamed, title: "1. .. ::"}}
"""


def installed(folder, *requirements):
    """The folder of the programs of a fresh environment with some packages."""
    assert run_uv("venv", str(folder)).returncode == 0
    done = run_uv("pip", "install", "--python", str(folder), *requirements)
    assert done.returncode == 0, done.stderr
    return folder / "bin"


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """A folder with cases, and the record of two kernels on them."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "own.yaml").write_text(CASES)
    targets = [("-t", f"python:tests/kernels.py:{name}") for name in ("right", "names_the_last_tie")]
    done = command("run", folder / "own.yaml", *sum(targets, ()), "--spec", "sonnx", "-q", "-o", folder / "r.jsonl")
    assert done.code == 1, done.err
    return folder


def trace(folder, form, path):
    words = ("evidence", "trace", folder / "own.yaml", "--record", folder / "r.jsonl", "--report")
    assert command(*words, f"{form}={path}").code == 0
    return command(*words, "json").json


def run(*words, cwd):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert not [line for line in told.splitlines() if "warning" in line.lower() and "0 warnings" not in line], told
    return told


def test_strictdoc_makes_pages_and_reqif_of_it(traced, tmp_path):
    (tmp_path / "input").mkdir()
    document = trace(traced, "sdoc", tmp_path / "input/trace.sdoc")
    programs = installed(tmp_path / "environment", "strictdoc==0.30.*")
    run(programs / "strictdoc", "export", "--formats=html,reqif-sdoc", "--output-dir", "out", "input", cwd=tmp_path)
    (page,) = (tmp_path / "out/html").rglob("trace.html")
    text = page.read_text()
    assert "<script>alert(1)" not in text
    assert "&lt;script&gt;alert(1)" in text
    clauses = [clause for documents in document["documents"] for clause in documents["clauses"]]
    results = [result for case in document["cases"] for result in case["results"]]
    assert all(clause["id"] in text for clause in clauses)
    reqif = ET.parse(tmp_path / "out/reqif/output.reqif")
    objects = [each for each in reqif.iter() if each.tag.endswith("}SPEC-OBJECT")]
    relations = [each for each in reqif.iter() if each.tag.endswith("}SPEC-RELATION")]
    links = sum(len(each["clauses"]) for each in document["cases"]) + sum(len(each["origin"]) for each in clauses)
    assert len(relations) == links + len(results)
    assert len(objects) >= len(clauses) + len(document["cases"]) + len(results)


def test_sphinx_needs_imports_it(traced, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    document = trace(traced, "needs", source / "needs.json")
    programs = installed(tmp_path / "environment", "sphinx-needs")
    (source / "conf.py").write_text('project = "trace"\nextensions = ["sphinx_needs"]\n')
    (source / "index.rst").write_text("Trace\n=====\n\n.. needimport:: needs.json\n")
    check = "import sys; from sphinx_needs.needsfile import check_needs_file as check; sys.exit(str(check('needs.json').schema or '') or 0)"
    run(programs / "python", "-c", check, cwd=source)
    run(programs / "python", "-m", "sphinx", "-W", "-q", "-b", "html", ".", tmp_path / "html", cwd=source)
    assert "<script>alert(1)" not in (tmp_path / "html/index.html").read_text()
    run(programs / "python", "-m", "sphinx", "-q", "-b", "needs", ".", tmp_path / "again", cwd=source)
    (version,) = json.loads((source / "needs.json").read_text())["versions"].values()
    (again,) = json.loads((tmp_path / "again/needs.json").read_text())["versions"].values()
    links = {name: sorted(need["links"]) for name, need in version["needs"].items()}
    assert links == {name: sorted(need.get("links", [])) for name, need in again["needs"].items()}
    titles = {need["title"]: need["status"] for need in again["needs"].values() if need["type"] == "test"}
    assert len(titles) == len(document["cases"]) == 4
    assert titles["own:three"] == "unexpected"
    assert titles["own:two"] == "conforms"
