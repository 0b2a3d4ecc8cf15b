"""What a record says of the observations of defects: what was seen for the first time, and what a version no longer shows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from maxpool_check.comparing.defects import DefectStatus, TargetStatus
from maxpool_check.corpus.conditions import CasesOfEffects
from maxpool_check.corpus.defect_versions import DefectVersions
from maxpool_check.corpus.observed import DIGITS, Observation
from maxpool_check.judging.defects import Defect, fingerprint
from maxpool_check.judging.explaining import by_effect, explains, is_about, needs_review
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.record import COMPARED, FAULTS, Execution, Record, TargetDescription
from maxpool_check.results.variants import variant_named
from maxpool_check.running.labels import Labels

_USUAL_ARCHITECTURES = ("", "x86_64")
"""The architectures of which an observation says nothing."""


@dataclass
class Observed:
    """The observations of a corpus after a record: ``observations`` are all of them, changed where the record says so."""

    observations: list[Observation]
    added: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The executions, ``case (variant)``, in which a defect was seen for the first time, by its id."""
    removed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The executions in which a version no longer shows a defect, by its id."""
    unexplained: list[Execution] = field(default_factory=list)
    """Faults that no defect explains."""


def observed(
    record: Record, defects: Sequence[Defect], observations: Iterable[Observation], cases: CasesOfEffects, tested: DefectVersions
) -> Observed:  # fmt: skip
    """Take what a record shows into the observations of defects.

    A fault that the mechanism of a defect explains is added for the version, and for those behind it if it is the newest that was
    ``tested``. Where a case of an observation no longer shows it, the observation ends before the version. A case that has changed
    since the record says nothing.
    """
    result = Observed(list(observations))
    for target in record.header.targets:
        executions = [
            each
            for each in record.executions
            if each.target == target.name and each.verdict in COMPARED and each.case in cases.features
            and cases.features[each.case].case.sha256 == each.case_sha256
        ]  # fmt: skip
        of_target = _OfTarget(target, defects, cases, tested, result)
        labelled = [of_target.labels.label(cases.features[each.case].case, each) for each in executions]
        of_target.remove(labelled)
        of_target.add(labelled)
    return result


class _OfTarget:
    """Changes observations by the executions of one target."""

    def __init__(
        self, target: TargetDescription, defects: Sequence[Defect], cases: CasesOfEffects, tested: DefectVersions, result: Observed
    ) -> None:  # fmt: skip
        self._target, self._cases, self._result = target, cases, result
        self._defects = {defect.id: defect for defect in defects}
        self.labels = Labels([target], defects, date.today())
        """Say which defect names an execution."""
        self._tested = {
            defect.id: [each for each in tested.tested(defect) if each != target.version] for defect in defects
        }

    def remove(self, executions: Sequence[Execution]) -> None:
        """End the observations that a version no longer shows."""
        by_place = {(each.case, each.variant): each for each in executions}
        kept = []
        for seen in self._result.observations:
            gone = {case for case in seen.cases if self._is_gone(seen, by_place.get((case, seen.variant)))}
            if not gone:
                kept.append(seen)
                continue
            self._result.removed[seen.defect] += [f"{case} ({seen.variant})" for case in sorted(gone)]
            if left := {case: digest for case, digest in seen.cases.items() if case not in gone}:
                kept.append(msgspec.structs.replace(seen, cases=left))
            if (versions := self._without(seen)) is not None:
                ended = {case: digest for case, digest in seen.cases.items() if case in gone}
                kept.append(msgspec.structs.replace(seen, versions=versions, cases=ended))
        self._result.observations = _merged(kept)

    def _is_gone(self, seen: Observation, execution: Execution | None) -> bool:
        """Whether an execution of a case of an observation that must show it does not."""
        if execution is None or seen.defect not in self._defects:
            return False
        defect = self._defects[seen.defect]
        effect, variant = seen.effect(defect), variant_named(seen.variant)
        if not effect.covers(self._target) or not effect.must_show(self._target.architecture):
            return False
        if not is_about(defect, effect, variant, execution):
            return False
        features = self._cases.features[execution.case]
        found = by_effect(defect, effect, self._target.version, features, variant, execution)
        return found is None or not (found.is_whole or execution.status == "expected")

    def _without(self, seen: Observation) -> str | None:
        """The versions of an observation without that of the target; None if no other was tested."""
        version = self._target.version
        bounds = SpecifierSet(seen.versions)
        others = [_number(each) for each in self._tested[seen.defect] if bounds.contains(each, prereleases=True)]
        if not others:
            return None
        own = _number(version)
        bound = f"<{version}" if max(others) < own else f">{version}" if min(others) > own else f"!={version}"
        return ",".join(each for each in (seen.versions, bound) if each)

    def add(self, executions: Sequence[Execution]) -> None:
        """Add what is explained and was not seen before; collect what no defect explains."""
        new: dict[tuple[str, str], Observation] = {}
        for execution in executions:
            defect = self._defects.get(execution.known or "")
            if defect is None:
                self._result.unexplained += [execution] if execution.verdict in FAULTS else []
                continue
            reviewed = self._reviewed(defect, execution)
            if execution.status == "expected" or execution.verdict not in FAULTS or self._shows(reviewed, execution):
                continue
            seen = self._observation(defect, execution)
            variant = variant_named(execution.variant)
            base = new.get((execution.case, variant.base.name))
            # What is seen of a variant holds for its variations.
            if variant.base == variant or base is None or (base.defect, base.kinds) != (seen.defect, seen.kinds):
                new[execution.case, execution.variant] = seen
                self._result.added[defect.id].append(f"{execution.case} ({execution.variant})")
        self._result.observations = _merged([*self._result.observations, *new.values()])

    def _reviewed(self, defect: Defect, execution: Execution) -> Defect:
        """The defect with the outputs of an execution among the reviewed ones, if its kinds and windows do not say what comes out."""
        version, own = self._target.version, fingerprint(execution, execution.case)
        reviewed = defect.outputs.get(version, frozenset())
        if own in reviewed or not version or not needs_review(defect.windows, defect.kinds, execution):
            return defect
        self._result.observations.append(Observation(defect=defect.id, version=version, outputs=(own,)))
        return replace(defect, outputs={**defect.outputs, version: reviewed | {own}})

    def _shows(self, defect: Defect, execution: Execution) -> bool:
        """Whether an execution shows an effect of a defect as a whole."""
        explanation = explains(
            defect, self._target, self._cases.features[execution.case], variant_named(execution.variant), execution
        )
        return explanation is not None and explanation.is_expected and explanation.is_whole

    def _observation(self, defect: Defect, execution: Execution) -> Observation:
        """The observation of an execution."""
        target, sha256 = self._target, self._cases.features[execution.case].case.sha256
        others = [_number(each) for each in self._tested[defect.id]]
        bounds = ""
        if target.version and others:
            own = _number(target.version)
            bounds = ",".join(
                f"{sign}{target.version}"
                for sign, is_bounded in ((">=", min(others) < own), ("<=", max(others) > own))
                if is_bounded
            )
        builds = [name for name in defect.runtimes if TargetSelector.of(name).is_about(*_about(target))]
        return Observation(
            defect=defect.id,
            runtime=tuple(builds) if defect.other_builds else (),
            versions=bounds,
            processor=() if target.architecture in _USUAL_ARCHITECTURES else (target.architecture,),
            variant=execution.variant,
            kinds=tuple(sorted(execution.kinds)),
            cases={execution.case: sha256[:DIGITS]},
        )


def _about(target: TargetDescription) -> tuple[str, str, str]:
    return target.selected_as, target.provider, target.name


def _merged(observations: Iterable[Observation]) -> list[Observation]:
    """The observations, those that differ by their cases or their outputs alone together."""
    merged: dict[object, Observation] = {}
    for each in observations:
        other = merged.get(each.key)
        merged[each.key] = (
            each
            if other is None
            else msgspec.structs.replace(
                each, cases={**other.cases, **each.cases}, outputs=tuple(sorted({*other.outputs, *each.outputs}))
            )
        )
    return list(merged.values())


def _number(version: str) -> Version:
    """A version as a number; one that is no number counts as the oldest."""
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")


def with_tests(versions: DefectVersions, status: TargetStatus) -> tuple[DefectVersions, list[str]]:
    """What is known of the versions of runtimes, with what a target shows.

    Nothing is written of a version whose record lacks cases of defects that the version before has, whose ids come second.
    """
    target, by_runtime = status.target, defaultdict[str, list[DefectStatus]](list)
    for each in status.defects:
        names = (name for name in each.defect.runtimes if TargetSelector.of(name).is_about(*_about(target)))
        by_runtime[next(names, each.defect.runtime)].append(each)
    missing: list[str] = []
    for runtime, found in by_runtime.items():
        ids = {each.defect.id for each in found if not each.shown and not (each.complete and each.executed)}
        undecided = versions.shown_before(runtime, target.version) & ids
        missing += sorted(undecided)
        if target.version and len(ids) < len(found) and not undecided:
            shown = [each.defect.id for each in found if each.shown]
            versions = versions.with_test(runtime, target.version, shown, ids)
    return versions, missing
