"""Reads one case file: structure, matrix, defaults, then every case; all problems at once."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus import literals
from maxpool_check.corpus.case import Case, Expectation, Origin, Refusal, Shape, Undefined, Values
from maxpool_check.corpus.document import Document, Steps, read
from maxpool_check.corpus.literals import BadLiteral
from maxpool_check.corpus.matrix import BadMatrix, expand
from maxpool_check.corpus.problems import CorpusError, Problem
from maxpool_check.corpus.schema import CASE, CASE_FILE
from maxpool_check.corpus.structure import differences
from maxpool_check.corpus.tensors import BadInput, Limits, tensor
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.refused import IllTyped, Reason
from maxpool_check.specifications.specification import override

_EXPECT_FORMS = ({"Y"}, {"Indices"}, {"Y", "Indices"}, {"shape"}, {"refuse"}, {"undefined"})


def read_cases(path: Path, root: Path, limits: Limits) -> list[Case]:
    """The cases of one file, in its order, matrices expanded. Raises :class:`CorpusError`.

    Their ids begin with the file's path inside ``root``, without the suffix.
    """
    document = read(path, str(path))
    problems = [document.problem(at, message, key=key) for at, key, message in differences(document.data, CASE_FILE)]
    if problems:
        raise CorpusError(problems)
    reader = _Reader(document, path, root, limits)
    cases = [case for number in range(len(document.data["cases"])) for case in reader.entry(number)]
    if reader.problems:
        raise CorpusError(reader.problems)
    return cases


class _Reader:
    """Turns the entries of one file into cases and collects what is wrong with them."""

    def __init__(self, document: Document, path: Path, root: Path, limits: Limits) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._folder, self._root, self._limits = path.parent, root, limits
        # Not resolved: a link inside the corpus keeps its own name.
        self._prefix = Path(os.path.relpath(path.absolute(), root.absolute())).with_suffix("").as_posix()
        self._spec = document.data.get("spec", DEFAULT)
        self._defaults = document.data.get("defaults", {})
        self._lines: dict[str, int] = {}

    def entry(self, number: int) -> list[Case]:
        """The cases that one entry expands to; problems of several of them are told once."""
        try:
            expanded = list(expand(self._document.data["cases"][number]))
        except BadMatrix as error:
            self._problem(number, error.path, str(error))
            return []
        cases = [self._case(number, merged(self._defaults, fields)) for fields in expanded]
        return [case for case in cases if case is not None]

    def _problem(self, number: int, path: Steps, message: str, key: str | None = None) -> None:
        # A value that stands in the defaults is shown there, and one that a matrix brings in, at the variable.
        at: Steps = ("cases", number, *path)
        if not self._document.has(at[:3]) and self._document.has(("defaults", *path[:1])):
            at = ("defaults", *path)
        self.problems.append(self._document.problem(at, message, key=key))

    def _case(self, number: int, fields: Mapping[str, Any]) -> Case | None:
        found = list(differences(fields, CASE))
        for path, key, message in found:
            self._problem(number, path, message, key)
        if found or not self._unique(number, fields["id"]):
            return None
        try:
            X = tensor(fields["input"], self._folder, self._root, self._limits)
        except BadInput as error:
            self._problem(number, ("input", *error.path), str(error))
            return None
        document = specification(self._spec)
        if "Indices" in fields.get("outputs", ()) and not document.indices:
            self._problem(number, ("outputs",), f"{document.title} has no Indices; write outputs: [Y]")
            return None
        expect = self._expectation(number, fields.get("expect"), X)
        mark = self._document.mark_of(("cases", number))
        case = Case(
            id=f"{self._prefix}:{fields['id']}",
            title=fields.get("title", fields["id"]),
            spec=self._spec,
            covers=tuple(fields.get("covers", ())),
            tags=tuple(fields.get("tags", ())),
            X=X,
            attributes=fields.get("attributes", {}),
            outputs=tuple(fields.get("outputs", ["Y", "Indices"] if document.indices else ["Y"])),
            policies=override(document.policies, fields.get("policies", {})),
            expect=expect,
            erratum=fields.get("erratum"),
            origin=Origin(self._document.path, mark.line, mark.column),
        )
        return case if self._askable(number, case) else None

    def _unique(self, number: int, name: str) -> bool:
        line = self._document.mark_of(("cases", number, "id")).line
        if name in self._lines:
            self._problem(number, ("id",), f"duplicate id '{name}', first on line {self._lines[name]}")
            return False
        self._lines[name] = line
        return True

    def _askable(self, number: int, case: Case) -> bool:
        """Whether a graph can be made of it at all, as large as allowed, and no mistake is left in its attributes."""
        meaning = case.meaning
        expected = case.expect.reason if isinstance(case.expect, Refusal) else None
        if isinstance(meaning, IllTyped) and expected is not Reason.INVALID_ATTRIBUTE:
            path = ("attributes", meaning.attribute or "")
            hint = "if that is the point of the case, say expect: {refuse: invalid-attribute}"
            known = meaning.attribute in case.specification.attributes
            self._problem(number, path[:2] if known else path[:1], f"{meaning}; {hint}", None if known else path[1])
            return False
        if any(not _writable(value) for value in case.attributes.values()):
            self._problem(number, ("attributes",), "ONNX has no attribute of such a value")
            return False
        if isinstance(meaning, Pooling):
            cells = math.prod(case.X.shape[:2]) * math.prod(meaning.output_sizes)
            if cells > self._limits.cells:
                message = f"Y would have {cells} cells; the limit is {self._limits.cells} (raise it with --max-cells)"
                self._problem(number, ("attributes",), message)
                return False
        return True

    def _expectation(self, number: int, given: Mapping[str, Any] | None, X: np.ndarray) -> Expectation | None:
        if given is None:
            return None
        if set(given) not in _EXPECT_FORMS:
            message = "expected one of {Y, Indices} (either may be left out), {shape}, {refuse}, {undefined}"
            self._problem(number, ("expect",), message)
            return None
        if "shape" in given:
            return Shape(tuple(int(size) for size in given["shape"]))
        if "refuse" in given:
            return Refusal(Reason(given["refuse"]))
        if "undefined" in given:
            return Undefined(given["undefined"])
        arrays: dict[str, np.ndarray | None] = {"Y": None, "Indices": None}
        for name, dtype in (("Y", X.dtype), ("Indices", NUMPY["int64"])):
            if name in given:
                try:
                    arrays[name] = literals.array(given[name], dtype)
                except BadLiteral as error:
                    self._problem(number, ("expect", name, *error.at), str(error))
        return Values(arrays["Y"], arrays["Indices"])


def merged(defaults: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields over the defaults: maps merge, everything else replaces."""
    result = dict(defaults)
    for key, value in fields.items():
        inner = result.get(key)
        both_maps = isinstance(inner, Mapping) and isinstance(value, Mapping)
        result[key] = merged(inner, value) if both_maps else value  # type: ignore[arg-type]
    return result


def _writable(value: Any) -> bool:
    """Whether ONNX has an attribute type for the value: a number, text, or a list of one of them."""
    if isinstance(value, list):
        kinds = {str if isinstance(entry, str) else float for entry in value}
        return len(kinds) < 2 and all(not isinstance(entry, list) and _writable(entry) for entry in value)
    return isinstance(value, (float, str)) or (isinstance(value, int) and -(2**63) <= value < 2**63)
