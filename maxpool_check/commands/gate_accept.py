"""``maxpool-check gate accept``."""

from collections.abc import Sequence
from datetime import date, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import click

from maxpool_check.commands import compare
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.gate import BASE, base_of, base_target
from maxpool_check.comparing.acceptance import add_accepted, narrowest
from maxpool_check.comparing.gate import compare_targets
from maxpool_check.comparing.transitions import Incomparable
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.name import TargetName
from maxpool_check.words import plural

_YEAR = timedelta(days=365)


@click.command("accept")
@click.argument("record", type=options.FILE, metavar="RECORD.jsonl")
@click.option(
    "--to", "file", type=options.FILE, required=True, metavar="FILE",
    help="The file to add to, in YAML; it is made if it is not there.",
)  # fmt: skip
@click.option("--author", required=True, metavar="NAME", help="Who accepts the changes.")
@click.option("--reason", required=True, metavar="TEXT", help="Why they do no harm.")
@click.option(
    "--expires", type=options.DATE, metavar="DATE",
    help="The last day on which they are accepted, YYYY-MM-DD.  [default: in a year]",
)  # fmt: skip
@click.option(
    "--base", type=BASE, metavar=BASE.name,
    help="The base of the gate: a target of the record, or a record.  [default: the first target of the record]",
)  # fmt: skip
@base_target
@click.option(
    "-k",
    "patterns",
    multiple=True,
    metavar="GLOB",
    help="Only these cases, by the id or its part after the colon. Repeatable.",
)
@compare.policy_options
@options.bundled(policy=compare.PolicyOptions)
def command(
    record: Path, file: Path, author: str, reason: str, expires: date | None, base: TargetName | Path | None,
    base_target: str | None, patterns: tuple[str, ...], policy: compare.PolicyOptions,
) -> int:  # fmt: skip
    """Accept the changes that block in the RECORD of a gate, which it wrote with -o.

    The entries are as narrow as can be: exact cases, kinds, variants, and the version of the new target. With the file as
    --accept of gate, these changes are to review and no longer block, until they expire; widen entries by hand.

    \b
    Examples:
      maxpool-check gate accept gate.jsonl --to accepted.yaml --author "A. Author" --reason "NaN never gets there"
      maxpool-check gate accept gate.jsonl --base old.jsonl -k 'edge/nan*' --to accepted.yaml --author A --reason NaN
    """
    for name, words in (("--author", author), ("--reason", reason)):
        if not words.strip():
            raise click.UsageError(f"{name} is empty")
    until = expires or date.today() + _YEAR
    if until < date.today():
        raise click.UsageError(f"--expires {until} has passed")
    stored = options.read_record(record)
    names = [target.name for target in stored.header.targets]
    if isinstance(base, Path):
        old, old_name = base_of(base, base_target)
    else:
        old, old_name = stored, str(base) if base is not None else names[0]
    heads = [name for name in names if old is not stored or name != old_name]
    if not heads or (old is stored and old_name not in names):
        hint = nearest(old_name, names)
        raise click.UsageError(f"{record} has no base '{old_name}'{hint} and another target; it has {', '.join(names)}")
    files = [*policy.accepted_files, *([file] if file.exists() else [])]
    chosen = _chosen(stored, patterns)
    blocking = compare.PolicyOptions(policy.fail_on, tuple(dict.fromkeys(files))).read()
    added = 0
    for head in heads:
        try:
            comparison = compare_targets(old, stored, (old_name, head), blocking)
        except Incomparable as error:
            raise click.UsageError(f"the records cannot be compared: {error}") from error
        changes = [
            (each.change, each.execution.case, each.execution.variant, each.new.kinds if each.new is not None else ())
            for each in comparison.transitions
            if each.blocks and each.execution.case in chosen
        ]
        entries = narrowest(changes, comparison.new, author, reason, until)
        if entries:
            with case_files.mistakes("nothing was written"):
                add_accepted(file, entries)
        cases = len({case for _, case, *_ in changes})
        options.echo(f"{old_name} to {head}: {plural(len(changes), 'change')} of {plural(cases, 'case')} accepted")
        added += len(entries)
    if not added:
        options.echo("nothing blocks" + (f" in {plural(len(chosen), 'case')} that -k selects" if patterns else ""))
        return ExitCode.AS_EXPECTED
    options.echo(f"{plural(added, 'entry', 'entries')} added to {file}, until {until}; review them before you commit")
    return ExitCode.AS_EXPECTED


def _chosen(record: Record, patterns: Sequence[str]) -> set[str]:
    """The cases of a record that any pattern matches, by the id or its part after the colon. Raises ``click.UsageError``."""
    cases = {execution.case for execution in record.executions}
    chosen = set() if patterns else cases
    for pattern in patterns:
        matching = {
            case for case in cases if fnmatchcase(case, pattern) or fnmatchcase(case.rpartition(":")[2], pattern)
        }
        if not matching:
            raise click.UsageError(f"-k: the record has no case '{pattern}'{nearest(pattern, cases)}")
        chosen |= matching
    return chosen
