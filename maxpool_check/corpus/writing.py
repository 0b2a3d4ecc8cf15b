"""Writes cases as a case file: what :mod:`~maxpool_check.corpus.case_file` reads back to the same bits."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.literals import array
from maxpool_check.reference.dtypes import bits, highest, is_float, lowest
from maxpool_check.specifications.refused import Refused


def case_file(case: Case, about: str) -> str:
    """The text of a file that holds one case. Its expectation is the refusal, where its document excludes it."""
    lines = [f"spec: {case.spec}", f"about: {_flow(about)}", "cases:", f"  - id: {case.id.rpartition(':')[2]}"]
    lines.append(f"    title: {_flow(case.title)}")
    for name, words in (("covers", case.covers), ("tags", case.tags)):
        if words:
            lines.append(f"    {name}: {_flow(words)}")
    lines.append(f"    input: {_input(case.X)}")
    if case.attributes:
        lines.append(f"    attributes: {_flow(case.attributes)}")
    lines.append(f"    outputs: [{', '.join(case.outputs)}]")
    usual = case.specification.policies.names()
    changed = {
        point: interpretation
        for point, interpretation in case.policies.names().items()
        if interpretation != usual[point]
    }
    if changed:
        lines.append(f"    policies: {_flow(changed)}")
    if isinstance(case.resolved, Refused):
        lines.append(f"    expect: {{refuse: {case.resolved.reason.value}}}")
    return "\n".join(lines) + "\n"


def _input(X: np.ndarray) -> str:
    if X.size == 0 or X.ndim == 0:
        fill = "0" if X.size == 0 else _literal(X.reshape(-1)[0])
        return f"{{dtype: {X.dtype.name}, shape: {_flow(X.shape)}, fill: {fill}}}"
    written = [_literal(value) for value in X.reshape(-1)]
    if (bits(array([_value(text) for text in written], X.dtype)) == bits(X.reshape(-1))).all():
        return f"{{dtype: {X.dtype.name}, data: {_nested(written, X.shape)}}}"
    # A NaN has a payload, which no number shows.
    patterns = [f'"{pattern:0{2 * X.dtype.itemsize}x}"' for pattern in bits(X).reshape(-1)]
    return f"{{dtype: {X.dtype.name}, bits: {_nested(patterns, X.shape)}}}"


def _literal(value: np.generic) -> str:
    """One cell as a literal of a case file."""
    dtype = value.dtype
    if not is_float(dtype):
        return str(int(value))
    if np.isnan(value):
        return ".nan"
    if np.isinf(value):
        return ".inf" if float(value) > 0 else "-.inf"
    limits = ml_dtypes.finfo(dtype)
    names = {"lowest": lowest(dtype), "highest": highest(dtype), "smallest_subnormal": limits.smallest_subnormal}
    for name, limit in names.items():
        if value == limit:
            return name
    if float(value).is_integer() and abs(float(value)) < 2**53:
        # The sign of a zero is its own.
        return f"{float(value):.1f}" if value == 0 else str(int(value))
    return repr(float(value))


def _value(text: str) -> Any:
    """A literal as the reader of YAML has it."""
    words = {".nan": math.nan, ".inf": math.inf, "-.inf": -math.inf}
    if text in words:
        return words[text]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    if len(shape) == 1:
        return f"[{', '.join(texts)}]"
    step = len(texts) // shape[0]
    rows = (_nested(texts[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))
    return f"[{', '.join(rows)}]"


def _flow(value: Any) -> str:
    """Plain data as YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_word(str(key))}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    return json.dumps(value, ensure_ascii=False)


def _word(text: str) -> str:
    return text if text.replace("_", "a").isalnum() and text.isascii() else json.dumps(text)
