"""``explain`` of documents, side by side, and of cases of documents with another layout or several interpretations."""

import pytest

from tests.conftest import CASES

NHWC = """\
spec: ort-nhwc-11
cases:
  - id: two-channels
    title: Two channels, counted in either order
    tags: [documents]
    input: {dtype: float32, shape: [1, 3, 3, 2], arange: {}}
    attributes: {kernel_shape: [2, 2], strides: [2, 2], auto_pad: VALID, ceil_mode: 1}
  - id: wrong
    title: What is printed is wrong
    input: {dtype: float32, shape: [1, 2, 2, 1], arange: {}}
    attributes: {kernel_shape: [2, 2]}
    expect: {Y: [[[[2]]]]}
    erratum: It should be 3.
"""


@pytest.fixture
def nhwc(tmp_path):
    path = tmp_path / "nhwc.yaml"
    path.write_text(NHWC)
    return path


def test_the_reference_shows_every_interpretation(cli, nhwc):
    document = cli("explain", f"{nhwc}:two-channels", "--json").json
    assert document["Y"] == [[[["8.0", "9.0"], ["10.0", "11.0"]], [["14.0", "15.0"], ["16.0", "17.0"]]]]
    assert document["Indices"] == [[[[4, 13], [5, 14]], [[7, 16], [8, 17]]]]
    assert document["policies"]["nhwc_index_base"] == "either"
    points = [(one["policies"]["valid_ceil"], one["policies"]["nhwc_index_base"]) for one in document["alternatives"]]
    assert points == [("honours", "NHWC-flat"), ("formula", "NCHW-flat"), ("formula", "NHWC-flat")]
    assert document["alternatives"][0]["Indices"] == [[[[8, 9], [10, 11]], [[14, 15], [16, 17]]]]
    assert document["alternatives"][1]["shape"] == [1, 1, 1, 2]


def test_the_reference_in_text_shows_planes_and_interpretations(cli, nhwc):
    text = cli("explain", f"{nhwc}:two-channels").out
    assert "interpretation valid_ceil: honours, nhwc_index_base: NHWC-flat:" in text
    assert "    [0, :, :, 1]\n      1.0    3.0    5.0\n" in text
    assert "Y[0, 0, 1, 0]  rows 0-1, column 2\n" in text
    assert "Y is 17.0, from X[0, 2, 2, 1]" in cli("explain", f"{nhwc}:two-channels", "--at", "0,1,1,1").out


def test_the_reference_of_an_image(cli):
    text = cli("explain", "cases/xmos/examples.yaml:start").out
    assert "XMOS lib_nn maxpool2d, nothing left open" in text
    assert "D1: size" in text


def test_a_page_of_ones_own(cli, nhwc):
    page = cli("explain", "documents", "-p", nhwc).out
    assert "com.ms.internal.nhwc MaxPool-11  valid_ceil: formula, nhwc_index_base: NHWC-flat" in page


def test_a_page_of_nothing(cli):
    done = cli("explain", "documents", "-p", CASES / "sonnx/float.yaml")
    assert done.code == 2
    assert "none of 4 cases has the tag documents" in done.err


def test_a_document_and_a_clause(cli):
    page = cli("explain", "sonnx").out
    assert page.startswith("sonnx: SONNX MaxPool\nedition: sonnx@seed")
    assert "nan: as-neg-inf" in page
    assert "documents/sonnx:nan" in page
    shown = cli("explain", "ONNX-22-CEIL-CLIP")
    assert "violated by: sizes:never_drops_the_last_window" in shown.out
    assert "edge/valid-ceil: last-window-dropped" in shown.out
    assert cli("explain", "sonnx", "--json").json["policies"]["nan"] == "as-neg-inf"
