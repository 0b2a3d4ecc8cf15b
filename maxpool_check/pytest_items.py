"""Cases and models as pytest items: one for each case, or MaxPool node of a model, and each target.

A failure shows what ``run`` and ``model`` print. A known defect of a case is an expected failure with its reason, and fails where it
no longer occurs. What could not be compared is skipped.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import click
import pytest

from maxpool_check import inert
from maxpool_check.commands.configuration import BadConfiguration, load
from maxpool_check.commands.options import SECONDS, SHARED
from maxpool_check.commands.run import command
from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import SUFFIXES, collect, defect_files, is_defect_file, shipped_root
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.corpus.problems import CorpusError
from maxpool_check.corpus.selection import ALL, names_of_documents, of_documents
from maxpool_check.judging.defects import Defect
from maxpool_check.models.analysis import ModelAnalysis, analyse
from maxpool_check.models.inputs import read_inputs
from maxpool_check.models.model_file import BadModel, read_model
from maxpool_check.models.shapes import shape_of
from maxpool_check.models.testing import ModelPlan, run_models
from maxpool_check.reporting.executions import ExecutionView
from maxpool_check.reporting.model_report import ModelReport, NodeResult, NodeState
from maxpool_check.reporting.model_view import explained_result
from maxpool_check.results.record import ExitCode, KnownStatus, Line, Status
from maxpool_check.results.storage import record_of
from maxpool_check.running.case_run import run_case
from maxpool_check.running.labels import Labels
from maxpool_check.targets.name import TargetName, parse
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.target import Target

_SECONDS, _SECONDS_OF_MODELS = 10.0, 60.0
"""The time limit of one execution where nothing says another, and the least one for a model, which takes longer."""


@dataclass(frozen=True)
class Settings:
    """The options of a run of pytest, and the sessions of the targets that have started."""

    targets: dict[str, TargetName]
    specs: Sequence[str]
    shapes: dict[str, tuple[int, ...]]
    inputs: Path | None
    strict: bool
    seconds: float
    sessions: dict[str, TargetSession] = field(default_factory=dict)

    def session(self, target: str) -> TargetSession:
        """The session of a target, which is started at its first case. Exits pytest with 3 if it cannot be started."""
        if target not in self.sessions:
            # Closed with the others, also if it does not start.
            self.sessions[target] = TargetSession(Target(self.targets[target], self.seconds))
            try:
                _ = self.sessions[target].profile
            except CannotStart as error:
                pytest.exit(inert.block(error), returncode=3)
        return self.sessions[target]


def settings_of(config: pytest.Config) -> Settings:
    """The options; those that are not on the command line from the configuration, as ``run`` has them. Raises ``UsageError``."""
    options = {name: config.getoption(f"--maxpool-check-{name}") for name in ("spec", "shape", "strict", "timeout")}
    inputs, where = config.getoption("--maxpool-check-inputs"), ""
    try:
        file = load(os.environ.get("MAXPOOL_CHECK_CONFIG"), config.invocation_params.dir)
        loaded = file.of("run", (*command.params, *SHARED))
        options = {name: value or getattr(loaded.get(name), "value", value) for name, value in options.items()}
        where = f"{loaded['timeout'].where}: " if "timeout" in loaded else ""
        seconds = SECONDS.convert(options["timeout"] or _SECONDS, None, None)
        specs, where = names_of_documents(options["spec"]), ""
        claimed = [spec for spec in specs if spec != ALL]
        targets = {name: parse(name).claiming(claimed) for name in config.getoption("--maxpool-check")}
        where = "--maxpool-check-shape: "
        shapes = dict(map(shape_of, options["shape"]))
    except (BadConfiguration, click.UsageError, ValueError) as error:
        raise pytest.UsageError(f"{where}{error.message if isinstance(error, click.UsageError) else error}") from error
    return Settings(targets, specs, shapes, Path(inputs) if inputs else None, bool(options["strict"]), float(seconds))


def file_of(path: Path, parent: pytest.Collector, settings: Settings) -> pytest.File | None:
    """A case file or a model; None for another file."""
    if path.suffix != ".onnx" and (path.suffix not in SUFFIXES or is_defect_file(path)):
        return None
    kind: Any = ModelFile if path.suffix == ".onnx" else CaseFile
    file: pytest.File = kind.from_parent(parent, path=path)
    file.settings = settings  # type: ignore[attr-defined]
    return file


class Wrong(Exception):
    """Results that were not expected; the message is what the command prints of them."""


class Item(pytest.Item):
    """What runs on one target."""

    settings: Settings
    about = ""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What the command prints; a traceback for anything else."""
        return (
            f"{self.about}{excinfo.value}" if isinstance(excinfo.value, Wrong) else super().repr_failure(excinfo, style)
        )


