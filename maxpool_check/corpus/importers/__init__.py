"""Cases of other suites: ONNX's test data, and SONNX's generated tests.

Each format is a module that converts files to cases. A case has the same id whether its file is read directly or imported
first: the folder, the document, and the name of the test, e.g. ``node/onnx-22:test_maxpool_2d_default``.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case, Origin, Values
from maxpool_check.corpus.case_file import checked_output
from maxpool_check.corpus.clauses import with_clauses
from maxpool_check.corpus.problems import BadValue, Problem
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.files import read_regular
from maxpool_check.graphs.context import MAX_POOL_ALONE, Context
from maxpool_check.graphs.node import Inexact
from maxpool_check.reference import dtypes
from maxpool_check.specifications import specification
from maxpool_check.specifications.specification import IllTyped


@dataclass(frozen=True)
class Suite:
    """The cases of some files; ``left_out`` are tests that cannot be cases, ``broken`` files that cannot be read."""

    cases: Sequence[Case] = ()
    left_out: tuple[Problem, ...] = ()
    broken: tuple[Problem, ...] = ()


class LeftOut(Exception):
    """A valid test that cannot be a case, with the reason."""


class Broken(Exception):
    """A file that cannot be read, with the reason; ``path`` if it is not the file being read but one next to it."""

    def __init__(self, message: str, path: Path | None = None, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.path, self.line, self.column = path, line, column


def read_files(files: Iterable[Path], read: Callable[[Path], Iterable[Case | Problem]]) -> Suite:
    """Read all files; collect cases, tests left out, which ``read`` may give as problems, and broken files."""
    cases: list[Case] = []
    left_out: list[Problem] = []
    broken: list[Problem] = []
    for file in files:
        try:
            found = list(read(file))
            cases += [each for each in found if isinstance(each, Case)]
            left_out += [each for each in found if isinstance(each, Problem)]
        except LeftOut as reason:
            left_out.append(Problem(str(file), 1, 1, str(reason)))
        except Broken as error:
            broken.append(Problem(str(error.path or file), error.line, error.column, str(error)))
    return Suite(tuple(cases), tuple(left_out), tuple(broken))


def read_bytes(file: Path, most: int) -> bytes:
    """The content of a file of at most ``most`` bytes. Raises :class:`Broken`."""
    try:
        return read_regular(file, most)
    except OSError as error:
        raise Broken(f"cannot be read: {error.strerror}", file) from error


def group_of(folder: Path, root: Path) -> str:
    """The prefix of ids in a folder: its path relative to ``root`` and a slash; empty for the root and for folders outside."""
    inside = Path(os.path.relpath(folder.absolute(), root.absolute())).as_posix()
    return "" if inside == "." or inside.startswith("..") else f"{inside}/"


def dtype_of(name: str) -> str:
    """The name of a dtype, from its name in ONNX or C. Raises :class:`LeftOut`."""
    dtype = {"float": "float32", "double": "float64"}.get(name.lower(), name.lower())
    if dtype not in dtypes.NAMES:
        raise LeftOut(f"a tensor of type {name}; supported are {', '.join(dtypes.NAMES)}")
    return dtype


def make_case(
    *, group: str, name: str, title: str, spec: str, X: np.ndarray, attributes: Mapping[str, Any],
    outputs: Sequence[str], expect: Values, path: Path | str, provenance: Mapping[str, str], most_cells: int,
    tags: Iterable[str] = (), context: Context = MAX_POOL_ALONE,
) -> Case:  # fmt: skip
    """Build and check a case, about the clauses that follow from its bins.

    Raises :class:`LeftOut` for attributes that the document lacks and for a graph without an exact result, and
    :class:`Broken`.
    """
    document = specification(spec)
    try:
        document.typed(attributes)
    except IllTyped as error:
        raise LeftOut(str(error)) from error
    if any(values is not None and values.ndim == 0 for values in (X, expect.Y, expect.Indices)):
        raise LeftOut("a tensor without axes")
    if X.size > most_cells:
        raise Broken(f"X has {X.size} cells; the limit is {most_cells} (MAXPOOL_CHECK_MAX_CELLS raises it)")
    built = Case(
        id=f"{group}{spec}:{_id_text(name)}", spec=spec, X=Recipe.of(X), attributes=attributes, outputs=tuple(outputs),
        policies=document.policies, title=title, tags=tuple(map(_id_text, tags)),
        expect=None if expect.Y is None and expect.Indices is None else expect,
        origin=Origin(str(path), 1, 1), provenance=provenance, context=context,
    )  # fmt: skip
    try:
        dtype = built.check_exact()
    except Inexact as error:
        raise LeftOut(f"its graph has no exact result: {error}") from error
    for output, values, right in (("Y", expect.Y, dtype), ("Indices", expect.Indices, dtypes.NUMPY["int64"])):
        if values is not None and values.dtype != right:
            raise Broken(f"{output} is printed as {values.dtype.name}, expected {right.name}")
    try:
        checked_output(built, most_cells)
    except BadValue as error:
        raise Broken(str(error)) from error
    return with_clauses(built)


def _id_text(name: str) -> str:
    """A name with the characters that an id must not contain replaced."""
    return re.sub(r"[\s:*?\[\]\x00-\x1f\x7f]", "_", name)
