"""The static site: every link leads somewhere, every result of a record is on its page, and nothing else is overwritten."""

import json
import posixpath
import re
from html import unescape
from urllib.parse import unquote

import pytest

from maxpool_check.judging.kinds import DESCRIPTIONS
from maxpool_check.results.storage import read
from tests.conftest import ROOT, command

GOLDEN = ROOT / "tests/data/golden/record.jsonl"
NAMES = ("onnxruntime-cpu", "jax-0.10.2", "xmos-1.4.2", "opencv-5.0.0.93")
RECORDS = sorted(ROOT / f"reports/{name}.jsonl.xz" for name in NAMES)
"""Records of all sorts: of two releases, of runtimes without Indices, of graphs alone, without known defects."""
HISTORY = ROOT / "reports/onnxruntime-history.json.xz"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of some of the committed records."""
    folder = tmp_path_factory.mktemp("site") / "site"
    command("report", *RECORDS, HISTORY, "-o", folder).check(0)
    return folder


def test_every_link_leads_to_a_page(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert not any(path.is_symlink() for path in site.rglob("*"))
    found = 0
    for name in sorted(each for each in pages if each.endswith(".html")):
        for address in set(re.findall(r'(?:href|src)="([^"#]+)', (site / name).read_text())):
            if not address.startswith(("data:", "https://")):
                target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(unescape(address))))
                assert target in pages, (name, address)
                found += 1
    assert found > len(pages)


def test_there_is_a_page_for_each_defect_kind_clause_runtime_run_and_case(site):
    def pages(part):
        return {path.stem for path in site.glob(f"{part}/*.html")} - {"index"}

    records = [read(path) for path in RECORDS]
    executions = [each for record in records for each in record.executions]
    assert pages("runtimes") == {target.distribution for record in records for target in record.header.targets}
    assert pages("kinds") == {kind.value for kind in DESCRIPTIONS}
    assert pages("runs") == {path.name.removesuffix(".jsonl.xz") for path in RECORDS}
    assert pages("defects") >= {each.known for each in executions if each.known}
    assert pages("clauses") == {clause for each in executions for clause in each.clauses}
    of_cases = [path for path in site.glob("cases/**/*.html") if path != site / "cases/index.html"]
    assert len(of_cases) == len({each.case for each in executions})
    assert (site / "cases/edge/neg-inf/one-cell.html").is_file()


def test_the_json_of_cases_has_every_result_of_the_records(site):
    found = {}
    for path in site.glob("cases/**/*.json"):
        data = json.loads(path.read_text())
        for name, case in data["cases"].items() if path != site / "cases/index.json" else ():
            for run, result in zip(data["runs"], case["results"], strict=True):
                found[run["page"], run["target"], f"{data['file']}:{name}"] = result, data["outcomes"]
    for path in RECORDS[:3]:
        page = f"runs/{path.name.removesuffix('.jsonl.xz')}.html"
        for execution in read(path).executions:
            result, outcomes = found[page, execution.target, execution.case]
            words = outcomes[result if isinstance(result, int) else result[execution.variant]]
            expected = [execution.verdict.value, *([execution.known] if execution.known else execution.kinds)]
            assert words.split() == expected, (page, execution.case)


def test_the_matrix_tells_not_run_refused_and_not_expressible_apart(site):
    data = json.loads((site / "index.json").read_text())
    texts = {(run["page"], document): cell["text"] for run in data["runs"] for document, cell in run["matrix"].items()}
    assert texts["runs/opencv-5.0.0.93.html", "xmos-maxpool2d"] == "not run"
    assert texts["runs/xmos-1.4.2.html", "openvino-1"] == "not expressible"
    assert any(text.endswith(" refused") for text in texts.values())


def test_every_target_of_a_record_has_a_badge_that_shields_reads(tmp_path):
    assert command("report", GOLDEN, "-o", tmp_path).code == 0
    badges = [json.loads(path.read_text()) for path in tmp_path.glob("badges/*.json")]
    targets = read(GOLDEN).header.targets
    assert {each["label"] for each in badges} == {f"MaxPool on {each.distribution} {each.version}" for each in targets}
    for badge in badges:
        assert (badge["schemaVersion"], badge["color"]) == (1, "red")
        assert badge["message"]


def test_a_site_is_replaced_and_nothing_else_is(tmp_path):
    # As a checkout of the branch that is published.
    folder = tmp_path / "site"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref")
    assert command("report", GOLDEN, "-o", ".", cwd=folder).code == 0
    before = {path.relative_to(folder) for path in folder.rglob("*")}
    (folder / "cases/of-an-older-record.html").write_text("old")
    (folder / "CNAME").write_text("example.org")
    assert command("report", GOLDEN, "-o", folder).code == 0
    assert {path.relative_to(folder) for path in folder.rglob("*")} - before == {(folder / "CNAME").relative_to(folder)}
    assert ((folder / ".git/HEAD").read_text(), (folder / "CNAME").read_text()) == ("ref", "example.org")
    # A record among the pages that are replaced.
    (folder / "runs/record.jsonl").write_bytes(GOLDEN.read_bytes())
    command("report", folder / "runs/record.jsonl", "-o", folder).check(2, "lies in the pages of")
    assert (folder / "runs/record.jsonl").read_bytes() == GOLDEN.read_bytes()
    assert command("report", GOLDEN, "-o", folder / "style.css").code == 2
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.json").write_text('{"schema": "something else"}')
    command("report", GOLDEN, "-o", other).check(2, "is no site of maxpool-check")
    assert [path.name for path in other.iterdir()] == ["index.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["copy/record.jsonl"], "two records are called 'record'"),
        (["history.json"], "is no JSON report of a history"),
        (["missing.json"], "File 'missing.json' not found"),
        (["missing.jsonl"], "missing.jsonl"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, arguments, message):
    for path in (tmp_path / "record.jsonl", tmp_path / "copy/record.jsonl", tmp_path / "history.json"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(GOLDEN.read_bytes())
    command("report", "record.jsonl", *arguments, "-o", "site", cwd=tmp_path).check(2, message)
    assert not (tmp_path / "site").exists()


def test_names_of_cases_stay_inside_of_the_site(tmp_path):
    lines = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    outside = ["../../outside:x", "/absolute:x", "a/../b:.."]
    names = [*outside, f"{'long' * 100}:x", "Ünïcode/\u202e:<b>", ":empty", "no-file"]
    for name, line in zip(names, (line for line in lines if line["type"] == "execution"), strict=False):
        line["case"] = name
    (tmp_path / "record.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    folder = tmp_path / "folder/site"
    command("report", tmp_path / "record.jsonl", "-o", folder).check(0)
    assert {path.name for path in tmp_path.iterdir()} == {"record.jsonl", "folder"}
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["site"]
    titles = {re.search("<title>(.*)</title>", path.read_text())[1] for path in folder.glob("cases/**/*.html")}
    assert set(outside) <= titles
