"""TensorFlow: calls of its functions."""

from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.reproducing.script_runtime import CannotWrite, ScriptCall, ScriptRuntime, based, bfloat16_package


def tensorflow(script_call: ScriptCall) -> ScriptRuntime:
    """tf.nn.max_pool, or for Indices tf.nn.max_pool_with_argmax; the option onednn raises :class:`CannotWrite`."""
    profile, attributes, X = script_call.profile, script_call.attributes, script_call.X
    options = profile.name.options
    if "onednn" in options:
        raise CannotWrite(
            "no script can be written for ?onednn: TensorFlow reads TF_ENABLE_ONEDNN_OPTS when it is imported"
        )
    smallest = {"ksize": 1, "strides": 1, "padding": "VALID"}
    function, call, given = "max_pool", "[pooled.numpy()]", {}
    if len(script_call.outputs) > 1:
        function, call = "max_pool_with_argmax", "[tensor.numpy() for tensor in pooled]"
        given = {"include_batch_in_index": True} if options.get("include_batch_in_index") == "1" else {}
    return ScriptRuntime(
        **based(profile, "TensorFlow", *bfloat16_package(X)), takes_models=False, imports=("import tensorflow as tf",),
        arguments=keywords_text({**attributes, **given}), smallest=keywords_text({**smallest, **given}), smallest_axes=X.ndim - 2,
        printed_version="tf.__version__", setup=(f"pooled = tf.nn.{function}(X, {{arguments}})",), call=call,
    )  # fmt: skip
