"""Defects of runtimes: reviewed causes of divergences, with the executions that show them; executed, never excused."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup, read_table
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.details import ARCHITECTURES
from maxpool_check.results.record import Execution, TargetDescription
from maxpool_check.results.variants import Variant, variant_named


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
class ExpectedDivergence:
    """Executions that show a defect: of these cases, on these targets, in exactly these kinds.

    ``defect`` is the id of the defect. ``variants`` are those that must all show it; None: any may. ``cases`` are ids or
    globs. ``conditions`` hold for these executions besides those of the defect. ``by_conditions``: the cases are all that
    meet both, of which any may show it; ``narrowness`` is how many conditions these are. ``windows`` says which wrong cells it explains: those whose windows hold one of
    these, or that one of these mistakes in the whole result gives; without it, all that are wrong in its kinds, if the outputs
    are those that were reviewed: ``outputs`` has the fingerprints of them, by version. ``varies``: each run shows some of its
    kinds, or none.
    """

    defect: str
    when: TargetSelector
    cases: tuple[str, ...]
    kinds: frozenset[DivergenceKind]
    variants: frozenset[Variant] | None = None
    expires: date | None = None
    by_conditions: bool = False
    conditions: Conditions = field(default_factory=Conditions)
    narrowness: int = field(default=0, compare=False)
    windows: frozenset[str] = frozenset()
    outputs: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    varies: bool = False

    def covers(self, target: TargetDescription) -> bool:
        """Whether it is about a target: its runtime, its version and its processor."""
        named = self.conditions.processor
        return self.when.covers(target.selected_as, target.version, target.provider, target.name) and (
            not named or (target.processor is not None and target.processor.has(named))
        )

    def must_show(self, architecture: str) -> bool:
        """Whether it shows in each run on a processor: of the architecture that its conditions name, x86-64 if they name none."""
        named = [name for name in self.conditions.processor if name in ARCHITECTURES] or ["x86_64"]
        return not self.varies and (not architecture or architecture in named)

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

    @cached_property
    def predicts(self) -> bool:
        """Whether it says what the outputs are, and not only where they are wrong."""
        return "start" in self.windows or not any(DESCRIPTIONS[kind].open for kind in self.kinds)

    def shown(self, variant: Variant) -> frozenset[str]:
        """Its kinds that a variant of its cases can show; none if it is not about the variant."""
        # An entry for a variant holds for its variations as well.
        if self.variants is not None and not {variant, variant.base} & self.variants:
            return frozenset()
        return frozenset(kind.value for kind in self.kinds if shows(variant, kind))

    def expects(self, execution: Execution, version: str) -> bool:
        """Whether an execution of a version shows exactly its kinds, as far as the variant can, in cells that it explains."""
        shown = self.shown(variant_named(execution.variant))
        shown = shown & {*execution.kinds} if self.varies else shown
        return (
            bool(shown)
            and self.binds(execution.case)
            and shown == {*execution.kinds}
            and not self.leaves(execution, version)
        )

    def leaves(self, execution: Execution, version: str) -> frozenset[tuple[str, str]]:
        """The wrong cells of an execution that it does not explain: their kinds, each with what the windows hold."""
        kinds, cells = {kind.value: kind for kind in self.kinds}, wrong_cells(execution)
        given = {each.output for each in execution.causes if each.cells and each.kind in self.windows | kinds.keys()}
        is_open = any(kind in kinds and DESCRIPTIONS[kinds[kind]].open for kind, _ in cells)
        if is_open and not given and (not self.windows or "nan" in self.windows):
            # What comes out is not said: the outputs must be those that were reviewed, if there were any of the case.
            own = fingerprint(execution)
            reviewed = {each for each in self.outputs.get(version, ()) if each[:6] == own[:6]}
            if reviewed and own not in reviewed:
                return cells

        def is_explained(kind: str, held: str) -> bool:
            if None in given or (given and OUTPUTS.get(kind) in given):
                return True
            anywhere = not self.windows or (kind in kinds and not DESCRIPTIONS[kinds[kind]].open)
            return kind in kinds and (anywhere or bool(self.windows & {*held.split()}))

        return frozenset((kind, held) for kind, held in cells if not is_explained(kind, held))


@dataclass(frozen=True)
class Defect:
    """One mistake of a runtime: its effect in a sentence, its mechanism, and the executions that show it.

    ``runtime`` names it as ``-t`` does, without the version; ``other_builds`` are further runtimes of the same source and the
    same versions. ``established`` says how the mechanism is known. ``documents`` are those that it violates, by name or
    family, as far as it was said. ``example`` is the id of the case to show. ``reviewer`` is the person who has confirmed the
    mechanism, on the day ``reviewed``. ``remedies`` are what helps, the first to try first; empty: nobody has looked.
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
    remedies: tuple[Remedy, ...] = ()

    def remedy(self, version: str) -> str:
        """What to do about it with a version, in words; empty if nothing is known to help."""
        return next((each.words for each in self.remedies if each.words and each.is_for(version)), "")

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


def wrong_cells(execution: Execution) -> frozenset[tuple[str, str]]:
    """The kinds of the wrong cells of an execution, each with what the windows hold."""
    return frozenset((kind, held) for kind, by_contents in execution.windows.items() for held in by_contents)


def fingerprint(execution: Execution) -> str:
    """Six digits of the SHA-256 of the id of the case, and six of that of the digests of the outputs."""
    outputs = " ".join(f"{name}={digest}" for name, digest in sorted(execution.digests.items()))
    return "".join(hashlib.sha256(text.encode()).hexdigest()[:6] for text in (execution.case, outputs))
