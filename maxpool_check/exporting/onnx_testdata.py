"""Cases as ONNX's test data: a folder with a model, an input and the expected outputs for each case and variant.

The form holds one answer. A case is left out that must be refused, that may be, or that has several right answers which a
runner would tell apart: a test that fails is a wrong runtime.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import numpy_helper

from maxpool_check.corpus.case import Case
from maxpool_check.exporting.export import Export, LeftOutCase, too_large
from maxpool_check.exporting.flags import flags
from maxpool_check.exporting.limits import EITHER_ZERO, LIMITS, limits_of, limits_page
from maxpool_check.exporting.models import about_model
from maxpool_check.exporting.names import safe_names
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.judging.acceptance import AcceptedOutput, AcceptedResult, NotListed, OpenValue, accepted_results
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import is_float, same
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import INDICES_ONLY, WITH_INDICES, Y_ONLY, Variant
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.name import parse
from maxpool_check.targets.plans import PlannedRequest
from maxpool_check.targets.requests import plan
from maxpool_check.targets.target import TargetProfile

FORM = "onnx-testdata"

_VARIANTS = (WITH_INDICES, Y_ONLY, INDICES_ONLY)

_EXACTLY = b'{"atol": 0.0, "rtol": 0.0}\n'
"""The tolerance of a test, as onnx's loader reads it from data.json."""


def files_of_test(
    model: bytes, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> dict[str, bytes]:
    """The files of a test by their paths in its folder, as onnx's backend test runner reads them.

    ``inputs`` and ``outputs`` are in the order of the model.
    """
    files = {"model.onnx": model}
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for number, (name, tensor) in enumerate(tensors.items()):
            content = numpy_helper.from_array(tensor, name).SerializeToString()
            files[f"test_data_set_0/{kind}_{number}.pb"] = content
    return files


def _runtime() -> TargetProfile:
    """A runtime that loads every model."""
    description = TargetDescription(
        name="onnx-reference", distribution="onnx", version="", provider="", providers=(), session_options={}, python="",
        numpy="", newest_opset=NEWEST, graphs=NEWEST,
    )  # fmt: skip
    return TargetProfile(parse("onnx-reference"), description)


class _NotHeld(Exception):
    """The form cannot hold a case in a variant; the message says why."""


@dataclass
class _TestFolders:
    """What is written, while it is."""

    files: dict[str, bytes] = field(default_factory=dict)
    cases: dict[str, dict[str, object]] = field(default_factory=dict)
    left_out: list[LeftOutCase] = field(default_factory=list)
    limits: dict[str, list[str]] = field(default_factory=lambda: {limit: [] for limit in (EITHER_ZERO, *LIMITS)})


def export_onnx_testdata(cases: Sequence[Case], most_cells: int) -> Export:
    """A test for each case and variant that an ONNX model and one answer mean; the others are left out with the reason."""
    runtime, tests = _runtime(), _TestFolders()
    names = safe_names([_key(case, variant) for case in cases for variant in _VARIANTS if variant in case.variants()])
    for case in cases:
        try:
            if reason := too_large(case, most_cells):
                raise _NotHeld(reason)
            oracle, results = _right(case)
        except _NotHeld as reason:
            tests.left_out.append(LeftOutCase(case.id, None, str(reason)))
            continue
        own: dict[str, str] = {}
        for each in plan(case, _VARIANTS, runtime):
            try:
                if each.not_executed is not None:
                    raise _NotHeld(f"no ONNX model means the same: {each.not_executed.why}")
                name = f"test_{names[_key(case, each.variant)]}"
                _add(tests, name, each.parts[0], results)
                own[each.variant.name] = name
                request = each.parts[0].request
            except _NotHeld as reason:
                tests.left_out.append(LeftOutCase(case.id, each.variant.name, str(reason)))
        if own:
            tests.cases[case.id] = {
                "sha256": case.sha256, "document": case.spec, "dtype": request.X.dtype.name, **about_model(request.model),
                "flags": flags(case, oracle, results), "tests": own,
            }  # fmt: skip
    export = Export(
        FORM, tests.files, tests.cases, tests.left_out, sorted({case.spec for case in cases if case.id in tests.cases}),
        tests.limits,
    )  # fmt: skip
    tests.files["LIMITS.md"] = limits_page(export).encode()
    return export


def _key(case: Case, variant: Variant) -> str:
    return f"{case.id} {'' if variant == WITH_INDICES or len(case.outputs) == 1 else variant.name}"


def _right(case: Case) -> tuple[Oracle, list[AcceptedResult]]:
    """What judges a case, and its right outputs. Raises :class:`_NotHeld` if it may be refused, or must be."""
    oracle = case.oracle()
    if isinstance(oracle, Refused):
        raise _NotHeld("the graph has no meaning" if oracle.is_open else "the graph must be refused")
    if oracle.pooling.refusable:
        raise _NotHeld("the graph may be refused")
    try:
        return oracle, accepted_results(oracle)
    except NotListed as error:
        raise _NotHeld(str(error)) from error


def _add(tests: _TestFolders, name: str, planned: PlannedRequest, results: Sequence[AcceptedResult]) -> None:
    """Add the test of a case in a variant. Raises :class:`_NotHeld`."""
    request = planned.request
    outputs, zeros = {}, []
    for output in request.outputs:
        right = [result.outputs[output] for result in results]
        _check_one_answer(right)
        zeros.append(_either_zero(right))
        tensor = results[0].outputs[output].tensor
        arranged = planned.translation.target.from_core(planned.translation.source.to_core(tensor))
        outputs[output] = arranged.astype(np.int64) if output == "Indices" else arranged
    files = {**files_of_test(request.model, request.inputs, outputs), "data.json": _EXACTLY}
    tests.files.update({f"{name}/{path}": content for path, content in files.items()})
    for limit in sorted(set(limits_of(outputs, request.X, np.concatenate(zeros)))):
        tests.limits[limit].append(name)


def _either_zero(outputs: Sequence[AcceptedOutput]) -> np.ndarray:
    """For each zero of an output that has a sign, whether the other sign is right, too."""
    first, *others = outputs
    if not is_float(first.tensor.dtype):
        return np.zeros(0, bool)
    either = np.zeros(first.tensor.size, bool)
    for each in outputs:
        either[list(each.others)] = True
    for each in others:
        either |= ~same(each.tensor, first.tensor).reshape(-1)
    zeros: np.ndarray = either[first.tensor.reshape(-1) == 0]
    return zeros


def _check_one_answer(outputs: Sequence[AcceptedOutput]) -> None:
    """Raise :class:`_NotHeld` if there are answers that a runner tells apart: not by the sign of a zero, or the bits of a NaN."""
    first, *others = outputs
    if any(each.tensor.shape != first.tensor.shape or not _is_equal(each.tensor, first.tensor) for each in others):
        raise _NotHeld("several outputs are right: the document leaves the windows open")
    for each in outputs:
        flat = each.tensor.reshape(-1)
        for at, values in each.others.items():
            if OpenValue.ANY in values:
                raise _NotHeld("several outputs are right: a window holds no cell of X")
            if any(isinstance(value, OpenValue) or not value == flat[at] for value in values):
                raise _NotHeld(
                    "several outputs are right: the document leaves open what a window with NaN, or with ties, gives"
                )


def _is_equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((same(a, b) | (a == b)).all())
