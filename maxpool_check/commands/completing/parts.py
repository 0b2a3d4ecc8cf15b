"""Values as a shell gets them: part by part, and only what no shell takes for anything else."""

import re
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

Candidate = tuple[str, str]
"""A value, and what is said of it."""

_SEPARATOR = re.compile(r"[/:]|==")
"""What ends a part of a value: as of a path, parts are completed one after another."""

_SAFE = re.compile(r"[\w./:=@,+%~-]+")
"""What no shell takes for anything else, and no terminal for a command."""


def items(candidates: Iterable[Candidate], incomplete: str) -> list[CompletionItem]:
    """Those that begin so, or the next part that they have in common with others."""
    matching = [each for each in candidates if each[0].startswith(incomplete)]
    while True:
        parts: dict[str, list[Candidate]] = {}
        for value, about in matching:
            end = _SEPARATOR.search(value, len(incomplete))
            parts.setdefault(value[: end.end()] if end else value, []).append((value, about))
        if len(parts) != 1 or len(matching) == 1:
            break
        (incomplete,) = parts
        if any(value == incomplete for value, _ in matching):
            break
    whole = [(each[0] if len(each) == 1 else (part, "")) for part, each in parts.items()]
    return [CompletionItem(value, help=_line(about)) for value, about in whole if _SAFE.fullmatch(value)]


def _line(text: str) -> str:
    """A text as the shell may show it."""
    return "".join(character if character.isprintable() else " " for character in text)[:100]


def files(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Files, which the shell knows."""
    return [CompletionItem(incomplete, type="file")]


def folders(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Folders, which the shell knows."""
    return [CompletionItem(incomplete, type="dir")]


def last_of_list(candidates: Iterable[Candidate], incomplete: str) -> list[CompletionItem]:
    """The last one of a list with commas."""
    before, comma, _ = incomplete.rpartition(",")
    taken = before.split(",")
    return items([(f"{before}{comma}{name}", about) for name, about in candidates if name not in taken], incomplete)
