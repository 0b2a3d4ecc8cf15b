"""The releases of a distribution: those that the package index, a folder of wheels or the cache has."""

import bisect
import sys
from collections.abc import Iterable

from packaging.version import InvalidVersion, Version

from maxpool_check.targets import environments, npm_environments
from maxpool_check.targets.cache import CannotMake, cache
from maxpool_check.targets.environments import WheelSource
from maxpool_check.targets.runtimes import OF_NPM

_FIRST_DATE = 19_700_101
"""A number of a version that is at least so large is a date."""

_NEAREST = 3
"""How many releases a message names on each side of another one."""


class NoReleases(RuntimeError):
    """The package index cannot be reached, or has no release for this Python."""


def released(distribution: str, *, pre: bool = False, source: WheelSource | None = None) -> list[Version]:
    """The versions that have a wheel for this Python, ascending; with pre-releases if ``pre``.

    They come from where environments are installed from, or are those of the cache if nothing can be installed. ``source``
    is by default that of the environment variables. Raises :class:`NoReleases`.
    """
    source, is_npm = source or environments.wheel_source(), distribution in OF_NPM
    try:
        if source.makes_nothing or (is_npm and source.offline):
            machine = npm_environments.PLATFORM if is_npm else environments.PLATFORM
            versions = environments.made_releases(distribution, machine)
            if not versions:
                raise NoReleases(f"offline, and {cache()} has no environment of {distribution}")
        else:
            versions = npm_environments.released(distribution) if is_npm else _of_index(distribution, pre, source)
    except (CannotMake, OSError) as error:
        raise NoReleases(f"cannot list the releases of {distribution}: {error}") from error
    return [version for version in versions if pre or not version.is_prerelease]


def _of_index(distribution: str, pre: bool, source: WheelSource) -> list[Version]:
    """The versions that uv finds. Raises :class:`NoReleases`, :class:`CannotMake` and ``OSError``."""
    versions: list[Version] = []
    requirement = distribution
    # uv has no command that lists versions: resolve the newest, then the newest before it, down to the first.
    while True:
        process = environments.run_uv(
            *("pip", "compile", "--python", sys.executable, "--only-binary", ":all:", "--no-deps"),
            *("--no-header", "--no-annotate", "--prerelease", "allow" if pre else "disallow", "-"),
            *source.limits, *source.arguments,
            stdin=requirement,
        )  # fmt: skip
        if process.returncode == 0:
            version = process.stdout.strip().rpartition("==")[2]
            versions.append(Version(version))
            requirement = f"{distribution}<={version},!={version}"
        elif versions and "No solution found" in process.stderr and "network was disabled" not in process.stderr:
            return versions[::-1]
        else:
            reason = environments.explain(process.stderr, [distribution], source)
            raise NoReleases(f"cannot list the releases of {distribution}:\n{reason}")


def between(versions: Iterable[Version], low: Version | None, high: Version | None) -> list[Version]:
    """Those of a range, both ends included: the end 1.31 includes all of its releases, 1.31.1 and 1.31.0.post1 among them."""
    return [
        version
        for version in versions
        if (low is None or version >= low) and (high is None or version <= high or _begins_with(version, high))
    ]


def _begins_with(version: Version, end: Version) -> bool:
    """Whether the end of a range is of numbers alone, with which the version begins."""
    has_numbers_alone = end.public == end.base_version
    return has_numbers_alone and (version.epoch, version.release[: len(end.release)]) == (end.epoch, end.release)


def newest_of_minors(versions: Iterable[Version]) -> list[Version]:
    """The newest release of each minor version: of those with the same first two numbers.

    A date behind them, as in 1.0.20261020, makes a minor version of its own.
    """
    newest = {}
    for version in sorted(versions):
        dates = [place for place, number in enumerate(version.release) if number >= _FIRST_DATE]
        newest[version.epoch, (*version.release, 0)[: max([1, *dates]) + 1]] = version
    return list(newest.values())


def around(distribution: str, version: str, source: WheelSource | None = None) -> str:
    """The oldest release, those next to a version, and the newest; empty if they cannot be listed."""
    try:
        versions = released(distribution, source=source)
        place = bisect.bisect(versions, Version(version))
    except (NoReleases, InvalidVersion):
        return ""
    first, last = max(0, place - _NEAREST), min(place + _NEAREST, len(versions))
    texts = [", ".join(map(str, part)) for part in (versions[: min(1, first)], versions[first:last])]
    texts += [str(versions[-1])] if last < len(versions) else []
    return " ... ".join(filter(None, texts))
