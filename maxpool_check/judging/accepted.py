"""What a person has accepted: exact results of named cases on a target, by whom, why, and until when."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from maxpool_check.judging.defects import Defect, Effect, fingerprint, severity_of
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind
from maxpool_check.judging.target_selector import TargetSelector
from maxpool_check.results.changes import Change
from maxpool_check.results.record import Execution, TargetDescription
from maxpool_check.results.variants import variant_named


@dataclass(frozen=True, eq=False)
class Acceptance:
    """An entry of a file: results on a target that a person accepts.

    An entry without a ``change`` accepts a divergence in a run or in a model; an entry with a ``change`` accepts this change of a
    gate or of an upgrade. ``when`` selects the target; for a change, this is the new target. ``cases`` and ``variants`` are names,
    without wildcards. ``kinds`` are exactly the kinds of the result on the target; only a change can have none. Where kinds do not
    say what the runtime returns, ``outputs`` has the fingerprints of the accepted outputs, by version. The entry accepts nothing
    after the day ``expires``. ``place`` says where it is written: the file, the line and the column.
    """

    when: TargetSelector
    cases: tuple[str, ...]
    variants: frozenset[str]
    kinds: frozenset[DivergenceKind]
    author: str
    reason: str
    expires: date
    change: Change | None = None
    outputs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    place: str = ""

    def __str__(self) -> str:
        """The reason, with the author and the last day."""
        return f"{self.reason} ({self.author}, until {self.expires})"

    @cached_property
    def name(self) -> str:
        """The name of a divergence in reports, which other entries may have as well: the target and the kinds."""
        return "-".join([self.when.name, *sorted(kind.value for kind in self.kinds)])

    def is_about(self, target: TargetDescription) -> bool:
        """Whether the entry is about a target."""
        return self.when.covers(target.selected_as, target.version, target.provider, target.name)

    def excuses(
        self, change: Change, execution: Execution, kinds: Collection[str], target: TargetDescription, today: date
    ) -> bool:
        """Whether the entry accepts, on a day, a change to an execution with these kinds on a target.

        For a case that is no longer executed, ``execution`` is the old one, and there are no kinds.
        """
        return (
            change is self.change
            and self.expires >= today
            and execution.case in self._names
            and execution.variant in self.variants
            and {*kinds} == {kind.value for kind in self.kinds}
            and self.is_about(target)
            and self._has_outputs(execution, target.version)
        )

    def defect(self, name: str) -> Defect:
        """The divergences that the entry accepts, in the form in which runs expect them, under a name that is used once."""
        title = next(about.sentence for kind, about in DESCRIPTIONS.items() if kind in self.kinds).removesuffix(".")
        variants = frozenset(map(variant_named, self.variants))
        effect = Effect(name, self.when, self.kinds, self.cases, variants, expires=self.expires, is_accepted=True)
        reason, severity = f"{self.reason} (accepted by {self.author})", severity_of(self.kinds)
        return Defect(name, self.when.runtime, title, severity, reason, (effect,), outputs=self.outputs)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.cases)

    def _has_outputs(self, execution: Execution, version: str) -> bool:
        """Whether the outputs are among those that were accepted, if the entry says which these are."""
        accepted = self.outputs.get(version)
        return accepted is None or fingerprint(execution, execution.case) in accepted
