"""The pytest plugin: ``pytest --maxpool-check=onnxruntime cases/`` collects an item for each case and target.

A failure shows what ``run`` prints. A known divergence is an expected failure with its reason, and fails where it no
longer occurs. A case that could not be compared is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Nothing else at the top: pytest imports this for every run, also for those without case files.
if TYPE_CHECKING:
    from maxpool_check.corpus.case import Case
    from maxpool_check.judging.known import KnownDivergence
    from maxpool_check.results.record import Execution
    from maxpool_check.targets.session import TargetSession


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--maxpool-check`` and ``--maxpool-check-timeout``."""
    group = parser.getgroup("maxpool-check")
    group.addoption(
        "--maxpool-check", action="append", default=[], metavar="TARGET",
        help="Runtime to test with the case files among the paths, e.g. onnxruntime==1.23.2. Repeatable.",
    )  # fmt: skip
    group.addoption(
        "--maxpool-check-timeout", type=float, default=10.0, metavar="SECONDS", help="The time limit of one execution."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the targets that are named."""
    names = config.getoption("--maxpool-check")
    if names:
        config.pluginmanager.register(
            _Targets(names, config.getoption("--maxpool-check-timeout")), "maxpool-check-targets"
        )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """A case file, where a target is named."""
    if not parent.config.getoption("--maxpool-check"):
        return None
    from maxpool_check.corpus.collection import KNOWN_NAME, SUFFIXES

    if file_path.suffix not in SUFFIXES or file_path.name == KNOWN_NAME:
        return None
    case_file: CaseFile = CaseFile.from_parent(parent, path=file_path)
    return case_file


class _Targets:
    """The targets of a session, each started at its first case."""

    def __init__(self, names: Iterable[str], seconds: float) -> None:
        from maxpool_check.targets.name import BadTarget, parse

        try:
            self.names = {name: parse(name) for name in names}
        except BadTarget as error:
            raise pytest.UsageError(str(error)) from error
        self._seconds = seconds
        self._sessions: dict[str, TargetSession] = {}

    def session(self, name: str) -> TargetSession:
        """The session of a target."""
        from maxpool_check.targets.process import CannotStart
        from maxpool_check.targets.session import TargetSession
        from maxpool_check.targets.target import Target

        if name not in self._sessions:
            try:
                session = TargetSession(Target(self.names[name], self._seconds))
                _ = session.profile
            except CannotStart as error:
                pytest.exit(str(error), returncode=3)
            self._sessions[name] = session
        return self._sessions[name]

    def pytest_unconfigure(self) -> None:
        for session in self._sessions.values():
            session.close()


class CaseFile(pytest.File):
    """One case file."""

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each case on each target."""
        from maxpool_check.corpus.collection import collect
        from maxpool_check.corpus.expectations import contradictions
        from maxpool_check.corpus.known_file import read_all_known
        from maxpool_check.corpus.problems import CorpusError

        try:
            corpus = collect([self.path])
            known = read_all_known(corpus.known_files)
            problems = [problem for case in corpus.cases for problem in contradictions(case)]
            if problems:
                raise CorpusError(problems)
        except CorpusError as error:
            raise self.CollectError("\n".join(map(str, error.problems))) from error
        targets: Any = self.config.pluginmanager.get_plugin("maxpool-check-targets")
        for target in targets.names:
            for case in corpus.cases:
                item: CaseItem = CaseItem.from_parent(self, name=f"{case.id.rpartition(':')[2]}[{target}]")
                item.case, item.target, item.known = case, target, known
                item.keywords.update(dict.fromkeys(case.tags, True))
                yield item


class UnexpectedResult(Exception):
    """Executions that were not expected."""


class CaseItem(pytest.Item):
    """One case on one target."""

    case: Case
    target: str
    known: list[KnownDivergence]

    def runtest(self) -> None:
        """Run the case, judge the results, and compare them with the known divergences."""
        from datetime import date

        from maxpool_check.judging.known import Ledger
        from maxpool_check.reporting.text import details
        from maxpool_check.results.record import KnownStatus
        from maxpool_check.running.case_run import executions, run_case
        from maxpool_check.running.decisions import apply_known, covers

        targets: Any = self.config.pluginmanager.get_plugin("maxpool-check-targets")
        session: TargetSession = targets.session(self.target)
        case = self.case
        entries = [entry for entry in self.known if covers(entry, session.profile.description)]
        ledger = Ledger(entries, date.today())
        judged = [apply_known(execution, ledger) for execution in executions(run_case(session, case))]
        unexpected = [execution for execution in judged if execution.unexpected]
        if unexpected:
            texts = ["\n".join([_heading(execution), *details(execution)]) for execution in unexpected]
            raise UnexpectedResult("\n\n".join(texts))
        is_complete = {pattern: pattern == case.id for entry in entries for pattern in entry.cases}
        stale = [
            f"[XPASS(strict)] known divergence {entry.id} no longer occurs: {reason}"
            for entry, status, reason in ledger.audit(is_complete)
            if status in (KnownStatus.STALE, KnownStatus.EXPIRED)
        ]
        if stale:
            raise UnexpectedResult("\n".join(stale))
        self._excuse(judged)

    def _excuse(self, executions: list[Execution]) -> None:
        """Make known divergences expected failures, and skip what could not be compared."""
        reasons = {entry.id: entry.reason for entry in self.known}
        excused = {name: reasons[name] for execution in executions if (name := execution.known)}
        if excused:
            pytest.xfail("; ".join(f"{name}: {' '.join(reason.split())}" for name, reason in excused.items()))
        if all(execution.verdict in ("not-expressible", "undefined") for execution in executions):
            messages = dict.fromkeys(f"{execution.verdict}: {execution.message}" for execution in executions)
            pytest.skip("; ".join(messages))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What ``run`` prints for an unexpected result; a traceback for anything else."""
        if isinstance(excinfo.value, UnexpectedResult):
            return f"{self.case.id}: {self.case.title}\n\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The line of the case in its file."""
        return self.path, self.case.origin.line - 1, f"{self.case.id} [{self.target}]"


def _heading(execution: Execution) -> str:
    status = execution.status.upper() or "ERROR"
    return f"{status}  {', '.join(execution.kinds) or execution.verdict}  ({execution.variant})"
