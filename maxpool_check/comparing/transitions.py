"""The change of every execution from one record to another, decided in one place."""

import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, zip_longest

import numpy as np

from maxpool_check.judging.faults import Fault, faults_of
from maxpool_check.judging.verdicts import ACCEPTED
from maxpool_check.results.changes import Change
from maxpool_check.results.outputs import unpacked
from maxpool_check.results.record import NOT_EXECUTED, Execution, Record, Verdict


class Incomparable(ValueError):
    """Two records that do not hold the same cases."""


@dataclass(frozen=True)
class Transition:
    """One execution in both records; None where a record does not have it.

    ``faults`` are those of both, if it is wrong or inconsistent there.
    """

    change: Change
    old: Execution | None
    new: Execution | None
    faults: tuple[Fault | None, Fault | None] = (None, None)

    @property
    def execution(self) -> Execution:
        """The newer of the two that is there."""
        execution = self.new or self.old
        assert execution is not None
        return execution


class Transitions(Iterable[Transition]):
    """The executions of two targets, case by case; each iteration reads both records again, and holds few executions at once.

    The variants of a case follow each other; of an execution that a record holds twice, the first counts. Raises
    :class:`Incomparable` if a case differs between the records or its document is interpreted differently, unless such cases are
    ``left_out``: with ``intersection``. ``cases`` are those to compare. ``failed`` says of either target whether an execution on it
    failed in a way that says nothing about it, ``case_counts`` how many cases either record has of it.
    """

    def __init__(
        self,
        old: Record,
        new: Record,
        names: tuple[str, str],
        *,
        intersection: bool = False,
        cases: Container[str] | None = None,
    ) -> None:
        self._sides, self._cases = ((old, names[0]), (new, names[1])), cases
        self._held = (_held(old), _held(new))
        self._numbers, failed, before, after = Counter[str](), [False, False], dict[str, str](), dict[str, str]()
        different: dict[str, str] = {}
        found = set[str](), set[str]()
        for side, digests in enumerate((before, after)):
            for each in self._executions(side, found[side]):
                self._numbers[each.case] += 1
                failed[side] |= each.verdict is Verdict.ERROR
                digest = digests.setdefault(each.case, sys.intern(each.case_sha256))
                profiles = [record.header.profile.get(each.spec) for record in (old, new)]
                if before.get(each.case, digest) != digest:
                    different[each.case] = f"{each.case} is not the same case in both"
                elif each.case in before and profiles[0] != profiles[1]:
                    different[each.case] = f"{each.spec} is interpreted differently: {profiles[0]}, {profiles[1]}"
        self.case_counts = len(found[0]), len(found[1])
        self.failed, self.left_out = (failed[0], failed[1]), [case for case in after if case in different]
        reasons = list(dict.fromkeys(different[case] for case in self.left_out))
        if reasons and not intersection:
            more = [f"{len(reasons) - 3} more"] if len(reasons) > 3 else []
            raise Incomparable("; ".join([*reasons[:3], *more]))

    def __iter__(self) -> Iterator[Transition]:
        remaining, left_out = self._numbers.copy(), set(self.left_out)
        waiting: dict[str, tuple[dict[str, Execution], dict[str, Execution]]] = {}
        # Case by case of both, so that few wait where the records have the same order.
        sides = (
            (list(group) for _, group in groupby(self._executions(side), lambda each: each.case)) for side in (0, 1)
        )
        for both in zip_longest(*sides, fillvalue=()):
            for side, each in ((side, each) for side, executions in enumerate(both) for each in executions):
                case = each.case
                waiting.setdefault(case, ({}, {}))[side].setdefault(each.variant, each)
                remaining[case] -= 1
                if not remaining[case]:
                    before, after = waiting.pop(case)
                    for variant in dict.fromkeys([*before, *after]) if case not in left_out else ():
                        was, now = before.get(variant), after.get(variant)
                        faults = (self._faults[0].get((case, variant)), self._faults[1].get((case, variant)))
                        yield Transition(change(was, now, self._held), was, now, faults)

    @cached_property
    def _faults(self) -> tuple[dict[tuple[str, str], Fault], dict[tuple[str, str], Fault]]:
        (old, before), (new, after) = self._sides
        return faults_of(old, before), faults_of(new, after)

    def _executions(self, side: int, found: set[str] | None = None) -> Iterator[Execution]:
        """The executions of a side that are compared; ``found`` gets the cases of all."""
        record, name = self._sides[side]
        for each in record.executions:
            if each.target != name:
                continue
            if found is not None:
                found.add(each.case)
            if self._cases is None or each.case in self._cases:
                yield each


_Held = tuple[Container[str] | None, Container[str] | None]
"""The digests of the outputs in each record that differ from the reference's; None if it does not hold all of them."""


def _held(record: Record) -> Container[str] | None:
    return record.outputs if record.footer is not None and record.footer.outputs_left_out == 0 else None


