"""Runs TensorFlow on the CPU, eagerly."""

from __future__ import annotations

import os
from typing import Any

from .messages import DTYPES, check_options, refusal, returned

_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"


class TensorFlowFunction:
    """tf.nn.max_pool, and for Indices tf.nn.max_pool_with_argmax, which is another kernel."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options(options, "TensorFlow", "include_batch_in_index", "onednn")
        given = options.get("provider_options") or {}
        self.include_batch_in_index = given.get("include_batch_in_index", "0")
        for name in given:
            if given[name] not in ("0", "1"):
                raise ValueError(f"{name} must be 1 or 0, got {given[name]}")
        # TensorFlow reads it on import. Unset, oneDNN is used on the processors for which it is meant.
        if "onednn" in given:
            os.environ[_ONEDNN] = given["onednn"]
        else:
            os.environ.pop(_ONEDNN, None)
        import tensorflow

        self.tensorflow = tf = tensorflow
        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.description = {
            "wants": "tensorflow",
            "distribution": "tensorflow-cpu",
            "version": tf.__version__,
            "session_options": {
                "intra_op_parallelism_threads": 1, "inter_op_parallelism_threads": 1,
                "include_batch_in_index": self.include_batch_in_index, _ONEDNN: given.get("onednn", "unset"),
            },
            "indices": "whole-channels-last" if self.include_batch_in_index == "1" else "image-channels-last",
            "dtypes": DTYPES,
            "spatial": [1, 2, 3],
        }  # fmt: skip

    def run(self, request: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        """Call the function; any exception is a refusal."""
        tf, attributes = self.tensorflow, request["attributes"]
        try:
            X = tf.constant(inputs["X"])
            if "Indices" in request["outputs"]:
                batch = self.include_batch_in_index == "1"
                outputs: Any = tf.nn.max_pool_with_argmax(X, include_batch_in_index=batch, **attributes)
            else:
                outputs = [tf.nn.max_pool(X, **attributes)]
            arrays = [tensor.numpy() for tensor in outputs]
        except Exception as error:
            return refusal(error)
        return returned(request["outputs"], arrays)


ADAPTER = TensorFlowFunction
