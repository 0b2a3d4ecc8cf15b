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
    """Show the known runtimes, and what those that are installed or named can be asked.

    Exits with 3 if one that is named, or with --check any, cannot be started.
    """
    from maxpool_check.targets.name import BadTarget, parse
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.target import Target

    found: list[dict[str, Any]] = []
    installed = _installed()
    for name in names or (("onnxruntime",) if installed or check else ()):
        try:
            said = Target(parse(name)).description
        except BadTarget as error:
            raise click.UsageError(str(error)) from error
        except CannotStart as error:
            found.append({"name": name, "starts": False, "why": str(error)})
            continue
        found.append({"starts": True, **vars(said)})
    if form == "json":
        known = [{"name": name, "about": about} for name, about in _KNOWN.items()]
        document = {"schema": "maxpool-check/targets/1", "installed": installed, "known": known, "targets": found}
        click.echo(json.dumps(document, indent=1))
    else:
        if not names:
            _known(installed)
        for target in found:
            _show(target)
    failed = not all(target["starts"] for target in found)
    return 3 if failed and (names or check) else 0


def _installed() -> str | None:
    try:
        return version("onnxruntime")
    except PackageNotFoundError:
        return None


def _known(installed: str | None) -> None:
    for name, about in _KNOWN.items():
        state = ""
        if name == "onnxruntime":
            state = f" ({installed})" if installed else " (not installed: pip install onnxruntime)"
        click.echo(f"{name.ljust(max(map(len, _KNOWN)))}  {about}{state}")
    click.echo(
        "Add @PROVIDER to ask another execution provider, and ?python=PATH to ask in an environment of your own."
    )
    click.echo("")


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