def change(old: Execution | None, new: Execution | None, held: _Held = (None, None)) -> Change:
    """The change of one execution; ``held`` tells which outputs are right where another is wrong as a whole."""
    was, now = _state(old), _state(new)
    if old is None or new is None or was is None or now is None:
        return Change.NOT_COMPARED if was == now else Change.ADDED if was is None else Change.MISSING
    if was == now:
        return _alike(was, old, new, held)
    if now == "died":
        return Change.CRASH_NEW
    if was == "died":
        return Change.CRASH_GONE if now != "wrong" or "accepts-invalid" in new.kinds else Change.REGRESSED
    if now == "wrong":
        return Change.REGRESSED
    if now == "inconsistent":
        return Change.NEWLY_INCONSISTENT
    if now == "refused":
        if was == "wrong":
            # A graph that the document excludes is rightly refused.
            return Change.FIXED if "accepts-invalid" in old.kinds else Change.WRONG_TO_REFUSED
        return Change.NEWLY_REFUSED
    return Change.NEWLY_ACCEPTED if was == "refused" else Change.FIXED


def _alike(state: str, old: Execution, new: Execution, held: _Held) -> Change:
    if state == "died":
        return Change.SAME if old.verdict == new.verdict else Change.CHANGED
    if state == "refused" or (old.digests, old.inferred) == (new.digests, new.inferred):
        return Change.SAME if old.kinds == new.kinds else Change.CHANGED
    return _by_cells(old, new, held) if state == "wrong" else Change.CONFORMING_BUT_DIFFERENT


def _by_cells(old: Execution, new: Execution, held: _Held) -> Change:
    """The change of a wrong execution with other outputs: a cell that was right and is wrong decides, whatever became right."""
    pairs = [
        (_wrong_cells(old, output, held[0]), _wrong_cells(new, output, held[1]))
        for output in old.digests.keys() | new.digests.keys() | old.wrong.keys() | new.wrong.keys()
        if output not in old.digests or old.digests[output] != new.digests.get(output)
    ]
    # Of the outputs that were not compared, one at least is wrong as a whole: right cells of all of them have become wrong.
    became_wrong = _have_right([was for was, now in pairs if now is None])
    became_right = _were_right([now for was, now in pairs if was is None])
    for was, now in pairs:
        if was is None or now is None:
            continue
        if was.size != now.size and 1 not in (was.size, now.size):
            # Outputs of other shapes have no cells in common.
            return Change.CHANGED
        became_wrong |= bool((now > was).any())
        became_right |= bool((was > now).any())
    if became_wrong:
        return Change.REGRESSED
    return Change.IMPROVED if became_right else Change.CHANGED


def _were_right(outputs: Sequence[np.ndarray | None]) -> bool:
    """Whether there are any, and none has a wrong cell."""
    return bool(outputs) and all(cells is not None and not cells.any() for cells in outputs)


def _have_right(outputs: Sequence[np.ndarray | None]) -> bool:
    """Whether there are any, and each has a right cell."""
    return bool(outputs) and all(cells is not None and not cells.all() for cells in outputs)


def _wrong_cells(execution: Execution, output: str, held: Container[str] | None) -> np.ndarray | None:
    """Which cells of an output are wrong, on finite or on special values; one False if none is.

    None where another output, or this one, is wrong as a whole: its cells were not compared, unless it is the reference's.
    """
    digest, is_known = execution.digests.get(output), execution.verdict is Verdict.DIVERGES and held is not None
    if not execution.wrong and (not is_known or digest is None or digest in (held or ())):
        return None
    marked = [unpacked(text).astype(bool) for text in execution.wrong.get(output, {}).values()]
    return np.any(marked, axis=0) if marked else np.zeros(1, bool)


def _state(execution: Execution | None) -> str | None:
    """Died, refused, wrong, inconsistent or right; None for what was not judged."""
    if execution is None or execution.verdict in (*NOT_EXECUTED, Verdict.ERROR):
        return None
    if execution.verdict in (Verdict.CRASHES, Verdict.TIMES_OUT):
        return "died"
    if execution.verdict in (Verdict.DIVERGES, Verdict.UNSTABLE):
        return "wrong"
    if execution.verdict == Verdict.INCONSISTENT:
        return "inconsistent"
    # A target that decides shapes, or acceptance alone, computes no outputs.
    is_accepted = execution.digests or execution.inferred or execution.message.startswith(ACCEPTED)
    return "right" if is_accepted else "refused"


def paired(old: Record, new: Record, names: tuple[str | None, str | None] = (None, None)) -> list[tuple[str, str]]:
    """The targets to compare: those named, or the only one of each record, or those of the same name in both.

    Raises :class:`Incomparable` if there are none.
    """
    targets = [[target.name for target in record.header.targets] for record in (old, new)]
    for name, known in zip(names, targets, strict=True):
        if name is not None and name not in known:
            raise Incomparable(f"no target '{name}' in a record of {', '.join(known) or 'no target'}")
    chosen = [[name] if name is not None else known for name, known in zip(names, targets, strict=True)]
    if len(chosen[0]) == len(chosen[1]) == 1:
        return [(chosen[0][0], chosen[1][0])]
    common = [name for name in chosen[0] if name in chosen[1]]
    if not common:
        raise Incomparable(f"name the targets to compare: {', '.join(targets[0])}; {', '.join(targets[1])}")
    return [(name, name) for name in common]
