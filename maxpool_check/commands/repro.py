"""``maxpool-check repro``."""

import re
import shlex
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.corpus.defect_versions import DefectVersions
    from maxpool_check.judging.defects import Defect
    from maxpool_check.reproducing.bundle import Written
    from maxpool_check.reproducing.reproduced import Reproduced
    from maxpool_check.results.record import TargetDescription
    from maxpool_check.results.variants import Variant
    from maxpool_check.running.case_run import JudgedRun
    from maxpool_check.running.labels import Catalogue
    from maxpool_check.targets.name import TargetName
    from maxpool_check.targets.session import TargetSession

_SMALL = 36
"""The most cells of X with which the example of a defect is reproduced as it is."""

_IDS = re.compile(r" ?\([A-Z]+(?:-[A-Z0-9]+)+\)")
"""The ids of other defects in brackets, which mean nothing to others."""


@options.command("repro")
@click.argument("case", type=options.CASE)
@options.target("Runtime to test, e.g. onnxruntime==1.23.2.")
@click.option(
    "-o", "--output", "folder", required=True, type=options.FILE, metavar="DIR",
    help="Where to write: a new or empty folder, or one that repro wrote.",
)  # fmt: skip
@options.claims
@options.folder
@click.option(
    "--variant", "name", type=options.VARIANT, metavar="NAME",
    help="E.g. y-only, indices-twice.  [default: the first that diverges]",
)  # fmt: skip
@click.option(
    "--also", multiple=True, metavar="TARGET", type=options.TARGET,
    help="Show what this runtime returns, too (repeatable).  [default: the installed runtimes]",
)  # fmt: skip
@options.inputs
@options.shapes
def command(
    case: str, target: "TargetName", claims: tuple[str, ...], folder: Path, path: Path | None, name: str | None,
    also: "tuple[TargetName, ...]", inputs: Path | None, shape: tuple[tuple[str, tuple[int, ...]], ...],
) -> int:  # fmt: skip
    """Write a reproduction of a divergence that others can run.

    CASE is a full id, such as sonnx/float:float-example-3, or FILE.yaml:ID; the id of a defect, whose example is taken,
    with what is known of it; or a node of a model, MODEL.onnx:NODE, or one of its tests, MODEL.onnx:NODE/graph/negative.
    It is run, made as small as possible while it still shows the same kinds, in the oldest operator set that does, and written to
    DIR: repro.py, a short script that needs nothing but the runtime, numpy and onnx, and shows small models and tensors as text;
    model.onnx and test_data_set_0, for ONNX's backend test runner; case.yaml; and ISSUE.md, the text of an issue after the form
    of the project, with what other runtimes return, unless a newer release is known to be repaired.

    repro.py is run in a clean environment before anything is written. It exits with 1 while the defect is there, with 0
    once it is fixed, with 125 where that cannot be told, as git bisect run expects.

    Exit codes: 0 written, 1 not reproduced and nothing written, 2 usage, 3 could not complete.

    \b
    Examples:
      maxpool-check repro ORT-SAME-DILATION -t onnxruntime==1.32.0 -o repro
      maxpool-check repro my.onnx:pool1 -t onnxruntime==1.32.0 -o repro
    """
    from maxpool_check.commands import model_cases
    from maxpool_check.reproducing import bundle
    from maxpool_check.reproducing.bundle import NotReproduced
    from maxpool_check.reproducing.reproduced import CannotWrite
    from maxpool_check.targets.cache import CannotMake
    from maxpool_check.targets.process import CannotStart
    from maxpool_check.targets.session import TargetSession
    from maxpool_check.targets.target import Target

    if not bundle.is_free(folder):
        raise click.UsageError(f"{folder} contains something other than a reproduction; name a new folder")
    (target,) = options.claiming([target], claims)
    model_cases.refuse_without_node(Path(case))
    timeout = options.setting("timeout")
    try:
        known = _known(case, path)
        with TargetSession(Target(target, timeout)) as session:
            subject = _subject(session, case, known, name, inputs, dict(shape))
            original = subject.case_run.case
            if subject.variant is None:
                judged = subject.case_run.judgements.items()
                texts = [f"{each.name} {of.verdict} {of.message}" for each, of in judged]
                verdicts = "; ".join(" ".join(text.split()) for text in texts)
                options.echo(f"not reproduced: {original.id} on {target}: {verdicts}")
                failed = any(of.verdict == "error" for _, of in judged)
                return options.Incomplete.exit_code if failed else 1
            case_run = _older(session, subject, _shrunk(session, subject))
            reproduced, written = _written(session, subject, case_run, folder, also)
    except (CannotStart, CannotMake) as error:
        raise options.Incomplete(str(error)) from error
    except CannotWrite as error:
        raise click.UsageError(str(error)) from error
    except NotReproduced as error:
        options.echo(f"not reproduced: {original.id} diverges on {target}, but {error}")
        return 1
    _print(original, reproduced, str(target), folder, written)
    from maxpool_check.explaining.defects import VENV

    if target.build:
        again = shlex.join(["maxpool-check", "run", str(folder / "case.yaml"), "-t", target.build])
        step = _fix_check(subject.defect, target, [str(path)] if subject.is_named and path else []) or again
        options.echo(f"Next: {step}{f' ({VENV})' if 'VENV' in target.build else ''}")
    return 0


