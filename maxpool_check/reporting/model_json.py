"""The tests of a user's models as one JSON document: the nodes, and the faults, each with the execution that shows it.

All executions are the record of the run, which ``-o`` writes. The schema of the document follows from the types.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import msgspec

from maxpool_check.judging.defects import Severity
from maxpool_check.models.analysis import ModelAnalysis, NodeAnalysis
from maxpool_check.models.ranges import Range
from maxpool_check.models.repair import NodeRepair, Repair
from maxpool_check.models.upgrade import OutputDifference, Upgrade
from maxpool_check.reporting.json import (
    ErrorData,
    FaultData,
    fault_data,
    schema_of,
    target_data,
    text_of,
    write_document,
)
from maxpool_check.reporting.model_report import ModelReport, NodeResult


class TypeData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The type of a tensor."""

    dtype: str
    shape: list[int | str | None] | None
    """The size of each axis, a name or None where the model leaves it open; None if the rank is open."""
    assumed: bool | None = None
    """Whether the tool chose the type, since the model has none; of a tested input alone."""


class ProfileData(msgspec.Struct, frozen=True, kw_only=True):
    """A condition of SONNX that a node breaks."""

    clause: str
    message: str
    fix: str


class ReachData(msgspec.Struct, frozen=True, kw_only=True):
    """A known defect that can reach a node."""

    defect: str
    severity: Severity
    title: str
    needs: str
    """The values that it needs, empty if any do."""
    seen: bool
    """Whether an execution showed it."""


class ResultData(msgspec.Struct, frozen=True, kw_only=True):
    """The result on a node on a target."""

    state: str
    faults: list[str]
    """The names of the faults that explain the state."""
    wrong_on: list[str]
    """The sorts of values on which alone it is wrong."""
    arrivals: list[str]
    """The inputs that make it wrong by such values, with what the model then returns."""
    can_reach: list[ReachData]


