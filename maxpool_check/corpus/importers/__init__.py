"""Cases of other suites: ONNX's test data, and SONNX's generated tests.

A format is a module that makes cases of files. The cases have the same ids whether the files are read where they are or
imported first: the folder, the document, and the name of the test, as ``node/onnx-22:test_maxpool_2d_default``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from maxpool_check.corpus.importers import onnx_testdata, testgenonnx
from maxpool_check.corpus.importers.suite import Suite, gathered
from maxpool_check.corpus.tensors import SizeLimits

FORMATS = {".onnx": onnx_testdata, ".json": testgenonnx}
"""The formats of files that are read where they are, by suffix."""


def found(folder: Path) -> list[Path]:
    """The files below a folder that other suites are made of."""
    return sorted([*folder.rglob(onnx_testdata.PATTERN), *folder.rglob(testgenonnx.PATTERN)])


def takes(file: Path) -> bool:
    """Whether a single file is one of another suite, rather than a case file."""
    return file.suffix in FORMATS and FORMATS[file.suffix].takes(file)


def read(files: Iterable[Path], root: Path, limits: SizeLimits) -> Suite:
    """The cases of files that :func:`found` found or that it :func:`takes`; their ids count from ``root``."""
    return gathered(files, lambda file: FORMATS[file.suffix].read(file, root, limits))
