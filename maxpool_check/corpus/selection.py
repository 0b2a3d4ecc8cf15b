"""Which cases an expression of ``-k`` selects."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import CasesOfEffects
from maxpool_check.corpus.problems import USUAL_NAMES
from maxpool_check.judging.defects import Defect, is_glob
from maxpool_check.judging.kinds import DivergenceKind
from maxpool_check.reference.dtypes import name_of
from maxpool_check.specifications import documents
from maxpool_check.specifications.clauses import clauses
from maxpool_check.specifications.specification import nearest

PROPERTIES = ("tag", "clause", "dtype", "spec", "defect", "kind")
"""What can be selected by, beside the id: ``tag:neg-inf``."""


ALL = "all"
"""The name of every document."""


class NothingSelected(ValueError):
    """An expression that selects no case; the message has the nearest one that does."""


def select(
    cases: Collection[Case], expressions: Sequence[str], defects: Callable[[], Sequence[Defect]] = tuple
) -> Collection[Case]:
    """The cases that any expression selects, in their order; without expressions, all of them.

    An expression is a glob of the full id or of its part after the colon, or ``PROPERTY:GLOB``: a tag, a clause that the case
    covers, the dtype of X, a document or family, a known defect that is expected of the case, or a kind of divergence that is.
    ``defects`` are read only for the last two. Raises :class:`NothingSelected` for an expression that selects nothing.
    """
    if not expressions:
        return cases
    selected = {case for expression in expressions for case in _selected(cases, expression, defects)}
    return tuple(case for case in cases if case.id in selected)


def of_documents(cases: Collection[Case], names: Sequence[str]) -> Collection[Case]:
    """The cases of some documents and families of documents; without names, all of them. ``ValueError`` if one is unknown."""
    if not names or ALL in names:
        return cases
    chosen = {document for name in names for document in documents(name)}
    return tuple(case for case in cases if case.spec in chosen)


def names_of_documents(texts: Iterable[str]) -> tuple[str, ...]:
    """The names in comma-separated lists of documents and families, each once. ``ValueError`` if one is unknown."""
    names = tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",")))
    for name in names:
        if name != ALL:
            documents(name)
    return names


def _selected(cases: Collection[Case], expression: str, defects: Callable[[], Sequence[Defect]]) -> set[str]:
    if by_id := {case.id for case in cases if fnmatchcase(case.id, expression) or fnmatchcase(case.name, expression)}:
        return by_id
    nothing = f"no case is selected by '{expression}'"
    name, colon, pattern = expression.partition(":")
    if not colon or name not in PROPERTIES:
        raise NothingSelected(f"{nothing}{_nearest_id(cases, expression)}")
    if name == "spec" and not is_glob(pattern):
        try:
            selected = {case.id for case in of_documents(cases, [pattern])}
        except ValueError as error:
            raise NothingSelected(f"{nothing}: {error}") from error
        if not selected:
            raise NothingSelected(f"{nothing}: there is no case of this document")
        return selected
    known = defects() if name in ("defect", "kind") else ()
    if by_property := {case for ids in _by_value(cases, name, known, pattern).values() for case in ids}:
        return by_property
    raise NothingSelected(f"{nothing}{_hint(name, pattern, list(_by_value(cases, name, known, '*')))}")


def _by_value(cases: Collection[Case], name: str, defects: Sequence[Defect], pattern: str) -> dict[str, set[str]]:
    """The ids of the cases by each value of a property that matches a pattern."""
    ids: dict[str, set[str]] = {}
    if name in _OF_CASES:
        for case in cases:
            for value in _OF_CASES[name](case):
                if fnmatchcase(value, pattern):
                    ids.setdefault(value, set()).add(case.id)
        return ids

    about = CasesOfEffects(defects, cases)
    for effect in (effect for defect in defects for effect in defect.effects):
        for value in [effect.defect] if name == "defect" else [kind.value for kind in effect.kinds]:
            # It takes long to find the cases of an effect.
            if fnmatchcase(value, pattern) and (found := about.ids(effect)):
                ids.setdefault(value, set()).update(found)
    return ids


_OF_CASES: Mapping[str, Callable[[Case], Iterable[str]]] = {
    "tag": lambda case: case.tags,
    "clause": lambda case: case.covers,
    "dtype": lambda case: [name_of(case.X.dtype)],
    "spec": lambda case: [case.spec],
}
"""The properties that cases have without defects."""


def _nearest_id(cases: Collection[Case], expression: str) -> str:
    """What selects cases and looks like an expression that does not."""
    property_name, colon, _ = expression.partition(":")
    if colon and (hint := nearest(property_name, PROPERTIES)) and "*" not in property_name and "/" not in property_name:
        return f"{hint}; an expression is a glob of the id, or one of {', '.join(f'{each}:' for each in PROPERTIES)}"
    core = expression.strip("*?")
    if containing := [case.id for case in cases if core and core.lower() in case.id.lower()]:
        is_part = len(containing) > 1 and any(core in each for each in containing)
        return f" (did you mean '{f'*{core}*' if is_part else containing[0]}'?)"
    return nearest(expression, [*(case.id for case in cases), *(case.name for case in cases)])


def _hint(name: str, pattern: str, values: Sequence[str]) -> str:
    if name == "dtype" and (usual := USUAL_NAMES.get(pattern)) in values:
        return f" (did you mean '{usual}'?)"
    if name != "clause" and (hint := nearest(pattern, values)):
        return hint
    if name == "clause" and pattern in clauses():
        return ": no case covers it"
    if name == "kind" and pattern in {kind.value for kind in DivergenceKind}:
        return ": no known defect with this kind is expected of them"
    few = f"; there are {', '.join(sorted(values))}" if 0 < len(values) <= 20 else ""
    return (nearest(pattern, clauses()) if name == "clause" else "") or few
