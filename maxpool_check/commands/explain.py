"""``maxpool-check explain``."""

import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

import click
import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from maxpool_check import inert
from maxpool_check.commands import model_cases
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.old_output import Output
from maxpool_check.corpus.case import Case
from maxpool_check.explaining import drawing, kinds
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.pooling import Pooling
from maxpool_check.reporting.reruns import place_of
from maxpool_check.results.record import ExitCode, Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import run_case
from maxpool_check.running.outputs import session_of
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target
from maxpool_check.targets.transcript import transcribing

MOST_WINDOWS = 3
"""How many windows of a case are drawn by default."""

_NEXT = "Next: "
_COLUMNS = re.compile(r"( *)(?:(\S+) {2,})?")
"""The indent of a line, and its first column if it has two."""


@click.command("explain")
@click.argument("subject", required=False, metavar="[CASE|KIND]")
@options.targets()
@options.specs
@case_files.folder
@click.option("--at", metavar="CELL", help="Draw the window of this cell of Y, e.g. 0,0,1,2.")
@options.variants
@options.timeout
@options.transcript
@options.form(["text", "markdown"], "How to print all kinds.")
@case_files.max_cells
@options.color
@options.bundled(output=Output)
def command(
    subject: str | None, targets: tuple[TargetName, ...], specs: tuple[str, ...], path: Path | None, at: str | None,
    variants: frozenset[Variant], timeout: float, max_cells: int, output: Output,
) -> int:  # fmt: skip
    """Draw a case and what is wrong with the outputs of a target, or describe a kind of divergence.

    CASE is a full id, such as sonnx/float:float-example-3, or FILE.yaml:ID. KIND is a kind, such as y-lowest-for-neg-inf.
    Without either, all kinds are listed.

    \b
    Examples:
      maxpool-check explain edge/ties:all-equal -t onnxruntime==1.23.2
      maxpool-check explain y-lowest-for-neg-inf
    """
    known = {kind.value: kind for kind in DivergenceKind}
    if output.form == "markdown" and subject is not None:
        raise click.UsageError("--format markdown is for the page of all kinds")
    if subject is None:
        if output.form == "markdown":
            options.echo(kinds.page(), nl=False)
        else:
            _print(kinds.listed().splitlines(), output)
        return ExitCode.AS_EXPECTED
    if subject in known:
        _print(kinds.explained(known[subject]).splitlines(), output)
        return ExitCode.AS_EXPECTED
    model_cases.refuse_without_node(Path(subject))
    if ":" not in subject:
        raise click.UsageError(
            f"'{subject}' is neither a kind{nearest(subject, known)} nor a case, FILE.yaml:ID or a full id; "
            "'maxpool-check explain' lists the kinds"
        )
    takes_models = not targets or any(target.takes_models for target in targets)
    case = case_files.find(subject, path, max_cells, takes_models=takes_models)
    code = ExitCode.AS_EXPECTED
    lines: list[object] = [*_heading(case)]
    output.check_writable([Path(case.origin.path), *options.kernels(targets)])
    with transcribing(output.transcript) as transcript:
        for target in options.claiming(targets, specs):
            try:
                with session_of(Target(target, timeout, transcript=transcript)) as session:
                    result, failed = _result(session, case, variants)
            except CannotStart as error:
                raise options.Incomplete(str(error)) from error
            lines += result
            code = ExitCode.INCOMPLETE if failed else code
    if at is not None or not targets:
        lines += [*([""] if targets else []), *_reference(case, at)]
    _print(lines, output)
    return code


def _print(lines: Iterable[object], output: Output) -> None:
    """Print lines, which keep their styles if they are inert; a terminal gets them folded between words."""
    console = Console(
        width=options.width(), force_terminal=output.colored, no_color=not output.colored, highlight=False,
        soft_wrap=True, emoji=False,
    )  # fmt: skip
    for line in lines:
        is_inert = isinstance(line, Text) and inert.line(line.plain) == line.plain
        text = line.copy() if isinstance(line, Text) and is_inert else Text(inert.line(line))
        text.rstrip()
        folded = _folded(text, console) if sys.stdout.isatty() else [text]
        for each in folded:
            console.print(each)


