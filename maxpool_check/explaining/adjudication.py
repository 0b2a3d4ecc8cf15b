"""Whose fault a mismatch between an implementation and its oracle is: by the document, its errata and the known defects."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import CaseFeatures
from maxpool_check.corpus.importers.specloop import IMPLEMENTATION, ORACLE, cells_of
from maxpool_check.judging.defects import Defect
from maxpool_check.judging.explaining import is_of_variant
from maxpool_check.judging.graph_oracle import GraphOracle
from maxpool_check.judging.judge import judge
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reference.dtypes import bits
from maxpool_check.reference.policies import INTERPRETATIONS, Tie
from maxpool_check.reporting.blocks import Block, Inline, Paragraph, Table, code
from maxpool_check.results.outcomes import Returned
from maxpool_check.results.record import FAULTS, Verdict
from maxpool_check.results.variants import Y_ONLY
from maxpool_check.specifications.clauses import clauses, clauses_of

_RUNTIME, _QUIET = "onnxruntime", "SONNX-2026-NAN-QUIET"
"""The oracle of SONNX's loop, whose reports do not say of which release; and the clause on the bits of a NaN."""


def adjudicated(mismatches: Collection[Case], defects: Iterable[Defect]) -> Iterator[Block]:
    """A table of mismatches, as SONNX's loop reports them: the cells that differ, and the faults."""
    of_oracle = [defect for defect in defects if _RUNTIME in defect.runtimes]
    rows: list[Sequence[Inline]] = []
    for case in mismatches:
        cells = ", ".join(map(str, cells_of(case, ORACLE)))
        values = (_values(case, side) for side in (ORACLE, IMPLEMENTATION))
        sides = (", ".join(f"{value}{' (signalling)' * _is_signalling(value)}" for value in side) for side in values)
        rows.append([code(case.name), cells, *sides, "; ".join(faults_of(case, of_oracle))])
    yield Table(["case", "cells of Y", "oracle", "implementation", "fault"], rows)
    if unlisted := sum(int(case.provenance["unlisted"]) for case in mismatches):
        yield Paragraph(f"The report does not list {unlisted} of the cells that differ; they are not judged.")


def faults_of(case: Case, defects: Iterable[Defect]) -> list[str]:
    """Whose fault a mismatch is: the oracle's, by a defect, the implementation's, the document's, or open, by a clause."""
    oracle, implementation = (_judged(case, side) for side in (ORACLE, IMPLEMENTATION))
    faults = []
    if oracle.verdict in FAULTS:
        explaining = [defect.id for defect in defects if _explains(defect, case, oracle)]
        faults.append(f"oracle: {' or '.join(explaining) or f'no known defect, {oracle.message}'}")
    if implementation.verdict in FAULTS:
        faults.append(f"implementation: {implementation.message}")
    elif any(map(_is_signalling, _values(case, IMPLEMENTATION))):
        # A window has no other NaN that Y could be an element of: the document demands both.
        has_quiet = any(np.isnan(value) and not _is_signalling(value) for value in case.X.tensor().reshape(-1))
        faults.append(f"implementation: {_QUIET}" if has_quiet else f"document: erratum {clauses()[_QUIET].erratum}")
    if Verdict.UNDEFINED in (oracle.verdict, implementation.verdict):
        faults.append("document: it gives a window without a cell of X no value")
    return faults or [f"open: {_open_clause(case)}"]


def _values(case: Case, side: str) -> np.ndarray:
    """The values of the cells that one side gave."""
    return np.array([*cells_of(case, side).values()], f"u{case.X.dtype.itemsize}").view(case.X.dtype)


def _judged(case: Case, side: str) -> Judgement:
    """The judgement of the cells of one side, and in all others of what the reference has."""
    oracle = case.oracle()
    assert isinstance(oracle, GraphOracle)
    Y = oracle.expected["Y"].copy()
    # By their bits, so that a signalling NaN stays one.
    bits(Y).reshape(-1)[[*cells_of(case, side)]] = bits(_values(case, side))
    return judge(oracle, {Y_ONLY: Returned({"Y": Y})})[Y_ONLY]


def _explains(defect: Defect, case: Case, judgement: Judgement) -> bool:
    """Whether a defect is known to show these kinds, in whichever release."""
    features = CaseFeatures(case)
    return any(
        (effect.kinds or defect.kinds).issuperset(judgement.kinds)
        and is_of_variant(defect, effect, Y_ONLY)
        and features.fits(defect, effect)
        for effect in defect.ways
    )


def _is_signalling(value: np.generic) -> bool:
    """Whether a value is a NaN without the bit that makes it quiet."""
    is_nan = value.dtype.kind == "f" and bool(np.isnan(value))
    return is_nan and not bits(np.array(value)).item() >> (np.finfo(value.dtype).nmant - 1) & 1


def _open_clause(case: Case) -> str:
    """The clause that leaves open which of the two outputs is right: one of them is wrong under an interpretation of it."""
    for clause in clauses_of(case.spec):
        for choice in INTERPRETATIONS[clause.policy] if clause.policy else ():
            # The cell that is chosen decides the sign of a zero.
            policies: dict[str, Any] = {"tie": Tie.FIRST, str(clause.policy): choice}
            decided = replace(case, policies=replace(case.policies, **policies))
            if any(_judged(decided, side).verdict in FAULTS for side in (ORACLE, IMPLEMENTATION)):
                return clause.id
    return "both conform"