def _fix_check(defect: "Defect | None", target: "TargetName", path: Sequence[str] = ()) -> str:
    """The command that says whether a build still shows a defect, of the corpus at a path; empty if there is none."""
    from maxpool_check.explaining.defects import fix_check

    return fix_check(defect.id, target.build, path) if defect is not None and target.build else ""


@dataclass(frozen=True)
class _Subject:
    """A case that was run, the variant to reproduce, and the known defect that it shows; ``fixed`` is a newer release without it."""

    case_run: "JudgedRun"
    variants: "tuple[Variant, ...]"
    variant: "Variant | None"
    defect: "Defect | None"
    versions: "DefectVersions"
    is_named: bool
    fixed: str | None
    name_of: "Callable[[JudgedRun, Variant], Defect | None]"


def _known(name: str, path: Path | None) -> "tuple[Case | None, Defect | None, DefectVersions]":
    """The case of a name, None if that is a model's, and the defect that it names. Raises ``click.UsageError``."""
    from maxpool_check.commands import case_files, model_cases
    from maxpool_check.corpus.defect_versions import DefectVersions
    from maxpool_check.judging.defects import is_glob
    from maxpool_check.specifications.specification import nearest

    if ":" in name:
        file, _, case = name.rpartition(":")
        is_model = model_cases.is_model(Path(file), case)
        return None if is_model else case_files.find(name, path), None, DefectVersions()
    defects, versions, ids = case_files.all_defects(path, name)
    for defect in (each for each in defects if each.id == name):
        cases = (each for effect in defect.effects for each in effect.cases if not is_glob(each))
        if (example := defect.example or next(cases, None)) is None:
            raise click.UsageError(f"the defect {defect.id} has no example; name the case instead")
        return case_files.find(example, path), defect, versions
    raise click.UsageError(f"'{name}' is neither a defect nor a case, FILE.yaml:ID or a full id{nearest(name, ids)}")


def _subject(
    session: "TargetSession", case: str, known: "tuple[Case | None, Defect | None, DefectVersions]", name: str | None,
    inputs: Path | None, shapes: dict[str, tuple[int, ...]],
) -> _Subject:  # fmt: skip
    """What to reproduce: the first case of those named that diverges, with the known defect that is named or that it shows."""
    from maxpool_check.commands import model_cases
    from maxpool_check.commands.output import Mistakes
    from maxpool_check.corpus.case import contradictions
    from maxpool_check.explaining.defects import repaired
    from maxpool_check.running.case_run import run_case
    from maxpool_check.running.labels import Catalogue

    found, defect, versions = known
    candidates = iter([found] if found is not None else [])
    if found is None:
        model, _, node = case.rpartition(":")
        analysis = model_cases.analysed(Path(model), inputs, shapes, takes_models=session.target.name.takes_models)
        candidates = model_cases.candidates(analysis, node, session)
    target = session.profile.description
    # Another defect may show the same kinds there.
    is_gone = defect is not None and target.version in versions.repaired(defect)
    for candidate in candidates:
        if problems := contradictions(candidate):
            raise Mistakes(problems)
        variants = _variants(candidate, name, defect)
        case_run = run_case(session, candidate, variants)
        if (variant := None if is_gone else _chosen(case_run, name, defect)) is not None:
            break
    is_named, catalogue = defect is not None, Catalogue([target])
    name_of = _namer(catalogue, target, defect)
    if variant is not None and not is_named:
        defect, versions = name_of(case_run, variant), catalogue.versions
    about = target.selected_as, target.provider, target.name
    is_its = defect is not None and any(each.when.is_about(*about) for each in defect.effects)
    fixed = versions.fixed_in(defect, "" if is_gone else target.version) if defect is not None and is_its else None
    if defect is not None and fixed is not None:
        options.echo(repaired(defect, fixed))
    elif defect is not None and variant is not None and not is_named:
        options.echo(f"known as {defect.id}, shown by versions {versions.span(defect)}")
    return _Subject(case_run, variants, variant, defect, versions, is_named, fixed, name_of)


