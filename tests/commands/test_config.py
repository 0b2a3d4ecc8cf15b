"""What a configuration sets, where it is looked for, and what is said about mistakes in it."""

import hashlib
import os
import re

import click
import jsonschema
import pytest

from maxpool_check.commands import options, trust
from maxpool_check.commands.registry import leaves
from maxpool_check.results.storage import read
from maxpool_check.targets.name import parse
from tests.conftest import SMALL, command
from tests.models import zoo
from tests.models.writing import saved


@pytest.fixture
def project(tmp_path):
    """A project with a corpus, a kernel, and a folder below it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/small.yaml").write_text(SMALL)
    (tmp_path / "below").mkdir()
    (tmp_path / "kernel.py").write_text("def nothing(X, attributes):\n    raise ValueError('no kernel')\n")
    return tmp_path


def configure(project, text, name="maxpool-check.toml"):
    (project / name).write_text(text)


def sources(folder, *words, **variables):
    """The value and the source of each key, as ``docs config`` shows them."""
    done = command(*words, "docs", "config", cwd=folder, **variables).check(0)
    rows = [re.split(r"  +", line, maxsplit=2) for line in done.out.splitlines()[2:] if line]
    return {key: (value, source) for key, value, source in rows}


def test_a_record_has_the_command_line_as_it_was_given_and_the_digest_of_the_configuration(project):
    configure(
        project,
        '[tool.maxpool-check]\npaths = ["cases"]\n[tool.maxpool-check.run]\nvariants = ["y-only"]\nstrict = true\n'
        'targets = ["python:kernel.py:nothing"]\nreports = {json = "report.json"}\n',
        "pyproject.toml",
    )
    digest = hashlib.sha256((project / "pyproject.toml").read_bytes()).hexdigest()
    words = ("-q", "run", "-o", "r.jsonl", "--report", "markdown=r.md")
    command(*words, cwd=project / "below", MAXPOOL_CHECK_TIMEOUT="7").check(1)
    # A report of the command line replaces those of the file.
    assert not (project / "report.json").exists()
    first = read(project / "below/r.jsonl")
    assert first.header.command == ("maxpool-check", *words)
    assert first.header.configuration_sha256 == digest
    assert {each.variant for each in first.executions} == {"y-only"}
    assert f"SHA-256 {digest}" in (project / "below/r.md").read_text()
    (project / "pyproject.toml").unlink()
    command("run", "cases", "-q", "-o", "r.jsonl", cwd=project).check(1)
    assert "configuration_sha256" not in (project / "r.jsonl").read_text()


def test_a_model_needs_no_arguments_with_a_configuration(project):
    (project / "models").mkdir()
    saved(zoo.dynamic(), project / "models", "my.onnx")
    configure(
        project,
        'paths = ["cases"]\nspec = ["onnx-12"]\n[model]\npaths = ["models/my.onnx"]\nspec = "sonnx"\n'
        'shape = ["batch=2"]\ntargets = ["python:kernel.py:nothing"]\n',
    )
    for words, batch in (((), 2), (("--shape", "batch=3"), 3)):
        done = command(
            "--config", "../maxpool-check.toml", "model", *words, "--report", "json", cwd=project / "below"
        ).check(1)
        assert done.json["models"][0]["nodes"][0]["tested_input"]["shape"][0] == batch
    configure(project, 'paths = ["cases"]\nspec = ["onnx-12"]\n')
    assert "Missing argument 'MODEL.onnx...'" in command("model", cwd=project).err


def test_the_section_the_environment_and_the_command_line_win_in_this_order(project):
    configure(project, 'timeout = 1\njobs = 2\n\n[run]\ntimeout = 2\n[gate]\nbase = "onnxruntime==1.24.4"\n')
    found = sources(project)
    assert found["run.timeout"] == ("2", "maxpool-check.toml: [run] timeout")
    assert found["timeout"] == ("1", "maxpool-check.toml: timeout")
    assert found["jobs"] == ("2", "maxpool-check.toml: jobs")
    assert found["strict"] == ("False", "default")
    # The one of gate, which takes several.
    assert found["gate.base"] == ("onnxruntime==1.24.4", "maxpool-check.toml: [gate] base")
    assert "base" not in found
    assert sources(project, MAXPOOL_CHECK_TIMEOUT="3")["timeout"] == ("3.0", "MAXPOOL_CHECK_TIMEOUT")
    # Each is wrong, and the one that wins is named.
    both = {"MAXPOOL_CHECK_TIMEOUT": "3", "MAXPOOL_CHECK_RUN_TIMEOUT": "-4"}
    for words, variables, message in (
        ([], both, "MAXPOOL_CHECK_RUN_TIMEOUT: '-4'"),
        ([], {"MAXPOOL_CHECK_TIMEOUT": "-3"}, "MAXPOOL_CHECK_TIMEOUT: '-3'"),
        (["--timeout", "-5"], both, "'--timeout': '-5'"),
        ([], {"MAXPOOL_CHECK_RUN_STRICT": "maybe"}, "MAXPOOL_CHECK_RUN_STRICT: 'maybe' is not a valid boolean"),
        ([], {"MAXPOOL_CHECK_RUN_TARGETS": "'"}, "''' is not a list of words"),
    ):
        command("run", "cases", *words, cwd=project, **variables).check(2, message)


def test_the_nearest_configuration_holds_and_a_project_of_others_is_passed_by(project):
    configure(project, "timeout = 1\n")
    below = project / "below"
    configure(below, '[project]\ndependencies = ["maxpool-check"]\n', "pyproject.toml")
    assert sources(below)["timeout"] == ("1", f"{project}/maxpool-check.toml: timeout")
    configure(below, "timeout = 2\n")
    assert sources(below)["timeout"][0] == "2"
    assert sources(below, MAXPOOL_CHECK_CONFIG="../maxpool-check.toml")["timeout"][0] == "1"
    assert sources(below, "--config", "../maxpool-check.toml")["timeout"][0] == "1"
    nothing = sources(project, "--config", "none", MAXPOOL_CHECK_TIMEOUT="9")
    assert {source for _, source in nothing.values()} == {"default"}
    assert "has no table [tool.maxpool-check]" in command("--config", "pyproject.toml", "run", cwd=below).err
    configure(project, "[tool.maxpool-check]\ntimeout = 2\n", "pyproject.toml")
    command("run", "cases", cwd=project).check(2, "keep one of them")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('targetz = ["x"]', ": targetz is an unknown key (did you mean 'targets'?)"),
        ('[gate]\nfail_on = "any"', ": [gate] fail_on is an unknown key (did you mean 'fail-on'?)"),
        ("[rum]\na = 1", ": rum is an unknown key (did you mean 'run'?)"),
        ('[model]\nspec = "openvino"', ": [model] spec: 'openvino' is not one of 'onnx', 'sonnx'"),
        ("jobs = 1.5", ": jobs: '1.5' is not a valid integer range"),
        ('[run.reports]\nmarkdow = "x"', ": [run] reports: unknown format 'markdow' (did you mean 'markdown'?)"),
        ("run = 3", ": run is the section of a command: [run]"),
        ('targets = ["onnxruntim"]', ": targets: unknown runtime 'onnxruntim' (did you mean 'onnxruntime'?)"),
        ("a = [1", ": no TOML: "),
        ('targets = ["python:a\\u0000.py:f"]', ": targets has a NUL character"),
        ('[run]\nreports = {html = "a\\u0000"}', ": [run] reports has a NUL character"),
        ("timeout = " + "9" * 5000, ": no TOML: "),
    ],
)
def test_a_mistake_is_an_error_with_its_place(project, text, message):
    configure(project, f"{text}\n")
    done = command("docs", "config", cwd=project).check(2)
    assert done.err.startswith(f"Error: maxpool-check.toml{message}"), done.err
    # What says how to put it right needs no configuration.
    assert command("run", "--help", cwd=project).code == 0
    assert command("docs", "schema-config", cwd=project).code == 0


def test_a_variable_that_is_none_of_the_tool_is_named(project):
    warning = "warning: MAXPOOL_CHECK_TIMOUT is no variable of maxpool-check (did you mean 'MAXPOOL_CHECK_TIMEOUT'?)\n"
    assert command("cases", "list", "cases", cwd=project, MAXPOOL_CHECK_TIMOUT="3").err == warning
    assert command("--config", "none", "cases", "list", "cases", cwd=project, MAXPOOL_CHECK_TIMOUT="3").err == ""


def test_a_shared_option_stands_before_and_behind_the_name_of_a_command(project):
    configure(project, "[run]\ntimeout = 2\nquiet = true\n")
    run = ("cases", "--known", "none", "-t", "onnxruntime", "--report", "json=r.json")
    for words in (("--timeout", "-1", "run", *run), ("run", *run, "--timeout", "-1")):
        command(*words, cwd=project).check(2, "'--timeout': '-1' is not a number of seconds above 0")
    quiet = command("run", *run, cwd=project).check(1)
    assert (quiet.out, quiet.err.splitlines()[0][:10]) == ("", "UNEXPECTED")
    for words in (
        ("-v", "--color", "always", "explain", "small:padded", "-p", "cases"),
        ("explain", "small:padded", "-p", "cases", "-v", "--color", "always"),
    ):
        shown = command(*words, cwd=project).check(0).out
        assert "\x1b[" in shown
        assert len(shown.splitlines()) > len(
            command("explain", "small:padded", "-p", "cases", cwd=project).out.splitlines()
        )


def test_a_variable_or_a_key_of_before_is_named_with_what_to_use(project):
    warning = (
        "warning: MAXPOOL_CHECK_JOBS sets nothing any more; use MAXPOOL_CHECK_RUN_JOBS for 'run', or 'jobs' of a "
        "configuration for all commands\n"
    )
    assert command("cases", "list", "cases", cwd=project, MAXPOOL_CHECK_JOBS="3").err == warning
    assert command("cases", "list", "cases", cwd=project, MAXPOOL_CHECK_RUN_JOBS="3").err == ""
    configure(project, 'dask = "tcp://127.0.0.1:1"\n')
    done = command("run", "cases", cwd=project)
    done.check(2, "maxpool-check.toml: dask is not for all commands; it may be in the section of a command: [run]")


def test_an_option_that_excludes_another_wins_over_the_configuration(project):
    configure(project, 'known = ["nosuch.yaml"]\n[run]\ndask = "tcp://127.0.0.1:1"\njobs = 1\ntimeout = 9\n')
    assert command("run", "cases", "--known", "none", "-j", "1", "-q", cwd=project).err[:10] == "UNEXPECTED"
    assert "nosuch.yaml" in command("run", "cases", "-j", "1", cwd=project).err


def test_the_schema_takes_what_the_tool_takes(cli):
    schema = cli("docs", "schema-config").json
    valid = {
        "paths": ["cases"], "timeout": 1.5, "strict": True, "color": "auto", "targets": "onnxruntime",
        "run": {"reports": {"html": "x"}, "jobs": 2}, "gate": {"base": "onnxruntime", "fail-on": ["regressed"]},
    }  # fmt: skip
    jsonschema.validate(valid, schema)
    wrong = [{"path": []}, {"jobs": 0}, {"run": {"base": "x"}}, {"color": "blue"}, {"targets": [[]]}]
    for each in (*wrong, {"run": {"reports": {"x": "y"}}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(each, schema)


KERNEL = """
import pathlib

