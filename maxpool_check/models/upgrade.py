"""Whether models may move from one target to another: SAFE, REVIEW or BLOCK for each of their MaxPool nodes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxpool_check.comparing.gate import (
    Assessed,
    ChangeSummary,
    Decision,
    GatePolicy,
    TargetComparison,
    compare_targets,
    summarize,
)
from maxpool_check.models.analysis import node_of
from maxpool_check.models.cases import is_special
from maxpool_check.reference.dtypes import same
from maxpool_check.results.changes import UNOBSERVABLE, Change
from maxpool_check.results.record import ExitCode, Record
from maxpool_check.words import plural


@dataclass(frozen=True)
class OutputDifference:
    """How an output of a model differs between two targets, which is no verdict: other nodes than MaxPool compute it, too.

    ``cells`` of ``size`` values differ, by at most ``largest``; None where that is no number. ``shapes`` are those of the two
    outputs where they differ.
    """

    model: str
    output: str
    cells: int
    size: int
    largest: float | None
    shapes: tuple[list[int], list[int]] | None = None

    def __str__(self) -> str:
        """The difference in words."""
        if not self.cells:
            return f"{self.output}: equal in every bit ({self.size} values)"
        if self.shapes is not None:
            return f"{self.output}: the shape differs, {self.shapes[0]} and {self.shapes[1]}"
        if self.largest is None:
            return f"{self.output}: {self.cells} of {self.size} values differ, some of them in being NaN or infinite"
        return f"{self.output}: {self.cells} of {self.size} values differ, by at most {self.largest:.3g}"


@dataclass(frozen=True)
class Upgrade:
    """The decisions on a change of targets.

    ``nodes`` has the decision by node, on finite values and on values that flow in the models; ``comparison`` has every change.
    ``special`` are the changes on special values alone, which do not count unless they were asked for. ``outputs`` are the
    differences of the models' own outputs.
    """

    base: str
    head: str
    comparison: TargetComparison
    nodes: Mapping[str, ChangeSummary]
    special: Mapping[str, Sequence[Assessed]]
    outputs: Sequence[OutputDifference] = ()

    @property
    def decision(self) -> Decision:
        """The worst decision on a node."""
        order = list(Decision)
        return max((each.decision for each in self.nodes.values()), key=order.index, default=Decision.SAFE)

    @property
    def labels(self) -> tuple[str, str]:
        """What the two targets are to each other: base and head, or those of a move to another processor."""
        return self.comparison.labels if self.comparison.move else ("base", "head")

    @property
    def reason(self) -> str:
        """The reason of the decision, in words."""
        move = f"moving {self.comparison.move}: " if self.comparison.move else ""
        nodes = plural(len(self.nodes), "node")
        if self.decision is Decision.SAFE:
            text = f"no change on finite values, nor on values that flow, in {self.comparison.summary.compared} executions of {nodes}"
        else:
            text = f"{in_words(self.comparison.summary)} of {nodes}"
        changed = sum(map(len, self.special.values()))
        return (
            move + text + (f"; {plural(changed, 'change')} on special values, which --strict counts" if changed else "")
        )

    @property
    def exit_code(self) -> ExitCode:
        """1 for BLOCK, 3 and 4 where there is no decision."""
        return self.comparison.exit_code


def in_words(summary: ChangeSummary) -> str:
    """The reason of a decision on a model, where what only one side executed says more of the model than of its outputs."""
    text = summary.reason.replace(f" {Change.MISSING.value}", " not executed on the head")
    return text.replace(f" {Change.ADDED.value}", " executed on the head alone")


def upgrade(
    record: Record,
    base: str,
    head: str,
    nodes: Collection[str],
    outputs: Sequence[OutputDifference] = (),
    *,
    policy: GatePolicy | None = None,
    strict: bool = False,
) -> Upgrade:
    """Compare two targets of a record of models by a policy. ``strict``: changes on special values alone count as well."""
    whole = compare_targets(record, record, (base, head), policy)
    transitions = list(whole.transitions)
    counted = [each for each in transitions if strict or not is_special(each.execution.case)]
    others = [each for each in transitions if not strict and is_special(each.execution.case)]
    decisions, special = {}, {}
    for name in nodes:
        changes = [each for each in counted if node_of(each.execution.case) == name]
        if any(each.change is not Change.NOT_COMPARED for each in changes):
            decisions[name] = summarize(changes)
        changes = [each for each in others if node_of(each.execution.case) == name and each.change not in UNOBSERVABLE]
        if changes:
            special[name] = changes
    return Upgrade(base, head, replace(whole, unassessed=counted), decisions, special, outputs)


def output_differences(
    model: str, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]
) -> list[OutputDifference]:
    """How the outputs of a model on two targets differ, for the same inputs."""
    differences = []
    for name in sorted(old.keys() & new.keys()):
        a, b = old[name], new[name]
        cells = size = max(a.size, b.size)
        largest, shapes = None, (list(a.shape), list(b.shape)) if a.shape != b.shape else None
        if a.shape == b.shape and a.dtype == b.dtype:
            differ = ~same(a, b)
            with np.errstate(all="ignore"):
                apart = np.abs(a[differ].astype(np.float64) - b[differ].astype(np.float64))
            cells = int(differ.sum())
            largest = float(apart.max(initial=0)) if np.isfinite(apart).all() else None
        differences.append(OutputDifference(model, name, cells, size, largest, shapes))
    return differences
