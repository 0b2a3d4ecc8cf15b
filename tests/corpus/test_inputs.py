"""Every form of an input, and every mistake in one."""

import hashlib
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from maxpool_check.corpus.problems import BadValue
from maxpool_check.corpus.random_tensors import draw, stream
from maxpool_check.corpus.tensors import array, array_of_bits, recipe
from maxpool_check.reference.dtypes import NAMES, NUMPY, bits, rounded

KINDS = ("distinct", "normal", "ties", "special")


def build(folder=None, most=1000, **fields):
    return recipe(fields, folder, folder, most).tensor()


@pytest.mark.parametrize(
    ("literal", "dtype", "value"),
    [
        ("lowest", "float32", np.finfo("f4").min),
        ("highest", "int8", 127),
        ("smallest_subnormal", "float64", 5e-324),
        ("lowest", "bfloat16", float(ml_dtypes.finfo("bfloat16").min)),
        ("highest", "uint64", 2**64 - 1),
        ("0x1.8p+1", "float32", 3.0),
        ("-0x1p-149", "float32", -(2.0**-149)),
        (10**400, "float64", math.inf),
        (65519, "float16", 65504),
        (65520, "float16", math.inf),
    ],
)
def test_literals(literal, dtype, value):
    assert array([literal], NUMPY[dtype]).tolist() == [value]


@pytest.mark.parametrize(
    ("literal", "dtype", "words"),
    [
        (128, "int8", "-128 to 127"),
        (1.5, "int8", "exactly"),
        ("tiny", "int8", "only floats"),
        ("inf", "float32", r"write \.inf"),
        ("one", "float32", "found the text 'one'"),
        ("0x1_0", "float32", "found the text"),
        (True, "float32", "found true"),
        ([1], "float32", "ragged"),
    ],
)
def test_bad_literals_say_where(literal, dtype, words):
    with pytest.raises(BadValue, match=words) as error:
        array([[1, 1], [1, literal]], NUMPY[dtype])
    assert error.value.path == (1, 1)


@pytest.mark.parametrize(
    "value", [1 + 2**-8 + 2**-30, 1 + 2**-8, 1 + 3 * 2**-8 - 2**-40, 3.5e38, 1e-45, -(1 + 2**-8 + 2**-52)]
)
def test_bfloat16_is_rounded_once(value):
    # Against all bfloat16 values, exactly: the nearest, and of two the even one; 2 ** 128 stands for infinity.
    patterns = np.arange(0x7F81, dtype=np.uint16)
    magnitudes = patterns.view(ml_dtypes.bfloat16).astype(np.float64)
    magnitudes[-1] = 2.0**128
    distances = [abs(Fraction(float(m)) - Fraction(abs(value))) for m in magnitudes]
    least = min(distances)
    nearest = [int(pattern) for pattern, distance in zip(patterns, distances, strict=True) if distance == least]
    expected = min(nearest, key=lambda pattern: pattern % 2) | (0x8000 if value < 0 else 0)
    assert bits(rounded(np.array([value]), NUMPY["bfloat16"])).tolist() == [expected]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"dtype": "float32", "data": [[1, 2.5], [math.inf, 0]]}, [[1, 2.5], [math.inf, 0]]),
        ({"dtype": "int8", "shape": [1, 2], "fill": "lowest"}, [[-128, -128]]),
        ({"dtype": "int8", "shape": [2, 2], "arange": {"start": 3, "step": -1}}, [[3, 2], [1, 0]]),
        ({"dtype": "uint64", "shape": [3], "arange": {"start": 2**64 - 5, "step": 2}}, [2**64 - n for n in (5, 3, 1)]),
        ({"dtype": "uint8", "shape": [0, 2], "fill": 1}, []),
        ({"dtype": "float32", "shape": [2], "fill": 0, "set": [{"at": [1], "to": -math.inf}]}, [0, -math.inf]),
        ({"npy": "x.npy", "set": [{"at": [0, 0], "to": 7}]}, [[7, 2]]),
    ],
)
def test_the_forms_of_an_input(tmp_path, fields, expected):
    np.save(tmp_path / "x.npy", np.array([[1, 2]], ">i2"))
    assert build(tmp_path, **fields).tolist() == expected


