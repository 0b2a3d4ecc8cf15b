"""The HTML page of a run as text: its size, its policy, what it says of a record."""

import hashlib
import io
import re
from base64 import b64encode

import msgspec
import pytest

from maxpool_check.commands.report import FORMATS
from maxpool_check.reporting.blocks import Names, Table, plain
from maxpool_check.reporting.reruns import commands
from maxpool_check.reporting.run_report import RunReport
from maxpool_check.reporting.run_view import document
from maxpool_check.reporting.writers import Form
from maxpool_check.results.record import Execution, Verdict
from maxpool_check.results.storage import Recorder, read
from tests.conftest import ROOT, shipped
from tests.report_matrix import RECORDS, record_at

GOLDEN = ROOT / "tests/data/golden/record.jsonl"


def page_of(record):
    file = io.StringIO()
    FORMATS["html"](RunReport(record, record.footer.exit_code), file)
    return file.getvalue()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name.removesuffix(".jsonl.xz"))
def test_the_page_of_a_committed_record_has_less_than_a_megabyte(path):
    record = record_at(path)
    assert len(page_of(record).encode()) < 1_200_000 * len(record.header.targets)


def test_the_policy_allows_the_style_and_the_script_of_the_page_alone():
    page = page_of(read(GOLDEN))
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        [text] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert " style=" not in page
    assert not re.search(r"<[^>]* on[a-z]+=", page)


def inner(all_blocks):
    """Blocks, and those in them."""
    for block in all_blocks:
        yield block
        yield from inner(getattr(block, "blocks", ()))


def test_every_execution_is_somewhere_on_the_page():
    record = record_at(ROOT / "reports/onnxruntime-1.23.2-cpu.jsonl.xz")
    shown = set()
    for block in inner(document(RunReport(record, record.footer.exit_code), Form.HTML).blocks):
        if isinstance(block, Table) and block.name == "rows":
            shown |= {plain(row[0][0]) for row in block.rows}
        elif isinstance(block, Names):
            listed = {f"{file}:{name}" for file, names in block.files for name in names.split(", ")}
            assert len(listed) == block.count
            shown |= listed
    assert shown == {execution.case for execution in record.executions}


def test_a_command_names_a_case_of_the_corpus():
    record = record_at(ROOT / "reports/onnxruntime-1.23.2-cpu.jsonl.xz")
    ids = {case.id for case in shipped().cases}
    for finding in RunReport(record, record.footer.exit_code).findings:
        words = commands(finding.smallest, record.header)[0][1].split()
        assert words[:2] == ["maxpool-check", "run"]
        assert words[words.index("-k") + 1] in ids
        assert (ROOT / words[2]).is_file()


def test_the_page_of_very_many_conforming_cases_counts_them(tmp_path):
    golden = read(GOLDEN)
    with Recorder(tmp_path / "record.jsonl") as recorder:
        recorder.write(golden.header)
        for number in range(20_000):
            recorder.write(
                Execution(
                    target=golden.header.targets[0].name, case=f"file-{number % 7}:case-{number}", variant="indices",
                    verdict=Verdict.CONFORMS, title="", spec="onnx-22", case_sha256="", origin="x.yaml:1", clauses=("C",),
                )
            )  # fmt: skip
        recorder.write(msgspec.structs.replace(golden.footer, executions=20_000))
        text = page_of(recorder.record)
    assert "20000 cases conform in every variant" in text
    assert "case-19999" not in text
    assert len(text) < 100_000
