"""How much of the cases a user's kernel was tested with: it may say that it has a part of MaxPool only."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from maxpool_check.corpus.case import Case
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.details import ExecutedPart
from maxpool_check.results.record import Execution, Record, Verdict

_PLAIN = {"ceil_mode": (0,), "auto_pad": ("NOTSET", "EXPLICIT"), "storage_order": (0,)}
"""Attributes, with the values that ask for nothing."""


def tested_parts(record: Record, cases: Iterable[Case]) -> tuple[ExecutedPart, ...]:
    """For each kernel of a run that did not execute all of the ``cases`` of the documents that it claims: the part that it did.

    Graphs are left out: no kernel executes these.
    """
    by_id = {case.id: case for case in cases if case.context.is_alone}
    claimed = {each.name: each.specs for each in record.header.targets if each.specs is not None}
    executions: Mapping[str, list[Execution]] = {name: [] for name in claimed}
    for each in record.executions:
        if each.case in by_id and each.spec in claimed.get(each.target, ()):
            executions[each.target].append(each)
    parts = (_part(name, own, by_id) for name, own in executions.items())
    return tuple(part for part in parts if part.cases < part.of)


def _part(target: str, executions: Sequence[Execution], cases: Mapping[str, Case]) -> ExecutedPart:
    done = {each.case for each in executions if each.verdict is not Verdict.NOT_EXPRESSIBLE}
    left = {each.case: " ".join(each.message.split()) for each in executions if each.case not in done}
    of_done, of_left = ([cases[case] for case in ids] for ids in (done, left))
    words = []
    for of, unit in ((_dtype, ""), (_axes, " spatial axes")):
        own, others = (
            {of(case) for case in cases if isinstance(case.resolved, Pooling)} for cases in (of_done, of_left)
        )
        if own and others - own:
            words.append(f"{' or '.join(map(str, sorted(own)))}{unit if own != {1} else ' spatial axis'}")
    lacks = _wants(of_left) - _wants(of_done)
    has_indices = any(each.variant.startswith("indices") and each.case in done for each in executions if each.digests)
    lacks |= set() if has_indices or not of_done else {"Indices"}
    words += [f"without {', '.join(sorted(lacks, key=str.lower))}"] if lacks and done else []
    return ExecutedPart(
        target=target,
        part=", ".join(words),
        cases=len(done),
        of=len(done) + len(left),
        left=dict(Counter(left.values()).most_common()),
    )


def _dtype(case: Case) -> str:
    return name_of(case.X.dtype)


def _axes(case: Case) -> int:
    return len(case.X.shape) - 2


def _wants(cases: Iterable[Case]) -> set[str]:
    """What valid cases ask for, beside dtypes and numbers of axes."""
    found = set()
    for case in cases:
        if not isinstance(case.resolved, Pooling):
            found.add("refusals")
        else:
            axes = case.resolved.geometry
            found |= {"strides"} if any(axis.stride > 1 for axis in axes) else set()
            found |= {"dilations"} if any(axis.dilation > 1 for axis in axes) else set()
            found |= {"pads"} if any(axis.begin or axis.end for axis in axes) else set()
            found |= {name for name, plain in _PLAIN.items() if case.attributes.get(name, plain[0]) not in plain}
    return found
