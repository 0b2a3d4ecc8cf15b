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

import maxpool_check
from tests.conftest import ROOT, environment
from tests.models import zoo
from tests.packages import Installed, built, shared, uv
from tests.pages import CASE_FILE, blocks
from tests.workflows import ACTION, Runner, github

HOOKS = ROOT / ".pre-commit-hooks.yaml"
OWN = Path(sys.executable).parent
BASE, HEAD = "onnxruntime==1.31.1", "onnxruntime==1.23.2"
"""A gate that blocks: the head is the older release."""


def recipes(prefix):
    """The files of the page on CI whose names begin so."""
    return {block.file: block.text for block in blocks("ci.md") if block.file and block.file.startswith(prefix)}


WORKFLOWS = {name: github(text) for name, text in recipes(".github/").items()}
GITLAB = yaml.safe_load(recipes(".gitlab")[".gitlab-ci.yml"])
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"]]
DOCUMENTS = [
    *(("github-workflows", name, document) for name, document in WORKFLOWS.items()),
    *(("github-workflows", path.name, github(path.read_text())) for path in ROOT.glob(".github/workflows/*.yml")),
    ("gitlab-ci", ".gitlab-ci.yml", GITLAB),
    ("github-actions", ACTION.name, yaml.safe_load(ACTION.read_text())),
]


@pytest.mark.parametrize(
    ("schema", "name", "document"), DOCUMENTS, ids=lambda value: value if type(value) is str else ""
)
def test_each_file_is_what_its_system_reads(schema, name, document):
    rules = get_builtin_schema(f"vendor.{schema}")
    validators.validator_for(rules)(rules).validate(document)


@pytest.fixture
def runner(tmp_path):
    """A machine with a checkout of somebody's cases, and maxpool-check as it is installed here."""
    return with_cases(Runner(tmp_path, OWN))


def with_cases(runner):
    (runner.work / "cases").mkdir()
    (runner.work / "cases/pooling.yaml").write_text(CASE_FILE)
    onnx.save(zoo.plain(), runner.work / "model.onnx")
    return runner


def test_no_input_of_the_action_is_put_into_a_script():
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert scripts
    assert not [script for script in scripts if "${{" in script]
    used = str([(step.get("env"), step.get("if")) for step in steps])
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    assert [name for name in inputs if f"inputs.{name}" not in used] == []


def test_the_action_runs_cases_and_names_what_it_has_written(runner):
    done, outputs = runner.action(
        paths="  cases/\n",
        args="-k\n*ordinary*",
        record="maxpool.jsonl",
        html="a b.html",
        junit="x.xml",
        sarif="maxpool.sarif",
    )
    assert done.returncode == 0, done.stderr
    assert outputs == {
        "exit-code": "0", "decision": "", "record": "maxpool.jsonl", "html": "a b.html", "junit": "x.xml",
        "sarif": "maxpool.sarif",
    }  # fmt: skip
    assert all((runner.work / outputs[name]).is_file() for name in ("record", "html", "junit", "sarif"))
    assert "MaxPool" in runner.summary.read_text()


@pytest.mark.network
def test_the_action_decides_on_an_upgrade_and_fails_the_step_if_it_blocks(runner):
    done, outputs = runner.action(
        command="gate", base=BASE, head=HEAD, paths="cases/", junit="gate.xml", summary="false"
    )
    assert done.returncode == 1, done.stderr
    assert (outputs["exit-code"], outputs["decision"], outputs["junit"]) == ("1", "BLOCK", "gate.xml")
    assert not runner.summary.exists()


@pytest.mark.parametrize(
    "inputs",
    [
        {"command": "run; touch pwned"},
        {"paths": "$(touch pwned)"},
        {"paths": "--exit-zero"},
        {"args": "`touch pwned`"},
        {"record": "$(touch pwned)/../x", "paths": "missing"},
    ],
)
def test_inputs_are_never_executed(runner, inputs):
    done, _ = runner.action(**{"paths": "cases/", **inputs})
    assert done.returncode == 2, done.stdout
    assert not list(runner.work.rglob("pwned*"))


def test_the_action_lints(runner):
    (runner.work / "cases/wrong.yaml").write_text("cases: [{id: a}]\n")
    done, outputs = runner.action(command="lint", paths="cases/")
    assert (done.returncode, outputs["exit-code"]) == (2, "2")
    assert "wrong.yaml:1" in done.stderr


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "job"), [("maxpool.yml", "conformance"), ("pages.yml", "site"), ("maxpool-model.yml", "upgrade")]
)
def test_a_recipe_for_github_runs_and_uploads_what_it_has_written(runner, name, job):
    failed, uploads = runner.job(WORKFLOWS[f".github/workflows/{name}"]["jobs"][job])
    assert not failed, failed[0].stdout + failed[0].stderr
    assert uploads
    assert all(path.exists() for path in uploads), uploads


