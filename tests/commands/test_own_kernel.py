"""What the user of a kernel of their own sees of it: its header, its conversation, and its mistakes in the protocol."""

import json

import pytest

from tests.conftest import misbehaving


@pytest.fixture
def record(tmp_path):
    return tmp_path / "record.jsonl"


def header(record):
    with record.open() as lines:
        return json.loads(next(lines))


def test_a_function_has_no_version_and_no_provider(cli, small, kernel_target, record, tmp_path):
    name, reports = (
        kernel_target("right"),
        {form: tmp_path / f"report.{form}" for form in ("markdown", "html", "junit")},
    )
    options = [word for form, path in reports.items() for word in ("--report", f"{form}={path}")]
    done = cli("run", small, "-t", name, "-k", "small:ordinary", "-o", record, *options)
    (target,) = header(record)["targets"]
    assert (target["distribution"], target["version"], target["provider"]) == ("python", "", "")
    assert done.out.splitlines()[0] == f"{name}  Python {target['python']}"
    for path in reports.values():
        assert "CPUExecutionProvider" not in path.read_text(), path
        assert "python 0" not in path.read_text(), path
    site = cli("site", record, "-o", tmp_path / "site")
    assert site.code == 0, site.err
    assert not [path for path in (tmp_path / "site").rglob("*.html") if "CPUExecutionProvider" in path.read_text()]


def test_of_a_program_what_it_says_is_shown_and_nothing_else(cli, small, record):
    for name, about in (("says_its_name", "acme 2.1"), ("says_nothing", "no version named")):
        done = cli("run", small, "-t", misbehaving(name), "-k", "small:ordinary", "-o", record)
        assert done.out.splitlines()[0] == f"{misbehaving(name)}  {about}"
        (target,) = header(record)["targets"]
        assert (target["provider"], target["python"]) == ("", "-")


def test_a_record_of_an_older_version_is_read_and_shown_without_the_version_0(cli, small, kernel_target, record):
    cli("run", small, "-t", kernel_target("right"), "-k", "small:ordinary", "-o", record)
    old = record.read_text().replace('"version":"","provider":""', '"version":"0","provider":"CPUExecutionProvider"')
    assert '"version":"0"' in old
    record.write_text(old)
    done = cli("report", record)
    assert "python 0" not in done.out
    assert f"{kernel_target('right')}  CPUExecutionProvider, Python" in done.out
