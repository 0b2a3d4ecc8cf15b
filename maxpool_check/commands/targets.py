"""``maxpool-check targets``."""

import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click
import msgspec

from maxpool_check.commands import options
from maxpool_check.corpus.geometries import smallest
from maxpool_check.results.record import ExitCode, Verdict
from maxpool_check.results.variants import Y_ONLY
from maxpool_check.running.case_run import run_case
from maxpool_check.targets.name import TargetName, parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.runtimes import RUNTIMES, Runtime
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target

_KERNELS = {
    "python:PATH.py:FUNCTION": "a function of X and ONNX's attributes that returns (Y, Indices) or Y",
    "command:PROGRAM ARG...": "a program that speaks the protocol",
}
_LANGUAGES = {
    "attributes": "ONNX's attributes and tensors",
    "torch": "the arguments of torch.nn.functional.max_pool",
    "jax": "the arguments of jax.lax.reduce_window",
    "xmos-maxpool2d": "the hyperparameters of maxpool2d",
}
_OUTPUTS = {
    "whole": "Y and Indices, counted in the whole tensor",
    "plane": "Y and Indices, counted in each plane and converted",
    None: "Y alone",
}


@click.command("targets")
@click.argument("names", nargs=-1, type=options.TARGET, metavar="[NAME...]")
@click.option("--check", is_flag=True, help="Start each target and run one case on it.")
@options.form()
def command(names: tuple[TargetName, ...], check: bool, form: str) -> int:
    """Show the known runtimes, and what the installed or named ones accept.

    Exits with 3 if a named target, or with --check any installed one, cannot be started or fails the case.
    """
    installed = {name: _installed(runtime) for name, runtime in RUNTIMES.items()}
    targets = [_target(name, check) for name in names or map(parse, filter(installed.get, RUNTIMES))]
    if form == "json":
        known = [
            {"name": name, "about": runtime.about, "installed": installed[name], "install": _install(runtime)}
            for name, runtime in RUNTIMES.items()
        ]
        kernels = [{"name": name, "about": about} for name, about in _KERNELS.items()]
        document = {"schema": "maxpool-check/targets/1", "known": known, "kernels": kernels, "targets": targets}
        click.echo(json.dumps(document, indent=1))
    else:
        if not names:
            _print_known(installed)
        for target in targets:
            _print_target(target)
    works = all(target["starts"] and target.get("executes", True) for target in targets)
    return ExitCode.AS_EXPECTED if works or not (names or check) else ExitCode.INCOMPLETE


def _target(name: TargetName, check: bool) -> dict[str, Any]:
    """A target as JSON: whether it starts, its description and limits; with ``check``, the verdict on the smallest case."""
    try:
        with TargetSession(Target(name)) as session:
            profile = session.profile
            about = {"starts": True, **msgspec.structs.asdict(profile.description)}
            about |= {"dtypes": profile.dtypes, "spatial": profile.spatial}
            if check:
                case = smallest(profile.description.speaks)
                judgement = run_case(session, case, (Y_ONLY,)).judgements[Y_ONLY]
                executes = judgement.verdict in (Verdict.CONFORMS, Verdict.DIVERGES)
                about |= {"executes": executes, "verdict": judgement.verdict, "message": judgement.message}
    except CannotStart as error:
        return {"name": str(name), "starts": False, "message": str(error)}
    return about


def _installed(runtime: Runtime) -> str | None:
    try:
        return version(runtime.distribution)
    except PackageNotFoundError:
        return None


def _install(runtime: Runtime) -> str:
    return f"pip install 'maxpool-check[{runtime.extra}]'" if runtime.extra else f"pip install {runtime.distribution}"


def _print_known(installed: dict[str, str | None]) -> None:
    width = max(map(len, (*RUNTIMES, *_KERNELS)))
    for name, runtime in RUNTIMES.items():
        state = installed[name] or f"not installed: {_install(runtime)}"
        click.echo(f"{name.ljust(width)}  {runtime.about} ({state})")
    for name, about in _KERNELS.items():
        click.echo(f"{name.ljust(width)}  {about}")
    click.echo(
        "Add ==VERSION for a release in an isolated environment, made once; @PROVIDER for another execution provider of\n"
        "ONNX Runtime; ?python=PATH for an environment of your own. The installed ones:\n"
    )


def _print_target(target: dict[str, Any]) -> None:
    name = target["name"]
    if not target["starts"]:
        click.echo(f"{name}  does not start\n  {target['message']}")
        return
    python = f"Python {target['python']}, numpy {target['numpy']}"
    click.echo(f"{name}  {target['distribution']} {target['version']}, {python}")
    others = f" of {', '.join(target['providers'])}" if target["providers"] else ""
    click.echo(f"  provider {target['provider']}{others}")
    language = _LANGUAGES.get(target["speaks"], f"{target['speaks']}'s own attributes")
    if target["newest_opset"] is not None:
        language = f"ONNX models of operator sets 1 to {target['newest_opset']}"
    click.echo(f"  accepts {language}; returns {_OUTPUTS[target['indices']]}")
    if target["dtypes"] is not None:
        axes = ", ".join(map(str, target["spatial"] or ()))
        click.echo(f"  dtypes {', '.join(target['dtypes'])}" + (f"; spatial axes {axes}" if axes else ""))
    if "executes" in target:
        message = f": {target['message']}" if target["message"] else ""
        click.echo(
            f"  {'executes' if target['executes'] else 'does not execute'} the smallest case: {target['verdict'].value}{message}"
        )