def _namer(
    catalogue: "Catalogue", target: "TargetDescription", own: "Defect | None"
) -> "Callable[[JudgedRun, Variant], Defect | None]":
    """What names the known defect of a variant of a run: those that come with the tool, and one of the user's ``own``."""
    from maxpool_check.running.labels import Labels

    @cache
    def defects() -> "dict[str, Defect]":
        known = {defect.id: defect for defect in catalogue.defects}
        return known if own is None else {**known, own.id: own}

    labels = Labels([target], (), date.today(), lambda: [*defects().values()])

    def name_of(run: "JudgedRun", variant: "Variant") -> "Defect | None":
        (execution,) = (each for each in run.executions if each.variant == variant.name)
        return defects().get(labels.label(run.case, execution).known or "")

    return name_of


def _variants(case: "Case", name: str | None, defect: "Defect | None") -> "tuple[Variant, ...]":
    """The variants to execute: the default ones, and those that are named with the ones that they are compared with."""
    from maxpool_check.commands import executing
    from maxpool_check.results.variants import ALL_VARIANTS, DEFAULT_VARIANTS

    named = [variant for variant in ALL_VARIANTS if variant.name == name]
    if name is not None and not set(named) & set(case.variants(named)):
        # It says which there are.
        named = executing.variants_named(case, name)
    elif name is None and defect is not None:
        effects = [each for each in defect.effects if not each.cases or each.lists(case.id)]
        named = [variant for each in effects for variant in sorted(each.variants or ())]
    return tuple(dict.fromkeys((*DEFAULT_VARIANTS, *(each for variant in named for each in (variant.base, variant)))))


def _chosen(case_run: "JudgedRun", name: str | None, defect: "Defect | None") -> "Variant | None":
    """The variant to reproduce: the first that diverges, as some effect of the defect does, or Y alone if it shows the same."""
    from maxpool_check.judging.defects import shows
    from maxpool_check.results.variants import Y_ONLY

    def is_expected(variant: "Variant") -> bool:
        kinds = set(case_run.judgements[variant].kinds)
        effects = defect.effects if defect is not None else ()
        return defect is None or any(
            kinds == {each for each in effect.kinds if shows(variant, each)} for effect in effects
        )

    named = [each for each in case_run.diverging if case_run.jobs[each].request is not None]
    named = [each for each in named if name in (None, each.name) and is_expected(each)]
    same = [each for each in named if case_run.judgements[each].kinds == case_run.judgements[named[0]].kinds]
    return Y_ONLY if Y_ONLY in same else next(iter(named), None)


def _shrunk(session: "TargetSession", subject: _Subject) -> "JudgedRun":
    """The run of a smaller case that shows the same in the chosen variant, and the same defect.

    The example of a defect stays as it is if it is small: a smaller one may show another with the same kinds.
    """
    from maxpool_check.judging.kinds import DESCRIPTIONS, KindGroup
    from maxpool_check.running.case_run import run_case
    from maxpool_check.running.shrinking import shrunk

    case_run, chosen = subject.case_run, subject.variant
    assert chosen is not None
    if subject.is_named and case_run.case.X.size <= _SMALL:
        return case_run
    kinds, needed = case_run.judgements[chosen].kinds, subject.variants
    if case_run.case.context.is_alone and all(DESCRIPTIONS[kind].group is not KindGroup.DEPENDENCE for kind in kinds):
        # The others are not compared with it.
        needed = tuple(variant for variant in needed if variant == chosen)
    own = subject.name_of(case_run, chosen)
    small = shrunk(session, case_run, chosen, needed, lambda run: own is None or subject.name_of(run, chosen) == own)
    title = f"{', '.join(kind.value for kind in kinds)} on {case_run.target}"
    return run_case(session, replace(small, id=case_run.case.id, title=title), subject.variants)


