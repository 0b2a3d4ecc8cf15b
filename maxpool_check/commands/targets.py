"""``maxpool-check targets``: list, prepare, cache, check, example."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check import inert
from maxpool_check.commands import options
from maxpool_check.words import plural

if TYPE_CHECKING:
    from maxpool_check.running.protocol_check import ProtocolStep
    from maxpool_check.targets.name import TargetName

EXAMPLES = Path(__file__).parents[1] / "docs/examples"
"""Complete kernels behind the protocol."""

_FILES = {
    "c": "maxpool.c",
    "rust": "maxpool.rs",
    "python": "maxpool.py",
    "ctypes": "ctypes_kernel.py",
    "numba": "numba_kernel.py",
    "torch": "torch_kernel.py",
    "triton": "triton_kernel.py",
}
"""Programs behind the protocol, then files with a function for a ``python:`` target."""


def _words() -> "Mapping[str, Any]":
    """What targets take and return, in words."""
    import yaml

    file = Path(__file__).parents[1] / "targets/descriptions.yaml"
    words: Mapping[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return words


@click.group("targets", cls=options.Group)
def command() -> None:
    """List the known runtimes, make their environments, check targets, and print complete kernels to begin with.

    \b
    Examples:
      maxpool-check targets list
      maxpool-check targets check onnxruntime==1.32.0
    """


@command.command("list", short_help="List the known runtimes, and what the installed ones accept.")
@click.argument("names", nargs=-1, type=options.TARGET, metavar="[NAME]...")
@options.as_json
def list_(names: "tuple[TargetName, ...]", as_json: bool) -> int:
    """List the known runtimes, and what the installed or named ones accept.

    Exits with 3 if a named target cannot be started.

    \b
    Examples:
      maxpool-check targets list
      maxpool-check targets list onnxruntime==1.32.0 --json
    """
    from maxpool_check.reporting.blocks import Lines, Paragraph, Table
    from maxpool_check.targets.runtimes import RUNTIMES, TOOLS

    words, targets = _words(), [_described(name) for name in names or _installed_targets()]
    known: list[dict[str, Any]] = [
        {"name": name, "about": each.about, "installed": _installed(each.distribution), "install": each.install}
        for name, each in RUNTIMES.items()
    ]
    tools: list[dict[str, Any]] = [
        {"name": name, "about": each.about, "installed": _installed(each.distribution)} for name, each in TOOLS.items()
    ]
    if as_json:
        kernels = [{"name": name, "about": about} for name, about in words["kernels"].items()]
        options.dump("targets", {"known": known, "tools": tools, "kernels": kernels, "targets": targets})
    elif not names:
        states = [each["installed"] or f"not installed: {each['install']}" for each in known]
        rows = [(each["name"], f"{each['about']} ({state})") for each, state in zip(known, states, strict=True)]
        others = [(each["name"], f"{each['about']} ({each['installed'] or 'not installed'})") for each in tools]
        options.show([
            Table(["", ""], [*rows, *words["kernels"].items()]), Lines(words["names"].splitlines()), Table(["", ""], others),
            Paragraph("The installed runtimes:"),
        ])  # fmt: skip
    for target in targets if not as_json else ():
        options.echo("\n".join(_lines(target)))
    return options.Incomplete.exit_code if names and not all(target["starts"] for target in targets) else 0


@command.command("check", short_help="Start targets and run one case on each.")
@click.argument("names", nargs=-1, type=options.TARGET, metavar="[NAME]...")
@options.as_json
def check(names: "tuple[TargetName, ...]", as_json: bool) -> int:
    """Start each target, by default the installed ones, and run one case on it.

    A program, "command:PROGRAM ARG...", is talked through the protocol first, step by step, with what is missing or wrong.
    'maxpool-check docs kernel' describes the protocol. Exits with 1 if a program does something wrong, with 3 if a named target
    cannot be started, or one does not execute the case.

    \b
    Examples:
      maxpool-check targets check onnxruntime==1.32.0
      maxpool-check targets check "command:./maxpool"
    """
    from dataclasses import asdict

    code, targets = 0, []
    for name in names or _installed_targets():
        steps = _protocol(name, quiet=as_json) if name.program is not None else []
        wrong = [step for step in steps if step.state in ("missing", "wrong")]
        target: dict[str, Any] = {"name": str(name)} if wrong else _described(name, check=True)
        if steps:
            target["protocol"] = [asdict(step) for step in steps]
            for step in target["protocol"]:
                step["lines"] = [{"direction": direction, "line": line} for direction, line in step["lines"]]
        targets.append(target)
        if wrong:
            code = max(code, 1)
        elif not target.get("executes") and (names or target["starts"]):
            code = options.Incomplete.exit_code
        if wrong and not as_json:
            options.echo(f"\nWRONG  wrong or missing: {len(wrong)} of {plural(len(steps), 'step')}")
            options.echo("'maxpool-check docs kernel' describes the protocol")
        elif not as_json:
            options.echo("\n".join(_lines(target)))
            if steps and target.get("executes"):
                options.echo(f"\nOK  {plural(sum(step.state == 'ok' for step in steps), 'step')}")
                options.echo(f'Next: maxpool-check run corpus:edge -t "{name}"')
    if as_json:
        options.dump("targets", {"exit_code": code, "targets": targets})
    return code


def _protocol(name: "TargetName", *, quiet: bool) -> "list[ProtocolStep]":
    """Talk a program through the protocol, and print each step. Raises :class:`options.Incomplete` if it cannot be run."""
    from maxpool_check.running.protocol_check import ProtocolCheck
    from maxpool_check.targets.process import CannotStart

    steps: list[ProtocolStep] = []

    def report(step: "ProtocolStep") -> None:
        steps.append(step)
        lines = [f"{step.state:8}{step.name}{': ' if step.message else ''}{step.message}"]
        lines += [f"        {direction}: {line}" for direction, line in step.lines]
        for line in () if quiet else [*lines, *([f"        fix: {step.fix}"] if step.fix else [])]:
            options.echo(inert.line(line))

    with options.raising(incomplete=CannotStart):
        ProtocolCheck(name, options.setting("timeout"), report).run()
    return steps


@command.command("prepare", short_help="Make the environments of releases, to be used offline.")
@click.argument("names", nargs=-1, required=True, type=options.TARGET, metavar="NAME...")
def prepare(names: "tuple[TargetName, ...]") -> int:
    """Make the environments of targets, those that do not exist, and print their folders.

    \b
    Examples:
      maxpool-check targets prepare onnxruntime==1.32.0 openvino==2026.4.1
      maxpool-check targets prepare onnxruntime==1.32.0 --offline
    """
    from concurrent.futures import ThreadPoolExecutor

    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.target import Target

    if not any(name.version or (name.tool and name.tool.version) for name in names):
        raise click.UsageError("prepare takes targets with a version, such as onnxruntime==1.32.0")
    code = 0
    options.echo(f"preparing {', '.join(map(str, names))}", err=True)
    with ThreadPoolExecutor(len(names)) as pool:
        for name, target in [(name, pool.submit(Target, name)) for name in names]:
            try:
                folders = [*map(str, target.result().folders)]
                options.echo("\n  ".join([str(name), *(folders or ["runs as it is installed"])]))
            except CannotStart as error:
                code = options.Incomplete.exit_code
                options.echo(f"error: {error}", err=True)
    return code


@command.command("cache", short_help="List the isolated environments, with sizes, or remove them.")
@click.option("--clear", is_flag=True, help="Remove them. They are made again when they are needed.")
def cache(clear: bool) -> int:
    """List the isolated environments in the cache, with sizes; with --clear, remove those that are not in use.

    \b
    Examples:
      maxpool-check targets cache
      maxpool-check targets cache --clear
    """
    from maxpool_check.targets import cache as environments

    folders = environments.sizes()
    removed = environments.clear() if clear else []
    for folder, size in folders.items():
        state = ("removed " if folder in removed else "in use, not removed: ") if clear else ""
        options.echo(f"{state}{folder.name}  {size / 1e6:.1f} MB")
    total = f"{plural(len(folders), 'environment')}, {sum(folders.values()) / 1e6:.1f} MB"
    options.echo(f"{total if folders else 'no environments'} in {environments.cache()}")
    return 0


@command.command("example", short_help="Print a complete kernel, to begin with.")
@click.argument("language", type=click.Choice(list(_FILES)), default="c")
def example(language: str) -> int:
    """Print a complete kernel, to begin with; its first lines say how to run it.

    c, rust and python are programs behind the protocol. The others are Python files with a function.

    \b
    Examples:
      maxpool-check targets example c > maxpool.c
      maxpool-check targets example triton > kernel.py
    """
    click.echo((EXAMPLES / _FILES[language]).read_text(encoding="utf-8"), nl=False)
    return 0


def _installed(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _installed_targets() -> "list[TargetName]":
    from maxpool_check.targets.name import parse
    from maxpool_check.targets.runtimes import RUNTIMES

    return [parse(name) for name, runtime in RUNTIMES.items() if _installed(runtime.distribution)]


def _described(name: "TargetName", *, check: bool = False) -> dict[str, Any]:
    """A target as JSON: whether it starts, its description and limits; with ``check``, the verdict on a plain case."""
    import msgspec

    from maxpool_check.results.record import Verdict
    from maxpool_check.results.variants import Y_ONLY
    from maxpool_check.running.case_run import run_case
    from maxpool_check.running.protocol_check import accepted_case
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.session import TargetSession
    from maxpool_check.targets.target import Target

    try:
        with TargetSession(Target(name)) as session:
            profile = session.profile
            about = {"starts": True, **msgspec.to_builtins(profile.description)}
            about["software"] = profile.description.software(numpy=True)
            about |= {"dtypes": profile.dtypes, "spatial": profile.spatial}
            if check:
                judgement = run_case(session, accepted_case(profile), (Y_ONLY,)).judgements[Y_ONLY]
                executes = judgement.verdict in (Verdict.CONFORMS, Verdict.DIVERGES)
                about |= {"executes": executes, "verdict": judgement.verdict, "message": judgement.message}
    except CannotStart as error:
        return {"name": str(name), "starts": False, "message": str(error)}
    return about


def _lines(target: Mapping[str, Any]) -> Iterator[str]:
    """What a target is and accepts."""
    if not target["starts"]:
        yield f"{target['name']}  does not start\n  {target['message']}"
        return
    words = _words()
    yield f"{target['name']}  {target['software']}"
    if target["provider"]:
        yield f"  provider {target['provider']}" + (
            f" of {', '.join(target['providers'])}" if target["providers"] else ""
        )
    language = words["languages"].get(target["speaks"], f"{target['speaks']}'s own attributes")
    if target["newest_opset"] is not None:
        language = f"ONNX models of operator sets 1 to {target['newest_opset']}"
    yield f"  accepts {language}; returns {words['outputs'][target['indices']]}"
    if target["specs"] is not None:
        yield f"  claims {', '.join(target['specs']) or 'no document'}"
    if target["dtypes"] is not None:
        axes = ", ".join(map(str, target["spatial"] or ()))
        yield f"  dtypes {', '.join(target['dtypes'])}" + (f"; spatial axes {axes}" if axes else "")
    if "executes" in target:
        verb = "executes" if target["executes"] else "does not execute"
        yield f"  {verb} a plain case: {target['verdict'].value}" + (
            f": {target['message']}" if target["message"] else ""
        )
