"""What a reproduction is of: one variant of a case that a target has executed."""

from enum import Enum

import numpy as np

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.numbering import Layout, from_whole_tensor
from maxpool_check.results.outcomes import Crashed, Outcome, Returned, TimedOut
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import NHWC_MAXPOOL, OTHER_KERNELS, PAIRS, Variant
from maxpool_check.running.case_run import JudgedRun
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.translation import converted_from


class FaultForm(Enum):
    """The form that a fault takes, and so what a script looks for."""

    WRONG_OUTPUT = "the outputs are wrong"
    REFUSED = "a graph is refused that the document allows"
    NOT_REFUSED = "a graph is executed that the document excludes"
    INCONSISTENT = "two executions give different outputs, and each alone would be right"


class CannotWrite(ValueError):
    """A reproduction that cannot be written, and why."""


class Reproduced:
    """One variant of a case that was executed on a target."""

    def __init__(self, case_run: JudgedRun, variant: Variant, target: TargetDescription) -> None:
        self.case_run, self.variant, self.target = case_run, variant, target
        self.oracle = case_run.oracle
        """What judges the outputs, or the refusal."""
        self.is_graph = not case_run.case.context.is_alone
        """Whether there are nodes besides MaxPool."""
        self.refusable = self.oracle.pooling.refusable if isinstance(self.oracle, Oracle) else None
        """The clause by which a refusal is right as well, if there is one."""

    @property
    def request(self) -> Request:
        """The request that the target received."""
        return self.request_of(self.variant)

    def request_of(self, variant: Variant) -> Request:
        """The request of a variant that was executed."""
        request = self.case_run.jobs[variant].request
        assert request is not None, "a variant that diverges, and what it is compared with, were executed"
        return request

    @property
    def outcome(self) -> Outcome:
        """What came back."""
        return self.case_run.jobs[self.variant].outcome

    @property
    def kinds(self) -> tuple[DivergenceKind, ...]:
        """The kinds of divergence that it shows."""
        return self.case_run.judgements[self.variant].kinds

    @property
    def ends(self) -> str:
        """How the target's process ends that returns nothing: ``crash`` or ``hang``; empty otherwise."""
        return {Crashed: "crash", TimedOut: "hang"}.get(type(self.outcome), "")

    @property
    def fault(self) -> FaultForm:
        """What goes wrong; of a process that dies, what would go wrong if it did not."""
        if isinstance(self.oracle, Refused):
            return FaultForm.NOT_REFUSED
        if {DivergenceKind.REFUSES_VALID, DivergenceKind.GRAPH_NOT_LOADABLE} & set(self.kinds):
            return FaultForm.REFUSED
        is_varied = self.variant.variation is not None and self.variant.variation not in OTHER_KERNELS
        if is_varied or {DESCRIPTIONS[kind].group for kind in self.kinds} == {KindGroup.DEPENDENCE}:
            return FaultForm.INCONSISTENT
        return FaultForm.WRONG_OUTPUT

    @property
    def layout(self) -> Layout:
        """The layout of the target's tensors."""
        if self.variant.in_domain:
            return self.case_run.case.specification.layout
        if self.variant.variation is NHWC_MAXPOOL:
            return Layout.CHANNELS_LAST
        return LANGUAGES[self.target.speaks].layout if self.target.speaks in LANGUAGES else Layout.CHANNELS_FIRST

    @property
    def pair(self) -> tuple[Variant, Variant]:
        """The variants that give different outputs: the one that the other is a change of, or that has no Indices, first."""
        if self.variant.variation is not None:
            return self.variant.base, self.variant
        with_indices, alone = next(pair for pair in PAIRS if self.variant in pair)
        return alone, with_indices

    @property
    def differing(self) -> str:
        """The output that two variants differ in."""
        return "Indices" if any(kind.value.startswith("indices-depend") for kind in self.kinds) else "Y"

    def returned(self, variant: Variant | None = None) -> dict[str, np.ndarray]:
        """The outputs of a variant in the target's terms; empty if it returned none."""
        result = self.case_run.jobs.get(variant or self.variant)
        if result is None or not isinstance(result.outcome, Returned):
            return {}
        return {name: self.in_terms_of_target(name, tensor) for name, tensor in result.outcome.outputs.items()}

    def in_terms_of_target(self, name: str, tensor: np.ndarray) -> np.ndarray:
        """An output from the layout and numbering of the case in those of the target; a graph has its own."""
        source = self.case_run.case.specification.layout
        if not self.is_graph and source is not self.layout:
            tensor = self.layout.from_core(source.to_core(tensor))
        numbering = converted_from(self.case_run.case.resolved, self.target.indices)
        if name != "Indices" or numbering is None:
            return tensor
        sizes = self.layout.sizes(self.request.X.shape)
        return self.layout.from_core(from_whole_tensor(self.layout.to_core(tensor), sizes, numbering))