class RangeData(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a tensor can have, by all that is known of the inputs; a bound is None if there is none."""

    low: float | None
    high: float | None
    nan: bool


class NodeData(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a model."""

    name: str
    id: str
    """The part of the ids of its cases that names it."""
    op: str
    domain: str
    where: str
    """The graph or function that it is in."""
    opset: int | None
    document: str | None
    """The document that judges it, None if none does."""
    attributes: dict[str, Any]
    input: TypeData | None
    """The type that the model declares."""
    tested_input: TypeData | None
    """The type that is tested."""
    values: RangeData | None
    """The values that can reach it, None if no document judges it."""
    uses_indices: bool
    before: list[str]
    """The operators before it, the nearest last."""
    after: list[str]
    """The operators behind it, the nearest first."""
    rewrites: list[str]
    """The rewrites that can take its place."""
    profile: list[ProfileData]
    open_points: list[str]
    untested: str
    """Why it is not tested, empty if it is."""
    targets: dict[str, ResultData]
    decision: str | None
    """Of an upgrade, SAFE, REVIEW or BLOCK."""
    reason: str
    """The reason of the decision."""


class ModelData(msgspec.Struct, frozen=True, kw_only=True):
    """A model."""

    path: str
    sha256: str
    opset: int | None
    notes: list[str]
    not_run_as_a_model: dict[str, str]
    """Why it could not be run as a whole, by target."""
    nodes: list[NodeData]


class UpgradeData(msgspec.Struct, frozen=True, kw_only=True):
    """The decision on a change of targets."""

    base: str
    head: str
    decision: str
    wrong_on_both: list[str]
    """The ids of the nodes that fail on both."""
    outputs: list[OutputDifference]
    """How the models' own outputs differ, which is no verdict."""


class RepairedOutputData(msgspec.Struct, frozen=True, kw_only=True):
    """How an output of a repaired model differs from the output before, on a target."""

    target: str
    difference: OutputDifference


class RepairData(msgspec.Struct, frozen=True, kw_only=True):
    """What was done about the nodes that fail."""

    path: str | None
    """The file that was written, None if none was."""
    sha256: str
    complete: bool
    """Whether nothing wrong is left."""
    nodes: list[NodeRepair]
    disabled_optimizers: list[str]
    """The optimizers that sessions of the unchanged model must disable."""
    session: list[str]
    """Lines that make such a session."""
    executions_in_the_model: int
    """How many executions of the nodes in the model conform."""
    outputs: list[RepairedOutputData]
    problems: list[str]
    """What is still wrong."""


class ModelDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The document of a test of models."""

    schema: str = "maxpool-check/model/2"
    exit_code: int
    result: str
    """The word of the result, empty if nothing was executed."""
    message: str
    targets: list[dict[str, Any]]
    """The targets, as in the header of a record."""
    models: list[ModelData]
    upgrade: UpgradeData | None
    """The decision between ``--base`` and ``--head``."""
    repair: RepairData | None
    """What ``--repair`` did."""
    faults: list[FaultData]
    """The faults, by target, those that fail the test first."""
    errors: list[ErrorData]


def write(report: ModelReport, file: TextIO) -> None:
    """Write the document of a test of models."""
    (word, message), run = report.result, report.run
    document = ModelDocument(
        exit_code=report.exit_code,
        result=word,
        message=message,
        targets=[target_data(target) for target in report.record.header.targets],
        models=[_model(report, model) for model in report.models],
        upgrade=None if report.upgrade is None else _upgrade(report.upgrade, list(report.wrong_on_both)),
        repair=None if report.repair is None else _repair(report.repair, report.models[0].model.path.name),
        faults=[fault_data(each, report.record) for each in run.faults],
        errors=[ErrorData(message=each) for each in run.problems],
    )
    write_document(document, file)


def failure(exit_code: int, errors: Sequence[Mapping[str, Any]]) -> str:
    """The document of a test that executed nothing; ``errors`` have the members of :class:`ErrorData`."""
    nothing = ModelDocument(
        exit_code=exit_code,
        result="",
        message="",
        targets=[],
        models=[],
        upgrade=None,
        repair=None,
        faults=[],
        errors=[ErrorData(**each) for each in errors],
    )
    return text_of(nothing)


def schema() -> Any:
    """The JSON Schema of the document of a test of models."""
    return schema_of(ModelDocument, "model")


def _model(report: ModelReport, model: ModelAnalysis) -> ModelData:
    of, not_in_place = model.model, report.test.not_in_place
    return ModelData(
        path=str(of.path),
        sha256=of.sha256,
        opset=of.opset,
        notes=list(model.notes),
        not_run_as_a_model={target: why for (target, name), why in not_in_place.items() if name == of.name},
        nodes=[_node(report, name, node) for name, node in model.by_id.items()],
    )


def _node(report: ModelReport, name: str, node: NodeAnalysis) -> NodeData:
    of, around = node.node, node.around
    decision = report.upgrade.nodes.get(name) if report.upgrade is not None else None
    return NodeData(
        name=of.name,
        id=name,
        op=of.op,
        domain=of.proto.domain,
        where=of.where,
        opset=of.opset,
        document=None if node.maker is None else node.maker.document.name,
        attributes=dict(of.attributes),
        input=_type(of.declared),
        tested_input=_type(of.tested, assumed=of.is_assumed),
        values=None if node.maker is None else _range(node.range),
        uses_indices=of.indices is not None,
        before=list(reversed(around.ahead)),
        after=list(around.behind),
        rewrites=list(around.rewrites),
        profile=[ProfileData(clause=each.clause, message=each.message, fix=each.fix) for each in node.profile],
        open_points=report.open_points(name, node),
        untested=node.untested,
        targets={
            target: _result(report.results[target, name], report.test.special.get((target, name), ()))
            for target in report.targets
        },
        decision=None if decision is None else decision.decision.value,
        reason="" if decision is None else report.reason(name),
    )


def _type(of: Any, *, assumed: bool | None = None) -> TypeData | None:
    return None if of is None else TypeData(dtype=of.dtype, shape=of.sizes and list(of.sizes), assumed=assumed)


def _range(of: Range) -> RangeData:
    low, high = (bound if math.isfinite(bound) else None for bound in (of.low, of.high))
    return RangeData(low=low, high=high, nan=of.nan)


def _result(result: NodeResult, arrivals: Sequence[str]) -> ResultData:
    reaches = [
        ReachData(
            defect=each.defect.id,
            severity=each.defect.severity,
            title=each.defect.title,
            needs=each.needs or "",
            seen=each not in result.unseen,
        )
        for each in result.reach
        if each in result.unseen or each.defect.id in result.seen
    ]
    state = "untested" if result.node.untested else result.state.value
    return ResultData(
        state=state, faults=result.names, wrong_on=result.special, arrivals=list(arrivals), can_reach=reaches
    )


def _upgrade(upgrade: Upgrade, wrong_on_both: list[str]) -> UpgradeData:
    return UpgradeData(
        base=upgrade.base,
        head=upgrade.head,
        decision=upgrade.decision.value,
        wrong_on_both=wrong_on_both,
        outputs=list(upgrade.outputs),
    )


def _repair(made: Repair, model: str) -> RepairData:
    return RepairData(
        path=None if made.path is None else str(made.path),
        sha256=made.sha256,
        complete=made.is_complete,
        nodes=list(made.nodes),
        disabled_optimizers=list(made.optimizers),
        session=made.lines(model),
        executions_in_the_model=made.in_place,
        outputs=[RepairedOutputData(target=target, difference=each) for target, each in made.outputs],
        problems=list(made.problems),
    )
