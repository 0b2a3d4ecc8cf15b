"""Completion of the command line: what is offered, in real shells, and that nothing slow is imported."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import platformdirs
import pytest

from maxpool_check.commands.completing import json_cache
from maxpool_check.commands.completing.candidates import CANDIDATES
from maxpool_check.commands.completing.offer import NOT_COMPLETED, completed
from maxpool_check.targets.environments import cache
from tests.commands.test_help import COMMANDS
from tests.conftest import SMALL, command, environment

PROGRAM = Path(sys.executable).with_name("maxpool-check")


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory):
    """A cache with what completion keeps, and the names of two environments."""
    folder = tmp_path_factory.mktemp("cache")
    for name in ("onnxruntime-1.17.3-cpython3.11-x86_64", "onnxruntime-qnn-9.9.9+onnxruntime-cpython3.11-x86_64"):
        (folder / "environments" / name).mkdir(parents=True)
    return folder


@pytest.fixture
def complete(cache_folder, tmp_path):
    """The candidates for a line; several tests use one cache, since the first completion imports everything."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/small.yaml").write_text(SMALL)

    def run(line, shell="bash", *, apart=False, **variables):
        changed = {
            "COMP_WORDS": f"maxpool-check {line}", "COMP_CWORD": "", "_MAXPOOL_CHECK_COMPLETE": f"{shell}_complete",
            "MAXPOOL_CHECK_CACHE": str(cache_folder), **variables,
        }  # fmt: skip
        if apart:
            done = subprocess.run(
                [PROGRAM], capture_output=True, text=True, cwd=tmp_path, env=environment(**changed), check=True
            )
            out, err = done.stdout, done.stderr
        else:
            done = command(cwd=tmp_path, **changed)
            out, err = done.out, done.err
            assert done.code == 0
        assert err == ""
        return [each.partition(",")[2] for each in out.splitlines() if each.startswith("plain,")]

    return run


def test_every_kind_of_value_is_completed(complete):
    for line, expected in {
        "": "run",
        "gat": "gate",
        "gate acc": "accept",
        "run --ti": "--timeout",
        "known ": "check",
        "run -t onnxr": "onnxruntime==",
        "run -t onnxruntime==1.17": "onnxruntime==1.17.3",
        "run -t onnxruntime-qnn==9": "onnxruntime-qnn==9.9.9",
        "run -t transform:onnxsim:on:onnxruntime==1.17": "transform:onnxsim:on:onnxruntime==1.17.3",
        "bisect --from 1.17": "1.17.3",
        "run own -k ": "small:",
        "run own -k small:": "small:neg-inf",
        "run own -k tag:": "tag:neg-inf",
        "run own -k dtype:f": "dtype:float32",
        "explain -p own small:": "small:padded",
        "explain own/small.yaml:pad": "own/small.yaml:padded",
        "explain y-low": "y-lowest-for-neg-inf",
        "repro ORT-NAN": "ORT-NAN-POSITION",
        "defects ": "check",
        "defects ORT-NAN-P": "ORT-NAN-POSITION",
        "run --spec onnx-2": "onnx-22",
        "run --variants default,tw": "default,twice",
        "gate --fail-on reg": "regressed",
        "run --report ht": "html=",
        "run --format j": "json",
        "run corpus:edge/tie": "corpus:edge/ties",
        "schema conf": "config",
        "docs conf": "configuration",
        "config --command ga": "gate",
    }.items():
        assert expected in complete(line), line


def test_the_ids_are_those_of_the_configuration_where_no_path_is_named(complete, tmp_path):
    (tmp_path / "maxpool-check.toml").write_text('paths = ["own"]\n')
    assert complete("run -k small:n") == ["small:neg-inf"]
    (tmp_path / "own/small.yaml").write_text(SMALL.replace("neg-inf", "new"))
    assert complete("run -k small:n") == ["small:new"]
    (tmp_path / "maxpool-check.toml").write_text("a = [")
    assert complete("run own -k small:n") == ["small:new"]


def test_a_broken_cache_and_one_that_cannot_be_written_are_ignored(complete, tmp_path):
    broken = tmp_path / "broken/completion"
    broken.mkdir(parents=True)
    (broken / "offer.json").write_text('{"state": [')
    assert complete("run --ti", MAXPOOL_CHECK_CACHE=str(broken.parent)) == ["--timeout"]
    (tmp_path / "file").touch()
    assert complete("run own -k small:neg", MAXPOOL_CHECK_CACHE=str(tmp_path / "file")) == ["small:neg-inf"]


def test_text_that_a_shell_or_a_terminal_could_take_for_a_command_is_not_offered(complete, tmp_path):
    (tmp_path / "own/$(touch x).yaml").write_text(SMALL)
    (tmp_path / "own/other.yaml").write_text(SMALL.replace("Nothing special", '"\\e[31mred\\n;"'))
    assert "other:" in complete("run own -k ")
    assert "$" not in "".join(complete("run own -k "))
    shown = "".join(complete("run own -k other:o", "fish", COMP_CWORD="other:o"))
    assert "ordinary" in shown
    assert "red" in shown
    assert "\x1b" not in shown


