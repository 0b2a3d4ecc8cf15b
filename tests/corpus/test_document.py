"""YAML as plain data with places, and files that are refused."""

import math

import pytest

from maxpool_check.corpus import document
from maxpool_check.corpus.document import parse, read
from maxpool_check.corpus.problems import CorpusError


def problem(text):
    with pytest.raises(CorpusError) as error:
        parse(text, "f.yaml")
    (found,) = error.value.problems
    return str(found)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-7", -7), ("1.5", 1.5), ("1e5", 1e5), ("-.5", -0.5), ("4.5e+000", 4.5),
        (".inf", math.inf), ("-.inf", -math.inf), ("-.INF", -math.inf),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        # Text: what YAML 1.1 would make something else of, and what is read as a bit pattern.
        ("no", "no"), ("on", "on"), ("1:30", "1:30"), ("2027-11-21", "2027-11-21"), ("1_000", "1_000"),
        ("0x7fc00001", "0x7fc00001"), ("0010", "0010"), ("007e1", "007e1"), ("inf", "inf"), ("nan", "nan"),
        ('"1"', "1"), ("'true'", "true"),
    ],
)  # fmt: skip
def test_scalars(text, value):
    parsed = parse(f"a: {text}", "f.yaml").data["a"]
    assert (type(parsed), parsed) == (type(value), value)


def test_minus_zero_and_nan():
    *zeros, nan = parse("[0, -0, -0.0, .nan]", "f.yaml").data
    assert [math.copysign(1, zero) for zero in zeros] == [1, -1, -1]
    assert math.isnan(nan)


@pytest.mark.parametrize(
    ("text", "path", "key", "place"),
    [
        ("a:\n  - b: 1\n    c: [2, 3]\n", ("a", 0, "c", 1), None, "3:12"),
        ("a:\n  - b: 1\n    c: [2, 3]\n", ("a", 0), "c", "3:5"),
        # Aliases share a value and its place.
        ("a: &x [1, 2]\nb: *x\n", ("b", 1), None, "1:11"),
    ],
)
def test_places(text, path, key, place):
    assert str(parse(text, "f.yaml").problem(path, "x", key=key)) == f"f.yaml:{place}: x"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "1:1", "empty"),
        ("a: 1\na: 2\n", "2:1", "duplicate key 'a', first on line 1"),
        ("a:\n\tb: 1\n", "2:1", "tabs"),
        ("a: b: c\n", "1:5", "not YAML"),
        ("a: *b\n", "1:4", "alias *b without an anchor"),
        ("a: &a [*a]\n", "1:8", "alias *a without an anchor"),
        ("a: !!python/object:os.system x\n", "1:4", "not allowed"),
        ("? [1]\n: 2\n", "1:3", "plain text"),
        ("a: 1\n---\nb: 2\n", "2:1", "second document"),
        ("a: \x00\n", "1:4", "not allowed in YAML"),
        ("[" * 100_000, "1:65", "nested deeper"),
    ],
)
def test_refused(text, place, words):
    message = problem(text)
    assert message.startswith(f"f.yaml:{place}: ")
    assert words in message


def test_an_alias_bomb_is_refused_before_it_goes_off():
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "aliases add more than" in problem("\n".join(lines))


def test_the_bytes_of_a_file(tmp_path, monkeypatch):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read(path).data == {"a": 1, "b": 2}
    path.write_bytes(b"a: 1\nb: \xff\xfe")
    with pytest.raises(CorpusError, match=r"x\.yaml:2:4: not UTF-8"):
        read(path)
    with pytest.raises(CorpusError, match="cannot be read"):
        read(tmp_path)
    monkeypatch.setattr(document, "MAX_BYTES", 9)
    with pytest.raises(CorpusError, match="larger than"):
        read(path)
