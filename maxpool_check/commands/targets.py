"""``maxpool-check targets``."""

import math
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click
import msgspec
import numpy as np

from maxpool_check import inert
from maxpool_check.commands import old_options as options
from maxpool_check.commands.offline import offline
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.geometry import Axis
from maxpool_check.results.record import ExitCode, Verdict
from maxpool_check.results.variants import Y_ONLY
from maxpool_check.running.case_run import run_case
from maxpool_check.specifications import DEFAULT, SPECIFICATIONS, specification
from maxpool_check.specifications.roles import attributes_for
from maxpool_check.targets import cache as environments
from maxpool_check.targets.name import TargetName, parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.runtimes import RUNTIMES, TOOLS
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from maxpool_check.words import plural

_KERNELS = {
    "python:PATH.py:FUNCTION": "a function of X and ONNX's attributes that returns (Y, Indices) or Y",
    "command:PROGRAM ARG...": "a program that speaks the protocol: 'maxpool-check docs kernel' describes it",
    "outputs:FILE": "what a program of yours has written elsewhere: 'maxpool-check docs kernel' describes it",
}
_LANGUAGES = {
    "attributes": "ONNX's attributes and tensors",
    "torch": "the arguments of torch.nn.functional.max_pool",
    "jax": "the arguments of jax.lax.reduce_window",
    "ncnn": "the parameters of ncnn's Pooling layers",
    "tensorflow": "the arguments of tf.nn.max_pool",
    "tflite": "the options of MAX_POOL_2D in a TFLite model",
    "xmos-maxpool2d": "the hyperparameters of maxpool2d",
}
_OUTPUTS = {
    "whole": "Y and Indices, counted in the whole tensor",
    "plane": "Y and Indices, counted in each plane and converted",
    "whole-channels-last": "Y and Indices, counted with the channels last and converted",
    "image-channels-last": "Y and Indices, counted in each image with the channels last and converted",
    None: "Y alone",
}


@click.command("targets")
@click.argument("names", nargs=-1, type=options.TARGET, metavar="[NAME...]")
@click.option("--check", is_flag=True, help="Start each target and run one case on it.")
@click.option(
    "--prepare", is_flag=True, help="Make the environments of the named targets, to be used offline, instead."
)
@click.option(
    "--cache",
    is_flag=True,
    help="List what is in the cache, with sizes: isolated environments, compiled cases and the like, instead.",
)
@click.option("--clear", is_flag=True, help="With --cache: remove them. They are made again when they are needed.")
@offline
@options.specs
@options.form()
def command(
    names: tuple[TargetName, ...], check: bool, prepare: bool, cache: bool, clear: bool, specs: tuple[str, ...], form: str
) -> int:  # fmt: skip
    """Show the known runtimes, and what the installed or named ones accept.

    Exits with 3 if a named target, or with --check any installed one, cannot be started or fails the case.

    \b
    Examples:
      maxpool-check targets --check onnxruntime==1.31.1
      maxpool-check targets --prepare onnxruntime==1.31.1 openvino==2026.4.1
    """
    if (cache and (names or check or prepare)) or (clear and not cache):
        raise click.UsageError("--cache stands alone, or with --clear; --clear stands with --cache")
    if prepare:
        return _prepare(names, check, form)
    if cache:
        return _cache(clear, form)
    installed = {name: _installed(runtime.distribution) for name, runtime in RUNTIMES.items()}
    targets = [
        _target(name, check) for name in options.claiming(names, specs) or map(parse, filter(installed.get, RUNTIMES))
    ]
    if form == "json":
        known = [
            {"name": name, "about": runtime.about, "installed": installed[name], "install": runtime.install}
            for name, runtime in RUNTIMES.items()
        ]
        kernels = [{"name": name, "about": about} for name, about in _KERNELS.items()]
        tools = [
            {"name": name, "about": tool.about, "installed": _installed(tool.distribution)}
            for name, tool in TOOLS.items()
        ]
        document = {"schema": "maxpool-check/targets/1", "known": known, "tools": tools, "kernels": kernels}
        document["targets"] = targets
        options.echo(inert.dumps(document, indent=1))
    else:
        if not names:
            _print_known(installed)
        for target in targets:
            _print_target(target)
    works = all(target["starts"] and target.get("executes", True) for target in targets)
    return ExitCode.AS_EXPECTED if works or not (names or check) else ExitCode.INCOMPLETE


def _cache(clear: bool, form: str) -> int:
    """List what is in the cache, and remove it if asked to. Raises ``OSError`` for a cache that cannot be read."""
    folders = environments.sizes()
    removed = environments.clear() if clear else []
    if form == "json":
        about: dict[str, Any] = {
            "schema": "maxpool-check/cache/1",
            "path": str(environments.cache()),
            "environments": [
                {"name": folder.name, "bytes": size, "removed": folder in removed} for folder, size in folders.items()
            ],
        }
        options.echo(inert.dumps(about, indent=1))
        return ExitCode.AS_EXPECTED
    for folder, size in folders.items():
        state = ("removed " if folder in removed else "in use, not removed: ") if clear else ""
        options.echo(f"{state}{folder.name}  {size / 1e6:.1f} MB")
    total = f"{plural(len(folders), 'environment')}, {sum(folders.values()) / 1e6:.1f} MB"
    options.echo(f"{total if folders else 'no environments'} in {environments.cache()}")
    return ExitCode.AS_EXPECTED


