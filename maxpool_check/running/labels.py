"""Labels executions: the status of each by the known defects of its target, the defect that it shows, and the severity."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property, lru_cache, partial

import msgspec

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import defect_files, files_naming, shipped_root
from maxpool_check.corpus.conditions import CaseFeatures
from maxpool_check.corpus.defect_file import read_all_defects
from maxpool_check.corpus.defect_versions import DefectVersions, VersionsShown, read_versions
from maxpool_check.judging.audit import Audit
from maxpool_check.judging.defects import WRONG, Defect, Effect, is_glob
from maxpool_check.judging.explaining import Explanation, best, explains, is_about, unexplained
from maxpool_check.results.record import (
    COMPARED,
    FAULTS,
    REPORTED,
    Execution,
    KnownEntry,
    KnownStatus,
    Status,
    TargetDescription,
)
from maxpool_check.results.variants import Variant, variant_named
from maxpool_check.targets.name import parse


class Catalogue:
    """The defects that come with the tool, of some targets, read when one may explain something."""

    def __init__(self, targets: Sequence[TargetDescription]) -> None:
        self._targets = targets

    @cached_property
    def defects(self) -> Sequence[Defect]:
        """The defects of files that name a target."""
        names = frozenset[str]().union(*(parse(target.name).selected_by for target in self._targets))
        return read_all_defects(files_naming(defect_files(shipped_root()), names))

    @cached_property
    def versions(self) -> DefectVersions:
        """The versions that show them."""
        return read_versions(shipped_root())


class Labels:
    """Gives the executions of some targets their status, their defect and their severity.

    An execution that shows an effect of a ``known`` defect is expected. The defects ``naming`` explain what is not expected, and
    excuse nothing. ``versions`` says which versions show a defect.
    """

    def __init__(
        self, targets: Sequence[TargetDescription], known: Sequence[Defect], today: date,
        naming: Callable[[], Sequence[Defect]] = tuple, versions: Callable[[Defect], VersionsShown] = lambda _: VersionsShown(),
    ) -> None:  # fmt: skip
        self._targets = {target.name: _OfTarget(target, known, naming, today) for target in targets}
        self._versions = versions
        self.audits = {name: of.audit for name, of in self._targets.items()}
        """What the executions showed of the known defects, by target."""

    def label(self, case: Case, execution: Execution) -> Execution:
        """The execution with its status, its defect and its severity."""
        return self._targets[execution.target].label(_features(case), execution)

    def explaining_defects(self, case: Case, execution: Execution) -> list[str]:
        """The ids of the defects that explain an execution, whether or not it is expected."""
        return self._targets[execution.target].explaining_defects(_features(case), execution)

    def entries(self, is_complete: Callable[[str, Effect, str], bool]) -> Iterator[KnownEntry]:
        """What a record says of the defects that named executions, and then of the known ones of each target.

        ``is_complete`` gets the name of a target, an effect and a pattern, as of :meth:`Audit.statuses`.
        """
        for of in self._targets.values():
            for defect in of.named.values():
                why = "expected by no file of this run"
                yield self.entry(defect, of.target, defect.effects, KnownStatus.NOT_EXPECTED, why)
        for name, of in self._targets.items():
            for defect_id, (status, why) in of.audit.statuses(partial(is_complete, name)).items():
                effects = [effect for effect in of.effects if effect.defect == defect_id]
                yield self.entry(of.known[defect_id], of.target, effects, status, why)

    def entry(
        self, defect: Defect, target: TargetDescription, effects: Sequence[Effect], status: KnownStatus, why: str = ""
    ) -> KnownEntry:
        """What a record says of a defect of a target, whose kinds are those of some effects."""
        dates = sorted(effect.expires for effect in effects if effect.expires is not None)
        upstream, versions = defect.upstream, self._versions(defect)
        return KnownEntry(
            id=defect.id,
            target=target.name,
            status=status,
            kinds=tuple(sorted({kind.value for effect in effects for kind in effect.kinds})),
            reason=defect.mechanism,
            title="" if defect.title == defect.mechanism else defect.title,
            severity=defect.severity.value,
            example=defect.example,
            issue=upstream.issue if upstream is not None else None,
            message=why,
            versions=versions.span,
            fixed=versions.fixed,
            remedy=defect.remedy(target.version),
            expires=dates[0].isoformat() if dates else "",
            reviewer=defect.reviewer,
            reviewed=defect.reviewed.isoformat() if defect.reviewed is not None else "",
        )


class _OfTarget:
    """Labels the executions of one target."""

    def __init__(
        self, target: TargetDescription, known: Sequence[Defect], naming: Callable[[], Sequence[Defect]], today: date
    ) -> None:
        self.target = target
        self.known = {defect.id: defect for defect in known if any(each.covers(target) for each in defect.effects)}
        """The known defects of which something is expected of the target, by id."""
        self.effects = [
            each
            for defect in self.known.values()
            for each in defect.effects
            if each.covers(target) and not each.where_observed
        ]
        """What is expected of it."""
        self.audit = Audit(self.effects, today, target.architecture)
        self.named: dict[str, Defect] = {}
        """The defects that named an execution, and are not known, by id."""
        self._naming, self._today = naming, today
        self._current = [_with_effects(defect, lambda each: not each.expired(today)) for defect in self.known.values()]
        self._outdated = [_with_effects(defect, lambda each: each.expired(today)) for defect in self.known.values()]
        self._outdated = [defect for defect in self._outdated if defect.effects]
        self._listing = _Listing(self.effects, self.known)

    def label(self, features: CaseFeatures, execution: Execution) -> Execution:
        """The execution with its status, its defect and its severity, whatever label it had."""
        execution = msgspec.structs.replace(execution, known=None, status="", explained_by=(), unexplained=())
        variant, case = variant_named(execution.variant), features.case.id
        effects = self._listing.effects_of(features)
        if execution.verdict in COMPARED:
            for effect in effects:
                if effect.shown(variant) and is_about(self.known[effect.defect], effect, variant, execution):
                    self.audit.compared(effect, case, variant)
        if execution.verdict not in REPORTED:
            return execution
        found = self._explanations(self._current, features, variant, execution)
        outdated = self._explanations(self._outdated, features, variant, execution)
        expected = [each for each in found if each.is_expected]
        if (explanation := best(expected, execution)) is not None:
            shown = [each for each in expected if each.is_whole] or expected
            labelled = msgspec.structs.replace(execution, known=explanation.defect.id, status=Status.EXPECTED)
        else:
            shown = []
            current = [each for each in effects if not each.expired(self._today)]
            labelled = _unexpected(execution, expected, _lists_another(current, variant))
            explanation = best([*found, *self._named(features, variant, execution)], execution)
        for each in (*shown, *(each for each in outdated if each.is_whole)):
            for effect in each.effects:
                self.audit.shown(effect, case, variant)
        return labelled if explanation is None else self._with_defect(labelled, explanation.defect)

    def explaining_defects(self, features: CaseFeatures, execution: Execution) -> list[str]:
        """The ids of the defects that explain an execution, whether or not it is expected."""
        variant = variant_named(execution.variant)
        found = self._explanations(self._current, features, variant, execution)
        return [each.defect.id for each in (*found, *self._named(features, variant, execution)) if each.is_whole]

    def _explanations(
        self, defects: Iterable[Defect], features: CaseFeatures, variant: Variant, execution: Execution
    ) -> list[Explanation]:
        found = (explains(defect, self.target, features, variant, execution) for defect in defects)
        return [each for each in found if each is not None]

    def _named(self, features: CaseFeatures, variant: Variant, execution: Execution) -> list[Explanation]:
        """What defects that are not known make of an execution."""
        others = (defect for defect in self._naming() if defect.id not in self.known)
        return self._explanations(others, features, variant, execution)

    def _with_defect(self, execution: Execution, defect: Defect) -> Execution:
        """The execution with its defect, and with the severity that was reviewed; the windows tell how wrong outputs are."""
        if defect.id not in self.known:
            self.named[defect.id] = defect
        is_by_windows = {execution.severity, defect.severity.value} <= {each.value for each in WRONG}
        severity = execution.severity if is_by_windows or defect.is_accepted else defect.severity.value
        return msgspec.structs.replace(execution, known=defect.id, severity=severity)


class _Listing:
    """The effects that are about a case."""

    def __init__(self, effects: Sequence[Effect], defects: Mapping[str, Defect]) -> None:
        self._defects = defects
        # Most cases are listed by no effect.
        self._by_case: dict[str, list[Effect]] = defaultdict(list)
        for effect in effects:
            for pattern in {"" if is_glob(each) else each for each in effect.cases or ("",)}:
                self._by_case[pattern].append(effect)
        self._last: tuple[CaseFeatures | None, list[Effect]] = None, []

    def effects_of(self, features: CaseFeatures) -> list[Effect]:
        """The effects that apply to a case, whose executions follow each other."""
        if self._last[0] is not features:
            possible = dict.fromkeys([*self._by_case.get(features.case.id, ()), *self._by_case[""]])
            self._last = features, [each for each in possible if features.applies(self._defects[each.defect], each)]
        return self._last[1]


def _with_effects(defect: Defect, is_kept: Callable[[Effect], bool]) -> Defect:
    kept = tuple(filter(is_kept, defect.effects))
    return defect if len(kept) == len(defect.effects) else replace(defect, effects=kept)


def _unexpected(execution: Execution, parts: Sequence[Explanation], is_other: bool) -> Execution:
    """An execution that no known defect explains as a whole; ``is_other``: a known defect lists it with another divergence."""
    if execution.verdict not in FAULTS:
        return msgspec.structs.replace(execution, status=Status.INCONSISTENT)
    if not parts:
        return msgspec.structs.replace(execution, status=Status.CHANGED if is_other else Status.NEW)
    kinds = unexplained(parts, execution)
    cells = [cell for cell in execution.cells if cell.kind in kinds]
    ordered = sorted(parts, key=lambda each: each.rank, reverse=True)
    return msgspec.structs.replace(
        execution,
        status=Status.NEW,
        explained_by=tuple(dict.fromkeys(each.defect.id for each in ordered)),
        unexplained=tuple(sorted(kinds)),
        message=str(cells[0]) if cells else execution.message,
    )


def _lists_another(effects: Sequence[Effect], variant: Variant) -> bool:
    """Whether some of the effects of a case lists it in a variant."""
    return any(each.is_observed and (each.variants is None or variant in each.variants) for each in effects)


@lru_cache(1)
def _features(case: Case) -> CaseFeatures:
    """The features of a case, whose executions follow each other."""
    return CaseFeatures(case)
