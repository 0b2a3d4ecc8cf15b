"""What comes from a case, a record or a runtime is inert wherever it is printed: one hostile text, through every command."""

import io
import itertools
import json
import re
import sys
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from maxpool_check import inert
from maxpool_check.commands import bisect, report
from maxpool_check.commands import history as history_command
from maxpool_check.commands.evidence import TRACE_FORMATS
from maxpool_check.commands.report import FORMATS
from maxpool_check.comparing.bisection import Boundary, Observation
from maxpool_check.reporting import history
from maxpool_check.reporting.bisection import BisectionReport
from maxpool_check.reporting.markup import code, escaped, table
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.writers import Display
from maxpool_check.reproducing.wording import address
from maxpool_check.results.storage import read
from maxpool_check.specifications import SPECIFICATIONS
from tests.conftest import command, run_pytest

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


def check_markdown(text, where):
    """A Markdown text has no HTML, headings, links or images of others, and its tables are whole."""
    check(text, where)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.validateLink = lambda address: True
    tokens = [each for token in parser.parse(text) for each in (token, *(token.children or ()))]
    for before, token in itertools.pairwise(tokens):
        assert token.type != "image", where
        if token.type in ("html_block", "html_inline"):
            own = r'(</?details>|<details open>|<summary>[\w .,:+-]+</summary>|</?a>|<a id="[\w.-]*">|\s)+'
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


def check_html(text, where):
    """A page has no scripts, images, handlers or addresses of others: all that is a tag is its own."""
    # A comment would hide whatever comes behind it.
    assert "<!--" not in text, where
    assert text.count("<script") == 1, where
    for tag in re.findall("<[a-z][^>]*>", re.sub("(?s)<script.*?</script>", "", text)):
        assert not re.match("<(img|iframe|object|embed|base)", tag), (where, tag)
        assert not re.search(r"\s(on[a-z]+|style)=", re.sub('"[^"]*"', "", tag)), (where, tag)
        assert re.search('href="(?!#|data:,"|https://)', tag) is None, (where, tag)


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
    "verdict", "layout", "docs", "schema", "schema-indices", "speaks", "type", "digests", "summary", "counts", "profile", "status",
)  # fmt: skip


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


@pytest.mark.parametrize("form", [*FORMATS])
def test_reports_of_hostile_records(records, form):
    stored = [read(path) for path in records]
    releases = [history.Release(str(number), record) for number, record in enumerate(stored)]
    old, new = (Observation(HOSTILE, next(iter(record.executions))) for record in stored)
    search = {"tested": {0: old, 1: new}, "boundaries": [Boundary(0, 1)], "skipped": {"3": HOSTILE}, "kind": None}
    texts = dict.fromkeys(("case", "case_sha256", "title", "target", "variant"), HOSTILE)
    for module, each in (
        *((report, RunReport(each, 1)) for each in stored),
        (history_command, history.HistoryReport(HOSTILE, [*releases, history.Release("3", None, HOSTILE)])),
        (bisect, BisectionReport(**texts, **search, origin=f"{HOSTILE}:7", versions=(HOSTILE, "2", "3"))),
    ):
        for display in (Display(), Display(41, everything=True)) if form in module.FORMATS else ():
            file = io.StringIO()
            module.FORMATS.write(form, each, file, display)
            check_report(form, file.getvalue(), module)
    done = command("gate", *records, "--report", form, "-v")
    check_report(form, done.out, form)


def test_colours_are_the_only_escapes_on_a_terminal(records):
    done = command("--color", "always", "report", records[1], "-v")
    plain = re.sub("\x1b\\[[0-9;]*m", "", done.out)
    assert plain != done.out
    assert "\x1b[8m" not in done.out
    check(plain, "color")


@pytest.fixture
def corpus(tmp_path):
    """A folder with a hostile name, cases and known defects."""
    folder = tmp_path / NAME
    folder.mkdir()
    attributes = {"kernel_shape": [2, 2]}
    case = {
        "title": HOSTILE, "covers": ["ONNX-MAX"], "tags": [HOSTILE, "documents"], "attributes": attributes,
        "input": {"dtype": "float32", "data": [[[[1, 2], [3, 4]]]]},
        "provenance": dict.fromkeys(("suite", "version", "file"), HOSTILE),
    }  # fmt: skip
    refused = {"attributes": attributes | {"auto_pad": HOSTILE}, "expect": {"refuse": "invalid-attribute"}}
    cases = [
        {"id": "a\x9b\u202e`<b>|x", **case},
        {"id": "b", **case, **refused},
        {"id": "c", **case, "erratum": HOSTILE, "expect": {"Y": [[[[9]]]]}},
        {"id": "d", **case, "erratum": "# Foreign heading", "expect": {"Y": [[[[9]]]]}},
    ]
    (folder / f"{NAME}.yaml").write_text(yaml.safe_dump({"about": HOSTILE, "cases": cases}))
    expected = {"cases": ["*"], "kinds": ["refuses-valid"]}
    known = {"id": "\x9b\u202e`<b>|#", "runtime": "python", "title": HOSTILE, "mechanism": HOSTILE, "severity": "limit"}
    upstream = {"issue": "https://example.org/?`<b>|#", "state": "open", "seen": "2020-01-01"}
    entries = [
        known | {"upstream": upstream, "expect": [expected]},
        known | {"id": "k", "expect": [expected | {"expires": "2020-01-01"}]},
    ]
    (folder / "known-divergences.yaml").write_text(yaml.safe_dump({"defects": entries}))
    return folder


