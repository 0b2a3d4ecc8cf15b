"""Files that cannot be used, as an error of the command line."""

from collections.abc import Sequence
from typing import Any

import click

from maxpool_check import inert
from maxpool_check.results.record import ExitCode
from maxpool_check.words import plural

_MOST = 20
"""The most problems that are printed as text."""


class Mistakes(click.ClickException):
    """Files that cannot be used: every problem on a line of its own."""

    exit_code = ExitCode.USAGE

    def __init__(self, problems: Sequence[object], consequence: str = "nothing was run") -> None:
        more = [f"... and {len(problems) - _MOST} more"] if len(problems) > _MOST else []
        super().__init__("\n".join(map(inert.line, [*problems[:_MOST], *more])))
        self.problems = problems
        self._consequence = consequence

    @property
    def errors(self) -> list[dict[str, object]]:
        """The problems as JSON."""
        names = ("path", "line", "column", "message")
        return [
            {name: getattr(problem, name) for name in names if hasattr(problem, name)} or {"message": str(problem)}
            for problem in self.problems
        ]

    def show(self, file: Any = None) -> None:
        """Print the problems and their number to stderr."""
        click.echo(f"{self.message}\n{plural(len(self.problems), 'problem')}; {self._consequence}", file, err=True)
