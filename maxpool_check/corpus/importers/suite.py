"""What comes of interpretation another suite: cases, what is left out, and what cannot be read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case, Origin, Values
from maxpool_check.corpus.case_file import too_large
from maxpool_check.corpus.problems import Problem
from maxpool_check.corpus.tensors import SizeLimits
from maxpool_check.reference import dtypes
from maxpool_check.specifications import specification
from maxpool_check.specifications.attributes import typed
from maxpool_check.specifications.refused import IllTyped


@dataclass(frozen=True)
class Suite:
    """The cases of some files; ``left_out`` are tests that are no cases, ``broken`` are files that cannot be read."""

    cases: tuple[Case, ...] = ()
    left_out: tuple[Problem, ...] = ()
    broken: tuple[Problem, ...] = ()


class LeftOut(Exception):
    """A test that was understood and is no case; the text says why."""


class Broken(Exception):
    """A file that cannot be read; the text says why. Its path, where it is another one than the one asked for."""

    def __init__(self, message: str, path: Path | None = None, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.path, self.line, self.column = path, line, column


def gathered(files: Iterable[Path], read: Callable[[Path], Sequence[Case]]) -> Suite:
    """What comes of all files, read one by one."""
    cases: list[Case] = []
    left_out: list[Problem] = []
    broken: list[Problem] = []
    for file in files:
        try:
            cases += read(file)
        except LeftOut as why:
            left_out.append(Problem(str(file), 1, 1, str(why)))
        except Broken as error:
            broken.append(Problem(str(error.path or file), error.line, error.column, str(error)))
    return Suite(tuple(cases), tuple(left_out), tuple(broken))


def content(file: Path, most: int) -> bytes:
    """The bytes of a file of at most so many. Raises :class:`Broken`."""
    try:
        size = file.stat().st_size
        if size > most:
            raise Broken(f"the file has {size} bytes; at most {most} are read", file)
        return file.read_bytes()
    except OSError as error:
        raise Broken(f"cannot be read: {error.strerror}", file) from error


def group_of(folder: Path, root: Path) -> str:
    """What the ids of a folder's cases begin with: its path inside ``root``; nothing for the root and what is outside."""
    inside = Path(os.path.relpath(folder.absolute(), root.absolute())).as_posix()
    return "" if inside == "." or inside.startswith("..") else inside


def dtype_of(name: str) -> str:
    """The tool's name of an element type that ONNX or C calls otherwise. Raises :class:`LeftOut`."""
    known = {"float": "float32", "double": "float64"}.get(name.lower(), name.lower())
    if known not in dtypes.NAMES:
        raise LeftOut(f"a tensor of type {name}; there are {', '.join(dtypes.NAMES)}")
    return known


def case(
    *, group: str, name: str, title: str, spec: str, X: np.ndarray, attributes: Mapping[str, Any],
    outputs: Sequence[str], expect: Values, path: Path | str, provenance: Mapping[str, str], limits: SizeLimits,
    covers: Sequence[str] = (), tags: Sequence[str] = (),
) -> Case:  # fmt: skip
    """One case. Raises :class:`LeftOut` for attributes the document does not know, :class:`Broken` for what makes no case."""
    document = specification(spec)
    try:
        typed(attributes, document.attributes, document.title)
    except IllTyped as error:
        raise LeftOut(str(error)) from error
    for output, values, dtype in (("Y", expect.Y, X.dtype), ("Indices", expect.Indices, dtypes.NUMPY["int64"])):
        if values is not None and values.dtype != dtype:
            raise Broken(f"{output} is printed as {values.dtype.name}, expected {dtype.name}")
    if any(values is not None and values.ndim == 0 for values in (X, expect.Y, expect.Indices)):
        raise LeftOut("a tensor without axes")
    if X.size > limits.cells:
        raise Broken(f"X has {X.size} cells; the limit is {limits.cells} (raise it with --max-cells)")
    prefix = f"{group}/{spec}" if group else spec
    built = Case(
        id=f"{prefix}:{_word(name)}", spec=spec, X=X, attributes=attributes, outputs=tuple(outputs),
        policies=document.policies, title=title, covers=tuple(covers), tags=tuple(map(_word, tags)),
        expect=None if expect.Y is None and expect.Indices is None else expect,
        origin=Origin(str(path), 1, 1), provenance=provenance,
    )  # fmt: skip
    message = too_large(built, limits)
    if message is not None:
        raise Broken(message)
    return built


def _word(name: str) -> str:
    """A name as an id may be written."""
    return re.sub(r"[\s:*?\[\]\x00-\x1f\x7f]", "_", name)
