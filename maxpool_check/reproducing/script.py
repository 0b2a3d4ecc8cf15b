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
from maxpool_check.reference.numbering import Layout
from maxpool_check.reproducing import expectation, runtimes
from maxpool_check.reproducing.expectation import Expected
from maxpool_check.reproducing.reproduced import CannotWrite, Fault, Reproduced
from maxpool_check.reproducing.runtimes import ScriptRuntime
from maxpool_check.results.variants import BATCH_SPLIT, CHANNELS_PERMUTED, LEVELS
from maxpool_check.targets.target import TargetProfile

MARK = "Written by maxpool-check repro."
"""Marks the script of a reproduction."""


@dataclass(frozen=True, eq=False)
class Script:
    """A script, and what it runs. ``files`` are those that it reads, by name; ``requirements`` are all that it needs."""

    text: str
    files: Mapping[str, bytes]
    runtime: ScriptRuntime
    tool: ScriptRuntime | None
    requirements: tuple[str, ...]
    expected: list[Expected]


def write_script(reproduced: Reproduced, profile: TargetProfile, title: str, seconds: float) -> Script:
    """The script of a reproduction; ``title`` is that of the defect, ``seconds`` the target's time limit.

    Raises :class:`CannotWrite`.
    """
    fault, variation, outputs = reproduced.fault, reproduced.variant.variation, reproduced.request.outputs
    tool, expected, other = runtimes.tool_of(profile), expectation.expected_outputs(reproduced), None
    parameter = _parameter(reproduced, has_tool=tool is not None)
    if fault is Fault.INCONSISTENT and variation is None:
        alone, outputs = (each.outputs for each in reproduced.pair)
        other = runtimes.runtime_of(reproduced, profile, alone, parameter, seconds)
    runtime = runtimes.runtime_of(reproduced, profile, outputs, parameter, seconds)
    python = profile.description.python
    compares_dtypes = DivergenceKind.DTYPE in reproduced.kinds
    if compares_dtypes and not reproduced.target.computes:
        raise CannotWrite("no script can be written for a dtype that is inferred and not computed")
    name = expectation.differing_output(reproduced)
    if fault is Fault.INCONSISTENT and name != "Y" and variation in (BATCH_SPLIT, CHANNELS_PERMUTED):
        raise CannotWrite(f"no script can be written for Indices that differ {variation.sentence}")
    is_at_every_level = (
        parameter == "level" == runtime.parameters.rpartition(" ")[2] and fault is not Fault.INCONSISTENT
    )
    has_control = _needs_control(reproduced, runtime) and tool is None and not is_at_every_level
    files = _models(reproduced, has_control=has_control) if runtime.takes_models else {}
    requirements = _requirements(runtime, tool)
    known = {
        "reproduced": reproduced, "fault": fault.name, "runtime": runtime, "tool": tool, "expected": expected,
        "mark": MARK,
        "title": textwrap.fill(inert.line(title).replace("\\", "/").replace('"', "'"), 110),
        "requirements": requirements, "install": shlex.join(requirements), "seconds": f"{seconds:g}",
        "python": ".".join((platform.python_version() if python == "-" else python).split(".")[:2]),
        "attributes": pprint.pformat(dict(reproduced.request.attributes), width=104, sort_dicts=False),
        "other": other if other is not None and other.run != runtime.run else None, "ends": reproduced.ends,
        "models": [name.removesuffix(".onnx") for name in files], "has_control": has_control,
        "levels": runtimes.table("runtimes")["levels"] if is_at_every_level else (), "compares_dtypes": compares_dtypes,
        "is_listed": expectation.needs_list(reproduced, expected), "is_signed": DivergenceKind.Y_SIGNED_ZERO in reproduced.kinds,
        "refusal": textwrap.wrap(f"The graph must be refused: {' '.join(str(reproduced.oracle).split())}", 114),
        "variation": variation.name if variation is not None else "outputs", "row": runtimes.variation_of(variation),
        "pair": _pair(reproduced) if fault is Fault.INCONSISTENT else [],
        "at": f"[{reproduced.variant.outputs.index(name)}]" if name in reproduced.variant.outputs else "",
        "reversed": "[..., ::-1]" if reproduced.layout is Layout.CHANNELS_LAST else "[:, ::-1]",
    }  # fmt: skip
    text = inert.block(runtimes.TEMPLATES.get_template("repro.py.j2").render(known)).rstrip() + "\n"
    text = re.sub("\n{4,}", "\n\n\n", text)
    compile(text, "repro.py", "exec")
    data = io.BytesIO()
    arrays: dict[str, Any] = dict(expectation.data_of(reproduced, expected))
    np.savez_compressed(data, **arrays)
    return Script(text, {**files, "expected.npz": data.getvalue()}, runtime, tool, requirements, expected)


def _parameter(reproduced: Reproduced, *, has_tool: bool) -> str:
    """The further parameter of ``run``: what two executions differ in, or the level of optimization."""
    row, fault = runtimes.variation_of(reproduced.variant.variation), reproduced.fault
    if fault is Fault.INCONSISTENT:
        return str(row.get("parameter", ""))
    if has_tool:
        return 'level="ORT_DISABLE_ALL"'
    if reproduced.is_graph and fault is not Fault.NOT_REFUSED:
        return "level"
    return f'level="{row["values"][1]}"' if reproduced.variant.variation in LEVELS else ""


def _needs_control(reproduced: Reproduced, runtime: ScriptRuntime) -> bool:
    """Whether a refusal tells something only if the runtime executes the smallest MaxPool: one of ONNX, of float32."""
    if reproduced.fault not in (Fault.REFUSED, Fault.NOT_REFUSED) and not reproduced.refusable:
        return False
    if runtime.takes_models:
        return not reproduced.variant.in_domain
    return bool(runtime.smallest) and reproduced.request.X.dtype.name != "bfloat16"


def _models(reproduced: Reproduced, *, has_control: bool) -> dict[str, bytes]:
    """The models that the script runs: that of the case, of what it is compared with, and the smallest one."""
    model = reproduced.request.model
    files = {"model.onnx": model}
    if reproduced.fault is Fault.INCONSISTENT:
        others = {reproduced.request_of(each).model for each in reproduced.pair} - {model}
        return files | dict.fromkeys(["other.onnx"] if others else [], *others)
    if has_control:
        opset = next(each.version for each in onnx.load_from_string(model).opset_import if not each.domain)
        files["smallest.onnx"] = maxpool_model(opset, {"kernel_shape": [1]}, "float32", (1, 1, 1), ("Y",))
    return files


def _pair(reproduced: Reproduced) -> list[str]:
    """The models that two executions run whose outputs must be the same, by their names in the script."""
    models = [reproduced.request_of(each).model for each in reproduced.pair]
    return ["model" if each == reproduced.request.model else "other" for each in models]


def _requirements(runtime: ScriptRuntime, tool: ScriptRuntime | None) -> tuple[str, ...]:
    """What a script requires, sorted: the ONNX Runtime that executes models is that of the target, all else the tool's."""
    needed = {each.partition("==")[0]: each for each in runtime.requires or (f"numpy=={np.__version__}",)}
    for each in tool.requires if tool is not None else ():
        name = each.partition("==")[0]
        needed[name] = needed.get(name, each) if name == "onnxruntime" else each
    return tuple(sorted(needed.values()))
