"""A runtime to test: how its worker is started, and what it says of itself."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.graphs.operators import NEWEST
from maxpool_check.results.details import Processor
from maxpool_check.results.outcomes import Accepted, Inferred, RefusedByTarget, Returned
from maxpool_check.results.record import TargetDescription
from maxpool_check.specifications import DEFAULT, documents, specification
from maxpool_check.targets import environments, machines, npm_environments
from maxpool_check.targets.cache import CannotMake, NoSuchRelease, NotMade, python_of
from maxpool_check.targets.environments import WheelSource
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.launching import adapter, javascript_adapter
from maxpool_check.targets.name import KERNEL_OPTIONS, TargetName
from maxpool_check.targets.process import START_SECONDS, CannotStart, RefusesOptions, Worker
from maxpool_check.targets.protocol import SEE, Request, in_ready, text_of
from maxpool_check.targets.releases import around
from maxpool_check.targets.runtimes import OF_NPM, RUNTIMES
from maxpool_check.targets.transcript import Transcript

IF_DAMAGED = "If its environment is damaged"
"""How the line begins that says what of the cache to remove where a release cannot be started."""


@dataclass(frozen=True)
class TargetProfile:
    """A target, as its program describes it.

    ``dtypes`` and ``spatial``, numbers of spatial axes, are all that it accepts; None: anything. ``settings`` are the
    variations that its program supports. ``takes_spec``: it is a Python function with a keyword ``spec``. ``refuses``: it
    looks for mistakes in attributes.
    """

    name: TargetName
    description: TargetDescription
    dtypes: tuple[str, ...] | None = None
    spatial: tuple[int, ...] | None = None
    settings: tuple[str, ...] = ()
    takes_spec: bool = False
    refuses: bool = True

    @property
    def takes_files(self) -> bool:
        """Whether a request may name the file of a model, and optimizers to disable: ONNX Runtime in Python does."""
        runtime = RUNTIMES.get(self.name.runtime)
        return runtime is not None and runtime.adapter == "onnxruntime" and self.name.tool is None

    @property
    def fixed_sizes(self) -> bool:
        """Whether it takes no models that leave sizes open: a generator of code for tensors of known sizes."""
        runtime = RUNTIMES.get(self.name.runtime)
        return runtime is not None and runtime.fixed_sizes

    def exclude(self, dtype: str, axes: int) -> str | None:
        """Why a tensor of this dtype, over so many spatial axes, is not accepted; None if it is."""
        if self.dtypes is not None and dtype not in self.dtypes:
            return f"it has no {dtype}; it has {', '.join(self.dtypes)}"
        if self.spatial is not None and axes not in self.spatial:
            return f"it has no MaxPool over {axes} spatial axes"
        return None


class Target:
    """One runtime in one environment. It starts workers; each worker is one process.

    ``seconds`` is the time limit of one execution, longer in an emulator; ``memory`` limits what a worker may allocate, in
    bytes. ``python`` is the interpreter that runs the adapter of the runtime, ``tools_python`` that of the tool;
    ``npm_folder`` is the environment of a runtime of npm.
    """

    def __init__(
        self, name: TargetName, seconds: float = 10.0, memory: int | None = None, transcript: Transcript | None = None,
        source: WheelSource | None = None,
    ) -> None:  # fmt: skip
        """Prepare the environment, which may be installed now. Raises :class:`CannotStart`.

        ``source`` is by default that of the environment variables.
        """
        self.name, self.seconds = name, seconds
        self._memory, self._transcript, self._source = memory, transcript, source or environments.wheel_source()
        # A program of the user has as long to start as for one execution; a runtime has to be imported first.
        self._start_seconds = seconds if name.program is not None else START_SECONDS
        self.is_own = name.program is None
        """Whether its workers are programs of the tool."""
        self.folders: list[Path] = []
        """The folders of the isolated environments that it uses: of the runtime, and of the tool."""
        self.python = name.options.get("python", sys.executable)
        self.machine = machines.machine_of(name.options)
        self.seconds *= machines.SLOWER if self.machine.is_emulated else 1
        self.tools_python = sys.executable if name.tool is None else name.tool.options.get("python", sys.executable)
        self.npm_folder: Path | None = None
        runtime = RUNTIMES.get(name.runtime)
        if runtime is not None and runtime.ecosystem == "npm":
            if name.version is None:
                text = f"it comes from npm, not with Python; name a release, {runtime.distribution}==VERSION"
                raise CannotStart(f"{name} cannot be started: {text}")
            self.npm_folder = self._made(runtime.distribution, name.version)
        elif runtime is not None and name.version is None and self.machine.is_foreign:
            text = f"what is installed is for this machine; name a release, {name.runtime}==VERSION"
            raise CannotStart(f"{name} cannot be started: {text}")
        elif runtime is not None and name.version is not None:
            self.python = str(python_of(self._made(runtime.distribution, name.version, runtime.besides)))
        if name.tool is not None and name.tool.version is not None:
            # Its other options are those of functions that need what the release does not declare.
            besides = ("onnx", "sympy") if "tool" in name.tool.options else ()
            self.tools_python = str(python_of(self._made(name.distribution, name.tool.version, besides)))
        try:
            self._interpreter = machines.interpreter(self.machine, self.python)
        except CannotMake as error:
            raise CannotStart(f"{name} cannot be started: {error}") from error
        self.takes_bytes = name.is_released and transcript is None and self.npm_folder is None
        """Whether the bytes of tensors follow the lines to and from its workers: not the user's, and not with a transcript."""

    def _made(self, distribution: str, version: str, besides: Sequence[str] = ()) -> Path:
        """The folder of the environment of a release. Raises :class:`CannotStart`."""
        is_npm = distribution in OF_NPM
        try:
            if is_npm:
                folder = npm_environments.environment(distribution, version, offline=self._source.offline)
            else:
                machine = machines.THIS if distribution != RUNTIMES[self.name.runtime].distribution else self.machine
                folder = environments.interpreter(distribution, version, besides, self._source, machine).parents[1]
        except CannotMake as error:
            lines = [f"{self.name} cannot be started: {error}"]
            if isinstance(error, (NoSuchRelease, NotMade)) and (others := around(distribution, version, self._source)):
                kind = "Environments" if isinstance(error, NotMade) else "Releases"
                lines.append(f"{kind} of {distribution}: {others}")
            if isinstance(error, NotMade):
                lines.append("Make it beforehand, where there is a package index:")
                lines.append(f"    maxpool-check targets prepare {shlex.quote(str(self.name))}")
                if not is_npm:
                    lines.append("or download the wheels there, and name their folder with --find-links:")
                    lines.append(f"    {environments.download(error.requirements, 'wheels')}")
            raise CannotStart("\n".join(lines)) from error
        self.folders.append(folder)
        return folder

    def worker(self) -> Worker:
        """A new process, which need not be ready yet. Raises :class:`CannotStart`."""
        name, isolated = self.name, False
        if name.outputs is not None:
            raise CannotStart(
                f"{name} is no program: its outputs were made elsewhere; 'run', 'gate' and 'explain' read them"
            )
        provider_options = {key: value for key, value in name.options.items() if key not in machines.NOT_OF_RUNTIME}
        options: dict[str, Any] = {"provider": name.provider, "provider_options": provider_options}
        program: Sequence[str]
        if name.program is not None:
            program = name.program
        elif name.function is not None:
            options["function"] = [str(Path(name.function[0]).resolve()), name.function[1]]
            options["languages"] = ["numpy", *(language for language in LANGUAGES if language != "onnx")]
            options["kernel"] = {key: name.options.get(key) for key in KERNEL_OPTIONS}
            program, isolated = adapter(self._interpreter, "python"), self.python != sys.executable
        else:
            runtime = RUNTIMES[name.runtime]
            options["distribution"] = runtime.distribution
            if "disable" in name.options:
                options["disabled_optimizers"] = name.options["disable"].split(",")
            program, isolated = adapter(self._interpreter, runtime.adapter), self.python != sys.executable
            if self.npm_folder is not None:
                program, isolated = javascript_adapter(runtime.adapter, self.npm_folder), True
            if name.tool is not None:
                program = adapter(self._interpreter, "transform")
                options["tool"] = {
                    "name": name.tool.name,
                    "distribution": name.distribution,
                    "options": {key: value for key, value in name.tool.options.items() if key != "python"},
                    "program": adapter([self.tools_python], "transform.RewritingTool"),
                    "isolated": self.tools_python != sys.executable,
                    "adapter": runtime.adapter,
                }
        heard: Callable[[str, bytes], None] | None = None
        if (transcript := self._transcript) is not None:
            heard = partial(transcript.add, str(name), next(transcript.processes))
        try:
            return Worker(
                program, options, isolated=isolated, is_own=self.is_own, memory=self._memory, heard=heard,
                start_seconds=self._start_seconds,
            )  # fmt: skip
        except CannotStart as error:
            raise self.cannot_start(error) from error

    def cannot_start(self, error: CannotStart) -> CannotStart:
        """The error of a worker that could not be started, with the target's name and what may help."""
        hint = ""
        from importlib import metadata

        runtime = RUNTIMES.get(self.name.runtime) if not self.folders and self.python == sys.executable else None
        if runtime is not None and not any(metadata.distributions(name=runtime.distribution)):
            error = CannotStart(f"{runtime.distribution} is not installed in this environment")
            release = f"{self.name.runtime}==VERSION"
            hint = f"\nInstall it with {runtime.install}, or name a release, {release}, which gets its own."
        if self.machine.is_emulated and (why := machines.too_old(self.machine)):
            hint += f"\n{why}"
        # Nothing is damaged where an adapter came so far.
        elif self.folders and not isinstance(error, RefusesOptions):
            folders = " and ".join(map(str, self.folders))
            hint = f"\n{IF_DAMAGED}, remove {folders}; it is made again."
        # First what helps: of many lines, not all are shown.
        why, end, details = str(error).partition("\n")
        return CannotStart(f"{self.name} cannot be started: {why}{hint}{end}{details}")

    def profile_of(self, worker: Worker) -> TargetProfile:
        """The profile of the target, as a worker describes it. Raises :class:`CannotStart`."""
        try:
            message = worker.description
        except CannotStart as error:
            raise self.cannot_start(error) from error
        return self.described(message, lambda: self._newest_opset(worker))

    def described(self, message: Mapping[str, Any], newest: Callable[[], int]) -> TargetProfile:
        """The profile of the target, by its ``ready`` line; ``newest`` finds its newest operator set, if it takes models.

        Raises :class:`CannotStart`.
        """
        try:
            # Of a runtime, the tool's own adapter writes it.
            mistakes = [f"'{key}': {text}" for key, text in (() if self.name.is_released else in_ready(message))]
        except ValueError as error:
            mistakes = [str(error)]
        if mistakes:
            text = "; ".join(map(text_of, mistakes))
            raise CannotStart(f"{self.name} describes itself in a way that cannot be used: {text}; {SEE}")
        wants = message.get("wants", "attributes")
        newest_opset = newest() if wants == "model" else None
        # A kernel of the user may take a model of MaxPool alone.
        graphs = message.get("graphs", newest_opset if self.name.is_released else None)
        settings = tuple(message.get("settings") or ())
        description = TargetDescription(
            name=str(self.name),
            distribution=text_of(message.get("distribution", self.name.runtime)),
            version=text_of(message.get("version", "")),
            provider=text_of(message.get("provider") or ""),
            providers=tuple(map(text_of, message.get("providers", ()))),
            session_options=message.get("session_options", {}),
            python=text_of(message.get("python", "-")),
            numpy=text_of(message.get("numpy", "-")),
            newest_opset=newest_opset,
            graphs=None if graphs is None else int(graphs),
            speaks="onnx" if wants == "model" else wants,
            indices=message.get("indices", "whole"),
            decides=message.get("decides", "values"),
            processor=_processor(message.get("processor")),
            specs=None if self.name.is_released else self._specs(wants, message.get("specs")),
            settings=settings,
        )
        dtypes, spatial = (None if message.get(key) is None else tuple(message[key]) for key in ("dtypes", "spatial"))
        return TargetProfile(
            self.name,
            description,
            dtypes,
            spatial,
            settings,
            takes_spec=bool(message.get("takes_spec")),
            refuses=message.get("refuses", True),
        )

    def _specs(self, wants: str, declared: Any) -> tuple[str, ...]:
        """The documents that a kernel claims: those that it declares, or the one of its language; and the user's."""
        if declared is None:
            document = LANGUAGES[wants].document if wants in LANGUAGES else None
            declared = [document.name if document is not None else DEFAULT]
        return tuple(dict.fromkeys(each for name in (*declared, *self.name.specs) for each in documents(name)))

    def _newest_opset(self, worker: Worker) -> int:
        """The newest operator set in which the smallest MaxPool runs, found by trying."""
        for opset in range(NEWEST, 7, -1):
            spec = None if self.name.is_released else specification(f"onnx-{opset}").name
            request = replace(smallest_request(opset), spec=spec)
            worker.write(request.line(opset))
            outcome = worker.read(opset, self._start_seconds)
            if isinstance(outcome, (Returned, Inferred, Accepted)):
                return opset
            if not isinstance(outcome, RefusedByTarget):
                raise CannotStart(f"{self.name} cannot execute the smallest MaxPool: {outcome}")
            message = f"{outcome.status}: {outcome.message}"
        raise CannotStart(f"{self.name} executes no MaxPool in any operator set; its last message was: {message}")


def smallest_request(opset: int, domain: str = "") -> Request:
    """A request for the smallest MaxPool, over one spatial axis."""
    # It is slow to import, and runtimes start meanwhile.
    from maxpool_check.graphs.model import maxpool_model

    X, attributes = np.zeros((1, 1, 1), np.float32), {"kernel_shape": [1]}
    return Request(X, ("Y",), maxpool_model(opset, attributes, "float32", X.shape, ("Y",), domain=domain), attributes)


def _processor(fields: Mapping[str, Any] | None) -> Processor | None:
    if fields is None:
        return None
    features = fields.get("features")
    return Processor(
        architecture=text_of(fields["architecture"]),
        model=text_of(fields.get("model", "")),
        features=None if features is None else tuple(map(text_of, features)),
    )
