"""Files of known divergences, changed by the tool: narrowed and added to, nothing else touched."""

from dataclasses import replace

import pytest

from maxpool_check.corpus.defect_editing import KnownRange, add, narrow
from maxpool_check.corpus.defect_file import read_defects
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY

RELEASES = ("1.27.0", "1.28.0", "1.29.0", "1.30.0")
BOTH = (DivergenceKind.INDICES_SENTINEL, DivergenceKind.Y_LOWEST_FOR_NEG_INF)


def known_range(bound="<1.29.0", kinds=BOTH, provider="CPUExecutionProvider", variant=WITH_INDICES):
    older, newer = RELEASES[:2], RELEASES[2:]
    releases, other_releases = (older, newer) if bound.startswith("<") else (newer, older)
    return KnownRange("a:b", variant, kinds, "onnxruntime", provider, releases, other_releases, bound)


def entry(when, name="seed", cases='["a:b"]'):
    return (
        f"  - id: {name}\n    when: {when}\n    cases: {cases}\n    kinds: [y-lowest-for-neg-inf, indices-sentinel]\n"
        "    variants: [indices]\n    reason: It keeps its seed.  # seen\n"
    )


@pytest.fixture
def write(tmp_path):
    path = tmp_path / "known-divergences.yaml"

    def write_entries(*entries, ending="\n"):
        text = ("# reviewed\nknown:\n" + "".join(entries)).replace("\n", ending)
        path.write_bytes(text.encode())
        return path

    return write_entries


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("onnxruntime", "onnxruntime <1.29.0"),
        ("onnxruntime < 1.31   # all of them", "onnxruntime <1.29.0"),
        ("'onnxruntime >=1.21,<1.31'", "onnxruntime <1.29.0, >=1.21"),
        ('"onnxruntime != 1.20.1"', "onnxruntime !=1.20.1, <1.29.0"),
        ("onnxruntime ==1.28.*", None),
        ("onnxruntime < 1.29", None),
        ("onnxruntime < 1.20", None),
        ("onnxruntime ==1.23.2", None),
        ("onnxruntime @CUDAExecutionProvider", None),
        ("openvino", None),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_an_entry_is_narrowed_to_the_releases_that_show_it(write, before, after, ending):
    path = write(entry(before), entry("onnxruntime < 1.31", "other", '["c:d"]'), ending=ending)
    old = path.read_bytes()
    narrow(path, known_range())
    if after is None:
        assert path.read_bytes() == old
        return
    assert whens(path) == [after, "onnxruntime <1.31"]
    new = path.read_bytes()
    # Comments, the other entry and the ends of lines are as they were.
    assert new.count(b"#") == old.count(b"#")
    assert new.count(ending.encode()) == new.count(b"\n") == old.count(b"\n")
    assert new.partition(b"  - id: other")[2] == old.partition(b"  - id: other")[2]


def whens(path):
    return [str(each.when) for defect in read_defects(path) for each in defect.expected]


def test_the_newer_side_is_narrowed_from_below_and_several_entries_at_once(write):
    path = write(entry("onnxruntime"), entry("onnxruntime >= 1.20", "again"))
    messages = narrow(path, known_range(">=1.29.0"))
    assert whens(path) == ["onnxruntime >=1.29.0"] * 2
    assert len(messages) == 2


def test_an_entry_of_several_cases_is_narrowed_with_a_warning(write):
    path = write(entry("onnxruntime", cases='["a:*"]'))
    assert "covers other cases too" in narrow(path, known_range())[0]


def test_other_kinds_and_other_variants_are_left_alone(write):
    path = write(entry("onnxruntime"))
    assert narrow(path, known_range(kinds=(DivergenceKind.INDICES_SENTINEL,))) == []
    assert narrow(path, known_range(variant=Y_ONLY)) == []
    assert narrow(path, known_range(provider="CUDAExecutionProvider")) == []
    assert narrow(path, known_range(kinds=())) == []


@pytest.mark.parametrize(
    "entries", [[entry(">-\n      onnxruntime\n      < 1.31")], [entry("&w onnxruntime < 1.31"), entry("*w", "alias")]]
)
def test_folded_text_and_aliases_are_narrowed_too(write, entries):
    path = write(*entries)
    narrow(path, known_range())
    assert whens(path) == ["onnxruntime <1.29.0"] * len(entries)
    assert not list(path.parent.glob("*.yaml.*"))


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


def test_what_a_defect_is_expected_to_show_is_narrowed(tmp_path):
    path = tmp_path / "seed.yaml"
    path.write_text(DEFECT)
    (message,) = narrow(path, known_range())
    assert message.startswith("SEED: onnxruntime <1.31 is now onnxruntime <1.29.0")
    old, new = DEFECT.splitlines(), path.read_text().splitlines()
    (line,) = [line for line in new if line not in old]
    assert line.split("#")[1] == " as far as tested"
    assert new[: new.index(line)] == old[: new.index(line)]


def test_bounds_that_make_no_difference_are_dropped_and_others_kept():
    assert str(TargetSelector.parse("onnxruntime <1.31").narrowed("<1.29.0", RELEASES)) == "onnxruntime <1.29.0"
    assert str(TargetSelector.parse("onnxruntime <1.28").narrowed("<1.29.0", RELEASES)) == "onnxruntime <1.28, <1.29.0"
    assert (
        str(TargetSelector.parse("onnxruntime >=1.21").narrowed("<1.29.0", RELEASES)) == "onnxruntime <1.29.0, >=1.21"
    )


def test_defects_are_added_at_the_end_and_the_existing_text_is_kept(write):
    path = write(entry("onnxruntime"))
    (existing,) = read_defects(path)
    before = path.read_text()
    name = 'more-"quoted"-#'
    expected = tuple(replace(each, defect=name) for each in existing.expected)
    add(path, [replace(existing, id=name, expected=expected)])
    assert path.read_text().startswith(before.rstrip())
    assert [entry.id for entry in read_defects(path)] == ["seed", 'more-"quoted"-#']


def test_what_is_expected_of_a_known_defect_is_added_to_it(tmp_path):
    path = tmp_path / "seed.yaml"
    path.write_text(DEFECT)
    (defect,) = read_defects(path)
    more = replace(defect.expected[0], cases=("c:d",), variants=None)
    add(path, [replace(defect, expected=(more,))])
    assert read_defects(path) == [replace(defect, expected=(*defect.expected, more))]
    assert path.read_text().startswith(DEFECT)


@pytest.mark.parametrize("text", ["defects: []\n", "known: []\n", None])
def test_a_file_without_defects_gets_its_first_one(tmp_path, text):
    source, path = tmp_path / "source.yaml", tmp_path / "sub/new.yaml"
    source.write_text(DEFECT)
    path.parent.mkdir()
    if text is not None:
        path.write_text(text)
    add(path, read_defects(source))
    assert read_defects(path) == read_defects(source)