def _folded(line: Text, console: Console) -> Iterable[Text]:
    """The line in as many as the width needs, those that follow below its second column; a command to be copied is one."""
    if line.cell_len <= console.width or line.plain.startswith(_NEXT):
        return [line]
    columns = _COLUMNS.match(line.plain)
    indent = cell_len(columns[1]) + 2 if columns else 2
    if columns and columns[2] and cell_len(columns[0]) <= console.width // 2:
        indent = cell_len(columns[0])
    first = line.wrap(console, console.width)[0]
    begin = len(line) - len(line.plain[len(first.plain.rstrip()) :].lstrip())
    others = line[begin:].wrap(console, console.width - indent)
    lines = [first, *(Text(" " * indent).append_text(each) for each in others)]
    for each in lines:
        each.rstrip()
    return lines


def _heading(case: Case) -> list[str]:
    settings = ", ".join(f"{name}={value}" for name, value in case.attributes.items()) or "no attributes"
    policies = ", ".join(f"{point}: {interpretation}" for point, interpretation in case.policies.names().items())
    lines = [
        f"{case.id}  {case.title}",
        f"{case.specification.title}; {policies or 'nothing left open'}",
        f"X {case.X.dtype.name}{list(case.X.shape)}, {settings}",
        *drawing.flow(case),
    ]
    return [*lines, *([f"Erratum: {case.erratum.strip()}"] if case.erratum else [])]


def _reference(case: Case, at: str | None) -> list[object]:
    """The windows of a case and what the reference has there."""
    if not isinstance(case.resolved, Pooling):
        return [f"{case.specification.title} excludes it ({case.resolved.reason.value}): {case.resolved}"]
    oracle = case.oracle()
    assert isinstance(oracle, Oracle)
    every = [tuple(int(i) for i in cell) for cell in np.ndindex(oracle.shape)]
    cells = every[:MOST_WINDOWS] if at is None else [_cell(at, oracle.shape)]
    lines: list[object] = [drawing.LEGEND] if cells else ["Y has no cell"]
    for cell in cells:
        lines += ["", *drawing.reference_cell(oracle, cell)]
    if len(every) > len(cells) and at is None:
        lines += ["", f"{len(every) - len(cells)} more of {len(every)} windows; --at CELL draws one of them"]
    return lines


def _cell(text: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        at = tuple(int(part) for part in text.strip("[]() ").split(","))
    except ValueError:
        at = ()
    if len(at) != len(shape) or not all(0 <= i < size for i, size in zip(at, shape, strict=True)):
        first = ",".join("0" * len(shape))
        raise click.UsageError(f"--at {text}: Y has the shape {list(shape)}, its first cell is {first}")
    return at


def _result(session: TargetSession, case: Case, variants: frozenset[Variant]) -> tuple[list[object], bool]:
    """What is wrong with the outputs of a target, as lines, and whether an execution failed."""
    target = session.profile.description
    case_run = run_case(session, case, variants)
    lines: list[object] = ["", f"{target.name}: {target.about}"]
    for variant in case_run.judgements:
        lines += ["", *drawing.draw_judgement(case_run, variant)]
    if case_run.diverging and session.target.name.outputs is None:
        place = place_of(case.id, str(case.origin.path))
        claims = ["--spec", case.spec] if session.target.name.specs else []
        lines += [
            "",
            f"{_NEXT}{shlex.join(['maxpool-check', 'repro', place, '-t', target.name, *claims, '-o', 'repro'])}",
        ]
    return lines, any(judgement.verdict is Verdict.ERROR for judgement in case_run.judgements.values())
