"""The runtimes that can be tested, and the names of targets.

``RUNTIME[==VERSION][@PROVIDER][?key=value&...]``, ``transform:TOOL[==VERSION][?key=value&...]:on:RUNTIME...``,
``python:PATH.py:FUNCTION[?key=value&...]``, ``command:PROGRAM ARG...`` and ``outputs:FILE``.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl

from packaging.version import Version

from maxpool_check.files import RECORD_SUFFIXES
from maxpool_check.judging.target_selector import DEFAULT_PROVIDERS, OUTPUTS, TRANSFORM, parts_of, tool_and_runtime
from maxpool_check.specifications import documents
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.machines import NOT_OF_RUNTIME, OPTIONS, machine_of
from maxpool_check.targets.runtimes import RUNTIMES, TOOLS

_TAKES_MODELS = [name for name, runtime in RUNTIMES.items() if runtime.adapter in ("onnxruntime", "onnx")]
"""The runtimes that execute models as they are, without optimizations of their own."""

_HARMLESS = {
    *(
        "machine",
        "cpu",
        "disable",
        "device",
        "platform",
        "threads",
        "opset",
        "frontend",
        "engine",
        "backend",
        "xnnpack",
    ),
    *("strict", "data_prop", "full"),
    *(name for tool in TOOLS.values() for name in tool.options),
}
"""The options of releases of which none names a file, or a library to load; a provider may take others that do."""


KERNEL_OPTIONS = ("wants", "dtypes", "spatial", "indices", "specs", "refuses", "device")
"""What the name of a ``python:`` target may say of its function; the module has the same names in capitals."""


class BadTarget(ValueError):
    """An invalid target name."""


@dataclass(frozen=True)
class ToolName:
    """The tool of a ``transform:`` target; ``version`` is None for the installed version."""

    name: str
    version: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TargetName:
    """A parsed target name.

    ``version`` is None for the installed version, ``provider`` for the runtime's default. ``tool`` rewrites the models of a
    ``transform:`` target, ``runtime`` runs them. ``function`` is PATH.py and FUNCTION of a ``python:`` target, ``program``
    the program and arguments of a ``command:`` target, ``outputs`` the file of an ``outputs:`` target. ``specs`` are documents
    that such a kernel claims beside those that it claims itself.
    """

    text: str
    runtime: str
    version: str | None = None
    provider: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    function: tuple[str, str] | None = None
    program: tuple[str, ...] | None = None
    outputs: str | None = None
    specs: tuple[str, ...] = ()
    tool: ToolName | None = None

    @property
    def is_released(self) -> bool:
        """Whether it is a runtime with released versions, not a user's kernel."""
        return self.runtime in RUNTIMES

    @property
    def starts_releases_alone(self) -> bool:
        """Whether nothing is started for it but releases of runtimes: no kernel, and nothing that an option may name."""
        options = {**self.options, **(self.tool.options if self.tool is not None else {})}
        plain = all(re.fullmatch(r"\w[\w.,+-]*", value) for value in options.values())
        return self.is_released and options.keys() <= _HARMLESS and plain

    def __str__(self) -> str:
        return self.text

    @property
    def takes_models(self) -> bool:
        """Whether it is a runtime that takes ONNX models, in whose operator set it executes them."""
        return "onnx" in self.implements

    @property
    def computes(self) -> bool:
        """Whether it computes outputs, as far as its name says: a user's kernel may not."""
        return not self.is_released or RUNTIMES[self.runtime].computes

    @property
    def implements(self) -> tuple[str, ...]:
        """The documents and families that it claims to implement; empty where it names none, as a user's kernel may not."""
        if not self.is_released:
            return ()
        # OpenVINO has operators of its own beside its ONNX frontend.
        return (self.options["frontend"],) if "frontend" in self.options else RUNTIMES[self.runtime].specs

    @property
    def selected_by(self) -> frozenset[str]:
        """The names of its runtime, distribution and tool: a defect about it names one of them."""
        if not self.is_released:
            return frozenset({self.text})
        return frozenset({self.runtime, self.distribution, *([] if self.tool is None else [self.tool.name])})

    @property
    def providers(self) -> tuple[str, ...]:
        """The providers that may execute it: the named one, those that its options choose from, or the default one."""
        if self.provider is not None:
            return (self.provider,)
        return (RUNTIMES[self.runtime].providers if self.is_released else ()) or DEFAULT_PROVIDERS[:1]

    @property
    def distribution(self) -> str:
        """The distribution whose releases it is tested in: the tool's, if there is one, or the runtime's."""
        return RUNTIMES[self.runtime].distribution if self.tool is None else TOOLS[self.tool.name].distribution

    @property
    def is_one_version(self) -> bool:
        """Whether :meth:`at` has nothing to choose: a version or an interpreter is named, or it has no releases."""
        versioned = self.tool or self
        return not self.is_released or versioned.version is not None or "python" in versioned.options

    def at(self, version: str) -> "TargetName":
        """The same target with another version of the tool, if there is one, or of the runtime."""
        beginning = self.runtime if self.tool is None else f"{TRANSFORM}{self.tool.name}"
        return parse(f"{beginning}=={version}{self.text.removeprefix(beginning)}")

    @property
    def build(self) -> str:
        """The same target with a build that is installed in the environment VENV; a kernel itself; empty of a runtime of npm."""
        versioned = self.tool or self
        if not self.is_released or "python" in versioned.options:
            return self.text
        if self.tool is None and RUNTIMES[self.runtime].ecosystem != "python":
            return ""
        named = [f"{name}={value}" for name, value in versioned.options.items() if name not in OPTIONS]
        options = "&".join([*named, "python=VENV/bin/python"])
        if self.tool is not None:
            return f"{TRANSFORM}{self.tool.name}?{options}:on:{tool_and_runtime(self.text)[1]}"
        return f"{self.runtime}{f'@{self.provider}' if self.provider else ''}?{options}"

    def disabling(self, optimizers: Sequence[str]) -> "TargetName":
        """The same runtime, whose sessions disable these optimizers too. Raises :class:`BadTarget` if it cannot."""
        if not optimizers:
            return self
        more = ",".join(optimizers)
        if "disable" in self.options:
            return parse(re.sub(r"(?<=[?&])disable=[^&]*", lambda own: f"{own[0]},{more}", self.text))
        return parse(f"{self.text}{'&' if '?' in self.text else '?'}disable={more}")

    def claiming(self, names: Iterable[str]) -> "TargetName":
        """The same kernel, which claims these documents and families too; runtimes claim all. ``ValueError`` if unknown."""
        specs = tuple(document for name in names for document in documents(name))
        return self if self.is_released else replace(self, specs=specs)


