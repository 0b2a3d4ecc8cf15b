"""Which script is written for a reproduction: its runtime, its tool, and its text."""

import json
import platform
from dataclasses import dataclass, replace

from maxpool_check.reproducing import inconsistency, kernels
from maxpool_check.reproducing.header import ScriptHeader
from maxpool_check.reproducing.reproduced import Fault, Reproduced
from maxpool_check.reproducing.runtimes import released_runtime
from maxpool_check.reproducing.script import ScriptWriter
from maxpool_check.reproducing.script_runtime import CannotWrite, ScriptCall, ScriptRuntime
from maxpool_check.reproducing.tools import ScriptTool, script_tool
from maxpool_check.results.variants import LEVELS
from maxpool_check.targets.target import TargetProfile


@dataclass(frozen=True)
class Script:
    """A script, and what it runs. ``requirements`` are all that it needs."""

    text: str
    runtime: ScriptRuntime
    tool: ScriptTool | None
    requirements: tuple[str, ...]


def write_script(reproduced: Reproduced, profile: TargetProfile, title: str, seconds: float) -> Script:
    """The script of a reproduction; ``title`` is that of the defect, ``seconds`` the target's time limit.

    Raises :class:`CannotWrite`.
    """
    tool = script_tool(profile) if profile.name.tool is not None else None
    runtime, other = _runtime(reproduced, profile, reproduced.request.outputs, tool), None
    if reproduced.fault is Fault.INCONSISTENT and reproduced.variant.variation is None and not runtime.takes_models:
        other = _runtime(reproduced, profile, reproduced.other.outputs, tool)
    requirements = {each.partition("==")[0]: each for each in runtime.requirements or (kernels.requirement(),)}
    if tool is not None:
        # Where both need onnx, it is that of the tool; the ONNX Runtime that executes the models is that of the target.
        needed = {each.partition("==")[0]: each for each in tool.requirements}
        requirements |= {
            name: each for name, each in needed.items() if name != "onnxruntime" or name not in requirements
        }
    header = ScriptHeader(_python(profile), tuple(sorted(requirements.values())), title)
    text = ScriptWriter(reproduced, runtime, tool, other=other, seconds=seconds).text(header)
    return Script(text, runtime, tool, header.requirements)


def _runtime(
    reproduced: Reproduced, profile: TargetProfile, outputs: tuple[str, ...], tool: ScriptTool | None
) -> ScriptRuntime:
    """How the script runs the request with these outputs."""
    request, variation = replace(reproduced.request, outputs=outputs), reproduced.variant.variation
    if not profile.name.is_released:
        if reproduced.is_graph:
            raise CannotWrite("no script can be written for a graph of several nodes on a kernel of your own")
        return kernels.kernel_runtime(profile, request, reproduced.outcome)
    return released_runtime(
        ScriptCall(
            profile, request.attributes, request.X, outputs, reproduced.is_graph,
            inputs='{"X": X}' if list(request.inputs) == ["X"] else "feeds", level=_level(reproduced, tool),
            threads="threads" if inconsistency.parameter_of(variation) == "threads" else None,
        )
    )  # fmt: skip


def _level(reproduced: Reproduced, tool: ScriptTool | None) -> str | None:
    """The level of graph optimization as an expression; None for the default one."""
    variation = reproduced.variant.variation
    if tool is not None:
        return '"ORT_DISABLE_ALL"'
    if reproduced.is_graph or (variation in LEVELS and reproduced.fault is Fault.INCONSISTENT):
        return "level"
    return json.dumps(inconsistency.LEVEL_NAMES[variation]) if variation in LEVELS else None


def _python(profile: TargetProfile) -> str:
    """The version of Python that ran the target, or this one if none did."""
    version = profile.description.python
    return ".".join((platform.python_version() if version == "-" else version).split(".")[:2])
