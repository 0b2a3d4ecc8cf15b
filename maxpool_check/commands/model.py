"""``maxpool-check model``."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maxpool_check.commands import gate, options

if TYPE_CHECKING:
    from maxpool_check.comparing.gate import GatePolicy
    from maxpool_check.models.analysis import ModelAnalysis
    from maxpool_check.models.ranges import Range
    from maxpool_check.models.repair import Repair
    from maxpool_check.models.testing import ModelPlan, ModelTest
    from maxpool_check.models.upgrade import Upgrade
    from maxpool_check.results.record import Record
    from maxpool_check.running.run import Progress
    from maxpool_check.targets.name import TargetName

_Given = TypeVar("_Given")

FORMATS = options.Formats(
    "reporting.model_view:document", {"json": "reporting.model_json:write"}, "reporting.model_items:checks"
)
"""The formats of the report of models."""


@options.command("model")
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
@click.option(
    "--input-range", "input_ranges", multiple=True, type=options.INPUT_RANGE, metavar="NAME=LOW:HIGH",
    help="The values that an input can have, such as images=0:1: only what can then reach a node is tested. Repeatable.",
)  # fmt: skip
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
    help="Files of defects, which explain, and of results that you accept, which excuse. Repeatable.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Also fail on what is wrong on special values alone: infinities, NaN, ...")
@click.option(
    "--allow-incomplete", is_flag=True,
    help="Do not fail where the target cannot run a model as a whole, or weights are missing: the nodes alone count.",
)  # fmt: skip
@options.record
@options.reports()
def command(
    paths: tuple[Path, ...], targets: "tuple[TargetName, ...]", base: "TargetName | None", head: "TargetName | None", spec: str,
    shape: tuple[tuple[str, tuple[int, ...]], ...], inputs: Path | None, input_ranges: "tuple[tuple[str, Range], ...]",
    cases: Path | None, repair: Path | None, repair_by: str,
    known: tuple[Path, ...], strict: bool, allow_incomplete: bool, output: Path | None,
    reports: tuple[tuple[str, Path], ...],
) -> int:  # fmt: skip
    """Test the MaxPool nodes of models on targets: which are affected, and what changes with the runtime.

    A folder stands for all .onnx files in it; a pattern such as 'models/**/*.onnx' may be quoted.

    Each node is read, tested alone, with the nodes around it and in the model, with ordinary and with special values,
    and compared with the reference bit by bit. With --base and --head it ends with SAFE, REVIEW or BLOCK for each node,
    and only BLOCK fails: what is wrong on both is named, and does not fail.

    Exit codes: 0 every node conforms (with --base and --head: SAFE or REVIEW), 1 a node is wrong on finite values or is
    refused, though the defect is known (BLOCK), unless 'defects accept' has accepted it in a file for --known, 2 a file
    that cannot be used, 3 could not complete, or a node is not tested and none fails, or the target cannot run a model or its weights are missing (unless --allow-incomplete), 4 nothing was
    compared, 130 interrupted. With --repair: 0 if nothing that fails is left in OUT.onnx.

    \b
    Examples:
      maxpool-check model my.onnx -t onnxruntime==1.31.1 --repair repaired.onnx
      maxpool-check model my.onnx --base onnxruntime==1.31.1 --head onnxruntime==1.32.0
    """
    from maxpool_check.commands.output import Output, progress_bar

    quiet = options.setting("quiet")
    with progress_bar("reading", len(paths), quiet=quiet) as progress:
        # These take a second to import.
        from maxpool_check.commands import case_files, executing, model_cases

        tested = _targets(targets, base, head)
        files, mistakes = model_cases.model_files(paths)
        analyses = _analyses(
            files, mistakes, inputs, _by_name("--shape", shape), _by_name("--input-range", input_ranges), progress,
            spec=spec, takes_models=any(each.takes_models for each in tested),
        )  # fmt: skip
    from maxpool_check.commands.configuration import command_line
    from maxpool_check.corpus.collection import defect_files, shipped_root
    from maxpool_check.corpus.defect_file import read_all_defects
    from maxpool_check.corpus.defect_versions import read_versions
    from maxpool_check.models.shapes import names_of_sizes
    from maxpool_check.models.testing import ModelPlan, ModelTest, run_models
    from maxpool_check.reporting.model_items import annotations
    from maxpool_check.reporting.model_report import ModelReport
    from maxpool_check.results.record import Conclusion
    from maxpool_check.running.header import CommandLine

    if cases is not None:
        if output is not None or reports or input_ranges:
            raise click.UsageError(
                "--cases writes cases of all values and tests nothing: it takes no -o, no --report and no --input-range"
            )
        return _write_cases(analyses, cases, files, quiet=quiet)
    with case_files.mistakes():
        own, defects = read_all_defects(known), read_all_defects(defect_files(shipped_root()))
        versions = read_versions(shipped_root())
    policy, accepted = gate.policy_of(known), [each for each in own if each.is_accepted]
    defects = [*(each for each in own if not each.is_accepted), *defects]
    if repair is not None:
        if len(files) > 1:
            raise click.UsageError(f"--repair writes one model; name one of the {len(files)}")
        Output(output=repair).check_writable(files)
    shown = Output(reports, output, quiet)
    shown.check_writable([*files, *known, *([inputs] if inputs is not None else []), *options.kernels(tested)])
    plan = ModelPlan(
        analyses, tested, defects, versions, accepted, known, options.setting("timeout", 60.0), options.memory_in_bytes(), strict,
        base is not None or repair is not None, CommandLine(*command_line()), allow_incomplete,
    )  # fmt: skip
    test, concluded = ModelTest(), list[ModelReport]()
    words = ["--inputs", str(inputs)] if inputs is not None else []
    given = {str(each.model.path): [*words, *_shape_options(shape, names_of_sizes(each.model))] for each in analyses}

    def conclude(record: "Record") -> Conclusion:
        made = _upgrade(record, test, plan, policy) if base is not None else None
        # Of an upgrade, the head is what is deployed.
        deployed = plan if base is None else replace(plan, targets=tested[1:])
        repaired = (
            _repaired(deployed, test, repair, by=repair_by, copies=base is None and not test.problems)
            if repair is not None
            else None
        )
        plain = ModelReport(analyses, test, record, made, spec == "sonnx", given, repaired, str(output or "RECORD"))
        concluded.append(plain)
        decision, reason = plain.result
        return Conclusion(plain.exit_code, reason, decision)

    with executing.recorded(
        lambda write, progress: run_models(plan, write, progress, test), shown, None, conclude=conclude
    ):
        (report,) = concluded
        for message in report.run.problems if not quiet and not shown.prints_text else ():
            options.echo(f"error: {message}", err=True)
        shown.publish(FORMATS, report, report.exit_code, annotations)
        if quiet and report.repair is not None and report.repair.needs_session:
            # No file is the repair.
            options.echo(report.result[1], err=True)
        return report.exit_code


def _by_name(option: str, given: Sequence[tuple[str, _Given]]) -> dict[str, _Given]:
    """What an option gives, by name. Raises ``click.UsageError`` where it gives a name twice."""
    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"{option} gives '{name}' twice")
    return dict(given)


def _shape_options(shape: Sequence[tuple[str, tuple[int, ...]]], names: Collection[str]) -> list[str]:
    """The options that give a model its sizes, of which it has those with these names."""
    return [
        word for name, sizes in shape if name in names for word in ("--shape", f"{name}={','.join(map(str, sizes))}")
    ]


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


def _analyses(
    files: Sequence[Path], problems: list[object], inputs: Path | None, shapes: Mapping[str, tuple[int, ...]],
    ranges: "Mapping[str, Range]", progress: "Progress", **about: Any,
) -> "list[ModelAnalysis]":  # fmt: skip
    """The analyses of all models, of different names. Raises :class:`Mistakes` with every file that cannot be used.

    ``problems`` are those of the paths that name them.
    """
    from maxpool_check.commands import model_cases
    from maxpool_check.commands.output import Mistakes
    from maxpool_check.models.cases import identifier
    from maxpool_check.models.shapes import names_of_sizes

    analyses: list[ModelAnalysis] = []
    several, names = len(files) > 1, model_cases.names_of(files)
    for number, (path, name) in enumerate(zip(files, names, strict=True)):
        progress(number, len(files), f"reading {path.name}")
        try:
            analysis = model_cases.analysed(
                path, inputs, shapes, name=name, input_ranges=ranges, is_one_of_several=several, **about
            )
            analyses.append(analysis)
        except Mistakes as error:
            problems += error.problems
    ids = [identifier(name) for name in names]
    for path, name in zip(files, ids, strict=True):
        if ids.count(name) > 1:
            problems.append(f"{path}: its cases and those of another model begin with '{name}:'; rename a file")
    known = {name for each in analyses for name in names_of_sizes(each.model)}
    if not problems and (unknown := [name for name in shapes if name not in known]):
        problems.append(f"--shape names {', '.join(unknown)}, which no model has as an input or a dimension")
    fed = {value.name for each in analyses for value in each.model.inputs}
    if not problems and (unknown := [name for name in ranges if name not in fed]):
        problems.append(f"--input-range names {', '.join(unknown)}, which no model has as an input")
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
        reasons = [f"{node.node.name}: {node.untested}" for each in analyses for node in each.nodes if node.untested]
        options.echo("\n".join(["there is no MaxPool that could be tested", *reasons]), err=True)
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


def _upgrade(record: "Record", test: "ModelTest", plan: "ModelPlan", policy: "GatePolicy") -> "Upgrade | None":
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
    return upgrade(record, base, head, nodes, outputs, policy=policy, strict=plan.strict)