def parse(text: str) -> TargetName:
    """Parse a target name. Raises :class:`BadTarget`."""
    if text.startswith(("python:", "command:", OUTPUTS)):
        return _parse_kernel(text)
    if text.startswith(TRANSFORM):
        return _parse_transform(text)
    if text.endswith(RECORD_SUFFIXES):
        raise BadTarget(f"'{text}' is a record, and no target; 'maxpool-check gate OLD NEW' compares two records")
    match = parts_of(text)
    if not match:
        raise BadTarget(f"'{text}' is not RUNTIME[==VERSION][@PROVIDER][?key=value&...]{_kernel_hint(text)}")
    runtime = match["name"]
    if runtime not in RUNTIMES:
        hint = _kernel_hint(text) or nearest(runtime, RUNTIMES)
        if re.fullmatch(r"[0-9]+(\.[0-9]+)+", text):
            hint = f" (did you mean 'onnxruntime=={text}'?)"
        raise BadTarget(f"unknown runtime '{runtime}'{hint}; see 'maxpool-check targets list'")
    options = _options(match, text)
    if "disable" in options:
        _check_optimizers(text, runtime, options["disable"].split(","))
    if (
        match["provider"] in (None, *DEFAULT_PROVIDERS[:1])
        and RUNTIMES[runtime].adapter.partition(".")[0] == "onnxruntime"
    ):
        _check_known(text, options)
    if options.keys() & {*OPTIONS}:
        _check_machine(text, runtime, options)
    return TargetName(text, runtime, match["version"], match["provider"], options)


def _check_optimizers(text: str, runtime: str, names: Iterable[str]) -> None:
    """Raise :class:`BadTarget` for optimizers that no session of a runtime has: it would ignore them."""
    if RUNTIMES[runtime].adapter != "onnxruntime":
        raise BadTarget(f"'{text}': disable=OPTIMIZER,... is for ONNX Runtime in Python alone")
    for name in names:
        if name not in known_optimizers():
            raise BadTarget(f"'{text}': unknown optimizer '{name}'{nearest(name, known_optimizers())}")


@cache
def known_optimizers() -> tuple[str, ...]:
    """The names of all optimizers that ``disable`` may name."""
    import yaml

    return tuple(yaml.safe_load(Path(__file__).with_name("optimizers.yaml").read_text(encoding="utf-8")))


def _check_known(text: str, options: Mapping[str, str]) -> None:
    """Raise :class:`BadTarget` for an option that is not the tool's: ONNX Runtime on the CPU has none of its own."""
    for name in sorted(options.keys() - NOT_OF_RUNTIME):
        if name == "wheel":
            how = "install the wheel in an environment of its own, and name its interpreter: ?python=ENVIRONMENT/bin/python"
            raise BadTarget(f"'{text}': unknown option wheel; {how}")
        known = ", ".join(sorted(NOT_OF_RUNTIME))
        hint = nearest(name, NOT_OF_RUNTIME) or f"; without another @PROVIDER it may be {known}"
        raise BadTarget(f"'{text}': unknown option {name}{hint}")


def _check_machine(text: str, runtime: str, options: Mapping[str, str]) -> None:
    """Raise :class:`BadTarget` where a runtime cannot be executed on the machine that its options name."""
    try:
        machine_of(options)
    except ValueError as error:
        raise BadTarget(f"'{text}': {error}") from error
    if RUNTIMES[runtime].ecosystem != "python" or "python" in options:
        raise BadTarget(f"'{text}': machine and cpu are for runtimes with wheels of Python, without python=")