@pytest.mark.network
def test_a_recipe_for_gitlab_runs_and_keeps_what_it_has_written(runner):
    done, kept = runner.gitlab_job(GITLAB, "gate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert kept
    assert all(path.exists() for path in kept), kept


@pytest.mark.network
def test_a_recipe_whose_gate_blocks_fails_and_uploads_its_report(runner):
    text = recipes(".github/")[".github/workflows/maxpool.yml"]
    swapped = re.sub("1.23.2|1.31.1", lambda found: "1.23.2" if found[0] == "1.31.1" else "1.31.1", text)
    failed, uploads = runner.job(github(swapped)["jobs"]["gate"])
    assert [done.returncode for done in failed] == [1]
    assert [path.name for path in uploads if path.is_file()] == ["gate.html"]


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The programs of a clean environment with the wheel of this checkout, and pip, as those who paste a recipe have it."""

    def install(folder):
        installed = Installed(folder, shared(tmp_path_factory, "wheel", built))
        uv("pip", "install", "--quiet", "--python", installed.bin / "python", "pip")
        return installed.bin

    return shared(tmp_path_factory, "recipes", install)


@pytest.mark.long
@pytest.mark.network
@pytest.mark.parametrize(("name", "job"), JOBS)
def test_the_recipes_for_github_run_in_a_clean_environment(programs, tmp_path, name, job):
    runner = with_cases(Runner(tmp_path, programs, installs=True))
    failed, uploads = runner.job(WORKFLOWS[name]["jobs"][job])
    assert not failed, failed[0].stdout + failed[0].stderr
    assert all(path.exists() for path in uploads), uploads


@pytest.mark.long
@pytest.mark.network
@pytest.mark.parametrize("name", [name for name, job in GITLAB.items() if "script" in job])
def test_the_recipes_for_gitlab_run_in_a_clean_environment(programs, tmp_path, name):
    done, kept = with_cases(Runner(tmp_path, programs, installs=True)).gitlab_job(GITLAB, name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(path.exists() for path in kept), kept


@pytest.mark.network
def test_a_dry_run_of_the_release_has_the_distribution_and_the_records_with_their_digests(programs, tmp_path):
    runner = Runner(tmp_path, programs, installs=True)
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in files:
        (runner.work / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, runner.work / name)
    workflow = github((ROOT / ".github/workflows/release.yml").read_text())
    failed, uploads = runner.job(workflow["jobs"]["build"])
    assert not failed, failed[0].stdout + failed[0].stderr
    assert [path.name for path in uploads] == ["dist", "assets"]
    assets = {path.name for path in uploads[1].iterdir()}
    records = {path.name for path in (ROOT / "reports").glob("*.jsonl.xz")}
    version = maxpool_check.__version__
    distribution = {f"maxpool_check-{version}-py3-none-any.whl", f"maxpool_check-{version}.tar.gz"}
    assert assets == {*records, *distribution, "SHA256SUMS"}
    assert runner.shell("cd assets && sha256sum -c SHA256SUMS")[0].returncode == 0
    # Without a tag, nothing else runs.
    assert {job["if"] for name, job in workflow["jobs"].items() if name != "build"} == {"github.ref_type == 'tag'"}


def pre_commit(*arguments, cwd, **changed):
    return subprocess.run(
        [OWN / "pre-commit", *map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=environment(**changed),
        timeout=900, check=False,
    )  # fmt: skip


def test_the_hook_is_what_pre_commit_reads(tmp_path):
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(recipes(".pre-commit")[".pre-commit-config.yaml"])
    for done in (
        pre_commit("validate-manifest", HOOKS, cwd=tmp_path),
        pre_commit("validate-config", config, cwd=tmp_path),
    ):
        assert done.returncode == 0, done.stdout
    (hook,) = yaml.safe_load(HOOKS.read_text())
    (repository,) = yaml.safe_load(config.read_text())["repos"]
    assert [each["id"] for each in repository["hooks"]] == [hook["id"]]
    assert re.search(hook["files"], "cases/edge/ties.yaml")
    assert not re.search(hook["files"], ".github/workflows/release.yml")


def test_the_command_of_the_hook_checks_cases(runner):
    (hook,) = yaml.safe_load(HOOKS.read_text())
    line = shlex.join([*shlex.split(hook["entry"]), *hook["args"]])
    (runner.work / "cases/wrong.yaml").write_text("cases: [{id: a}]\n")
    assert runner.shell(line)[0].returncode == 2


@pytest.mark.long
@pytest.mark.network
def test_pre_commit_installs_the_hook_and_refuses_a_wrong_case(runner, tmp_path):
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=runner.work, check=True)
    home = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "PIP_CONSTRAINT": str(ROOT / "tests/constraints.txt")}
    arguments = ("try-repo", ROOT, "maxpool-check-lint", "--files")
    done = pre_commit(*arguments, "cases/pooling.yaml", cwd=runner.work, **home)
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout
    (runner.work / "cases/wrong.yaml").write_text("cases: [{id: a}]\n")
    done = pre_commit(*arguments, "cases/wrong.yaml", cwd=runner.work, **home)
    assert done.returncode == 1
    assert "wrong.yaml:1" in done.stdout
    assert "Skipped" in pre_commit(*arguments, "README.md", cwd=runner.work, **home).stdout
