"""An attribute of MaxPool, explained: what each document says of it, where documents differ, and the known defects about it."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.features import comparisons_of
from maxpool_check.explaining import terms
from maxpool_check.judging.defects import Defect
from maxpool_check.reporting.blocks import Block, Facts, Heading, Inline, Paragraph, Section, Table, code
from maxpool_check.specifications import SPECIFICATIONS
from maxpool_check.specifications.clauses import Clause, ClauseKind, ClauseStatus, clause_files, clauses
from maxpool_check.specifications.roles import Attribute, Role

_CLAUSES, _DEFECTS = 6, 4
"""How many clauses and defects one screen shows."""

_PADS = (Role.BEGIN, Role.END, Role.START)


def names() -> list[str]:
    """The attributes of all documents."""
    return list(dict.fromkeys(name for document in SPECIFICATIONS.values() for name in document.attributes))


def attribute_explained(
    name: str, cases: Collection[Case], defects: Sequence[Defect], *, everything: bool
) -> Iterator[Block]:
    """What the documents say of an attribute, and the ``defects`` that are about it; without ``everything``, one screen."""
    yield Heading(2, code(name))
    yield Facts([*_declared(name).items(), *_other_names(name)])
    found = _clauses(name)
    shown = found if everything else _first_of_each_file(found)[:_CLAUSES]
    yield Section(_title("Clauses", shown, found), [Table(["", ""], [[code(each.id), each.states] for each in shown])])
    rows: list[list[Inline]] = [
        [point, "; ".join(f"{result} in {', '.join(documents)}" for result, documents in results.items())]
        for point, results in _points(name, cases).items()
    ]
    if rows:
        note = "Y in the case of each document; 'maxpool-check explain documents' names the cases."
        yield Section("Where documents differ", [Paragraph(note), Table(["", ""], rows)])
    about = _defects(name, defects)
    first = about if everything else about[:_DEFECTS]
    if first:
        listed: list[list[Inline]] = [[code(each.id), each.title] for each in first]
        yield Section(_title("Known defects", first, about), [Table(["", ""], listed)])
    if len(shown) < len(found) or len(first) < len(about):
        yield Paragraph(f"maxpool-check explain {name} -v shows all.")


def attribute_data(name: str, cases: Collection[Case], defects: Sequence[Defect]) -> dict[str, Any]:
    """An attribute as JSON."""
    return {
        "attribute": name,
        "documents": {
            document.name: {"type": found.type.value, "values": list(found.values), "default": found.default}
            for document in SPECIFICATIONS.values()
            if (found := document.attributes.get(name)) is not None
        },
        "clauses": [clause.id for clause in _clauses(name)],
        "points": _points(name, cases),
        "defects": [defect.id for defect in _defects(name, defects)],
    }


def _title(noun: str, shown: Sequence[object], found: Sequence[object]) -> str:
    return noun if len(shown) == len(found) else f"{noun} ({len(shown)} of {len(found)})"


def _role(attribute: Attribute) -> Role:
    """The role of an attribute; all attributes about the padding share one."""
    return Role.PADS if attribute.role in _PADS else attribute.role


def _roles(name: str) -> set[Role]:
    return {_role(each.attributes[name]) for each in SPECIFICATIONS.values() if name in each.attributes}


def _declared(name: str) -> dict[str, str]:
    """The documents that declare an attribute alike, with what they declare."""
    alike: dict[str, list[str]] = defaultdict(list)
    for document in SPECIFICATIONS.values():
        if (found := document.attributes.get(name)) is not None:
            values = f": {', '.join(map(str, found.values))}" if found.values else ""
            default = "required" if found.default is None else f"default {found.default or repr(found.default)}"
            alike[f"{found.type.value}{values}; {default}"].append(document.name)
    return {", ".join(documents): text for text, documents in alike.items()}


def _other_names(name: str) -> Iterator[tuple[str, str]]:
    """The attributes of other documents with the same role."""
    roles, others = _roles(name), dict[str, list[str]]()
    for document in SPECIFICATIONS.values():
        alike = [other for other, each in document.attributes.items() if _role(each) in roles]
        if name not in document.attributes and alike:
            others.setdefault(", ".join(alike), []).append(document.name)
    if others:
        yield "other names", "; ".join(f"{alike} in {', '.join(of)}" for alike, of in others.items())


def _clauses(name: str) -> list[Clause]:
    """The clauses about an attribute: restrictions, then definitions at its place or open, then others, then mere mentions."""
    found = []
    for clause in clauses().values():
        is_at_place = _is_named(name, clause.where, clause.anchor)
        has_it = any(name in SPECIFICATIONS[document].attributes for document in clause.documents)
        if has_it and clause.kind is not ClauseKind.EXAMPLE and (is_at_place or _is_named(name, clause.states)):
            is_near = is_at_place or clause.status is ClauseStatus.OPEN
            order = (clause.kind is not ClauseKind.RESTRICTION, not is_near, clause.kind is ClauseKind.CONSTRAINT)
            found.append((order, clause))
    return [clause for _, clause in sorted(found, key=lambda each: each[0])]


def _is_named(name: str, *texts: str) -> bool:
    """Whether a text names an attribute; ``axis`` is a word of many sentences, and an attribute at its own place alone."""
    found = any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts)
    return found and (name != "axis" or name in texts)


def _first_of_each_file(found: Sequence[Clause]) -> list[Clause]:
    """The first clause of each file, then the second of each, and so on."""
    ranked = []
    for file in clause_files().values():
        ids = {clause.id for clause in file.clauses}
        ranked += list(enumerate(each for each in found if each.id in ids))
    return [clause for _, clause in sorted(ranked, key=lambda each: each[0])]


def _points(name: str, cases: Collection[Case]) -> dict[str, dict[str, list[str]]]:
    """The points about an attribute in which documents with its role differ: the heading, and the documents by their Y."""
    roles, found = _roles(name), dict[str, dict[str, list[str]]]()
    with_role = [
        each for each, document in SPECIFICATIONS.items() if roles & set(map(_role, document.attributes.values()))
    ]
    in_order = [case for case in terms.in_order(cases) if case.spec in with_role]
    for point, about in terms.points().items():
        results: dict[str, set[str]] = defaultdict(set)
        for case in in_order if {role.value for role in roles}.intersection(about.get("about", ())) else ():
            if case.name == point:
                for row in terms.result_rows(case):
                    results["refused" if row[2] == "refused" else str(row[3])].add(case.spec)
        if len(results) > 1:
            found[about["heading"]] = {result: sorted(of, key=with_role.index) for result, of in results.items()}
    return found


def _defects(name: str, defects: Iterable[Defect]) -> list[Defect]:
    """The defects whose title, conditions or mechanism are about an attribute, in this order, the worst first.

    Of equal ones those of ONNX Runtime come first, which most readers have.
    """
    stems = [role.value.rstrip("s").replace("_", "-").replace(" ", "-") for role in _roles(name)]
    quantity = re.compile("|".join(rf"^(some|every) .*(?<!auto-)\b{re.escape(stem)}\b" for stem in stems))

    def rank(defect: Defect) -> int:
        if _is_named(name, defect.title):
            return 0
        if any(quantity.search(each) for stated in defect.conditions.geometry for each in comparisons_of(stated)):
            return 1
        return 2 if _is_named(name, defect.mechanism) else 3

    found = [each for each in defects if rank(each) < 3]
    return sorted(found, key=lambda each: (rank(each), each.severity.rank, not each.runtime.startswith("onnxruntime")))
