"""Cases as ONNX's test data: a folder with a model, an input and the expected outputs for each case and variant.

The form holds one answer. A case is left out that must be refused, that may be, or that has several right answers which a
runner would tell apart: a test that fails is a wrong runtime.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jinja2
import numpy as np
import yaml
from onnx import GraphProto, ModelProto, numpy_helper

from maxpool_check.corpus.case import Case
from maxpool_check.exporting.export import Export, LeftOutCase, flags, too_large
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.graphs.reading import OWN_DOMAINS
from maxpool_check.judging.acceptance import AcceptedOutput, AcceptedResult, NotListed, OpenValue, accepted_results
from maxpool_check.judging.oracle import Oracle
from maxpool_check.models.model_file import graphs
from maxpool_check.reference.dtypes import is_float, same
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import INDICES_ONLY, WITH_INDICES, Y_ONLY, Variant
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.name import parse
from maxpool_check.targets.plans import PlannedRequest, VariantPlan
from maxpool_check.targets.requests import plan
from maxpool_check.targets.target import TargetProfile
from maxpool_check.words import plural

FORM = "onnx-testdata"

_VARIANTS = (WITH_INDICES, Y_ONLY, INDICES_ONLY)

_EXACTLY = b'{"atol": 0.0, "rtol": 0.0}\n'
"""The tolerance of a test, as onnx's loader reads it from data.json."""

_RELATIVE, _ABSOLUTE = 1e-3, 1e-7
"""The usual tolerance of onnx's runner."""

_EITHER_ZERO = "either_zero"
"""The tests in which the document leaves the sign of a zero of an output open, so that a runner must accept both."""

_LIMITS: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("limits.yaml").read_bytes())

_MOST_CHARACTERS = 100
"""The most characters of a name of a test, but for the digits that tell it apart."""


class _NotHeld(Exception):
    """The form cannot hold a case in a variant; the message says why."""


def planned_models(case: Case, variants: Sequence[Variant] = _VARIANTS) -> list[VariantPlan]:
    """How a runtime that loads every ONNX model would execute a case."""
    description = TargetDescription(
        name="onnx-reference", distribution="onnx", version="", provider="", providers=(), session_options={}, python="",
        numpy="", newest_opset=NEWEST, graphs=NEWEST,
    )  # fmt: skip
    return plan(case, variants, TargetProfile(parse("onnx-reference"), description))


def arranged(planned: PlannedRequest, name: str, tensor: np.ndarray) -> np.ndarray:
    """An output of a case in the layout of a request; Indices are int64."""
    tensor = planned.translation.target.from_core(planned.translation.source.to_core(tensor))
    return tensor.astype(np.int64) if name == "Indices" else tensor