def test_bits_are_exact():
    X = build(dtype="float32", bits=[["0x7fc00001", "ff800000"], ["00000001", 0]])
    assert bits(X).tolist() == [[0x7FC00001, 0xFF800000], [1, 0]]
    assert bits(build(dtype="bfloat16", bits=[["7fc1"]])).tolist() == [[0x7FC1]]


@pytest.mark.parametrize("pattern", ["1ff", "xyz", "-1", "1_0", "+1", " 1", 10, 1.5, None])
def test_bad_bits(pattern):
    with pytest.raises(BadValue, match="hexadecimal digits"):
        array_of_bits([pattern], NUMPY["int8"])


ZEROS = {"dtype": "int8", "shape": [2], "fill": 0}


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        ({**ZEROS, "data": [0]}, "found data and fill", ("fill",)),
        ({"dtype": "int8", "fill": 0}, "needs a 'shape'", ()),
        ({"dtype": "int8", "data": [1, 2], "shape": [3]}, "the data has the shape", ("shape",)),
        *[({"dtype": "int8", "data": data}, "ragged", ()) for data in ([[1, 2], [3]], [1, [2]])],
        ({"dtype": "int8", "shape": [10**6, 10**6], "fill": 0}, "MAXPOOL_CHECK_MAX_CELLS", ("shape",)),
        ({"dtype": "uint8", "shape": [300], "arange": {}}, "does not fit", ("arange",)),
        ({"dtype": "int8", "shape": [300], "random": {"seed": 1, "values": "distinct"}}, "only 256", ("random",)),
        ({**ZEROS, "set": [{"at": [2], "to": 0}]}, "not a cell", ("set", 0, "at")),
        ({**ZEROS, "set": [{"at": [0], "to": 200}]}, "127", ("set", 0, "to")),
        ({"npy": "int8.npy", "dtype": "int16"}, "contains int8", ()),
        ({"npy": "../outside.npy"}, "leads out", ()),
        ({"npy": "link.npy"}, "leads out", ()),
        ({"npy": "absent.npy"}, "no file", ()),
        ({"npy": "pickled.npy"}, "not a .npy file", ()),
        ({"npy": "large.npy"}, "MAXPOOL_CHECK_MAX_CELLS", ()),
    ],
)
def test_bad_inputs(tmp_path, fields, message, path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    np.save(tmp_path / "outside.npy", np.zeros(1, np.int8))
    np.save(corpus / "pickled.npy", np.array([object()]), allow_pickle=True)
    np.save(corpus / "int8.npy", np.zeros(1, np.int8))
    np.save(corpus / "large.npy", np.zeros(2000, np.int8))
    (corpus / "link.npy").symlink_to(tmp_path / "outside.npy")
    with pytest.raises(BadValue) as error:
        build(corpus, **fields)
    assert message in str(error.value)
    assert error.value.path[: len(path)] == path


def test_random_values_never_change():
    # The same seed must give the same case in every release.
    digest = hashlib.sha256()
    for name in NAMES:
        for values in KINDS:
            digest.update(draw(values, 7, (4, 5), NUMPY[name], nan=values == "special").tobytes())
    assert digest.hexdigest() == "7715ec1e2f4d3b09edc8d3272b011704df32d056b6a5ea5369d3f6f1d043deae"


def test_special_values_contain_nan_only_on_request():
    special, with_nan = (draw("special", 1, (500,), NUMPY["float32"], nan=nan) for nan in (False, True))
    assert (np.isnan(special).any(), np.isnan(with_nan).any()) == (False, True)
    assert {np.inf, -np.inf, 0.0, np.finfo("f4").max, np.finfo("f4").smallest_subnormal} <= set(special.tolist())
    assert np.signbit(special[special == 0]).any()


def test_a_normal_tensor_is_the_sum_of_twelve_numbers_whether_or_not_it_is_drawn_in_blocks():
    for size in (2**15, 2**15 + 1, 2**16 + 3):
        numbers = stream(3, 12 * size).reshape(12, size) >> np.uint64(32)
        total = numbers.sum(0).astype(np.float64) / 2**32 - 6
        assert (draw("normal", 3, (size,), np.dtype("f8"), False) == total).all()
