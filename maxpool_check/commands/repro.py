"""``maxpool-check repro``."""

import textwrap
from dataclasses import replace
from pathlib import Path

import click

from maxpool_check import __version__
from maxpool_check.commands import case_files, executing, options
from maxpool_check.corpus.case import Case
from maxpool_check.fuzzing.search import shrunk
from maxpool_check.reporting.tensors import coordinates
from maxpool_check.reproducing import bundle
from maxpool_check.reproducing.bundle import Written
from maxpool_check.reproducing.runtimes import CannotWrite, check_writable, runtime
from maxpool_check.reproducing.script import Reproduced
from maxpool_check.results.record import ExitCode, Verdict
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import CaseRun, run_case
from maxpool_check.targets.environments import CannotMake
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target


@click.command("repro")
@click.argument("case")
@options.target("Runtime to test: ONNX Runtime with any provider, onnx-reference, python:PATH.py:FUNCTION.")
@click.option(
    "-o", "--output", "folder", required=True, type=options.FILE, metavar="DIR",
    help="Where to write: a new or empty folder, or one that repro wrote.",
)  # fmt: skip
@options.specs
@case_files.folder
@click.option("--variant", metavar="NAME", help="indices or y-only.  [default: the first that diverges]")
@click.option("--no-shrink", is_flag=True, help="Reproduce the case as it is, not a smaller one.")
@options.timeout
@case_files.max_cells
def command(
    case: str, target: TargetName, specs: tuple[str, ...], folder: Path, path: Path, variant: str | None,
    no_shrink: bool, timeout: float, max_cells: int,
) -> int:  # fmt: skip
    """Write a reproduction of a divergence that others can run.

    CASE is a full id, such as sonnx/float:float-example-3, or FILE.yaml:ID. It is run, made as small as possible while it
    still shows the same kinds, and written to DIR: repro.py, which needs nothing but the runtime, numpy and onnx;
    model.onnx and test_data_set_0, for ONNX's backend test runner; case.yaml; and ISSUE.md, the text of an issue.

    repro.py is run in a clean environment before anything is written. It exits with 1 while the defect is there, with 0
    once it is fixed, with 125 where that cannot be told, as git bisect run expects.

    Exit codes: 0 written, 1 not reproduced and nothing written, 2 usage, 3 could not complete.
    """
    if not bundle.is_free(folder):
        raise click.UsageError(f"{folder} contains something other than a reproduction; name a new folder")
    (target,), name = options.claiming([target], specs), str(target)
    try:
        check_writable(target)
        original = case_files.find(case, path, max_cells)
        executing.validate_against_reference([original])
        with TargetSession(Target(target, timeout)) as session:
            case_run = run_case(session, original)
            chosen = _chosen(case_run, variant)
            if chosen is None:
                options.echo(f"not reproduced: {original.id} on {name}: {_verdicts(case_run)}")
                failed = any(judgement.verdict is Verdict.ERROR for judgement in case_run.judgements.values())
                return ExitCode.INCOMPLETE if failed else ExitCode.UNEXPECTED
            if not no_shrink:
                title = f"{', '.join(kind.value for kind in case_run.judgements[chosen].kinds)} on {name}"
                case_run = run_case(session, replace(shrunk(session, case_run, chosen), id=original.id, title=title))
            about = f"Made from {original.id} by maxpool-check {__version__} repro, on {name} "
            about += f"({session.profile.description.version})."
            reproduced = Reproduced(case_run, chosen)
            written = bundle.write(reproduced, session, runtime(session.profile), folder, about)
    except (CannotStart, CannotMake) as error:
        raise options.Incomplete(str(error)) from error
    except CannotWrite as error:
        raise click.UsageError(str(error)) from error
    except bundle.NotReproduced as error:
        options.echo(f"not reproduced: {original.id} diverges on {name}, but {error}")
        return ExitCode.UNEXPECTED
    _print(original, reproduced, name, folder, written)
    return ExitCode.AS_EXPECTED


def _chosen(case_run: CaseRun, name: str | None) -> Variant | None:
    """The variant to reproduce: the first that diverges."""
    executing.variants_named(case_run.case, name)
    for variant in case_run.diverging:
        if name in (None, variant.name) and case_run.results[variant].request is not None:
            return variant
    return None


def _verdicts(case_run: CaseRun) -> str:
    verdicts = []
    for variant, judgement in case_run.judgements.items():
        message = f" ({' '.join(judgement.message.split())})" if judgement.message else ""
        verdicts.append(f"{variant.name} {judgement.verdict.value}{message}")
    return "; ".join(verdicts)


def _print(case: Case, reproduced: Reproduced, name: str, folder: Path, written: Written) -> None:
    small = reproduced.case_run.case
    kinds = ", ".join(kind.value for kind in reproduced.kinds)
    options.echo(f"{kinds} of {case.id} on {name} ({reproduced.variant.name})")
    attributes = ", ".join(f"{key}={value}" for key, value in small.attributes.items()) or "no attributes"
    before = f", from X{coordinates(case.X.shape)}" if small.X.shape != case.X.shape else ""
    options.echo(f"  {small.X.dtype.name} X{coordinates(small.X.shape)}  {attributes}{before}")
    options.echo(textwrap.indent(written.printed.strip(), "  "))
    options.echo(f"repro.py exits with 1 in {written.environment}")
    for file in written.files:
        options.echo(folder / file)