def _older(session: "TargetSession", subject: _Subject, case_run: "JudgedRun") -> "JudgedRun":
    """The run in the oldest operator set that means and shows the same, so that older releases load the model."""
    from maxpool_check.running.case_run import run_case
    from maxpool_check.running.shrinking import older_cases

    chosen = subject.variant
    assert chosen is not None

    def shown(run: "JudgedRun") -> tuple[object, ...]:
        expected = getattr(run.oracle, "expected", {})
        meaning = [(name, each.dtype, each.shape, each.tobytes()) for name, each in expected.items()]
        return run.signature(chosen), meaning, subject.name_of(run, chosen)

    request, same = case_run.jobs[chosen].request, shown(case_run)
    candidates = older_cases(case_run.case) if request is not None and request.model else ()
    runs = (run_case(session, each, subject.variants) for each in candidates)
    return next((run for run in runs if shown(run) == same), case_run)


def _written(
    session: "TargetSession", subject: _Subject, case_run: "JudgedRun", folder: Path, also: "Sequence[TargetName]"
) -> "tuple[Reproduced, Written]":
    """Write the reproduction of a case, with what other runtimes return."""
    from maxpool_check import __version__
    from maxpool_check.reproducing import bundle, others
    from maxpool_check.reproducing.others import DefectNote
    from maxpool_check.reproducing.reproduced import Reproduced

    assert subject.variant is not None
    target, description, defect = session.target.name, session.profile.description, subject.defect
    reproduced = Reproduced(case_run, subject.variant, description)
    about = f"Made from {subject.case_run.case.id} by maxpool-check {__version__} repro, on {target} ({description.version})."
    # What a runtime makes of the original model is no answer to what a tool makes of it.
    targets = also or (others.installed(description) if target.tool is None else ())
    answers = others.answers(case_run.case, subject.variant, targets, options.setting("timeout"), required=bool(also))
    note = None
    if defect is not None:
        upstream = defect.upstream
        # A case has a title of its own: it may show something else, too.
        note = DefectNote(
            defect.title if subject.is_named else "", _IDS.sub("", defect.mechanism), _IDS.sub("", defect.established),
            subject.versions.span(defect), upstream.issue if upstream is not None else None,
            f"{upstream.state}, as seen {upstream.seen}" if upstream is not None else None, subject.fixed,
            defect.short if subject.is_named else "", _IDS.sub("", defect.fix), defect.id,
        )  # fmt: skip
    return reproduced, bundle.write(reproduced, session, folder, about, defect=note, also=answers)


def _print(case: "Case", reproduced: "Reproduced", name: str, folder: Path, written: "Written") -> None:
    from maxpool_check.reporting.drawing import coordinates

    small = reproduced.case_run.case
    kinds = ", ".join(kind.value for kind in reproduced.kinds)
    options.echo(f"{kinds} of {case.id} on {name} ({reproduced.variant.name})")
    attributes = ", ".join(f"{key}={value}" for key, value in small.attributes.items()) or "no attributes"
    before = f", from X{coordinates(case.X.shape)}" if small.X.shape != case.X.shape else ""
    options.echo(f"  {small.X.dtype.name} X{coordinates(small.X.shape)}  {attributes}{before}")
    options.echo(textwrap.indent(written.trial.stdout.strip(), "  "))
    options.echo(f"repro.py exits with 1 in {written.trial.environment}")
    is_new = "ISSUE.md" in written.files
    options.echo(f"ISSUE.md: {written.title}" if is_new else "no ISSUE.md: a newer release is repaired")
    for file in written.files:
        options.echo(folder / file)
