"""Cases of other suites: ONNX's test data, and SONNX's generated tests.

Each format is a module that converts files to cases. A case has the same id whether its file is read directly or imported
first: the folder, the document, and the name of the test, e.g. ``node/onnx-22:test_maxpool_2d_default``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from maxpool_check.corpus.importers import onnx_testdata, testgenonnx
from maxpool_check.corpus.importers.suite import Suite, read_files
from maxpool_check.corpus.tensors import SizeLimits

FORMATS = {".onnx": onnx_testdata, ".json": testgenonnx}
"""The formats of files that can be read directly, by suffix."""


def find_files(folder: Path) -> list[Path]:
    """The files of other suites below a folder."""
    return sorted([*folder.rglob(onnx_testdata.PATTERN), *folder.rglob(testgenonnx.PATTERN)])


def is_supported(file: Path) -> bool:
    """Whether a file is of another suite, not a case file."""
    return file.suffix in FORMATS and FORMATS[file.suffix].is_supported(file)


def read(files: Iterable[Path], root: Path, limits: SizeLimits) -> Suite:
    """The cases of files of other suites; their ids are relative to ``root``."""
    return read_files(files, lambda file: FORMATS[file.suffix].read(file, root, limits))
