"""The recipes for CI, the action and the hook: what their systems read, and that their commands run where they say so."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import validators
from pre_commit.clientlib import load_config, load_manifest

import maxpool_check
from tests.conftest import ROOT
from tests.models import zoo
from tests.packages import Installed, built, shared
from tests.pages import CASE_FILE, blocks
from tests.workflows import ACTION, Runner, github

HOOKS = ROOT / ".pre-commit-hooks.yaml"
OWN = Path(sys.executable).parent
FILES = {block.file: block.text for block in blocks("ci.md") if block.file}
"""The recipes of the page on CI."""
WORKFLOWS = {name: github(text) for name, text in FILES.items() if name.startswith(".github/")}
GITLAB = yaml.safe_load(FILES[".gitlab-ci.yml"])
JOBS = [(file, name) for file, workflow in WORKFLOWS.items() for name in workflow["jobs"]]
JOBS += [(".gitlab-ci.yml", name) for name, job in GITLAB.items() if "script" in job]

PINNED = {
    "requirements.txt": """numpy==2.2.6
onnxruntime == {} ; python_version > '3' \\
    --hash=sha256:00
onnxruntime-gpu==1.20.1
""",
    "uv.lock": """version = 1
[[package]]
name = "numpy"
version = "2.2.6"
[[package]]
name = "onnxruntime"
version = "{}"
""",
}
"""Files that pin ONNX Runtime, as tools write them."""


def test_each_file_is_what_its_system_reads():
    own = [github(path.read_text()) for path in ROOT.glob(".github/workflows/*.yml")]
    documents = {"github-workflows": [*WORKFLOWS.values(), *own], "gitlab-ci": [GITLAB]}
    documents["github-actions"] = [yaml.safe_load(ACTION.read_text())]
    for name, each in documents.items():
        rules = get_builtin_schema(f"vendor.{name}")
        for document in each:
            validators.validator_for(rules)(rules).validate(document)


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The programs of a clean environment with the wheel of this checkout, and pip, as those who paste a recipe have it."""

    def install(folder):
        return Installed(folder, shared(tmp_path_factory, "wheel", built)).bin

    return shared(tmp_path_factory, "recipes", install)


@pytest.fixture(params=["here"])
def runner(request, tmp_path):
    """A machine with a checkout of somebody's cases, and maxpool-check as it is installed here or as a recipe installs it."""
    clean = request.param == "clean"
    runner = Runner(tmp_path, request.getfixturevalue("programs") if clean else OWN, installs=clean)
    (runner.work / "cases").mkdir()
    (runner.work / "cases/pooling.yaml").write_text(CASE_FILE)
    onnx.save(zoo.plain(), runner.work / "model.onnx")
    (runner.work / "models").mkdir()
    onnx.save(zoo.plain(), runner.work / "models/model.onnx")
    (runner.work / "accepted.yaml").write_text("accepted: []\n")
    (runner.work / "requirements.txt").write_text(PINNED["requirements.txt"].format("1.31.1"))
    runner.check_out({"requirements.txt": PINNED["requirements.txt"].format("1.32.0")})
    return runner


MACHINES = pytest.mark.parametrize("runner", ["here", pytest.param("clean", marks=pytest.mark.long)], indirect=True)


def test_the_action_runs_cases_and_names_what_it_has_written(runner):
    files = {"record": "maxpool.jsonl", "html": "a b.html", "junit": "x.xml", "sarif": "maxpool.sarif"}
    done, outputs = runner.action(paths="  cases/\n", args="-k\n*ordinary*", **files)
    assert done.returncode == 0, done.stderr
    assert outputs == {"exit-code": "0", "decision": "", **files}
    assert all((runner.work / name).is_file() for name in files.values())
    assert "MaxPool" in runner.summary.read_text()