def test_a_warm_completion_imports_neither_numpy_nor_the_commands(complete, cache_folder, tmp_path):
    for line in ("run --ti", "run own -k small:", "run -t onnxruntime==", "explain -p own y-"):
        complete(line, apart=True)
        code = "import sys; from maxpool_check.commands.completing.shells import complete\ncomplete('bash_complete')\n"
        done = subprocess.run(
            [sys.executable, "-c", f"{code}print(*sys.modules, file=sys.stderr)"], capture_output=True, text=True,
            cwd=tmp_path, check=True,
            env=environment(COMP_WORDS=f"maxpool-check {line}", COMP_CWORD="", MAXPOOL_CHECK_CACHE=str(cache_folder)),
        )  # fmt: skip
        assert not {"numpy", "yaml", "tomllib", "maxpool_check.commands.run"} & set(done.stderr.split()), line


def values_of(group, words):
    return [
        (" ".join(words), parameter)
        for parameter in group.params
        if not isinstance(parameter.type, (click.Choice, click.IntRange, click.FloatRange))
        and not (isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count))
    ]


def test_every_value_is_completed_or_known_to_be_unknowable():
    for name, group in COMMANDS.items():
        for words, parameter in values_of(group, name.split()[1:]):
            kind = completed(words, parameter)
            assert kind in CANDIDATES or parameter.name in NOT_COMPLETED, f"{name}: {parameter.name}"


def test_the_folder_of_the_cache_is_that_of_environments(monkeypatch, tmp_path):
    assert json_cache.cache_folder() == str(cache().parent)
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", "here")
    assert json_cache.cache_folder() == str(cache().parent)
    monkeypatch.delenv("MAXPOOL_CHECK_CACHE")
    for variable in (str(tmp_path), ""):
        monkeypatch.setenv("XDG_CACHE_HOME", variable)
        assert json_cache.cache_folder() == platformdirs.user_cache_dir("maxpool-check") == str(cache().parent)


def test_without_a_home_the_folder_of_the_cache_is_in_that_of_the_user_database(monkeypatch):
    monkeypatch.delenv("MAXPOOL_CHECK_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    expected = platformdirs.user_cache_dir("maxpool-check")
    assert json_cache.cache_folder() == expected
    monkeypatch.setenv("HOME", "")
    assert json_cache.cache_folder() == expected
    # A user of a container may have no entry.
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert json_cache.cache_folder() == "/nonexistent/.cache/maxpool-check"


SHELLS = {
    "bash": (["bash", "--norc", "-i"], ['eval "$(maxpool-check completion bash)"']),
    "zsh": (["zsh", "-f", "-i"], ["autoload -U compinit; compinit -u -D", 'eval "$(maxpool-check completion zsh)"']),
}


def typed(shell, lines, cache_folder, folder):
    """What lines become that a user types in an interactive shell, with the tabulator key behind each."""
    program, setup = SHELLS[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        path = f"{PROGRAM.parent}:{os.environ['PATH']}"
        os.chdir(folder)
        own = {
            "PS1": "READY> ",
            "PROMPT": "READY> ",
            "TERM": "dumb",
            "PATH": path,
            "MAXPOOL_CHECK_CACHE": str(cache_folder),
        }
        os.execvpe(program[0], program, environment(**own))
    shown = b""

    def until(mark, seconds=300):
        nonlocal shown
        deadline = time.monotonic() + seconds
        while mark not in shown and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 65536)
        assert mark in shown, shown
        before, _, shown = shown.partition(mark)
        return before.decode()

    try:
        until(b"READY> ")
        for command in setup:
            os.write(terminal, f"{command}; echo SET''UP\n".encode())
            until(b"SETUP\r\n")
            until(b"READY> ")
        completed = []
        for line in lines:
            # The shell reads what follows when it has completed.
            os.write(terminal, f"{line}\t\x01echo '<'\x05'>'\n".encode())
            completed.append(until(b">\r\n").rpartition("<")[2].strip())
            until(b"READY> ")
        return completed
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


LINES = {
    "maxpool-check gat": "maxpool-check gate",
    "maxpool-check run own -k sma": "maxpool-check run own -k small:",
    "maxpool-check run own -k small:neg": "maxpool-check run own -k small:neg-inf",
    "maxpool-check run own -t onnxruntime==1.17": "maxpool-check run own -t onnxruntime==1.17.3",
    "maxpool-check run --report ht": "maxpool-check run --report html=",
    "maxpool-check run own/sm": "maxpool-check run own/small.yaml",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_completes_a_line(shell, complete, cache_folder, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    complete("run own -k small:", apart=True)
    assert typed(shell, LINES, cache_folder, tmp_path) == list(LINES.values())


def test_fish_completes_a_line(complete, cache_folder, tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    complete("run own -k small:", apart=True)
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    asked = "; ".join(f"complete -C '{line}'; echo END" for line in LINES)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"maxpool-check completion fish | source; {asked}"],
        capture_output=True, text=True, cwd=tmp_path, env=environment(PATH=path, MAXPOOL_CHECK_CACHE=str(cache_folder)),
        check=True,
    )  # fmt: skip
    for expected, shown in zip(LINES.values(), done.stdout.split("END\n")[:-1], strict=True):
        words = [each.partition("\t")[0] for each in shown.splitlines()]
        assert words
        assert all(word.startswith(expected.split()[-1]) for word in words)


def test_the_script_of_bash_completes_in_a_function_alone(complete, cache_folder, tmp_path):
    """As when another program calls it: with words broken at ``:`` and ``=``."""
    complete("run own -k small:", apart=True)
    script = """
        eval "$(maxpool-check completion bash)"
        compopt() { :; }
        COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:@'
        COMP_LINE='maxpool-check run own -k small:neg'
        COMP_POINT=${#COMP_LINE}
        _maxpool_check_completion maxpool-check
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True,
        env=environment(PATH=path, MAXPOOL_CHECK_CACHE=str(cache_folder)),
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("neg-inf\n", "")
