"""An executor whose outcomes come from a file: the outputs were made elsewhere."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from maxpool_check.corpus.case import Case
from maxpool_check.reference.dtypes import name_of
from maxpool_check.results.outcomes import NotClaimed, NotExecuted, Outcome, Returned
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.target_names import RESULTS
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import executions, judged_case, outputs_that_differ
from maxpool_check.running.executors import CaseResults, TargetResult
from maxpool_check.running.given_results import GivenResult, GivenResults, plain_variants
from maxpool_check.specifications import DEFAULT, documents
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.plans import VariantResult
from maxpool_check.targets.requests import unclaimed
from maxpool_check.targets.target import TargetProfile
from maxpool_check.targets.translation import Translation, converted_from
from maxpool_check.words import plural

_SHOWN = 3
"""So many cases without a result are named."""


def profile_of(given: GivenResults, specs: Iterable[str]) -> TargetProfile:
    """What results say of their target, which claims further documents, ``specs``."""
    target = given.target
    name = f"{RESULTS}{target.get('name', given.path.name)}"
    claimed = [each for family in (*target.get("specs", [DEFAULT]), *specs) for each in documents(family)]
    about = {"about": target["about"]} if "about" in target else {}
    description = TargetDescription(
        name=name,
        distribution=target.get("name", RESULTS.rstrip(":")),
        version=target.get("version", ""),
        provider="",
        providers=(),
        session_options={**about, "results": str(given.path), "results_sha256": given.sha256},
        python="-",
        numpy="-",
        newest_opset=None,
        speaks="attributes",
        indices=target.get("indices", "whole"),
        specs=tuple(dict.fromkeys(claimed)),
    )
    dtypes, spatial = target.get("dtypes"), target.get("spatial")
    return TargetProfile(
        TargetName(name, RESULTS.rstrip(":"), program=()),
        description,
        None if dtypes is None else tuple(dtypes),
        None if spatial is None else tuple(map(int, spatial)),
    )


class ResultsExecutor:
    """Judges the results of a file in place of those of a worker."""

    def __init__(self, given: GivenResults, profile: TargetProfile, cases: Sequence[Case], *, partial: bool) -> None:
        """Prepare for the selected ``cases``. ``partial``: that some have no result is no error."""
        self._given, self._profile = given, profile
        self.descriptions = [profile.description]
        missing = [] if partial else [case.id for case in cases if self._is_missing(case)]
        self.errors = [self._error(missing, len(cases))] if missing else []

    def results(self, cases: Iterable[Case], given_up: Collection[str]) -> Iterator[CaseResults]:
        """The results of each case, in order; nothing here is given up."""
        assert not given_up
        name = self._profile.description.name
        for case in cases:
            run = judged_case(case, name, case.oracle(), self._variant_results(case))
            yield {name: TargetResult(tuple(executions(run)), outputs=outputs_that_differ(run))}

    def close(self) -> None:
        """Nothing was started."""

    def _error(self, missing: Sequence[str], cases: int) -> str:
        shown = ", ".join(missing[:_SHOWN]) + (" ..." if len(missing) > _SHOWN else "")
        count = f"{len(missing)} of {plural(cases, 'case')} {'has' if len(missing) == 1 else 'have'} no result"
        return f"{count} in {self._given.path}: {shown}; select cases with PATH and -k, or accept that with --partial"

    def _variant_results(self, case: Case) -> dict[Variant, VariantResult]:
        given = self._given.by_case.get(case.id, {})
        results = {}
        for variant in plain_variants(case):
            outcome = self._outcome(case, variant, given.get(variant), has_other=bool(given))
            if outcome is not None:
                seconds = given[variant].seconds if variant in given else 0.0
                results[variant] = VariantResult(outcome, seconds=seconds)
        return results

    def _outcome(self, case: Case, variant: Variant, given: GivenResult | None, *, has_other: bool) -> Outcome | None:
        """The outcome of a variant; None if it has none, and another variant has one that says no less."""
        claim = unclaimed(case, variant, self._profile)
        if claim is not None:
            return claim
        if given is not None:
            return self._as_case(case, given.outcome)
        if (why := self._why_not(case, variant)) is not None:
            return NotExecuted(why)
        if has_other:
            return NotExecuted("its result has no Indices") if variant.has_indices else None
        return NotExecuted("it has no result")

    def _why_not(self, case: Case, variant: Variant) -> str | None:
        """Why the target has no result that it should have, by what it says of itself."""
        if case.context.has_nodes:
            return "it executes MaxPool alone, without other nodes"
        if variant.has_indices and self._profile.description.indices is None:
            return "it gives no Indices"
        axes = len(case.specification.layout.sizes(case.X.shape)) - 2 if case.X.ndim > 2 else case.X.ndim - 2
        return self._profile.exclude(name_of(case.X.dtype), axes)

    def _is_missing(self, case: Case) -> bool:
        variants = plain_variants(case)
        return case.id not in self._given.by_case and any(
            self._why_not(case, each) is None and not isinstance(unclaimed(case, each, self._profile), NotClaimed)
            for each in variants
        )

    def _as_case(self, case: Case, outcome: Outcome) -> Outcome:
        """Outputs whose Indices number the cells as those of the case do."""
        numbering = converted_from(case.resolved, self._profile.description.indices)
        if not isinstance(outcome, Returned) or numbering is None:
            return outcome
        layout = case.specification.layout
        same = Translation(case.attributes, case.entering.shape, layout, layout, numbering=numbering)
        return replace(outcome, outputs={name: same.output(name, value) for name, value in outcome.outputs.items()})
