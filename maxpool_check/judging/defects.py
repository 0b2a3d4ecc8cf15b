"""Defects of runtimes: reviewed causes of divergences, with the executions that show them; executed, never excused."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup, read_table
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.reference.dtypes import FLOATS, NUMPY, lowest
from maxpool_check.results.record import Execution, KnownEntry, KnownStatus, TargetDescription
from maxpool_check.results.variants import Variant


class Severity(str, Enum):
    """How bad a defect is, the worst first."""

    WRONG_ON_FINITE = "wrong-on-finite"
    WRONG_ON_SPECIAL = "wrong-on-special"
    CRASH = "crash"
    ACCEPTS_INVALID = "accepts-invalid"
    REFUSES_VALID = "refuses-valid"
    LIMIT = "limit"
    INCONSISTENCY = "inconsistency"

    @property
    def meaning(self) -> str:
        """What it says of results, in a sentence."""
        return str(read_table("severities.yaml")[self.value])

    @property
    def rank(self) -> int:
        """Its place in the order of reports, 0 for the worst."""
        return list(Severity).index(self)


_SPECIAL: dict[str, str] = {kind.value: about.special for kind, about in DESCRIPTIONS.items()}
_NOT_FINITE = frozenset({"nan", "-nan", "inf", "-inf"})


def severity_of(kinds: Iterable[DivergenceKind], *, is_limit: bool = False) -> Severity:
    """The severity of a divergence of these kinds, as far as they tell: whoever reviews it knows better."""
    kinds = set(kinds)
    if kinds & {DivergenceKind.CRASH, DivergenceKind.TIMEOUT}:
        return Severity.CRASH
    if kinds <= {DivergenceKind.REFUSES_VALID, DivergenceKind.GRAPH_NOT_LOADABLE}:
        return Severity.LIMIT if is_limit else Severity.REFUSES_VALID
    if {DESCRIPTIONS[kind].group for kind in kinds} == {KindGroup.DEPENDENCE}:
        return Severity.INCONSISTENCY
    wrong = kinds - {DivergenceKind.ACCEPTS_INVALID}
    if not wrong:
        return Severity.ACCEPTS_INVALID
    return Severity.WRONG_ON_SPECIAL if all(map(_SPECIAL.get, wrong)) else Severity.WRONG_ON_FINITE


def severity(kinds: Iterable[str], executions: Sequence[Execution], defect: KnownEntry | None) -> Severity:
    """How bad executions are: as a known defect, if they have one, or as the kinds tell; of kinds of other versions the worst.

    What is wrong in an ordinary window, of those that the record shows, is wrong on finite values, whatever the defect says.
    """
    known = [DivergenceKind(kind) for kind in set(kinds) & {*DivergenceKind}]
    result = Severity.WRONG_ON_FINITE
    if defect is not None and defect.severity:
        result = Severity(defect.severity)
    elif known:
        result = severity_of(known, is_limit=all(execution.limit for execution in executions))
    is_ordinary = result is Severity.WRONG_ON_SPECIAL and any(map(_is_wrong_on_ordinary_values, executions))
    return Severity.WRONG_ON_FINITE if is_ordinary else result


def _is_wrong_on_ordinary_values(execution: Execution) -> bool:
    """Whether a window is not one of NaN, an infinity, or nothing but the lowest value of a float type."""
    by_window = {kind for kind in execution.kinds if _SPECIAL.get(kind) == "by-window"}
    if not by_window:
        return False
    dtype = execution.input.pooled.dtype if execution.input is not None else ""
    # The lowest value of an integer type is an ordinary one.
    low = {str(lowest(NUMPY[dtype]))} if dtype in FLOATS else None
    windows = [set(cell.values or ()) for cell in execution.cells if cell.kind in by_window]
    return low is None or not windows or not all(values & _NOT_FINITE or values == low for values in windows)


@dataclass(frozen=True)
class Conditions:
    """What holds for every execution that shows a defect; what is empty or None says nothing.

    ``dtypes``, ``spatial`` (numbers of spatial axes), ``channels_multiple_of`` and ``values`` are those of the tensor that
    enters MaxPool; ``geometry``, ``values`` and the names of the documents' refusals in ``refused`` are flags of
    ``corpus.features``; of ``any_values`` one must hold. ``before`` and ``after`` are operators that a graph has around
    MaxPool, ``graph`` flags of its nodes; ``opset`` bounds its operator set, ``optimization``
    names the levels. ``indices``: whether Indices are an output. ``processor`` is as :meth:`Processor.has` takes it.
    """

    dtypes: tuple[str, ...] = ()
    spatial: tuple[int, ...] = ()
    channels_multiple_of: int | None = None
    indices: bool | None = None
    geometry: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    any_values: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    graph: tuple[str, ...] = ()
    optimization: tuple[str, ...] = ()
    opset: str = ""
    refused: str | None = None
    processor: tuple[str, ...] = ()

    @property
    def said(self) -> Mapping[str, Any]:
        """The conditions that say something, by name."""
        return {name: value for name, value in vars(self).items() if value not in ((), None, "")}


@dataclass(frozen=True)
class Upstream:
    """What the project that makes the runtime knows of a defect, as seen on a date.

    ``state`` is ``open``, ``closed``, ``merged`` or ``none-found``, ``issue`` the address of the issue or the change.
    """

    state: str
    seen: date
    issue: str | None = None
    note: str = ""


@dataclass(frozen=True)
class ExpectedDivergence:
    """Executions that show a defect: of these cases, on these targets, in exactly these kinds.

    ``defect`` is the id of the defect. ``variants`` are those that must all show it; None: any may. ``cases`` are ids or
    globs. ``conditions`` hold for these executions besides those of the defect. ``by_conditions``: the cases are all that
    meet both, of which any may show it.
    """

    defect: str
    when: TargetSelector
    cases: tuple[str, ...]
    kinds: frozenset[DivergenceKind]
    variants: frozenset[Variant] | None = None
    expires: date | None = None
    by_conditions: bool = False
    conditions: Conditions = field(default_factory=Conditions)

    def covers(self, target: TargetDescription) -> bool:
        """Whether it is about a target: its runtime, its version and its processor."""
        named = self.conditions.processor
        return self.when.covers(target.selected_as, target.version, target.provider, target.name) and (
            not named or (target.processor is not None and target.processor.has(named))
        )

    def expired(self, today: date) -> bool:
        """Whether its date has passed."""
        return self.expires is not None and today > self.expires

    def binds(self, case: str) -> bool:
        """Whether it is about a case, by its full id."""
        return bool(self.patterns(case))

    def patterns(self, case: str) -> list[str]:
        """Those of its ``cases`` that match a case."""
        exact, globs = self._patterns
        return [
            *([case] if case in exact else []),
            *(each for each in globs if each != case and fnmatchcase(case, each)),
        ]

    @cached_property
    def _patterns(self) -> tuple[frozenset[str], tuple[str, ...]]:
        return frozenset(self.cases), tuple(filter(is_glob, self.cases))

    def expects(self, case: str, variant: Variant, kinds: Iterable[DivergenceKind]) -> bool:
        """Whether these are exactly its kinds, as far as the variant can show them."""
        kinds = frozenset(kinds)
        # An entry for a variant holds for its variations as well.
        return (
            kinds <= self.kinds
            and (self.variants is None or bool({variant, variant.base} & self.variants))
            and self.binds(case)
            and kinds == {kind for kind in self.kinds if shows(variant, kind)}
        )


@dataclass(frozen=True)
class Defect:
    """One mistake of a runtime: its effect in a sentence, its mechanism, and the executions that show it.

    ``runtime`` names it as ``-t`` does, without the version; ``other_builds`` are further runtimes of the same source and the
    same versions. ``established`` says how the mechanism is known. ``documents`` are those that it violates, by name or
    family, as far as it was said. ``example`` is the id of the case to show. ``reviewer`` is the person who has confirmed the
    mechanism, on the day ``reviewed``.
    """

    id: str
    runtime: str
    title: str
    severity: Severity
    mechanism: str
    expected: tuple[ExpectedDivergence, ...]
    established: str = ""
    documents: tuple[str, ...] = ()
    conditions: Conditions = field(default_factory=Conditions)
    upstream: Upstream | None = None
    example: str | None = None
    reviewer: str = ""
    reviewed: date | None = None
    other_builds: tuple[str, ...] = ()

    @property
    def runtimes(self) -> tuple[str, ...]:
        """All runtimes that it is about."""
        return (self.runtime, *self.other_builds)

    @property
    def kinds(self) -> frozenset[DivergenceKind]:
        """All kinds that it shows."""
        return frozenset(kind for each in self.expected for kind in each.kinds)


def is_glob(pattern: str) -> bool:
    """Whether a pattern has wildcards."""
    return bool(set("*?[") & set(pattern))


def shows(variant: Variant, kind: DivergenceKind) -> bool:
    """Whether executions of a variant can have a kind of divergence.

    Y alone has no Indices, but is compared with the Y of the variant with Indices; variations are compared with their base.
    """
    if kind is DivergenceKind.Y_DEPENDS_ON_INDICES:
        return variant.variation is None and not variant.has_indices
    compared = DESCRIPTIONS[kind].group is not KindGroup.DEPENDENCE or variant.variation is not None
    return compared and (variant.has_indices or kind.output != "Indices")


@dataclass
class Ledger:
    """The divergences that are expected of one target, and what a run observed of them."""

    entries: Sequence[ExpectedDivergence]
    today: date
    # By the number of an entry and one of its patterns, the variants that were compared, and those that were as expected.
    _compared: dict[tuple[int, str], set[Variant]] = field(default_factory=dict)
    _observed: dict[tuple[int, str], set[Variant]] = field(default_factory=dict)
    _expired: set[int] = field(default_factory=set)

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """The numbers of the entries that name a case, by the case; under an empty text those that have a glob."""
        numbers: dict[str, list[int]] = {}
        for number, entry in enumerate(self.entries):
            for name in {"" if is_glob(pattern) else pattern for pattern in entry.cases}:
                numbers.setdefault(name, []).append(number)
        return numbers

    def _about(self, case: str) -> list[tuple[int, ExpectedDivergence]]:
        """The entries about a case, with their numbers, in order."""
        # Most cases are those of no entry: to ask every entry takes a tenth of a run.
        numbers = sorted({*self._numbers.get(case, ()), *self._numbers.get("", ())})
        return [(number, self.entries[number]) for number in numbers if self.entries[number].binds(case)]

    def compared(self, case: str, variant: Variant) -> None:
        """Remember that an execution was compared with its document: only then can an entry be stale."""
        for number, entry in self._about(case):
            for pattern in entry.patterns(case):
                self._compared.setdefault((number, pattern), set()).add(variant)

    def known(self, case: str, variant: Variant, kinds: Iterable[DivergenceKind]) -> ExpectedDivergence | None:
        """The first entry that expects exactly these kinds of an execution; remembers all that do."""
        kinds, first = frozenset(kinds), None
        for number, entry in self._about(case):
            if not entry.expects(case, variant, kinds):
                continue
            if entry.expired(self.today):
                self._expired.add(number)
                continue
            for pattern in entry.patterns(case):
                self._observed.setdefault((number, pattern), set()).add(variant)
            first = first or entry
        return first

    def others(self, case: str, variant: Variant) -> list[ExpectedDivergence]:
        """The entries about an execution, whatever their kinds: those that expect another divergence."""
        return [
            entry
            for _, entry in self._about(case)
            if not entry.by_conditions
            and (entry.variants is None or variant in entry.variants)
            and not entry.expired(self.today)
        ]

    def audit(
        self, is_complete: Callable[[ExpectedDivergence], Mapping[str, bool]]
    ) -> dict[str, tuple[KnownStatus, str]]:
        """The status of each defect, and why; ``is_complete`` says for each pattern of an entry whether its cases ran."""
        statuses: dict[str, list[tuple[KnownStatus, str]]] = {}
        for number, entry in enumerate(self.entries):
            statuses.setdefault(entry.defect, []).append(self._status(number, entry, is_complete(entry)))
        order = (KnownStatus.EXPIRED, KnownStatus.STALE, KnownStatus.EXPECTED, KnownStatus.NOT_EXECUTED)
        audited = {}
        for defect, each in statuses.items():
            # What must be reviewed first.
            worst = min((status for status, _ in each), key=order.index)
            audited[defect] = worst, "; ".join(dict.fromkeys(why for status, why in each if status is worst and why))
        return audited

    def _status(self, number: int, entry: ExpectedDivergence, complete: Mapping[str, bool]) -> tuple[KnownStatus, str]:
        together = [entry.cases] if entry.by_conditions else [(pattern,) for pattern in entry.cases]
        finished = [patterns for patterns in together if all(complete[pattern] for pattern in patterns)]
        stale = ", ".join(text for patterns in finished for text in self._unobserved(number, entry, patterns))
        if number in self._expired or (entry.expired(self.today) and stale):
            return KnownStatus.EXPIRED, f"since {entry.expires}; review it, then remove it or set a new date"
        if stale:
            remedy = "remove it from the defect, or bound the versions for which it is expected"
            return KnownStatus.STALE, f"{stale} no longer diverges in these kinds; {remedy}"
        if any((number, pattern) in self._observed for pattern in entry.cases):
            return KnownStatus.EXPECTED, ""
        return KnownStatus.NOT_EXECUTED, "none of its cases was compared"

    def _unobserved(self, number: int, entry: ExpectedDivergence, patterns: Sequence[str]) -> list[str]:
        """The patterns, or the variants of them, that were compared and did not show the entry's kinds."""
        compared, observed = (
            set[Variant]().union(*(seen.get((number, pattern), ()) for pattern in patterns))
            for seen in (self._compared, self._observed)
        )
        named = "what meets its conditions" if entry.by_conditions else patterns[0]
        if entry.variants is None:
            return [named] if compared and not observed else []
        return [f"{named} ({variant.name})" for variant in sorted((entry.variants & compared) - observed)]
