"""The evidence of recorded divergences, recomputed by loops and the definition alone: what `explain --json` says of each.

Windows, values, expected and actual cells, shapes, formulas, numbers of wrong cells, and every "in n of n cells" of a mistake.
"""

import itertools
import math
import random
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial

import ml_dtypes
import msgspec
import numpy as np
import pytest

from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup
from maxpool_check.judging.windows import wrong_geometries
from maxpool_check.reference import definition
from maxpool_check.reference.dtypes import is_float, same
from maxpool_check.reference.numbering import Layout, StorageOrder
from maxpool_check.reference.policies import Nan, Tie, ZeroSign
from maxpool_check.reference.pooling import Pooling
from tests.conftest import shipped
from tests.report_matrix import RECORDS, record_at

MOST_CELLS = 3000
FORMULA = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}


def recorded():
    """The divergences of all records whose outputs are there, by target, each with its case and its outputs."""
    cases = {case.id: case for case in shipped().cases}
    by_target = defaultdict(list)
    for path in RECORDS:
        record = record_at(path)
        for execution in record.executions:
            case = cases.get(execution.case)
            if (
                execution.verdict == "diverges"
                and execution.digests
                and case is not None
                and case.sha256 == execution.case_sha256
                and isinstance(case.resolved, Pooling)
                and not case.context.after
                and case.X.size <= MOST_CELLS
                and all(digest in record.outputs for digest in execution.digests.values())
            ):
                outputs = {name: record.outputs[digest].tensor() for name, digest in execution.digests.items()}
                by_target[execution.target].append((execution, case, outputs))
    return by_target


def in_core(at, layout):
    """Coordinates as N x C x D1 x ... x Dn."""
    if layout is Layout.CHANNELS_FIRST:
        return tuple(at)
    return (at[0], at[-1], *at[1:-1]) if layout is Layout.CHANNELS_LAST else (0, at[-1], *at[:-1])


def equal(a, b):
    """Whether two values have the same bits, or are both NaN."""
    return (a != a and b != b) or (a == b and math.copysign(1, float(a)) == math.copysign(1, float(b)))


