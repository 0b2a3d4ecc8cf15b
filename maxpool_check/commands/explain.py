"""``maxpool-check explain``."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import asking, options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maxpool_check.corpus.case import Case
    from maxpool_check.results.variants import Variant

MOST_WINDOWS = 3
"""How many windows of a case are drawn where nobody says which."""


@click.command("explain")
@click.argument("subject", required=False, metavar="[CASE|KIND]")
@click.option("-t", "--target", "names", multiple=True, metavar="TARGET", help="Whom to ask the case. Repeatable.")
@click.option(
    "-p", "--path", type=click.Path(path_type=Path), default=Path("cases"), metavar="PATH",
    help="Where to look for the case.  [default: cases]",
)  # fmt: skip
@click.option("--at", metavar="CELL", help="The cell of Y to draw the window of, as 0,0,1,2.")
@asking.variants
@asking.timeout
@click.option(
    "--format", "form", type=click.Choice(["text", "markdown"]), default="text",
    help="How to print all kinds.  [default: text]",
)  # fmt: skip
@options.max_cells
@options.color
def command(
    subject: str | None,
    names: tuple[str, ...],
    path: Path,
    at: str | None,
    variants: frozenset[Variant],
    timeout: float,
    form: str,
    max_cells: int,
    color: str,
) -> int:
    """Draw a case and what is wrong with a target's answer to it, or say what a kind of divergence means.

    CASE is a full id, as sonnx/float:float-example-3, or FILE.yaml:ID. KIND is one, as y-lowest-for-neg-inf; without
    either, all kinds are listed.
    """
    from maxpool_check.explaining import kinds
    from maxpool_check.judging.kinds import DivergenceKind

    known = {kind.value: kind for kind in DivergenceKind}
    if form == "markdown" and subject is not None:
        raise click.UsageError("--format markdown is for the page of all kinds")
    if subject is None:
        click.echo(kinds.page() if form == "markdown" else kinds.listed(), nl=False)
        return 0
    if subject in known:
        click.echo(kinds.explained(known[subject]), nl=False)
        return 0
    if ":" not in subject:
        from maxpool_check.specifications.attributes import nearest

        raise click.UsageError(
            f"'{subject}' is no kind{nearest(subject, known)} and no case, which is written as FILE.yaml:ID or by its "
            "full id; 'maxpool-check explain' lists the kinds"
        )
    case = options.find(subject, path, max_cells)
    if not names:
        _show([*_heading(case), *_reference(case, at)], color)
        return 0
    return _asked(case, names, variants, timeout, at, color)


def _show(lines: Iterable[object], color: str) -> None:
    """Print text and rich text, as wide as it comes."""
    from rich.console import Console

    colored = options.is_colored(color)
    console = Console(
        width=options.width(), force_terminal=colored, no_color=not colored, highlight=False, soft_wrap=True
    )
    for line in lines:
        console.print(line, markup=False, end="\n")


def _heading(case: Case) -> list[str]:
    settings = ", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
    policies = ", ".join(f"{point}: {interpretation}" for point, interpretation in case.policies.names().items())
    lines = [
        f"{case.id}  {case.title}",
        f"{case.specification.title}; {policies or 'nothing left open'}",
        f"X {case.X.dtype.name}{list(case.X.shape)}, {settings}",
    ]
    return [*lines, *([f"Erratum: {case.erratum.strip()}"] if case.erratum else [])]


def _reference(case: Case, at: str | None) -> list[object]:
    """The windows of a case and what the reference has there."""
    import numpy as np

    from maxpool_check.explaining import drawing
    from maxpool_check.judging.oracle import Oracle
    from maxpool_check.reference.pooling import Pooling

    if not isinstance(case.resolved, Pooling):
        return [f"{case.specification.title} excludes it ({case.resolved.reason.value}): {case.resolved}"]
    expected = Oracle(case.X, case.resolved)
    every = [tuple(int(i) for i in cell) for cell in np.ndindex(expected.shape)]
    cells = every[:MOST_WINDOWS] if at is None else [_cell(at, expected.shape)]
    lines: list[object] = [drawing.LEGEND] if cells else ["Y has no cell"]
    for cell in cells:
        lines += ["", *drawing.answer(expected, cell)]
    if len(every) > len(cells) and at is None:
        lines += ["", f"{len(every) - len(cells)} more of {len(every)} windows; --at CELL draws one of them"]
    return lines


def _cell(text: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        at = tuple(int(part) for part in text.strip("[]() ").split(","))
    except ValueError:
        at = ()
    if len(at) != len(shape) or not all(0 <= i < size for i, size in zip(at, shape, strict=True)):
        raise click.UsageError(
            f"--at {text}: Y has the shape {list(shape)}, its first cell is {','.join('0' * len(shape))}"
        )
    return at


def _asked(
    case: Case, names: tuple[str, ...], wanted: frozenset[Variant], timeout: float, at: str | None, color: str
) -> int:
    from maxpool_check.explaining import drawing
    from maxpool_check.results.record import Verdict
    from maxpool_check.running.inquiry import Inquirer
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.target import Target

    targets = []
    for name in asking.parsed(names):
        try:
            targets.append(Target(name, timeout))
        except CannotStart as error:
            raise asking.CannotAsk(str(error)) from error
    _show(_heading(case), color)
    code = 0
    for target in targets:
        said = target.description
        with contextlib.closing(Inquirer(target)) as inquirer:
            try:
                inquiry = inquirer.ask(case, wanted)
            except CannotStart as error:
                raise asking.CannotAsk(str(error)) from error
        lines: list[object] = ["", f"{said.name}: {said.distribution} {said.version}, {said.provider}"]
        for variant, judgement in inquiry.judgements.items():
            lines += ["", *drawing.judged(inquiry.oracle, variant, inquiry.steps[variant], judgement)]
            code = 3 if judgement.verdict is Verdict.ERROR else code
        if any(judgement.kinds for judgement in inquiry.judgements.values()):
            place = f"{case.origin.path}:{case.id.rpartition(':')[2]}"
            command = shlex.join(["maxpool-check", "repro", place, "-t", said.name, "-o", "repro"])
            lines += ["", f"Next: {command}"]
        _show(lines, color)
    if at is not None:
        _show(["", *_reference(case, at)], color)
    return code
