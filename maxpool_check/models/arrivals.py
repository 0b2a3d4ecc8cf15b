"""What an infinity or NaN in an input does: whether it gets to a MaxPool of a model, and what the model then returns."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from maxpool_check.models import parts
from maxpool_check.models.analysis import ModelAnalysis
from maxpool_check.models.deployed import DeployedModel
from maxpool_check.models.inputs import CannotRun
from maxpool_check.models.ranges import ANY
from maxpool_check.reference.dtypes import is_float
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import FAULTS
from maxpool_check.results.variants import Variant
from maxpool_check.running.case_run import judge_case
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.session import TargetSession

_MOST_OUTPUTS = 3


def arrivals(session: TargetSession, analysis: ModelAnalysis, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """The nodes that an input with NaN or -inf makes wrong, if its range allows these: their names, with words for the input.

    The model is run as it is deployed, and once more with the tensors around the nodes. Nothing where a run fails.
    """
    nodes = [(name, analysis.by_id[name]) for name in names]
    makers = [(name, each.maker) for name, each in nodes if each.maker is not None and each.node.scope.outer is None]
    try:
        usual = DeployedModel(session, analysis).inputs
    except CannotRun:
        return
    for value, words in ((math.nan, "NaN in every seventh cell"), (-math.inf, "-inf in every cell")):
        inputs = [
            name for name, X in usual.items() if is_float(X.dtype) and X.size and _may_hold(analysis, name, value)
        ]
        if not inputs or not makers:
            continue
        deployed = DeployedModel(session, analysis, {**usual, **{name: _with(usual[name], value) for name in inputs}})
        around = [name for _, each in makers for name in (each.around.start, each.around.end) if name not in usual]
        own = deployed.run_at(None)
        look = deployed.run(parts.with_outputs(deployed.proto, around, analysis.declared.types), None)
        if not isinstance(own, Returned) or not isinstance(look, Returned):
            continue
        tensors, returned = {**deployed.inputs, **look.outputs}, _described(own.outputs)
        for name, maker in makers:
            case = maker.in_place(tensors[maker.around.start])
            if case is None or not _has(case.entering, value):
                continue
            case = replace(case, outputs=("Y",))
            outcome = Returned({"Y": tensors[maker.around.end]})
            job = Job(Variant(case.outputs), opset=analysis.model.opset, outcome=outcome)
            (line,) = judge_case(case, session.profile.description.name, case.oracle(), [job]).executions
            if line.verdict in FAULTS:
                yield name, f"{' and '.join(inputs)} with {words}; the model then returns {returned}"


def _may_hold(analysis: ModelAnalysis, name: str, value: float) -> bool:
    return analysis.ranges.get(name, ANY).holds(np.array(value))


def _with(X: np.ndarray, value: float) -> np.ndarray:
    """A copy with a value in all cells; NaN among others, so that windows have it in every place."""
    changed = X.copy()
    changed.flat[:: 7 if math.isnan(value) else 1] = value
    return changed


def _has(X: np.ndarray, value: float) -> bool:
    if not is_float(X.dtype):
        return False
    return bool((np.isnan(X) if math.isnan(value) else X == value).any())


def _described(outputs: Mapping[str, np.ndarray]) -> str:
    """The outputs of a model, as far as a few words can say what is in them."""
    parts_of = []
    for name, value in [*outputs.items()][:_MOST_OUTPUTS]:
        numbers = value.astype(np.float64) if value.dtype.kind in "fiubV" else np.array([])
        known = numbers[~np.isnan(numbers)]
        said = [f"NaN in {numbers.size - known.size} of {numbers.size} cells"] if known.size < numbers.size else []
        said += [f"{known.min():.4g} to {known.max():.4g}"] if known.size else []
        parts_of.append(f"{name} {value.dtype.name} {list(value.shape)}: {' and '.join(said)}")
    more = len(outputs) - _MOST_OUTPUTS
    return ", ".join([*parts_of, *([f"and {more} more"] if more > 0 else [])])
