"""Cases as case files: YAML, with large tensors as .npy files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from maxpool_check.corpus.case import Case, Values
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.document import resolve
from maxpool_check.corpus.tensors import Limits
from maxpool_check.reference.dtypes import bits, is_float, rounded

MOST_INLINE = 1024
"""The most values of a tensor that are written into the YAML file."""


class NotOurs(Exception):
    """A file that stands where one would be written, and was written by somebody else."""


def write(cases: Sequence[Case], folder: Path, about: str, written_by: str, limits: Limits) -> dict[Path, int]:
    """Write the cases below a folder, one file for each group of their ids; the files, with the number of cases in each.

    ``written_by`` becomes the first line. A file that begins otherwise is not replaced: :class:`NotOurs` is raised before
    anything is written.
    """
    groups: dict[Path, list[Case]] = {}
    for case in cases:
        groups.setdefault(folder / f"{case.id.rpartition(':')[0]}.yaml", []).append(case)
    first = f"# {written_by}\n"
    for path in groups:
        if path.exists() and not path.read_bytes().startswith(first.encode()):
            raise NotOurs(f"{path} is there already, and was not written by '{written_by}'")
    for path, group in groups.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        data = _file(group, about, path)
        text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=118)
        path.write_text(first + text, encoding="utf-8", newline="\n")
        # What was written is what was meant, or it must not stay unnoticed.
        read = read_cases(path, folder, limits)
        if [(one.id, one.sha256) for one in read] != [(one.id, one.sha256) for one in group]:
            raise RuntimeError(f"{path} does not say what was to be written")
    return {path: len(group) for path, group in groups.items()}


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes text so that it is read as text, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (PyYAML asks so)
        return True


def _text(dumper: Any, text: str) -> Any:
    # The dumper knows the numbers of YAML 1.1; files are read by those of 1.2.
    style = None if isinstance(resolve(text), str) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _file(cases: Sequence[Case], about: str, path: Path) -> dict[str, Any]:
    shared = dict(cases[0].provenance)
    for case in cases:
        shared = {key: value for key, value in shared.items() if case.provenance.get(key) == value and key != "file"}
    defaults = {"defaults": {"provenance": shared}} if shared else {}
    entries = [_entry(case, shared, path) for case in cases]
    return {"spec": cases[0].spec, "about": about, **defaults, "cases": entries}


def _entry(case: Case, shared: dict[str, str], path: Path) -> dict[str, Any]:
    document = case.specification
    name = case.id.rpartition(":")[2]
    own = document.policies.names()
    entry = {
        "id": name,
        "title": case.title,
        "provenance": {key: value for key, value in case.provenance.items() if key not in shared},
        "covers": list(case.covers),
        "tags": list(case.tags),
        "input": _input(case.X, path, f"{name}.X"),
        "attributes": dict(case.attributes),
        "outputs": list(case.outputs) if len(case.outputs) == 1 and document.indices else [],
        "policies": {
            point: interpretation
            for point, interpretation in case.policies.names().items()
            if own[point] != interpretation
        },
    }
    if case.expect is not None:
        assert isinstance(case.expect, Values), "only printed values are written"
        entry["expect"] = _expect(case.expect, path, name)
    if case.erratum is not None:
        entry["erratum"] = case.erratum
    return {key: value for key, value in entry.items() if value not in ([], {})}


def _input(X: np.ndarray, path: Path, name: str) -> dict[str, Any]:
    dtype = X.dtype.name
    if X.size == 0:
        # Nested lists end at the first empty one.
        return {"dtype": dtype, "shape": list(X.shape), "fill": 0}
    if _is_large(X):
        return {"npy": _beside(X, path, name)}
    if is_float(X.dtype) and np.isnan(X).any():
        digits = X.dtype.itemsize * 2
        patterns = [f"{pattern:0{digits}x}" for pattern in bits(X).ravel().tolist()]
        return {"dtype": dtype, "bits": np.array(patterns).reshape(X.shape).tolist()}
    return {"dtype": dtype, "data": _values(X)}


def _expect(expect: Values, path: Path, name: str) -> dict[str, Any]:
    printed = {key: value for key, value in (("Y", expect.Y), ("Indices", expect.Indices)) if value is not None}
    if any(value.size == 0 for value in printed.values()):
        return {"shape": list(next(iter(printed.values())).shape)}
    return {
        key: {"npy": _beside(value, path, f"{name}.{key}")} if _is_large(value) else _values(value)
        for key, value in printed.items()
    }


def _is_large(values: np.ndarray) -> bool:
    # A .npy file has no name for bfloat16.
    return values.size > MOST_INLINE and values.dtype.name != "bfloat16"


def _beside(values: np.ndarray, path: Path, name: str) -> str:
    file = path.with_suffix("") / f"{name}.npy"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as stream:
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        np.lib.format.write_array(stream, np.ascontiguousarray(little), version=(1, 0), allow_pickle=False)
    return file.relative_to(path.parent).as_posix()


def _values(values: np.ndarray) -> Any:
    """Nested lists of the shortest numbers that are read as these."""
    if not is_float(values.dtype):
        return values.tolist()
    short = np.array([float(str(value)) for value in values.ravel()], np.float64)
    exact = np.array_equal(bits(rounded(short, values.dtype)), bits(values.ravel()))
    return (short.reshape(values.shape) if exact else values.astype(np.float64)).tolist()