class Recomputed:
    """One MaxPool by its definition, for one reading of the document; the problems that it has with an execution."""

    def __init__(self, X, pooling):
        self.pooling, self.layout = replace(pooling, indices=True), pooling.layout
        self.X = self.layout.to_core(X)
        readings = [Nan.IGNORED, Nan.AS_NEG_INF, Nan.PROPAGATES, Nan.PROPAGATES_LAST]
        is_open = pooling.policies.nan is Nan.UNSPECIFIED and bool((self.X != self.X).any())
        self.readings = [self.by(nan) for nan in (readings if is_open else [pooling.policies.nan])]
        self.has_nan = bool((self.X != self.X).any())

    def by(self, nan, X=None, geometry=None):
        policies = replace(self.pooling.policies, nan=nan)
        pooling = replace(self.pooling, policies=policies, geometry=geometry or self.pooling.geometry, alternatives=())
        return definition.evaluate(self.X if X is None else X, pooling)

    def allows(self, value, at, readings):
        """Whether a reading, or an open sign of zero, allows a Y."""
        policies = self.pooling.policies
        for each in readings:
            if each.undefined[at] or equal(value, each.Y[at]):
                return True
            is_zero = value == 0 == each.Y[at]
            if is_zero and (policies.zero_sign is ZeroSign.EITHER or policies.tie is Tie.ANY):
                window = [self.X[cell] for cell in definition.cells(at, self.pooling.geometry)]
                if any(equal(value, held) for held in window):
                    return True
            if is_zero and self.pooling.activation is not None:
                return True
        return False

    def problems(self, execution, outputs):
        yield from self.wrong_shapes(execution, outputs)
        size = self.readings[0].Y.shape
        if not all(i < n for cell in execution.cells for i, n in zip(in_core(cell.at, self.layout), size, strict=True)):
            yield "a cell lies outside of the outputs"
            return
        for cell in execution.cells:
            yield from (f"{cell}: {problem}" for problem in self.wrong_cell(cell, outputs))
        is_whole = {"shape", "dtype", "missing-output"} & {*execution.kinds}
        if not (execution.shapes or is_whole):
            yield from self.wrong_counts(execution, outputs)

    def wrong_shapes(self, execution, outputs):
        sizes = [axis.output for axis in self.pooling.geometry]
        expected = self.layout.arranged((*self.X.shape[:2], *sizes))
        for name, shape in execution.shapes.items():
            if (shape.expected, shape.got) != (expected, outputs[name].shape):
                yield f"{name} has {shape}, and not {expected} and {outputs[name].shape}"
            for axis in shape.axes:
                number = {"N": 0, "C": 1}.get(axis.axis) if axis.axis in "NC" else int(axis.axis[1:]) + 1
                both = [in_core(each, self.layout)[number] for each in (expected, outputs[name].shape)]
                if [axis.expected, axis.got] != both:
                    yield f"{name}, {axis} has {both}"
                for text, value in ((axis.formula, axis.expected), (axis.instead, axis.got)):
                    text = re.sub(" less the window.*", " - 1", text)
                    if "(" in text and eval(text, {"__builtins__": {}}, FORMULA) != value:
                        yield f"{text} is not {value}"

    def wrong_cell(self, cell, outputs):
        """What is wrong with what is said of a cell: its window, the values there, both values, and the cells they come from."""
        yield from self.wrong_window(cell)
        if DESCRIPTIONS[DivergenceKind(cell.kind)].group is not KindGroup.DEPENDENCE:
            yield from self.wrong_values(cell, outputs)

    def wrong_window(self, cell):
        at, geometry, X = in_core(cell.at, self.layout), self.pooling.geometry, self.X
        window, outside = [], []
        for axis, i in zip(geometry, at[2:], strict=True):
            taps = [i * axis.stride - axis.begin + t * axis.dilation for t in range(axis.kernel)]
            window.append(tuple(tap for tap in taps if 0 <= tap < axis.size))
            outside.append((sum(tap < 0 for tap in taps), sum(tap >= axis.size for tap in taps)))
        if tuple(window) != cell.window or (cell.outside and tuple(outside) != cell.outside):
            yield f"the window is {window}, with {outside} taps outside"
        held = [str(X[(*at[:2], *position)]) for position in itertools.product(*window)]
        if cell.values is not None and list(cell.values) != held:
            yield f"the window holds {held}"

    def wrong_values(self, cell, outputs):
        at, geometry, X = in_core(cell.at, self.layout), self.pooling.geometry, self.X
        expected = [each.Y if cell.output == "Y" else each.Indices for each in self.readings]
        if cell.expected not in {str(each[at]) for each in expected} and definition.cells(at, geometry):
            yield f"expected is {[str(each[at]) for each in expected]}"
        got = outputs[cell.output][tuple(cell.at)]
        if str(got) != cell.got:
            yield f"the output has {got}"
        if cell.got_cell is not None:
            named = in_core(cell.got_cell, self.layout)
            if definition.index(named, X.shape, self.pooling.numbering) != int(got):
                yield f"{got} is not the number of {named}"
        if cell.chosen is not None:
            chosen = in_core(cell.chosen, self.layout)
            if chosen not in definition.cells(at, geometry):
                yield f"{chosen} is not in the window"
            numbers = {int(each.Indices[at]) for each in self.readings}
            if definition.index(chosen, X.shape, self.pooling.numbering) not in numbers:
                yield f"{chosen} is not the cell of the maximum"

    def wrong_counts(self, execution, outputs):
        """Where the numbers of wrong cells are not those that no reading allows; indices beside NaN are not counted."""
        counted = Counter()
        for kind, count in execution.counts.items():
            if DESCRIPTIONS[DivergenceKind(kind)].group is not KindGroup.DEPENDENCE:
                counted[DivergenceKind(kind).output] += count
        core = {name: self.layout.to_core(tensor) for name, tensor in outputs.items()}
        right = self.readings[0]
        wrong = Counter()
        if any(tensor.shape != right.Y.shape for tensor in core.values()):
            yield "an output has another shape"
            return
        for at in np.ndindex(right.Y.shape):
            if "Y" in core:
                wrong["Y"] += not self.allows(core["Y"][at], at, self.readings)
            if "Indices" in core and not self.has_nan and not right.empty[at]:
                cells = definition.cells(at, self.pooling.geometry)
                best = [cell for cell in cells if self.X[cell] == right.maxima[at]]
                allowed = best if self.pooling.policies.tie is Tie.ANY else best[:1]
                numbers = {definition.index(cell, self.X.shape, self.pooling.numbering) for cell in allowed}
                wrong["Indices"] += int(core["Indices"][at]) not in numbers
        for name in ("Y", *(["Indices"] if not self.has_nan else [])):
            if name in core and wrong[name] != counted[name]:
                yield f"{counted[name]} wrong cells of {name} are counted, and there are {wrong[name]}"

    def fits(self, cause, outputs, of_y=()):  # noqa: C901
        """Whether a mistake gives the outputs that it is said to give; None if it is not recomputed here."""
        core = {name: self.layout.to_core(tensor) for name, tensor in outputs.items() if name in ("Y", "Indices")}
        Y, numbers = core["Y"], core.get("Indices")
        kind, shape = cause.kind, Y.shape
        geometries = [geometry for other, geometry in wrong_geometries(self.pooling).wrong if other == kind]
        if kind in ("border-left-out", "read-in-other-layout"):
            geometries = []
        if kind == "dilation-phase-lost":
            # Its taps are not those of an axis.
            return None
        nans = (
            [self.pooling.policies.nan]
            if len(self.readings) == 1
            else [Nan.IGNORED, Nan.AS_NEG_INF, Nan.PROPAGATES, Nan.PROPAGATES_LAST]
        )
        if geometries:
            for geometry in geometries:
                if (*shape[:2], *(axis.output for axis in geometry)) == shape and self.is_by(
                    Y,
                    None if cause.output == "Y" else numbers,
                    [self.by(nan, geometry=geometry) for nan in nans],
                    geometry,
                ):
                    return True
            return cause.cells == 0
        if kind.startswith("indices-"):
            # Beside a mistake in the windows of Y, the cells are those of its windows.
            named = [geometry for other, geometry in wrong_geometries(self.pooling).wrong if other in of_y]
            readings = {geometry: [self.by(nan, geometry=geometry) for nan in nans] for geometry in named}
            readings[self.pooling.geometry] = self.readings
            return any(
                self.is_numbered(numbers, number, geometry, of_geometry)
                for geometry, of_geometry in readings.items()
                for number in self.numberings(kind, geometry)
            )
        if kind == "scan-starts-at-zero":
            return bool((Y == np.maximum(self.readings[0].Y, 0)).all())
        if kind == "y-pad-value-leak":
            return any(self.is_padded_by(Y, value) for value in {0, *Y.reshape(-1).tolist()})
        if kind == "first-batch-repeated":
            return bool((Y == Y[:1]).all()) and self.is_by(Y[:1], None, [self.by(nan, self.X[:1]) for nan in nans])
        if kind == "scan-starts-too-high":
            return cause.cells == 0 or any((Y == np.fmax(each.Y, Y.min())).all() for each in self.readings)
        if kind == "tail-not-written":
            return any(is_tail(Y, each.Y, axis) for each in self.readings for axis in (0, 1, 2, -1))
        if kind == "border-left-out":
            # What remains of a window may be no cell.
            made = [self.by(nan, X).Y for X in without_borders(self.X) for nan in nans]
            return cause.cells == 0 or any((same(Y, each) | (each == nothing(each.dtype))).all() for each in made)
        if kind == "read-in-other-layout":
            other = [self.X, *in_other_layouts(self.X)]
            outputs = [Y, *in_other_layouts(Y)]
            return any(self.is_by(out, None, [self.by(nan, X) for nan in nans]) for X in other for out in outputs)
        changed = list(changes_of(self.X, kind))
        return any(self.is_by(Y, None, [self.by(nan, X) for nan in nans]) for X in changed) if changed else None

    def numberings(self, kind, geometry):
        """How a cell of X is numbered by a mistake of a kind: functions of its coordinates."""
        sizes, numbering = self.X.shape, self.pooling.numbering
        if kind == "indices-plane-relative":
            yield lambda cell: definition.index((0, 0, *cell[2:]), sizes, numbering)
        if kind == "indices-modulo-axis":
            for axis in range(len(sizes)):
                yield lambda cell, axis=axis: definition.index((*[0] * axis, *cell[axis:]), sizes, numbering)
        if kind == "indices-in-padded-tensor":
            # From one plane to the next, it may count the cells of the padded plane, those of the plane, or begin anew.
            pads = [max(0, axis.begin) for axis in geometry]
            padded = [axis.size + pad + max(0, axis.end) for axis, pad in zip(geometry, pads, strict=True)]
            for shift, plane in itertools.product(
                (pads, [0] * len(pads)), (math.prod(padded), math.prod(sizes[2:]), 0)
            ):
                yield partial(number_in, shift, padded, plane, sizes[1], numbering)
        if kind == "indices-storage-order":
            other = next(each for each in StorageOrder if each is not numbering.storage_order)
            yield lambda cell: definition.index(cell, sizes, replace(numbering, storage_order=other))

    def is_numbered(self, numbers, number, geometry, readings):
        """Whether every index is the number of a cell that holds the maximum of its window."""
        if numbers.shape != readings[0].Y.shape:
            return False
        for at in np.ndindex(numbers.shape):
            cells = definition.cells(at, geometry)
            best = [cell for cell in cells if any(equal(self.X[cell], each.maxima[at]) for each in readings)]
            if best and int(numbers[at]) not in {number(cell) for cell in best}:
                return False
        return True

    def is_padded_by(self, Y, value):
        """Whether every Y is the maximum of its window and of the value of the taps in the padding."""
        for at in np.ndindex(Y.shape):
            cells = definition.cells(at, self.pooling.geometry)
            values = [float(self.X[cell]) for cell in cells if self.X[cell] == self.X[cell]]
            if len(cells) < math.prod(axis.kernel for axis in self.pooling.geometry):
                values.append(float(value))
            if values and float(Y[at]) != max(values):
                return False
        return True

    def is_by(self, Y, numbers, readings, geometry=None):
        """Whether every cell of Y, and of Indices, is right by one of some readings."""
        X, policies = self.X, self.pooling.policies
        for at in np.ndindex(Y.shape):
            fitting = [
                each for each in readings if each.undefined[at] or equal(Y[at], each.Y[at]) or Y[at] == 0 == each.Y[at]
            ]
            if not fitting:
                return False
            if numbers is None or fitting[0].empty[at]:
                continue
            cells = definition.cells(at, geometry or self.pooling.geometry)
            best = [cell for cell in cells for each in fitting if X[cell] == each.maxima[at] or X[cell] != X[cell]]
            allowed = {int(each.Indices[at]) for each in fitting}
            if policies.tie is Tie.ANY or self.has_nan:
                allowed |= {definition.index(cell, X.shape, self.pooling.numbering) for cell in best}
            if int(numbers[at]) not in allowed:
                return False
        return True


