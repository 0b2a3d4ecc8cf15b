"""Reads a case file: structure, defaults, matrices, then every case; reports all problems together."""

import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case, Expectation, Origin, Refusal, Shape, Undefined, Values
from maxpool_check.corpus.clauses import BY_BINS, check_covers, names_in, with_clauses
from maxpool_check.corpus.document import Document, Steps, read
from maxpool_check.corpus.graph_fields import at_node, context_of, document_in
from maxpool_check.corpus.problems import BadValue, CorpusError, Problem, Structure, describe
from maxpool_check.corpus.schema import CASE, CASE_FILE
from maxpool_check.corpus.tensors import MOST_CELLS, array, npy, recipe
from maxpool_check.graphs.context import MAX_POOL_ALONE
from maxpool_check.graphs.node import Inexact
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.specification import IllTyped, Reason, Specification, nearest, override

_FILE_STRUCTURE, _CASE_STRUCTURE = Structure(CASE_FILE), Structure(CASE)
_EXPECT_FORMS = ({"Y"}, {"Indices"}, {"Y", "Indices"}, {"shape"}, {"refuse"}, {"undefined"})
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")

MAX_CASES = 100_000
"""The most combinations of a matrix."""


def read_cases(path: Path, root: Path, most_cells: int = MOST_CELLS) -> list[Case]:
    """The cases of one file, in order, with matrices expanded. Raises :class:`CorpusError`.

    Their ids begin with the file's path relative to ``root``, without the suffix.
    """
    return [*cases_of(read(path), path, root, most_cells)]


def cases_of(
    document: Document, path: Path, root: Path, most_cells: int = MOST_CELLS, name: str | None = None
) -> Iterator[Case]:
    """The cases of the document of one file, as :func:`read_cases` has them. Raises :class:`CorpusError` behind the last one.

    ``name`` is the path of their origin, by default that of the document.
    """
    mistakes = list(_FILE_STRUCTURE.mistakes(document.data))
    # The cases can still be read if the only mistakes are unknown keys.
    if any(key is None for _, key, _ in mistakes):
        raise CorpusError([document.problem(at, message, key=key) for at, key, message in mistakes])
    problems = [document.problem(at, message, key=key) for at, key, message in mistakes]
    try:
        specified = specification(document.data.get("spec", DEFAULT))
    except ValueError as error:
        raise CorpusError([*problems, document.problem(("spec",), str(error))]) from error
    reader = _Reader(document, path, root, most_cells, specified, name or document.path)
    for number in range(len(document.data["cases"])):
        yield from reader.read_entry(number)
    if problems := [*problems, *reader.problems]:
        raise CorpusError(problems)


def prefix_of(file: Path, root: Path) -> str:
    """What the ids of a file's cases begin with: its path relative to ``root``, without the suffix."""
    # Links are not resolved: a link inside the corpus keeps its name.
    return Path(os.path.relpath(file.absolute(), root.absolute())).with_suffix("").as_posix()


