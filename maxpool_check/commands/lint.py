"""``maxpool-check lint``."""

import click

from maxpool_check.commands import executing
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.output import Mistakes
from maxpool_check.corpus.case import contradictions, disagreements
from maxpool_check.corpus.defect_file import read_defects, unmatched, unmet_conditions
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.results.record import ExitCode
from maxpool_check.words import plural


@click.command("lint")
@click.option(
    "--check-references",
    is_flag=True,
    help="Also compute every case by both references, which must agree in every bit.",
)
@case_files.every
def command(files: case_files.CaseFiles, check_references: bool) -> int:
    """Check case files and defects against the reference.

    The reference must reproduce every expectation, unless an erratum explains the difference.

    \b
    Examples:
      maxpool-check lint cases/
      maxpool-check lint corpus:sonnx
    """
    corpus = files.read()
    problems: list[object] = [problem for case in corpus.cases for problem in contradictions(case)]
    count = 0
    for file in corpus.known_files:
        try:
            defects = read_defects(file)
        except CorpusError as error:
            problems.extend(error.problems)
            continue
        count += len(defects)
        if corpus.whole:
            problems.extend(unmatched(file, [case.id for case in corpus.cases]))
            problems.extend(unmet_conditions(file, defects, corpus.cases))
    if problems:
        raise Mistakes(problems)
    agreement = executing.compare_references(corpus.cases, "results cannot be trusted") if check_references else None
    errata = {case: "; ".join(disagreements(case)) for case in corpus.cases if case.erratum}
    errata = {case: text for case, text in errata.items() if text}
    for case, text in errata.items():
        options.echo(f"{case.origin.path}:{case.origin.line}: {case.id} {text} (erratum)")
    files_of_cases = len({case.origin.path for case in corpus.cases})
    options.echo(
        f"{plural(len(corpus.cases), 'case')} in {plural(files_of_cases, 'file')}, {plural(count, 'defect')}: "
        f"no problems, {plural(len(errata), 'erratum', 'errata')}"
    )
    if agreement is not None:
        options.echo(f"both references computed {plural(agreement.compared, 'case')}, and agree in every bit")
    return ExitCode.AS_EXPECTED
