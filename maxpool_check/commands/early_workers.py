"""Starts the workers of a run before the modules of the command are imported, which takes as long."""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise

import click

from maxpool_check.commands.configured import Defaults
from maxpool_check.configuration.values import Value
from maxpool_check.targets.launching import end_early, launch_early

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
    if jobs != "1" or others or _names_nothing(words):
        return
    targets = list(_values(words, "-t", "--target")) or configured.get("targets", ["onnxruntime"])
    context.call_on_close(end_early)
    for name in dict.fromkeys(targets if isinstance(targets, Sequence) else ()):
        launch_early(name)


def _names_nothing(words: Sequence[str]) -> bool:
    """Whether a word that is surely a path leads nowhere, so that the command ends with an error."""
    paths = (word for before, word in pairwise(("", *words)) if not before.startswith("-") and not word.startswith("-"))
    return any(not path.startswith("corpus") and not os.path.exists(path) for path in paths)  # noqa: PTH110 (pathlib is slow to import)


def _values(words: Sequence[str], short: str, long: str) -> Iterator[str]:
    """The values of an option."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word in (short, long):
            yield following
        elif word.startswith(f"{long}="):
            yield word.removeprefix(f"{long}=")
        elif word.startswith(short):
            yield word.removeprefix(short)
