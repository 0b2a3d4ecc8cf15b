"""What a release shows, counted."""

from maxpool_check.comparing.timeline import Release
from maxpool_check.results.storage import read
from tests.conftest import ROOT


def test_kinds_are_counted_by_case_and_in_the_order_of_the_record():
    record = read(ROOT / "reports/onnxruntime-1.23.2-cpu.jsonl.gz")
    found = Release("1.23.2", record).kinds
    shown = [(kind, one.case) for one in record.executions for kind in one.kinds]
    assert list(found) == list(dict.fromkeys(kind for kind, _ in shown))
    assert len(found) > 5
    assert found == {kind: len({case for of, case in shown if of == kind}) for kind in found}
    assert sum(found.values()) < len(shown)


def test_a_release_that_could_not_be_asked_shows_nothing():
    assert not Release("0.1", None, "it has no wheel").kinds