def test_the_action_reads_the_configuration_of_the_repository_whole(runner):
    """Also where the checkout is writable for all, as in some containers."""
    (runner.work / "kernel.py").write_text("import pathlib\n\npathlib.Path('started').touch()\n")
    (runner.work / "maxpool-check.toml").write_text('targets = ["python:kernel.py:f"]\n')
    (runner.work / "maxpool-check.toml").chmod(0o666)
    for inputs, is_started in (({}, True), ({"config": ""}, False), ({"config": "none"}, False)):
        runner.action(paths="cases/", **inputs)
        assert (runner.work / "started").exists() == is_started
        (runner.work / "started").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "inputs",
    [
        {"command": "run; touch pwned"},
        {"paths": "--exit-zero"},
        {"args": "`touch pwned`", "paths": "$(touch pwned)", "record": "$(touch pwned)/../x"},
    ],
)
def test_inputs_are_never_executed(runner, inputs):
    done, _ = runner.action(**{"paths": "cases/", **inputs})
    assert done.returncode == 2, done.stdout
    assert not list(runner.work.rglob("pwned*"))


@MACHINES
@pytest.mark.network
@pytest.mark.parametrize(("file", "name"), JOBS)
def test_a_recipe_runs_and_uploads_what_it_has_written(runner, file, name):
    workflow = WORKFLOWS.get(file)
    failed, uploads = runner.job(workflow["jobs"][name]) if workflow else runner.gitlab_job(GITLAB, name)
    assert not failed, failed[0].stdout + failed[0].stderr
    assert all(path.exists() for path in uploads), uploads
    assert uploads or "upload-" not in str(workflow["jobs"][name])


@pytest.mark.network
def test_a_recipe_whose_gate_blocks_fails_with_its_decision_and_uploads_its_report(runner):
    older = FILES[".github/workflows/maxpool.yml"].replace("1.32.0", "1.23.2")
    failed, uploads = runner.job(github(older)["jobs"]["gate"])
    assert [done.returncode for done in failed] == [1]
    assert {name.rpartition(".")[2]: value for name, value in runner.outputs.items()}["decision"] == "BLOCK"
    assert [path.name for path in uploads if path.is_file()] == ["gate.html"]


@pytest.fixture
def upgrading(tmp_path):
    """Runs the job of the recipe for pull requests, in which a file with a pin and a model changes; its machine, its failed steps."""

    def run(file, base, head, model):
        runner = Runner(tmp_path, OWN)
        (runner.work / "models/deep").mkdir(parents=True)
        onnx.save(model, runner.work / "models/deep/my.onnx")
        (runner.work / "accepted.yaml").write_text("accepted: []\n")
        (runner.work / file).write_text(base)
        runner.check_out({file: head})
        workflow = github(
            FILES[".github/workflows/maxpool-upgrade.yml"].replace("FILE: requirements.txt", f"FILE: {file}")
        )
        job = workflow["jobs"]["upgrade"]
        return runner, job, *runner.job(job)

    return run


@pytest.mark.network
@pytest.mark.parametrize("file", PINNED)
def test_an_upgrade_of_a_pull_request_blocks_until_a_person_accepts_it(file, upgrading):
    base, head = (PINNED[file].format(version) for version in ("1.24.4", "1.31.1"))
    runner, job, failed, uploads = upgrading(file, base, head, zoo.resnet_v2())
    assert ([done.returncode for done in failed], runner.outputs["steps.upgrade.outputs.decision"]) == ([1], "BLOCK")
    assert uploads == [runner.work / "upgrade.jsonl"]
    (annotation,) = (line for line in runner.printed.splitlines() if line.startswith("::error"))
    assert annotation.startswith("::error file=models/deep/my.onnx,title=BLOCK%3A resnet50v2/pool1_pool/MaxPool on ")
    repair = "maxpool-check model models/deep/my.onnx -t onnxruntime==1.31.1 --repair repaired.onnx"
    accept = "maxpool-check defects accept upgrade.jsonl -o accepted.yaml --author NAME --reason TEXT"
    for line in ("  do: upgrade: repaired in 1.32.0", f"repair: {repair}", f"accept: {accept}"):
        assert f"%0A{line}" in annotation
    assert runner.shell(accept.replace("TEXT", "Harmless."))[0].returncode == 0
    failed, _ = runner.job(job)
    assert (failed, runner.outputs["steps.upgrade.outputs.decision"]) == ([], "REVIEW")


