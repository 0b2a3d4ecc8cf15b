"""Changes that a user has accepted: who, why, and until when."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from maxpool_check.comparing.changes import Change
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.record import TargetDescription


@dataclass(frozen=True, eq=False)
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
        return self.when.covers(head.selected_as, head.version, head.provider, head.name)

    def has_case(self, case: str) -> bool:
        """Whether it names a case."""
        return any(case == pattern or fnmatchcase(case, pattern) for pattern in self.cases)

    def accepts(self, change: Change, case: str, variant: str, kinds: Collection[str]) -> bool:
        """Whether it is about this change of an execution to these kinds, whatever the target and the date."""
        return (
            change is self.change
            and self.has_case(case)
            and (self.kinds is None or self.kinds == frozenset(kinds))
            and (self.variants is None or variant in self.variants)
        )


def narrowest(
    changes: Iterable[tuple[Change, str, str, Collection[str]]],
    head: TargetDescription,
    author: str,
    reason: str,
    expires: date,
) -> list[AcceptedChange]:
    """The entries that accept these changes on a target of this version, and nothing else.

    A change is what :meth:`AcceptedChange.accepts` takes: with the id of the case, the variant, and the kinds of the new result.
    """
    variants: dict[tuple[Change, frozenset[str], str], set[str]] = {}
    for change, case, variant, kinds in changes:
        variants.setdefault((change, frozenset(kinds), case), set()).add(variant)
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
            messages.append(f"acceptance expired on {each.expires}: {what}: {each.reason} ({each.author})")
        elif each not in used and any(map(each.has_case, cases)):
            messages.append(f"accepted, but no longer so; remove the entry: {what}: {each.reason} ({each.author})")
    return messages


def _runtime(head: TargetDescription) -> str:
    """A target's name without its version."""
    if head.name.startswith(("python:", "command:", "transform:")):
        return head.name
    return re.sub(r"==[^@?]+", "", head.name, count=1)
