"""The documentation: every command of README and pages runs, quoted output is what is printed, links lead somewhere.

After a change that is meant: ``python -m tests.test_docs`` writes the quoted output and the tables of words
again, with ``tables`` the tables alone.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from maxpool_check.comparing.gate import Decision
from maxpool_check.corpus.case import contradictions
from maxpool_check.corpus.collection import collect
from maxpool_check.docs import ORDER, topics
from maxpool_check.explaining.glossary import tables
from maxpool_check.judging.cells import MIXED, OBSERVABLE
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.reporting.model_report import NodeState
from maxpool_check.results.changes import Change
from maxpool_check.results.record import KnownStatus, Verdict
from maxpool_check.results.result import Result
from maxpool_check.results.variants import VARIATIONS
from maxpool_check.specifications.specification import Reason
from tests.conftest import ROOT, on_a_terminal
from tests.pages import GIVEN, PAGES, README, allowed_codes, as_quoted, blocks, execute, with_tables, without_versions


def follow(name, folder):
    """Do what a page says, and return what its commands that show their output print."""
    printed = []
    for block in blocks(name):
        for given in block.given:
            if not (folder / given).exists():
                GIVEN[given](folder)
        if block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text)
        elif block.needs and not shutil.which(block.needs):
            continue
        elif block.language == "python":
            exec(compile(block.text, f"{name}: python", "exec"), {})
        elif block.language in ("sh", "console"):
            for line in block.commands:
                done = execute(line, folder)
                told = f"{name}: {line}\n{done.code}\n{done.out[-2000:]}{done.err[-2000:]}"
                assert done.code in allowed_codes(line), told
            printed += [(block, done.out)] if block.language == "console" else []
    return printed


@pytest.mark.network
@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_runs_and_prints_what_the_page_shows(name, tmp_path):
    for block, out in follow(name, tmp_path):
        assert without_versions(as_quoted(out, block.output)) == without_versions(block.output), block.commands[0]
    missing = {block.needs for block in blocks(name) if block.needs and not shutil.which(block.needs)}
    if missing:
        pytest.skip(f"some blocks need what is not installed: {', '.join(sorted(missing))}")


def test_the_case_files_of_the_pages_agree_with_the_reference(tmp_path):
    every = [block for name in PAGES for block in blocks(name)]
    for number, block in enumerate(every):
        if block.language == "yaml" and block.text.startswith("spec:"):
            (tmp_path / f"{Path(block.page).stem}-{number}.yaml").write_text(block.text)
    cases = collect([tmp_path]).cases
    assert {case.spec for case in cases} >= {"onnx-12", "onnx-22", "xmos-maxpool2d"}
    assert [problem for case in cases for problem in contradictions(case)] == []
    assert len(README.read_text().splitlines()) <= 110
    assert (ROOT / "maxpool_check/docs/report.png").stat().st_size < 200_000


def test_the_first_lines_of_readme_help_and_the_package_say_the_same(cli):
    _, question, first = README.read_text().replace("\n\n", "\0").replace("\n", " ").split("\0")[:3]
    explanation, _, _ = first.removeprefix("`maxpool-check` ").partition(" It is for ")
    help_text = " ".join(cli("--help").out.split())
    assert f"{question} {explanation[0].upper()}{explanation[1:]} Examples:" in help_text
    description = re.search('^description = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert f"{question} {explanation[0].upper()}{explanation[1:]}".startswith(description)


def prose(text):
    """A page without its blocks of code."""
    return re.sub("^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def headings(path):
    """The names of headings in addresses, as GitHub makes them."""
    texts = re.findall(r"^#+ (.+)$", prose(path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def test_links_lead_somewhere():
    others = (ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "reports/README.md", "reports/benchmark.md"))
    for path in (*PAGES.values(), *others):
        links = re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text()))
        for place, _, fragment in (
            link.partition("#") for link in links if not link.startswith(("https://", "http://"))
        ):
            target = (path.parent / place).resolve() if place else path
            assert target.exists(), (path, place)
            assert not fragment or fragment in headings(target), (path, place, fragment)


def values(*enums):
    return {member.value for enum in enums for member in enum}


def test_every_name_that_a_report_can_print_is_explained():
    cells = {name for names in OBSERVABLE.values() for name in names} | OBSERVABLE.keys() | {MIXED}
    interpretations = {name for enum in INTERPRETATIONS.values() for name in values(enum)} | INTERPRETATIONS.keys()
    states = {state.value for state in NodeState if state.fails and state is not NodeState.ERROR}
    verdicts = values(Verdict, KnownStatus, Severity, Reason, Result, Decision)
    verdicts |= cells | interpretations | states | {variation.name for variation in VARIATIONS}
    for page, names in (("verdicts", verdicts), ("gate", values(Change, Decision)), ("model", values(NodeState))):
        assert names - {*re.findall("`([^`]+)`", prose(topics()[page].text))} == set()


def test_pages_have_the_tables_of_words_of_the_code():
    found = []
    for name, path in PAGES.items():
        text, names = with_tables(name)
        assert text == path.read_text(), "python -m tests.test_docs tables"
        found += [(table, name) for table in names]
    assert sorted(found) == sorted((name, f"{table.page}.md") for name, table in tables().items())


def test_every_kind_is_listed_with_its_sentence_and_every_page_with_its_own(cli):
    lines = [" ".join(line.split()) for line in cli("explain").out.splitlines()]
    kinds = {kind.value: f"{kind.value} {each.sentence}" for kind, each in DESCRIPTIONS.items()}
    assert [line for line in lines if line.partition(" ")[0] in kinds] == [*kinds.values()]
    lines = cli("docs").out.splitlines()
    assert {*ORDER} == {path.stem for path in (ROOT / "maxpool_check/docs").glob("*.md")}
    for line, (name, topic) in zip(lines, topics().items(), strict=False):
        assert re.fullmatch(rf"{name} +  {re.escape(topic.summary)}", line)
        assert 20 < len(topic.summary) < 130, name


def test_a_page_is_markdown_in_a_pipe_and_a_wrong_topic_names_the_nearest(cli):
    done = cli("docs", "gate")
    assert (done.code, done.out.partition("\n")[0], "```console" in done.out) == (0, "# Gate an upgrade", True)
    # Notes for its writers.
    assert "<!--" not in done.out
    cli("docs", "modle").check(2, "unknown topic 'modle' (did you mean 'model'?)")
    cli("docs", "schema-output").check(2, "(did you mean 'schema-outputs'?)")
    assert cli("docs", "outputs").out == cli("docs", "kernel").out


def test_a_page_is_rendered_on_a_terminal_and_links_are_commands():
    colored = "\n".join(on_a_terminal(60, "docs", "model"))
    assert "\x1b[" in colored
    text = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert not {"```", "\x1b"} & {*re.findall("```|\x1b", text)}
    # Commands stay whole.
    code = {f"  {line}".rstrip() for block in blocks("model.md") for line in block.text.splitlines()}
    lines = {line.rstrip() for line in text.splitlines()}
    assert code <= lines
    assert max(map(len, lines - code)) <= 61
    assert "maxpool-check docs defects" in " ".join(text.split())
    assert max(map(len, on_a_terminal(50, "docs"))) <= 50


def _write_tables():
    for name, path in PAGES.items():
        path.write_text(with_tables(name)[0])


def _write():
    for name, path in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            for block, out in follow(name, Path(folder)):
                command = block.commands[0]
                path.write_text(
                    path.read_text().replace(
                        f"$ {command}\n{block.output}", f"$ {command}\n{as_quoted(out, block.output)}"
                    )
                )


if __name__ == "__main__":
    _write_tables()
    if sys.argv[1:] != ["tables"]:
        _write()
