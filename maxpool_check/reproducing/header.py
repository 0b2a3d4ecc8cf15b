"""What stands above the code of a script: its requirements and its docstring."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from maxpool_check import inert

MARK = "Written by maxpool-check repro."
"""Marks the script of a reproduction."""


@dataclass(frozen=True)
class ScriptHeader:
    """What stands above the code: the oldest ``python``, the ``requirements``, and the ``title`` of the defect."""

    python: str
    requirements: tuple[str, ...]
    title: str

    def lines(self) -> Iterator[str]:
        """The header and the docstring."""
        yield "# /// script"
        yield f"# requires-python = {json.dumps(f'>={self.python}')}"
        yield f"# dependencies = {json.dumps(self.requirements)}"
        yield "# ///"
        # The name of a kernel's file may hold what ends a docstring.
        title = inert.line(self.title).replace("\\", "/").replace('"', "'")
        yield from textwrap.wrap(f'"""{title}.', 116)
        yield ""
        yield f"Exit code 1: the defect is there; 0: it is fixed; 125: that cannot be told. {MARK}"
        yield '"""'
