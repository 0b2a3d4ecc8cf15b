"""The pytest plugin: ``pytest --maxpool-check=onnxruntime cases/`` collects an item for each case and target.

For ``model.onnx`` it is an item for each MaxPool node (:mod:`maxpool_check.pytest_models`).

A failure shows what ``run`` prints. A known defect is an expected failure with its reason, and fails where it no
longer occurs. A case that could not be compared is skipped.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maxpool_check import inert

# Nothing else at the top: pytest imports this for every run, also for those without case files.
if TYPE_CHECKING:
    from maxpool_check.commands.configuration import Entry
    from maxpool_check.corpus.case import Case
    from maxpool_check.judging.defects import Defect
    from maxpool_check.targets.name import TargetName
    from maxpool_check.targets.session import TargetSession

_TARGETS: "pytest.StashKey[dict[str, TargetName]]" = pytest.StashKey()
_SHAPES: pytest.StashKey[dict[str, tuple[int, ...]]] = pytest.StashKey()
_SPECS: "pytest.StashKey[Sequence[str]]" = pytest.StashKey()
_SESSIONS: "pytest.StashKey[dict[str, TargetSession]]" = pytest.StashKey()

_SECONDS = 10.0
"""The time limit of one execution where nothing says another."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--maxpool-check`` and ``--maxpool-check-timeout``."""
    group = parser.getgroup("maxpool-check")
    group.addoption(
        "--maxpool-check", action="append", default=[], metavar="TARGET",
        help="Runtime to test with the case files and models among the paths, e.g. onnxruntime==1.23.2. Repeatable.",
    )  # fmt: skip
    group.addoption(
        "--maxpool-check-spec", action="append", default=[], metavar="NAME,...",
        help="Only the cases of these documents or families, which kernels of yours then claim beside their own. Repeatable.",
    )  # fmt: skip
    group.addoption(
        "--maxpool-check-shape", action="append", default=[], metavar="NAME=SIZES",
        help="Sizes that a model leaves open: an input's, images=1,3,224,224, or a dimension's, batch=1. Repeatable.",
    )  # fmt: skip
    group.addoption("--maxpool-check-inputs", metavar="DIR|FILE.npz", help="Values of the inputs of a model.")
    group.addoption(
        "--maxpool-check-strict", action="store_true",
        help="Fail nodes of a model that are wrong on special values alone, too.",
    )  # fmt: skip
    group.addoption("--maxpool-check-timeout", type=float, metavar="SECONDS", help="The time limit of one execution.")


def _configure_options(config: pytest.Config) -> None:
    """Take the options that are not on the command line from the configuration, as ``run`` does."""
    import os

    from maxpool_check.commands.configuration import BadConfiguration, load
    from maxpool_check.commands.run import command

    try:
        settings = load(os.environ.get("MAXPOOL_CHECK_CONFIG"), config.invocation_params.dir).of(
            ("run",), command.params
        )
    except BadConfiguration as error:
        raise pytest.UsageError(str(error)) from error
    options = config.option
    for name in ("spec", "strict"):
        if not getattr(options, f"maxpool_check_{name}") and name in settings:
            setattr(options, f"maxpool_check_{name}", settings[name].value)
    if options.maxpool_check_timeout is None:
        options.maxpool_check_timeout = _seconds(settings["timeout"]) if "timeout" in settings else _SECONDS


def _seconds(entry: "Entry") -> float:
    """The time limit that a configuration sets."""
    import click

    from maxpool_check.commands.options import SECONDS

    try:
        return float(SECONDS.convert(entry.value, None, None))
    except click.UsageError as error:
        raise pytest.UsageError(f"{entry.where}: {error.message}") from error


