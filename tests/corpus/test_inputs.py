"""Every form of an input, and every mistake in one."""

import hashlib
import math
import tracemalloc
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from maxpool_check.corpus.problems import BadValue
from maxpool_check.corpus.random_tensors import draw, stream
from maxpool_check.corpus.tensors import array, array_of_bits, recipe
from maxpool_check.reference.dtypes import NAMES, NUMPY, bits, rounded


def build(folder=None, **fields):
    return recipe(fields, folder, folder, 1000).tensor()


def mistake(folder=None, **fields):
    with pytest.raises(BadValue) as error:
        build(folder, **fields)
    return error.value


def test_data_has_the_shape_of_its_nesting():
    X = build(dtype="float32", data=[[[1, 2.5], [math.inf, -0.0]]])
    assert (X.dtype, X.shape) == (np.float32, (1, 2, 2))
    assert np.signbit(X[0, 1, 1])


@pytest.mark.parametrize(
    ("literal", "dtype", "value"),
    [
        ("lowest", "float32", np.finfo("f4").min),
        ("highest", "int8", 127),
        ("lowest", "uint8", 0),
        ("tiny", "float16", np.finfo("f2").tiny),
        ("smallest_subnormal", "float64", 5e-324),
        ("lowest", "bfloat16", float(ml_dtypes.finfo("bfloat16").min)),
        ("highest", "int64", 2**63 - 1),
        ("highest", "uint64", 2**64 - 1),
        ("0x1.8p+1", "float32", 3.0),
        ("-0x1p-149", "float32", -(2.0**-149)),
        ("0x1p3", "float32", 8.0),
        ("0x10", "int8", 16),
        ("-0x0", "float32", 0.0),
        (1e40, "float32", math.inf),
        (10**400, "float64", math.inf),
        (3.0, "int8", 3),
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
        (-1, "uint8", "0 to 255"),
        (1.5, "int8", "exactly"),
        (math.inf, "int8", "exactly"),
        (math.nan, "uint8", "exactly"),
        ("tiny", "int8", "only floats"),
        ("inf", "float32", "write .inf"),
        ("NaN", "float32", "write .nan"),
        ("one", "float32", "found the text 'one'"),
        ("0xzz", "float32", "found the text"),
        ("0x1_0", "float32", "found the text"),
        ("0x1 ", "int8", "found the text"),
        (True, "float32", "found true"),
        (None, "float32", "found nothing"),
        ({}, "float32", "found a map"),
        ([1], "float32", "ragged"),
    ],
)
def test_bad_literals(literal, dtype, words):
    with pytest.raises(BadValue, match=words.replace(".", r"\.")):
        array([1, literal], NUMPY[dtype])


def test_a_bad_literal_says_where():
    with pytest.raises(BadValue) as error:
        array([[1, 2], [3, 300]], NUMPY["int8"])
    assert error.value.path == (1, 1)


@pytest.mark.parametrize("data", [[[1, 2], [3]], [[1], 2], [1, [2]], [[], [1]]])
def test_ragged_data(data):
    assert "ragged" in str(mistake(dtype="float32", data=data))


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


def test_bits_are_exact():
    X = build(dtype="float32", bits=[["0x7fc00001", "ff800000"], ["00000001", 0]])
    assert bits(X).tolist() == [[0x7FC00001, 0xFF800000], [1, 0]]
    assert build(dtype="int8", bits=[["80"]]).tolist() == [[-128]]
    assert bits(build(dtype="bfloat16", bits=[["7fc1"]])).tolist() == [[0x7FC1]]


@pytest.mark.parametrize("pattern", ["1ff", "xyz", "-1", "1_0", "+1", " 1", 10, 1.5, None])
def test_bad_bits(pattern):
    with pytest.raises(BadValue, match="hexadecimal digits"):
        array_of_bits([pattern], NUMPY["int8"])


def test_fill_arange_and_set():
    assert build(dtype="int8", shape=[1, 2], fill="lowest").tolist() == [[-128, -128]]
    assert build(dtype="int8", shape=[2, 2], arange={"start": 3, "step": -1}).tolist() == [[3, 2], [1, 0]]
    assert build(dtype="float16", shape=[3], arange={}).tolist() == [0, 1, 2]
    assert build(dtype="uint8", shape=[0, 2], fill=1).shape == (0, 2)
    assert build(dtype="float32", shape=[2], fill=0, set=[{"at": [1], "to": -math.inf}]).tolist() == [0, -math.inf]


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        ({"dtype": "int8"}, "found none", ()),
        ({"dtype": "int8", "shape": [1], "fill": 0, "data": [0]}, "found data and fill", ("fill",)),
        ({"data": [0]}, "missing 'dtype'", ()),
        ({"dtype": "int8", "fill": 0}, "needs a 'shape'", ()),
        ({"dtype": "int8", "data": [1, 2], "shape": [3]}, "the data has the shape", ("shape",)),
        ({"dtype": "int8", "shape": [10**6, 10**6], "fill": 0}, "MAXPOOL_CHECK_MAX_CELLS", ("shape",)),
        ({"dtype": "uint8", "shape": [300], "arange": {}}, "does not fit", ("arange",)),
        ({"dtype": "int8", "shape": [300], "random": {"seed": 1, "values": "distinct"}}, "only 256", ("random",)),
        ({"dtype": "int8", "shape": [2], "fill": 0, "set": [{"at": [2], "to": 0}]}, "not a cell", ("set", 0, "at")),
        ({"dtype": "int8", "shape": [2], "fill": 0, "set": [{"at": [0, 0], "to": 0}]}, "not a cell", ("set", 0, "at")),
        ({"dtype": "int8", "shape": [2], "fill": 0, "set": [{"at": [0], "to": 200}]}, "127", ("set", 0, "to")),
    ],
)
def test_bad_inputs(fields, message, path):
    error = mistake(**fields)
    assert message in str(error)
    assert error.path[: len(path)] == path


