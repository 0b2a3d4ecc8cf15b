"""The script of a reproduction, from ``templates/repro.py.j2``, and the files that it reads."""

import io
import platform
import pprint
import re
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from maxpool_check import inert
from maxpool_check.graphs.model import maxpool_model
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reproducing import expectation, inline, runtimes
from maxpool_check.reproducing.expectation import Expected
from maxpool_check.reproducing.reproduced import CannotWrite, FaultForm, Reproduced
from maxpool_check.reproducing.runtimes import ScriptRuntime
from maxpool_check.results.variants import LEVELS
from maxpool_check.targets.target import TargetProfile

MARK = "Written by maxpool-check repro."
"""Marks the script of a reproduction."""


@dataclass(frozen=True, eq=False)
class Script:
    """A script, and what it runs. ``files`` lie beside it, by name; ``requirements`` are all that it needs.

    ``has_text``: some of its models are text in it; ``has_model``, ``has_inputs``: it shows the model, and X.
    """

    text: str
    files: Mapping[str, bytes]
    has_text: bool
    has_model: bool
    has_inputs: bool
    runtime: ScriptRuntime
    tool: ScriptRuntime | None
    requirements: tuple[str, ...]
    expected: list[Expected]


def write_script(
    reproduced: Reproduced, profile: TargetProfile, title: str, seconds: float, *, with_text: bool = True
) -> Script:
    """The script of a reproduction; ``title`` is the title of the defect, ``seconds`` the target's time limit.

    Short models are text in it, unless ``with_text`` is false, and small arrays always; the others are files. Raises
    :class:`CannotWrite`.
    """
    fault, variation, request = reproduced.fault, reproduced.variant.variation, reproduced.request
    name, is_varied, python = reproduced.differing, fault is FaultForm.INCONSISTENT, profile.description.python
    if DivergenceKind.DTYPE in reproduced.kinds and not reproduced.target.computes:
        raise CannotWrite("no script can be written for a dtype that is inferred and not computed")
    tool, row = runtimes.tool_of(profile), runtimes.variation_of(variation)
    expected = expectation.expected_outputs(reproduced)
    # The further parameter of `run`: what two executions differ in, or the level of optimization.
    parameter = f'level="{row["values"][1]}"' if variation in LEVELS else ""
    if is_varied:
        parameter = str(row.get("parameter", ""))
    elif tool is not None:
        parameter = 'level="ORT_DISABLE_ALL"'
    elif reproduced.is_graph and fault is not FaultForm.NOT_REFUSED:
        parameter = "level"
    alone, outputs = (each.outputs for each in reproduced.pair) if is_varied else (request.outputs, request.outputs)
    used = outputs if is_varied and variation is None else request.outputs
    runtime = runtimes.runtime_of(reproduced, profile, used, parameter, seconds)
    other = runtimes.runtime_of(reproduced, profile, alone, parameter, seconds) if variation is None else runtime
    is_at_every_level = not is_varied and runtime.parameters.endswith(", level")
    files, pair = _models(reproduced, runtime, has_control=tool is None and not is_at_every_level)
    has_control = "smallest.onnx" in files
    texts = {name: text for name, each in files.items() if each and with_text and (text := inline.model_text(each))}
    files = {name: content for name, content in files.items() if content and name not in texts}
    requirements = _requirements(runtime, tool, needs_onnx=bool(texts))
    arrays: dict[str, Any] = dict(expectation.data_of(reproduced, expected))
    if (data := inline.arrays_text(arrays)) is None:
        stored = io.BytesIO()
        np.savez_compressed(stored, **arrays)
        files["expected.npz"] = stored.getvalue()
    known = {
        "reproduced": reproduced, "fault": fault.name, "runtime": runtime, "tool": tool, "expected": expected,
        "mark": MARK, "title": textwrap.fill(inert.line(title).replace("\\", "/").replace('"', "'"), 110),
        "requirements": requirements, "install": shlex.join(requirements), "seconds": f"{seconds:g}",
        "python": ".".join((platform.python_version() if python == "-" else python).split(".")[:2]),
        "attributes": pprint.pformat(dict(request.attributes), width=104, sort_dicts=False),
        "other": other if other.run != runtime.run else None, "ends": reproduced.ends,
        "models": [name.removesuffix(".onnx") for name in files if name.endswith(".onnx")], "has_control": has_control,
        "texts": {name.removesuffix(".onnx"): text for name, text in texts.items()}, "data": data,
        "levels": runtimes.table("runtimes")["levels"] if is_at_every_level else (),
        "compares_dtypes": DivergenceKind.DTYPE in reproduced.kinds,
        "is_listed": expectation.needs_list(reproduced, expected), "is_signed": DivergenceKind.Y_SIGNED_ZERO in reproduced.kinds,
        "refusal": textwrap.wrap(f"The graph must be refused: {' '.join(str(reproduced.oracle).split())}", 114),
        "variation": variation.name if variation is not None else "outputs", "row": row, "pair": pair,
        "at": f"[{reproduced.variant.outputs.index(name)}]" if name in reproduced.variant.outputs else "",
    }  # fmt: skip
    text = inert.block(runtimes.TEMPLATES.get_template("repro.py.j2").render(known)).rstrip() + "\n"
    text = re.sub("\n{4,}", "\n\n\n", text)
    compile(text, "repro.py", "exec")
    shown = bool(texts), "model.onnx" in texts, data is not None
    return Script(text, {**files, **runtime.files}, *shown, runtime, tool, requirements, expected)


