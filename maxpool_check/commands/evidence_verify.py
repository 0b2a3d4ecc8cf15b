"""``maxpool-check evidence verify`` and ``evidence diff``."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from maxpool_check import inert
from maxpool_check.commands import old_options as options
from maxpool_check.commands.executing import progress_bar
from maxpool_check.commands.offline import offline
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.evidence.bundling.archive import BadArchive, unpacked
from maxpool_check.evidence.bundling.contents import BadBundle, opened
from maxpool_check.evidence.bundling.differences import Differences, cases_to_run, differences, rerun
from maxpool_check.evidence.bundling.record_check import Verification
from maxpool_check.evidence.bundling.verification import verified
from maxpool_check.files import not_found
from maxpool_check.results.record import ExitCode
from maxpool_check.results.storage import BadRecord
from maxpool_check.words import plural

VERIFICATION_SCHEMA = "maxpool-check/verification/1"
DIFFERENCE_SCHEMA = "maxpool-check/evidence-diff/1"

_MOST = 20
"""How many problems, and changes of a part, are printed without -v."""


@click.command("verify", short_help="Verify a bundle: every file, page and verdict.")
@click.argument("bundle", type=options.FILE, metavar="FILE")
@click.option(
    "--key", type=options.FILE, metavar="PUBLIC_KEY",
    help="Who must have signed it: a public key of OpenSSH (.pub), or a file of allowed signers.",
)  # fmt: skip
@click.option(
    "--rerun", "runs", is_flag=True, help="Run all cases on the same releases again, and compare what they return."
)
@options.timeout
@offline
@options.form()
@options.verbose("Print every problem, and every execution whose outputs the record does not tell")
def verify(bundle: Path, key: Path | None, runs: bool, timeout: float, form: str, verbose: int) -> int:
    """Verify the bundle FILE: its files by their digests, its pages and verdicts by making them again from the records.

    Exit codes: 0 verified, 1 something is altered, missing, added or does not follow, 2 usage, 3 not all could be checked.

    \b
    Examples:
      maxpool-check evidence verify evidence.tar
      maxpool-check evidence verify evidence.tar --key lab.pub --rerun
    """
    with _readable(bundle, key), verified(bundle, key) as (verification, contents):
        if runs and contents is None:
            verification.unchecked.append("nothing was run again: the bundle cannot be read")
        elif runs and contents is not None:
            with progress_bar("cases", cases_to_run(contents), quiet=form != "text") as progress:
                rerun(contents, verification, timeout, progress)
    if form == "json":
        click.echo(inert.dumps(_verification_json(bundle, verification), 1))
    else:
        _print_verification(bundle, verification, verbose > 0)
    return verification.exit_code


@click.command("diff", short_help="Say what changed between two bundles.")
@click.argument("old", type=options.FILE)
@click.argument("new", type=options.FILE)
@options.form()
@options.verbose("Print every change")
def diff(old: Path, new: Path, form: str, verbose: int) -> int:
    """Say what changed from the bundle OLD to the bundle NEW: tool, clauses, cases, defects, kills, environments, results.

    Neither is verified. Exit codes: 0 nothing changed, 1 something did, 2 usage.

    \b
    Examples:
      maxpool-check evidence diff old.tar new.tar
      maxpool-check evidence diff old.tar new.tar --format json
    """
    with contextlib.ExitStack() as stack:
        sides = []
        for path in (old, new):
            with _readable(path, None):
                try:
                    sides.append(stack.enter_context(opened(unpacked(path))))
                except (BadArchive, BadBundle, BadRecord, CorpusError) as error:
                    raise click.UsageError(
                        f"{path} cannot be read: {error}; 'maxpool-check evidence verify {path}' says more"
                    ) from error
        found = differences(*sides)
    if form == "json":
        document = {"schema": DIFFERENCE_SCHEMA, "old": str(old), "new": str(new), "differences": found}
        click.echo(inert.dumps(document, 1))
    else:
        _print_differences(found, verbose > 0)
    return ExitCode.UNEXPECTED if found else ExitCode.AS_EXPECTED


@contextlib.contextmanager
def _readable(bundle: Path, key: Path | None) -> Iterator[None]:
    """Turn files that cannot be read into errors of usage."""
    for path in (bundle, key):
        if path is not None and not path.exists():
            hint = "; 'maxpool-check evidence build' writes a bundle" if path is bundle else ""
            raise click.UsageError(f"{not_found(path, is_file=True)}{hint}")
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"cannot read {error.filename or bundle}: {error.strerror}") from error


def _verification_json(bundle: Path, verification: Verification) -> dict[str, object]:
    return {
        "schema": VERIFICATION_SCHEMA,
        "bundle": str(bundle),
        "exit_code": int(verification.exit_code),
        "checks": verification.checks,
        "problems": [{"place": place, "message": message} for place, message in verification.problems],
        "unchecked": verification.unchecked,
        "undecided": [{"place": each.place, "verdict": each.verdict.value} for each in verification.undecided],
    }


def _print_verification(bundle: Path, verification: Verification, verbose: bool) -> None:
    for sentence in verification.checks:
        options.echo(f"ok  {sentence}")
    problems = verification.problems
    for place, message in problems if verbose else problems[:_MOST]:
        options.echo(f"PROBLEM  {place}: {message}")
    if not verbose and len(problems) > _MOST:
        options.echo(f"... and {plural(len(problems) - _MOST, 'more problem')}; -v prints all")
    for text in verification.unchecked:
        options.echo(f"NOT CHECKED  {text}")
    if verification.undecided:
        count = plural(len(verification.undecided), "execution")
        options.echo(
            f"{count}: an output is too large for the record, so that the verdict could not be made again; the verdicts of "
            f"{verification.undecided_without_fault} of them do not fail the run. --rerun compares them."
        )
        for each in verification.undecided if verbose else ():
            options.echo(f"  {each.place}: {each.verdict}")
    endings = {
        ExitCode.AS_EXPECTED: f"VERIFIED  {bundle}",
        ExitCode.UNEXPECTED: f"NOT VERIFIED  {bundle}: {plural(len(problems), 'problem')}",
        ExitCode.INCOMPLETE: f"NOT COMPLETELY VERIFIED  {bundle}: no problem, but not all could be checked",
    }
    options.echo(endings[verification.exit_code])


def _print_differences(found: Differences, verbose: bool) -> None:
    for part, lines in found.items():
        options.echo(f"{part}: {plural(len(lines), 'change')}")
        for line in lines if verbose else lines[:_MOST]:
            options.echo(f"  {line}")
        if not verbose and len(lines) > _MOST:
            options.echo(f"  ... and {len(lines) - _MOST} more; -v prints all")
    if not found:
        options.echo("Nothing changed.")
