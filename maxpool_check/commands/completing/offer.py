"""What the tool offers: its commands with their options, kinds, documents, defects, runtimes. Cached until the package changes."""

import functools
import importlib
import os
from typing import Any

import click

import maxpool_check
from maxpool_check.commands.completing import json_cache

_NAME = "offer.json"
_PACKAGE = os.path.dirname(maxpool_check.__file__)
_SOURCES = (
    "commands",
    "judging",
    "specifications",
    "targets",
    "results",
    "comparing",
    "corpus",
    "configuration",
    "docs",
)
"""The folders whose files decide on what is offered."""

COMPLETED_BY_TYPE = {
    "TARGET": "targets", "TARGET|RECORD.jsonl": "targets or files", "VARIANTS": "variants", "KIND": "kinds",
    "CHANGE,...": "changes", "NAME,...": "documents", "FORMAT=PATH": "reports", "PATH": "paths", "path": "files", "file": "files",
    "directory": "folders", "TOPIC": "topics",
}  # fmt: skip
"""What completes the values of parameters, by the name of their type."""

COMPLETED_BY_NAME = {
    "selected": "selection", "case": "cases", "subject": "cases or kinds", "variant": "variant", "first": "versions",
    "last": "versions", "spec": "documents", "specs": "documents", "name": "cases", "config": "files",
    "defects show subject": "defects", "defects check names": "defects", "repro case": "cases or defects",
    "repro name": "variant", "config name": "commands", "old_target": "targets", "base_target": "targets",
    "patterns": "selection", "new_target": "targets",
}  # fmt: skip
"""Likewise by the name of the parameter, or by that of its command and its own, where the type does not say."""

NOT_COMPLETED = frozenset(
    {
        "dask",
        "at",
        "reason",
        "title",
        "issue",
        "versions",
        "timeout",
        "shapes",
        "seeds",
        "author",
        "reviewer",
        "expires",
    }
)
"""The parameters whose values nobody can know, besides numbers."""


@functools.cache
def offer() -> dict[str, Any]:
    """What the tool offers, as JSON."""
    current = _state()
    data = json_cache.load(_NAME)
    if data.get("state") != current:
        data = {"state": current, **_made()}
        json_cache.save(_NAME, data)
    return data


def _state() -> list[Any]:
    """What changes when what is offered may have changed."""
    count = newest = size = 0
    for folder in _SOURCES:
        path = os.path.join(_PACKAGE, folder)
        for entry in os.scandir(path) if os.path.isdir(path) else ():
            if entry.is_file():
                status = entry.stat()
                count, newest, size = count + 1, max(newest, status.st_mtime_ns), size + status.st_size
    return [maxpool_check.__version__, _PACKAGE, count, newest, size]


def _made() -> dict[str, Any]:
    """Make it, which takes as long as all commands take to start."""
    from maxpool_check.commands.main import COMMANDS, cli, module_of
    from maxpool_check.comparing.changes import UNOBSERVABLE, Change
    from maxpool_check.configuration.keys import COMMANDS as CONFIGURED
    from maxpool_check.corpus.collection import defect_files, shipped_root
    from maxpool_check.corpus.defect_file import read_all_defects
    from maxpool_check.corpus.defect_versions import read_versions
    from maxpool_check.corpus.selection import PROPERTIES
    from maxpool_check.docs import topics
    from maxpool_check.judging.defects import Severity
    from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
    from maxpool_check.results.variants import ALL_VARIANTS, VARIATIONS
    from maxpool_check.specifications import SPECIFICATIONS
    from maxpool_check.targets.runtimes import RUNTIMES, TOOLS

    root = shipped_root()
    families = [name.partition("-")[0] for name in SPECIFICATIONS if "-" in name]
    return {
        "commands": {name: _command(name, importlib.import_module(module_of(name)).command) for name in COMMANDS},
        "options": [_parameter("", each) for each in cli.params],
        "configured": list(CONFIGURED),
        "kinds": {kind.value: DESCRIPTIONS[kind].sentence for kind in DivergenceKind},
        "changes": [
            *(change.value for change in Change if change not in UNOBSERVABLE),
            *(each.value for each in Severity),
        ],
        "documents": {
            **{name: f"All versions of {name}" for name in families if families.count(name) > 1},
            **{name: document.title for name, document in SPECIFICATIONS.items()},
        },
        "defects": {defect.id: " ".join(defect.mechanism.split()) for defect in read_all_defects(defect_files(root))},
        "variants": ["default", "all", *(variation.name for variation in VARIATIONS)],
        "variant": [variant.name for variant in ALL_VARIANTS],
        "runtimes": {name: [runtime.distribution, runtime.about] for name, runtime in RUNTIMES.items()},
        "tools": {name: [tool.distribution, tool.about] for name, tool in TOOLS.items()},
        "versions": {name: list(tested) for name, tested in read_versions(root).shown.items()},
        "topics": {topic.name: topic.title for topic in topics().values()},
        "corpus": str(root),
        "selectors": list(PROPERTIES),
    }


def _command(name: str, command: click.Command) -> dict[str, Any]:
    """A command: its parameters, or its commands."""
    if isinstance(command, click.Group):
        return {
            "commands": {each: _command(f"{name} {each}", command.commands[each]) for each in command.commands},
            "hidden": [each for each in command.commands if command.commands[each].hidden],
            "help": command.get_short_help_str(),
        }
    return {"parameters": [_parameter(name, each) for each in command.params], "help": command.get_short_help_str()}


def _parameter(command: str, parameter: click.Parameter) -> dict[str, Any]:
    """A parameter: how it is written, and what completes its values."""
    data: dict[str, Any] = {
        "name": parameter.name,
        "nargs": parameter.nargs,
        "completed": completed(command, parameter),
    }
    if isinstance(parameter.type, click.Choice):
        data["choices"] = list(parameter.type.choices)
    if isinstance(parameter, click.Option):
        data |= {
            "options": [*parameter.opts, *parameter.secondary_opts],
            "help": parameter.help or "",
            "flag": parameter.is_flag or parameter.count,
            "multiple": parameter.multiple,
        }
    return data


def completed(command: str, parameter: click.Parameter) -> str:
    """What completes the values of a parameter; empty if nothing does."""
    name = parameter.name or ""
    if name in NOT_COMPLETED or isinstance(parameter.type, (click.Choice, click.IntRange, click.FloatRange)):
        return ""
    own = COMPLETED_BY_NAME.get(f"{command} {name}")
    return own or COMPLETED_BY_TYPE.get(parameter.type.name) or COMPLETED_BY_NAME.get(name, "")
