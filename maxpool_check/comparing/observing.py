"""What a record says of the observations of defects: what was seen for the first time, and what a version no longer shows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from maxpool_check.comparing.defects import DefectStatus, TargetStatus
from maxpool_check.corpus.conditions import CaseFeatures, CasesOfEffects
from maxpool_check.corpus.defect_versions import DefectVersions
from maxpool_check.corpus.observed import DIGITS, Observation, attached
from maxpool_check.judging.defects import Defect, fingerprint
from maxpool_check.judging.explaining import by_effect, explains, is_about, needs_review
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.record import COMPARED, FAULTS, Execution, Record, Status, TargetDescription
from maxpool_check.results.variants import Variant, variant_named
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
    outputs: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The executions whose outputs are reviewed now, by the id of the defect."""
    unexplained: list[Execution] = field(default_factory=list)
    """Faults that no defect explains alone."""


def observed(
    record: Record, described: Sequence[Defect], observations: Iterable[Observation], cases: CasesOfEffects, tested: DefectVersions
) -> Observed:  # fmt: skip
    """Take what a record shows into the observations of defects, which are ``described`` without them.

    A fault that the mechanism of a defect explains is added for the version; for newer ones, too, if none of them was ``tested``, and
    for older ones if none of these was. Where a case of an observation no longer shows it, the observation ends before the version.
    A case that has changed since the record says nothing, nor does a session with disabled optimizers, or a version that is no number
    where others were tested.
    """
    result = Observed(list(observations))
    for target in record.header.targets:
        if target.session_options.get("disabled_optimizers"):
            continue
        executions = [
            each
            for each in record.executions
            if each.target == target.name and each.verdict in COMPARED and cases.holds(each)
        ]
        of_target = _OfTarget(target, described, cases, _tested(target, record, described, tested), result)
        if of_target.has_bounds:
            of_target.review(executions)
            of_target.end(executions)
            of_target.add(executions)
    return result


def _tested(
    target: TargetDescription, record: Record, described: Sequence[Defect], tested: DefectVersions
) -> dict[str, list[Version]]:
    """The versions beside that of a target that were tested, by the id of the defect; those of the record are."""
    others = {each.version for each in record.header.targets if each.selected_as == target.selected_as}
    return {
        defect.id: [
            number
            for each in {*tested.tested(defect), *others} - {target.version}
            if (number := _number(each)) is not None
        ]
        for defect in described
    }


