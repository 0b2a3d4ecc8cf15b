"""How bad the result of an execution is."""

from collections.abc import Iterable, Sequence

from maxpool_check.judging.defects import Severity, severity_of
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import FLOATS, NUMPY, lowest
from maxpool_check.results.details import Cell
from maxpool_check.results.record import Execution, KnownEntry

_KINDS = {kind.value: kind for kind in DivergenceKind}

_BY_WINDOW = frozenset({DivergenceKind.Y_NAN_INTRODUCED, DivergenceKind.INDICES_SENTINEL})
"""Kinds that special values show, and ordinary ones as well: their windows tell."""

_NOT_FINITE = frozenset({"nan", "-nan", "inf", "-inf"})


def severity(kinds: Iterable[str], executions: Sequence[Execution], defect: KnownEntry | None) -> Severity:
    """How bad executions are: as a known defect, if they have one, or as the kinds tell; of kinds of other versions the worst.

    What is wrong in an ordinary window, of those that the record shows, is wrong on finite values, whatever the defect says.
    """
    known = [_KINDS[kind] for kind in kinds if kind in _KINDS]
    if defect is not None and defect.severity:
        result = Severity(defect.severity)
    elif known:
        result = severity_of(known, is_limit=all(execution.limit for execution in executions))
    else:
        result = Severity.WRONG_ON_FINITE
    if result is Severity.WRONG_ON_SPECIAL and any(map(_is_wrong_on_ordinary_values, executions)):
        return Severity.WRONG_ON_FINITE
    return result


def _is_wrong_on_ordinary_values(execution: Execution) -> bool:
    by_window = _BY_WINDOW.intersection(execution.kinds)
    cells = [cell for cell in execution.cells if cell.kind in by_window]
    dtype = execution.input.pooled.dtype if execution.input is not None else ""
    return bool(by_window) and not (cells and all(_is_special(cell, dtype) for cell in cells))


def _is_special(cell: Cell, dtype: str) -> bool:
    """Whether a window holds NaN, an infinity, or nothing but the lowest value of a float type; that of an integer is ordinary."""
    if cell.values is None or dtype not in FLOATS:
        return False
    values = set(cell.values)
    return bool(values & _NOT_FINITE) or values == {str(lowest(NUMPY[dtype]))}
