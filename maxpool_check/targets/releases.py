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


def released(
    distribution: str, *, pre: bool = False, source: WheelSource | None = None,
    low: Version | None = None, high: Version | None = None, minors: bool = False,
) -> list[Version]:  # fmt: skip
    """The versions that have a wheel for this Python, ascending; with pre-releases if ``pre``.

    Those that are not :func:`between` ``low`` and ``high`` may be left out, if some are; with ``minors`` those that are not among
    the :func:`newest_of_minors`, too. They come from where environments are
    installed from, or are those of the cache if nothing can be installed. ``source`` is by default that of the environment
    variables. Raises :class:`NoReleases`.
    """
    source = source or environments.wheel_source()
    if distribution in OF_NPM:
        try:
            return npm_environments.released(distribution, pre=pre, offline=source.offline)
        except (CannotMake, OSError) as error:
            raise NoReleases(f"cannot list the releases of {distribution}: {error}") from error
    if source.makes_nothing:
        made = [version for version in environments.made_releases(distribution) if pre or not version.is_prerelease]
        if made:
            return made
        raise NoReleases(f"offline, and {cache()} has no environment of {distribution}")
    versions: list[Version] = []
    above = f">={low.public}" if low else ""
    requirement = distribution + ",".join(filter(None, [above, _up_to(high) if high else ""]))
    # uv has no command that lists versions: resolve the newest, then the newest before it, down to the first.
    while True:
        try:
            process = environments.run_uv(
                *("pip", "compile", "--python", sys.executable, "--only-binary", ":all:", "--no-deps"),
                *("--no-header", "--no-annotate", "--prerelease", "allow" if pre else "disallow", "-"),
                *source.limits, *source.arguments,
                stdin=requirement,
            )  # fmt: skip
        except (CannotMake, OSError) as error:
            raise NoReleases(f"cannot list the releases of {distribution}: {error}") from error
        if process.returncode == 0:
            version = process.stdout.strip().rpartition("==")[2]
            versions.append(Version(version))
            below = f"<{_text(_minor(versions[-1]))}" if minors else f"<={version},!={version}"
            requirement = f"{distribution}{below}" + (f",{above}" if above else "")
        elif versions and "No solution found" in process.stderr and "network was disabled" not in process.stderr:
            return versions[::-1]
        elif low or high:
            return released(distribution, pre=pre, source=source)
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


def newest_of_minors(versions: Iterable[Version]) -> list[Version]:
    """The newest release of each minor version: of those with the same first two numbers.

    A date behind them, as in 1.0.20261020, makes a minor version of its own.
    """
    return list({_minor(version): version for version in sorted(versions)}.values())


def _minor(version: Version) -> tuple[int, ...]:
    dates = [place for place, number in enumerate(version.release) if number >= _FIRST_DATE]
    return (version.epoch, *(*version.release, 0)[: max([1, *dates]) + 1])


def _text(numbers: tuple[int, ...]) -> str:
    """The version of an epoch and numbers."""
    epoch, *others = numbers
    return f"{epoch}!{'.'.join(map(str, others))}"


def _begins_with(version: Version, end: Version) -> bool:
    return _has_numbers_alone(end) and (version.epoch, version.release[: len(end.release)]) == (end.epoch, end.release)


def _has_numbers_alone(version: Version) -> bool:
    """Whether it is no pre-release or post-release."""
    return version.public == version.base_version


def _up_to(end: Version) -> str:
    """What a requirement says of the end of a range."""
    if not _has_numbers_alone(end):
        return f"<={end.public}"
    *numbers, last = end.release
    return f"<{_text((end.epoch, *numbers, last + 1))}"


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
