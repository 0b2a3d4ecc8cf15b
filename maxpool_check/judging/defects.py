"""Defects of runtimes: reviewed causes of divergences, with the executions that show them; executed, never excused."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup, read_table
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.details import ARCHITECTURES
from maxpool_check.results.record import Execution, TargetDescription
from maxpool_check.results.variants import Variant
from maxpool_check.words import Term


class Severity(Term):
    """How bad a defect is, the worst first."""

    WRONG_ON_FINITE = "wrong-on-finite", "values, indices or shapes are wrong for ordinary finite input"
    WRONG_ON_SPECIAL = (
        "wrong-on-special",
        "values or indices are wrong for infinities, NaN, zeros of both signs, or the lowest value of a float type alone",
    )
    CRASH = "crash", "the process dies, or does not end"
    ACCEPTS_INVALID = "accepts-invalid", "a graph is executed that the document excludes"
    REFUSES_VALID = (
        "refuses-valid",
        "a graph is refused for which there are kernels; or the optimized graph cannot be loaded",
    )
    LIMIT = ("limit", "a graph is refused that the document allows: the runtime declares that it does not implement it")
    INCONSISTENCY = "inconsistency", "the document allows each result, but they differ from variant to variant"

    @property
    def rank(self) -> int:
        """Its place in the order of reports, 0 for the worst."""
        return list(Severity).index(self)


WRONG = frozenset({Severity.WRONG_ON_FINITE, Severity.WRONG_ON_SPECIAL})
"""The severities of wrong outputs, which the windows of their cells decide."""


def severity_of(kinds: Iterable[DivergenceKind], *, is_limit: bool = False, is_special: bool = False) -> Severity:
    """The severity of a divergence of these kinds; ``is_special``: special values alone show its wrong cells."""
    kinds = set(kinds)
    if kinds & {DivergenceKind.CRASH, DivergenceKind.TIMEOUT}:
        return Severity.CRASH
    if kinds <= {DivergenceKind.REFUSES_VALID, DivergenceKind.GRAPH_NOT_LOADABLE}:
        return Severity.LIMIT if is_limit else Severity.REFUSES_VALID
    if {DESCRIPTIONS[kind].group for kind in kinds} == {KindGroup.DEPENDENCE}:
        return Severity.INCONSISTENCY
    if not kinds - {DivergenceKind.ACCEPTS_INVALID}:
        return Severity.ACCEPTS_INVALID
    return Severity.WRONG_ON_SPECIAL if is_special else Severity.WRONG_ON_FINITE


def worst(executions: Iterable[Execution]) -> Severity:
    """The worst severity of some executions that have kinds; of one that does not say it, that of its kinds."""
    return min(map(_severity, executions), key=lambda severity: severity.rank)


def _severity(execution: Execution) -> Severity:
    if execution.severity in {*Severity}:
        return Severity(execution.severity)
    # Kinds of other versions are as bad as can be.
    kinds = [DivergenceKind(kind) for kind in execution.kinds if kind in {*DivergenceKind}]
    return severity_of(kinds, is_limit=execution.limit) if kinds else Severity.WRONG_ON_FINITE


OUTPUTS = {kind.value: kind.output for kind in DivergenceKind}

_WRONG_CELLS = frozenset(
    {DivergenceKind.Y_IN_WINDOW_NOT_MAXIMUM, DivergenceKind.Y_FROM_OUTSIDE_WINDOW, DivergenceKind.Y_NOT_IN_INPUT}
)
"""Kinds that tell where else X has a wrong value: that is chance."""


@dataclass(frozen=True)
class Combined:
    """Several rules that a condition combines: ``all`` of them hold, or ``any``; or one that does ``not`` hold."""

    word: str
    rules: tuple["Stated", ...]

    def __str__(self) -> str:
        texts = list(map(str, self.rules))
        between = " or " if self.word == "any" else " and "
        return f"not {texts[0]}" if self.word == "not" else f"({between.join(texts)})"


Stated = str | Combined
"""What a condition states about a case: the name of a flag, or a rule of its own, as ``corpus.rules`` has them."""


@dataclass(frozen=True)
class Conditions:
    """What holds for every execution that shows a defect; what is empty or None says nothing.

    ``dtypes``, ``spatial`` (numbers of spatial axes), ``channels_multiple_of`` and ``values`` are those of the tensor that
    enters MaxPool; ``geometry``, ``values`` and ``graph``, which is about the nodes around MaxPool, are flags of
    ``corpus.features`` and rules; of ``any_values`` one must hold. ``before`` and ``after`` are operators that a graph has
    around MaxPool; ``opset`` bounds its operator set, ``optimization`` names the levels. ``refused`` names why the document
    excludes the graph. ``indices``: whether Indices are an output. ``processor`` is as :meth:`Processor.has` takes it.
    """

    dtypes: tuple[str, ...] = ()
    spatial: tuple[int, ...] = ()
    channels_multiple_of: int | None = None
    indices: bool | None = None
    geometry: tuple[Stated, ...] = ()
    values: tuple[Stated, ...] = ()
    any_values: tuple[Stated, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    graph: tuple[Stated, ...] = ()
    optimization: tuple[str, ...] = ()
    opset: str = ""
    refused: str | None = None
    processor: tuple[str, ...] = ()

    @cached_property
    def said(self) -> Mapping[str, Any]:
        """The conditions that say something, by name."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) not in ((), None, "")}


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
class Remedy:
    """What a user of a version that has a defect can do about it, besides using another version.

    One of three: a ``rewrite`` of the graph, a name of ``remedies.yaml``; options of the session, that is the ``optimizers`` to
    disable; or ``none``, which says why there is none for what the others leave, and what was tried. ``cost`` is what it costs,
    in words. It helps these ``versions``, as ``>=1.29``, where ``conditions`` hold, at every level of optimization.
    """

    rewrite: str = ""
    optimizers: tuple[str, ...] = ()
    none: str = ""
    cost: str = ""
    versions: str = ""
    conditions: Conditions = field(default_factory=Conditions)

    def is_for(self, version: str) -> bool:
        """Whether it helps a version; one that is no number counts as the newest."""
        try:
            return SpecifierSet(self.versions).contains(Version(version), prereleases=True)
        except InvalidVersion:
            return True

    @property
    def words(self) -> str:
        """What to do, as an imperative; empty if there is no remedy."""
        if self.rewrite:
            return str(read_table("remedies.yaml")[self.rewrite]["do"])
        return f"disable {' and '.join(self.optimizers)}" if self.optimizers else ""

    @property
    def rank(self) -> int:
        """Its place in the order in which remedies are tried: options of a session, then rewrites as their table has them."""
        return [*read_table("remedies.yaml")].index(self.rewrite) if self.rewrite else -1


