"""What a reproduction is of: one variant of a case that a target has executed."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.oracle import Oracle
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reference.numbering import Layout, Numbering, from_whole_tensor
from maxpool_check.results.outcomes import Outcome, Returned
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import BATCH_SPLIT, CHANNELS_PERMUTED, LEVELS, PAIRS, Variant
from maxpool_check.running.case_run import CaseRun
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.languages import LANGUAGES
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.translation import converted_from


class Fault(Enum):
    """What goes wrong, and so what a script looks for."""

    WRONG_OUTPUT = "the outputs are wrong"
    REFUSED = "a graph is refused that the document allows"
    NOT_REFUSED = "a graph is executed that the document excludes"
    INCONSISTENT = "two executions give different outputs, and each alone would be right"


_REFUSALS = (DivergenceKind.REFUSES_VALID, DivergenceKind.GRAPH_NOT_LOADABLE)


@dataclass(frozen=True, eq=False)
class Reproduced:
    """One variant of a case that was executed on a target."""

    case_run: CaseRun
    variant: Variant
    target: TargetDescription

    @property
    def speaks(self) -> str:
        """The language of the target's requests."""
        return self.target.speaks

    @property
    def numbering(self) -> Numbering | None:
        """How the target numbers the cells, if not as the case does."""
        return converted_from(self.case_run.case.resolved, self.target.indices)

    @property
    def oracle(self) -> GraphOracle | Refused:
        """What judges the outputs, or the refusal."""
        return self.case_run.oracle

    @property
    def is_graph(self) -> bool:
        """Whether there are nodes besides MaxPool."""
        return not self.case_run.case.context.is_alone

    @property
    def request(self) -> Request:
        """The request that the target received; that of the whole X where it received its images or channels differently."""
        is_rearranged = self.variant.variation in (BATCH_SPLIT, CHANNELS_PERMUTED)
        request = self.case_run.results[self.variant.base if is_rearranged else self.variant].request
        assert request is not None, "a variant that diverges was executed"
        return request

    @property
    def outcome(self) -> Outcome:
        """What came back."""
        return self.case_run.results[self.variant].outcome

    @property
    def judgement(self) -> Judgement:
        """The judgement on it."""
        return self.case_run.judgements[self.variant]

    @property
    def kinds(self) -> tuple[DivergenceKind, ...]:
        """The kinds of divergence that it shows."""
        return self.judgement.kinds

    @property
    def refusable(self) -> str | None:
        """The clause by which a refusal is right as well, if there is one."""
        return self.oracle.pooling.refusable if isinstance(self.oracle, Oracle) else None

    @property
    def expects(self) -> str:
        """What the document requires, in a word or two."""
        return "outputs" if isinstance(self.oracle, Oracle) else "a refusal"

    @property
    def dies(self) -> bool:
        """Whether the target's process dies, or hangs."""
        return DivergenceKind.CRASH in self.kinds or DivergenceKind.TIMEOUT in self.kinds

    @property
    def fault(self) -> Fault:
        """What goes wrong; of a process that dies, what would go wrong if it did not."""
        if isinstance(self.oracle, Refused):
            return Fault.NOT_REFUSED
        if any(kind in _REFUSALS for kind in self.kinds):
            return Fault.REFUSED
        is_varied = self.variant.variation is not None and self.variant.variation not in LEVELS
        groups = {DESCRIPTIONS[kind].group for kind in self.kinds}
        if is_varied or groups == {KindGroup.DEPENDENCE}:
            return Fault.INCONSISTENT
        return Fault.WRONG_OUTPUT

    @property
    def layout(self) -> Layout:
        """The layout of the target's tensors."""
        if self.variant.in_domain:
            return self.case_run.case.specification.layout
        return LANGUAGES[self.speaks].layout if self.speaks in LANGUAGES else Layout.CHANNELS_FIRST

    @property
    def other(self) -> Variant:
        """The variant that gives other outputs, where two are :attr:`Fault.INCONSISTENT`."""
        if self.variant.variation is not None:
            return self.variant.base
        (other,) = (each for pair in PAIRS for each in pair if self.variant in pair and each is not self.variant)
        return other

    @property
    def pair(self) -> tuple[Variant, Variant]:
        """Both variants that are compared: the one that the other is a change of, or that has no Indices, first."""
        if self.variant.variation is None and not self.variant.has_indices:
            return self.variant, self.other
        return self.other, self.variant

    def returned(self, variant: Variant | None = None) -> dict[str, np.ndarray]:
        """The outputs of a variant in the target's layout; empty if it returned none."""
        result = self.case_run.results.get(variant or self.variant)
        if result is None or not isinstance(result.outcome, Returned):
            return {}
        source = self.case_run.case.specification.layout
        outputs = dict(result.outcome.outputs)
        if not self.is_graph and source is not self.layout:
            core = {name: source.to_core(tensor) for name, tensor in outputs.items()}
            outputs = {name: self.layout.from_core(tensor) for name, tensor in core.items()}
        if "Indices" in outputs:
            outputs["Indices"] = self.as_counted(outputs["Indices"])
        return outputs

    def as_counted(self, Indices: np.ndarray) -> np.ndarray:
        """Indices of the whole tensor, in the target's layout, as the target numbers the cells."""
        if self.numbering is None:
            return Indices
        sizes = self.layout.sizes(self.request.X.shape)
        return self.layout.from_core(from_whole_tensor(self.layout.to_core(Indices), sizes, self.numbering))
