"""Isolated environments of releases on npm, kept in the same cache as those of Python; and which releases there are."""

import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

from packaging.version import InvalidVersion, Version

from maxpool_check.targets.cache import CannotMake, NoSuchRelease, NotMade, cache, made

LOCK = "package-lock.json"
"""The file that a complete environment has."""

PLATFORM = f"node-{platform.machine()}"
"""What environments are for: packages with machine code are for Node.js of any version, on one processor."""

_UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "EAI_AGAIN", "ETIMEDOUT", "ENETUNREACH", "ENOTCACHED")


def environment(distribution: str, version: str, *, offline: bool) -> Path:
    """The folder of an environment that holds this release; creates the environment if it does not exist.

    Raises :class:`CannotMake`.
    """
    version = _exact(version)
    requirement = f"{distribution}@{version}"
    final = cache() / f"{distribution}-{version}-{PLATFORM}"
    if offline and not (final / LOCK).exists():
        raise NotMade([requirement], "Node.js")
    return made(final, final / LOCK, lambda folder: _fill(folder, requirement))


def _exact(version: str) -> str:
    """A version with its three numbers: to npm, 1.20 is any release that begins so. Raises :class:`NoSuchRelease`."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]+){0,2}", version):
        raise NoSuchRelease(f"npm has no release {version}; name one by its numbers, as 1.20.1")
    return ".".join([*version.split("."), "0", "0"][:3])


def released(distribution: str) -> list[Version]:
    """The releases on npm, ascending.

    Releases whose name has another form than those of Python are left out: no target can name them. Raises :class:`CannotMake`.
    """
    process = _npm("view", distribution, "versions", "--json")
    if process.returncode != 0:
        raise CannotMake(_explain(process.stderr))
    listed = json.loads(process.stdout)
    versions = []
    for text in listed if isinstance(listed, list) else [listed]:
        with contextlib.suppress(InvalidVersion):
            versions += [Version(text)] if str(Version(text)) == text else []
    return sorted(versions)


def _explain(message: str) -> str:
    """An error message of npm, indented and without its stack and the folders of this machine, and what to do about it."""
    lines = [line.removeprefix("npm error").strip() for line in message.splitlines() if line.startswith("npm error")]
    told = [line for line in lines if line and not re.match(r"at |A complete log|[\w']+: .*,?$|}|\]", line)]
    if any(code in message for code in _UNREACHABLE):
        advice = "npm cannot reach its registry. Environments created before work without it."
    else:
        advice = "npm installs these environments; its settings (npm config) apply."
    return "\n".join([textwrap.indent("\n".join(told[:8]) or message.strip(), "    "), advice])


def _fill(folder: Path, requirement: str) -> None:
    if shutil.which("node") is None:
        raise CannotMake("node is not on PATH; install Node.js 18 or later")
    folder.mkdir()
    # Without this file, npm would install into a folder above that has one.
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    # Nothing of a package is executed.
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error")
    process = _npm("install", *options, "--prefix", str(folder), requirement)
    if process.returncode == 0:
        return
    if "ETARGET" in process.stderr or "No matching version" in process.stderr:
        raise NoSuchRelease(f"npm has no release {requirement.rpartition('@')[2]}")
    raise CannotMake(f"cannot create an environment with {requirement}:\n{_explain(process.stderr)}")


def _npm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run npm with the user's settings. Raises :class:`CannotMake`."""
    program = shutil.which("npm")
    if program is None:
        raise CannotMake("npm is not on PATH; install Node.js 18 or later with npm")
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    variables = {**os.environ, "npm_config_update_notifier": "false"}
    # A project, in which the cache may be, must not configure the environment.
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, cwd=folder.anchor, env=variables, check=False
    )
