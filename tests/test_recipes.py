"""The recipes for CI, the action and the hook: what their systems read, and that their commands run where they say so."""

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import validators

from tests.conftest import ROOT
from tests.pages import blocks

ACTION = ROOT / ".github/actions/maxpool-check/action.yml"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def recipes(prefix):
    """The files of the page on CI whose names begin so."""
    return {block.file: block.text for block in blocks("ci.md") if block.file and block.file.startswith(prefix)}


def github(text):
    # In YAML 1.1, a key `on` is true.
    return yaml.safe_load(text.replace("\non:", '\n"on":'))


DOCUMENTS = [
    *(("github-workflows", name, github(text)) for name, text in recipes(".github/").items()),
    *(("github-workflows", path.name, github(path.read_text())) for path in WORKFLOWS),
    *(("gitlab-ci", name, yaml.safe_load(text)) for name, text in recipes(".gitlab").items()),
    ("github-actions", ACTION.name, yaml.safe_load(ACTION.read_text())),
]


@pytest.mark.parametrize(
    ("schema", "name", "document"), DOCUMENTS, ids=lambda value: value if type(value) is str else ""
)
def test_each_file_is_what_its_system_reads(schema, name, document):
    rules = get_builtin_schema(f"vendor.{schema}")
    validators.validator_for(rules)(rules).validate(document)


def test_no_input_of_the_action_is_put_into_a_script():
    action = yaml.safe_load(ACTION.read_text())
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert scripts
    assert not [script for script in scripts if "${{" in script]
    used = yaml.safe_dump([step.get("env", {}) for step in action["runs"]["steps"]])
    conditions = " ".join(step.get("if", "") for step in action["runs"]["steps"])
    assert [name for name in action["inputs"] if f"inputs.{name}" not in used + conditions] == []
