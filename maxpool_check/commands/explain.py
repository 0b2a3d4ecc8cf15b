"""``maxpool-check explain``."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable
from pathlib import Path

import click
import numpy as np
from rich.console import Console

from maxpool_check.commands import executing, options
from maxpool_check.corpus.case import Case
from maxpool_check.explaining import drawing, kinds
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.record import ExitCode, Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import run_case
from maxpool_check.specifications.attributes import nearest
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target

MOST_WINDOWS = 3
"""How many windows of a case are drawn by default."""


@click.command("explain")
@click.argument("subject", required=False, metavar="[CASE|KIND]")
@click.option(
    "-t",
    "--target",
    "names",
    multiple=True,
    metavar="TARGET",
    help="Runtime to test, e.g. onnxruntime==1.23.2. Repeatable.",
)
@click.option(
    "-p", "--path", type=click.Path(path_type=Path), default=Path("cases"), metavar="PATH",
    help="Where to look for the case.  [default: cases]",
)  # fmt: skip
@click.option("--at", metavar="CELL", help="The cell of Y to draw the window of, as 0,0,1,2.")
@executing.variants
@executing.timeout
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
        raise click.UsageError(
            f"'{subject}' is no kind{nearest(subject, known)} and no case, which is written as FILE.yaml:ID or by its "
            "full id; 'maxpool-check explain' lists the kinds"
        )
    case = options.find(subject, path, max_cells)
    if not names:
        _print([*_heading(case), *_reference(case, at)], color)
        return 0
    return _run_on_targets(case, names, variants, timeout, at, color)


def _print(lines: Iterable[object], color: str) -> None:
    """Print text and rich text, as wide as it comes."""
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


def _run_on_targets(
    case: Case, names: tuple[str, ...], variants: frozenset[Variant], timeout: float, at: str | None, color: str
) -> int:
    code = ExitCode.AS_EXPECTED
    with contextlib.ExitStack() as stack:
        try:
            sessions = [
                stack.enter_context(TargetSession(Target(name, timeout))) for name in executing.parse_targets(names)
            ]
            descriptions = [session.profile.description for session in sessions]
            _print(_heading(case), color)
            for session, target in zip(sessions, descriptions, strict=True):
                case_run = run_case(session, case, variants)
                lines: list[object] = ["", f"{target.name}: {target.distribution} {target.version}, {target.provider}"]
                for variant, judgement in case_run.judgements.items():
                    steps = case_run.results[variant].steps
                    lines += ["", *drawing.judged(case_run.oracle, variant, steps, judgement)]
                    code = ExitCode.INCOMPLETE if judgement.verdict is Verdict.ERROR else code
                if case_run.diverging:
                    place = f"{case.origin.path}:{case.id.rpartition(':')[2]}"
                    command = shlex.join(["maxpool-check", "repro", place, "-t", target.name, "-o", "repro"])
                    lines += ["", f"Next: {command}"]
                _print(lines, color)
        except CannotStart as error:
            raise executing.CannotExecute(str(error)) from error
    if at is not None:
        _print(["", *_reference(case, at)], color)
    return code