def _options(match: re.Match[str], text: str) -> dict[str, str]:
    """The options of a match of the pattern, whose version is checked; ``text`` is the name to show."""
    version = match["version"]
    try:
        Version(version or "1")
    except ValueError as error:  # InvalidVersion, or a number of thousands of digits
        raise BadTarget(f"'{version}' is not a version, in '{text}'; write e.g. 1.23.2") from error
    options = _pairs(match["options"], text)
    if version is not None and "python" in options:
        raise BadTarget(f"'{text}' has a version and an interpreter; use one of them")
    return options


def _pairs(written: str | None, text: str) -> dict[str, str]:
    """Options as they are written behind the question mark; ``text`` is the name to show."""
    try:
        pairs = parse_qsl(written, strict_parsing=True, keep_blank_values=True) if written else []
    except ValueError as error:
        raise BadTarget(f"the options of '{text}' are not key=value&key=value") from error
    options = dict(pairs)
    for key, value in pairs:
        if not value:
            raise BadTarget(f"'{text}': the option {key} has no value")
        if options[key] != value:
            raise BadTarget(f"'{text}' has two values of the option {key}")
    return options


def _parse_transform(text: str) -> TargetName:
    """A tool that rewrites models, and the runtime that runs them."""
    tool_text, runtime_text = tool_and_runtime(text)
    match = parts_of(tool_text)
    if not runtime_text or not match or match["provider"]:
        form = "transform:TOOL[==VERSION][?key=value&...]:on:RUNTIME[==VERSION][@PROVIDER]"
        raise BadTarget(f"'{text}' is not {form}{'' if runtime_text else ': it has no :on:RUNTIME'}")
    tool, options = match["name"], _options(match, text)
    if tool not in TOOLS:
        raise BadTarget(f"unknown tool '{tool}'{nearest(tool, TOOLS)}; it may be {', '.join(TOOLS)}")
    known = TOOLS[tool].options
    for name in sorted(options.keys() - {"python"}):
        if name not in known:
            raise BadTarget(f"unknown option {name}; {tool} has {', '.join((*known, 'python'))}")
        if options[name] not in known[name]:
            raise BadTarget(f"{name} of {tool} must be one of {', '.join(known[name])}, got {options[name]}")
    if len(options.keys() & known.keys()) > 1:
        raise BadTarget(f"{tool} takes only one of {', '.join(known)}")
    runtime = parse(runtime_text)
    if runtime.tool is not None or runtime.runtime not in _TAKES_MODELS:
        raise BadTarget(f"'{runtime_text}' cannot run the models of a tool; it may be {', '.join(_TAKES_MODELS)}")
    return replace(runtime, text=text, tool=ToolName(tool, match["version"], options))


_FUNCTION = re.compile(r"(?P<path>.+\.py):(?P<function>[^\W\d]\w*)(\?(?P<options>.*))?", re.DOTALL)


def _parse_kernel(text: str) -> TargetName:
    """A user's kernel: a function, a program that implements the protocol, or the file of what one has written."""
    kind, _, rest = text.partition(":")
    why = ""
    if kind == "outputs" and rest:
        return TargetName(text, kind, outputs=rest)
    if kind == "python" and (match := _FUNCTION.fullmatch(rest)):
        options = _pairs(match["options"], text)
        for name in sorted(options.keys() - {*KERNEL_OPTIONS, "python"}):
            hint = nearest(name, KERNEL_OPTIONS) or f"; a function has {', '.join((*KERNEL_OPTIONS, 'python'))}"
            raise BadTarget(f"'{text}': unknown option {name}{hint}")
        return TargetName(text, kind, options=options, function=(match["path"], match["function"]))
    if kind == "command":
        try:
            if program := tuple(shlex.split(rest)):
                return TargetName(text, kind, program=program)
        except ValueError as error:
            why = f": {error}"
    form = {"python": "PATH.py:FUNCTION[?key=value&...]", "command": "PROGRAM ARG...", "outputs": "FILE"}[kind]
    raise BadTarget(f"'{text}' is not {kind}:{form}{why}")


def _kernel_hint(text: str) -> str:
    """What to write instead, if the text names a function of a Python file, or a file."""
    path, suffix, function = text.partition(".py")
    program = text.split(" ")[0]
    if program != text and shutil.which(program):
        return f" (did you mean 'command:{text}'?)"
    if not suffix and Path(program).is_file() and os.access(program, os.X_OK):
        return f" (did you mean 'command:{'' if '/' in program else './'}{text}'?)"
    if not path or not suffix or (function and not function.startswith(":")):
        return ""
    return f" (did you mean 'python:{path}.py{function or ':FUNCTION'}'?)"


def claiming(targets: Iterable[TargetName], names: Iterable[str]) -> tuple[TargetName, ...]:
    """The targets, the kernels among them claiming these documents and families too.

    Raises :class:`BadTarget` if there is no kernel among them, ``ValueError`` for an unknown name.
    """
    targets, names = tuple(targets), tuple(names)
    if names and all(target.is_released for target in targets):
        raise BadTarget("documents are claimed for python: and command: targets; runtimes execute the cases of all")
    return tuple(target.claiming(names) for target in targets)
