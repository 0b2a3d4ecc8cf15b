"""``maxpool-check repro``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import asking, options

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.reproducing.bundle import Written
    from maxpool_check.reproducing.script import Reproduced
    from maxpool_check.results.variants import Variant
    from maxpool_check.running.inquiry import Inquirer, Inquiry


@click.command("repro")
@click.argument("case")
@click.option(
    "-t", "--target", "name", default="onnxruntime", metavar="TARGET",
    help="Whom to ask: ONNX Runtime in all its forms, onnx-reference, python:PATH.py:FUNCTION.  [default: onnxruntime]",
)  # fmt: skip
@click.option(
    "-o", "--output", "folder", required=True, type=click.Path(path_type=Path), metavar="DIR",
    help="Where to write: a new or empty folder, or one that repro wrote.",
)  # fmt: skip
@click.option(
    "-p", "--path", type=click.Path(path_type=Path), default=Path("cases"), metavar="PATH",
    help="Where to look for the case.  [default: cases]",
)  # fmt: skip
@click.option("--variant", metavar="QUESTION", help="indices or y-only.  [default: the first that diverges]")
@click.option("--no-shrink", is_flag=True, help="Reproduce the case as it is, not a smaller one.")
@asking.timeout
@options.max_cells
def command(
    case: str,
    name: str,
    folder: Path,
    path: Path,
    variant: str | None,
    no_shrink: bool,
    timeout: float,
    max_cells: int,
) -> int:
    """Write a reproduction of a divergence that others can run.

    CASE is a full id, as sonnx/float:float-example-3, or FILE.yaml:ID. It is asked, made as small as it can be while it
    shows the same, and written to DIR: repro.py, which needs nothing but the runtime, numpy and onnx; model.onnx and
    test_data_set_0, for ONNX's backend test runner; case.yaml; and ISSUE.md, the text of an issue.

    repro.py is run in a clean environment before anything is written. It exits with 1 while the defect is there, with 0
    once it is mended, with 125 where that cannot be told: git bisect run takes it as it is.

    Exit codes: 0 written, 1 not reproduced and nothing written, 2 usage, 3 could not complete.
    """
    from maxpool_check.reproducing import bundle
    from maxpool_check.reproducing.runtimes import CannotWrite, check_writable, runtime
    from maxpool_check.reproducing.script import Reproduced
    from maxpool_check.running.inquiry import Inquirer
    from maxpool_check.targets.environments import CannotMake
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.target import Target

    (parsed,) = asking.parsed([name])
    try:
        check_writable(parsed)
    except CannotWrite as error:
        raise click.UsageError(str(error)) from error
    if not bundle.is_free(folder):
        raise click.UsageError(f"{folder} holds something else than a reproduction; name a new folder")
    found = options.find(case, path, max_cells)
    asking.validate_against_reference([found])
    try:
        target = Target(parsed, timeout)
        with contextlib.closing(Inquirer(target)) as inquirer:
            inquiry = inquirer.ask(found)
            chosen = _chosen(inquiry, variant)
            if chosen is None:
                click.echo(f"not reproduced: {found.id} on {name}: {_came_to(inquiry)}")
                return 3 if any(one.verdict.value == "error" for one in inquiry.judgements.values()) else 1
            if not no_shrink:
                inquiry = inquirer.ask(_shrunk(inquirer, inquiry, chosen, name))
            about = _about(found, name, target.description.version)
            shown = Reproduced(inquiry, chosen)
            written = bundle.write(shown, target, runtime(target), folder, about)
    except (CannotStart, CannotMake) as error:
        raise asking.CannotAsk(str(error)) from error
    except CannotWrite as error:
        raise click.UsageError(str(error)) from error
    except bundle.NotReproduced as error:
        click.echo(f"not reproduced: {found.id} diverges on {name}, but {error}")
        return 1
    _say(found, shown, name, folder, written)
    return 0


def _chosen(inquiry: Inquiry, wanted: str | None) -> Variant | None:
    """The variant to reproduce."""
    asked = {variant.name: variant for variant in inquiry.judgements}
    if wanted is not None and wanted not in asked:
        raise click.UsageError(f"{inquiry.case.id} is not asked '{wanted}', but {', '.join(asked)}")
    diverging = [one for one in inquiry.diverging if wanted in (None, one.name) and one in inquiry.requests]
    return diverging[0] if diverging else None


def _came_to(inquiry: Inquiry) -> str:
    words = [
        f"{variant.name} {judgement.verdict.value}" + (f" ({judgement.message})" if judgement.message else "")
        for variant, judgement in inquiry.judgements.items()
    ]
    return "; ".join(" ".join(one.split()) for one in words)


def _shrunk(inquirer: Inquirer, inquiry: Inquiry, variant: Variant, name: str) -> Case:
    from dataclasses import replace

    from maxpool_check.running.shrinking import shrink, tries

    wanted = inquiry.shows(variant)
    small = shrink(inquiry.case, lambda one: inquirer.ask(one).shows(variant) == wanted, tries(inquiry, variant))
    kinds = ", ".join(kind.value for kind in inquiry.judgements[variant].kinds)
    file, _, short = inquiry.case.id.rpartition(":")
    return replace(small, id=f"{file}:{short}", title=f"{kinds} on {name}")


def _about(case: Case, name: str, version: str) -> str:
    from maxpool_check import __version__

    return f"Made of {case.id} by maxpool-check {__version__} repro, asking {name} ({version})."


def _say(case: Case, shown: Reproduced, name: str, folder: Path, written: Written) -> None:
    from maxpool_check.reporting.tensors import coordinates

    small = shown.inquiry.case
    kinds = ", ".join(kind.value for kind in shown.kinds)
    click.echo(f"{kinds} of {case.id} on {name} ({shown.variant.name})")
    attributes = ", ".join(f"{key}={value}" for key, value in small.attributes.items()) or "no attributes"
    before = f", from X{coordinates(case.X.shape)}" if small.X.shape != case.X.shape else ""
    click.echo(f"  {small.X.dtype.name} X{coordinates(small.X.shape)}  {attributes}{before}")
    for line in written.printed.strip().splitlines():
        click.echo(f"  {line}")
    click.echo(f"repro.py exits with 1 in {written.environment}")
    for file in written.files:
        click.echo(f"{folder / file}")
