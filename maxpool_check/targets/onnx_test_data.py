"""ONNX's test data: the files of one test, as onnx's backend test runner reads them."""

from collections.abc import Mapping

import numpy as np
from onnx import numpy_helper


def files_of_test(
    model: bytes, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> dict[str, bytes]:
    """The files of a test by their paths in its folder; ``inputs`` and ``outputs`` are in the order of the model."""
    files = {"model.onnx": model}
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for number, (name, tensor) in enumerate(tensors.items()):
            content = numpy_helper.from_array(tensor, name).SerializeToString()
            files[f"test_data_set_0/{kind}_{number}.pb"] = content
    return files
