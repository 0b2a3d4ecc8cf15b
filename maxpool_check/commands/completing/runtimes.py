"""The targets and the versions of them that are known here."""

import os
import re
from collections.abc import Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from maxpool_check.cache_folder import cache_folder
from maxpool_check.commands.completing.offer import offer
from maxpool_check.commands.completing.parts import Candidate, files, items

_ENVIRONMENT = re.compile(r"([A-Za-z][A-Za-z0-9_-]*?)-(\d[^+-]*)(\+.*)?-((cpython|pypy)\d|node-)")
"""The name of an environment in the cache: its distribution and version."""

_RUNS_MODELS = ("onnxruntime", "onnx-reference")


def versions(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The versions of the target that are known here."""
    runtime = str(ctx.params.get("target") or "onnxruntime").partition("@")[0].partition("==")[0]
    return items([(version, "") for version in _versions(runtime)], incomplete)


def targets(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Targets: runtimes, the versions of them that are known here, tools that rewrite models, kernels."""
    if incomplete.startswith("python:"):
        return items(((f"python:{each}", "") for each in _functions(incomplete.removeprefix("python:"))), incomplete)
    if incomplete.startswith("transform:"):
        return items(_transforms(incomplete), incomplete)
    own = [
        ("python:", "A function of yours"),
        ("command:", "A program of yours"),
        ("outputs:", "A file of outputs of yours"),
        ("transform:", "A tool before a runtime"),
    ]
    return items([*_runtimes(offer()["runtimes"]), *own], incomplete)


def targets_or_files(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Targets, or a record."""
    return targets(ctx, incomplete) or files(ctx, incomplete)


def _runtimes(runtimes: Iterable[str]) -> Iterator[Candidate]:
    about = offer()["runtimes"]
    for name in runtimes:
        yield name, about[name][1]
        yield from ((f"{name}=={version}", "") for version in _versions(name))


def _transforms(incomplete: str) -> Iterator[Candidate]:
    """Tools, and behind one the runtimes that can run its models."""
    data = offer()
    tool, middle, _ = incomplete.partition(":on:")
    if middle:
        yield from ((f"{tool}{middle}{runtime}", about) for runtime, about in _runtimes(_RUNS_MODELS))
        return
    for name, (distribution, about) in data["tools"].items():
        for version in ("", *(f"=={version}" for version in _environments(distribution))):
            yield f"transform:{name}{version}:on:", about


def _versions(runtime: str) -> list[str]:
    """The versions of a runtime in the cache and in the records that the defects were reviewed with."""
    data = offer()
    distribution = data["runtimes"].get(runtime, [runtime])[0]
    tested = [version for name, versions in data["versions"].items() if name.partition("@")[0].partition("?")[0] == runtime
              for version in versions]  # fmt: skip
    return sorted({*_environments(distribution), *tested}, key=_order)


def _order(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in version.split(".")]


def _environments(distribution: str) -> list[str]:
    """The versions of a distribution that have an environment in the cache."""
    try:
        names = os.listdir(os.path.join(cache_folder(), "environments"))
    except OSError:
        return []
    found = (_ENVIRONMENT.match(name) for name in names if not name.endswith(".lock"))
    return sorted({each[2] for each in found if each and each[1] == distribution}, key=_order)


def _functions(incomplete: str) -> list[str]:
    """The Python files below a folder, and the functions of one."""
    file, colon, _ = incomplete.partition(".py:")
    if colon:
        try:
            with open(f"{file}.py", encoding="utf-8", errors="replace") as source:
                return [
                    f"{file}.py:{name}"
                    for name in re.findall(r"^def ([A-Za-z]\w*)\(", source.read(2**20), re.MULTILINE)
                ]
        except OSError:
            return []
    folder = os.path.dirname(incomplete)
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries if entry.name[0] != "."]
    return [
        f"{os.path.join(folder, name)}{'' if name[-1] == '/' else ':'}" for name in names if name.endswith((".py", "/"))
    ]
