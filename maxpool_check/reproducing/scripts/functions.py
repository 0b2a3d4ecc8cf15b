"""Frameworks whose functions are called: PyTorch and JAX."""

from typing import Any

from maxpool_check.reproducing.literals import keywords_text
from maxpool_check.reproducing.script_runtime import CannotWrite, ScriptCall, ScriptRuntime, based, bfloat16_package


def torch(script_call: ScriptCall) -> ScriptRuntime:
    """torch.nn.functional.max_pool; bfloat16 raises :class:`CannotWrite`."""
    profile, attributes, X, outputs = script_call.profile, script_call.attributes, script_call.X, script_call.outputs
    function = f"torch.nn.functional.max_pool{X.ndim - 2}d"
    if X.dtype.name == "bfloat16":
        raise CannotWrite("no script can be written for bfloat16 on PyTorch, whose tensors numpy cannot hold")
    has_indices = len(outputs) > 1
    given = {**attributes, **({"return_indices": True} if has_indices else {})}
    pooled = "pooled" if has_indices else "[pooled]"
    smallest = f"kernel_size=1{', return_indices=True' if has_indices else ''}"
    return ScriptRuntime(
        **based(profile, "PyTorch"), takes_models=False, arguments=keywords_text(given), smallest=smallest,
        imports=("import torch",), printed_version="torch.__version__", setup=(f"pooled = {function}(torch.from_numpy(X), {{arguments}})",),
        call=f"[tensor.numpy() for tensor in {pooled}]",
    )  # fmt: skip


def jax(script_call: ScriptCall) -> ScriptRuntime:
    """jax.lax.reduce_window."""
    profile, attributes, X = script_call.profile, script_call.attributes, script_call.X

    def of_axes(name: str, outer: Any) -> tuple[Any, ...]:
        return (outer, outer, *(tuple(each) if isinstance(each, list) else each for each in attributes[name]))

    given = {
        "window_dimensions": of_axes("window", 1), "window_strides": of_axes("strides", 1),
        "padding": of_axes("padding", (0, 0)), "window_dilation": of_axes("dilation", 1),
    }  # fmt: skip
    start = "np.iinfo(X.dtype).min" if X.dtype.kind in "iu" else "-np.inf"
    wide = ('jax.config.update("jax_enable_x64", True)',) if X.dtype.itemsize == 8 else ()
    smallest = "window_dimensions=(1, 1, 1), window_strides=(1, 1, 1), padding='VALID'"
    return ScriptRuntime(
        **based(profile, "JAX", *bfloat16_package(X)), takes_models=False,
        arguments=keywords_text(given), smallest=smallest, imports=("import jax",), printed_version="jax.__version__",
        setup=(
            *wide,
            f"start = np.array({start}, X.dtype)",
            "pooled = jax.lax.reduce_window(X, start, jax.lax.max, {arguments})",
        ),
        call="[np.asarray(pooled)]",
    )  # fmt: skip
