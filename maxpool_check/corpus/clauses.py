"""Which clauses a case is about: those that its file names, which must exist, or those that follow from its bins."""

from collections.abc import Sequence

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.features import Bins, bins
from maxpool_check.corpus.problems import BadValue, describe, first_of
from maxpool_check.specifications.clauses import clauses, clauses_of
from maxpool_check.specifications.specification import nearest

BY_BINS = "by-bins"
"""What a case file writes as ``covers`` for the clauses that follow from the bins of each case."""


OUTPUTS = {("Y",): "y-alone", ("Y", "Indices"): "y-and-indices", ("Indices",): "indices-alone"}
"""What clauses call the outputs of a case, under the factor ``outputs``. Only a graph of several nodes has Indices alone."""


def clauses_by_rule(case: Case) -> tuple[str, ...]:
    """The clauses of its document that a case is about by its bins; none if the document excludes the case."""
    found = bins(case)
    return matching(case.spec, {**found, "outputs": OUTPUTS[case.outputs]}) if found else ()


def matching(document: str, found: Bins) -> tuple[str, ...]:
    """The clauses of a document with a mapping of factors to bins of which each factor has one in ``found``."""
    return tuple(
        clause.id
        for clause in clauses_of(document)
        if any(all(found.get(factor) in names for factor, names in wanted.items()) for wanted in clause.bins)
    )  # fmt: skip


def names_in(covers: Sequence[str]) -> tuple[str, ...]:
    """The clauses that the ``covers`` of a case file name; none for those that follow from bins."""
    return () if covers == BY_BINS else tuple(covers)


def with_clauses(case: Case) -> Case:
    """The case, about what follows from its bins if it names no clause."""
    return case if case.covers else case.described(covers=clauses_by_rule(case))


def check_covers(covers: Sequence[str], document: str) -> None:
    """Raise :class:`BadValue` for ``covers`` that a case of a document cannot have."""
    if isinstance(covers, str):
        if covers != BY_BINS:
            raise BadValue(f"expected a list of clauses or the word {BY_BINS}, found {describe(covers)}")
        return
    pairs = ((at, _mistake(name, document)) for at, name in enumerate(covers))
    mistakes = [BadValue(message, at) for at, message in pairs if message is not None]
    if mistakes:
        raise first_of(mistakes)


def _mistake(name: str, document: str) -> str | None:
    """Why a case of a document cannot cover a clause of this name; None if it can."""
    clause = clauses().get(name)
    if clause is not None and document in clause.documents:
        return None
    own = [each.id for each in clauses_of(document)]
    if clause is None:
        return f"unknown clause '{name}'{nearest(name, own) or nearest(name, clauses())}; 'maxpool-check evidence trace --spec {document}' lists those of {document}"
    return f"the clause '{name}' does not hold in {document}, only in {', '.join(clause.documents)}{nearest(name, own)}"