class _Reader:
    """Converts the entries of one file to cases, and collects their problems."""

    def __init__(
        self, document: Document, path: Path, root: Path, most_cells: int, spec: Specification, name: str
    ) -> None:
        self.problems: list[Problem] = []
        self._name = name
        self._document = document
        self._folder, self._root, self._most_cells = path.parent, root, most_cells
        self._prefix = prefix_of(path, root)
        self._specification = spec
        self._defaults = document.data.get("defaults", {})
        self._lines: dict[str, int] = {}
        for key in ("id", "matrix"):
            if key in self._defaults:
                message = f"'{key}' belongs to a case, not to the defaults"
                self.problems.append(document.problem(("defaults",), message, key=key))
        for key, value in self._defaults.items():
            if CASE["properties"].get(key, {}).get("type") == "object" and not isinstance(value, Mapping):
                self.problems.append(document.problem(("defaults", key), f"expected a map, found {describe(value)}"))

    def read_entry(self, number: int) -> Iterator[Case]:
        """The cases of one entry; a problem that several of them share is collected once."""
        entry = _merged(self._defaults, self._document.data["cases"][number])
        with self._mistakes(number):
            if not isinstance(entry, Mapping):
                raise BadValue(f"expected a map, found {describe(entry)}")
            for fields in _expanded(entry):
                case = self._case(number, fields)
                if case is not None:
                    yield with_clauses(case) if fields.get("covers") == BY_BINS else case
        self._document.forget("cases", number)

    @contextmanager
    def _mistakes(self, number: int, *path: str) -> Iterator[None]:
        """Collect the mistakes in the value at ``path`` of an entry."""
        try:
            yield
        except BadValue as error:
            for mistake in error.all:
                self._problem(number, (*path, *mistake.path), str(mistake))

    def _problem(self, number: int, path: Steps, message: str, key: str | None = None) -> None:
        # The value comes from the case itself or from the defaults.
        full = (*path, key) if key is not None else tuple(path)
        at: Steps = ("cases", number, *path)
        if not self._document.has(("cases", number, *full)) and self._document.has(("defaults", *full)):
            at = ("defaults", *path)
        self.problems.append(self._document.problem(at, message, key=key))

    def _case(self, number: int, fields: Mapping[str, Any]) -> Case | None:
        before = len(self.problems)
        broken = set()
        for path, key, message in _CASE_STRUCTURE.mistakes(fields):
            self._problem(number, path, message, key)
            broken.add(path[0] if path else None)
        usable = {key: value for key, value in fields.items() if key not in broken}
        document, made, context, expect = self._specification, None, MAX_POOL_ALONE, None
        if "opset" in usable:
            with self._mistakes(number, "opset"):
                document = document_in(usable["opset"], document)
        policies = document.policies
        self._check_id(number, usable.get("id"))
        if "input" in usable:
            with self._mistakes(number, "input"):
                made = recipe(usable["input"], self._folder, self._root, self._most_cells)
            with self._mistakes(number):
                context = context if made is None else context_of(usable, document, made.shape)
        if context.is_alone:
            expect = self._expectation(number, usable.get("expect"), document, None if made is None else made.dtype)
        with self._mistakes(number, "covers"):
            check_covers(usable.get("covers", ()), document.name)
        self._check_attributes(number, document, usable.get("attributes", {}), fields.get("expect"))
        if "Indices" in usable.get("outputs", ()) and not document.indices:
            self._problem(number, ("outputs",), f"{document.title} has no Indices; write outputs: [Y]")
        try:
            policies = override(policies, usable.get("policies", {}))
        except ValueError as error:
            self._problem(number, ("policies",), str(error))
        if len(self.problems) > before or made is None:
            return None
        mark = self._document.mark_of(("cases", number))
        case = Case(
            id=f"{self._prefix}:{fields['id']}", spec=document.name, X=made, attributes=fields.get("attributes", {}),
            outputs=tuple(fields.get("outputs", ["Y", "Indices"] if document.indices else ["Y"])), policies=policies,
            title=fields.get("title", fields["id"]), covers=names_in(usable.get("covers", ())),
            tags=tuple(fields.get("tags", ())), expect=expect, erratum=fields.get("erratum"),
            origin=Origin(self._name, mark.line, mark.column), provenance=fields.get("provenance", {}), context=context,
        )  # fmt: skip
        with self._mistakes(number):
            try:
                dtype = checked_output(case, self._most_cells)
            except BadValue as error:
                raise at_node(error, case, usable.get("graph")) from error
            if not context.is_alone and "expect" in usable:
                case = case.described(expect=self._expectation(number, usable.get("expect"), document, dtype))
        return case if len(self.problems) == before else None

    def _check_id(self, number: int, name: str | None) -> None:
        if name is None:
            return
        if name in self._lines:
            self._problem(number, ("id",), f"duplicate id '{name}', first on line {self._lines[name]}")
        self._lines.setdefault(name, self._document.mark_of(("cases", number, "id")).line)

    def _check_attributes(
        self, number: int, document: Specification, attributes: Mapping[str, Any], expect: Any
    ) -> None:
        """Wrong names and types are mistakes, unless the case expects that refusal."""
        intended = isinstance(expect, Mapping) and expect.get("refuse") == Reason.INVALID_ATTRIBUTE.value
        for name, value in attributes.items():
            try:
                document.typed({name: value})
            except IllTyped as error:
                if not intended:
                    message = f"{error}; if that is intended, write expect: {{refuse: invalid-attribute}}"
                    path, key = (("attributes", name), None) if name in document.attributes else (("attributes",), name)
                    self._problem(number, path, message, key)
                elif not _has_onnx_type(value):
                    self._problem(number, ("attributes", name), "ONNX has no attribute type for this value")

    def _expectation(
        self, number: int, expect: Mapping[str, Any] | None, document: Specification, dtype: np.dtype | None
    ) -> Expectation | None:
        """The expectation, if there is one; ``dtype`` is that of Y, None if it is not known because of another mistake."""
        if expect is None:
            return None
        if set(expect) not in _EXPECT_FORMS:
            message = "expected one of {Y, Indices} (either is optional), {shape}, {refuse}, {undefined}"
            self._problem(number, ("expect",), message)
            return None
        if "shape" in expect:
            return Shape(tuple(int(size) for size in expect["shape"]))
        if "refuse" in expect:
            return Refusal(Reason(expect["refuse"]))
        if "undefined" in expect:
            return Undefined(expect["undefined"])
        return self._values(number, expect, document, dtype)

    def _values(
        self, number: int, expect: Mapping[str, Any], document: Specification, dtype: np.dtype | None
    ) -> Values:
        if "Indices" in expect and not document.indices:
            self._problem(number, ("expect", "Indices"), f"{document.title} has no Indices")
        arrays: dict[str, np.ndarray] = {}
        for name, wanted in (("Y", dtype), ("Indices", NUMPY["int64"])):
            if name in expect and wanted is not None:
                with self._mistakes(number, "expect", name):
                    if isinstance(expect[name], Mapping):
                        arrays[name] = npy(expect[name]["npy"], self._folder, self._root, self._most_cells)
                    else:
                        arrays[name] = array(expect[name], wanted)
                    if arrays[name].dtype != wanted:
                        raise BadValue(f"the file contains {arrays[name].dtype.name}, expected {wanted.name}")
        return Values(arrays.get("Y"), arrays.get("Indices"))


