"""How bad the result of an execution is."""

from collections.abc import Iterable

from maxpool_check.judging.defects import Severity, severity_of
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.results.record import KnownEntry

_KINDS = {kind.value: kind for kind in DivergenceKind}


def severity(kinds: Iterable[str], defect: KnownEntry | None, *, is_limit: bool) -> Severity:
    """The severity of a known defect, if it has one, or the one that the kinds tell; of kinds of other versions the worst."""
    if defect is not None and defect.severity:
        return Severity(defect.severity)
    known = [_KINDS[kind] for kind in kinds if kind in _KINDS]
    return severity_of(known, is_limit=is_limit) if known else Severity.WRONG_ON_FINITE
