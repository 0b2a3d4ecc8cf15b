"""Changes that a user has accepted: who, why, and until when."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from maxpool_check.comparing.transitions import Change, Transition
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.record import TargetDescription


@dataclass(frozen=True)
class AcceptedChange:
    """A change of some cases on some targets that a user accepts.

    ``when`` selects the new target, ``cases`` are ids and globs. ``kinds`` are exactly those of the new result; None: any.
    ``variants`` are names; None: any. It accepts nothing after ``expires``.
    """

    change: Change
    when: TargetSelector
    cases: tuple[str, ...]
    kinds: frozenset[str] | None
    variants: frozenset[str] | None
    author: str
    reason: str
    expires: date

    def __str__(self) -> str:
        return f"{self.reason} ({self.author}, until {self.expires})"

    def is_about(self, head: TargetDescription) -> bool:
        """Whether it concerns a new target."""
        return self.when.covers(head.distribution, head.version, head.provider, head.name)

    def has_case(self, case: str) -> bool:
        """Whether it names a case."""
        return any(case == pattern or fnmatchcase(case, pattern) for pattern in self.cases)

    def accepts(self, transition: Transition) -> bool:
        """Whether it is about this change, whatever the target and the date."""
        kinds = transition.new.kinds if transition.new is not None else ()
        return (
            transition.change is self.change
            and self.has_case(transition.execution.case)
            and (self.kinds is None or self.kinds == frozenset(kinds))
            and (self.variants is None or transition.execution.variant in self.variants)
        )


def of_changes(
    changes: Sequence[Transition], head: TargetDescription, author: str, reason: str, expires: date
) -> list[AcceptedChange]:
    """The narrowest entries that accept changes on a target of this version: exact cases, kinds and variants."""
    variants: dict[tuple[Change, frozenset[str], str], set[str]] = {}
    for each in changes:
        kinds = frozenset(each.new.kinds if each.new is not None else ())
        variants.setdefault((each.change, kinds, each.execution.case), set()).add(each.execution.variant)
    cases: dict[tuple[Change, frozenset[str], frozenset[str]], list[str]] = {}
    for (change, kinds, case), of_case in variants.items():
        cases.setdefault((change, kinds, frozenset(of_case)), []).append(case)
    when = TargetSelector.of(_runtime(head), f"=={head.version}" if head.version else "")
    return [
        AcceptedChange(change, when, tuple(names), kinds, of_cases, author, reason, expires)
        for (change, kinds, of_cases), names in cases.items()
    ]


def unused(
    accepted: Collection[AcceptedChange], used: Collection[AcceptedChange], head: TargetDescription,
    cases: Collection[str], today: date,
) -> list[str]:  # fmt: skip
    """A message for each entry about a target that has expired, or that none of the compared cases shows."""
    messages = []
    for each in accepted:
        if not each.is_about(head):
            continue
        what = f"{each.change.value} of {', '.join(each.cases[:3])}{', ...' if len(each.cases) > 3 else ''}"
        if each.expires < today:
            messages.append(f"accepted until {each.expires} only: {what}")
        elif each not in used and any(map(each.has_case, cases)):
            messages.append(f"accepted, but no longer so; remove the entry: {what}")
    return messages


def _runtime(head: TargetDescription) -> str:
    """A target's name without its version."""
    if head.name.startswith(("python:", "command:", "transform:")):
        return head.name
    runtime, equal, rest = head.name.partition("==")
    return runtime + rest[len(head.version) :] if equal else runtime
