"""The documentation: every command of README and pages runs, quoted output is what is printed, links lead somewhere.

After a change that is meant: ``python -m tests.test_docs`` writes the quoted output again.
"""

import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from maxpool_check.comparing.gate import Decision
from maxpool_check.comparing.transitions import Change
from maxpool_check.corpus.case import contradictions
from maxpool_check.corpus.collection import collect
from maxpool_check.docs import ORDER, topics
from maxpool_check.judging.cells import MIXED, OBSERVABLE
from maxpool_check.judging.defects import Severity
from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.reference.policies import INTERPRETATIONS
from maxpool_check.reporting.model_report import ModelLabel, NodeState
from maxpool_check.reporting.run_report import RunLabel
from maxpool_check.results.record import KnownStatus, Verdict
from maxpool_check.results.variants import VARIATIONS
from maxpool_check.specifications.specification import Reason
from tests.conftest import ROOT, on_a_terminal
from tests.pages import GIVEN, PAGES, README, allowed_codes, blocks, execute, without_versions

NOT_RUN = [
    ("README.md", "pip install maxpool-check", "the package comes from an index"),
    ("README.md", "make test", "CI runs them"),
    ("README.md", "make test-slow", "CI runs them"),
    ("cases.md", "maxpool-check run cases/ -q -o record.jsonl --dask tcp://scheduler:8786", "it needs a dask cluster"),
    ("runtimes.md", "maxpool-check targets cache --clear", "it removes the environments that other tests use"),
]
"""The commands that no test runs, and why; all others are run."""

NEEDED = {
    ("evidence.md", "ssh-keygen"): 3, ("kernel.md", "cc"): 3, ("kernel.md", "jq"): 1, ("records.md", "jq"): 3, ("runtimes.md", "npm"): 1,
    ("runtimes.md", "qemu-x86_64"): 1,
}  # fmt: skip
"""How many blocks are left out where a program is missing: CI has them, but for npm, which is an index of packages."""


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
        elif block.not_run or (block.needs and not shutil.which(block.needs)):
            continue
        elif block.language == "python":
            exec(compile(block.text, f"{name}: python", "exec"), {})
        elif block.language in ("sh", "console"):
            for line in block.commands:
                done = execute(line, folder)
                assert done.code in allowed_codes(line), (
                    f"{name}: {line}\n{done.code}\n{done.out[-2000:]}{done.err[-2000:]}"
                )
            if block.language == "console":
                printed.append((block, done.out))
    return printed


def test_the_readme_is_short_and_its_picture_small():
    assert len(README.read_text().splitlines()) <= 150
    assert (ROOT / "maxpool_check/docs/report.png").stat().st_size < 200_000


@pytest.mark.network
@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_runs_and_prints_what_the_page_shows(name, tmp_path):
    for block, out in follow(name, tmp_path):
        assert without_versions(out) == without_versions(block.output), block.commands[0]
    missing = {block.needs for block in blocks(name) if block.needs and not shutil.which(block.needs)}
    if missing:
        pytest.skip(f"some blocks need what is not installed: {', '.join(sorted(missing))}")


def test_what_is_not_run_is_counted_and_says_why():
    unrun = [(name, block) for name in PAGES for block in blocks(name) if block.not_run]
    assert [
        (name, line.partition(" #")[0].strip(), block.not_run) for name, block in unrun for line in block.commands
    ] == NOT_RUN
    needed = [(name, block.needs) for name in PAGES for block in blocks(name) if block.needs]
    assert Counter(needed) == NEEDED


def test_the_case_files_of_the_pages_agree_with_the_reference(tmp_path):
    for name in PAGES:
        for number, block in enumerate(blocks(name)):
            if block.language == "yaml" and block.text.startswith("spec:"):
                (tmp_path / f"{Path(name).stem}-{number}.yaml").write_text(block.text)
    cases = collect([tmp_path]).cases
    assert {case.spec for case in cases} >= {"onnx-12", "onnx-22", "xmos-maxpool2d"}
    assert [problem for case in cases for problem in contradictions(case)] == []


