"""What a release shows, counted."""

from maxpool_check.reporting.history import Release
from maxpool_check.results.storage import read
from tests.conftest import ROOT


def test_kinds_are_counted_by_case_and_in_the_order_of_the_record():
    record = read(ROOT / "reports/onnxruntime-1.23.2-cpu.jsonl.gz")
    kinds = Release("1.23.2", record).kinds
    pairs = [(kind, execution.case) for execution in record.executions for kind in execution.kinds]
    assert list(kinds) == list(dict.fromkeys(kind for kind, _ in pairs))
    assert len(kinds) > 5
    assert kinds == {kind: len({case for name, case in pairs if name == kind}) for kind in kinds}
    assert sum(kinds.values()) < len(pairs)


def test_a_release_that_was_skipped_shows_nothing():
    assert not Release("0.1", None, "it has no wheel").kinds