def number_in(shift, sizes, plane, channels, numbering, cell):
    """The number of a cell, shifted, in a plane of some sizes, behind the planes before it."""
    inside = tuple(i + by for i, by in zip(cell[2:], shift, strict=True))
    # A position behind the end of a row is that of the next row.
    order = range(len(sizes))[::-1] if numbering.storage_order is StorageOrder.COLUMN_MAJOR else range(len(sizes))
    offset = 0
    for axis in order:
        offset = offset * sizes[axis] + inside[axis]
    return (cell[0] * channels + cell[1]) * plane + offset


def changes_of(X, kind):
    """X after a change of its values; nothing for a kind that is none."""
    if kind.startswith("y-rounded-to-"):
        narrow = getattr(ml_dtypes, kind.rpartition("-")[2], None) or kind.rpartition("-")[2]
        limit = float(ml_dtypes.finfo(narrow).max)
        with np.errstate(over="ignore"):
            yield X.astype(narrow).astype(X.dtype)
        yield np.clip(X, -limit, limit).astype(narrow).astype(X.dtype)
    if kind == "y-flushed-subnormal":
        small = np.abs(X) < ml_dtypes.finfo(X.dtype).smallest_normal
        yield np.where(small, np.copysign(np.zeros_like(X), X), X)
        yield np.where(small, np.zeros_like(X), X)
    if kind == "y-saturated-infinity":
        limit = ml_dtypes.finfo(X.dtype).max
        yield np.where(np.isinf(X), np.clip(X, -limit, limit), X)


