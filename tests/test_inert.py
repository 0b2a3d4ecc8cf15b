"""What comes from a case, a record or a runtime is inert wherever it is printed: one hostile text, through every command."""

import io
import itertools
import json
import re
import sys
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from maxpool_check import inert
from maxpool_check.commands.evidence import TRACE_FORMATS
from maxpool_check.commands.history import FORMATS as HISTORY_FORMATS
from maxpool_check.commands.report import FORMATS
from maxpool_check.reporting import history
from maxpool_check.reporting.markup import code, escaped, table
from maxpool_check.reproducing.wording import address
from maxpool_check.results.storage import read
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import run_pytest

HOSTILE = (
    "x\n::stop-commands::tok\n \x1b]0;t\x07\x1b[8m\x9b31m\x00\x7f\r\t\u202e\u2028\u061c\U000e0041##[stop-commands]tok\n"
    "# Foreign\n\nForeign\n===\n<script>alert(1)</script><!-- \n```\n~~~\n| a | `b` \\| \\`<b>` [l](javascript:f()) "
    "![i](https://e.example/i) <javascript:f()> [r][s] &#x202e;&lt; \"\"\" ''' [bold]r[/] {0} %0A\n[s]: javascript:f()\n"
)
NAME = "\x1b[8m\u202e::`<b>#|[i](javascript:f())"
"""For the names of files, which have no line breaks here."""

WORKER = """\
import json, sys
hostile, _ = json.loads(sys.argv[2]), sys.stdin.readline()
print(json.dumps({"type": "ready", "protocol": 1, **dict.fromkeys(["distribution", "version", "provider", "python", "numpy"],
    hostile), "providers": [hostile], "session_options": {hostile: hostile}}), flush=True)
for line in sys.stdin:
    request, how = json.loads(line), sys.argv[1]
    if how == "crash":
        sys.exit(hostile)
    if how == "garbage":
        print(json.dumps({hostile: hostile}), flush=True)
        continue
    message = {"type": how, "status": hostile, "message": hostile}
    if how == "result":
        Y = {"dtype": "float32", "shape": [1, 1, 1, 1], "data": "AAAAQA=="}
        message = {"type": how, "provider": hostile, "outputs": dict.fromkeys(request["outputs"], Y)}
    print(json.dumps({"id": request["id"], **message}), flush=True)
"""
KERNEL = """\
import numpy as np
def refuses(X, attributes): raise ValueError(HOSTILE)
def fails(X, attributes): raise NameError(HOSTILE)
def returns(X, attributes): return np.zeros((1, 1, 1, 1), X.dtype), np.zeros((1, 1, 1, 1), "int64")
"""


def check(text, where):
    """Nothing in a text is a command for a terminal or for GitHub."""
    for char in set(text) - {"\n"}:
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), (where, ascii(char))
    assert "##[" not in text, where
    for line in text.split("\n"):
        own = re.match("::error( file=[^,:]*,line=[^,:]*,)?( title=|title=)?[^:]*::", line)
        assert own or not line.lstrip().startswith("::"), (where, line)


DOCUMENTS = {address(name) for name in SPECIFICATIONS}
"""The addresses that an issue links to."""


SUMMARIES = (
    r"[\w.+-]+ to [\w.+-]+: \d+ [a-z-]+(, \d+ [a-z-]+)*|"
    r"All \d+ cases|\d+ cases?( with their clauses)?|The first \d+ of \d+ cases|\d+ other groups? of changes|"
    r"\d+ executions? wrong in both, which is no change|\d+ cases? left out, not the same in both|Environment and settings|"
    r"Known defects, and inconsistent results|Behaviour observed where the documents leave a point open"
)
"""What can be unfolded in Markdown."""


def check_markdown(text, where):
    """A Markdown text has no HTML, headings, links or images of others, and its tables are whole."""
    check(text, where)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.validateLink = lambda address: True
    tokens = [each for token in parser.parse(text) for each in (token, *(token.children or ()))]
    for before, token in itertools.pairwise(tokens):
        assert token.type != "image", where
        if token.type in ("html_block", "html_inline"):
            own = rf'(</?details>|<details open>|<summary>({SUMMARIES})</summary>|</?a>|<a id="[\w.-]*">|\s)+'
            assert re.fullmatch(own, token.content), (where, token.content)
        if token.type == "link_open":
            href = str(token.attrs["href"])
            assert href.startswith("#") or href in DOCUMENTS, (where, token.attrs)
        if before.type == "heading_open":
            assert not token.content.startswith("Foreign"), (where, token.content)
        if token.type in ("em_open", "s_open"):
            raise AssertionError((where, token))
    rows = [line if line.startswith("| ") else None for line in text.split("\n")]
    for row, following in itertools.pairwise(rows):
        if row is not None and following is not None:
            assert len(re.findall(r"(?<!\\)\|", row)) == len(re.findall(r"(?<!\\)\|", following)), (where, following)


