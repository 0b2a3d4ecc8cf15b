"""Files of known divergences, added to by the tool: nothing else is touched."""

from dataclasses import replace

import pytest

from maxpool_check.corpus.defect_file import read_defects
from maxpool_check.corpus.editing import add

KNOWN = """\
# reviewed
known:
  - id: seed
    when: onnxruntime
    cases: ["a:b"]
    kinds: [y-lowest-for-neg-inf, indices-sentinel]
    variants: [indices]
    reason: It keeps its seed.  # seen
"""

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


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_defects_are_added_at_the_end_and_the_existing_text_is_kept(tmp_path, ending):
    path = tmp_path / "known-divergences.yaml"
    path.write_bytes(KNOWN.replace("\n", ending).encode())
    (existing,) = read_defects(path)
    name = 'more-"quoted"-#'
    expected = tuple(replace(each, defect=name) for each in existing.expected)
    add(path, [replace(existing, id=name, expected=expected)])
    new = path.read_bytes()
    assert new.startswith(KNOWN.rstrip().replace("\n", ending).encode())
    assert new.count(ending.encode()) == new.count(b"\n")
    assert [entry.id for entry in read_defects(path)] == ["seed", name]


def test_what_is_expected_of_a_known_defect_is_added_to_it(tmp_path):
    path = tmp_path / "seed.yaml"
    path.write_text(DEFECT)
    (defect,) = read_defects(path)
    more = replace(defect.expected[0], cases=("c:d",), variants=None)
    add(path, [replace(defect, expected=(more,))])
    assert read_defects(path) == [replace(defect, expected=(*defect.expected, more))]
    assert path.read_text().startswith(DEFECT)


def test_a_file_without_defects_gets_its_first_one(tmp_path):
    source, absent, empty = (tmp_path / f"{name}.yaml" for name in ("source", "absent", "empty"))
    source.write_text(DEFECT)
    empty.write_text("known: []\n")
    for path in (absent, empty):
        add(path, read_defects(source))
        assert read_defects(path) == read_defects(source)
