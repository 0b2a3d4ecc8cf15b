"""``maxpool-check model``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxpool_check.commands import options

if TYPE_CHECKING:
    from maxpool_check.models.analysis import ModelAnalysis
    from maxpool_check.models.repair import Repair
    from maxpool_check.models.testing import ModelPlan, ModelTest
    from maxpool_check.models.upgrade import Upgrade
    from maxpool_check.results.record import Record
    from maxpool_check.targets.name import TargetName

FORMATS = options.formats_with_checks("model_json:write")
"""The formats of the report of models."""


@click.command("model")
@click.argument("paths", nargs=-1, required=True, type=options.FILE, metavar="MODEL.onnx...")
@options.targets(otherwise="onnxruntime")
@click.option("--base", type=options.TARGET, metavar="TARGET", help="The runtime in use, to be compared with --head.")
@click.option("--head", type=options.TARGET, metavar="TARGET", help="The runtime to upgrade to.")
@click.option(
    "--spec", type=click.Choice(["onnx", "sonnx"]), default="onnx",
    help="Judge by ONNX, or by SONNX where a node is inside its profile; then a node outside it fails.  [default: onnx]",
)  # fmt: skip
@options.shapes
@options.inputs
@click.option("--cases", type=options.FILE, metavar="FILE.yaml", help="Write the nodes as a case file; test nothing.")
@click.option(
    "--repair", type=options.FILE, metavar="OUT.onnx",
    help="Write the model with rewrites of the nodes that fail, and prove that the file is right.",
)  # fmt: skip
@click.option(
    "--repair-by", type=click.Choice(["file", "session"]), default="file", show_default=True,
    help="Repair by a file that every session computes rightly, or by options of the session.",
)  # fmt: skip
@click.option(
    "--known", multiple=True, type=options.FILE, metavar="FILE",
    help="Files of defects that you accept in your models. Repeatable.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Also fail on what is wrong on special values alone: infinities, NaN, ...")
@click.option(
    "--allow-incomplete", is_flag=True,
    help="Do not fail where the target cannot run a model as a whole, or weights are missing: the nodes alone count.",
)  # fmt: skip
@options.record
@options.reports()
@options.quiet
@options.verbose("Show everything in full")
def command(
    paths: tuple[Path, ...], targets: "tuple[TargetName, ...]", base: "TargetName | None", head: "TargetName | None", spec: str,
    shape: tuple[tuple[str, tuple[int, ...]], ...], inputs: Path | None, cases: Path | None, repair: Path | None, repair_by: str,
    known: tuple[Path, ...], strict: bool, allow_incomplete: bool, output: Path | None,
    reports: tuple[tuple[str, Path], ...], quiet: bool, verbose: int,
) -> int:  # fmt: skip
    """Test the MaxPool nodes of models on targets: which are affected, and what changes with the runtime.

    Each node is read, tested alone, with the nodes around it and in the model, with ordinary and with special values,
    and compared with the reference bit by bit. With --base and --head it ends with SAFE, REVIEW or BLOCK for each node,
    and only BLOCK fails: what is wrong on both is named, and does not fail.

    Exit codes: 0 every node conforms (with --base and --head: SAFE or REVIEW), 1 a node is wrong on finite values or is
    refused, though the defect is known (BLOCK), 2 a file that cannot be used, 3 could not complete, or a node is not tested
    and none fails, or the target cannot run a model or its weights are missing (unless --allow-incomplete), 4 nothing was
    compared, 130 interrupted. With --repair: 0 if nothing that fails is left in OUT.onnx.

    \b
    Examples:
      maxpool-check model my.onnx -t onnxruntime==1.31.1 --repair repaired.onnx
      maxpool-check model my.onnx --base onnxruntime==1.31.1 --head onnxruntime==1.32.0
    """
    from maxpool_check.commands import case_files, executing
    from maxpool_check.commands.configuration import command_line
    from maxpool_check.commands.output import Output
    from maxpool_check.corpus.collection import defect_files, shipped_root
    from maxpool_check.corpus.defect_file import read_all_defects
    from maxpool_check.corpus.defect_versions import read_versions
    from maxpool_check.models.testing import ModelPlan, ModelTest, run_models
    from maxpool_check.reporting.model_report import ModelReport
    from maxpool_check.results.record import Conclusion

    tested = _targets(targets, base, head)
    names = [name for name, _ in shape]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"--shape gives '{name}' twice")
    analyses = _analyses(
        paths, inputs, spec=spec, shapes=dict(shape), takes_models=any(each.takes_models for each in tested)
    )
    if cases is not None:
        if output is not None or reports:
            raise click.UsageError("--cases writes cases and tests nothing: it takes no -o and no --report")
        return _write_cases(analyses, cases, paths, quiet=quiet)
    with case_files.mistakes():
        accepted, defects = read_all_defects(known), read_all_defects(defect_files(shipped_root()))
        versions = read_versions(shipped_root())
    if repair is not None:
        if len(paths) > 1:
            raise click.UsageError("--repair writes one model; name one")
        Output(output=repair).check_writable(paths)
    shown = Output(reports, output, quiet)
    shown.check_writable([*paths, *known, *([inputs] if inputs is not None else []), *options.kernels(tested)])
    plan = ModelPlan(
        analyses, tested, defects, versions, accepted, known, options.setting("timeout", 60.0), options.memory_in_bytes(), strict,
        base is not None or repair is not None, command_line(), allow_incomplete,
    )  # fmt: skip
    test, concluded = ModelTest(), list[ModelReport]()
    words = ["--inputs", str(inputs)] if inputs is not None else []
    words += [word for name, sizes in shape for word in ("--shape", f"{name}={','.join(map(str, sizes))}")]

    def conclude(record: "Record") -> Conclusion:
        made = _upgrade(record, test, plan) if base is not None else None
        # Of an upgrade, the head is what is deployed.
        deployed = plan if base is None else replace(plan, targets=tested[1:])
        repaired = (
            _repaired(deployed, test, repair, by=repair_by, copies=base is None and not test.problems)
            if repair is not None
            else None
        )
        plain = ModelReport(
            analyses, test, record, made, spec == "sonnx", words, repaired, options.width(), verbose=True
        )
        concluded.append(plain)
        decision, reason = plain.result
        return Conclusion(plain.exit_code, reason, decision)

    with executing.recorded(
        lambda write, progress: run_models(plan, write, progress, test), shown, None, conclude=conclude
    ):
        (plain,) = concluded
        report = replace(plain, color=options.colored(), verbose=verbose > 0)
        for message in report.run.problems if not quiet and not shown.prints_text else ():
            options.echo(f"error: {message}", err=True)
        shown.publish(FORMATS, report, plain)
        if quiet and plain.repair is not None and plain.repair.needs_session:
            # No file is the repair.
            options.echo(report.result[1], err=True)
        return report.exit_code


def _targets(
    targets: "Sequence[TargetName]", base: "TargetName | None", head: "TargetName | None"
) -> "tuple[TargetName, ...]":
    """All targets to test: some by themselves, or the base and the head of an upgrade. Raises ``click.UsageError``."""
    if (base is None) != (head is None):
        raise click.UsageError("--base and --head belong together")
    if base is not None and targets:
        raise click.UsageError("-t tests targets by themselves; --base and --head compare two")
    if base is not None and base == head:
        raise click.UsageError(f"the base and the head are the same, {base}")
    both = [each for each in (base, head) if each is not None]
    tested = tuple(both or targets) or (options.TARGET.convert("onnxruntime", None, None),)
    for target in tested:
        if not target.computes:
            raise click.UsageError(f"{target} computes no outputs, and a model has to be run; name a runtime")
    return tested


def _analyses(paths: Sequence[Path], inputs: Path | None, **about: Any) -> "list[ModelAnalysis]":
    """The analyses of all models, of different names. Raises :class:`Mistakes` with every file that cannot be used."""
    from maxpool_check.commands import model_cases
    from maxpool_check.commands.output import Mistakes

    analyses: list[ModelAnalysis] = []
    problems: list[object] = []
    stems = [path.stem for path in paths]
    for number, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:number]]:
            problems.append(f"{path} is named twice")
            continue
        try:
            # Models of one name are told apart by their folders.
            name = path.stem if stems.count(path.stem) == 1 else f"{path.absolute().parent.name}/{path.stem}"
            analyses.append(model_cases.analysed(path, inputs, name=name, **about))
        except Mistakes as error:
            problems += error.problems
    if problems:
        raise Mistakes(problems)
    return analyses


def _write_cases(analyses: "Sequence[ModelAnalysis]", file: Path, models: Sequence[Path], *, quiet: bool) -> int:
    """Write the cases of models as a case file."""
    from maxpool_check.commands.output import Output
    from maxpool_check.corpus.writing import ForeignFile
    from maxpool_check.models.cases import write_cases
    from maxpool_check.results.record import ExitCode
    from maxpool_check.words import plural

    Output(output=file).check_writable(models)
    cases = [case for each in analyses for node in each.nodes for case in node.cases]
    if not cases:
        options.echo("there is no MaxPool that could be tested", err=True)
        return ExitCode.NOTHING_COMPARED
    try:
        written = write_cases(cases, file)
    except ForeignFile as error:
        raise click.UsageError(f"{error}; name another file") from error
    for path, count in written.items() if not quiet else ():
        options.echo(f"{path}: {plural(count, 'case')}")
    return ExitCode.AS_EXPECTED


def _repaired(plan: "ModelPlan", test: "ModelTest", path: Path, *, by: str, copies: bool) -> "Repair":
    """What was done about the nodes that fail. Raises ``click.ClickException`` where a file cannot be written."""
    from maxpool_check.commands.output import Mistakes
    from maxpool_check.models.model_file import BadModel
    from maxpool_check.models.repair import RepairBy, repair

    try:
        return repair(plan, test, path, RepairBy(by), copies=copies)
    except BadModel as error:
        raise Mistakes([error], "no model was written") from error


def _upgrade(record: "Record", test: "ModelTest", plan: "ModelPlan") -> "Upgrade | None":
    """The decisions on an upgrade; None where a target did not start."""
    from maxpool_check.models.upgrade import output_differences, upgrade

    base, head = map(str, plan.targets)
    if not {base, head} <= {target.name for target in record.header.targets}:
        return None
    outputs = [
        difference
        for each in (analysis.model.name for analysis in plan.models)
        for difference in output_differences(
            each, test.outputs.get((base, each), {}), test.outputs.get((head, each), {})
        )
    ]  # fmt: skip
    nodes = [name for each in plan.models for name in each.by_id]
    return upgrade(record, base, head, nodes, outputs, strict=plan.strict)
