"""``maxpool-check targets``."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import click
import msgspec

from maxpool_check.corpus.smallest import smallest
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import Y_ONLY
from maxpool_check.running.case_run import run_case
from maxpool_check.targets.name import BadTarget, parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target

if TYPE_CHECKING:
    from maxpool_check.targets.runtimes import Runtime

_KERNELS = {
    "python:PATH.py:FUNCTION": "a function of X and ONNX's attributes that returns (Y, Indices) or Y",
    "command:PROGRAM ARG...": "a program that speaks the protocol",
}
_ASKED = {
    "attributes": "ONNX's attributes and tensors",
    "torch": "the arguments of torch.nn.functional.max_pool",
    "jax": "the arguments of jax.lax.reduce_window",
    "xmos-maxpool2d": "the hyperparameters of maxpool2d",
}


@click.command("targets")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--check", is_flag=True, help="Start each one and ask it one case.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="What to print.  [default: text]"
)
def command(names: tuple[str, ...], check: bool, form: str) -> int:
    """Show the known runtimes, and what those that are installed or named can be asked.

    Exits with 3 if one that is named, or with --check any that is installed, cannot be started or does not answer.
    """
    from maxpool_check.targets.runtimes import RUNTIMES

    installed = {name: _installed(runtime) for name, runtime in RUNTIMES.items()}
    asked = names or tuple(name for name, found in installed.items() if found)
    found = [_target(name, check) for name in asked]
    if form == "json":
        known = [
            {"name": name, "about": runtime.about, "installed": installed[name], "install": _install(runtime)}
            for name, runtime in RUNTIMES.items()
        ]
        kernels = [{"name": name, "about": about} for name, about in _KERNELS.items()]
        document = {"schema": "maxpool-check/targets/1", "known": known, "kernels": kernels, "targets": found}
        click.echo(json.dumps(document, indent=1))
    else:
        if not names:
            _known(RUNTIMES, installed)
        for target in found:
            _show(target)
    failed = not all(target["starts"] and target.get("answers", True) for target in found)
    return 3 if failed and (names or check) else 0


def _target(name: str, check: bool) -> dict[str, Any]:
    """Everything that can be said of a target: of one that starts, what it can be asked; with ``check``, whether it answers."""
    try:
        session = TargetSession(Target(parse(name)))
    except BadTarget as error:
        raise click.UsageError(str(error)) from error
    except CannotStart as error:
        return {"name": name, "starts": False, "why": str(error)}
    with session:
        try:
            profile = session.profile
        except CannotStart as error:
            return {"name": name, "starts": False, "why": str(error)}
        limits = {"dtypes": profile.limits.dtypes, "spatial": profile.limits.spatial}
        facts = {"starts": True, **msgspec.structs.asdict(profile.description), **limits}
        return {**facts, **_checked(session)} if check else facts


def _checked(session: TargetSession) -> dict[str, Any]:
    """Whether a target runs the smallest case that it accepts, and the verdict."""
    case = smallest(session.profile.description.speaks)
    judgement = run_case(session, case, (Y_ONLY,)).judgements[Y_ONLY]
    answers = judgement.verdict in (Verdict.CONFORMS, Verdict.DIVERGES)
    return {"answers": answers, "verdict": judgement.verdict.value, "why": judgement.message}


def _installed(runtime: Runtime) -> str | None:
    try:
        return version(runtime.distribution)
    except PackageNotFoundError:
        return None


def _install(runtime: Runtime) -> str:
    return f"pip install 'maxpool-check[{runtime.extra}]'" if runtime.extra else f"pip install {runtime.distribution}"


def _known(runtimes: Any, installed: dict[str, str | None]) -> None:
    width = max(map(len, (*runtimes, *_KERNELS)))
    for name, runtime in runtimes.items():
        state = installed[name] or f"not installed: {_install(runtime)}"
        click.echo(f"{name.ljust(width)}  {runtime.about} ({state})")
    for name, about in _KERNELS.items():
        click.echo(f"{name.ljust(width)}  {about}")
    click.echo(
        "Add ==VERSION for a release in an isolated environment, made once; @PROVIDER for another execution provider of\n"
        "ONNX Runtime; ?python=PATH to ask in an environment of your own. What the installed ones can be asked:\n"
    )


def _show(target: dict[str, Any]) -> None:
    if not target["starts"]:
        click.echo(f"{target['name']}  does not start\n  {target['why']}")
        return
    click.echo(
        f"{target['name']}  {target['distribution']} {target['version']}, Python {target['python']}, numpy {target['numpy']}"
    )
    speaks = target["speaks"]
    asked = (
        f"ONNX models of operator sets 1 to {target['newest_opset']}"
        if target["newest_opset"] is not None
        else _ASKED.get(speaks, f"{speaks}'s own attributes")
    )
    of = f" of {', '.join(target['providers'])}" if target["providers"] else ""
    click.echo(f"  provider {target['provider']}{of}")
    indices = {
        "whole": "Y and Indices, counted in the whole tensor",
        "plane": "Y and Indices, counted in each plane and converted",
        None: "Y, not for Indices",
    }[target["indices"]]
    click.echo(f"  asked with {asked}, for {indices}")
    if target["dtypes"] is not None:
        axes = ", ".join(map(str, target["spatial"] or ()))
        click.echo(f"  dtypes {', '.join(target['dtypes'])}" + (f"; spatial axes {axes}" if axes else ""))
    if "answers" in target:
        words = "answers" if target["answers"] else "does not answer"
        why = f": {target['why']}" if target["why"] else ""
        click.echo(f"  {words} the smallest case: {target['verdict']}{why}")
