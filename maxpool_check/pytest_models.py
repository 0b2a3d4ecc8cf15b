"""Models as pytest items: one for each MaxPool node of a model and each target."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from maxpool_check import inert
from maxpool_check.corpus.collection import defect_files, shipped_root
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import read_versions
from maxpool_check.models.analysis import ModelAnalysis, analyse
from maxpool_check.models.flow import read_inputs
from maxpool_check.models.model_file import BadModel, read_model
from maxpool_check.models.testing import ModelPlan, run_models
from maxpool_check.reporting.model_report import ModelReport, NodeResult, NodeState
from maxpool_check.reporting.model_view import explained_result
from maxpool_check.results.record import ExitCode, Line
from maxpool_check.results.storage import record_of
from maxpool_check.targets.name import TargetName


class ModelFile(pytest.File):
    """One ONNX model."""

    targets: dict[str, TargetName]
    shapes: dict[str, tuple[int, ...]]
    inputs: Path | None
    seconds: float
    strict: bool

    def read_options(self, config: pytest.Config) -> None:
        """Read the options of models."""
        inputs = config.getoption("--maxpool-check-inputs")
        self.inputs = Path(inputs) if inputs else None
        # A model takes longer than a case.
        self.seconds = max(config.getoption("--maxpool-check-timeout"), 60.0)
        self.strict = config.getoption("--maxpool-check-strict")

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each MaxPool node on each target."""
        try:
            takes_models = any(target.takes_models for target in self.targets.values())
            model = read_model(self.path)
            inputs = None if self.inputs is None else read_inputs(self.inputs, model)
            analysis = analyse(model, shapes=self.shapes, inputs=inputs, takes_models=takes_models)
        except BadModel as error:
            raise self.CollectError(inert.line(error)) from error
        tests = {name: ModelTests(analysis, target, self.seconds, self.strict) for name, target in self.targets.items()}
        for target, test in tests.items():
            for node_id, node in analysis.by_id.items():
                item: NodeItem = NodeItem.from_parent(self, name=inert.line(f"{node.node.name}[{target}]"))
                item.tests, item.node = test, node_id
                yield item


class ModelTests:
    """The tests of one model on one target, which run when the first of its nodes is asked for."""

    def __init__(self, analysis: ModelAnalysis, target: TargetName, seconds: float, strict: bool) -> None:
        self._analysis, self._target, self._seconds, self._strict = analysis, target, seconds, strict
        self._results: Mapping[tuple[str, str], NodeResult] | None = None
        self.problems: list[str] = []

    def result(self, node: str) -> NodeResult:
        """The result of a node. Exits pytest with 3 if the target cannot be started."""
        if self._results is None:
            lines: list[Line] = []
            defects, versions = read_all_defects(defect_files(shipped_root())), read_versions(shipped_root())
            plan = ModelPlan(
                [self._analysis], [self._target], defects, versions, seconds=self._seconds, strict=self._strict
            )
            test = run_models(plan, lines.append)
            report = ModelReport([self._analysis], test, record_of(lines))
            if report.exit_code is ExitCode.INCOMPLETE and not report.targets:
                pytest.exit(inert.block("\n".join(report.run.problems)), returncode=3)
            self._results, self.problems = report.results, test.problems
        return self._results[str(self._target), node]


class WrongNode(Exception):
    """A MaxPool node that is not computed as its document says."""


class NodeItem(pytest.Item):
    """One MaxPool node on one target."""

    tests: ModelTests
    node: str

    def runtest(self) -> None:
        """Test the model, and judge this node; one that is wrong on special values alone passes.

        One that is right alone is skipped if its model could not be run.
        """
        result = self.tests.result(self.node)
        if result.node.untested:
            pytest.skip(inert.line(result.node.untested))
        if result.state is NodeState.NOT_TESTED:
            pytest.skip(inert.line(result.why_untested or "no result could be compared"))
        if result.state.fails:
            raise WrongNode(inert.block("\n".join(explained_result(result))))
        if self.tests.problems:
            pytest.skip(inert.line(self.tests.problems[0]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What the report of models says of the node; a traceback for anything else."""
        if isinstance(excinfo.value, WrongNode):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The model and the node; a model has no lines."""
        return self.path, None, inert.line(self.name)