def anchor(heading):
    """The name of a heading in an address, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def headings(path):
    tokens = MarkdownIt().enable("table").parse(path.read_text())
    return {anchor(tokens[number + 1].content) for number, token in enumerate(tokens) if token.type == "heading_open"}


def links(path):
    for token in MarkdownIt().enable("table").parse(path.read_text()):
        for child in token.children or ():
            if child.type in ("link_open", "image"):
                yield str(child.attrs.get("href") or child.attrs.get("src"))


@pytest.mark.parametrize(
    "path", [*PAGES.values(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "reports/README.md"]
)
def test_links_lead_somewhere(path):
    dead = []
    for link in links(path):
        place, _, fragment = link.partition("#")
        if place.startswith(("https://", "http://")):
            continue
        target = (path.parent / place).resolve() if place else path
        if not target.exists() or (fragment and fragment not in headings(target)):
            dead.append(link)
    assert dead == []


def values(*enums):
    return {member.value for enum in enums for member in enum}


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("verdicts", values(Verdict, KnownStatus, Severity, Reason)),
        ("verdicts", {name for enum in INTERPRETATIONS.values() for name in values(enum)} | INTERPRETATIONS.keys()),
        ("verdicts", {name for names in OBSERVABLE.values() for name in names} | OBSERVABLE.keys() | {MIXED}),
        ("verdicts", {variation.name for variation in VARIATIONS}),
        ("verdicts", values(RunLabel, ModelLabel, Decision)),
        ("verdicts", {state.value for state in NodeState if state.fails and state is not NodeState.ERROR}),
        ("gate", values(Change, Decision)),
        ("model", values(NodeState)),
    ],
)
def test_every_name_that_a_report_can_print_is_explained(page, names):
    prose = re.sub("^```.*?^```$", "", topics()[page].text, flags=re.MULTILINE | re.DOTALL)
    assert names - set(re.findall("`([^`]+)`", prose)) == set()


def test_every_kind_is_listed_with_its_sentence(cli):
    lines = [" ".join(line.split()) for line in cli("explain").out.splitlines()]
    assert [f"{kind.value} {each.sentence}" for kind, each in DESCRIPTIONS.items()] == [
        line for line in lines if line.partition(" ")[0] in {kind.value for kind in DESCRIPTIONS}
    ]


def test_the_list_of_pages_has_a_sentence_for_each(cli):
    lines = cli("docs").out.splitlines()
    assert [line.split()[0] for line in lines][: len(topics())] == list(topics())
    assert {*ORDER} == {path.stem for path in (ROOT / "maxpool_check/docs").glob("*.md")}
    for line, (name, topic) in zip(lines, topics().items(), strict=False):
        assert line.endswith(f"  {topic.summary}")
        assert 20 < len(topic.summary) < 130, name


def test_a_page_is_markdown_in_a_pipe_without_notes_for_its_writers(cli):
    done = cli("docs", "gate")
    assert done.code == 0
    assert done.out.startswith("# Gate an upgrade\n")
    assert "<!--" not in done.out
    assert "```console" in done.out


def test_a_page_is_rendered_on_a_terminal_and_links_are_commands():
    text = "\n".join(on_a_terminal(60, "--color", "never", "docs", "model"))
    assert "```" not in text
    assert "\x1b" not in text
    # Commands stay whole.
    code = {f"  {line}" for block in blocks("model.md") for line in block.text.splitlines()}
    assert max(len(line) for line in text.splitlines() if line.rstrip() not in code) <= 61
    assert {line.rstrip() for line in code} <= {line.rstrip() for line in text.splitlines()}
    assert "maxpool-check docs defects" in " ".join(text.split())
    assert "\x1b[" in "\n".join(on_a_terminal(60, "docs", "model"))


def test_the_list_of_pages_fits_a_narrow_terminal():
    lines = on_a_terminal(50, "docs")
    assert max(map(len, lines)) <= 50
    assert [line.split()[0] for line in lines if not line.startswith(" ")][: len(topics())] == list(topics())


def test_a_wrong_topic_names_the_nearest(cli):
    done = cli("docs", "modle")
    assert done.code == 2
    assert "unknown topic 'modle' (did you mean 'model'?)" in " ".join(done.err.split())
    assert cli("docs", "outputs").out == cli("docs", "kernel").out
    assert "unknown topic 'schema-output' (did you mean 'schema-outputs'?)" in " ".join(
        cli("docs", "schema-output").err.split()
    )


def _write():
    for name, path in PAGES.items():
        if any(block.language == "console" for block in blocks(name)):
            with tempfile.TemporaryDirectory() as folder:
                for block, out in follow(name, Path(folder)):
                    command = block.commands[0]
                    path.write_text(path.read_text().replace(f"$ {command}\n{block.output}", f"$ {command}\n{out}"))


if __name__ == "__main__":
    _write()
