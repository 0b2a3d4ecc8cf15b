"""What a test of ONNX's test data cannot tell, because a runner compares with a tolerance or ignores the sign of zero."""

from collections.abc import Iterator, Mapping

import numpy as np

from maxpool_check.exporting.export import Export
from maxpool_check.words import plural

_RELATIVE, _ABSOLUTE = 1e-3, 1e-7
"""The usual tolerance of onnx's runner."""

EITHER_ZERO = "either_zero"
"""The tests in which the document leaves the sign of a zero of an output open, so that a runner must accept both."""

LIMITS = {
    "zero_sign": "A zero of the other sign passes: a runner compares numbers, and -0 equals +0.",
    "bfloat16": "A value that is off by 1/64 passes: onnx's runner has no smaller tolerance for bfloat16.",
    "index_with_usual_tolerance": "An index of 1000 or more that is off by one passes with the usual tolerance of onnx's "
    "runner (1e-3, and 1e-7 absolute), which it applies to Indices as well.",
    "value_with_usual_tolerance": "Another value of X passes for the right one with that tolerance.",
}
"""What wrong outputs pass, each with its sentence; the last two do not where data.json is read, which sets no tolerance."""


def limits_of(outputs: Mapping[str, np.ndarray], X: np.ndarray, zeros: np.ndarray) -> Iterator[str]:
    """The limits that concern a test with these expected outputs.

    ``zeros``: for each zero of the outputs, whether the other sign is right, too.
    """
    if zeros.any():
        yield EITHER_ZERO
    if not zeros.all():
        yield "zero_sign"
    for name, tensor in outputs.items():
        if name == "Indices":
            if tensor.size and tensor.max() * _RELATIVE >= 1:
                yield "index_with_usual_tolerance"
            continue
        if tensor.dtype.name == "bfloat16":
            yield "bfloat16"
        if _is_near_another(tensor, X):
            yield "value_with_usual_tolerance"


def _is_near_another(tensor: np.ndarray, X: np.ndarray) -> bool:
    """Whether a value of an output is within the usual tolerance of another value in it, or of X if it has its type."""
    values = tensor.reshape(-1)
    with np.errstate(all="ignore"):
        return _are_near(values, np.concatenate([values, X.reshape(-1)]) if X.dtype == tensor.dtype else values)


def _are_near(values: np.ndarray, others: np.ndarray) -> bool:
    """Whether one of the values is within the usual tolerance of another one of the others."""
    expected, others = (np.unique(each.astype(np.float64)) for each in (values, others))
    expected, others = expected[np.isfinite(expected)], others[np.isfinite(others)]
    if not expected.size or others.size < 2:
        return False
    at = np.searchsorted(others, expected)
    tolerance = _ABSOLUTE + _RELATIVE * np.abs(expected)
    below = (at > 0) & (expected - others[np.maximum(at - 1, 0)] <= tolerance)
    above = (at < others.size - 1) & (others[np.minimum(at + 1, others.size - 1)] - expected <= tolerance)
    return bool((below | above).any())


def limits_page(export: Export) -> str:
    """What an export of this form cannot hold and cannot tell, for readers."""
    tests = len({path.partition("/")[0] for path in export.files})
    count = f"{plural(tests, 'test')} of {plural(len(export.cases), 'case')}"
    reasons = export.reasons
    whole, partly = (sum(getattr(each, name) for each in reasons.values()) for name in ("whole", "partly"))
    rows = [f"| {reason} | {each.whole} | {each.partly} |" for reason, each in reasons.items()]
    rows.append(f"| all | {whole} | {partly} |")
    limits = [f"| {about} | {len(export.limits[limit])} |" for limit, about in LIMITS.items()]
    either = [f"- {name}" for name in export.limits[EITHER_ZERO]]
    zeros = [_EITHER_ZERO.format(count=plural(len(either), "test")), *either] if either else []
    return "\n".join([_PAGE.format(count=count), *rows, _TOLD, *limits, _REST, *zeros]) + "\n"


_PAGE = """\
# Limits of this export

{count}. A test holds one answer, so that some cases are left out; `manifest.json` names each of them under `left_out`.
`maxpool-check export json` has nearly all.

A case with several right outputs may have one test instead of two: its Y is the same in all of them, its Indices are not. Each case
counts once, for the first of its reasons.

| left out | cases without a test | cases with one test left out |
|---|---:|---:|"""

_TOLD = """
What the tests do not tell, because of how a runner compares; `manifest.json` names the tests under `limits`:

| limit | tests |
|---|---:|"""

_REST = """
Each test has a `data.json` that sets both tolerances to 0. The loader of onnx reads it in recent releases such as 1.23, not
in 1.16; other runners may not.

A runtime that lacks an activation fails the tests with that node; `run` does not count them.

Nor do the tests tell the bits of a NaN, which are no part of a verdict, and whether a runtime returns the same Y with
Indices and without, where both are right."""

_EITHER_ZERO = """
## Where either zero is right

{count}. The document leaves open which of -0 and +0 is the maximum, and the files hold one of them. A runner that compares numbers
accepts both; one that compares bits must accept either zero in these tests, which `manifest.json` names under `limits.either_zero`:
"""
