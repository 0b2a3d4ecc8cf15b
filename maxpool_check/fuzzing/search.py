"""Searches from seeds: drawn cases run on targets, and those that show something new are kept, made small.

Each search is separate, with targets started for it. Its discoveries depend on its seed and on what was known before all
searches; which of them are new depends on the order of the seeds. Neither depends on the number of processes, or on which
seed is done first.
"""

import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial

from maxpool_check.corpus.case import Case
from maxpool_check.fuzzing.generation import generate
from maxpool_check.judging.defects import Defect, shows
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import COMPARED, Execution, TargetDescription, Verdict
from maxpool_check.results.variants import ALL_VARIANTS, Variant
from maxpool_check.running.case_run import JudgedRun
from maxpool_check.running.runner import ExecutionConfig, LocalRunner, check_same_targets
from maxpool_check.running.shrinking import shrunk
from maxpool_check.specifications import specification
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart
from maxpool_check.targets.session import TargetSession
from maxpool_check.targets.starting import StartingTarget
from maxpool_check.targets.target import Target

Signature = tuple[Variant, frozenset[DivergenceKind]]
"""A variant, and exactly the kinds that it shows."""

GRAPHS = 0.25
"""The share of drawn cases with other nodes around MaxPool, unless only such cases are drawn."""

SearchCounts = Counter[str]
"""How many ``cases`` ran on a target, and how many of them were ``compared`` and ``diverged``."""


class _GivenUp(RuntimeError):
    """A target that died or failed too often in a row."""


@dataclass(frozen=True, eq=False)
class Discovery:
    """Kinds that a target was not known to show."""

    target: str
    variant: Variant
    kinds: tuple[DivergenceKind, ...]
    drawn: Case
    execution: Execution
    """That of the drawn case."""
    case: Case
    """A small case that shows the same kinds."""

    @property
    def signature(self) -> Signature:
        """The key that decides whether it is new."""
        return self.variant, frozenset(self.kinds)


@dataclass(frozen=True)
class FuzzPlan:
    """What every seed searches: the targets, and at most ``cases`` of a document, for at most ``seconds``.

    ``contexts``: all of them are graphs with other nodes around MaxPool. Otherwise some are, where a target is a runtime.
    """

    targets: tuple[TargetName, ...]
    timeout: float
    spec: str
    invalid: bool
    cases: int | None
    seconds: float | None
    contexts: bool = False

    @property
    def may_have_graphs(self) -> bool:
        """Whether cases of the document may be graphs with other nodes around MaxPool."""
        document = specification(self.spec)
        return document.onnx is not None and document.domain is None

    def draw(self, seed: int) -> Iterator[Case]:
        """The cases of a seed. The time begins with the first."""
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        # A kernel of the user executes graphs only if it says so; --only contexts draws them for it.
        some = self.may_have_graphs and not self.invalid and any(target.is_released for target in self.targets)
        cases = generate(self.spec, seed, invalid=self.invalid, graphs=1 if self.contexts else GRAPHS * some)
        for case in itertools.islice(cases, self.cases):
            if deadline is not None and time.monotonic() >= deadline:
                return
            yield case

    def origin(self, seed: int, number: int) -> str:
        """The options that draw the case of this number again, counted from 1."""
        options = f"{' --only invalid' if self.invalid else ''}{' --only contexts' if self.contexts else ''}"
        return f"--spec {self.spec}{options} --seed {seed}, case {number}"


@dataclass(frozen=True)
class Baseline:
    """A target before the search: its description, and the divergences that it is known to show."""

    description: TargetDescription
    known: frozenset[Signature]


@dataclass
class SeedResult:
    """The result of the search from a seed: counts by target, and discoveries with the number of the drawn case.

    ``error`` is why a target ended it early, if one did; ``complete`` is false if the search was stopped.
    """

    seed: int
    counts: list[SearchCounts] = field(default_factory=list)
    discoveries: list[tuple[int, Discovery]] = field(default_factory=list)
    error: str | None = None
    complete: bool = False


