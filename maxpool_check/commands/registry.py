"""The commands by name, and what is imported by its name when it is needed."""

import importlib
from collections.abc import Iterator
from typing import Any

import click

GROUPS = {
    "Test": {
        "run": "Run cases on targets, judge the results, write reports.",
        "model": "Test the MaxPool nodes of your own model on targets.",
        "fuzz": "Run random cases on targets and keep what is new.",
    },
    "Decide": {
        "gate": "Decide whether a target may replace another, or compare two records.",
        "bisect": "Find the release that changed the verdict on a case.",
        "history": "Show the kinds of divergence of many releases.",
    },
    "Understand": {
        "explain": "Draw a case and its wrong results, or say what a kind, defect, clause or document is.",
        "repro": "Write a reproduction of a divergence that others can run.",
        "report": "Render records.",
        "defects": "List the known defects of runtimes, check which a target shows, accept those of a record.",
    },
    "Author": {
        "cases": "List, lint, copy, import and export cases.",
        "targets": "List the known runtimes, make their environments, check targets.",
    },
    "Show": {
        "evidence": "Build, verify and sign bundles of evidence; trace clauses to cases and results.",
        "docs": "Show the documentation, schemas, the configuration, and how a shell completes commands.",
    },
}
"""The commands by group, each in the module of its name."""

COMMANDS = {name: about for commands in GROUPS.values() for name, about in commands.items()}


def imported(place: str) -> Any:
    """The object at ``module:name`` of the package."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"maxpool_check.{module}"), name)


def command(name: str) -> click.Command:
    """The command of this name, whose module is imported."""
    found: click.Command = imported(f"commands.{name}:command")
    return found


def leaves() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that is not a group, with its words."""
    for name in COMMANDS:
        found = command(name)
        if isinstance(found, click.Group):
            yield from (((name, inner), leaf) for inner, leaf in found.commands.items())
        else:
            yield (name,), found
