"""Which effects of known defects a run compared and showed, so that what no longer occurs is found."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date

from maxpool_check.judging.defects import Effect
from maxpool_check.results.record import KnownStatus
from maxpool_check.results.variants import Variant
from maxpool_check.words import plural

_Variants = dict[tuple[Effect, str], set[Variant]]
"""Variants by effect and pattern: one of its cases, or an empty text where conditions alone select the cases."""

_REMEDY = "remove these from the defect, or bound the versions for which they are expected:"


class Audit:
    """The effects that are expected of one target, and what a run observed of them.

    An effect that lists cases is stale if one of them no longer shows it, in a variant that it names; another if no case does.
    """

    def __init__(self, effects: Sequence[Effect], today: date, architecture: str = "") -> None:
        """``architecture`` is that of the target's processor, empty if it is not known: an effect must show there alone."""
        self._effects, self._today, self._architecture = effects, today, architecture
        self._compared: _Variants = defaultdict(set)
        self._shown: _Variants = defaultdict(set)
        self._outdated: set[Effect] = set()

    def compared(self, effect: Effect, case: str, variant: Variant) -> None:
        """Remember that an execution of a case of the effect was compared with its document."""
        for pattern in _patterns(effect, case):
            self._compared[effect, pattern].add(variant)

    def shown(self, effect: Effect, case: str, variant: Variant) -> None:
        """Remember that an execution showed the effect."""
        if effect.expired(self._today):
            self._outdated.add(effect)
        for pattern in _patterns(effect, case):
            self._shown[effect, pattern].add(variant)

    def statuses(self, is_complete: Callable[[Effect, str], bool]) -> dict[str, tuple[KnownStatus, str]]:
        """The status of each defect, and why, by its id; of a stale one the first line is short, and each execution has a line.

        ``is_complete`` says whether all cases of an effect ran that a pattern matches, or, where it is empty, that meet its conditions.
        """
        statuses: dict[str, list[tuple[KnownStatus, str]]] = defaultdict(list)
        for effect in self._effects:
            statuses[effect.defect].append(self._status(effect, is_complete))
        order = (KnownStatus.EXPIRED, KnownStatus.STALE, KnownStatus.EXPECTED, KnownStatus.NOT_EXECUTED)
        audited = {}
        for defect, each in statuses.items():
            # What must be reviewed first.
            worst = min((status for status, _ in each), key=order.index)
            reasons = dict.fromkeys(line for status, why in each if status is worst for line in why.splitlines())
            if worst is KnownStatus.STALE:
                # A case without a variant has several executions.
                noun = "execution" if all(each.endswith(")") for each in reasons) else "case"
                what = plural(len(reasons), noun)
                reasons = dict.fromkeys([f"no longer shown in {what}", _REMEDY, *reasons])
            audited[defect] = worst, ("\n" if worst is KnownStatus.STALE else "; ").join(reasons)
        return audited

    def _status(self, effect: Effect, is_complete: Callable[[Effect, str], bool]) -> tuple[KnownStatus, str]:
        patterns = effect.cases or ("",)
        missing = {pattern: self._missing(effect, pattern) for pattern in patterns}
        # It may take long to find out.
        stale = [text for pattern, texts in missing.items() if texts and is_complete(effect, pattern) for text in texts]
        if effect in self._outdated or (effect.expired(self._today) and stale):
            return KnownStatus.EXPIRED, f"since {effect.expires}; review it, then remove it or set a new date"
        if stale and effect.must_show(self._architecture):
            return KnownStatus.STALE, "\n".join(stale)
        if any((effect, pattern) in self._shown for pattern in patterns):
            return KnownStatus.EXPECTED, ""
        why = "none of its cases was compared"
        stale_here = f"{', '.join(stale)} need not diverge on this processor in every run"
        return KnownStatus.NOT_EXECUTED, stale_here if stale else why

    def _missing(self, effect: Effect, pattern: str) -> list[str]:
        """The pattern, or the variants of it, that were compared and did not show the effect."""
        compared, shown = self._compared.get((effect, pattern), set()), self._shown.get((effect, pattern), set())
        named = pattern or "what meets its conditions"
        if effect.variants is None:
            return [named] if compared and not shown else []
        return [f"{named} ({variant.name})" for variant in sorted((effect.variants & compared) - shown)]


def _patterns(effect: Effect, case: str) -> list[str]:
    return effect.patterns(case) if effect.cases else [""]