@pytest.mark.network
def test_an_upgrade_of_a_pull_request_that_changes_nothing_is_safe(upgrading):
    base, head = (PINNED["uv.lock"].format(version) for version in ("1.31.1", "1.32.0"))
    runner, _, failed, _ = upgrading("uv.lock", base, head, zoo.plain())
    assert (failed, runner.outputs["steps.upgrade.outputs.decision"]) == ([], "SAFE")
    assert "::error" not in runner.printed


@pytest.mark.parametrize(
    ("base", "head", "code"),
    [
        (PINNED["requirements.txt"].format("1.32.0"), "# Sorted.\nonnxruntime==1.32.0\n", 0),
        ("onnxruntime==1.31.1\n", "onnxruntime>=1.32\n", 2),
        ("numpy==2.2.6\n", "numpy==2.3.0\n", 2),
        ("onnxruntime==1.31.1\n", "onnxruntime==1.31.1\nonnxruntime==1.32.0\n", 2),
    ],
    ids=["the same pin", "a range", "no pin", "two pins"],
)
def test_a_pull_request_without_an_upgrade_tests_nothing(base, head, code, upgrading):
    runner, _, failed, uploads = upgrading("requirements.txt", base, head, zoo.plain())
    text = (
        "::error::requirements.txt does not pin exactly one version of"
        if code
        else "onnxruntime does not change: 1.32.0"
    )
    assert (runner.printed.startswith(text), [done.returncode for done in failed], uploads) == (
        True,
        [code] * (code > 0),
        [],
    )


@pytest.mark.network
def test_a_dry_run_of_the_release_has_the_distribution_and_the_records_with_their_digests(programs, tmp_path):
    runner = Runner(tmp_path, programs, installs=True)
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in files.splitlines():
        (runner.work / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, runner.work / name)
    jobs = github((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    failed, uploads = runner.job(jobs["build"])
    assert not failed, failed[0].stdout + failed[0].stderr
    assert [path.name for path in uploads] == ["dist", "assets"]
    records = {path.name for path in (ROOT / "reports").glob("*.jsonl.xz")}
    version = maxpool_check.__version__
    distribution = {f"maxpool_check-{version}-py3-none-any.whl", f"maxpool_check-{version}.tar.gz"}
    assert {path.name for path in uploads[1].iterdir()} == {*records, *distribution, "SHA256SUMS"}
    assert runner.shell("cd assets && sha256sum -c SHA256SUMS")[0].returncode == 0
    # Without a tag, nothing else runs.
    assert {job["if"] for name, job in jobs.items() if name != "build"} == {"github.ref_type == 'tag'"}


def test_the_hook_is_what_pre_commit_reads_and_its_command_checks_cases(runner):
    (hook,) = load_manifest(HOOKS)
    config = runner.work / ".pre-commit-config.yaml"
    config.write_text(FILES[config.name])
    (repository,) = load_config(config)["repos"]
    assert [each["id"] for each in repository["hooks"]] == [hook["id"]]
    assert re.search(hook["files"], "cases/edge/ties.yaml")
    assert not re.search(hook["files"], ".github/workflows/release.yml")
    (runner.work / "cases/wrong.yaml").write_text("cases: [{id: a}]\n")
    done, _ = runner.shell(shlex.join([*shlex.split(hook["entry"]), *hook["args"]]))
    assert (done.returncode, "wrong.yaml:1" in done.stderr) == (2, True)
    done, outputs = runner.action(command="lint", paths="cases/")
    assert (done.returncode, outputs["exit-code"], "wrong.yaml:1" in done.stderr) == (2, "2", True)