def _prepare(names: Sequence[TargetName], check: bool, form: str) -> int:
    """Make the environments of targets, those that do not exist, and print their folders."""
    if not any(name.version or (name.tool and name.tool.version) for name in names) or check:
        raise click.UsageError("--prepare takes targets with a version, such as onnxruntime==1.31.1, and no --check")
    entries: list[dict[str, Any]] = []
    for name, target in [(name, _begun(name)) for name in names]:
        try:
            folders = target.result().folders
        except CannotStart as error:
            entries.append({"name": str(name), "environments": [], "message": str(error)})
            options.echo(f"error: {error}", err=True)
            continue
        entries.append({"name": str(name), "environments": [str(folder) for folder in folders]})
        if form == "text":
            options.echo("\n  ".join([str(name), *(map(str, folders) if folders else ["runs as it is installed"])]))
    if form == "json":
        document = {"schema": "maxpool-check/prepared/1", "path": str(environments.cache()), "targets": entries}
        options.echo(inert.dumps(document, indent=1))
    return ExitCode.INCOMPLETE if any("message" in entry for entry in entries) else ExitCode.AS_EXPECTED


def _begun(name: TargetName) -> Future[Target]:
    """A target whose environment is being made, beside those of others."""
    future: Future[Target] = Future()

    def make() -> None:
        try:
            future.set_result(Target(name))
        except BaseException as error:
            future.set_exception(error)

    # Not in a pool, whose threads must end before the program: an interruption waits for none of them.
    threading.Thread(target=make, daemon=True).start()
    return future


def _target(name: TargetName, check: bool) -> dict[str, Any]:
    """A target as JSON: whether it starts, its description and limits; with ``check``, the verdict on the smallest case."""
    try:
        with TargetSession(Target(name)) as session:
            profile = session.profile
            about = {"starts": True, **msgspec.to_builtins(profile.description)}
            about["software"] = profile.description.software(numpy=True)
            about |= {"dtypes": profile.dtypes, "spatial": profile.spatial}
            if check:
                claimed = profile.description.specs
                case = _smallest(claimed[0] if claimed else profile.description.speaks)
                judgement = run_case(session, case, (Y_ONLY,)).judgements[Y_ONLY]
                executes = judgement.verdict in (Verdict.CONFORMS, Verdict.DIVERGES)
                about |= {"executes": executes, "verdict": judgement.verdict, "message": judgement.message}
    except CannotStart as error:
        return {"name": str(name), "starts": False, "message": str(error)}
    return about


def _smallest(language: str) -> Case:
    """A case of one window of two cells, which are all of X; over two spatial axes, where the document has them.

    ``language`` is what the target takes; one that is no document stands for the default one.
    """
    document = specification(language if language in SPECIFICATIONS else DEFAULT)
    rank = max((rank for rank in document.ranks if rank <= 2), default=document.ranks[0])
    axes = tuple(Axis(size, size, 1, 1, 0, 0, 1) for size in (*(1,) * (rank - 1), 2))
    attributes = {
        name: value
        for name, value in next(attributes_for(document, axes)).items()
        if value != document.attributes[name].default_for(rank)
    }
    shape = document.layout.arranged((1, document.channel_multiple, *(axis.size for axis in axes)))
    dtype = NUMPY["float32" if "float32" in document.dtypes else document.dtypes[0]]
    X = np.arange(1, 1 + math.prod(shape)).astype(dtype).reshape(shape)
    title = "A window of two cells"
    return Case("smallest", document.name, Recipe.of(X), attributes, ("Y",), document.policies, title)


def _installed(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _print_known(installed: dict[str, str | None]) -> None:
    width = max(map(len, (*RUNTIMES, *_KERNELS)))
    for name, runtime in RUNTIMES.items():
        state = installed[name] or f"not installed: {runtime.install}"
        options.echo(f"{name.ljust(width)}  {runtime.about} ({state})")
    for name, about in _KERNELS.items():
        options.echo(f"{name.ljust(width)}  {about}")
    options.echo(
        "Add ==VERSION, as in torch==2.13.0, for a release in an isolated environment, made once: nothing need be installed.\n"
        "@PROVIDER is another execution provider of ONNX Runtime, ?python=PATH an environment of your own. Tools that rewrite\n"
        "models, as "
        "transform:TOOL==VERSION:on:RUNTIME==VERSION, and ONNX Runtime or onnx-reference runs the result:\n"
    )
    for name, tool in TOOLS.items():
        options.echo(f"{name.ljust(width)}  {tool.about} ({_installed(tool.distribution) or 'not installed'})")
    options.echo("\nThe installed runtimes:\n")


def _print_target(target: dict[str, Any]) -> None:
    name = target["name"]
    if not target["starts"]:
        options.echo(f"{name}  does not start\n  {target['message']}")
        return
    options.echo(f"{name}  {target['software']}")
    if target["provider"]:
        others = f" of {', '.join(target['providers'])}" if target["providers"] else ""
        options.echo(f"  provider {target['provider']}{others}")
    language = _LANGUAGES.get(target["speaks"], f"{target['speaks']}'s own attributes")
    if target["newest_opset"] is not None:
        language = f"ONNX models of operator sets 1 to {target['newest_opset']}"
    options.echo(f"  accepts {language}; returns {_OUTPUTS[target['indices']]}")
    if target["specs"] is not None:
        options.echo(f"  claims {', '.join(target['specs']) or 'no document'}")
    if target["dtypes"] is not None:
        axes = ", ".join(map(str, target["spatial"] or ()))
        options.echo(f"  dtypes {', '.join(target['dtypes'])}" + (f"; spatial axes {axes}" if axes else ""))
    if "executes" in target:
        message = f": {target['message']}" if target["message"] else ""
        options.echo(
            f"  {'executes' if target['executes'] else 'does not execute'} the smallest case: {target['verdict'].value}{message}"
        )