class _OfTarget:
    """Changes observations by the executions of one target, in three steps, each of which sees what the one before has written."""

    def __init__(
        self, target: TargetDescription, described: Sequence[Defect], cases: CasesOfEffects,
        tested: Mapping[str, Sequence[Version]], result: Observed,
    ) -> None:  # fmt: skip
        self._target, self._cases, self._tested, self._result = target, cases, tested, result
        self._described = {defect.id: defect for defect in described}
        self.has_bounds = _number(target.version) is not None or not any(tested.values())
        """Whether an observation can end before the version of the target, or begin with it."""

    def _labelled(self, executions: Iterable[Execution]) -> Iterator[tuple[Execution, Defect | None]]:
        """The executions with their labels, each with the defect that names it."""
        defects = attached(self._described, self._result.observations)
        labels = Labels([self._target], [*defects.values()], date.today())
        for execution in executions:
            labelled = labels.label(self._cases.features[execution.case].case, execution)
            yield labelled, defects.get(labelled.known or "")

    def review(self, executions: Sequence[Execution]) -> None:
        """Add the fingerprints of outputs of which the kinds and the windows of the defect say nothing."""
        version, new = self._target.version, []
        for execution, defect in self._labelled(executions):
            if defect is not None and version and needs_review(defect.windows, defect.kinds, execution):
                own = fingerprint(execution, execution.case)
                if own not in defect.outputs.get(version, ()):
                    new.append(Observation(defect=defect.id, version=version, outputs=(own,)))
                    self._result.outputs[defect.id].append(_place(execution))
        self._result.observations = _merged([*self._result.observations, *new])

    def end(self, executions: Sequence[Execution]) -> None:
        """End the observations that the version no longer shows."""
        by_place = {(each.case, each.variant): each for each, _ in self._labelled(executions)}
        defects = attached(self._described, self._result.observations)
        kept = []
        for seen in self._result.observations:
            gone = {
                case
                for case in seen.cases
                if (execution := by_place.get((case, seen.variant))) is not None
                and self._is_gone(seen, defects[seen.defect], execution)
            }
            if left := {case: self._digest(case, digest) for case, digest in seen.cases.items() if case not in gone}:
                kept.append(msgspec.structs.replace(seen, cases=left))
            elif not gone:
                kept.append(seen)
            if gone:
                self._result.removed[seen.defect] += [f"{case} ({seen.variant})" for case in sorted(gone)]
                if (versions := self._without(seen)) is not None:
                    ended = {case: digest for case, digest in seen.cases.items() if case in gone}
                    kept.append(msgspec.structs.replace(seen, versions=versions, cases=ended))
        self._result.observations = _merged(kept)

    def _digest(self, case: str, digest: str) -> str:
        """The digest of a case, which may have changed since it was observed."""
        features = self._cases.features.get(case)
        return digest if features is None else features.case.sha256[:DIGITS]

    def _is_gone(self, seen: Observation, defect: Defect, execution: Execution) -> bool:
        """Whether an execution of a case of an observation must show it, and does not."""
        effect, variant = seen.effect(self._described[seen.defect]), variant_named(seen.variant)
        if not effect.covers(self._target) or not effect.must_show(self._target.architecture):
            return False
        if not is_about(defect, effect, variant, execution):
            return False
        features = self._cases.features[execution.case]
        found = by_effect(defect, effect, self._target.version, features, variant, execution)
        return found is None or not (found.is_whole or execution.status == Status.EXPECTED)

    def _without(self, seen: Observation) -> str | None:
        """The versions of an observation without that of the target; None if no other was tested."""
        bounds, own = SpecifierSet(seen.versions), _number(self._target.version)
        others = [each for each in self._tested[seen.defect] if bounds.contains(each, prereleases=True)]
        if not others or own is None:
            return None
        sign = "<" if max(others) < own else ">" if min(others) > own else "!="
        return ",".join(each for each in (seen.versions, f"{sign}{own.public}") if each)

    def add(self, executions: Sequence[Execution]) -> None:
        """Add what a defect explains as a whole and was not seen before; collect what none does."""
        new: dict[tuple[str, str], Observation] = {}
        for execution, defect in self._labelled(executions):
            if execution.status == Status.EXPECTED or execution.verdict not in FAULTS:
                continue
            variant, features = variant_named(execution.variant), self._cases.features[execution.case]
            if defect is None or not explains_whole(defect, self._target, features, variant, execution):
                self._result.unexplained.append(execution)
                continue
            seen = self._observation(defect, execution)
            base = new.get((execution.case, variant.base.name))
            # What is seen of a variant holds for its variations.
            if variant.base == variant or base is None or (base.defect, base.kinds) != (seen.defect, seen.kinds):
                new[execution.case, execution.variant] = seen
                self._result.added[defect.id].append(_place(execution))
        self._result.observations = _merged([*self._result.observations, *new.values()])

    def _observation(self, defect: Defect, execution: Execution) -> Observation:
        """The observation of an execution."""
        target, others, own = self._target, self._tested[defect.id], _number(self._target.version)
        bounds = ""
        if own is not None and others:
            is_bounded = (">=", min(others) < own), ("<=", max(others) > own)
            bounds = ",".join(f"{sign}{own.public}" for sign, is_so in is_bounded if is_so)
        builds = [name for name in defect.runtimes if TargetSelector.of(name).is_about(*_about(target))]
        return Observation(
            defect=defect.id,
            runtime=tuple(builds) if defect.other_builds else (),
            versions=bounds,
            processor=() if target.architecture in _USUAL_ARCHITECTURES else (target.architecture,),
            variant=execution.variant,
            kinds=tuple(sorted(execution.kinds)),
            cases={execution.case: self._cases.features[execution.case].case.sha256[:DIGITS]},
        )


def explains_whole(
    defect: Defect, target: TargetDescription, features: CaseFeatures, variant: Variant, execution: Execution
) -> bool:
    """Whether a defect explains all of an execution alone."""
    explanation = explains(defect, target, features, variant, execution)
    return explanation is not None and explanation.is_whole


def _place(execution: Execution) -> str:
    return f"{execution.case} ({execution.variant})"


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


def _number(version: str) -> Version | None:
    """A version as a number; None if it is not one."""
    try:
        return Version(version)
    except InvalidVersion:
        return None


def with_tests(versions: DefectVersions, status: TargetStatus) -> tuple[DefectVersions, list[str]]:
    """What is known of the versions of runtimes, with what a target shows.

    Of a defect whose cases or variants the record lacks, it is taken for granted that nothing has changed since the version before;
    the ids of those that this version has second.
    """
    target, by_runtime = status.target, defaultdict[str, list[DefectStatus]](list)
    for each in status.defects:
        names = (name for name in each.defect.runtimes if TargetSelector.of(name).is_about(*_about(target)))
        by_runtime[next(names, each.defect.runtime)].append(each)
    assumed: list[str] = []
    for runtime, found in by_runtime.items():
        undecided = {each.defect.id for each in found if not each.shown and not (each.complete and each.executed)}
        if target.version and len(undecided) < len(found):
            before = undecided & versions.shown_before(runtime, target.version)
            shown = {each.defect.id for each in found if each.shown}
            versions = versions.with_test(runtime, target.version, shown | before, undecided)
            assumed += sorted(before)
    return versions, assumed