def _merged(defaults: Any, fields: Any) -> Any:
    """The defaults, overridden by the fields: maps are merged, other values replaced."""
    if not isinstance(defaults, Mapping) or not isinstance(fields, Mapping):
        return fields
    common = {key: _merged(defaults[key], fields[key]) for key in defaults.keys() & fields.keys()}
    return {**defaults, **fields, **common}


def _expanded(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """An entry per combination, in the order of the lists; without a matrix, itself. Raises :class:`BadValue`."""
    rest = {key: value for key, value in entry.items() if key != "matrix"}
    axes: Mapping[str, list[Any]] = entry.get("matrix", {})
    if not axes:
        yield rest
        return
    for name, values in axes.items():
        for i, value in enumerate(values):
            if isinstance(value, dict):
                raise BadValue("a map cannot be written in an id; use text, numbers or lists", "matrix", name, i)
    size = math.prod(map(len, axes.values()))
    if size > MAX_CASES:
        raise BadValue(f"the matrix has {size} combinations; the limit is {MAX_CASES}", "matrix")
    in_id = set(_VARIABLE.findall(str(entry.get("id", ""))))
    missing = [f"${name}" for name in axes if name not in in_id]
    if missing:
        raise BadValue(f"the id must name every axis of the matrix, so that ids stay unique; add {missing[0]}", "id")
    for combination in itertools.product(*axes.values()):
        variables = dict(zip(axes, combination, strict=True))
        yield {key: _substitute(value, variables, (key,)) for key, value in rest.items()}


def _substitute(value: Any, variables: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
    if isinstance(value, dict):
        return {key: _substitute(inner, variables, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_substitute(inner, variables, (*path, i)) for i, inner in enumerate(value)]
    if not isinstance(value, str) or "$" not in value:
        return value
    for name in _VARIABLE.findall(value):
        if name not in variables:
            guess = nearest(name, variables)
            raise BadValue(f"${name} is not an axis of the matrix{guess}; the axes are {', '.join(variables)}", *path)
    whole = _VARIABLE.fullmatch(value)
    # An id is always text.
    if whole and path != ("id",):
        return variables[whole[1]]
    return _VARIABLE.sub(lambda match: _text(variables[match[1]]), value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "x".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def checked_output(case: Case, most_cells: int) -> np.dtype:
    """The dtype of the output Y; :class:`BadValue` if it would have more cells than the limit, or is not exact."""
    try:
        if isinstance(case.resolved, Pooling):
            # A size is too large also where another one is 0.
            cells = math.prod(filter(None, (*case.entering.shape[:2], *case.resolved.output_sizes)))
            if cells > most_cells:
                message = f"Y would have {cells} cells; the limit is {most_cells} (MAXPOOL_CHECK_MAX_CELLS raises it)"
                raise BadValue(message, "attributes")
        return case.check_exact()
    except Inexact as error:
        raise BadValue(str(error), "graph") from error


def _has_onnx_type(value: Any) -> bool:
    """Whether ONNX has an attribute type for the value: a number, text, or a list of either."""
    if isinstance(value, list):
        types = {str if isinstance(entry, str) else float for entry in value}
        return len(types) < 2 and all(not isinstance(entry, list) and _has_onnx_type(entry) for entry in value)
    return isinstance(value, (float, str)) or (isinstance(value, int) and -(2**63) <= value < 2**63)
