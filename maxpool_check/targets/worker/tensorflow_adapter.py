"""Runs TensorFlow on the CPU, eagerly."""

from __future__ import annotations

import os
from typing import Any

from .adapter import Adapter
from .messages import DTYPES, returned

_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"


class Runtime(Adapter):
    """tf.nn.max_pool, and for Indices tf.nn.max_pool_with_argmax, which is another kernel."""

    title, distribution, wants = "TensorFlow", "tensorflow-cpu", "tensorflow"
    dtypes, spatial = DTYPES, (1, 2, 3)

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options, include_batch_in_index=("0", "1", "0"), onednn=("unset", "1", "0"))
        onednn = self.chosen["onednn"]
        # TensorFlow reads it on import. Unset, oneDNN is used on the processors for which it is meant.
        if onednn == "unset":
            os.environ.pop(_ONEDNN, None)
        else:
            os.environ[_ONEDNN] = onednn
        import tensorflow

        self.tensorflow = tf = tensorflow
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.version = tf.__version__
        self.includes_batch = self.chosen["include_batch_in_index"] == "1"
        self.indices = "whole-channels-last" if self.includes_batch else "image-channels-last"
        self.session_options = {
            "intra_op_parallelism_threads": 1, "inter_op_parallelism_threads": 1,
            "include_batch_in_index": self.chosen["include_batch_in_index"], _ONEDNN: onednn,
        }  # fmt: skip

    def execute(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function."""
        tf, attributes = self.tensorflow, request["attributes"]
        X = tf.constant(inputs["X"])
        if "Indices" in request["outputs"]:
            outputs = tf.nn.max_pool_with_argmax(X, include_batch_in_index=self.includes_batch, **attributes)
        else:
            outputs = [tf.nn.max_pool(X, **attributes)]
        return returned(request["outputs"], [tensor.numpy() for tensor in outputs])
