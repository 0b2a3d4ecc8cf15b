"""Completion of the command line: what is offered, and that real shells take it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import platformdirs
import pytest

from maxpool_check.targets.environments import cache
from tests.commands.test_help import COMMANDS
from tests.conftest import SMALL, command, environment

PROGRAM = Path(sys.executable).with_name("maxpool-check")


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory):
    """A cache with the names of two environments."""
    folder = tmp_path_factory.mktemp("cache")
    for name in ("onnxruntime-1.17.3-cpython3.11-x86_64", "onnxruntime-qnn-9.9.9+onnxruntime-cpython3.11-x86_64"):
        (folder / "environments" / name).mkdir(parents=True)
    return folder


@pytest.fixture
def complete(cache_folder, tmp_path):
    """The candidates for a line, as bash gets them."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/small.yaml").write_text(SMALL)

    def run(line, shell="fish", **variables):
        *words, last = line.split(" ")
        shown = {"COMP_WORDS": "\n".join(["maxpool-check", *words, last]), "COMP_CWORD": str(len(words) + 1)}
        if shell == "fish":
            shown = {"COMP_WORDS": f"maxpool-check {line}", "COMP_CWORD": last}
        done = command(
            cwd=tmp_path,
            **shown,
            _MAXPOOL_CHECK_COMPLETE=f"{shell}_complete",
            MAXPOOL_CHECK_CACHE=str(cache_folder),
            **variables,
        )
        assert (done.code, done.err) == (0, "")
        return [
            each.partition(",")[2].partition("\t")[0] for each in done.out.splitlines() if each.startswith("plain,")
        ]

    return run


EXPECTED = {
    "": "run",
    "gat": "gate",
    "gate acc": "accept",
    "run --ti": "--timeout",
    "run -t onnxr": "onnxruntime",
    "run -t onnxruntime==1.17": "onnxruntime==1.17.3",
    "run -t onnxruntime-qnn==9": "onnxruntime-qnn==9.9.9",
    "bisect --from 1.17": "1.17.3",
    "run own -k ": "small:neg-inf",
    "run own -k tag:": "tag:neg-inf",
    "run own -k dtype:f": "dtype:float32",
    "run --spec onnx-2": "onnx-22",
    "run --variants default,tw": "default,twice",
    "gate --fail-on reg": "regressed",
    "run --report ht": "html=",
    "run corpus:edge/tie": "corpus:edge/ties",
}


@pytest.mark.parametrize("line", EXPECTED)
def test_every_kind_of_value_is_completed(complete, line):
    assert EXPECTED[line] in complete(line)


def test_the_ids_are_those_of_the_configuration_where_no_path_is_named(complete, tmp_path):
    (tmp_path / "maxpool-check.toml").write_text('paths = ["own"]\n')
    assert complete("run -k small:n") == ["small:neg-inf"]
    (tmp_path / "maxpool-check.toml").write_text("a = [")
    assert complete("run own -k small:n") == ["small:neg-inf"]


def test_text_that_a_shell_or_a_terminal_could_take_for_a_command_is_not_offered(complete, tmp_path):
    (tmp_path / "own/$(touch x).yaml").write_text(SMALL)
    (tmp_path / "own/other.yaml").write_text(SMALL.replace("ordinary", '"\\e[31mred;"'))
    shown = "".join(complete("run own -k "))
    assert "other:padded" in shown
    assert not {"$", "\x1b", ";"} & set(shown)


def test_bash_gets_what_follows_the_last_of_its_breaks(complete):
    assert complete("run own -k small : neg", "bash") == ["neg-inf"]
    assert complete("run -t onnxruntime == 1.17", "bash") == ["1.17.3"]


def test_every_value_has_a_type_that_completes_it():
    for name, group in COMMANDS.items():
        for parameter in group.params:
            assert (
                parameter.type.name != "text" or getattr(parameter, "is_flag", False) or parameter.name in UNKNOWABLE
            ), f"{name}: {parameter}"


UNKNOWABLE = {"at", "author", "config", "dask", "issue", "reason", "reviewer", "title", "versions"}
"""The parameters whose values nobody can know."""


def test_the_folder_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("MAXPOOL_CHECK_CACHE", "here")
    assert cache() == Path.cwd() / "here/environments"
    monkeypatch.delenv("MAXPOOL_CHECK_CACHE")
    for variable in (str(tmp_path), ""):
        monkeypatch.setenv("XDG_CACHE_HOME", variable)
        assert cache() == Path(platformdirs.user_cache_dir("maxpool-check"), "environments")


SHELLS = {
    "bash": (["bash", "--norc", "-i"], ['eval "$(_MAXPOOL_CHECK_COMPLETE=bash_source maxpool-check)"']),
    "zsh": (
        ["zsh", "-f", "-i"],
        ["autoload -U compinit; compinit -u -D", 'eval "$(_MAXPOOL_CHECK_COMPLETE=zsh_source maxpool-check)"'],
    ),
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
    "maxpool-check run own -k small:neg": "maxpool-check run own -k small:neg-inf",
    "maxpool-check run own -t onnxruntime==1.17": "maxpool-check run own -t onnxruntime==1.17.3",
    "maxpool-check run own/sm": "maxpool-check run own/small.yaml",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_completes_a_line(shell, complete, cache_folder, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert typed(shell, LINES, cache_folder, tmp_path) == list(LINES.values())


def test_fish_completes_a_line(complete, cache_folder, tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    asked = "; ".join(f"complete -C '{line}'; echo END" for line in LINES)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"_MAXPOOL_CHECK_COMPLETE=fish_source maxpool-check | source; {asked}"],
        capture_output=True, text=True, cwd=tmp_path, env=environment(PATH=path, MAXPOOL_CHECK_CACHE=str(cache_folder)),
        check=True,
    )  # fmt: skip
    for expected, shown in zip(LINES.values(), done.stdout.split("END\n")[:-1], strict=True):
        words = [each.partition("\t")[0] for each in shown.splitlines()]
        assert words
        assert all(word.startswith(expected.split()[-1]) for word in words)
