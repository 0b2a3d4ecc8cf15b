"""Whether a build still shows a known defect, and what else is wrong in the cases of the defect."""

from dataclasses import dataclass

from maxpool_check.comparing.defects import TargetStatus
from maxpool_check.corpus.conditions import CasesOfEffects
from maxpool_check.judging.defects import Defect
from maxpool_check.judging.explaining import by_effect, is_about
from maxpool_check.results.record import COMPARED, FAULTS, Execution, Status
from maxpool_check.results.variants import variant_named


@dataclass(frozen=True)
class FixStatus:
    """What a target shows of a defect in the executions that are known to show it.

    ``left`` still show it, ``gone`` do not; ``otherwise`` are wrong for another reason, and were not before. ``must``: all
    executions in ``gone`` are known to show the defect, case by case; otherwise they meet its conditions, or other versions show
    it there. ``compared`` counts the cases of the defect that were compared, of ``cases``.
    """

    defect: Defect
    left: tuple[Execution, ...]
    gone: tuple[Execution, ...]
    otherwise: tuple[Execution, ...]
    must: bool
    compared: int
    cases: int

    @property
    def is_fixed(self) -> bool:
        """Whether no execution shows the defect, and none is wrong for another reason."""
        return bool(self.gone) and not self.left and not self.otherwise


def fix_status(status: TargetStatus, defect: Defect, cases: CasesOfEffects) -> FixStatus:
    """What a target shows of a defect: where it is expected of its version or, if it is of none, where other versions show it."""
    target = status.target
    names = target.selected_as, target.provider, target.name
    about = [each for each in defect.effects if each.when.is_about(*names) and each.can_show(target)]
    own = [each for each in about if each.covers(target)]
    ids = {case for effect in about for case in cases.ids(effect)}
    executions = [each for each in status.executions if each.case in ids and each.case in cases.features]
    left, gone, otherwise, named = [], [], [], set()
    for each in executions:
        features, variant = cases.features[each.case], variant_named(each.variant)
        effects = [
            effect
            for effect in own or about
            if effect.shown(variant) and is_about(defect, effect, variant, each) and features.applies(defect, effect)
        ]
        shown = (by_effect(defect, effect, target.version, features, variant, each) for effect in effects)
        must = any(effect in own and effect.names(variant, target.architecture) for effect in effects)
        named |= {(each.case, each.variant)} if must else set()
        if defect.id in (each.known, *each.explained_by) or any(shown):
            left.append(each)
            continue
        # Where the document leaves the result open, no outputs show the defect.
        if effects and (must or each.verdict in COMPARED):
            gone.append(each)
        if each.verdict in FAULTS and (must or each.status != Status.EXPECTED):
            otherwise.append(each)
    if named:
        # Variations of named variants may show it, and tell nothing more where the named one does.
        shows = {(each.case, each.variant) for each in left} & named
        left = [
            each
            for each in left
            if (each.case, each.variant) in named or (each.case, variant_named(each.variant).base.name) not in shows
        ]
        gone = [each for each in gone if (each.case, each.variant) in named]
    compared = len({each.case for each in executions})
    return FixStatus(defect, tuple(left), tuple(gone), tuple(otherwise), bool(named), compared, len(ids))
