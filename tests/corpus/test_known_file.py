"""Files of known divergences, changed by the tool: narrowed and added to, nothing else touched."""

from dataclasses import replace

import pytest

from maxpool_check.corpus.known_file import KnownRange, append, narrow, read_known
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.known import TargetSelector
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
        ("onnxruntime", '"onnxruntime <1.29.0"'),
        ("onnxruntime < 1.31   # all of them", '"onnxruntime <1.29.0"   # all of them'),
        ("'onnxruntime >=1.21,<1.31'", '"onnxruntime <1.29.0, >=1.21"'),
        ('"onnxruntime != 1.20.1"', '"onnxruntime <1.29.0"'),
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
    expected = old if after is None else old.replace(f"when: {before}".encode(), f"when: {after}".encode(), 1)
    if "!=" in before:
        # A version outside the tested ones may stay excluded.
        assert read_known(path)[0].when.versions.contains("1.28.0")
        assert not read_known(path)[0].when.versions.contains("1.29.0")
        return
    assert path.read_bytes() == expected


def test_the_newer_side_is_narrowed_from_below_and_several_entries_at_once(write):
    path = write(entry("onnxruntime"), entry("onnxruntime >= 1.20", "again"))
    messages = narrow(path, known_range(">=1.29.0"))
    assert [str(entry.when) for entry in read_known(path)] == ["onnxruntime >=1.29.0"] * 2
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
def test_what_cannot_be_changed_safely_is_left_to_the_user(write, entries):
    path = write(*entries)
    before = path.read_bytes()
    messages = narrow(path, known_range())
    assert path.read_bytes() == before
    assert "by hand" in messages[0]
    assert not list(path.parent.glob("*.yaml.*"))


def test_bounds_that_make_no_difference_are_dropped_and_others_kept():
    assert str(TargetSelector.parse("onnxruntime <1.31").narrowed("<1.29.0", RELEASES)) == "onnxruntime <1.29.0"
    assert str(TargetSelector.parse("onnxruntime <1.28").narrowed("<1.29.0", RELEASES)) == "onnxruntime <1.28, <1.29.0"
    assert (
        str(TargetSelector.parse("onnxruntime >=1.21").narrowed("<1.29.0", RELEASES)) == "onnxruntime <1.29.0, >=1.21"
    )


def test_entries_are_added_at_the_end_and_the_existing_text_is_kept(write):
    path = write(entry("onnxruntime"))
    (existing,) = read_known(path)
    before = path.read_text()
    append(path, [replace(existing, id='more-"quoted"-#')])
    assert path.read_text().startswith(before.rstrip())
    assert [entry.id for entry in read_known(path)] == ["seed", 'more-"quoted"-#']


def test_a_file_that_cannot_be_added_to_is_not_changed(tmp_path):
    path = tmp_path / "known-divergences.yaml"
    path.write_text("known: []\n")
    source = tmp_path / "source.yaml"
    source.write_text("known:\n" + entry("onnxruntime"))
    with pytest.raises(CorpusError):
        append(path, read_known(source))
    assert path.read_text() == "known: []\n"
