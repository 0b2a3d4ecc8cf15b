"""Compiled cases in the user's cache: written when a case file was read, and used until something changes that they depend on."""

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from maxpool_check import file_cache
from maxpool_check.corpus.case import Case, contradictions
from maxpool_check.corpus.compiled import CompiledFile, Damaged, encoded
from maxpool_check.corpus.tensors import digest_of_npy, excess_together
from maxpool_check.graphs.context import GraphModel
from maxpool_check.judging.conforming import ConformingOutputs, conforming_outputs
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.pooling import Pooling
from maxpool_check.results.variants import ALL_VARIANTS

_MOST_CELLS = 2**20
"""Larger cases are judged by the reference, every time."""


def load(content: bytes, file: Path, root: Path, most_cells: int, cells: int, origin: str) -> CompiledFile | None:
    """The cases of a file with this content as they were read before; None if they are not in the cache.

    ``cells`` is how many the files before it have; ``origin`` is how messages name the file.
    """
    path = _path(content, file, root, most_cells)
    data = file_cache.load(path)
    if data is None:
        return None
    try:
        compiled = CompiledFile(path, data, origin, is_cached=True)
        if any(digest_of_npy(name, file.parent, root) != digest for name, digest in compiled.tensors.items()):
            return None
        if excess_together(cells + compiled.cells, most_cells) is not None:
            # The file is read again, for the message.
            return None
    except Damaged:
        return None
    return compiled


def save(
    cases: tuple[Case, ...], tensors: dict[str, str], content: bytes, file: Path, root: Path, most_cells: int
) -> Sequence[Case]:
    """Check the cases of a file against the reference, compute what conforms, and write them to the cache, unless one contradicts it."""
    if not cases or any(contradictions(case) for case in cases):
        return cases
    for case in cases:
        names = sorted({variant.outputs for variant in case.variants(ALL_VARIANTS)})
        case.with_results(case.sha256, _conforming(case, names), _models(case, names))
    data, path = encoded(cases, tensors), _path(content, file, root, most_cells)
    if data is None or not file_cache.save(path, data):
        return cases
    compiled = CompiledFile(path, data, cases[0].origin.path)
    compiled.load(cases)
    return compiled


def _conforming(case: Case, outputs: Sequence[tuple[str, ...]]) -> list[ConformingOutputs]:
    # What goes wrong here does so again, and as an error of each execution, in the judge.
    with contextlib.suppress(Exception):
        oracle = case.oracle()
        if isinstance(oracle, Oracle) and isinstance(case.resolved, Pooling) and case.X.size <= _MOST_CELLS:
            return conforming_outputs(oracle, outputs)
    return []


def _models(case: Case, outputs: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], GraphModel]:
    # As above, it is an error of each execution.
    with contextlib.suppress(Exception):
        if case.context is not None and isinstance(case.resolved, Pooling) and case.X.size <= _MOST_CELLS:
            return {names: case.model(names) for names in outputs}
    return {}


def _path(content: bytes, file: Path, root: Path, most_cells: int) -> Path:
    """Where the cases of a file are cached: by everything that they depend on, but its files of tensors."""
    within = os.path.relpath(file.absolute(), root.absolute())
    return file_cache.path_of("cases", within, most_cells, hashlib.sha256(content).hexdigest())
