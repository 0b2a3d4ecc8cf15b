"""Starts the workers of a run before the modules of the command are imported, which takes as long."""

from collections.abc import Iterator, Sequence

import click

from maxpool_check.commands.configured import Defaults
from maxpool_check.configuration.values import Value
from maxpool_check.targets.launching import end_ahead, launch_ahead

_NOT_WITH = ("-h", "--help", "--dask", "--memory")
"""Options with which the workers are others, or none."""


def start_workers(context: click.Context, words: Sequence[str]) -> None:
    """Start a worker for each installed runtime that these words of ``run`` name, as far as can be seen without parsing them.

    Those that prove to be unneeded end with the context.
    """
    defaults = context.default_map
    configured: dict[str, Value] = {}
    if isinstance(defaults, Defaults):
        configured = {name: setting.value for name, setting in defaults.settings("run").items()}
    jobs = [configured.get("jobs", "1"), *_values(words, "-j", "--jobs")][-1]
    others = {"dask", "memory"} & configured.keys() or any(word.startswith(_NOT_WITH) for word in words)
    if jobs != "1" or others:
        return
    targets = list(_values(words, "-t", "--target")) or configured.get("targets", ["onnxruntime"])
    context.call_on_close(end_ahead)
    for name in dict.fromkeys(targets if isinstance(targets, Sequence) else ()):
        launch_ahead(name)


def _values(words: Sequence[str], short: str, long: str) -> Iterator[str]:
    """The values of an option."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word in (short, long):
            yield following
        elif word.startswith(f"{long}="):
            yield word.removeprefix(f"{long}=")
        elif word.startswith(short):
            yield word.removeprefix(short)
