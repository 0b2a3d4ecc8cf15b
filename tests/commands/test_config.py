"""What a configuration sets, where it is looked for, and what is said about mistakes in it."""

import json
import re
import subprocess
import sys

import jsonschema
import pytest

from maxpool_check.commands.configuration import schema as configuration_schema
from maxpool_check.results.storage import read
from tests.conftest import ROOT, SMALL, command, run_pytest
from tests.models import zoo
from tests.models.writing import saved


@pytest.fixture
def project(tmp_path):
    """A project with a corpus, and a folder below it."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/small.yaml").write_text(SMALL)
    (tmp_path / "below").mkdir()
    (tmp_path / "kernel.py").write_text("def nothing(X, attributes):\n    raise ValueError('no kernel')\n")
    return tmp_path


def configure(project, text, name="maxpool-check.toml"):
    (project / name).write_text(text)


def recorded(folder, *arguments, **variables):
    """The words of the command line that a record has of a run."""
    done = command("run", *arguments, "-q", "-o", folder / "record.jsonl", cwd=folder, **variables)
    assert done.code in (0, 1), done.err
    return read(folder / "record.jsonl").header.command


def test_a_run_needs_no_arguments_with_a_configuration(project):
    configure(project, '[tool.maxpool-check]\npaths = ["cases"]\nvariants = ["y-only"]\n', "pyproject.toml")
    done = command("run", "-o", "record.jsonl", "--report", "json", cwd=project)
    assert done.code == 1, done.err
    record = read(project / "record.jsonl")
    assert {each.variant for each in record.executions} == {"y-only"}
    assert list(record.header.command) == [
        "maxpool-check", "--config", "none", "run", "--variants", "y-only", "-o", "record.jsonl", "--report", "json", "cases",
    ]  # fmt: skip


def test_the_command_line_of_a_record_repeats_the_run_without_the_configuration(project):
    configure(project, 'paths = ["cases"]\n[run]\nvariants = ["y-only"]\ntargets = ["python:kernel.py:nothing"]\n')
    words = recorded(project / "below", MAXPOOL_CHECK_TIMEOUT="7")
    assert words[words.index("--timeout") + 1] == "7"
    assert words[words.index("--target") + 1] == "python:../kernel.py:nothing"
    first = read(project / "below/record.jsonl")
    (project / "maxpool-check.toml").unlink()
    command(*words[1:], cwd=project / "below")
    second = read(project / "below/record.jsonl")
    assert [(each.case, each.variant, each.verdict) for each in second.executions] == [
        (each.case, each.variant, each.verdict) for each in first.executions
    ]
    assert second.header.cases_sha256 == first.header.cases_sha256


def test_without_a_configuration_a_record_has_the_command_line_as_it_was_typed(project):
    words = recorded(project, "cases")
    assert list(words) == ["maxpool-check", "run", "cases", "-q", "-o", str(project / "record.jsonl")]


def test_a_model_needs_no_arguments_with_a_configuration(project):
    (project / "models").mkdir()
    saved(zoo.dynamic(), project / "models", "my.onnx")
    configure(
        project,
        'paths = ["cases"]\nspec = ["onnx-12"]\n[model]\npaths = ["models/my.onnx"]\nspec = "sonnx"\n'
        'shape = ["batch=2"]\ntargets = ["python:kernel.py:nothing"]\n',
    )
    done = command("model", "--report", "json", "-o", "../record.jsonl", cwd=project / "below")
    assert done.code == 1, done.err
    (node,) = done.json["models"][0]["nodes"]
    assert node["tested_input"]["shape"][0] == 2
    other = command("model", "--shape", "batch=3", "--report", "json", cwd=project).json
    assert other["models"][0]["nodes"][0]["tested_input"]["shape"][0] == 3
    (project / "maxpool-check.toml").write_text('paths = ["cases"]\nspec = ["onnx-12"]\n')
    assert "Missing argument 'MODEL.onnx...'" in command("model", cwd=project).err


def sources(folder, *words, **variables):
    """The value and the source of each key, as ``docs config`` shows them."""
    done = command(*words, "docs", "config", cwd=folder, **variables)
    assert done.code == 0, done.err
    rows = [re.split(r"  +", line, maxsplit=2) for line in done.out.splitlines()[2:] if line]
    return {key: (value, source) for key, value, source in rows}


def test_the_section_the_environment_and_the_command_line_win_in_this_order(project):
    configure(project, "timeout = 1\njobs = 2\n\n[run]\ntimeout = 2\n")
    found = sources(project)
    assert found["run.timeout"] == ("2", "maxpool-check.toml: [run] timeout")
    assert found["timeout"] == ("1", "maxpool-check.toml: timeout")
    assert found["jobs"] == ("2", "maxpool-check.toml: jobs")
    assert found["strict"] == ("False", "default")
    variables = {"MAXPOOL_CHECK_TIMEOUT": "3"}
    assert sources(project, **variables)["timeout"] == ("3", "MAXPOOL_CHECK_TIMEOUT")
    # Each is wrong, and the one that wins is named.
    for words, variables, message in (
        (
            ["run"],
            {"MAXPOOL_CHECK_TIMEOUT": "-3", "MAXPOOL_CHECK_RUN_TIMEOUT": "-4"},
            "MAXPOOL_CHECK_RUN_TIMEOUT: '-4'",
        ),
        (["run"], {"MAXPOOL_CHECK_TIMEOUT": "-3"}, "MAXPOOL_CHECK_TIMEOUT: '-3'"),
        (["run", "--timeout", "-5"], {"MAXPOOL_CHECK_RUN_TIMEOUT": "-4"}, "'--timeout': '-5'"),
    ):
        assert message in command(*words, cwd=project, **variables).err


def test_a_base_of_one_word_is_that_of_gate_which_takes_several(project):
    configure(project, '[gate]\nbase = "onnxruntime==1.24.4"\n')
    done = command("docs", "config", cwd=project)
    assert done.code == 0, done.err
    assert re.search(r"^gate\.base +onnxruntime==1\.24\.4 +maxpool-check\.toml: \[gate\] base$", done.out, re.MULTILINE)
    assert not re.search(r"^base ", done.out, re.MULTILINE)


def test_the_nearest_configuration_holds_and_a_project_of_others_is_passed_by(project):
    configure(project, "timeout = 1\n")
    (project / "below/pyproject.toml").write_text('[project]\ndependencies = ["maxpool-check"]\n')
    below = sources(project / "below")
    assert below["timeout"] == ("1", f"{project}/maxpool-check.toml: timeout")
    (project / "below/maxpool-check.toml").write_text("timeout = 2\n")
    assert sources(project / "below")["timeout"][0] == "2"
    assert sources(project / "below", MAXPOOL_CHECK_CONFIG="../maxpool-check.toml")["timeout"][0] == "1"
    nothing = sources(project, "--config", "none", MAXPOOL_CHECK_TIMEOUT="9")
    assert {source for _, source in nothing.values()} == {"default"}
    assert sources(project / "below", "--config", "../maxpool-check.toml")["timeout"][0] == "1"


def test_two_configurations_in_one_folder_are_refused(project):
    configure(project, "timeout = 1\n")
    configure(project, "[tool.maxpool-check]\ntimeout = 2\n", "pyproject.toml")
    done = command("run", "cases", cwd=project)
    assert (done.code, "keep one of them" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('targetz = ["x"]\n', ": targetz is an unknown key (did you mean 'targets'?)"),
        ("# x\n\n[run]\ntimeouts = 3\n", ": [run] timeouts is an unknown key (did you mean 'timeout'?)"),
        ("[rum]\na = 1\n", ": rum is an unknown key (did you mean 'run'?)"),
        ('[run]\ntarget = "x"\n', ": [run] target is an unknown key (did you mean 'targets'?); keys are "),
        ('[model]\nreport = "x"\n', ": [model] report is an unknown key (did you mean 'reports'?); keys are "),
        ('[model]\nspec = "openvino"\n', ": [model] spec: 'openvino' is not one of 'onnx', 'sonnx'"),
        ("timeout = true\n", ": timeout: 'True' is not a number of seconds above 0"),
        ("timeout = nan\n", ": timeout: 'nan' is not a number of seconds above 0"),
        ("jobs = 1.5\n", ": jobs: '1.5' is not a valid integer range"),
        ("jobs = [1, 2]\n", ": jobs must be one value"),
        ('strict = "maybe"\n', ": strict: 'maybe' is not a valid boolean"),
        ("paths = {a = 1}\n", ": paths must be a value or a list of values"),
        ('[run]\nreports = "x"\n', ": [run] reports must be a table of paths by format"),
        ('[run.reports]\nmarkdow = "x"\n', ": [run] reports: unknown format 'markdow' (did you mean 'markdown'?)"),
        ("run = 3\n", ": run is the section of a command: [run]"),
        ('targets = ["onnxruntim"]\n', ": targets: unknown runtime 'onnxruntim' (did you mean 'onnxruntime'?)"),
        ('variants = ["al"]\n', ": variants: "),
        ("a = [1\n", ": no TOML: "),
        ("a = \n", ": no TOML: "),
        ("timeout = " + "9" * 5000 + "\n", ": no TOML: "),
    ],
)
def test_a_mistake_is_an_error_with_its_place(project, text, message):
    configure(project, text)
    done = command("docs", "config", cwd=project)
    assert done.code == 2
    assert done.err.startswith(f"Error: maxpool-check.toml{message}"), done.err


def test_a_bad_variable_is_an_error_and_an_unknown_one_is_named(project):
    for variables, message in (
        ({"MAXPOOL_CHECK_STRICT": "maybe"}, "MAXPOOL_CHECK_STRICT: 'maybe' is not a valid boolean"),
        ({"MAXPOOL_CHECK_JOBS": "0"}, "MAXPOOL_CHECK_JOBS: 0 is not in the range"),
        ({"MAXPOOL_CHECK_RUN_TARGETS": "'"}, "''' is not a list of words"),
    ):
        done = command("run", "cases", cwd=project, **variables)
        assert (done.code, message in done.err) == (2, True), done.err
    warning = "warning: MAXPOOL_CHECK_TIMOUT is no variable of maxpool-check (did you mean 'MAXPOOL_CHECK_TIMEOUT'?)\n"
    assert command("cases", "list", "cases", cwd=project, MAXPOOL_CHECK_TIMOUT="3").err == warning
    assert command("--config", "none", "cases", "list", "cases", cwd=project, MAXPOOL_CHECK_TIMOUT="3").err == ""
    assert command("cases", "list", "cases", cwd=project, MAXPOOL_CHECK_REQUIRES_BROWSER="1").err == ""


def test_help_and_schema_need_no_valid_configuration(project):
    configure(project, "a = [1\n")
    assert command("run", "--help", cwd=project).code == 0
    assert command("docs", "schema-config", cwd=project).json == configuration_schema()


def test_an_option_that_excludes_another_wins_over_the_configuration(project):
    configure(project, 'known = ["nosuch.yaml"]\ndask = "tcp://127.0.0.1:1"\n[run]\njobs = 1\ntimeout = 9\n')
    assert command("run", "cases", "--known", "none", "-j", "1", "-q", cwd=project).err == ""
    assert "nosuch.yaml" in command("run", "cases", "-j", "1", cwd=project).err


def test_hostile_text_of_a_configuration_is_inert(project):
    configure(project, '"\\u001b[31m" = 1\n')
    assert "\x1b" not in command("run", "cases", cwd=project).err
    configure(project, '[gate]\nbase = "\\u001b[31m"\n')
    (project / "cases/\x1b.yaml").write_text("")
    configure(project, 'paths = ["cases/\\u001b.yaml"]\n')
    assert "\x1b" not in command("docs", "config", cwd=project).out


def test_the_schema_takes_what_the_tool_takes():
    schema = configuration_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    valid = {
        "paths": ["cases"], "timeout": 1.5, "strict": True, "color": "auto",
        "run": {"reports": {"html": "x"}, "jobs": 2}, "gate": {"base": "onnxruntime", "fail-on": ["regressed"]},
    }  # fmt: skip
    jsonschema.validate(valid, schema)
    for wrong in (
        {"path": []},
        {"jobs": 0},
        {"run": {"base": "x"}},
        {"color": "blue"},
        {"run": {"reports": {"x": "y"}}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_pytest_takes_its_options_from_the_configuration(project):
    configure(project, "timeout = -1\n")
    done = run_pytest(project, "--maxpool-check=onnxruntime", "cases")
    assert "maxpool-check.toml: timeout: '-1' is not a number of seconds above 0" in done.err


def test_no_file_is_read_where_none_is_needed():
    code = (
        "import sys; from maxpool_check.commands.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import json; {code}"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert not {"tomllib", "numpy", "maxpool_check.commands.configuration"} & set(json.loads(done.stderr))
