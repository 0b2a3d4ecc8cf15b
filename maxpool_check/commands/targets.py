"""``maxpool-check targets``."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

_KNOWN = {
    "onnxruntime": "the installed release, in a process of its own",
    "onnxruntime==VERSION": "a released version from 1.15.1 on, in an isolated environment made once",
    "python:PATH.py:FUNCTION": "a function of X and ONNX's attributes that returns (Y, Indices) or Y",
}


@click.command("targets")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--check", is_flag=True, help="Start each one and ask it the smallest MaxPool.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="What to print.  [default: text]"
)
def command(names: tuple[str, ...], check: bool, form: str) -> int:
    """Show the known runtimes; with names or --check, start them and say what each can be asked.

    Exits with 3 if one of them cannot be started.
    """
    if not names and not check:
        _known(form)
        return 0
    from maxpool_check.targets.name import BadTarget, parse
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.target import Target

    found: list[dict[str, Any]] = []
    for name in names or ("onnxruntime",):
        try:
            said = Target(parse(name)).description
        except BadTarget as error:
            raise click.UsageError(str(error)) from error
        except CannotStart as error:
            found.append({"name": name, "starts": False, "why": str(error)})
            continue
        found.append({"starts": True, **vars(said)})
    if form == "json":
        click.echo(json.dumps({"schema": "maxpool-check/targets/1", "targets": found}, indent=1))
    else:
        for target in found:
            _show(target)
    return 0 if all(target["starts"] for target in found) else 3


def _known(form: str) -> None:
    try:
        installed: str | None = version("onnxruntime")
    except PackageNotFoundError:
        installed = None
    if form == "json":
        known = [{"name": name, "about": about} for name, about in _KNOWN.items()]
        click.echo(json.dumps({"schema": "maxpool-check/targets/1", "installed": installed, "known": known}, indent=1))
        return
    for name, about in _KNOWN.items():
        state = f" ({installed})" if name == "onnxruntime" and installed else ""
        state = " (not installed: pip install onnxruntime)" if name == "onnxruntime" and not installed else state
        click.echo(f"{name.ljust(max(map(len, _KNOWN)))}  {about}{state}")
    click.echo(
        "Add @PROVIDER to ask another execution provider, and ?python=PATH to ask in an environment of your own."
    )


def _show(target: dict[str, Any]) -> None:
    if not target["starts"]:
        click.echo(f"{target['name']}  does not start\n  {target['why']}")
        return
    click.echo(
        f"{target['name']}  {target['distribution']} {target['version']}, Python {target['python']}, numpy {target['numpy']}"
    )
    asked = (
        "attributes and tensors"
        if target["newest_opset"] is None
        else f"ONNX models of operator sets 1 to {target['newest_opset']}"
    )
    click.echo(
        f"  provider {target['provider']}" + (f" of {', '.join(target['providers'])}" if target["providers"] else "")
    )
    click.echo(f"  asked with {asked}, for Y and Indices and for Y alone")