def _models(reproduced: Reproduced, runtime: ScriptRuntime, *, has_control: bool) -> tuple[dict[str, bytes], list[str]]:
    """The models that a script runs, and of two executions whose outputs must be the same, their names in the script.

    Where a refusal tells something only if the runtime executes the smallest MaxPool, one of float32, that is among them; it
    is empty for a runtime that takes no models.
    """
    request = reproduced.request
    files = {"model.onnx": request.model} if runtime.takes_models else {}
    if reproduced.fault is FaultForm.INCONSISTENT:
        models = [reproduced.request_of(each).model for each in reproduced.pair]
        others = [each for each in models if each != request.model and runtime.takes_models]
        files |= {"other.onnx": others[0]} if others else {}
        return files, ["model" if each == request.model else "other" for each in models]
    may_refuse = reproduced.fault in (FaultForm.REFUSED, FaultForm.NOT_REFUSED) or reproduced.refusable
    if has_control and may_refuse and runtime.takes_models and not reproduced.variant.in_domain:
        opset = next(each.version for each in onnx.load_from_string(request.model).opset_import if not each.domain)
        files["smallest.onnx"] = maxpool_model(opset, {"kernel_shape": [1]}, "float32", (1, 1, 1), ("Y",))
    elif has_control and may_refuse and runtime.smallest and request.X.dtype.name != "bfloat16":
        files["smallest.onnx"] = b""
    return files, []


def _requirements(runtime: ScriptRuntime, tool: ScriptRuntime | None, *, needs_onnx: bool) -> tuple[str, ...]:
    """What a script requires, sorted: the ONNX Runtime that executes models is that of the target, all else the tool's.

    Where the script reads a model from text, and nothing else imports onnx, it ``needs_onnx``.
    """
    needed = {each.partition("==")[0]: each for each in runtime.requires or (f"numpy=={np.__version__}",)}
    for each in tool.requires if tool is not None else ():
        name = each.partition("==")[0]
        needed[name] = needed.get(name, each) if name == "onnxruntime" else each
    imports = (*runtime.imports, *(tool.imports if tool is not None else ()))
    if needs_onnx and runtime.requires and not any(re.match("(import|from) onnx\\b", line) for line in imports):
        needed.setdefault("onnx", f"onnx=={onnx.__version__}")
    return tuple(sorted(needed.values()))