class Tags(HTMLParser):
    """The tags of a page, each with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def check_html(text, where):
    """A page has no scripts, images, handlers or addresses of others."""
    # A comment would hide from the parser whatever comes behind it.
    assert "<!--" not in text, where
    assert "<script>alert(1)" not in text, where
    tags = Tags(text).tags
    assert Counter(tag for tag, _ in tags)["script"] == 1, where
    assert not {"img", "iframe", "object", "embed", "base"} & {tag for tag, _ in tags}, where
    for _, attributes in tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (where, attributes)
        assert re.match("#|data:,$|https://", attributes.get("href", "#")), (where, attributes)


def check_report(form, text, where):
    if form in ("markdown", "github"):
        check_markdown(text, where)
        return
    if form in ("json", "sarif"):
        json.loads(text)
    if form == "junit":
        ET.fromstring(text)
    if form == "html":
        check_html(text, where)
    check(text, where)


KEPT = (
    "verdict",
    "layout",
    "docs",
    "schema",
    "schema-indices",
    "speaks",
    "type",
    "digests",
    "summary",
    "counts",
    "profile",
    "status",
)


def hostile(value, key=""):
    """The same data with hostile texts."""
    if isinstance(value, dict):
        return {name: each if name in KEPT else hostile(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [hostile(each, key) for each in value]
    if not isinstance(value, str):
        return value
    return f"{HOSTILE}{value}{HOSTILE}" + (":7" if key == "origin" else "")


def hostile_records(folder):
    """The golden record with all texts hostile, and one that is wrong in other ways."""
    golden = Path(__file__).parent / "data/golden/record.jsonl"
    lines = [hostile(json.loads(line)) for line in golden.read_text().splitlines()]
    for known in lines[-1]["known"]:
        known["issue"] = "javascript:f()"
    other = [json.loads(json.dumps(line).replace("expected -inf", "expected 1")) for line in lines]
    for line in other:
        if line.get("verdict") == "conforms":
            line.update(verdict="diverges", kinds=[HOSTILE], message=HOSTILE, status=HOSTILE, erratum=HOSTILE)
    paths = [folder / f"{number}.jsonl" for number in range(2)]
    for path, each in zip(paths, (lines, other), strict=True):
        path.write_text("".join(f"{json.dumps(line)}\n" for line in each))
    return paths


@pytest.fixture
def records(tmp_path):
    return hostile_records(tmp_path)


@pytest.mark.parametrize("form", FORMATS)
def test_reports_of_a_hostile_record(cli, records, form):
    for path in records:
        done = cli("report", path, "--report", form, "--cases", COLUMNS="41")
        assert done.out, done.err
        check_report(form, done.out, form)
        check(done.err, form)


def test_colours_are_the_only_escapes_on_a_terminal(cli, records):
    done = cli("--color", "always", "report", records[1], "--cases")
    plain = re.sub("\x1b\\[[0-9;]*m", "", done.out)
    assert plain != done.out
    assert "\x1b[8m" not in done.out
    check(plain, "color")


@pytest.mark.parametrize("form", FORMATS)
def test_changes_and_history_of_hostile_records(cli, records, form):
    done = cli("gate", *records, "--report", form, "-v")
    assert done.out.strip(), done.err
    check_report(form, done.out, form)
    stored = [read(path) for path in records]
    releases = [history.Release(str(number), record) for number, record in enumerate(stored)]
    file = io.StringIO()
    HISTORY_FORMATS[form](history.HistoryReport(HOSTILE, [*releases, history.Release("3", None, HOSTILE)]), file)
    check_report(form, file.getvalue(), form)


@pytest.mark.parametrize("command", ["known add R --reason r --known K", "compare R R", "report R --corpus C"])
def test_other_commands_with_a_hostile_record(cli, records, corpus, tmp_path, command):
    places = {"R": records[0], "K": tmp_path / "known.yaml", "C": corpus}
    done = cli(*(places.get(word, word) for word in command.split()))
    assert done.out or done.err
    assert "internal error" not in done.err
    check(done.out + done.err, command)


def test_a_broken_record_in_a_file_with_a_hostile_name(cli, tmp_path):
    path = tmp_path / f"{NAME}\n::error::\n.jsonl"
    path.write_text(json.dumps({"type": HOSTILE}) + "\n")
    done = cli("report", path)
    assert done.code == 2
    check(done.err, "report")


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / NAME
    folder.mkdir()
    tensor = {"dtype": "float32", "data": [[[[1, 2], [3, 4]]]]}
    attributes = {"kernel_shape": [2, 2]}
    case = {"title": HOSTILE, "covers": ["ONNX-MAX"], "tags": [HOSTILE, "documents"], "input": tensor}
    case |= {"attributes": attributes, "provenance": {"suite": HOSTILE, "version": HOSTILE, "file": HOSTILE}}
    cases = [
        {"id": "a\x9b\u202e`<b>|::x".replace(":", ""), **case},
        {
            "id": "b",
            **case,
            "attributes": attributes | {"auto_pad": HOSTILE},
            "expect": {"refuse": "invalid-attribute"},
        },
        {"id": "c", **case, "erratum": HOSTILE, "expect": {"Y": [[[[9]]]]}},
        {"id": "d", **case, "erratum": "# Foreign heading", "expect": {"Y": [[[[9]]]]}},
    ]
    (folder / f"{NAME}.yaml").write_text(yaml.safe_dump({"about": HOSTILE, "cases": cases}))
    known = {"id": "\x9b\u202e`<b>|#", "when": "python", "cases": ["*"], "kinds": ["refuses-valid"], "reason": HOSTILE}
    known |= {"issue": "javascript:f()"}
    (folder / "known-divergences.yaml").write_text(
        yaml.safe_dump({"known": [known, {**known, "id": "k", "expires": "2020-01-01"}]})
    )
    return folder


@pytest.fixture
def target(tmp_path):
    """The name of a hostile target."""
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "kernel.py").write_text(f"HOSTILE = {HOSTILE!r}\n{KERNEL}")

    def name(how):
        if how in ("refuses", "fails", "returns"):
            return f"python:{tmp_path}/kernel.py:{how}"
        quoted = json.dumps(HOSTILE.replace("'", ""))
        return f"command:{sys.executable} -S {tmp_path}/worker.py {how} '{quoted}'"

    return name


TARGETS = ("refusal", "failed", "unable", "result", "crash", "garbage", "refuses", "fails", "returns")


@pytest.mark.parametrize("how", TARGETS)
def test_a_run_of_hostile_cases_on_hostile_targets(cli, corpus, target, tmp_path, how):
    reports = [f"--report={form}={tmp_path}/report.{form}" for form in FORMATS]
    record = tmp_path / "record.jsonl"
    done = cli("run", corpus, "-t", target(how), *reports, "-o", record, "-v", GITHUB_ACTIONS="true")
    assert done.out, done.err
    assert "internal error" not in done.err, done.err
    check(done.out + done.err, how)
    for form in FORMATS:
        check_report(form, (tmp_path / f"report.{form}").read_text(), form)
    for command in (
        ["explain", f"{corpus / NAME}.yaml:c", "-t", target(how)], ["targets", "check", target(how)],
        ["targets", "check", target(how), "--json"], ["evidence", "trace", corpus, "--record", record, "-v"],
        ["gate", "--base", record, "--head", target(how), corpus], ["defects", "lint", corpus, "--record", record],
        # Of the hostile target it shows nothing: once is enough.
        *([["bisect", HOSTILE, "-t", "onnxruntime"]] if how == TARGETS[0] else []),
    ):  # fmt: skip
        done = cli(*command)
        assert done.out or done.err, command
        assert "internal error" not in done.err, done.err
        check(done.out + done.err, command[:2])


def test_a_trace_of_a_hostile_record(cli, corpus, target, tmp_path):
    assert cli("run", corpus, "-t", target("result"), "-o", tmp_path / f"{NAME}.jsonl").out
    for form in TRACE_FORMATS:
        done = cli("evidence", "trace", corpus, "--record", tmp_path / f"{NAME}.jsonl", "--report", form)
        assert done.code == 0, done.err
        check_report(form, done.out, form)


@pytest.mark.parametrize(
    "command",
    [
        "cases list",
        "cases list --json",
        "cases lint",
        "defects lint",
        "explain documents -p",
        "run -t onnxruntime",
        "run -k NONE",
    ],
)
def test_commands_on_hostile_cases(cli, corpus, command):
    done = cli(*(word if word != "NONE" else HOSTILE for word in command.split()), corpus)
    assert done.out or done.err
    assert "internal error" not in done.err, done.err
    check(done.out + done.err, command)
    if command == "cases list":
        assert len(done.out.splitlines()) == 4


@pytest.mark.parametrize("case", "bcd")
def test_a_hostile_case_shown(cli, corpus, case):
    for command in (["explain"], ["explain", "-v"], ["explain", "--json"]):
        done = cli(*command, f"{corpus / NAME}.yaml:{case}")
        assert done.code == 0, done.err
        check(done.out, command)


@pytest.mark.parametrize(
    "document", [{"cases": HOSTILE}, {HOSTILE: 1}, {"cases": [{"id": HOSTILE, "input": {"dtype": HOSTILE}}]}]
)
def test_mistakes_of_a_hostile_file(cli, tmp_path, document):
    path = tmp_path / f"{NAME}.yaml"
    path.write_text(yaml.safe_dump(document))
    for form in ("text", "json"):
        done = cli("run", path, "--report", form)
        assert done.code == 2
        check(done.out + done.err, form)
    path.write_bytes(HOSTILE.encode())
    check(cli("cases", "lint", path).err, "lint")


@pytest.mark.parametrize(
    "words", [[HOSTILE], ["run", f"--{NAME}"], ["run", "-t", HOSTILE, "x"], ["explain", HOSTILE], ["docs", HOSTILE]]
)
def test_hostile_words_on_the_command_line(cli, words):
    done = cli(*words)
    assert done.code == 2
    check(done.out + done.err, words)


def test_a_hostile_import(cli, tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / f"suite/{NAME}.json").write_text(json.dumps({"class": HOSTILE, HOSTILE: HOSTILE}))
    done = cli("cases", "import", "testgenonnx", tmp_path / "suite", "-o", tmp_path / "out")
    assert done.code == 2
    check(done.out + done.err, "import")


def test_what_fuzz_finds_on_a_hostile_target(cli, target, tmp_path):
    done = cli("fuzz", "-t", target("result"), "--max-cases", "30", "-o", tmp_path / "found")
    assert done.code == 1, done.out + done.err
    check(done.out + done.err, "fuzz")
    files = list((tmp_path / "found").glob("*.yaml"))
    assert files
    for path in files:
        check(f"{path.name}\n{path.read_text()}", "fuzz")
        assert "alert(1)" in yaml.safe_load(path.read_text())["about"]


def test_a_reproduction_of_a_kernel_with_a_hostile_name(cli, corpus, tmp_path):
    kernel = tmp_path / f'{NAME}"""\nimport os; os.abort()  # \\.py'
    kernel.write_text(f"HOSTILE = {HOSTILE!r}\n{KERNEL}")
    folder = tmp_path / "repro"
    for function, case in (("returns", "c"), ("refuses", "c"), ("returns", "b")):
        (folder / "repro.py").unlink(missing_ok=True)
        done = cli(
            "repro",
            f"{corpus / NAME}.yaml:{case}",
            "-t",
            f"python:{kernel}:{function}",
            "-o",
            tmp_path / function / case,
            "--no-shrink",
        )
        assert done.code == 0, done.out + done.err
        check(done.out + done.err, "repro")
        for name in ("repro.py", "case.yaml"):
            check((tmp_path / function / case / name).read_text(), name)
        check_markdown((tmp_path / function / case / "ISSUE.md").read_text(), "ISSUE.md")


