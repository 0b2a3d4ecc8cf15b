"""Results that were made elsewhere, on a board or in a simulator: a file of JSON lines, one for each case and variant."""

import base64
import binascii
import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.problems import BadValue, CorpusError, Problem, Structure
from maxpool_check.corpus.schema import read_schema
from maxpool_check.corpus.tensors import array
from maxpool_check.files import read_regular
from maxpool_check.reference.dtypes import NUMPY
from maxpool_check.results.outcomes import Crashed, NotExecuted, Outcome, RefusedByTarget, Returned, TimedOut
from maxpool_check.results.variants import Variant
from maxpool_check.specifications import documents
from maxpool_check.specifications.specification import nearest
from maxpool_check.targets.protocol import without_surrogates
from maxpool_check.words import plural

MOST_BYTES = 2**31
"""The largest file that is read."""

_SPECIAL = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_FILE = Path(__file__).with_name("results.schema.json")
_RESULT, _TARGET = (Structure(read_schema(_FILE, line)) for line in ("result", "target"))
SCHEMA: Any = read_schema(_FILE)
"""The published schema of one line of a file of results."""

_OUTCOMES = ("outputs", "refusal", "crash", "timeout", "unable")
"""The keys of which a result has exactly one."""


@dataclass(frozen=True)
class GivenResult:
    """The outcome of a case in one variant, how long it took, and its line in the file."""

    outcome: Outcome
    seconds: float
    line: int


@dataclass(frozen=True)
class GivenResults:
    """The results of a file; ``target`` is what its first line says of the target."""

    path: Path
    sha256: str
    target: Mapping[str, Any] = field(default_factory=dict)
    by_case: Mapping[str, Mapping[Variant, GivenResult]] = field(default_factory=dict)


def plain_variants(case: Case) -> Sequence[Variant]:
    """The variants of a case that differ in their outputs alone."""
    return [each for each in case.variants() if each.variation is None and not each.in_domain]


def read_results(path: Path, cases: Mapping[str, Case]) -> GivenResults:
    """Read results of some cases, by id. Raises ``OSError``, and :class:`CorpusError` with every mistake in the file."""
    content = read_regular(path, MOST_BYTES)
    target: Mapping[str, Any] = {}
    by_case: dict[str, dict[Variant, GivenResult]] = defaultdict(dict)
    problems: list[Problem] = []
    is_first = True
    if content.startswith(b'{"schema":"maxpool-check/vectors/'):
        raise CorpusError([Problem(str(path), 1, 1, "these are exported vectors, not results")])
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            message = without_surrogates(json.loads(line))
            if isinstance(message, dict) and "target" in message:
                target = _target(message, is_first=is_first)
            else:
                case, variant, result = _result(message, cases, number)
                if (other := by_case[case.id].get(variant)) is not None:
                    raise BadValue(f"{case.id} has a result of the variant {variant} on line {other.line}", "case")
                by_case[case.id][variant] = result
        except BadValue as bad:
            problems += [Problem(str(path), number, _column(line, each.path), str(each)) for each in bad.all]
        except json.JSONDecodeError as error:
            # The first line that can be read may still describe the target.
            problems.append(Problem(str(path), number, error.colno, _not_json(error)))
            continue
        except (ValueError, RecursionError) as error:
            problems.append(Problem(str(path), number, 1, f"not a line of JSON: {error}"))
        is_first = False
    if problems:
        raise CorpusError(problems)
    return GivenResults(path, hashlib.sha256(content).hexdigest(), target, by_case)


def _not_json(error: json.JSONDecodeError) -> str:
    """What is wrong with a line, and the text there; C prints NaN and infinity as no JSON."""
    text = error.doc[error.pos : error.pos + 20].strip()
    special = re.match(r"-?nan|(-?inf)", text, re.IGNORECASE)
    advice = f'; write "{(special[1] or "nan").lower()}", with quotes' if special else ""
    return f"not JSON: {error.msg}, at '{text}'{advice}"


def _check(structure: Structure, message: Any) -> None:
    """Raise :class:`BadValue` for what has another structure."""
    mistakes = [
        BadValue(f"{text}{'' if key or not path else _where(path)}", *path, *([key] if key is not None else []))
        for path, key, text in structure.mistakes(message)
    ]
    if mistakes:
        mistakes[0].all = mistakes
        raise mistakes[0]


def _where(path: Sequence[str | int]) -> str:
    return f" ({'.'.join(map(str, path))})"


def _target(message: dict[str, Any], *, is_first: bool) -> Mapping[str, Any]:
    if not is_first:
        raise BadValue(
            "only the first line describes the target; results of another one need a file of their own", "target"
        )
    _check(_TARGET, message)
    for name in message["target"].get("specs", ()):
        try:
            documents(name)
        except ValueError as error:
            raise BadValue(str(error), "target", "specs") from error
    target: Mapping[str, Any] = message["target"]
    return target


