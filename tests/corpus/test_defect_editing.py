"""Files of defects, added to by the tool: nothing else is touched."""

from dataclasses import replace

import pytest

from maxpool_check.corpus.defect_file import read_defects
from maxpool_check.corpus.editing import add

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
    path.write_bytes(DEFECT.replace("\n", ending).encode())
    (existing,) = read_defects(path)
    name = 'more-"quoted"-#'
    effects = tuple(replace(each, defect=name) for each in existing.effects)
    add(path, [replace(existing, id=name, effects=effects)])
    new = path.read_bytes()
    assert new.startswith(DEFECT.rstrip().replace("\n", ending).encode())
    assert new.count(ending.encode()) == new.count(b"\n")
    assert [defect.id for defect in read_defects(path)] == ["SEED", name]


def test_a_file_without_defects_gets_its_first_one(tmp_path):
    source, absent, empty = (tmp_path / f"{name}.yaml" for name in ("source", "absent", "empty"))
    source.write_text(DEFECT)
    empty.write_text("defects: []\n")
    for path in (absent, empty):
        add(path, read_defects(source))
        assert read_defects(path) == read_defects(source)
