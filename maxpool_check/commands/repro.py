"""``maxpool-check repro``."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from maxpool_check import __version__
from maxpool_check.commands import executing, model_cases
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import default_path, defect_files, root_of, shipped_root
from maxpool_check.corpus.conditions import meets, shown_by
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import DefectVersions, read_versions
from maxpool_check.corpus.quantities import Features
from maxpool_check.judging.defects import Defect, shows
from maxpool_check.judging.kinds import DESCRIPTIONS, KindGroup
from maxpool_check.reporting.tensors import coordinates
from maxpool_check.reproducing import bundle, others
from maxpool_check.reproducing.bundle import NotReproduced, Written
from maxpool_check.reproducing.others import DefectNote
from maxpool_check.reproducing.reproduced import CannotWrite, Reproduced
from maxpool_check.results.record import ExitCode, TargetDescription, Verdict
from maxpool_check.results.variants import DEFAULT_VARIANTS, Variant, variant_named
from maxpool_check.running.case_run import CaseRun, executions, run_case
from maxpool_check.running.shrinking import shrunk
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.cache import CannotMake
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target

_SMALL = 36
"""The most cells of X with which the example of a defect is reproduced as it is."""

_IDS = re.compile(r" ?\([A-Z]+(?:-[A-Z0-9]+)+\)")
"""The ids of other defects in brackets, which mean nothing to others."""


@click.command("repro")
@click.argument("case")
@options.target("Runtime to test, e.g. onnxruntime==1.23.2.")
@click.option(
    "-o", "--output", "folder", required=True, type=options.FILE, metavar="DIR",
    help="Where to write: a new or empty folder, or one that repro wrote.",
)  # fmt: skip
@options.specs
@case_files.folder
@click.option(
    "--variant", "name", metavar="NAME", help="E.g. y-only, indices-twice.  [default: the first that diverges]"
)
@click.option("--no-shrink", is_flag=True, help="Reproduce the case as it is, not a smaller one.")
@click.option(
    "--also", "also", multiple=True, metavar="TARGET", type=options.TARGET,
    help="Show what this runtime returns, too (repeatable).  [default: the installed runtimes]",
)  # fmt: skip
@options.inputs
@options.shapes
@options.timeout
@case_files.max_cells
def command(
    case: str, target: TargetName, specs: tuple[str, ...], folder: Path, path: Path | None, name: str | None,
    no_shrink: bool, also: tuple[TargetName, ...], inputs: Path | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...], timeout: float, max_cells: int,
) -> int:  # fmt: skip
    """Write a reproduction of a divergence that others can run.

    CASE is a full id, such as sonnx/float:float-example-3, or FILE.yaml:ID; the id of a defect, whose example is taken,
    with what is known of it; or a node of a model, MODEL.onnx:NODE, or one of its tests, MODEL.onnx:NODE/graph/negative.
    It is run, made as small as possible while it still shows the same kinds, and written to DIR: repro.py, a short script that needs nothing but the runtime, numpy and
    onnx; model.onnx and test_data_set_0, for ONNX's backend test runner; case.yaml; and ISSUE.md, the text of an issue
    after the form of the project, with what other runtimes return.

    repro.py is run in a clean environment before anything is written. It exits with 1 while the defect is there, with 0
    once it is fixed, with 125 where that cannot be told, as git bisect run expects.

    Exit codes: 0 written, 1 not reproduced and nothing written, 2 usage, 3 could not complete.

    \b
    Examples:
      maxpool-check repro ORT-PAD-FOLDED -t onnxruntime==1.31.1 -o repro
      maxpool-check repro my.onnx:pool1 -t onnxruntime==1.31.1 -o repro
    """
    if not bundle.is_free(folder):
        raise click.UsageError(f"{folder} contains something other than a reproduction; name a new folder")
    (target,) = options.claiming([target], specs)
    model_cases.refuse_without_node(Path(case))
    defect, versions = _defect(case, path)
    model, _, node = case.rpartition(":")
    try:
        with TargetSession(Target(target, timeout)) as session:
            if model_cases.is_model(Path(model)):
                analysis = model_cases.analysed(Path(model), inputs, dict(shapes), takes_models=target.takes_models)
                case_run, chosen, variants = _first_diverging(
                    session, model_cases.candidates(analysis, node, session), name
                )
                defect, versions = _known(case_run, chosen, session.profile.description)
            else:
                found = case_files.find(case if defect is None else str(defect.example), path, max_cells)
                executing.validate_against_reference([found])
                variants = _variants(found, name, defect)
                case_run = run_case(session, found, variants)
                chosen = _chosen(case_run, name, defect)
            original = case_run.case
            if chosen is None:
                options.echo(f"not reproduced: {original.id} on {target}: {_verdicts(case_run)}")
                failed = any(judgement.verdict is Verdict.ERROR for judgement in case_run.judgements.values())
                return ExitCode.INCOMPLETE if failed else ExitCode.UNEXPECTED
            if not no_shrink:
                case_run = _shrunk(session, case_run, chosen, variants, defect)
            description = session.profile.description
            reproduced = Reproduced(case_run, chosen, description)
            about = (
                f"Made from {original.id} by maxpool-check {__version__} repro, on {target} ({description.version})."
            )
            # What a runtime makes of the original model is no answer to what a tool makes of it.
            targets = also or (others.installed(description) if target.tool is None else ())
            answers = others.answers(case_run.case, chosen, targets, timeout, required=bool(also))
            note = _note(defect, versions) if defect is not None else None
            written = bundle.write(reproduced, session, folder, about, defect=note, also=answers)
    except (CannotStart, CannotMake) as error:
        raise options.Incomplete(str(error)) from error
    except CannotWrite as error:
        raise click.UsageError(str(error)) from error
    except NotReproduced as error:
        options.echo(f"not reproduced: {original.id} diverges on {target}, but {error}")
        return ExitCode.UNEXPECTED
    _print(original, reproduced, str(target), folder, written)
    return ExitCode.AS_EXPECTED


def _first_diverging(
    session: TargetSession, cases: Iterator[Case], name: str | None
) -> tuple[CaseRun, Variant | None, tuple[Variant, ...]]:
    """The run of the first case that diverges, in which variant, and the variants; of the last case if none does."""
    for case in cases:
        variants = _variants(case, name, None)
        case_run = run_case(session, case, variants)
        chosen = _chosen(case_run, name, None)
        if chosen is not None:
            break
    return case_run, chosen, variants


def _known(
    case_run: CaseRun, chosen: Variant | None, target: TargetDescription
) -> tuple[Defect | None, DefectVersions]:
    """The known defect that a case of a model shows, which is printed, and the versions that show which defects."""
    if chosen is None:
        return None, DefectVersions()
    defects, versions = read_all_defects(defect_files(shipped_root())), read_versions(shipped_root())
    (execution,) = (each for each in executions(case_run) if each.variant == chosen.name)
    defect = shown_by(defects, target, Features(case_run.case), chosen, execution)
    if defect is not None:
        fixed = versions.fixed_in(defect)
        end = f"; {fixed} does not have it" if fixed is not None else ""
        options.echo(f"known as {defect.id}, shown by versions {versions.span(defect)}{end}")
    return defect, versions


def _defect(name: str, path: Path | None) -> tuple[Defect | None, DefectVersions]:
    """The defect with this id, if it is one, and which versions are known to show which defects."""
    root = root_of(path or default_path())
    if ":" in name or not (files := defect_files(root)):
        return None, DefectVersions()
    with case_files.mistakes():
        defects, versions = {defect.id: defect for defect in read_all_defects(files)}, read_versions(root)
    if name not in defects:
        raise click.UsageError(
            f"'{name}' is neither a defect nor a case, FILE.yaml:ID or a full id{nearest(name, defects)}"
        )
    if defects[name].example is None:
        raise click.UsageError(f"the defect {name} names no example; pass one of its cases")
    return defects[name], versions


def _note(defect: Defect, versions: DefectVersions) -> DefectNote:
    """What an issue says of a known defect."""
    upstream = defect.upstream
    return DefectNote(
        defect.title, _IDS.sub("", defect.mechanism), _IDS.sub("", defect.established), versions.span(defect),
        upstream.issue if upstream is not None else None,
        f"{upstream.state}, as seen {upstream.seen}" if upstream is not None else None,
    )  # fmt: skip


def _variants(case: Case, name: str | None, defect: Defect | None) -> tuple[Variant, ...]:
    """The variants to execute: the default ones, and one that is named with the one that it is compared with."""
    if name is None and defect is not None:
        expected = [each for each in defect.expected if each.by_conditions or each.binds(case.id)]
        named = [variant for each in expected for variant in sorted(each.variants or ())]
        return tuple(
            dict.fromkeys((*DEFAULT_VARIANTS, *(each for variant in named for each in (variant.base, variant))))
        )
    try:
        named = [variant_named(name)] if name is not None else []
    except KeyError:
        named = []
    if name is not None and not set(named) & set(case.variants(named)):
        # It says which there are.
        executing.variants_named(case, name)
    return (*DEFAULT_VARIANTS, *named, *(variant.base for variant in named))


def _chosen(case_run: CaseRun, name: str | None, defect: Defect | None) -> Variant | None:
    """The variant to reproduce: the first that diverges, as the defect does, or Y alone if it shows the same."""
    executed = [each for each in case_run.diverging if case_run.results[each].request is not None]
    named = [each for each in executed if name in (None, each.name)]
    if defect is not None:
        named = [each for each in named if _shows(case_run, each, defect)]
    if not named:
        return None
    kinds = case_run.judgements[named[0]].kinds
    alone = [each for each in named if each == Variant(("Y",)) and case_run.judgements[each].kinds == kinds]
    return alone[0] if alone else named[0]


def _shows(case_run: CaseRun, variant: Variant, defect: Defect) -> bool:
    """Whether a variant shows what some entry of a defect expects, of whatever case."""
    kinds = set(case_run.judgements[variant].kinds)
    return any(kinds == {kind for kind in each.kinds if shows(variant, kind)} for each in defect.expected)


def _shrunk(
    session: TargetSession, case_run: CaseRun, chosen: Variant, variants: Sequence[Variant], defect: Defect | None
) -> CaseRun:  # fmt: skip
    """The run of a smaller case that shows the same in the chosen variant, and the same defect.

    The example of a defect stays as it is if it is small: a smaller one may show another with the same kinds.
    """
    if defect is not None and case_run.case.X.size <= _SMALL:
        return case_run
    kinds = case_run.judgements[chosen].kinds
    needed = list(variants)
    if case_run.case.context.is_alone and all(DESCRIPTIONS[kind].group is not KindGroup.DEPENDENCE for kind in kinds):
        # The others are not compared with it.
        needed = [variant for variant in variants if variant == chosen]
    small = shrunk(
        session, case_run, chosen, needed,
        lambda case: defect is None or meets(defect.conditions, Features(case)),
    )  # fmt: skip
    title = f"{', '.join(kind.value for kind in kinds)} on {case_run.target}"
    return run_case(session, replace(small, id=case_run.case.id, title=title), variants)


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
    options.echo(textwrap.indent(written.trial.stdout.strip(), "  "))
    options.echo(f"repro.py exits with 1 in {written.trial.environment}")
    options.echo(f"ISSUE.md: {written.title}")
    for file in written.files:
        options.echo(folder / file)
