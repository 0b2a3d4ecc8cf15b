"""What comes out of verifying a bundle."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from maxpool_check.results.record import FAULTS, ExitCode, Verdict


@dataclass(frozen=True)
class Undecided:
    """An execution with outputs that are too large for the record: its place, and the verdict that the record has."""

    place: str
    verdict: Verdict


@dataclass
class Verification:
    """What came out of verifying a bundle.

    ``checks`` are sentences on what was found right. ``problems`` are what is not, each with its place: a member, and what is
    meant in it. ``unchecked`` is what could not be checked. ``undecided`` are executions with outputs that
    are too large for their record, which has their digests alone.
    """

    checks: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)

    @property
    def undecided_without_fault(self) -> int:
        """How many of the undecided executions do not fail a run by their verdict: they conform, or are inconsistent."""
        return sum(each.verdict not in FAULTS for each in self.undecided)

    @property
    def exit_code(self) -> ExitCode:
        """0 if all was checked and is right, 1 for a problem, 3 if something could not be checked."""
        if self.problems:
            return ExitCode.UNEXPECTED
        return ExitCode.INCOMPLETE if self.unchecked else ExitCode.AS_EXPECTED

    @contextlib.contextmanager
    def check(self, sentence: str, member: str) -> Iterator[None]:
        """Add a sentence to the checks, unless the block finds a problem; see :meth:`guarded`."""
        problems, unchecked = len(self.problems), len(self.unchecked)
        with self.guarded(member):
            yield
        if (len(self.problems), len(self.unchecked)) == (problems, unchecked):
            self.checks.append(sentence)

    @contextlib.contextmanager
    def guarded(self, member: str) -> Iterator[None]:
        """Add a problem at a member for whatever the block raises: nobody who made a bundle can end its verification.

        Files of this machine that cannot be read or written are no problem of the bundle.
        """
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            self.add(member, f"cannot be checked, since no run and no build writes such a member: {error!r}")

    def add(self, place: str, message: str) -> None:
        """Add a problem."""
        self.problems.append((place, message))