def inert_command(*words, where=None, **changed):
    """A command that prints something, and nothing but text."""
    done = command(*words, **changed)
    assert done.out or done.err, words
    assert "internal error" not in done.err, done.err
    check(done.out + done.err, where or words)
    return done


MISTAKES = {
    "cases.yaml": yaml.safe_dump({"cases": HOSTILE}),
    "key.yaml": yaml.safe_dump({HOSTILE: 1}),
    "value.yaml": yaml.safe_dump({"cases": [{"id": HOSTILE, "input": {"dtype": HOSTILE}}]}),
    "text.yaml": HOSTILE,
    "suite/test.json": json.dumps({"class": HOSTILE, HOSTILE: HOSTILE}),
    "record.jsonl": json.dumps({"type": HOSTILE}) + "\n",
}
COMMANDS = {
    # The exit codes that each may have.
    **dict.fromkeys(
        ["report RECORD", "cases list CORPUS", "cases list --json CORPUS", "cases lint CORPUS",
         "defects lint CORPUS", "explain documents -p CORPUS", "run -t onnxruntime CORPUS", "run -k HOSTILE CORPUS"],
        (0, 1, 2, 3),
    ),
    **{f"explain {words} CORPUS/NAME.yaml:{case}": (0,) for case in "bcd" for words in ("", "-v", "--json")},
    **dict.fromkeys(["HOSTILE", "run --NAME", "run -t HOSTILE x", "explain HOSTILE", "docs HOSTILE"], (2,)),
    **dict.fromkeys([*(f"run TMP/{name}" for name in MISTAKES if "yaml" in name), "run TMP/value.yaml --report json"], (2,)),
    **dict.fromkeys(["report TMP/record.jsonl", "cases import testgenonnx TMP/suite -o out", "bisect HOSTILE"], (2,)),
}  # fmt: skip


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_on_hostile_words_and_files(records, corpus, tmp_path, line):
    folder = tmp_path / f"{NAME}\n::error::\n"
    (folder / "suite").mkdir(parents=True)
    for name, text in MISTAKES.items() if "TMP" in line else ():
        (folder / name).write_text(text)
    values = {"RECORD": records[0], "CORPUS": corpus, "TMP": folder, "NAME": NAME, "HOSTILE": HOSTILE}
    words = [re.sub("[A-Z]{3,}", lambda match: str(values[match[0]]), word) for word in line.split()]
    assert inert_command(*words, where=line, cwd=tmp_path).code in COMMANDS[line]


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


@pytest.mark.parametrize(
    "how", ["refusal", "failed", "unable", "result", "crash", "garbage", "refuses", "fails", "returns"]
)
def test_a_run_of_hostile_cases_on_hostile_targets(corpus, target, tmp_path, how):
    reports = [f"--report={form}={tmp_path}/report.{form}" for form in FORMATS]
    record, tested = tmp_path / "record.jsonl", target(how)
    inert_command("run", corpus, "-t", tested, *reports, "-o", record, "-v", where=how, GITHUB_ACTIONS="true")
    for form in FORMATS:
        check_report(form, (tmp_path / f"report.{form}").read_text(), form)
    for words in (
        ["explain", f"{corpus / NAME}.yaml:c", "-t", tested], ["targets", "check", tested],
        ["targets", "check", tested, "--json"], ["evidence", "trace", corpus, "--record", record, "-v"],
        ["gate", "--base", record, "--head", tested, corpus], ["defects", "lint", corpus, "--record", record],
    ):  # fmt: skip
        inert_command(*words)
    for form in TRACE_FORMATS if how == "result" else ():
        check_report(form, command("evidence", "trace", corpus, "--record", record, "--report", form).out, form)


def test_what_fuzz_finds_on_a_hostile_target(target, tmp_path):
    inert_command("fuzz", "-t", target("result"), "--max-cases", "30", "-o", tmp_path / "found").check(1)
    files = list((tmp_path / "found").glob("*.yaml"))
    assert files
    for path in files:
        check(f"{path.name}\n{path.read_text()}", "fuzz")
        assert "alert(1)" in yaml.safe_load(path.read_text())["about"]


@pytest.mark.parametrize(("function", "case"), [("returns", "c"), ("refuses", "c"), ("returns", "b")])
def test_a_reproduction_of_a_kernel_with_a_hostile_name(corpus, tmp_path, function, case):
    kernel, folder = tmp_path / f'{NAME}"""\nimport os; os.abort()  # \\.py', tmp_path / "repro"
    kernel.write_text(f"HOSTILE = {HOSTILE!r}\n{KERNEL}")
    words = ("repro", f"{corpus / NAME}.yaml:{case}", "-t", f"python:{kernel}:{function}", "-o", folder)
    inert_command(*words).check(0)
    for name in ("repro.py", "case.yaml"):
        check((folder / name).read_text(), name)
    check_markdown((folder / "ISSUE.md").read_text(), "ISSUE.md")


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
@example("*\n\\")
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


def test_letters_of_all_languages_stay_as_they_are(tmp_path):
    title = "Größe, 日本語　テスト, नमस्ते, می‌خواهم, 👩‍💻, naïve std::max of a_b * c [0, 1] - 50%"
    case = {"input": {"dtype": "float32", "data": [[[1]]]}, "attributes": {"kernel_shape": [1]}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"cases": [{"id": "é", "title": title, **case}]}))
    assert title in command("cases", "list", tmp_path).out
    assert title in command("explain", f"{tmp_path}/c.yaml:é").out