def files_of_test(
    model: bytes, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> dict[str, bytes]:
    """The files of a test by their paths in its folder, as onnx's backend test runner reads them.

    ``inputs`` and ``outputs`` are in the order of the model.
    """
    files = {"model.onnx": model}
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for number, (name, tensor) in enumerate(tensors.items()):
            files[f"test_data_set_0/{kind}_{number}.pb"] = numpy_helper.from_array(tensor, name).SerializeToString()
    return files


def export_onnx_testdata(cases: Sequence[Case], most_cells: int) -> Export:
    """A test for each case and variant that an ONNX model and one answer mean; the others are left out with the reason."""
    names = safe_names([_key(case, variant) for case in cases for variant in _VARIANTS if variant in case.variants()])
    files: dict[str, bytes] = {}
    exported: dict[str, dict[str, object]] = {}
    left_out: list[LeftOutCase] = []
    tests_of: dict[str, list[str]] = {limit: [] for limit in (_EITHER_ZERO, *_LIMITS)}
    for case in cases:
        try:
            if reason := too_large(case, most_cells):
                raise _NotHeld(reason)
            oracle, results = _right(case)
        except _NotHeld as reason:
            left_out.append(LeftOutCase(case.id, None, str(reason)))
            continue
        own: dict[str, str] = {}
        for each in planned_models(case):
            try:
                if each.not_executed is not None:
                    raise _NotHeld(f"no ONNX model means the same: {each.not_executed.why}")
                test, limits = _test(each.parts[0], results)
            except _NotHeld as reason:
                left_out.append(LeftOutCase(case.id, each.variant.name, str(reason)))
                continue
            own[each.variant.name] = name = f"test_{names[_key(case, each.variant)]}"
            files |= {f"{name}/{path}": content for path, content in test.items()}
            for limit in limits:
                tests_of[limit].append(name)
            request = each.parts[0].request
        if own:
            exported[case.id] = {
                "sha256": case.sha256, "document": case.spec, "dtype": request.X.dtype.name, **_about(request.model),
                "flags": flags(case, oracle, results), "tests": own,
            }  # fmt: skip
    documents = sorted({case.spec for case in cases if case.id in exported})
    export = Export(FORM, files, exported, left_out, documents, tests_of)
    files["LIMITS.md"] = _limits_page(export).encode()
    return export


def _limits_page(export: Export) -> str:
    """What an export of this form cannot hold and cannot tell, for readers."""
    text, either = Path(__file__).with_name("limits.md.j2").read_text(encoding="utf-8"), export.limits[_EITHER_ZERO]
    tests = plural(len({path.partition("/")[0] for path in export.files}), "test")
    template = jinja2.Template(text, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return template.render(
        count=f"{tests} of {plural(len(export.cases), 'case')}", reasons=export.reasons, limits=_LIMITS, tests=export.limits,
        either=either, either_count=plural(len(either), "test"),
    )  # fmt: skip


def safe_names(ids: Sequence[str]) -> dict[str, str]:
    """A name of a folder for each id, safe everywhere: lower-case letters, digits and underscores.

    Where two would be the same, also on a file system that ignores case, or one would be too long, it ends with the first
    digits of the SHA-256 of the id.
    """
    plain = {name: re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") for name in ids}
    counts = Counter(plain.values())
    for name, text in plain.items():
        if counts[text] > 1 or not 0 < len(text) <= _MOST_CHARACTERS:
            digits = hashlib.sha256(name.encode()).hexdigest()[:12]
            plain[name] = f"{text[:_MOST_CHARACTERS]}_{digits}".strip("_")
    return plain


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


def _test(planned: PlannedRequest, results: Sequence[AcceptedResult]) -> tuple[dict[str, bytes], list[str]]:
    """The files of a test, and the limits that concern it. Raises :class:`_NotHeld`."""
    request, outputs, limits = planned.request, {}, set()
    for name in request.outputs:
        zeros = _either_zero([result.outputs[name] for result in results])
        outputs[name] = arranged(planned, name, results[0].outputs[name].tensor)
        limits |= set(_limits_of(name, outputs[name], request.X, zeros))
    files = files_of_test(request.model, request.inputs, outputs)
    return {**files, "data.json": _EXACTLY}, sorted(limits)


def _either_zero(outputs: Sequence[AcceptedOutput]) -> np.ndarray:
    """For each zero of an output that has a sign, whether the other sign is right, too.

    Raises :class:`_NotHeld` if there are answers that a runner tells apart: by more than a zero's sign, or the bits of a NaN.
    """
    first = outputs[0].tensor
    if any(each.tensor.shape != first.shape or not _is_equal(each.tensor, first).all() for each in outputs):
        raise _NotHeld("several outputs are right: the document leaves the windows open")
    either = np.zeros(first.size, bool)
    for each in outputs:
        for at, values in each.others.items():
            if OpenValue.ANY in values:
                raise _NotHeld("several outputs are right: a window holds no cell of X")
            if any(isinstance(value, OpenValue) or value != first.reshape(-1)[at] for value in values):
                raise _NotHeld(
                    "several outputs are right: the document leaves open what a window with NaN, or with ties, gives"
                )
            either[at] = True
        either |= ~same(each.tensor, first).reshape(-1)
    return either[(first.reshape(-1) == 0) & is_float(first.dtype)]


def _is_equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return same(a, b) | (a == b)


def _limits_of(name: str, output: np.ndarray, X: np.ndarray, zeros: np.ndarray) -> Iterator[str]:
    """The limits that concern an expected output; ``zeros``: for each of its zeros, whether the other sign is right, too."""
    if zeros.any():
        yield _EITHER_ZERO
    if not zeros.all():
        yield "zero_sign"
    if name == "Indices":
        if output.size and output.max() * _RELATIVE >= 1:
            yield "index_with_usual_tolerance"
        return
    if output.dtype.name == "bfloat16":
        yield "bfloat16"
    # Another value of the output, or of X if it has its type, within the usual tolerance.
    with np.errstate(all="ignore"):
        values = [output.reshape(-1), *([X.reshape(-1)] if X.dtype == output.dtype else [])]
        expected, others = (np.unique(each.astype(np.float64)) for each in (output, np.concatenate(values)))
        expected, others = expected[np.isfinite(expected)], others[np.isfinite(others)]
        at = np.searchsorted(others, expected)
        tolerance = _ABSOLUTE + _RELATIVE * np.abs(expected)
        below = (at > 0) & (expected - others[np.maximum(at - 1, 0)] <= tolerance)
        above = (at < others.size - 1) & (others[np.minimum(at + 1, others.size - 1)] - expected <= tolerance)
    if (below | above).any():
        yield "value_with_usual_tolerance"


def _about(content: bytes) -> dict[str, object]:
    """What a runner must know of a model to decide whether it can run it: operators of other domains as ``DOMAIN.OPERATOR``."""
    model = ModelProto.FromString(content)
    functions = {(each.domain, each.name) for each in model.functions}
    bodies = [model.graph, *(GraphProto(node=each.node) for each in model.functions)]
    nodes = [node for body in bodies for graph in graphs(body) for node in graph.node]
    named = {(node.domain, node.op_type) for node in nodes} - functions
    return {
        "opset": next(entry.version for entry in model.opset_import if entry.domain in OWN_DOMAINS),
        "operators": sorted(name if domain in OWN_DOMAINS else f"{domain}.{name}" for domain, name in named),
        **({"functions": True} if functions else {}),
    }
