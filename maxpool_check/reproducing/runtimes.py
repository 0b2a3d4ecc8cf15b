"""How a script runs MaxPool on a runtime, in the way its documentation does: the rows of ``runtimes.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import yaml

from maxpool_check.reporting import markup
from maxpool_check.reproducing.reproduced import CannotWrite, Reproduced
from maxpool_check.results.variants import Variation
from maxpool_check.targets import machines
from maxpool_check.targets.runtimes import RUNTIMES
from maxpool_check.targets.target import TargetProfile

FOLDER = Path(__file__).with_name("templates")

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(FOLDER), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    keep_trailing_newline=True,
)  # fmt: skip
TEMPLATES.filters |= {name: getattr(markup, name) for name in ("escaped", "code", "fenced", "link", "table")}
"""Templates of Python and Markdown; what is foreign in Markdown goes through a filter, Python is made inert as a whole."""


@dataclass(frozen=True)
class ScriptRuntime:
    """How a script runs MaxPool on one runtime, or rewrites a model with a tool: a row of ``runtimes.yaml``, filled in.

    ``release`` is the version under test. ``requires`` are all requirements, none of a user's own kernel; ``interpreter`` is the
    Python that has the runtime if there is no released version to install. ``npm_package`` must be installed beside the
    script, ``NAME@VERSION``. ``files`` lie beside it: the user's own kernel, too. ``machine`` is where it shows what it shows.
    """

    title: str
    run: str
    release: str = ""
    requires: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    standard: tuple[str, ...] = ()
    version: str = ""
    parameters: str = "model, inputs"
    smallest: Mapping[str, Any] = field(default_factory=dict)
    smallest_axes: str = "1"
    takes: tuple[str, ...] = ()
    own_process: bool = False
    files: Mapping[str, bytes] = field(default_factory=dict)
    interpreter: str | None = None
    npm_package: str | None = None
    machine: machines.Machine = machines.THIS

    @property
    def takes_models(self) -> bool:
        """Whether it takes ONNX models, and not X and the arguments of a function."""
        return self.parameters.startswith("model")


@cache
def table(name: str) -> dict[str, Any]:
    """The tables of a file: ``runtimes`` or ``forms``."""
    content = Path(__file__).with_name(f"{name}.yaml").read_bytes()
    return dict(yaml.load(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def variation_of(variation: Variation | None) -> Mapping[str, Any]:
    """The row of a variation, or of Y alone beside Y and Indices."""
    return dict(table("runtimes")["variations"]["outputs" if variation is None else variation.name])


def title_of(runtime: str) -> str:
    """How people call a runtime that is tested by its name in a target."""
    adapter = RUNTIMES[runtime].adapter
    is_first = next(name for name, row in RUNTIMES.items() if row.adapter == adapter) == runtime
    return str(table("runtimes")["runtimes"][adapter]["title"]) if is_first else runtime


def runtime_of(
    reproduced: Reproduced, profile: TargetProfile, outputs: tuple[str, ...], parameter: str, seconds: float
) -> ScriptRuntime:
    """How a script runs the request of a reproduction with these outputs on its target.

    ``parameter`` is a further one of ``run``, as it is defined: ``level``, ``threads`` or ``times``, also with a default; a
    runtime that does not take it does without. ``seconds`` is how long a program may take that hangs. Raises
    :class:`CannotWrite`.
    """
    name, target, X = profile.name, profile.description, reproduced.request.X
    if reproduced.is_graph and not name.is_released:
        raise CannotWrite("no script can be written for a graph of several nodes on a kernel of your own")
    if name.function is not None and target.speaks != "attributes":
        raise CannotWrite(
            f"no script can be written for a function that wants {target.speaks}; 'run' executes the case again"
        )
    rows, files, kernel = table("runtimes"), dict[str, bytes](), dict[str, Any]()
    if name.is_released:
        row = rows["runtimes"][RUNTIMES[name.runtime].adapter]
    elif name.function is not None:
        row, path, function = rows["kernels"]["function"], Path(name.function[0]).resolve(), name.function[1]
        module = path.stem if path.stem.isidentifier() and path.stem != "repro" else "kernel"
        spec = f", spec={reproduced.request.spec!r}" if profile.takes_spec else ""
        kernel = {"label": f"{path.name}:{function}", "module": module, "function": function, "spec": spec}
        files[f"{module}.py"] = path.read_bytes()
    else:
        row, program = rows["kernels"]["program"], name.program or ()
        # What names a file is found from any folder.
        words = [
            str(Path(word).absolute()) if (number or "/" in word) and Path(word).is_file() else word
            for number, word in enumerate(program)
        ]
        kernel = {"label": Path(words[0]).name, "command": words, "spec": reproduced.request.spec}
    taken = parameter if parameter.partition("=")[0] in row.get("takes", ()) else ""
    known = {
        "target": target, "options": {key: value for key, value in name.options.items() if key not in machines.NOT_OF_RUNTIME},
        "outputs": outputs, "has_indices": len(outputs) > 1, "is_graph": reproduced.is_graph, "seconds": f"{seconds:g}",
        "X": X, "axes": max(X.ndim - 2, 0), "ends": reproduced.ends, "kernel": kernel,
        "parameter": taken.partition("=")[0],
    }  # fmt: skip
    runtime = _filled(row, known)
    parameters = ", ".join(filter(None, (runtime.parameters, taken)))
    runtime = replace(runtime, parameters=parameters, files={**runtime.files, **files})
    if not name.is_released:
        return runtime
    distribution, release = target.distribution, target.version
    if name.tool is not None:
        distribution, _, release = str(target.session_options["runs_on"]).rpartition(" ")
    is_npm = RUNTIMES[name.runtime].ecosystem == "npm"
    needed = {"numpy": version("numpy") if target.numpy == "-" else target.numpy}
    needed |= {"ml_dtypes": version("ml_dtypes")} if X.dtype.name == "bfloat16" else {}
    needed |= {} if is_npm or release == "-" else {distribution: release}
    return replace(
        runtime, release=release, interpreter=name.options.get("python"),
        npm_package=f"{distribution}@{release}" if is_npm else None, machine=machines.machine_of(name.options),
        requires=(*runtime.requires, *(f"{each}=={number}" for each, number in needed.items())),
    )  # fmt: skip


def tool_of(profile: TargetProfile) -> ScriptRuntime | None:
    """How a script rewrites a model with the tool of a ``transform:`` target, if it is one. Raises :class:`CannotWrite`."""
    target, tool = profile.description, profile.name.tool
    if tool is None:
        return None
    runs_on = str(target.session_options["runs_on"])
    if tool.name == "onnxruntime" and runs_on.rpartition(" ")[2] != target.version:
        raise CannotWrite(
            f"no script can be written for {profile.name}: it needs ONNX Runtime {target.version} and {runs_on} in "
            "one environment; name the same version of both"
        )
    filled = _filled(table("runtimes")["tools"][tool.name], {"options": tool.options})
    # Some releases install the ONNX Runtime that they need themselves, if it is missing.
    used = {each: target.session_options.get(f"tool_{each}") for each in ("onnx", "onnx-ir", "onnxruntime")}
    own = [f"{each}=={number}" for each, number in {**used, target.distribution: target.version}.items() if number]
    return replace(filled, release=target.version, requires=(*filled.requires, *own))


def _filled(row: Mapping[str, Any], known: Mapping[str, Any]) -> ScriptRuntime:
    """A row whose texts are filled in. Raises :class:`CannotWrite`."""

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(filter(None, map(filled, value)))
        return TEMPLATES.from_string(value).render(known).rstrip("\n") if isinstance(value, str) else value

    known = {**known, "onnx": f"onnx=={version('onnx')}"}
    if reason := filled(row.get("cannot", "")):
        raise CannotWrite(f"no script can be written for {reason}")
    known["takes_models"] = filled(row.get("parameters", "model")).startswith("model")
    files = {name: (FOLDER / name).read_bytes() for name in row.get("files", ())}
    return ScriptRuntime(**{key: filled(value) for key, value in row.items() if key != "cannot"} | {"files": files})