def pytest_configure(config: pytest.Config) -> None:
    """Read the names of the targets."""
    names = config.getoption("--maxpool-check")
    if not names:
        return
    _configure_options(config)
    from maxpool_check.corpus.selection import ALL, names_of_documents
    from maxpool_check.targets.name import parse

    try:
        specs = names_of_documents(config.getoption("--maxpool-check-spec"))
        config.stash[_SPECS] = specs
        config.stash[_TARGETS] = {name: parse(name).claiming(spec for spec in specs if spec != ALL) for name in names}
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_SESSIONS] = {}
    if shapes := config.getoption("--maxpool-check-shape"):
        from maxpool_check.models.shapes import shape_of

        try:
            config.stash[_SHAPES] = dict(map(shape_of, shapes))
        except ValueError as error:
            raise pytest.UsageError(f"--maxpool-check-shape: {error}") from error


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the targets."""
    for session in config.stash.get(_SESSIONS, {}).values():
        session.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """A case file or a model, where a target is named."""
    if not parent.config.getoption("--maxpool-check"):
        return None
    if file_path.suffix == ".onnx":
        from maxpool_check.pytest_models import ModelFile

        model_file: ModelFile = ModelFile.from_parent(parent, path=file_path)
        model_file.targets = parent.config.stash[_TARGETS]
        model_file.shapes = parent.config.stash.get(_SHAPES, {})
        model_file.read_options(parent.config)
        return model_file
    from maxpool_check.corpus.collection import SUFFIXES, is_defect_file

    if file_path.suffix not in SUFFIXES or is_defect_file(file_path):
        return None
    case_file: CaseFile = CaseFile.from_parent(parent, path=file_path)
    return case_file


class CaseFile(pytest.File):
    """One case file."""

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each case on each target."""
        from maxpool_check.corpus.case import contradictions
        from maxpool_check.corpus.collection import collect
        from maxpool_check.corpus.defect_file import read_all_defects
        from maxpool_check.corpus.problems import CorpusError
        from maxpool_check.corpus.selection import of_documents

        try:
            corpus = collect([self.path])
            known = read_all_defects(corpus.known_files)
            problems = [problem for case in corpus.cases for problem in contradictions(case)]
            if problems:
                raise CorpusError(problems)
        except CorpusError as error:
            raise self.CollectError("\n".join(map(inert.line, error.problems))) from error
        for target in self.config.stash[_TARGETS]:
            for case in of_documents(corpus.cases, self.config.stash[_SPECS]):
                item: CaseItem = CaseItem.from_parent(self, name=inert.line(f"{case.id.rpartition(':')[2]}[{target}]"))
                item.case, item.target, item.known = case, target, known
                item.keywords.update(dict.fromkeys(case.tags, True))
                yield item


class UnexpectedResult(Exception):
    """Executions that were not expected."""


class CaseItem(pytest.Item):
    """One case on one target."""

    case: "Case"
    target: str
    known: "list[Defect]"

    def runtest(self) -> None:
        """Run the case, judge the results, and compare them with the known defects."""
        from maxpool_check.corpus.conditions import resolved
        from maxpool_check.judging.ledger import Ledger
        from maxpool_check.reporting.executions import details
        from maxpool_check.results.record import KnownStatus
        from maxpool_check.running.case_run import executions, run_case
        from maxpool_check.running.decisions import apply_known

        session = self._session()
        expected = resolved(self.known, [self.case])
        entries = [entry for entry in expected if entry.covers(session.profile.description)]
        ledger = Ledger(entries, date.today(), session.profile.description.version)
        judged = [apply_known(execution, ledger) for execution in executions(run_case(session, self.case))]
        unexpected = [execution for execution in judged if execution.unexpected]
        if unexpected:
            headings = [
                f"{each.status.upper() or 'ERROR'}  {', '.join(each.kinds) or each.verdict}  ({each.variant})"
                for each in unexpected
            ]
            texts = [
                "\n".join(map(inert.line, [heading, *details(each)]))
                for heading, each in zip(headings, unexpected, strict=True)
            ]
            raise UnexpectedResult("\n\n".join(texts))
        audit = ledger.audit(
            lambda entry: {each: each == self.case.id and not entry.by_conditions for each in entry.cases}
        )
        stale = [
            f"[XPASS(strict)] known defect {name} no longer occurs: {reason}"
            for name, (status, reason) in audit.items()
            if status in (KnownStatus.STALE, KnownStatus.EXPIRED)
        ]
        if stale:
            raise UnexpectedResult("\n".join(map(inert.line, stale)))
        reasons = {defect.id: " ".join(defect.mechanism.split()) for defect in self.known}
        excused = dict.fromkeys(execution.known for execution in judged if execution.known)
        if excused:
            pytest.xfail(inert.line("; ".join(f"{name}: {reasons[name]}" for name in excused)))
        if all(execution.verdict in ("not-expressible", "not-claimed", "undefined", "unknown") for execution in judged):
            messages = dict.fromkeys(f"{execution.verdict}: {execution.message}" for execution in judged)
            pytest.skip(inert.line("; ".join(messages)))

    def _session(self) -> "TargetSession":
        """The session of the target, which is started at its first case."""
        from maxpool_check.targets.process import CannotStart
        from maxpool_check.targets.session import TargetSession
        from maxpool_check.targets.target import Target

        sessions = self.config.stash[_SESSIONS]
        if self.target not in sessions:
            seconds = self.config.getoption("--maxpool-check-timeout")
            try:
                # Closed with the others, also if it does not start.
                sessions[self.target] = TargetSession(Target(self.config.stash[_TARGETS][self.target], seconds))
                _ = sessions[self.target].profile
            except CannotStart as error:
                pytest.exit(inert.block(error), returncode=3)
        return sessions[self.target]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What ``run`` prints for an unexpected result; a traceback for anything else."""
        if isinstance(excinfo.value, UnexpectedResult):
            return f"{inert.line(f'{self.case.id}: {self.case.title}')}\n\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The line of the case in its file."""
        return self.path, self.case.origin.line - 1, inert.line(f"{self.case.id} [{self.target}]")
