"""``maxpool-check gate``."""

from collections.abc import Sequence
from pathlib import Path

import click

from maxpool_check.commands import case_files, compare, executing, options
from maxpool_check.commands.offline import offline
from maxpool_check.comparing.gate import compare_targets
from maxpool_check.comparing.transitions import Change, Incomparable
from maxpool_check.results.record import ExitCode
from maxpool_check.results.storage import Recorder
from maxpool_check.targets.name import TargetName, parse

_BASE = options.Parsed(
    "TARGET|RECORD.jsonl", lambda text: Path(text) if text.endswith((".jsonl", ".jsonl.gz")) else parse(text)
)


@click.command("gate")
@click.option(
    "--base", required=True, type=_BASE, metavar=_BASE.name, help="The runtime in use: a target, or a record of it."
)  # fmt: skip
@click.option("--head", required=True, type=options.TARGET, metavar="TARGET", help="The runtime to upgrade to.")
@offline
@options.specs
@options.jobs
@options.timeout
@compare.fail_on
@options.record
@options.quiet
@compare.outputs
@options.bundled(output=options.Output)
@case_files.corpus_lock
@case_files.selected
def command(
    files: case_files.CaseFiles, base: TargetName | Path, head: TargetName, specs: tuple[str, ...], jobs: int,
    timeout: float, blocking: Sequence[Change], output: options.Output,
) -> int:  # fmt: skip
    """Run the cases of PATH... on two targets, and decide whether the head may replace the base.

    Ends with SAFE (no observable change), REVIEW (fixed, changed where the documents leave a point open, newly accepted:
    production may rely on the old behaviour) or BLOCK (regressed, newly refused, a new crash). Exits with 0, or with 1 on
    BLOCK; 2 usage or a bad file, 3 could not complete, 4 nothing was compared.
    """
    if base == head:
        raise click.UsageError(f"the base and the head are the same, {base}")
    if output.output == base:
        raise click.UsageError(f"the record would overwrite the base, {base}")
    stored = options.read_record(base) if isinstance(base, Path) else None
    if stored is not None and len(stored.header.targets) != 1:
        raise click.UsageError(
            f"{base} has {len(stored.header.targets)} targets; a base has one: run it alone, with -o"
        )
    corpus = executing.read_valid(files)
    cases = files.select(corpus)
    targets = options.claiming([base, head] if isinstance(base, TargetName) else [head], specs)
    records = [base] if isinstance(base, Path) else []
    output.check_writable([*corpus.files, *corpus.known_files, *records, *options.kernels(targets)])
    with Recorder(output.output) as recorder:
        record = executing.record_cases(
            recorder, corpus, cases, targets, jobs=jobs, timeout=timeout, quiet=output.quiet,
            known=executing.defects_of(corpus),
        )  # fmt: skip
        assert record.footer is not None
        for error in record.footer.errors:
            options.echo(f"error: {error}", err=True)
        if not cases:
            return compare.show("gate", [], output, problems=["no case is selected"])
        tested = [target.name for target in record.header.targets]
        missing = [f"{target} was not tested" for target in targets if str(target) not in tested]
        if missing:
            errors = record.footer.errors or missing
            return compare.show("gate", [], output, problems=errors, undecided=ExitCode.INCOMPLETE)
        try:
            old = stored or record
            names = (old.header.targets[0].name, str(head))
            # A whole corpus has lost the cases that only the base has; of selected cases, the others do not count.
            ids = {case.id for case in cases} if stored is not None and files.selected else None
            return compare.show("gate", [compare_targets(old, record, names, blocking, cases=ids)], output)
        except Incomparable as error:
            raise click.UsageError(f"{base} cannot be the base: {error}; record it again with these cases") from error