def test_npy_files(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, 2]], ">i2"))
    assert build(tmp_path, npy="x.npy").tolist() == [[1, 2]]
    assert build(tmp_path, npy="x.npy", set=[{"at": [0, 0], "to": 7}]).tolist() == [[7, 2]]
    assert "contains int16" in str(mistake(tmp_path, npy="x.npy", dtype="int8"))


def test_npy_files_that_are_refused(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    np.save(tmp_path / "outside.npy", np.zeros(1, np.int8))
    np.save(corpus / "pickled.npy", np.array([object()]), allow_pickle=True)
    np.save(corpus / "complex.npy", np.zeros(1, complex))
    np.save(corpus / "large.npy", np.zeros(2000, np.int8))
    (corpus / "text.npy").write_text("hello")
    (corpus / "link.npy").symlink_to(tmp_path / "outside.npy")
    assert "leads out" in str(mistake(corpus, npy="../outside.npy"))
    assert "leads out" in str(mistake(corpus, npy=str(tmp_path / "outside.npy")))
    assert "leads out" in str(mistake(corpus, npy="link.npy"))
    assert "no file" in str(mistake(corpus, npy="absent.npy"))
    assert "not a .npy file" in str(mistake(corpus, npy="pickled.npy"))
    assert "not a .npy file" in str(mistake(corpus, npy="text.npy"))
    assert "no tensor of" in str(mistake(corpus, npy="complex.npy"))
    assert "MAXPOOL_CHECK_MAX_CELLS" in str(mistake(corpus, npy="large.npy"))


def test_the_stream_is_splitmix64():
    # The first numbers from seed 1234567, as published with the algorithm's reference implementation.
    assert stream(1234567, 5).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("values", ["distinct", "normal", "ties", "special"])
@pytest.mark.parametrize("name", NAMES)
def test_random_values_are_of_their_dtype_and_the_same_each_time(name, values):
    dtype = NUMPY[name]
    X = draw(values, 7, (3, 5, 2), dtype, nan=False)
    assert (X.dtype, X.shape) == (dtype, (3, 5, 2))
    assert (bits(X) == bits(draw(values, 7, (3, 5, 2), dtype, nan=False))).all()
    assert (bits(X) != bits(draw(values, 8, (3, 5, 2), dtype, nan=False))).any()
    if values == "distinct":
        assert len(set(X.reshape(-1).tolist())) == 30
    if values == "ties":
        assert len(set(X.reshape(-1).tolist())) <= 4


def test_random_values_never_change():
    # The same seed must give the same case in every release.
    digest = hashlib.sha256()
    for name in NAMES:
        for values in ("distinct", "normal", "ties", "special"):
            digest.update(draw(values, 7, (4, 5), NUMPY[name], nan=values == "special").tobytes())
    assert digest.hexdigest() == "7715ec1e2f4d3b09edc8d3272b011704df32d056b6a5ea5369d3f6f1d043deae"


def test_special_values_contain_nan_only_on_request():
    dtype = NUMPY["float32"]
    assert not np.isnan(draw("special", 1, (500,), dtype, nan=False)).any()
    assert np.isnan(draw("special", 1, (500,), dtype, nan=True)).any()
    special = draw("special", 1, (500,), dtype, nan=False)
    assert {np.inf, -np.inf, 0.0, np.finfo("f4").max, np.finfo("f4").smallest_subnormal} <= set(special.tolist())
    assert np.signbit(special[special == 0]).any()


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
@pytest.mark.parametrize("values", ["distinct", "normal", "ties", "special"])
def test_a_tensor_is_generated_in_little_memory(values, dtype):
    cells = 2**8 if (values, dtype) == ("distinct", "uint8") else 2**18
    draw(values, 1, (10,), NUMPY[dtype], False)
    tracemalloc.start()
    draw(values, 1, (cells,), NUMPY[dtype], False)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 64 * cells + 2**16


@pytest.mark.parametrize(("start", "step"), [(-(2**63), 2**40), (2**63 - 1, -(2**45)), (-5, 0), (3, -1)])
def test_ascending_integers_are_exact_and_generated_in_little_memory(start, step):
    cells = 2**18
    fields = {"dtype": "int64", "shape": [cells], "arange": {"start": start, "step": step}}
    tracemalloc.start()
    X = recipe(fields, None, None, cells).tensor()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 32 * cells
    assert X.tolist() == [start + step * i for i in range(cells)]


def test_ascending_unsigned_integers_reach_the_highest():
    X = build(dtype="uint64", shape=[3], arange={"start": 2**64 - 5, "step": 2})
    assert X.tolist() == [2**64 - 5, 2**64 - 3, 2**64 - 1]