@dataclass(frozen=True)
class Effect:
    """What a defect does: the kinds that executions of some versions, cases and variants show.

    A list of ``cases`` is a condition like any other: without it, every case that meets the conditions may show the kinds.
    """

    defect: str
    """The id of the defect."""
    when: TargetSelector = field(hash=False)
    """The runtimes and the versions."""
    kinds: frozenset[DivergenceKind]
    """Exactly the kinds that are shown, as far as a variant can show them."""
    cases: tuple[str, ...] = field(default=(), hash=False)
    """Ids or globs of cases that must all show it; empty: any case that meets the conditions may."""
    variants: frozenset[Variant] | None = None
    """Variants that must all show it; None: any may."""
    conditions: Conditions = field(default_factory=Conditions, hash=False)
    """What holds for its executions besides the conditions of the defect."""
    windows: frozenset[str] = field(default=frozenset(), hash=False)
    """The wrong cells that it explains: those whose windows hold one of these contents, or that one of these mistakes in the whole
    result gives. Empty: all wrong cells of its kinds, if the outputs are among the reviewed ones of the defect."""
    expires: date | None = None
    """The last day on which it is expected."""
    varies: bool = False
    """Each run shows some of the kinds, or none."""
    where_observed: bool = False
    """The conditions do not suffice: it is expected of cases in which it was observed alone, which other effects list."""
    is_accepted: bool = False
    """A person has accepted it: exactly these kinds in exactly these variants, and no part of an execution that shows more."""
    digests: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Ids of ``cases`` by the first digits of their SHA-256, by which a copy of a case is found."""

    def covers(self, target: TargetDescription) -> bool:
        """Whether it is about a target: its runtime, its version and its processor."""
        is_named = self.when.covers(target.selected_as, target.version, target.provider, target.name)
        return is_named and self.can_show(target)

    def can_show(self, target: TargetDescription) -> bool:
        """Whether the processor of a target is one that its conditions allow."""
        named = self.conditions.processor
        return not named or (target.processor is not None and target.processor.has(named))

    def must_show(self, architecture: str) -> bool:
        """Whether it shows in each run on a processor: of the architecture that its conditions name, x86-64 if they name none."""
        named = [name for name in self.conditions.processor if name in ARCHITECTURES] or ["x86_64"]
        return not self.varies and (not architecture or architecture in named)

    def names(self, variant: Variant, architecture: str) -> bool:
        """Whether it lists cases, and each of them must show it in a variant, in each run on a processor."""
        return bool(self.cases) and variant in (self.variants or ()) and self.must_show(architecture)

    def expired(self, today: date) -> bool:
        """Whether its date has passed."""
        return self.expires is not None and today > self.expires

    def lists(self, case: str) -> bool:
        """Whether the id of a case is among its ``cases``."""
        return bool(self.patterns(case))

    def patterns(self, case: str) -> list[str]:
        """Those of its ``cases`` that match the id of a case."""
        exact, globs = self._patterns
        return [
            *([case] if case in exact else []),
            *(each for each in globs if each != case and fnmatchcase(case, each)),
        ]

    @cached_property
    def _patterns(self) -> tuple[frozenset[str], tuple[str, ...]]:
        return frozenset(self.cases), tuple(filter(is_glob, self.cases))

    @property
    def is_observed(self) -> bool:
        """Whether it was seen in exactly these cases, and not only where its conditions hold."""
        return bool(self.cases)

    @cached_property
    def predicts(self) -> bool:
        """Whether it says what the outputs are, and not only where they are wrong."""
        return "start" in self.windows or not any(DESCRIPTIONS[kind].open for kind in self.kinds)

    def shown(self, variant: Variant) -> frozenset[str]:
        """Its kinds that a variant of its cases must show; none if it is not about the variant."""
        if self.where_observed:
            return frozenset()
        # What is said of a variant holds for its variations as well, unless a person has accepted it of this variant.
        alike = {variant} if self.is_accepted else {variant, variant.base}
        if self.variants is not None and not alike & self.variants:
            return frozenset()
        if self.is_accepted:
            return frozenset(kind.value for kind in self.kinds)
        return frozenset(kind.value for kind in self.kinds if shows(variant, kind))


@dataclass(frozen=True)
class Defect:
    """One mistake of a runtime: what it does, in a sentence, why, and in which executions."""

    id: str
    runtime: str
    """The runtime, as ``-t`` names it, without a version."""
    title: str
    severity: Severity
    mechanism: str
    """Why the runtime does it."""
    effects: tuple[Effect, ...]
    """The executions that show it: of any case that meets conditions, or of cases in which it was seen."""
    established: str = ""
    """How the mechanism is known."""
    documents: tuple[str, ...] = ()
    """The documents that it violates, by name or family; empty: nobody has said."""
    conditions: Conditions = field(default_factory=Conditions)
    """What holds for every execution that shows it."""
    upstream: Upstream | None = None
    example: str | None = None
    """The id of the case to show."""
    reviewer: str = ""
    """The person who has confirmed the mechanism."""
    reviewed: date | None = None
    other_builds: tuple[str, ...] = ()
    """Further runtimes of the same source and the same versions."""
    remedies: tuple[Remedy, ...] = ()
    """What helps, the first to try first; empty: nobody has looked."""
    other_kinds: frozenset[DivergenceKind] = frozenset()
    """Kinds that it can show besides those of its effects by conditions."""
    windows: frozenset[str] = frozenset()
    """The wrong cells that it explains, as of an effect."""
    outputs: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    """The fingerprints of its reviewed outputs, by version."""
    short: str = ""
    """A title for an issue; empty: the title is short itself."""
    fix: str = ""
    """The change of the source that repairs it, in a sentence; empty: not known."""

    def remedy(self, version: str) -> str:
        """What to do about it with a version, in words; empty if nothing is known to help."""
        return next((each.words for each in self.remedies if each.words and each.is_for(version)), "")

    @property
    def is_accepted(self) -> bool:
        """Whether a person has accepted what it does, and nobody has described why."""
        return any(effect.is_accepted for effect in self.effects)

    @property
    def runtimes(self) -> tuple[str, ...]:
        """All runtimes that it is about."""
        return (self.runtime, *self.other_builds)

    def covering(self, target: TargetDescription) -> Sequence[Effect]:
        """Its effects on a target."""
        key = target.name, target.selected_as, target.version, target.provider, target.processor
        if key not in self._covering:
            self._covering[key] = [effect for effect in self.effects if effect.covers(target)]
        return self._covering[key]

    @cached_property
    def _covering(self) -> dict[Any, Sequence[Effect]]:
        # An execution asks it of every defect.
        return {}

    @cached_property
    def kinds(self) -> frozenset[DivergenceKind]:
        """All kinds that it shows."""
        return self.other_kinds.union(*(each.kinds for each in self.effects))

    @cached_property
    def ways(self) -> Sequence[Effect]:
        """The effects that say where its mechanism shows: if some do so for observed cases, not those that list these cases."""
        says_where = any(each.where_observed for each in self.effects)
        return [each for each in self.effects if not (says_where and each.is_observed)]

    @cached_property
    def explained(self) -> frozenset[str]:
        """The kinds that it explains, if it shows them in some case, or would with other values of X."""
        kinds = {*self.kinds, DivergenceKind.REWRITTEN_WRONGLY}
        if kinds & _WRONG_CELLS or self.severity is Severity.WRONG_ON_FINITE:
            # Where other cells count than the document says, no rule for NaN explains all windows either.
            kinds |= {*_WRONG_CELLS, DivergenceKind.Y_NAN_ORDER_DEPENDENT}
        if DivergenceKind.Y_LOWEST_FOR_NEG_INF in kinds:
            kinds.add(DivergenceKind.Y_SATURATED_INFINITY)
        return frozenset(kind.value for kind in kinds)


def is_glob(pattern: str) -> bool:
    """Whether a pattern has wildcards."""
    return bool(set("*?[") & set(pattern))


def shows(variant: Variant, kind: DivergenceKind) -> bool:
    """Whether executions of a variant can have a kind of divergence.

    Y alone has no Indices, but is compared with the Y of the variant with Indices; variations are compared with their base.
    """
    if kind is DivergenceKind.Y_DEPENDS_ON_INDICES:
        return variant.variation is None and not variant.has_indices
    if kind is DivergenceKind.Y_NAN_MIXED:
        return True
    compared = DESCRIPTIONS[kind].group is not KindGroup.DEPENDENCE or variant.variation is not None
    return compared and (variant.has_indices or kind.output != "Indices")


def wrong_cells(execution: Execution) -> frozenset[tuple[str, str]]:
    """The kinds of the wrong cells of an execution, each with what the windows hold."""
    return frozenset((kind, held) for kind, by_contents in execution.windows.items() for held in by_contents)


def fingerprint(execution: Execution, case: str) -> str:
    """Six digits of the SHA-256 of the id of the case, and six of the SHA-256 of the digests of the outputs."""
    outputs = " ".join(f"{name}={digest}" for name, digest in sorted(execution.digests.items()))
    return "".join(hashlib.sha256(text.encode()).hexdigest()[:6] for text in (case, outputs))
