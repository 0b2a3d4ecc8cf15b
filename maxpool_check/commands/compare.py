"""``maxpool-check compare``, and the options that ``gate`` shares with it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import click

from maxpool_check.commands import old_options as options
from maxpool_check.commands.old_case_files import mistakes
from maxpool_check.commands.old_output import Output
from maxpool_check.comparing.acceptance import read_accepted
from maxpool_check.comparing.gate import GatePolicy, TargetComparison, compare_targets
from maxpool_check.comparing.transitions import BLOCKING, UNOBSERVABLE, Change, Incomparable, paired
from maxpool_check.corpus.selection import ALL
from maxpool_check.judging.defects import Severity
from maxpool_check.reporting import changes_ci, changes_json, changes_markdown, changes_text
from maxpool_check.reporting.changes import ComparisonReport
from maxpool_check.reporting.html import changes as changes_html
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.specifications import documents
from maxpool_check.specifications.specification import nearest

_Command = TypeVar("_Command", bound=Callable[..., Any])

FORMATS: options.Formats[ComparisonReport] = {
    "text": changes_text.write,
    "markdown": changes_markdown.write,
    "html": changes_html.write,
    "json": changes_json.write,
    "junit": changes_ci.write_junit,
    "github": changes_markdown.write_github,
    "sarif": changes_ci.write_sarif,
}
"""The formats of the report of a comparison. A new one is its module and a line here."""


@dataclass(frozen=True)
class FailOn:
    """The changes that block; if there are severities, only where the new result is of one of them."""

    changes: tuple[Change, ...]
    severities: tuple[Severity, ...]


def _fail_on(text: str) -> FailOn:
    """A list of changes and severities; ``any`` are all observable changes, and severities alone are of the usual ones."""
    observable = tuple(change for change in Change if change not in UNOBSERVABLE)
    changes = {**{change.value: (change,) for change in observable}, "any": observable}
    severities = {severity.value: severity for severity in Severity}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (*changes, *severities):
            known = f"{', '.join(changes)}; or, of severities, {', '.join(severities)}"
            raise ValueError(f"unknown change '{name}'{nearest(name, [*changes, *severities])}; known: {known}")
    chosen = tuple(change for name in names for change in changes.get(name, ()))
    return FailOn(chosen or BLOCKING, tuple(severities[name] for name in names if name in severities))


_BLOCKING = ",".join(change.value for change in BLOCKING)

_fail_on_option = click.option(
    "--fail-on", type=options.Parsed("CHANGE,...", _fail_on), default=_BLOCKING,
    help="The changes that block, or 'any'; with severities, such as wrong-on-finite, only where the new result is of one of them."
    f"  [default: {_BLOCKING}]",
)  # fmt: skip
_accept_option = click.option(
    "--accept", "accepted_files", multiple=True, type=options.FILE, metavar="FILE",
    help="Files of changes that you have accepted, which do not block: see 'gate accept'. Repeatable.",
)  # fmt: skip


@dataclass(frozen=True)
class PolicyOptions:
    """What blocks."""

    fail_on: FailOn
    accepted_files: Sequence[Path] = ()

    def read(self) -> GatePolicy:
        """The policy, with what is accepted today. Raises :class:`Mistakes`."""
        with mistakes():
            accepted = [entry for file in self.accepted_files for entry in read_accepted(file)]
        severities = self.fail_on.severities or None
        return GatePolicy(self.fail_on.changes, severities, accepted, date.today())


def policy_options(command: _Command) -> _Command:
    """``--fail-on`` and ``--accept``."""
    return _fail_on_option(_accept_option(command))


def outputs(command: _Command) -> _Command:
    """``--format``, ``--report``, ``-v`` and ``--color``."""
    verbose = options.verbose("Show every change in full, with all its cases")
    return options.form(FORMATS)(options.reports(FORMATS)(verbose(options.color(command))))


@click.command("compare")
@click.argument("old", type=options.FILE)
@click.argument("new", type=options.FILE)
@click.option("--old-target", metavar="TARGET", help="The target of the old record.  [default: the only one]")
@click.option("--new-target", metavar="TARGET", help="The target of the new record.  [default: the only one]")
@click.option("--intersection", is_flag=True, help="Leave out cases that differ between the records.")
@click.option(
    "--spec", "specs", multiple=True, type=options.DOCUMENTS, callback=options.joined, metavar="NAME,...",
    help="Only the cases of these documents or families, such as onnx-22, sonnx or openvino. Repeatable.",
)  # fmt: skip
@policy_options
@outputs
@options.bundled(output=Output, policy=PolicyOptions)
def command(
    old: Path, new: Path, old_target: str | None, new_target: str | None, intersection: bool, specs: tuple[str, ...],
    policy: PolicyOptions, output: Output,
) -> int:  # fmt: skip
    """Compare two records, OLD and NEW: what is the same, fixed, regressed, refused, accepted, or otherwise changed.

    Ends with SAFE, REVIEW or BLOCK. Exit codes: 0, 1 for BLOCK, 2 if the records hold different cases, 3 if one of them is
    incomplete, 4 if nothing can be compared.

    \b
    Examples:
      maxpool-check compare old.jsonl new.jsonl
      maxpool-check compare old.jsonl new.jsonl --fail-on any --report markdown=-
    """
    output.check_writable([old, new, *policy.accepted_files])
    blocking = policy.read()
    before, after = options.read_record(old), options.read_record(new)
    try:
        comparisons = [
            compare_targets(
                before, after, names, blocking, intersection=intersection, cases=_of_documents(specs, before, after)
            )
            for names in paired(before, after, (old_target, new_target))
        ]
    except Incomparable as error:
        hint = "; --intersection leaves out what differs" if "in both" in str(error) else ""
        raise click.UsageError(f"the records cannot be compared: {error}{hint}") from error
    return show("compare", comparisons, output)


def _of_documents(specs: Sequence[str], *records: Record) -> set[str] | None:
    """The cases of some documents in records; None: all."""
    if not specs or ALL in specs:
        return None
    chosen = {document for name in specs for document in documents(name)}
    return {each.case for record in records for each in record.executions if each.spec in chosen}


def show(
    name: str,
    comparisons: Sequence[TargetComparison],
    output: Output,
    *,
    problems: Sequence[str] = (),
    undecided: ExitCode = ExitCode.NOTHING_COMPARED,
) -> ExitCode:
    """Print what has changed, write the reports, and return the exit code; ``problems`` say why there is no comparison."""
    verbose = output.verbose > 0
    report = ComparisonReport(name, comparisons, options.width(), output.colored, verbose, problems, undecided)
    output.publish(FORMATS, report, replace(report, color=False))
    in_workflow = os.environ.get("GITHUB_ACTIONS") == "true"
    if in_workflow and output.form == "text" and any(kind == "github" for kind, _ in output.reports):
        for line in changes_ci.workflow_commands(report):
            click.echo(line)
    return report.exit_code