def _result(message: Any, cases: Mapping[str, Case], line: int) -> tuple[Case, Variant, GivenResult]:
    _check(_RESULT, message)
    kinds = [kind for kind in _OUTCOMES if kind in message]
    if len(kinds) != 1:
        raise BadValue(
            f"expected exactly one of {', '.join(_OUTCOMES)}; found {' and '.join(kinds) or 'none'}", *kinds[1:2]
        )
    for key in ("timeout", "seconds"):
        if not math.isfinite(message.get(key, 0)):
            raise BadValue("expected a number of seconds", key)
    name = message["case"]
    if name not in cases:
        hint = nearest(name, cases) or "; 'maxpool-check list' lists the cases"
        raise BadValue(f"no case '{name}' among those that were read{hint}", "case")
    case = cases[name]
    variant = _variant(case, message)
    return case, variant, GivenResult(_outcome(message), float(message.get("seconds", 0)), line)


def _variant(case: Case, message: Mapping[str, Any]) -> Variant:
    """The variant of a result: the one that it names, or that which has its outputs."""
    applicable = plain_variants(case)
    by_name = {each.name: each for each in applicable}
    name = message.get("variant")
    if name is not None and name not in by_name:
        raise BadValue(f"{case.id} has no variant '{name}'; it has {', '.join(by_name)}", "variant")
    if "outputs" not in message:
        return by_name[name] if name is not None else applicable[0]
    outputs = message["outputs"]
    variant = by_name[name] if name is not None else next(
        (each for each in applicable if set(each.outputs) <= outputs.keys()), applicable[-1]
    )  # fmt: skip
    more = case.context.side_outputs
    if missing := [each for each in (*variant.outputs, *more) if each not in outputs]:
        similar = next((f" (it has '{each}')" for each in outputs if each.lower() == missing[0].lower()), "")
        raise BadValue(
            f"'outputs' has no '{missing[0]}'{similar}, which the variant {variant} of {case.id} has", "outputs"
        )
    known = ("Y", "Indices", *more)
    if unknown := [each for each in outputs if each not in known]:
        raise BadValue(f"unknown output '{unknown[0]}'; {case.id} has {', '.join(known)}", "outputs", unknown[0])
    return variant


def _outcome(message: Mapping[str, Any]) -> Outcome:
    if "refusal" in message:
        return RefusedByTarget(message["refusal"]["status"], message["refusal"]["message"])
    if "crash" in message:
        return Crashed(message["crash"], "")
    if "timeout" in message:
        return TimedOut(float(message["timeout"]))
    if "unable" in message:
        return NotExecuted(message["unable"])
    outputs = {}
    for name, tensor in message["outputs"].items():
        try:
            outputs[name] = _tensor(tensor)
        except BadValue as error:
            raise error.inside("outputs", name) from None
    return Returned(outputs)


def _tensor(tensor: Mapping[str, Any]) -> np.ndarray:
    """The tensor of its JSON. Raises :class:`BadValue`."""
    forms = [form for form in ("data", "hex", "values") if form in tensor]
    if len(forms) != 1:
        raise BadValue(f"expected exactly one of data, hex, values; found {' and '.join(forms) or 'none'}", *forms[1:2])
    (form,) = forms
    dtype, shape, given = NUMPY[tensor["dtype"]], tuple(map(int, tensor["shape"])), tensor[form]
    cells = math.prod(shape)
    if form == "values":
        try:
            values = array(
                [_SPECIAL.get(each.lower(), each) if isinstance(each, str) else each for each in given], dtype
            )
        except BadValue as error:
            raise error.inside(form) from None
        if len(given) != cells:
            raise BadValue(f"{plural(len(given), 'value')}; the shape {list(shape)} has {cells}", form)
        return values.reshape(shape)
    try:
        content = base64.b64decode(given, validate=True) if form == "data" else bytes.fromhex(given)
    except (binascii.Error, ValueError) as error:
        raise BadValue(f"not {'base64' if form == 'data' else 'hexadecimal digits'}: {error}", form) from error
    if len(content) != cells * dtype.itemsize:
        expected = cells * dtype.itemsize
        raise BadValue(f"{plural(len(content), 'byte')}; {dtype.name} of the shape {list(shape)} has {expected}", form)
    little = np.frombuffer(content, dtype.newbyteorder("<")).reshape(shape)
    return little.astype(dtype.newbyteorder("="))


def _column(line: bytes, path: Sequence[str | int]) -> int:
    """The column, from 1, of the value that a path leads to: where its last key begins."""
    place = 0
    for key in _keys(path):
        found = line.find(f"{json.dumps(key)}".encode(), place)
        if found < 0:
            break
        place = found
    return len(line[:place].decode(errors="replace")) + 1


def _keys(path: Sequence[str | int]) -> Iterator[str]:
    return (key for key in path if isinstance(key, str))
