"""The program itself: help, completion, what it imports, mistakes in its words, and errors of its own."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from unittest import mock

import click
import jsonschema
import pytest

from maxpool_check.commands import main as program
from tests.conftest import ROOT, command, environment


def commands(group, words=()):
    """Every command with the words that call it, the program itself first."""
    yield words, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            yield from commands(group.get_command(context, name), (*words, name))


COMMANDS = {" ".join(("maxpool-check", *words)): each for words, each in commands(program.cli)}


def parse(words):
    """Parse a command line as the program does, and run nothing."""
    context, group = None, program.cli
    while words is not None:
        context = group.make_context(words[0], list(words[1:]), parent=context, obj=tuple(words))
        if not isinstance(group, click.Group) or not (words := [*context._protected_args, *context.args]):
            return context
        _, group, rest = group.resolve_command(context, words)
        words = [words[0], *rest]
    return context


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_fits_the_terminal_and_ends_with_two_examples_that_the_command_takes(cli, name):
    done = cli(*name.split()[1:], "--help", COLUMNS="60").check(0, err="")
    # An example is not broken: it is pasted.
    others = [line for line in done.out.splitlines() if not line.startswith("    maxpool-check")]
    assert [line for line in others if len(line) > 60] == []
    assert "..." not in done.out.partition("\nCommands:\n")[2]
    lines = re.search(r"\n  Examples:\n((?:    maxpool-check .+\n)+)\nOptions:\n", done.out)[1].splitlines()
    assert len({*lines}) == len(lines) == 2
    assert any(f"{line} ".startswith(f"    {name} ") for line in lines)
    for part in re.split(r" && | \| | > |\n", "\n".join(lines)):
        if part.strip().startswith("maxpool-check"):
            with mock.patch.dict(os.environ):
                parse(shlex.split(part))


def test_there_are_fourteen_commands_and_at_most_110_options():
    assert len({name.split()[1] for name in COMMANDS if name != "maxpool-check"}) == 14
    leaves = [each for each in COMMANDS.values() if not isinstance(each, click.Group)]
    assert sum(isinstance(each, click.Option) for leaf in leaves for each in leaf.params) <= 110
    # Those that every command takes, too, the configuration, and the version.
    assert len(program.cli.params) <= 11


CALL = """\
import atexit, os, sys
from maxpool_check.commands.main import main
atexit.register(lambda: print({shown}))
main({arguments})
"""
NOT_NEEDED = ["numpy", "onnx", "onnxruntime", "rich", "jsonschema_rs", "yaml", "msgspec", "tomllib"]
COMPLETION = {"_MAXPOOL_CHECK_COMPLETE": "bash_complete", "COMP_WORDS": "maxpool-check r", "COMP_CWORD": "1"}


def last_line(shown, arguments, **variables):
    """The last line that a new interpreter prints: an expression at the end of a command."""
    code = CALL.format(shown=shown, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, env=environment(**variables))
    return done.stdout.decode().splitlines()[-1]


@pytest.mark.parametrize(("arguments", "variables"), [(["--help"], {}), (["--version"], {}), ([], COMPLETION)])
def test_help_and_completion_do_not_wait_for_numpy_or_a_runtime(arguments, variables):
    assert last_line(f"{{*{NOT_NEEDED}}} & {{*sys.modules}}", arguments, **variables) == "set()"


@pytest.mark.parametrize(
    ("words", "code"), [("docs schema-case", 0), ("rnu", 2), ("run cases/sonnx -t python:x.py:f", 3)]
)
def test_a_process_ends_with_the_exit_code_and_all_of_its_output(process, cli, words, code):
    done, inside = process(*words.split()), cli(*words.split())
    # A second may begin while one of them runs.
    outputs = [re.sub(r" in \d+ s,", ",", each.out) for each in (done, inside)]
    assert (done.code, outputs[0], done.err) == (code, outputs[1], inside.err)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="on one core there is one thread anyway")
def test_numpy_starts_no_threads_unless_it_is_told_to(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    shown = "('numpy' in sys.modules, len(os.listdir('/proc/self/task')))"
    assert last_line(shown, ["docs", "schema-case"]) == "(True, 1)"
    assert last_line(shown, ["docs", "schema-case"], OPENBLAS_NUM_THREADS="2") == "(True, 2)"


RECORD = "tests/data/golden/record.jsonl"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rnu", "did you mean 'run'?"),
        ("x.yaml", "did you mean 'maxpool-check run x.yaml'?"),
        (f"report {RECORD} {RECORD} --report json", "--report json is one document for one record"),
        ("report record", "File 'record' not found; 'run', 'gate' and 'model' write a record with -o record"),
        ("run mine", "Directory 'mine' not found; name case files, folders of them, or 'corpus'"),
        ("run cases/sonnx --known known.yaml", "File 'known.yaml' not found"),
        ("run edge", "'edge' not found (did you mean 'corpus:edge'?); name case files"),
        ("cases list edge/ties:all-equal", "(did you mean 'corpus:edge/ties -k all-equal'?); name case files"),
        ("cases list corpus:edg", "the corpus has no 'edg' (did you mean 'corpus:edge'?)"),
        # It exists, beside the corpus of a checkout.
        ("cases list corpus:../tests", "the corpus has no '../tests'"),
        ("cases list cases/edge/ties.yaml -k edge/ties:* -k nosuch:*", "no case is selected by 'nosuch:*'"),
        ("cases list cases/edge -k neg", "(did you mean '*neg*'?)"),
        ("cases list cases/edge/ties.yaml -k edge/ties:all-equl", "(did you mean 'edge/ties:all-equal'?)"),
        ("cases list cases/edge/ties.yaml -k spec:xmos", "'spec:xmos': there is no case of this document"),
        ("run cases/edge/ties.yaml --spec xmos", "no selected case is of xmos"),
        ("explain sonnx/float:float-exampel-3 -p cases/sonnx", "did you mean 'sonnx/float:float-example-3'"),
        ("repro edge/neg-ing:one-cell -o out -t onnxruntime", "(did you mean 'edge/neg-inf:one-cell'?)"),
        ("repro ORT-SEED-KPT -o out -t onnxruntime", "(did you mean 'ORT-SEED-KEPT'?)"),
        ("explain y-lowest-for-inf", "(did you mean 'y-lowest-for-neg-inf'?)"),
        ("explain mine:x -p mine", "Directory 'mine' not found; pass the case files with -p PATH"),
        ("explain edge/nan:middle --at 0,1", "Y has the shape [1, 1, 1, 2], its first cell is 0,0,0,0"),
        ("explain documents -p cases/sonnx/float.yaml", "none of 4 cases has the tag documents"),
        ("bisect edge/nan:middle --kind y-lowest", "unknown kind 'y-lowest'"),
        ("bisect edge/nan:middle --target onnxruntime==1.23.2", "is one version"),
        ("history", "name the runtime with -t, the releases with --versions A..B, or the cases as PATH"),
        ("history cases/sonnx --versions 1.28", "is not A..B or A..B,every=minor"),
        ("fuzz -o out --spec onxx-22", "unknown specification 'onxx-22' (did you mean 'onnx-22'?)"),
        ("fuzz -o out --only contexts --spec openvino-14", "is not a document of ONNX graphs"),
        ("fuzz -o out --known x.yaml --known none", "File 'x.yaml' not found"),
        ("fuzz -o out --seed 3..1", "'3..1' is neither a seed"),
        (f"report {RECORD} history.json", "history.json is a history, which is for a site; name its folder with -o"),
        ("repro edge/nan:middle -o out --also nope", "unknown runtime 'nope'"),
        ("run cases/sonnx -t onnxruntime==1.32.0?machin=aarch64", "unknown option machin (did you mean 'machine'?)"),
        (
            "run cases/sonnx -t onnxruntime@CPUExecutionProvider?pyton=x",
            "unknown option pyton (did you mean 'python'?)",
        ),
        (
            "run cases/sonnx -t onnxruntime-load?nonsense=1",
            "unknown option nonsense; without another @PROVIDER it may be cpu,",
        ),
        (
            "run cases/sonnx -t transform:onnxsim:on:onnxruntime?machin=x",
            "unknown option machin (did you mean 'machine'?)",
        ),
        ("run cases/sonnx -t onnxruntime?python=", "the option python has no value"),
        (f"run cases/sonnx -t onnxruntime -j {10**30}", "is not in the range 1<=x<=1024"),
        (f"fuzz -o out -t onnxruntime --max-cases {10**30}", "is not in the range 1<=x<=2147483647"),
        (f"run cases/sonnx -t onnxruntime --memory {10**30}", "is not in the range 1<=x<=2147483647"),
        ("run cases/sonnx -t onnxruntime==1.32.0?machine=&cpu=", "the option machine has no value"),
        (
            "run cases/sonnx -t onnxruntime?disable=Pad_Fusion&disable=NhwcTransformer",
            "has two values of the option disable",
        ),
        (
            "run cases/sonnx -t onnxruntime?disable=pad_fusion",
            "unknown optimizer 'pad_fusion' (did you mean 'Pad_Fusion'?)",
        ),
        ("run cases/sonnx -t onnxruntime?disable=Pad_Fusion,", "unknown optimizer ''"),
        ("run cases/sonnx -t transform:onnxruntime?level=:on:onnxruntime", "the option level has no value"),
        ("model x.onnx -t onnxruntime?wheel=/x.whl", "name its interpreter: ?python=ENVIRONMENT/bin/python"),
        (f"gate {RECORD} {RECORD} -k ordinary", "is for a run; --report FORMAT=FILE writes what differs"),
        (f"gate {RECORD} {RECORD} --fail-on fixd", "did you mean 'fixed'?"),
        ("gate --base onnxruntime", "Missing option '--head'; or name two records"),
        ("gate --base onnxruntime --head jax --head onnxruntime", "the base and the head are the same"),
        ("gate --base onnxruntime --head jax --intersection", "is for two records"),
        (f"defects accept {RECORD} -o out --author A --reason R --expires 2020-01-01", "has passed"),
        (f"defects accept {RECORD} -o out --author A --reason R --base {RECORD} -k neg-imf", "has no case 'neg-imf'"),
    ],
)
def test_mistakes_in_the_words_of_a_command(cli, words, message):
    done = cli(*words.split()).check(2, message, out=None if "--report json" in words else "")
    assert ":1:1" not in done.err
    assert not (ROOT / "out").exists()


def test_an_internal_error_is_said_to_be_one(monkeypatch, capsys):
    def broken(*arguments, **options):
        raise RuntimeError("oops")

    monkeypatch.setattr(program.cli, "main", broken)
    with pytest.raises(SystemExit) as left:
        program.main(["run", "x", "--report", "json"])
    shown = capsys.readouterr()
    assert left.value.code == 3
    assert "defect of maxpool-check" in shown.err
    assert "Traceback" not in shown.err
    assert json.loads(shown.out)["exit_code"] == 3
    with pytest.raises(SystemExit):
        program.main(["run", "-vv"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["case", "config", "defects", "outputs", "record", "trace", "vectors"])
def test_schemas_are_schemas(cli, name):
    jsonschema.Draft202012Validator.check_schema(cli("docs", f"schema-{name}").json)


def completed(line):
    """The candidates for a line, as a shell gets them."""
    shown = {"COMP_WORDS": f"maxpool-check {line}", "COMP_CWORD": line.rpartition(" ")[2]}
    done = command(**shown, _MAXPOOL_CHECK_COMPLETE="fish_complete").check(0, err="")
    return [each.partition(",")[2].partition("\t")[0] for each in done.out.splitlines() if each.startswith("plain,")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("evidence ver", "verify"),
        ("run -t onnxr", "onnxruntime"),
        ("run --off", "--offline"),
        ("bisect --kind y-lowest", "y-lowest-for-neg-inf"),
        ("run --variants default,tw", "default,twice"),
        ("gate --fail-on reg", "regressed"),
        ("run --report ht", "html="),
        ("docs schema-re", "schema-record"),
    ],
)
def test_commands_options_and_names_are_completed(line, expected):
    assert expected in completed(line)
