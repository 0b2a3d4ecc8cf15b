"""Writes cases as case files, which :mod:`~maxpool_check.corpus.case_file` reads back bit for bit.

A single case is one text, with values as a person would write them. The cases of a suite are files of plain YAML, with
large tensors in .npy files next to them.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import yaml

from maxpool_check import inert
from maxpool_check.corpus.case import Case, Refusal, Values
from maxpool_check.corpus.case_file import read_cases
from maxpool_check.corpus.document import scalar_value
from maxpool_check.corpus.graph_fields import graph_fields
from maxpool_check.corpus.tensors import MOST_CELLS, array
from maxpool_check.files import named
from maxpool_check.reference.dtypes import bits, highest, is_float, lowest, rounded
from maxpool_check.specifications.specification import Refused

MOST_INLINE = 1024
"""The most values of a tensor that a suite's YAML file contains."""


class ForeignFile(Exception):
    """A file to be written exists and was not written by the same command."""


class _Plain(str):
    """Text that needs no quotes."""


def case_file(case: Case, about: str) -> str:
    """The text of a file with one case. It expects nothing but the refusal, where the case's document excludes it."""
    refusal = case.resolved
    expect = {"refuse": _Plain(refusal.reason.value)} if isinstance(refusal, Refused) else {}
    X = case.X.tensor()
    literals = [_literal(value) for value in X.reshape(-1)]
    # No number has the payload of a NaN.
    is_exact = X.ndim == 0 or (bits(array(literals, X.dtype)) == bits(X.reshape(-1))).all()
    tensor = input_of(X, np.array(literals, object).reshape(X.shape).tolist() if is_exact else None)
    fields = _fields(case, case.provenance, tensor, case.outputs, expect)
    lines = "\n    ".join(f"{key}: {_flow(value)}" for key, value in fields.items())
    return f"spec: {case.spec}\nabout: {_flow(about)}\ncases:\n  - {lines}\n"


def write_suite(
    cases: Sequence[Case], folder: Path, about: str, written_by: str, most_cells: int = MOST_CELLS
) -> dict[Path, int]:
    """Write cases below a folder, a file for each prefix of their ids; the files, with the number of cases in each.

    ``written_by`` becomes the first line. Raises :class:`ForeignFile`, before anything is written, for a file that
    exists with another first line.
    """
    groups: dict[Path, list[Case]] = {}
    for case in cases:
        groups.setdefault(folder / f"{case.id.rpartition(':')[0]}.yaml", []).append(case)
    first_line = _first_line(groups, written_by)
    for path, group in groups.items():
        shared = {
            key: value
            for key, value in group[0].provenance.items()
            if key != "file" and all(case.provenance.get(key) == value for case in group)
        }
        defaults = {"defaults": {"provenance": shared}} if shared else {}
        entries = [_suite_entry(case, shared, path) for case in group]
        # A case with an operator set names its version of the document by it.
        spec = next((case.spec for case in group if case.context.is_alone), group[0].spec)
        data = {"spec": spec, "about": about, **defaults, "cases": entries}
        _write(path, first_line, data, group, folder, most_cells)
    return {path: len(group) for path, group in groups.items()}


def write_with_inputs(cases: Sequence[tuple[Case, Mapping[str, Any]]], path: Path, about: str, written_by: str) -> None:
    """Write cases of one document to a file, each with the ``input`` that makes its X; they expect nothing.

    Their ids in the file are the names of the cases. ``written_by`` becomes the first line. Raises :class:`ForeignFile` for a
    file that exists with another first line.
    """
    first_line = _first_line([path], written_by)
    entries = [_fields(case, case.provenance, fields, _unusual_outputs(case), {}) for case, fields in cases]
    data = {"spec": cases[0][0].spec, "about": about, "cases": entries}
    _write(path, first_line, data, [case for case, _ in cases], path.parent, MOST_CELLS)


def _first_line(paths: Iterable[Path], written_by: str) -> str:
    """The first line of files. Raises :class:`ForeignFile` for one that exists with another."""
    first_line = f"# {written_by}\n"
    for path in paths:
        if path.exists() and not path.read_bytes().startswith(first_line.encode()):
            raise ForeignFile(f"{path} exists and was not written by '{written_by}'")
    return first_line


def _unusual_outputs(case: Case) -> Sequence[str]:
    """The outputs of a case, where they are not all that its document has."""
    return () if len(case.outputs) == 2 or not case.specification.indices else case.outputs


def _write(
    path: Path, first_line: str, data: Mapping[str, Any], cases: Sequence[Case], folder: Path, most_cells: int
) -> None:
    """Write a case file, and check that it reads back as its cases."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=118)
    with named(path):
        path.write_text(first_line + text, encoding="utf-8", newline="\n")
    read = read_cases(path, folder, most_cells)
    if [(case.name, case.sha256) for case in read] != [(case.name, case.sha256) for case in cases]:
        raise RuntimeError(f"{path} does not read back as the cases written to it")


def _fields(
    case: Case, provenance: Mapping[str, str], tensor: Mapping[str, Any], outputs: Sequence[str],
    expect: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The fields of a case in a case file, in their usual order, without empty ones."""
    usual = case.specification.policies.names()
    policies = {point: choice for point, choice in case.policies.names().items() if choice != usual[point]}
    fields = {
        "id": _Plain(case.name), "title": case.title, "provenance": dict(provenance), "covers": list(case.covers),
        "tags": list(case.tags), "input": tensor, **graph_fields(case, tensor), "attributes": dict(case.attributes),
        "outputs": [_Plain(name) for name in outputs], "policies": policies, "expect": expect,
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value not in ([], {})}