class _Search:
    """A search on one target; ``known`` are the signatures that are not new."""

    def __init__(self, session: TargetSession, known: frozenset[Signature]) -> None:
        self.counts = SearchCounts()
        self._session, self._known = session, set(known)

    def discoveries(self, case_run: JudgedRun) -> Iterator[Discovery]:
        """What the run of a drawn case shows for the first time."""
        verdicts = {execution.verdict for execution in case_run.executions}
        self.counts["cases"] += 1
        self.counts["compared"] += any(verdict in COMPARED for verdict in verdicts)
        self.counts["diverged"] += bool(case_run.diverging)
        self.counts["failed"] += Verdict.ERROR in verdicts
        for variant in case_run.diverging:
            kinds = case_run.judgements[variant].kinds
            # What a variant shows with its default options is nothing new without optimization.
            if not {(variant, frozenset(kinds)), (variant.base, frozenset(kinds))} & self._known:
                self._known.add((variant, frozenset(kinds)))
                (execution,) = (each for each in case_run.executions if each.variant == variant.name)
                small = shrunk(self._session, case_run, variant)
                yield Discovery(case_run.target, variant, kinds, case_run.case, execution, small)


class Searcher:
    """Searches in one thread. Targets are started for each seed, since they may keep state."""

    def __init__(self, plan: FuzzPlan) -> None:
        self._plan = plan
        self._ended = threading.Event()
        self._runner: LocalRunner | None = None

    def baselines(self, defects: Sequence[Defect], earlier: Sequence[Case]) -> list[Baseline]:
        """What each target is known to show: what defects expect of any case, and what ``earlier`` cases show, which are run.

        Raises ``CannotStart``.
        """
        with self._started() as runner:
            by_target = {description.name: set[Signature]() for description in runner.descriptions}
            for description in runner.descriptions:
                known = by_target[description.name]
                for effect in (effect for defect in defects for effect in defect.effects):
                    if effect.covers(description) and not effect.expired(date.today()):
                        for variant in ALL_VARIANTS if effect.variants is None else effect.variants:
                            known.add((variant, frozenset(kind for kind in effect.kinds if shows(variant, kind))))
            for case_run in runner.runs(earlier):
                shown = {(each, frozenset(case_run.judgements[each].kinds)) for each in case_run.diverging}
                by_target[case_run.target] |= shown
            return [Baseline(each, frozenset(by_target[each.name])) for each in runner.descriptions]

    def result(self, baselines: Sequence[Baseline], seed: int) -> SeedResult:
        """The result of the search from a seed. Raises ``PoolLost`` where the targets are not those of the baselines."""
        result = SeedResult(seed)
        try:
            with self._started() as runner:
                check_same_targets(runner.descriptions, [baseline.description for baseline in baselines])
                pairs = zip(runner.sessions, baselines, strict=True)
                searches = {each.description.name: _Search(session, each.known) for session, each in pairs}
                result.counts += [search.counts for search in searches.values()]
                for number, case_run in enumerate(runner.runs(self._plan.draw(seed))):
                    found = searches[case_run.target].discoveries(case_run)
                    result.discoveries += [(number // len(searches) + 1, discovery) for discovery in found]
                    if (why := runner.given_up.get(case_run.target)) is not None:
                        raise _GivenUp(f"{case_run.target} was given up: {why}")
                result.complete = True
        except (CannotStart, _GivenUp) as error:
            if not self._ended.is_set():
                result.error, result.complete = str(error), True
        return result

    def end(self) -> None:
        """End the search that is under way. From any thread."""
        self._ended.set()
        if (runner := self._runner) is not None:
            runner.end()

    close = end

    @contextlib.contextmanager
    def _started(self) -> Iterator[LocalRunner]:
        """A runner with the targets started. Raises ``CannotStart``."""
        config = ExecutionConfig(self._plan.targets, self._plan.timeout)
        # A file of outputs, which is no program, has none of drawn cases.
        made = (partial(TargetSession, Target(name, config.seconds)) for name in config.targets)
        starting = [StartingTarget(make, inspects=False) for make in made]
        with contextlib.closing(LocalRunner(config, starting=starting)) as runner:
            self._runner = runner
            if self._ended.is_set():
                runner.end()
            for error in runner.errors:
                raise CannotStart(error)
            yield runner