def test_what_pytest_prints(corpus, target, tmp_path):
    # pytest prints the names of files as they are, and takes no brackets in them.
    folder = tmp_path / "cases"
    folder.mkdir()
    for path in corpus.iterdir():
        (folder / f"{path.stem if path.stem != NAME else 'cases'}.yaml").write_bytes(path.read_bytes())
    for how in ("refuses", "unable"):
        done = run_pytest(folder, "-rA", "-v", f"--maxpool-check={target(how)}", folder)
        assert "short test summary" in done.out, done.out + done.err
        check(done.out, how)


PIECES = st.one_of(
    st.sampled_from([*"\\\\`*_~[]()<>!#+-.|&;:=\n\t 1xy", "](", "::", "##[", "&lt;", "**", "http:"]), st.characters()
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_text_is_read_back_as_it_is(text):
    parser, shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]), inert.line(" ".join(text.split("\n")))
    check(inert.block(text), text)
    for token in (each for each in parser.parse(escaped(text)) if each.type == "inline"):
        assert {each.type for each in token.children} <= {"text", "text_special"}
        assert "".join(each.content for each in token.children) == shown.strip()
    *_, cell = (each for each in parser.parse(code(text)) if each.type == "inline")
    assert [each.type for each in cell.children] == ["code_inline"]
    assert cell.children[0].content.strip() == inert.line(text).strip()
    rows = [each for each in parser.parse(table(["a", "b"], [[escaped(text), code(text)]])) if each.type == "td_open"]
    assert len(rows) == 2


def test_letters_of_all_languages_stay_as_they_are(cli, tmp_path):
    title = "Größe, 日本語　テスト, नमस्ते, می‌خواهم, 👩‍💻, naïve std::max of a_b * c [0, 1] - 50%"
    case = {
        "id": "é",
        "title": title,
        "input": {"dtype": "float32", "data": [[[1]]]},
        "attributes": {"kernel_shape": [1]},
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"cases": [case]}))
    assert title in cli("cases", "list", tmp_path).out
    assert title in cli("explain", f"{tmp_path}/c.yaml:é").out
