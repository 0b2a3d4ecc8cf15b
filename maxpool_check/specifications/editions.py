"""What identifies the text of a document that was read, where its name does not."""

from collections.abc import Mapping

EDITIONS: Mapping[str, Mapping[str, str]] = {
    "sonnx": {
        "edition": "based on ONNX MaxPool version 22, with the restrictions R1 to R5",
        "sha256": "1458290b75678ae8bad30b544268a4db4f5296f466223ad2cb5b0751703727f9",
    },
    "openvino-8": {
        "edition": 'the one that prints "integer values starting from 0" for strides and dilations',
        "sha256": "df52c7042dab51f8fc339ec757fcebad07394a7dd93497517c917f45ac1f0a02",
    },
    "ort-nhwc-11": {
        "edition": "the one that prints strides_spatial_shape[i] + 1 in both formulas of the output shape",
        "sha256": "3985862a27bea7a3ef54a3184b94c7ac91faaf9604d39239f38d0c230b0f23a8",
    },
    "ngraph-0": {
        "edition": "the one whose attributes are window_shape, window_movement_strides, padding_below and padding_above",
        "sha256": "929e518307df447b63c61b316652218bb545e9a217997aaee297abd2160fb7d8",
    },
    "xmos-maxpool2d": {
        "edition": "the one that prints W_r0 + W_vert * (Y_h - 1) + K_h < X_h",
        "sha256": "38432c2aaf33894dbdb2f026e7f21fdaa703dd4f38ab0aa19f148e8f90a51041",
    },
}
"""By the name of a document, its edition and the SHA-256 of its text. The others are known by their version alone."""
