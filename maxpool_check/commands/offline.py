"""The options that say where new environments take their wheels from: another way to set environment variables.

They are set for this process and those it starts, since environments are made wherever a target is started.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _set_variable(ctx: click.Context, param: click.Parameter, value: bool | Path | None) -> None:
    if value and not ctx.resilient_parsing:
        assert isinstance(param.envvar, str)
        os.environ[param.envvar] = "1" if value is True else str(value)


_offline = click.option(
    "--offline", is_flag=True, expose_value=False, callback=_set_variable, envvar="MAXPOOL_CHECK_OFFLINE",
    show_envvar=True, help="Reach no package index: use the environments that exist.",
)  # fmt: skip
_find_links = click.option(
    "--find-links", type=click.Path(exists=True, file_okay=False, resolve_path=True), metavar="DIR", expose_value=False,
    callback=_set_variable, envvar="MAXPOOL_CHECK_FIND_LINKS", show_envvar=True,
    help="Make environments from the wheels of this folder, too; with --offline, from them alone.",
)  # fmt: skip


def offline(command: _Command) -> _Command:
    """``--offline`` and ``--find-links``."""
    return _offline(_find_links(command))
