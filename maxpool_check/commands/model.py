"""``maxpool-check model``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from maxpool_check.commands import executing, model_cases
from maxpool_check.commands import old_case_files as case_files
from maxpool_check.commands import old_options as options
from maxpool_check.commands.configuration import command_line
from maxpool_check.commands.old_output import Output
from maxpool_check.commands.output import Mistakes
from maxpool_check.corpus.collection import defect_files, shipped_root
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.corpus.writing import ForeignFile
from maxpool_check.models.analysis import ModelAnalysis, analyse
from maxpool_check.models.cases import write_cases
from maxpool_check.models.flow import read_inputs
from maxpool_check.models.model_file import BadModel, UserModel, read_model
from maxpool_check.models.testing import ModelPlan, ModelTest, run_models
from maxpool_check.models.upgrade import Upgrade, output_differences, upgrade
from maxpool_check.reporting import model_ci, model_json, model_markdown, model_text
from maxpool_check.reporting.html import model as model_html
from maxpool_check.reporting.model_report import ModelReport
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.results.storage import Recorder
from maxpool_check.targets.name import TargetName
from maxpool_check.words import plural

FORMATS: options.Formats[ModelReport] = {
    "text": model_text.write,
    "markdown": model_markdown.write,
    "html": model_html.write,
    "json": model_json.write,
    "junit": model_ci.write_junit,
    "github": model_markdown.write_github,
    "sarif": model_ci.write_sarif,
}
"""The formats of the report of models."""


@dataclass(frozen=True)
class _Targets:
    """The targets of the command: those to test, or the base and the head of an upgrade."""

    targets: Sequence[TargetName]
    base: TargetName | None
    head: TargetName | None

    def names(self) -> tuple[TargetName, ...]:
        """All targets to test. Raises ``click.UsageError``."""
        if (self.base is None) != (self.head is None):
            raise click.UsageError("--base and --head belong together")
        if self.base is None or self.head is None:
            return tuple(self.targets) or (options.TARGET.convert("onnxruntime", None, None),)
        if self.targets:
            raise click.UsageError("-t tests targets by themselves; --base and --head compare two")
        if self.base == self.head:
            raise click.UsageError(f"the base and the head are the same, {self.base}")
        return (self.base, self.head)


@click.command("model")
@click.argument("models", nargs=-1, required=True, type=options.FILE, metavar="MODEL.onnx...")
@options.targets(otherwise="onnxruntime")
@click.option("--base", type=options.TARGET, metavar="TARGET", help="The runtime in use, to be compared with --head.")
@click.option("--head", type=options.TARGET, metavar="TARGET", help="The runtime to upgrade to.")
@click.option(
    "--spec", type=click.Choice(["onnx", "sonnx"]), default="onnx",
    help="Judge by ONNX, or by SONNX where a node is inside its profile; then a node outside it fails.  [default: onnx]",
)  # fmt: skip
@model_cases.shapes
@model_cases.inputs
@click.option(
    "--case", "case_file", type=options.FILE, metavar="FILE.yaml", help="Write the nodes as a case file; test nothing."
)
@click.option(
    "--timeout", type=options.SECONDS, default=60.0, metavar="SECONDS", help="The time limit of one execution.  [default: 60]"
)  # fmt: skip
@click.option("--memory", type=options.COUNT, metavar="MB", help="What a target may allocate.  [default: no limit]")
@click.option(
    "--known", "known_files", multiple=True, type=options.FILE, metavar="FILE",
    help="Files of defects that you accept in your models. Repeatable.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Also fail on what is wrong on special values alone: infinities, NaN, ...")
@click.option(
    "--allow-incomplete", is_flag=True,
    help="Do not fail where the target cannot run a model as a whole, or weights are missing: the nodes alone count.",
)  # fmt: skip
@options.record
@options.reports(FORMATS)
@options.form()
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@options.verbose("Show everything in full")
@options.color
@options.bundled(output=Output, chosen=_Targets)
def command(
    models: tuple[Path, ...], chosen: _Targets, spec: str, shapes: tuple[tuple[str, tuple[int, ...]], ...],
    inputs: Path | None, case_file: Path | None, timeout: float, memory: int | None, known_files: tuple[Path, ...],
    strict: bool, allow_incomplete: bool, output: Output,
) -> int:  # fmt: skip
    """Test the MaxPool nodes of models on targets: which are affected, and what changes with the runtime.

    Each node is read, tested alone, with the nodes around it and in the model, with ordinary and with special values,
    and compared with the reference bit by bit. With --base and --head it ends with SAFE, REVIEW or BLOCK for each node,
    and only BLOCK fails: what is wrong on both is named, and does not fail.

    Exit codes: 0 every node conforms (with --base and --head: SAFE or REVIEW), 1 a node is wrong on finite values or is
    refused, though the defect is known (BLOCK), 2 a file that cannot be used, 3 could not complete, or a node is not tested
    and none fails, or the target cannot run a model or its weights are missing (unless --allow-incomplete), 4 nothing was
    compared, 130 interrupted.

    \b
    Examples:
      maxpool-check model my.onnx -t onnxruntime==1.31.1
      maxpool-check model my.onnx --base onnxruntime==1.24.4 --head onnxruntime
    """
    targets = chosen.names()
    for target in targets:
        if not target.computes:
            raise click.UsageError(f"{target} computes no outputs, and a model has to be run; name a runtime")
    given = _shapes(shapes)
    takes_models = any(target.takes_models for target in targets)
    analyses = _analyses(models, inputs, spec=spec, shapes=given, takes_models=takes_models)
    if case_file is not None:
        if output.output is not None or output.reports:
            raise click.UsageError("--case writes cases and tests nothing: it takes no -o and no --report")
        return _write_cases(analyses, case_file, models, output)
    with case_files.mistakes():
        accepted = read_all_defects(known_files)
        defects = read_all_defects(defect_files(shipped_root()))
        versions = read_versions(shipped_root())
    output.check_writable([*models, *known_files, *([inputs] if inputs is not None else []), *options.kernels(targets)])
    plan = ModelPlan(
        analyses, targets, defects, versions, accepted, known_files, timeout, memory * 2**20 if memory else None, strict,
        chosen.base is not None, command_line(), allow_incomplete,
    )  # fmt: skip
    test = ModelTest()
    with Recorder(output.output) as recorder:
        try:
            with executing.progress_bar("cases", None, quiet=output.quiet) as progress:
                run_models(plan, recorder.write, progress, test)
        except KeyboardInterrupt:
            if recorder.record is None:
                raise
            where = f"; they are in {output.output}" if output.output else ""
            options.echo(f"interrupted after {plural(len(recorder.record.executions), 'execution')}{where}", err=True)
            return ExitCode.INTERRUPTED
        assert recorder.record is not None
        words = ["--inputs", str(inputs)] if inputs is not None else []
        words += [word for name, sizes in shapes for word in ("--shape", f"{name}={','.join(map(str, sizes))}")]
        return _report(recorder.record, test, plan, spec, words, chosen, output)


def _shapes(shapes: Sequence[tuple[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    """The sizes by name. Raises ``click.UsageError`` for a name that occurs twice."""
    names = [name for name, _ in shapes]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"--shape gives '{name}' twice")
    return dict(shapes)


def _analyses(paths: Sequence[Path], inputs: Path | None, **options: Any) -> list[ModelAnalysis]:
    """The analyses of all models, of different names. Raises :class:`Mistakes` with every file that cannot be used."""
    models: list[UserModel] = []
    problems: list[str] = []
    for path in paths:
        if path.resolve() in [other.path.resolve() for other in models]:
            problems.append(f"{path} is named twice")
            continue
        try:
            models.append(read_model(path))
        except BadModel as error:
            problems.append(str(error))
    names = [model.name for model in models]
    analyses = []
    for model in models:
        # Models of one name are told apart by their folders.
        named = (
            model
            if names.count(model.name) == 1
            else replace(model, name=f"{model.path.absolute().parent.name}/{model.name}")
        )
        try:
            given = None if inputs is None else read_inputs(inputs, named)
            analyses.append(analyse(named, inputs=given, **options))
        except BadModel as error:
            problems.append(str(error))
    if problems:
        raise Mistakes(problems)
    return analyses


def _write_cases(analyses: Sequence[ModelAnalysis], file: Path, models: Sequence[Path], output: Output) -> ExitCode:
    """Write the cases of models as a case file."""
    Output(output=file).check_writable(models)
    cases = [case for each in analyses for node in each.nodes for case in node.cases]
    if not cases:
        options.echo("there is no MaxPool that could be tested", err=True)
        return ExitCode.NOTHING_COMPARED
    try:
        written = write_cases(cases, file)
    except ForeignFile as error:
        raise click.UsageError(f"{error}; name another file") from error
    for path, count in written.items() if not output.quiet else ():
        options.echo(f"{path}: {plural(count, 'case')}")
    return ExitCode.AS_EXPECTED


def _report(
    record: Record, test: ModelTest, plan: ModelPlan, spec: str, given: Sequence[str], chosen: _Targets, output: Output
) -> int:
    """Write and print the reports; the exit code."""
    made = _upgrade(record, test, plan, chosen)
    plain = ModelReport(plan.models, test, record, made, spec == "sonnx", given, options.width(), verbose=True)
    report = replace(plain, color=output.colored, verbose=output.verbose > 0)
    if output.quiet or output.form != "text":
        for message in report.run.problems:
            options.echo(f"error: {message}", err=True)
    output.publish(FORMATS, report, plain, silent=output.quiet)
    return report.exit_code


def _upgrade(record: Record, test: ModelTest, plan: ModelPlan, chosen: _Targets) -> Upgrade | None:
    """The decisions on an upgrade; None where none was asked for, or a target did not start."""
    names = [str(target) for target in (chosen.base, chosen.head) if target is not None]
    if not names or not set(names) <= {target.name for target in record.header.targets}:
        return None
    base, head = names
    outputs = [
        difference
        for each in plan.models
        for difference in output_differences(
            each.model.name, test.outputs.get((base, each.model.name), {}), test.outputs.get((head, each.model.name), {})
        )
    ]  # fmt: skip
    nodes = [name for each in plan.models for name in each.by_id]
    return upgrade(record, base, head, nodes, outputs, strict=plan.strict)
