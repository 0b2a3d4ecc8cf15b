"""Which cases an expression of ``-k`` selects."""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.conditions import with_cases
from maxpool_check.corpus.problems import USUAL_NAMES
from maxpool_check.judging.defects import Defect, ExpectedDivergence
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
    cases: Sequence[Case], expressions: Sequence[str], defects: Callable[[], Sequence[Defect]] = tuple
) -> Sequence[Case]:
    """The cases that any expression selects, in their order; without expressions, all of them.

    An expression is a glob of the full id or of its part after the colon, or ``PROPERTY:GLOB``: a tag, a clause that the case
    covers, the dtype of X, a document or family, a known defect that is expected of the case, or a kind of divergence that is.
    ``defects`` are read only for the last two. Raises :class:`NothingSelected` for an expression that selects nothing.
    """
    if not expressions:
        return cases
    selected: set[str] = set()
    for expression in expressions:
        selected |= _selected(cases, expression, defects)
    return tuple(case for case in cases if case.id in selected)


def of_documents(cases: Sequence[Case], names: Sequence[str]) -> Sequence[Case]:
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


def _selected(cases: Sequence[Case], expression: str, defects: Callable[[], Sequence[Defect]]) -> set[str]:
    if by_id := {case.id for case in cases if fnmatchcase(case.id, expression) or fnmatchcase(case.name, expression)}:
        return by_id
    name, colon, pattern = expression.partition(":")
    if not colon or name not in PROPERTIES:
        raise NothingSelected(f"no case is selected by '{expression}'{_nearest_id(cases, expression)}")
    if name == "spec" and not set(pattern) & set("*?["):
        return _of_document(cases, expression, pattern)
    values = _by_defect(cases, name, defects(), pattern) if name in ("defect", "kind") else _by_case(cases, name)
    if by_property := {case for value, of in values.items() if fnmatchcase(value, pattern) for case in of}:
        return by_property
    if name in ("defect", "kind"):
        values = _by_defect(cases, name, defects(), "*")
    raise NothingSelected(f"no case is selected by '{expression}'{_hint(name, pattern, list(values))}")


def _of_document(cases: Sequence[Case], expression: str, name: str) -> set[str]:
    """The ids of the cases of a document or family. Raises :class:`NothingSelected`."""
    try:
        if selected := {case.id for case in of_documents(cases, [name])}:
            return selected
    except ValueError as error:
        raise NothingSelected(f"no case is selected by '{expression}': {error}") from error
    raise NothingSelected(f"no case is selected by '{expression}': there is no case of this document")


def _by_case(cases: Iterable[Case], name: str) -> dict[str, set[str]]:
    """The ids of the cases by each value of a property."""
    values: dict[str, set[str]] = {}
    for case in cases:
        for value in _values(case, name):
            values.setdefault(value, set()).add(case.id)
    return values


def _values(case: Case, name: str) -> Iterable[str]:
    if name == "tag":
        return case.tags
    if name == "clause":
        return case.covers
    return [name_of(case.X.dtype) if name == "dtype" else case.spec]


def _by_defect(cases: Sequence[Case], name: str, defects: Sequence[Defect], pattern: str) -> dict[str, set[str]]:
    """The ids of the cases by the known defects, or by the kinds of divergence, that are expected of them.

    Defects without a value that matches the pattern are left out: it takes long to find their cases.
    """

    def names(defect: Defect, expected: ExpectedDivergence) -> Iterable[str]:
        return [defect.id] if name == "defect" else [kind.value for kind in expected.kinds]

    matching = [
        defect
        for defect in defects
        if any(fnmatchcase(value, pattern) for expected in defect.expected for value in names(defect, expected))
    ]
    values: dict[str, set[str]] = {}
    for defect in with_cases(matching, cases):
        for expected in defect.expected:
            bound = {case.id for case in cases if expected.binds(case.id)}
            for value in names(defect, expected):
                values.setdefault(value, set()).update(bound)
    return {value: bound for value, bound in values.items() if bound}


def _nearest_id(cases: Sequence[Case], expression: str) -> str:
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
    if name == "clause":
        return ": no case covers it" if pattern in clauses() else nearest(pattern, clauses()) or _few(values)
    if name == "kind" and pattern in {kind.value for kind in DivergenceKind}:
        return ": no known defect with this kind is expected of them"
    return _few(values)


def _few(values: Sequence[str]) -> str:
    return f"; there are {', '.join(sorted(values))}" if 0 < len(values) <= 20 else ""