def is_tail(Y, right, axis):
    """Whether the last cells from an axis on, and no others, hold one value in place of what is right."""
    size = math.prod(Y.shape[axis:])
    rows, wrong = Y.reshape(-1, size), ~same(Y, right).reshape(-1, size)
    tail = rows[:, wrong.any(0).argmax() :]
    return bool(same(tail, np.full_like(tail, tail[0, 0])).all())


def nothing(dtype):
    """The lowest value of a type."""
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min


def without_borders(X):
    """X whose first or last cells of some axes count for nothing."""
    axes = range(2, X.ndim)
    for chosen, end in itertools.product([*((axis,) for axis in axes), tuple(axes)], (0, -1)):
        changed = X.copy()
        for axis in chosen:
            changed[(*[slice(None)] * axis, end)] = nothing(X.dtype)
        yield changed


def in_other_layouts(X):
    """The cells in memory of channels first as channels last, and the reverse."""
    yield np.moveaxis(X.reshape(X.shape[0], *X.shape[2:], X.shape[1]), -1, 1)
    yield np.moveaxis(X, 1, -1).reshape(X.shape)


@pytest.fixture(scope="module")
def by_target():
    return recorded()


def problems_of(execution, case, outputs):
    """The problems of an execution by the reading of the document with the fewest, and which mistakes fit."""
    poolings = (case.resolved, *case.resolved.alternatives)
    readings = [Recomputed(case.entering, replace(pooling, alternatives=())) for pooling in poolings]
    found = [list(each.problems(execution, outputs)) for each in readings]
    best = min(range(len(found)), key=lambda number: len(found[number]))
    problems, fitting = found[best], Counter()
    for cause in execution.causes:
        size = outputs.get(cause.output or "Y", next(iter(outputs.values()))).size
        if cause.cells not in (0, size):
            problems.append(f"{cause.cells} of {size} cells")
        kinds = [each.kind for each in execution.causes]
        fits = readings[best].fits(cause, outputs, kinds) if "Y" in outputs else None
        fitting[fits] += 1
        if fits is False:
            problems.append(f"{cause} does not give the outputs")
    return problems, fitting


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_said_of_recorded_divergences_holds_by_the_definition(by_target, seed):
    rng, wrong, fitted = random.Random(seed), [], Counter()
    # One target after the other, so that none of few executions is left out.
    for target in itertools.islice(itertools.cycle(sorted(by_target)), 200):
        execution, case, outputs = rng.choice(by_target[target])
        problems, fitting = problems_of(execution, case, outputs)
        fitted += fitting
        if problems:
            wrong.append((target, execution.case, execution.variant, problems[:3]))
    assert wrong == []
    assert fitted[True] > 0.7 * fitted.total() > 20