class CaseFile(pytest.File):
    """One case file."""

    settings: Settings

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each case on each target."""
        try:
            corpus = collect([self.path], check=True)
            known = read_all_defects(corpus.known_files)
        except CorpusError as error:
            raise self.CollectError("\n".join(map(inert.line, error.problems))) from error
        for target in self.settings.targets:
            for case in of_documents(corpus.cases, self.settings.specs):
                item: CaseItem = CaseItem.from_parent(self, name=inert.line(f"{case.id.rpartition(':')[2]}[{target}]"))
                item.settings, item.case, item.target, item.known = self.settings, case, target, known
                item.about = f"{inert.line(f'{case.id}: {case.title}')}\n\n"
                item.keywords.update(dict.fromkeys(case.tags, True))
                yield item


class CaseItem(Item):
    """One case on one target."""

    case: Case
    target: str
    known: list[Defect]

    def runtest(self) -> None:
        """Run the case, judge the results, and compare them with the known defects."""
        session = self.settings.session(self.target)
        target = session.profile.description
        labels = Labels([target], self.known, date.today())
        judged = [labels.label(self.case, execution) for execution in run_case(session, self.case).executions]
        texts = []
        for each in (execution for execution in judged if execution.unexpected):
            status = each.status.upper() or "ERROR"
            heading = f"{status}  {', '.join(each.kinds) or each.verdict}  ({each.variant})"
            texts.append("\n".join(map(inert.line, [heading, *ExecutionView(each).lines()])))
        if texts:
            raise Wrong("\n\n".join(texts))
        audit = labels.audits[target.name].statuses(lambda _, pattern: pattern == self.case.id)
        for name, (status, reason) in audit.items():
            if status in (KnownStatus.STALE, KnownStatus.EXPIRED):
                texts.append(
                    inert.line(
                        f"[XPASS(strict)] known defect {name} no longer occurs: {', '.join(reason.splitlines())}"
                    )
                )
        if texts:
            raise Wrong("\n".join(texts))
        reasons = {defect.id: " ".join(defect.mechanism.split()) for defect in self.known}
        if excused := dict.fromkeys(each.known for each in judged if each.known and each.status == Status.EXPECTED):
            pytest.xfail(inert.line("; ".join(f"{name}: {reasons[name]}" for name in excused)))
        if all(execution.verdict in ("not-expressible", "not-claimed", "undefined", "unknown") for execution in judged):
            messages = dict.fromkeys(f"{execution.verdict}: {execution.message}" for execution in judged)
            pytest.skip(inert.line("; ".join(messages)))

    def reportinfo(self) -> tuple[Path, int, str]:
        """The line of the case in its file."""
        return self.path, self.case.origin.line - 1, inert.line(f"{self.case.id} [{self.target}]")


class ModelFile(pytest.File):
    """One ONNX model."""

    settings: Settings

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each MaxPool node on each target."""
        targets, inputs = self.settings.targets, self.settings.inputs
        try:
            takes_models = any(target.takes_models for target in targets.values())
            model = read_model(self.path)
            values = None if inputs is None else read_inputs(inputs, model)
            analysis = analyse(model, shapes=self.settings.shapes, inputs=values, takes_models=takes_models)
        except BadModel as error:
            raise self.CollectError(inert.line(error)) from error
        for target, name in targets.items():
            test = ModelTest(analysis, name, self.settings)
            for node_id, node in analysis.by_id.items():
                item: NodeItem = NodeItem.from_parent(self, name=inert.line(f"{node.node.name}[{target}]"))
                item.test, item.node = test, node_id
                yield item


@dataclass
class ModelTest:
    """The test of one model on one target, which runs when the first of its nodes is asked for."""

    analysis: ModelAnalysis
    target: TargetName
    settings: Settings
    problems: Sequence[str] = ()
    results: Mapping[tuple[str, str], NodeResult] | None = None

    def result(self, node: str) -> NodeResult:
        """The result of a node. Exits pytest with 3 if the target cannot be started."""
        if self.results is None:
            lines: list[Line] = []
            defects, versions = read_all_defects(defect_files(shipped_root())), read_versions(shipped_root())
            seconds, strict = max(self.settings.seconds, _SECONDS_OF_MODELS), self.settings.strict
            plan = ModelPlan([self.analysis], [self.target], defects, versions, seconds=seconds, strict=strict)
            test = run_models(plan, lines.append)
            report = ModelReport([self.analysis], test, record_of(lines))
            if report.exit_code is ExitCode.INCOMPLETE and not report.targets:
                pytest.exit(inert.block("\n".join(report.run.problems)), returncode=3)
            self.results, self.problems = report.results, test.problems
        return self.results[str(self.target), node]


class NodeItem(Item):
    """One MaxPool node on one target."""

    test: ModelTest
    node: str

    def runtest(self) -> None:
        """Test the model, and judge this node; one that is wrong on special values alone passes.

        One that is right alone is skipped if its model could not be run.
        """
        result = self.test.result(self.node)
        if result.node.untested:
            pytest.skip(inert.line(result.node.untested))
        if result.state is NodeState.NOT_TESTED:
            pytest.skip(inert.line(result.why_untested or "no result could be compared"))
        if result.state.fails:
            raise Wrong(inert.block("\n".join(explained_result(result))))
        if self.test.problems:
            pytest.skip(inert.line(self.test.problems[0]))

    def reportinfo(self) -> tuple[Path, None, str]:
        """The model and the node; a model has no lines."""
        return self.path, None, inert.line(self.name)