def input_of(X: np.ndarray, data: Any = None) -> dict[str, Any]:
    """The ``input`` that contains X: ``data``, or the bit patterns where that is None."""
    dtype = _Plain(X.dtype.name)
    if X.size == 0:
        # Nested lists end at the first empty one.
        return {"dtype": dtype, "shape": list(X.shape), "fill": 0}
    if X.ndim == 0:
        return {"dtype": dtype, "shape": [], "fill": data}
    if data is not None:
        return {"dtype": dtype, "data": data}
    patterns = [f"{pattern:0{X.dtype.itemsize * 2}x}" for pattern in bits(X).reshape(-1).tolist()]
    return {"dtype": dtype, "bits": np.array(patterns).reshape(X.shape).tolist()}


def _literal(value: np.generic) -> float | int | str:
    """One cell as a literal of a case file."""
    dtype = value.dtype
    if not is_float(dtype):
        return int(value)
    if np.isnan(value):
        # Without its payload, which a conversion would keep.
        return math.nan
    subnormal = ml_dtypes.finfo(dtype).smallest_subnormal
    for name, limit in (("lowest", lowest(dtype)), ("highest", highest(dtype)), ("smallest_subnormal", subnormal)):
        if value == limit:
            return _Plain(name)
    number = float(value)
    # An integer has no negative zero.
    return int(number) if number and number.is_integer() and abs(number) < 2**53 else number


def _flow(value: Any) -> str:
    """Plain data as YAML on one line."""
    if isinstance(value, Mapping):
        names = {key: key if re.fullmatch(r"[A-Za-z0-9_]+", key) else json.dumps(key) for key in map(str, value)}
        return "{" + ", ".join(f"{names[str(key)]}: {_flow(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return value if isinstance(value, _Plain) else inert.line(json.dumps(value, ensure_ascii=False))


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Quotes text that would be read as another value, and writes no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (PyYAML's signature)
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    # The dumper quotes for YAML 1.1; files are read as YAML 1.2.
    style = None if isinstance(scalar_value(text), str) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(_Plain, _represent_text)


# NumPy warns of signalling NaN.
@np.errstate(invalid="ignore")
def _suite_entry(case: Case, shared: Mapping[str, str], path: Path) -> dict[str, Any]:
    provenance = {key: value for key, value in case.provenance.items() if key not in shared}
    X = case.X.tensor()
    has_nan = is_float(X.dtype) and np.isnan(X).any()
    tensor = _npy(X, path, f"{case.name}.X") or input_of(X, None if has_nan else _numbers(X))
    erratum = {} if case.erratum is None else {"erratum": case.erratum}
    return {**_fields(case, provenance, tensor, _unusual_outputs(case), _expected(case, path)), **erratum}


def _expected(case: Case, path: Path) -> dict[str, Any]:
    """The ``expect`` of a case whose printed values, or whose refusal, are known."""
    if isinstance(case.expect, Refusal):
        return {"refuse": case.expect.reason.value}
    assert case.expect is None or isinstance(case.expect, Values), "only printed values and refusals are written"
    printed = {} if case.expect is None else {"Y": case.expect.Y, "Indices": case.expect.Indices}
    tensors = {name: values for name, values in printed.items() if values is not None}
    if any(values.size == 0 for values in tensors.values()):
        return {"shape": list(next(iter(tensors.values())).shape)}
    return {name: _npy(value, path, f"{case.name}.{name}") or _numbers(value) for name, value in tensors.items()}


def _npy(values: np.ndarray, path: Path, name: str) -> dict[str, str]:
    """Write a large tensor to a file and refer to it; empty for others."""
    # The .npy format has no name for bfloat16.
    if values.size <= MOST_INLINE or values.dtype.name == "bfloat16":
        return {}
    file = path.with_suffix("") / f"{name}.npy"
    file.parent.mkdir(parents=True, exist_ok=True)
    with named(file), file.open("wb") as stream:
        little_endian = values.astype(values.dtype.newbyteorder("<"), copy=False)
        np.lib.format.write_array(stream, np.ascontiguousarray(little_endian), version=(1, 0), allow_pickle=False)
    return {"npy": file.relative_to(path.parent).as_posix()}


def _numbers(values: np.ndarray) -> Any:
    """Nested lists of the shortest numbers that read back as these values."""
    if not is_float(values.dtype):
        return values.tolist()
    short = np.array([float(str(value)) for value in values.ravel()], np.float64)
    is_exact = np.array_equal(bits(rounded(short, values.dtype)), bits(values.ravel()))
    return (short.reshape(values.shape) if is_exact else values.astype(np.float64)).tolist()