def test_a_number_that_is_changed_is_noticed(by_target):
    """Each field of the evidence, changed by itself in 40 executions: so the test above can fail."""
    change, rng, tried = msgspec.structs.replace, random.Random(4), Counter()
    kinds = {"windows-shifted": "stride-ignored", "dilation-ignored": "pads-ignored"}
    for target in itertools.islice(itertools.cycle(sorted(by_target)), 120):
        execution, case, outputs = rng.choice(by_target[target])
        first = execution.cells[0] if execution.cells else None
        ways = {}
        if first is not None:
            window = tuple(tuple(i + 1 for i in taps) for taps in first.window)
            cells = {
                "window": {"window": window},
                "got": {"got": f"{first.got}1"},
                "values": {"values": (*(first.values or ()), "7")},
                "at": {"at": (*first.at[:-1], first.at[-1] + 1)},
            }
            if all(first.window) and DESCRIPTIONS[DivergenceKind(first.kind)].group is not KindGroup.DEPENDENCE:
                cells["expected"] = {"expected": f"{first.expected}1"}
            ways = {name: change(execution, cells=(change(first, **fields),)) for name, fields in cells.items()}
        elif execution.shapes:
            name, shape = next(iter(execution.shapes.items()))
            ways["shape"] = change(execution, shapes={name: change(shape, got=(*shape.got[:-1], shape.got[-1] + 1))})
        if execution.causes and execution.causes[0].cells:
            cause = execution.causes[0]
            ways["cause"] = change(execution, causes=(change(cause, cells=cause.cells + 1),))
            other = kinds.get(cause.kind, "windows-shifted")
            if other not in {each.kind for each in execution.causes} and cause.output != "Indices":
                ways["kind"] = change(execution, causes=(change(cause, kind=other),))
        for name, changed in ways.items():
            tried[name] += bool(problems_of(changed, case, outputs)[0])
            tried[f"all {name}"] += 1
    missed = {name: tried[f"all {name}"] - tried[name] for name in tried if not name.startswith("all ")}
    # Windows may be shifted without an effect where all values are the same.
    assert {name: count for name, count in missed.items() if count and name != "kind"} == {}
    assert missed["kind"] < tried["kind"]
