"""The released versions of a distribution, listed by uv."""

from __future__ import annotations

import sys

from packaging.version import Version

from maxpool_check.targets.environments import CannotMake, explain, run_uv


class NoReleases(RuntimeError):
    """The package index cannot be reached, or has no release for this Python."""


def released(distribution: str, *, pre: bool = False) -> list[Version]:
    """The versions that have a wheel for this Python, ascending; with pre-releases if ``pre``.

    They come from the index that environments are installed from. Raises :class:`NoReleases`.
    """
    versions: list[Version] = []
    requirement = distribution
    # uv has no command that lists versions: resolve the newest, then the newest before it, down to the first.
    while True:
        try:
            process = run_uv(
                *("pip", "compile", "--python", sys.executable, "--only-binary", ":all:", "--no-deps"),
                *("--no-header", "--no-annotate", "--prerelease", "allow" if pre else "disallow", "-"),
                stdin=requirement,
            )
        except (CannotMake, OSError) as error:
            raise NoReleases(f"cannot list the releases of {distribution}: {error}") from error
        if process.returncode == 0:
            version = process.stdout.strip().rpartition("==")[2]
            versions.append(Version(version))
            requirement = f"{distribution}<={version},!={version}"
        elif versions and "No solution found" in process.stderr and "network was disabled" not in process.stderr:
            return versions[::-1]
        else:
            raise NoReleases(f"cannot list the releases of {distribution}:\n{explain(process.stderr, distribution)}")