import numpy as np

pathlib.Path(__file__).with_name("started").touch()


def wrong(X, attributes):
    return np.zeros(1, X.dtype)
"""


@pytest.fixture
def hostile(project):
    """A project whose configuration names what would be started, installed or written."""
    (project / "kernel.py").write_text(KERNEL)
    (project / "program").write_text("#!/bin/sh\ntouch started\n")
    (project / "program").chmod(0o755)
    saved(zoo.dynamic(), project, "my.onnx")
    wheels = project / "wheels"
    wheels.mkdir()
    configure(
        project,
        'targets = ["onnxruntime", "python:kernel.py:wrong", "command:./program"]\nfind-links = "wheels"\ncache = "cache"\n'
        '[run]\noutput = "r.jsonl"\nreports = {json = "r.json"}\n[model]\noutput = "m.jsonl"\nshape = ["batch=1"]\n'
        '[explain]\ntargets = ["onnxruntime?python=program", "onnxruntime"]\n[gate]\nhead = "python:kernel.py:wrong"\n',
    )
    return project


COMMANDS = {
    "run": ("run", "cases", "--known", "none"),
    "model": ("model", "my.onnx", "-q"),
    "explain": ("explain", "small:ordinary", "-p", "cases"),
    "explain a part of the corpus": ("explain", "corpus:edge/strides.yaml:rows-only"),
    "repro": ("repro", "small:ordinary", "-p", "cases", "-o", "repro"),
    "fuzz": ("fuzz", "-o", "found", "--max-cases", "5"),
    "gate": ("gate", "cases", "--base", "onnxruntime"),
}


def started(project):
    """What a command has started, installed or written by itself, which is removed."""
    names = [
        each
        for each in ("started", "below/started", "cache", "r.jsonl", "r.json", "m.jsonl")
        if (project / each).exists()
    ]
    for name in names:
        (project / name).unlink() if (project / name).is_file() else (project / name).rmdir()
    return names


@pytest.mark.parametrize("how", ["another user", "others may write"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_what_a_file_of_others_would_start_or_write_is_ignored(hostile, how, words):
    file = hostile / "maxpool-check.toml"
    if how == "others may write":
        file.chmod(0o666)
    elif os.geteuid() == 0:
        os.chown(file, 65534, 65534)
    else:
        pytest.skip("only root can give a file to another user")
    done = command(*words, cwd=hostile)
    # A gate has no head then.
    assert (done.code in (0, 1, *([2] if words[0] == "gate" else [])), started(hostile)) == (True, []), (
        done.out + done.err
    )
    if words[0] in ("run", "model"):
        ignored = [line for line in done.err.splitlines() if how in line]
        keys = [
            "find-links wheels",
            "cache cache",
            "python:kernel.py:wrong command:./program",
            "output ",
            "reports json=r.json",
        ]
        for key in keys if words[0] == "run" else keys[:-1]:
            assert [line for line in ignored if line.startswith(f"warning: maxpool-check.toml: {key}")], key
        assert all(line.endswith("name it on the command line, or use --config maxpool-check.toml") for line in ignored)


@pytest.mark.parametrize("words", [words for words in COMMANDS.values() if words[0] != "run"], ids=[*COMMANDS][1:])
def test_a_project_starts_its_kernels_by_run_alone(hostile, words):
    done = command(*words, cwd=hostile)
    assert {*started(hostile)} - {"m.jsonl"} == set(), done.out + done.err
    assert done.code == 2 if words[0] == "gate" else done.code in (0, 1), done.out + done.err
    if words[0] == "model":
        note = (
            "warning: maxpool-check.toml: python:kernel.py:wrong command:./program is ignored, since only 'run' starts"
        )
        assert note in done.err
    # What the command line has replaces what the file has.
    if words[0] in ("model", "explain"):
        assert "python:kernel.py" not in command(*words, "-t", "onnxruntime", cwd=hostile).err


def test_run_says_which_kernels_a_project_has_it_start(hostile):
    for quiet in ((), ("-q",)):
        # The program is none of the protocol.
        done = command(*COMMANDS["run"], *quiet, cwd=hostile).check(3)
        assert "\npython:kernel.py:wrong command:./program, from maxpool-check.toml\n" in f"\n{done.err}"
        assert "find-links wheels, from maxpool-check.toml\n" in done.err
        assert {*started(hostile)} == {"started", "r.jsonl", "r.json"}
    done = command(*COMMANDS["run"], "-t", "onnxruntime", cwd=hostile)
    assert ("python:" in done.err, "started" in started(hostile)) == (False, False)


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_file_that_is_named_is_read_whole(hostile, by_variable):
    (hostile / "maxpool-check.toml").chmod(0o666)
    words, variables = (), {"MAXPOOL_CHECK_CONFIG": "maxpool-check.toml"}
    if not by_variable:
        words, variables = ("--config", "maxpool-check.toml"), {}
    done = command(*words, *COMMANDS["model"], cwd=hostile, **variables).check(3)
    assert ("maxpool-check.toml" in done.err, {*started(hostile)}) == (False, {"started", "m.jsonl"})


def test_nothing_is_looked_for_above_a_repository_or_the_home_folder(project, monkeypatch):
    configure(project, "timeout = 1\n")
    below = project / "below/deep"
    below.mkdir()
    assert sources(below)["timeout"][0] == "1"
    for name in (".git", ".hg"):
        (project / "below" / name).mkdir()
        assert sources(below)["timeout"][0] == "10.0"
        (project / "below" / name).rmdir()
    (project / ".git").rmdir()
    assert sources(below)["timeout"][0] == "10.0"
    monkeypatch.setenv("HOME", str(project))
    assert sources(below)["timeout"][0] == "1"
    monkeypatch.setenv("HOME", str(below))
    assert sources(below)["timeout"][0] == "10.0"
    # Of the user's own file alone, the cache is taken.
    configure(below, 'cache = "mine"\n')
    assert sources(below)["cache"][0] == "mine"
    (below / ".git").mkdir()
    monkeypatch.setenv("HOME", str(project))
    assert sources(below)["cache"][0] == "-"


def test_every_option_that_a_file_of_others_may_set_only_reads(project):
    """Each new option with a file is to be looked at."""
    kinds = {
        str(each.name): each.type
        for _, leaf in leaves()
        for each in (*leaf.params, *options.SHARED)
        if isinstance(each.type, (click.Path, options.Report)) or each.name in ("dask", "offline")
    }
    kept = {name for name, kind in kinds.items() if not trust.acting_part(name, kind, "x")[0]}
    assert kept == {"paths", "records", "known", "inputs"}


@pytest.mark.parametrize(
    ("target", "is_plain"),
    [
        ("onnxruntime", True), ("onnxruntime==1.32.0", True), ("onnxruntime==1.32.0?machine=aarch64&cpu=max", True),
        ("onnxruntime==1.32.0?disable=ConstantFolding", True), ("openvino==2026.4.1?frontend=onnx", True),
        ("onnxruntime==1.32.0?machine=aarch64&sysroot=rootfs", False), ("onnxruntime?python=bin/python", False),
        ("onnxruntime-qnn==2.7.0@QNNExecutionProvider?backend_path=./evil.so", False), ("tinygrad?device=DISK:/x", False),
        ("onnxruntime-openvino@OpenVINOExecutionProvider?cache_dir=x", False), ("python:a.py:f", False),
        ("command:./a", False), ("outputs:a.jsonl", False),
        ("transform:onnxsim==0.6.5:on:onnxruntime==1.32.0", True),
        ("transform:onnxsim?python=bin/python:on:onnxruntime==1.32.0", False),
        ("transform:onnxsim==0.6.5:on:onnxruntime?python=bin/python", False),
    ],
)  # fmt: skip
def test_targets_that_start_nothing_but_releases(target, is_plain):
    assert parse(target).starts_releases_alone == is_plain


def test_a_project_removes_nothing_trusts_nobody_and_writes_nothing_outside_of_it(project, monkeypatch):
    configure(
        project,
        '[evidence]\nrun = true\nkey = "k.pub"\n[targets]\nclear = true\n'
        '[run]\nreports = {text = "../outside.txt", json = "inside.json"}\noutput = "/tmp/outside.jsonl"\n',
    )
    rows = sources(project)
    for key in ("evidence.run", "evidence.key", "targets.clear", "run.reports", "run.output"):
        assert rows[key][0] == "-", key
    assert sources(project, "--config", "maxpool-check.toml")["targets.clear"][0] == "True"


def test_where_no_target_is_left_nothing_else_is_tested(project):
    configure(project, 'targets = ["python:kernel.py:nothing"]\n')
    (project / "maxpool-check.toml").chmod(0o666)
    command("run", "cases", cwd=project).check(
        2, "python:kernel.py:nothing is ignored, since others may write to the file"
    )
    command("run", "cases", "-t", "onnxruntime", "--known", "none", cwd=project).check(1)
