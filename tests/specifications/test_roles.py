"""From a geometry back to the attributes of every document."""

import itertools

import pytest

from maxpool_check.fuzzing.generation import generate
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.geometry import Axis
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.roles import NotExpressible, all_attributes, attributes_for

AXIS = Axis(4, 2, 1, 1, 0, 0, 3)


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_some_attributes_have_the_geometry_and_the_numbering_of_any_case(name):
    document = SPECIFICATIONS[name]
    for case in itertools.islice(generate(name, 5), 50):
        pooling = case.resolved
        numbering = pooling.numbering if document.indices else None
        candidates = [
            document.resolve(attributes, name_of(case.X.dtype), case.X.shape)
            for attributes in attributes_for(document, pooling.geometry, numbering)
        ]
        assert any(
            isinstance(candidate, Pooling)
            and candidate.geometry == pooling.geometry
            and (numbering is None or candidate.numbering == numbering)
            for candidate in candidates
        ), (case.X.shape, case.attributes)


@pytest.mark.parametrize(
    ("name", "axes", "numbering", "why"),
    [
        ("openvino-1", (Axis(4, 2, 1, 2, 0, 0, 2),), None, "no dilations"),
        ("xmos-maxpool2d", (Axis(4, 2, 1, 1, 1, 0, 4), AXIS), None, "no padding"),
        ("xmos-maxpool2d", (AXIS,), None, "1 spatial axes"),
        ("ngraph-0", (AXIS,), Numbering(), "no Indices"),
        ("openvino-8", (AXIS,), Numbering(StorageOrder.COLUMN_MAJOR), "storage order"),
        ("onnx-22", (AXIS,), Numbering(axis=1), "axis of Indices"),
        ("ort-nhwc-11", (AXIS,), Numbering(layout=Layout.CHANNELS_LAST), "channels first"),
    ],
)
def test_what_a_document_cannot_say(name, axes, numbering, why):
    with pytest.raises(NotExpressible, match=why):
        list(attributes_for(SPECIFICATIONS[name], axes, numbering))


def test_all_attributes_have_values():
    assert all_attributes(SPECIFICATIONS["onnx-22"].attributes, {"kernel_shape": [2], "ceil_mode": 1}, 1) == {
        "kernel_shape": [2], "strides": [1], "dilations": [1], "pads": [0, 0], "auto_pad": "NOTSET", "ceil_mode": 1,
        "storage_order": 0,
    }  # fmt: skip
