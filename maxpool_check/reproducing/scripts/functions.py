"""Frameworks whose functions are called, PyTorch and JAX, and ncnn, whose layers are written as text."""

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
    device = profile.name.options.get("device", "cpu")
    there, back = (f', device="{device}"', ".cpu()") if device != "cpu" else ("", "")
    tensor = f"torch.tensor(X{there})" if there else "torch.from_numpy(X)"
    return ScriptRuntime(
        **based(profile, "PyTorch"), takes_models=False, arguments=keywords_text(given), smallest=smallest,
        imports=("import torch",), printed_version="torch.__version__", setup=(f"pooled = {function}({tensor}, {{arguments}})",),
        call=f"[tensor{back}.numpy() for tensor in {pooled}]",
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
    platform = profile.name.options.get("platform", "cpu")
    chosen = (f'jax.config.update("jax_platforms", "{platform}")',) if platform != "cpu" else ()
    smallest = "window_dimensions=(1, 1, 1), window_strides=(1, 1, 1), padding='VALID'"
    return ScriptRuntime(
        **based(profile, "JAX", *bfloat16_package(X)), takes_models=False,
        arguments=keywords_text(given), smallest=smallest, imports=("import jax",), printed_version="jax.__version__",
        setup=(
            *chosen,
            *wide,
            f"start = np.array({start}, X.dtype)",
            "pooled = jax.lax.reduce_window(X, start, jax.lax.max, {arguments})",
        ),
        call="[np.asarray(pooled)]",
    )  # fmt: skip


_NCNN_IDS = {
    "pooling_type": 0, "pad_mode": 5,
    "kernel_w": 1, "kernel_h": 11, "kernel_d": 21, "stride_w": 2, "stride_h": 12, "stride_d": 22,
    "pad_left": 3, "pad_top": 13, "pad_front": 23, "pad_right": 14, "pad_bottom": 15, "pad_behind": 16,
}  # fmt: skip
"""The numbers of ncnn's parameters, by the names that its documentation has for them."""

_NCNN_NAMES = {
    "kernel": ("kernel_w", "kernel_h", "kernel_d"), "stride": ("stride_w", "stride_h", "stride_d"),
    "pads_begin": ("pad_left", "pad_top", "pad_front"), "pads_end": ("pad_right", "pad_bottom", "pad_behind"),
}  # fmt: skip


def ncnn(script_call: ScriptCall) -> ScriptRuntime:
    """A network of one of ncnn's Pooling layers, with the options of the adapter that change a result."""
    profile, attributes, X = script_call.profile, script_call.attributes, script_call.X
    given = {"pooling_type": 0, "pad_mode": attributes["pad_mode"]}
    for name, parameters in _NCNN_NAMES.items():
        # Width is the last axis.
        given |= dict(zip(parameters, reversed(attributes.get(name, [])), strict=False))
    ids = [f'"{name}": {_NCNN_IDS[name]},' for name in given]
    lines = [f"    {' '.join(ids[first : first + 6])}" for first in range(0, len(ids), 6)]
    is_bfloat16 = X.dtype.name == "bfloat16"
    smallest = "pooling_type=0, pad_mode=1, kernel_w=1, stride_w=1"
    return ScriptRuntime(
        **based(profile, "ncnn", *bfloat16_package(X)), takes_models=False, arguments=keywords_text(given),
        smallest="" if is_bfloat16 else smallest, imports=("import ncnn",), printed_version="ncnn.__version__",
        setup=(
            "ids = {",
            *lines,
            "}",
            "parameters = dict({arguments})",
            'text = " ".join(f"{ids[name]}={value}" for name, value in parameters.items())',
            'layer = {3: "Pooling1D", 4: "Pooling", 5: "Pooling3D"}[X.ndim]',
            "net = ncnn.Net()",
            *(("net.opt.use_bf16_storage = True",) if is_bfloat16 else ()),
            'net.load_param_mem(f"7767517\\n2 2\\nInput X 0 1 X\\n{layer} MaxPool 1 1 X Y {text}\\n")',
            'net.load_model_mem(b"")',
            "extractor = net.create_extractor()",
            f'extractor.input("X", ncnn.Mat({"X.astype(np.float32)" if is_bfloat16 else "X"}, 0))  # axis 0 is the batch',
            'code, top = extractor.extract("Y")',
            "if code:",
            '    raise RuntimeError(f"extract returns {code}")',
            'pooled = np.array(top.numpy("f", 0))',
            "del top, extractor  # before their network",
        ),
        call=f"[pooled{'.astype(X.dtype)' if is_bfloat16 else ''}]",
    )  # fmt: skip
