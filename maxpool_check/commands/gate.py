"""``maxpool-check gate``."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from maxpool_check.commands import compare, executing
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.offline import offline
from maxpool_check.commands.old_output import Output
from maxpool_check.comparing.gate import GatePolicy, TargetComparison, compare_targets
from maxpool_check.comparing.transitions import Incomparable
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.selection import ALL
from maxpool_check.files import RECORD_SUFFIXES
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.results.storage import Recorder
from maxpool_check.results.variants import Variant
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.name import TargetName, parse
from maxpool_check.words import plural

BASE = options.Parsed("TARGET|RECORD.jsonl", lambda text: Path(text) if text.endswith(RECORD_SUFFIXES) else parse(text))
"""A target, or the path of a record."""

base_target = click.option(
    "--base-target", metavar="TARGET", help="The target of a base record that has several.  [default: the only one]"
)


@click.command("gate")
@click.option(
    "--base", "bases", required=True, multiple=True, type=BASE, metavar=BASE.name,
    help="The runtime in use: a target, or a record of it. Repeatable.",
)  # fmt: skip
@base_target
@click.option(
    "--head", "heads", required=True, multiple=True, type=options.TARGET, metavar="TARGET",
    help="The runtime to upgrade to. Repeatable: each is compared with each base.",
)  # fmt: skip
@options.variants
@options.jobs
@options.dask
@options.timeout
@options.memory
@offline
@compare.policy_options
@options.record
@options.quiet
@compare.outputs
@options.bundled(output=Output, policy=compare.PolicyOptions)
@case_files.corpus_lock
@case_files.selected
def command(
    files: case_files.CaseFiles, bases: tuple[TargetName | Path, ...], base_target: str | None, heads: tuple[TargetName, ...],
    variants: frozenset[Variant], jobs: int, dask: str | None, timeout: float, memory: int | None,
    policy: compare.PolicyOptions, output: Output,
) -> int:  # fmt: skip
    """Run the cases of PATH... on two targets, and decide whether the head may replace the base.

    Cases of documents that no target claims to implement are left out, unless --spec names them: --spec all runs all.

    Ends with SAFE (no observable change), REVIEW (fixed, changed where the documents leave a point open, newly accepted:
    production may rely on the old behaviour) or BLOCK (regressed, newly refused, a new crash). Known defects explain a change
    and excuse none; --accept does. Exits with 0, or with 1 on BLOCK; 2 usage or a bad file, 3 could not complete, 4 nothing
    was compared.

    \b
    Examples:
      maxpool-check gate --base onnxruntime==1.23.2 --head onnxruntime==1.31.1
      maxpool-check gate cases/ --base old.jsonl --head onnxruntime --accept accepted.yaml
    """
    options.check_exclusive(jobs, dask)
    _check_distinct(bases, heads)
    records = [base for base in bases if isinstance(base, Path)]
    if output.output in records:
        raise click.UsageError(f"the record would overwrite the base, {output.output}")
    stored = [base_of(path, base_target) for path in records]
    corpus = executing.read_valid(files)
    targets = files.claimed_by([*(base for base in bases if isinstance(base, TargetName)), *heads])
    claimed = _claimed(targets)
    cases = files.select(corpus, claimed)
    inputs = [*corpus.files, *corpus.known_files, *records, *policy.accepted_files, *options.kernels(targets)]
    output.check_writable(inputs)
    blocking = policy.read()
    _warn_of_unknown_cases(blocking, corpus.cases)
    with Recorder(output.output) as recorder:
        record = executing.record_cases(
            recorder, corpus, cases, targets, jobs=jobs, timeout=timeout, quiet=output.quiet, variants=variants,
            known=executing.defects_of(corpus), catalogue=executing.catalogue_for(corpus), dask=dask, memory=options.in_bytes(memory),
        )  # fmt: skip
        assert record.footer is not None
        for error in record.footer.errors:
            options.echo(f"error: {error}", err=True)
        tested = [target.name for target in record.header.targets]
        missing = [f"{target} was not tested" for target in targets if str(target) not in tested]
        if missing:
            errors = record.footer.errors or missing
            return compare.show("gate", [], output, problems=errors, undecided=ExitCode.INCOMPLETE)
        if claimed and not files.specs and len(cases) < len(files.select(corpus, [ALL])):
            options.echo(
                f"documents: {', '.join(claimed)}, which the targets claim; --spec all runs the others, too", err=True
            )
        run_here = [(record, str(base)) for base in bases if isinstance(base, TargetName)]
        comparisons = _comparisons([*run_here, *stored], record, heads, blocking, files, cases)
        return compare.show("gate", list(comparisons), output)


def base_of(path: Path, name: str | None) -> tuple[Record, str]:
    """The record of a base, and which of its targets it is. Raises ``click.UsageError``."""
    record = options.read_record(path)
    names = [target.name for target in record.header.targets]
    if name is None and len(names) != 1:
        raise click.UsageError(
            f"{path} has {plural(len(names), 'target')}; choose one with --base-target: {', '.join(names)}"
        )
    if name is not None and name not in names:
        raise click.UsageError(f"{path} has no target '{name}'{nearest(name, names)}; it has {', '.join(names)}")
    return record, name or names[0]


def _warn_of_unknown_cases(policy: GatePolicy, cases: Sequence[Case]) -> None:
    """Name what is accepted of cases that the corpus does not have: misspelt, or of another corpus."""
    ids = [case.id for case in cases]
    patterns = dict.fromkeys(pattern for entry in policy.accepted for pattern in entry.cases)
    for pattern in patterns:
        if not any(fnmatchcase(case, pattern) for case in ids):
            options.echo(f"accepted, but no case: '{pattern}'{nearest(pattern, ids)}", err=True)


def _check_distinct(bases: Sequence[TargetName | Path], heads: Sequence[TargetName]) -> None:
    for each in (*bases, *heads):
        if each in bases and each in heads:
            raise click.UsageError(f"the base and the head are the same, {each}")
        if (*bases, *heads).count(each) > 1:
            raise click.UsageError(f"'{each}' occurs twice")


def _claimed(targets: Sequence[TargetName]) -> list[str]:
    """The documents that targets claim to implement; none if one of them does not say, so that all are compared."""
    claimed = [target.implements for target in targets]
    return list(dict.fromkeys(name for names in claimed for name in names)) if all(claimed) else []


def _comparisons(
    bases: Sequence[tuple[Record, str]], record: Record, heads: Sequence[TargetName], policy: GatePolicy,
    files: case_files.CaseFiles, cases: Sequence[Case],
) -> Iterator[TargetComparison]:  # fmt: skip
    """Each head with each base. Raises ``click.UsageError`` for a base of other cases."""
    for base, name in bases:
        ids = None if base is record else _comparable(base, files, cases)
        for head in heads:
            try:
                yield compare_targets(base, record, (name, str(head)), policy, cases=ids)
            except Incomparable as error:
                message = f"{name} cannot be the base: {error}; record it again with these cases"
                raise click.UsageError(message) from error


def _comparable(base: Record, files: case_files.CaseFiles, cases: Sequence[Case]) -> set[str]:
    """The cases to compare with a stored base: a whole corpus has lost those that only the base has, a selection has not."""
    ids, specs = {case.id for case in cases}, {case.spec for case in cases}
    if files.selected:
        return ids
    return ids | {execution.case for execution in base.executions if execution.spec in specs}
