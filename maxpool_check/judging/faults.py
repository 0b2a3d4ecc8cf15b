"""What every report of a run is made from: its faults, grouped by what is wrong rather than by case, and its numbers."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from maxpool_check.judging.defects import OUTPUTS, Severity, worst, wrong_cells
from maxpool_check.judging.kinds import DESCRIPTIONS, DivergenceKind, KindGroup, hypothesis, sentence
from maxpool_check.judging.naming import named_causes
from maxpool_check.judging.wrong_cells import PADDING, ZERO
from maxpool_check.results.details import Cell
from maxpool_check.results.record import REPORTED, Execution, KnownEntry, KnownStatus, Record, Status, Verdict

_NOTICES: Mapping[str, str] = {
    Status.NEW: "Known of the runtime, and expected by no file of this corpus.",
    Status.CHANGED: "Known of the runtime; this corpus expects other kinds of these cases.",
}
_DESCRIPTIONS = {kind.value: description for kind, description in DESCRIPTIONS.items()}
_ABOUT_ONE_OUTPUT = frozenset(kind.value for kind in DivergenceKind if kind.output is not None)
_DEPENDENT = _ABOUT_ONE_OUTPUT & {kind for kind, about in _DESCRIPTIONS.items() if about.group is KindGroup.DEPENDENCE}

_NUMBERING = frozenset(kind for kind, about in _DESCRIPTIONS.items() if about.group is KindGroup.ALL_INDICES)

_VAGUE = frozenset({DivergenceKind.REWRITTEN_WRONGLY.value, DivergenceKind.ACCEPTS_INVALID.value})
"""The kinds that say what follows from a mistake, and nothing of the mistake."""

_FREQUENT = frozenset({"shape", "crash", "refuses-valid"})
"""Kinds of defects that have nothing else in common."""

_LARGEST = 65504
"""Floats as large as the largest of float16 are extremes."""

_FEW = 4
"""An input of fewer cells is the smallest example, and not the most convincing one."""

_Groups = dict[frozenset[str], list[Execution]]
"""Executions by their kinds."""

_WITH_SAME = {
    DivergenceKind.SAME_UPPER_LOWER_EXCHANGED.value: DivergenceKind.PADS_BEGIN_END_EXCHANGED.value,
    DivergenceKind.AUTO_PAD_IGNORED.value: DivergenceKind.PADS_IGNORED.value,
}
"""What a mistake is in the padding of ``SAME_*``, and what it is in explicit pads: of a target that has both, it is one."""

_MOST_POSSIBLE = 3
"""A sentence names so many mistakes of which one is the cause, and so many symptoms."""

_CELLS = {
    output: frozenset(kind for kind, about in _DESCRIPTIONS.items() if about.group is group)
    | {DivergenceKind.SHAPE.value, DivergenceKind.TRUNCATED_DIVISION.value}
    for output, group in (("Y", KindGroup.Y_CELLS), ("Indices", KindGroup.INDEX_CELLS))
}
"""The kinds of the cells and of the shape of each output."""


@dataclass(frozen=True, eq=False)
class Fault:
    """Executions of one target that are wrong, or inconsistent, for the same cause, the example first.

    ``kinds`` are those of the whole group: an execution without Indices shows only the kinds of Y. ``defect`` is the known
    defect that expects them, or that names them, if there is one.
    """

    target: str
    kinds: tuple[str, ...]
    status: str
    executions: tuple[Execution, ...]
    defect: KnownEntry | None = None

    @property
    def example(self) -> Execution:
        """The execution to look at: the example of the defect, or the most convincing one, of these the smallest."""
        return self.executions[0]

    @property
    def example_kinds(self) -> tuple[str, ...]:
        """Those of its kinds that the example shows, in a cell, as a whole or as its cause."""
        example = self.example
        shown = {*example.kinds, *example.counts, *(cause.kind for cause in example.causes)}
        return tuple(kind for kind in self.kinds if kind in shown)

    @cached_property
    def is_refusal(self) -> bool:
        """Whether it is nothing but refusals of graphs that the document allows."""
        return all(execution.verdict is Verdict.REFUSES for execution in self.executions)

    @cached_property
    def cases(self) -> list[str]:
        """The cases, without repetition."""
        return list(dict.fromkeys(execution.case for execution in self.executions))

    @property
    def name(self) -> str:
        """The id of the defect, or the kinds of what no known defect expects."""
        limit = " (a limit)" if self.limit and self.defect is None else ""
        return (self.defect.id if self.defect is not None else ", ".join(self.kinds)) + limit

    @property
    def title(self) -> str:
        """What is wrong, in a sentence without its full stop: the title of the defect, or what the kinds mean."""
        if self.defect is not None and self.defect.title:
            return self.defect.title
        return " ".join(sentence(kind) for kind in self.kinds).rstrip(".")

    @cached_property
    def severity(self) -> Severity:
        """The worst of its executions."""
        return worst(self.executions)

    @property
    def is_expected(self) -> bool:
        """Whether a known defect expects it."""
        return self.status == Status.EXPECTED

    @property
    def is_unexpected(self) -> bool:
        """Whether it fails the run."""
        return self.status in (Status.NEW, Status.CHANGED)

    @property
    def label(self) -> str:
        """``known``, or what is not expected of it: ``new`` is what no known defect explains."""
        if self.status == Status.NEW and self.defect is not None:
            return "unexpected"
        names = {
            Status.EXPECTED: "known",
            Status.SPECIAL: "special values",
            Status.OUTSIDE: "outside the model",
            "": "not reviewed",
        }
        return names.get(self.status, self.status)

    @property
    def notices(self) -> list[str]:
        """What to know of the known defect: who expects it, until when, and who has reviewed it."""
        if self.defect is None:
            return []
        lines = [_NOTICES[self.status]] if self.status in _NOTICES else []
        lines += [f"Expected until {self.defect.expires}."] if self.defect.expires else []
        return lines + ([self.defect.review] if self.defect.review else [])

    @property
    def is_inconsistency(self) -> bool:
        """Whether the document allows all outputs, which differ from variant to variant."""
        return self.example.verdict is Verdict.INCONSISTENT

    @cached_property
    def limit(self) -> bool:
        """Whether all executions are refusals that the runtime declares as its limits."""
        return all(execution.limit for execution in self.executions)

    @property
    def explanation(self) -> str:
        """Sentences on the mistake that explains whole results, its symptoms, and known defects in other cells; maybe none."""
        named = Counter(tuple(cause.kind for cause in execution.causes if cause.cells) for execution in self.executions)
        kinds, count = max(named.items(), key=lambda item: (bool(item[0]), item[1]))
        sentences = []
        if 0 < len(kinds) <= _MOST_POSSIBLE:
            sentences.append(f"{count} of {len(self.executions)} results equal {' or '.join(map(hypothesis, kinds))}.")
        shown = Counter(
            ", ".join(each.kinds) for each in self.executions if {*self.kinds} != {*each.kinds} - _DEPENDENT
        )
        if shown and self.defect is None and len(self.kinds) == 1 and hypothesis(self.kinds[0]):
            listed = [f"{kinds} ({number})" for kinds, number in shown.most_common(_MOST_POSSIBLE)]
            more = f", and {len(shown) - len(listed)} more" if len(shown) > len(listed) else ""
            sentences.append(f"Symptoms of it, by the number of results: {'; '.join(listed)}{more}.")
        if beside := ", ".join(dict.fromkeys(name for each in self.executions for name in each.explained_by)):
            sentences.append(f"Other wrong cells of these results are known: {beside}.")
        return " ".join(sentences)


def faults(record: Record) -> list[Fault]:
    """What is wrong with the targets in the header: by target, unexpected faults first, the worst of each first.

    What a known defect expects, or names, is one fault; other executions are grouped by their kinds.
    """
    defects = {(entry.target, entry.id): entry for entry in (record.footer.known if record.footer else ())}
    wrong: dict[str, list[Execution]] = {target.name: [] for target in record.header.targets}
    for execution in record.executions:
        if execution.verdict in REPORTED and execution.target in wrong:
            wrong[execution.target].append(execution)
    result = []
    for target, executions in wrong.items():
        contradicted = record.footer.contradicted.get(target, {}) if record.footer else {}
        causes = named_causes(executions, contradicted)
        confirmed = {cause.kind for each in causes for cause in each} | _NUMBERING
        groups: dict[tuple[str, bool, bool], _Groups] = defaultdict(lambda: defaultdict(list))
        expected: dict[tuple[str, str], list[Execution]] = defaultdict(list)
        for execution, named in zip(executions, causes, strict=True):
            cells = tuple(sorted(execution.cells, key=_doubt))
            narrowed = _of_unexplained(msgspec.structs.replace(execution, causes=named, cells=cells))
            if execution.known is not None:
                expected[execution.known, execution.status].append(narrowed)
                continue
            group = groups[execution.status, execution.limit, execution.verdict is Verdict.INCONSISTENT]
            group[_main_kinds(narrowed, {cause.kind for cause in execution.causes} - confirmed)].append(narrowed)
        for (status, *_), by_kinds in groups.items():
            for kinds, alike in _by_cause(_merged(by_kinds)).items():
                result.append(Fault(target, tuple(sorted(kinds)), status, _in_order(alike, kinds)))
        for (name, status), alike in expected.items():
            # A record of a run that did not end does not describe its defects.
            nameless = KnownEntry(id=name, target=target, status=KnownStatus.EXPECTED, kinds=(), reason="")
            entry = defects.get((target, name), nameless)
            kinds = frozenset(kind for execution in alike for kind in execution.kinds)
            # What shows all kinds of a defect at once is the odd one among its executions.
            typical = Counter(frozenset(execution.kinds) for execution in alike).most_common(1)[0][0]
            ordered = _in_order(alike, typical, entry.example)
            result.append(Fault(target, tuple(sorted(kinds)), status, ordered, entry))
    places = {target: number for number, target in enumerate(wrong)}

    def order(fault: Fault) -> tuple[object, ...]:
        rank = (places[fault.target], fault.is_expected, not fault.is_unexpected, fault.severity.rank)
        return *rank, -len(fault.cases), fault.kinds

    return sorted(result, key=order)


def faults_of(record: Record, target: str) -> dict[tuple[str, str], Fault]:
    """The fault of each execution of a target that is wrong, or inconsistent, by its case and variant."""
    own = (fault for fault in faults(record) if fault.target == target)
    return {(each.case, each.variant): fault for fault in own for each in fault.executions}


def by_name(faults: Iterable[Fault]) -> list[list[Fault]]:
    """Faults of the same name, on several targets, together."""
    grouped: dict[str, list[Fault]] = {}
    for fault in faults:
        grouped.setdefault(fault.name, []).append(fault)
    return list(grouped.values())


def cases_of(faults: Iterable[Fault]) -> list[str]:
    """The cases of faults, without repetition."""
    return list(dict.fromkeys(case for fault in faults for case in fault.cases))


def alike(fault: Fault, known: Iterable[KnownEntry]) -> list[str]:
    """The known defects of its target that show themselves in the same kinds as a fault that nothing names, if they are few."""
    kinds = {*fault.kinds} - _DEPENDENT - _VAGUE - _FREQUENT
    ids = [each.id for each in known if each.target == fault.target and {*each.kinds} - _DEPENDENT - _VAGUE == kinds]
    return ids if kinds and fault.defect is None and len(ids) <= _MOST_POSSIBLE else []


def _of_unexplained(execution: Execution) -> Execution:
    """The execution with those of its kinds and wrong cells alone that no known defect explains, if some are explained."""
    kinds = execution.unexplained
    if not kinds:
        return execution
    counts = {kind: count for kind, count in execution.counts.items() if kind in kinds}
    cells = tuple(cell for cell in execution.cells if cell.kind in kinds)
    return msgspec.structs.replace(execution, kinds=kinds, counts=counts, cells=cells)


def _doubt(cell: Cell) -> int:
    """How hard it is to see that a cell is wrong: 0 for an ordinary value or index among ordinary values, 3 for a sign of zero."""
    try:
        expected, got = float(cell.expected), float(cell.got)
        window = [float(value) for value in cell.values or ()]
    except ValueError:
        return 2
    if expected == got:
        return 3
    # Written so that NaN is no ordinary value.
    is_ordinary = all(abs(value) < _LARGEST for value in (expected, got, *window))
    return 0 if is_ordinary and len(window) > 1 else 1 if is_ordinary else 2


def _in_order(
    executions: Sequence[Execution], kinds: frozenset[str], example: str | None = None
) -> tuple[Execution, ...]:
    """The example of a defect first, then the most convincing: ordinary values, most of the kinds, by hand, then by size."""

    def order(execution: Execution) -> tuple[object, ...]:
        missing = kinds - {*execution.kinds, *execution.counts, *(cause.kind for cause in execution.causes)}
        doubt = _doubt(execution.cells[0]) if execution.cells else 0
        is_tiny = execution.input is not None and math.prod(execution.input.pooled.shape) < _FEW
        is_generated = execution.case.startswith("generated/")
        more = len({*execution.kinds} - kinds)
        hand = is_tiny, bool(execution.translation), is_generated
        return execution.case != example, doubt, len(missing), more, *hand, by_size(execution)

    return tuple(sorted(executions, key=order))


def _main_kinds(execution: Execution, coincidences: Collection[str]) -> frozenset[str]:
    """The kinds of a fault: the named cause of an output, or those of its cells if none is named, or several are.

    ``coincidences`` are mistakes that explain the execution by itself, and are named for none of the target.
    """
    kinds = {*execution.kinds, *execution.counts} - {*coincidences} | execution.counts.keys()
    for output in ("Y", "Indices"):
        named = {cause.kind for cause in execution.causes if cause.output in (None, output)}
        if len(named) == 1:
            kinds = (kinds - _CELLS[output]) | named
            if DivergenceKind.Y_PAD_VALUE_LEAK in named:
                # The padding has no index.
                kinds = {*named}
    if not kinds:
        kinds = {DivergenceKind.SHAPE.value}
    # That a wrong Y depends on something is no defect of its own, nor what follows from one.
    return frozenset((kinds - _DEPENDENT - _VAGUE) or (kinds - _DEPENDENT) or kinds)


def _merged(groups: _Groups) -> _Groups:
    """Puts each group whose kinds are a part of another group's into that group.

    If there are several, the defect is most likely the one that shows in the same cases, then the most frequent one.
    """
    candidates = [kinds for kinds in groups if _ABOUT_ONE_OUTPUT.issuperset(kinds)]
    parts = {kinds for kinds, executions in groups.items() if not _is_mistake(kinds, executions)}
    wholes = {kinds: [other for other in candidates if kinds < other and kinds in parts] for kinds in groups}
    merged: _Groups = {kinds: [] for kinds in groups if not wholes[kinds]}
    cases = {
        whole: Counter(execution.case for kinds in groups if kinds <= whole for execution in groups[kinds])
        for whole in merged
    }
    for kinds, executions in groups.items():
        own = {execution.case for execution in executions}

        def likely(whole: frozenset[str], own: set[str] = own) -> tuple[object, ...]:
            return sum(cases[whole][case] for case in own), len(groups[whole]), sorted(whole)

        merged[max([whole for whole in wholes[kinds] if whole in merged] or [kinds], key=likely)] += executions
    return merged


def _by_cause(groups: _Groups) -> _Groups:
    """Puts executions that show one mistake, or all of whose wrong cells it explains, the most frequent first, into its group."""
    result: _Groups = defaultdict(list)
    for kinds, executions in groups.items():
        named = frozenset(kind for kind in kinds if hypothesis(kind) and kind not in _CELLS["Y"])
        explicit = frozenset(_WITH_SAME.get(kind, "") for kind in named)
        result[explicit if explicit in groups else named if len(named) == 1 else kinds] += executions
    mistakes = [kinds for kinds, executions in result.items() if _is_mistake(kinds, executions)]
    mistakes.sort(key=lambda kinds: -len(result[kinds]))
    for kinds in [each for each in result if each not in mistakes]:
        for execution in result.pop(kinds):
            result[next((each for each in mistakes if _explains_all(each, execution)), kinds)].append(execution)
    return result


def _is_mistake(kinds: frozenset[str], executions: Sequence[Execution]) -> bool:
    """Whether the kind of a group is a mistake in the whole output; a value in the padding is also a kind of single cells."""
    if len(kinds) != 1 or not hypothesis(*kinds):
        return False
    named = {cause.kind for execution in executions for cause in execution.causes}
    return kinds.isdisjoint(_CELLS["Y"]) or not kinds.isdisjoint(named)


def _explains_all(mistake: frozenset[str], execution: Execution) -> bool:
    """Whether every wrong cell of an execution is what a mistake in the whole result gives."""
    outputs = {cause.output for cause in execution.causes if cause.kind in mistake and cause.cells}
    cells = wrong_cells(execution)
    return bool(cells) and all(
        None in outputs or OUTPUTS.get(kind, "") in outputs or _follows(mistake, kind, held) for kind, held in cells
    )


def _follows(mistake: frozenset[str], kind: str, held: str) -> bool:
    """Whether a wrong cell of a kind, whose window holds this, follows from a mistake that does not explain it by itself."""
    match DivergenceKind(next(iter(mistake))):
        case DivergenceKind.SCAN_STARTS_AT_ZERO:
            return ZERO in held.split()
        case DivergenceKind.SCAN_STARTS_TOO_HIGH:
            return kind == DivergenceKind.INDICES_SENTINEL
        case DivergenceKind.Y_PAD_VALUE_LEAK:
            return PADDING in held.split()
    return False


def by_size(execution: Execution) -> tuple[bool, int, str]:
    """Sorts executions: first those with wrong cells to show, then small inputs."""
    return not execution.cells, math.prod(execution.input.shape) if execution.input else 0, execution.case
