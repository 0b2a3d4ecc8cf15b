"""The part of a script that runs MaxPool in two ways which must agree, and compares the outputs."""

from collections.abc import Sequence

import numpy as np
import onnx

from maxpool_check.reproducing.literals import call_lines, indented
from maxpool_check.reproducing.onnx_source import FROM_FILE, Parameters, model_source
from maxpool_check.reproducing.reproduced import Reproduced
from maxpool_check.reproducing.script_runtime import CannotWrite, ScriptRuntime
from maxpool_check.results.variants import (
    BATCH_SPLIT,
    CHANNELS_PERMUTED,
    DEFAULT_THREADS,
    LEVELS,
    OLDEST_OPSET,
    TWICE,
    Y_ONLY,
    Variant,
    Variation,
)

LEVEL_NAMES = dict(
    zip(LEVELS, ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_LAYOUT"), strict=True)
)
"""The names of the levels of graph optimization in ONNX Runtime."""


def parameter_of(variation: Variation | None) -> str | None:
    """The parameter of the function whose value makes the difference, if there is one."""
    if variation in LEVELS:
        return "level"
    return {OLDEST_OPSET: "opset", DEFAULT_THREADS: "threads"}.get(variation) if variation else None


def two_runs(
    reproduced: Reproduced, runtime: ScriptRuntime, other: ScriptRuntime | None
) -> tuple[list[str], list[str]]:
    """The lines of a function, which runs MaxPool, and of the two calls whose outputs must agree.

    They use ``X``, and assign ``first`` and ``second``. ``other`` is the runtime with the outputs of the other variant, where
    these are not requested by a model. Raises :class:`CannotWrite`.
    """
    if other is not None:
        pairs = (
            [(runtime, "first"), (other, "second")]
            if reproduced.variant == Y_ONLY
            else [(other, "first"), (runtime, "second")]
        )
        return [], [line for each, name in pairs for line in (*_setup(each), f"{name} = {each.call}[0]")]
    variant, variation = reproduced.variant, reproduced.variant.variation
    name = "Indices" if any(kind.value.startswith("indices-depend") for kind in reproduced.kinds) else "Y"
    number = list(variant.outputs).index(name)
    parameter = "outputs" if variation is None else parameter_of(variation)
    run = [*_build(reproduced, runtime, parameter), *_setup(runtime)]
    returned = f"return {runtime.call}[{number}]"
    if variation == TWICE:
        returned = f"{returned}, {runtime.call}[{number}]"
    signature = ", ".join(filter(None, ["X", parameter]))
    function = ["", f"def max_pool({signature}):", *indented([*run, returned]), "", ""]
    return function, list(_calls(reproduced, variant, name))


def _setup(runtime: ScriptRuntime) -> list[str]:
    return [each for line in runtime.setup for each in call_lines(line, runtime.arguments)]


def _build(reproduced: Reproduced, runtime: ScriptRuntime, parameter: str | None) -> list[str]:
    """The lines that build the model, if there is one."""
    if not runtime.takes_models:
        return []
    model = reproduced.request.model
    if parameter == "outputs":
        model = max((model, _request_of(reproduced, reproduced.other)), key=len)
    parameters = Parameters(
        outputs=parameter if parameter == "outputs" else None,
        opset=parameter if parameter == "opset" else None,
        shape=None if reproduced.is_graph else "X.shape",
    )
    build = model_source(model, parameters)
    if build == FROM_FILE and parameter in ("outputs", "opset"):
        raise CannotWrite("no script can be written that builds the model in two ways")
    return build


def _calls(reproduced: Reproduced, variant: Variant, name: str) -> Sequence[str]:
    variation = variant.variation
    if variation is None:
        return ['first = max_pool(X, ["Y"])', 'second = max_pool(X, ["Y", "Indices"])']
    if variation == TWICE:
        return ["first, second = max_pool(X)"]
    if variation in LEVELS:
        return ['first = max_pool(X, "ORT_ENABLE_ALL")', f'second = max_pool(X, "{LEVEL_NAMES[variation]}")']
    if variation == DEFAULT_THREADS:
        return ["first = max_pool(X, 1)", "second = max_pool(X, 0)  # as many threads as the runtime likes"]
    if variation == OLDEST_OPSET:
        usual = onnx.load_from_string(_request_of(reproduced, reproduced.other)).opset_import[0].version
        oldest = onnx.load_from_string(reproduced.request.model).opset_import[0].version
        return [f"first = max_pool(X, {usual})", f"second = max_pool(X, {oldest})"]
    if name != "Y":
        raise CannotWrite(f"no script can be written for Indices that differ {variation.sentence}")
    if variation == BATCH_SPLIT:
        return ["first = max_pool(X)", "second = np.concatenate([max_pool(X[n : n + 1]) for n in range(len(X))])"]
    assert variation == CHANNELS_PERMUTED
    return ["first = max_pool(X)", "second = max_pool(np.ascontiguousarray(X[:, ::-1]))[:, ::-1]"]


def difference(reproduced: Reproduced) -> str:
    """The expression that holds if the outputs of both calls are the same."""
    values = [reproduced.returned(variant).get("Y") for variant in (reproduced.variant, reproduced.other)]
    same = "np.array_equal(first, second)"
    if any(value is not None and value.dtype.kind not in "iub" and (value != value).any() for value in values):
        return same.replace(")", ", equal_nan=True)")
    a, b = values
    if a is not None and b is not None and np.array_equal(a, b):
        # Zeros of different signs are equal.
        return f"{same} and np.array_equal(np.signbit(first), np.signbit(second))"
    return same


def words_of(variant: Variant) -> tuple[str, str]:
    """What the two calls are, for people."""
    variation = variant.variation
    if variation is None:
        return "Y alone", "Y with Indices"
    if variation in LEVELS:
        return "at ORT_ENABLE_ALL", f"at {LEVEL_NAMES[variation]}"
    return {
        TWICE: ("the first time", "the second time, in the same session"),
        DEFAULT_THREADS: ("with one thread", "with the default number of threads"),
        OLDEST_OPSET: ("in the newer operator set", "in the older operator set"),
        BATCH_SPLIT: ("the whole batch", "each image alone"),
        CHANNELS_PERMUTED: ("all channels in order", "the channels in reverse order, put back"),
    }[variation]


def _request_of(reproduced: Reproduced, variant: Variant) -> bytes:
    request = reproduced.case_run.results[variant].request
    assert request is not None, "what is compared was executed"
    return request.model
