"""Files of defects and of accepted results, added to by the tool: nothing else is touched."""

from dataclasses import replace

import pytest

from maxpool_check.corpus.defect_file import read_accepted, read_defects
from maxpool_check.corpus.editing import add_accepted

DEFECT = """\
# reviewed
defects:
  - id: SEED   # the first
    runtime: onnxruntime
    title: MaxPool keeps its seed
    severity: wrong-on-special
    mechanism: >-
      The scan starts from the lowest finite value,
      and needs something greater.
    expect:
      - versions: "<1.31"   # as far as tested
        cases: [a:b]
        kinds: [y-lowest-for-neg-inf, indices-sentinel]
        variants: [indices]
"""
ACCEPTED = """\
accepted:
  - runtime: onnxruntime   # on the CPU
    versions: ==1.31.1
    kinds: [y-lowest-for-neg-inf, indices-sentinel]
    variants: [indices]
    cases: [a:b]
    author: Ada
    reason: >-
      No infinity
      gets there.
    expires: 2099-12-31
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_entries_are_added_at_the_end_and_the_existing_text_is_kept(tmp_path, ending):
    path, text = tmp_path / "known-divergences.yaml", DEFECT + ACCEPTED
    path.write_bytes(text.replace("\n", ending).encode())
    (existing,), defects = read_accepted([path]), read_defects(path)
    add_accepted(path, [replace(existing, reason='more "quoted" # words')])
    new = path.read_bytes()
    assert new.startswith(text.rstrip().replace("\n", ending).encode())
    assert new.count(ending.encode()) == new.count(b"\n")
    assert [entry.reason for entry in read_accepted([path])] == [existing.reason, 'more "quoted" # words']
    assert read_defects(path) == defects


def test_a_file_without_entries_gets_its_first_one(tmp_path):
    source, absent, empty, defects = (tmp_path / f"{name}.yaml" for name in ("source", "absent", "empty", "defects"))
    source.write_text(ACCEPTED)
    empty.write_text("accepted: []\n")
    defects.write_text(DEFECT)
    for path in (absent, empty, defects):
        add_accepted(path, read_accepted([source]))
        (entry,) = read_accepted([path])
        assert (entry.cases, entry.author, str(entry.expires)) == (("a:b",), "Ada", "2099-12-31")
    assert defects.read_text().startswith(DEFECT)
