"""Cases as ONNX's test data: a folder with a model, an input and the expected outputs for each case and variant.

The form holds one answer. A case is left out that must be refused, that may be, or that has several right answers which a
runner would tell apart: a test that fails is a wrong runtime.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import yaml
from onnx import GraphProto, ModelProto, numpy_helper

from maxpool_check.corpus.case import Case
from maxpool_check.exporting.export import Export, LeftOutCase, flags, rendered, too_large
from maxpool_check.graphs.operators import NEWEST
from maxpool_check.graphs.reading import OWN_DOMAINS
from maxpool_check.judging.acceptance import AcceptedOutput, AcceptedResult, NotListed, OpenValue, accepted_results
from maxpool_check.judging.oracle import Oracle
from maxpool_check.models.model_file import graphs
from maxpool_check.reference.dtypes import is_float, same
from maxpool_check.results.record import TargetDescription
from maxpool_check.results.variants import INDICES_ONLY, WITH_INDICES, Y_ONLY, Variant
from maxpool_check.specifications.specification import Refused
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.name import parse
from maxpool_check.targets.requests import jobs_of
from maxpool_check.targets.target import TargetProfile
from maxpool_check.words import plural

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


def jobs_of_models(case: Case, variants: Sequence[Variant] = _VARIANTS) -> list[Job]:
    """The jobs of a case on a runtime that loads every ONNX model."""
    description = TargetDescription(
        name="onnx-reference", distribution="onnx", version="", provider="", providers=(), session_options={}, python="",
        numpy="", newest_opset=NEWEST, graphs=NEWEST,
    )  # fmt: skip
    return jobs_of(case, variants, TargetProfile(parse("onnx-reference"), description))


def arranged(job: Job, name: str, tensor: np.ndarray) -> np.ndarray:
    """An output of a case in the layout of a job's request; Indices are int64."""
    assert job.translation is not None
    tensor = job.translation.target.from_core(job.translation.source.to_core(tensor))
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


def export_onnx_testdata(cases: Iterable[Case], most_cells: int) -> Export:
    """A test for each case and variant that an ONNX model and one answer mean; the others are left out with the reason."""
    keys = {
        (case.id, each): f"{case.id} {'' if each == WITH_INDICES or len(case.outputs) == 1 else each.name}"
        for case in cases
        for each in _VARIANTS
        if each in case.variants()
    }
    names, files, exported = safe_names(list(keys.values())), dict[str, bytes](), dict[str, dict[str, object]]()
    left_out, limits = list[LeftOutCase](), {limit: list[str]() for limit in (_EITHER_ZERO, *_LIMITS)}
    for case in cases:
        try:
            oracle, results = _right(case, most_cells)
        except (_NotHeld, NotListed) as reason:
            left_out.append(LeftOutCase(case.id, "", str(reason)))
            continue
        own: dict[str, str] = {}
        for job in jobs_of_models(case):
            try:
                test, own_limits = _test(job, results)
            except _NotHeld as reason:
                left_out.append(LeftOutCase(case.id, job.variant.name, str(reason)))
                continue
            own[job.variant.name] = name = f"test_{names[keys[case.id, job.variant]]}"
            files |= {f"{name}/{path}": content for path, content in test.items()}
            for limit in own_limits:
                limits[limit].append(name)
            request = job.request
            assert request is not None
            exported[case.id] = {
                "sha256": case.sha256, "document": case.spec, "dtype": request.X.dtype.name, **_about(request.model),
                "flags": flags(case, oracle, results), "tests": own,
            }  # fmt: skip
    export = Export(
        "onnx-testdata", files, exported, left_out, {case.spec for case in cases if case.id in exported}, limits
    )
    tests, either = plural(len({path.partition("/")[0] for path in files}), "test"), limits[_EITHER_ZERO]
    files["LIMITS.md"] = rendered(
        "limits.md.j2", count=f"{tests} of {plural(len(exported), 'case')}", reasons=export.reasons, limits=_LIMITS, tests=limits,
        either=either, either_count=plural(len(either), "test"),
    )  # fmt: skip
    return export


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


def _right(case: Case, most_cells: int) -> tuple[Oracle, list[AcceptedResult]]:
    """What judges a case, and its right outputs. Raises :class:`_NotHeld` or ``NotListed`` if there are none to compare with."""
    if reason := too_large(case, most_cells):
        raise _NotHeld(reason)
    oracle = case.oracle()
    if isinstance(oracle, Refused):
        raise _NotHeld("the graph has no meaning" if oracle.is_open else "the graph must be refused")
    if oracle.pooling.refusable:
        raise _NotHeld("the graph may be refused")
    return oracle, accepted_results(oracle)


def _test(job: Job, results: Sequence[AcceptedResult]) -> tuple[dict[str, bytes], set[str]]:
    """The files of a test, and the limits that concern it. Raises :class:`_NotHeld`."""
    if job.request is None:
        raise _NotHeld(f"no ONNX model means the same: {job.why}")
    outputs, limits = {}, set()
    for name in job.request.outputs:
        zeros = _either_zero([result.outputs[name] for result in results])
        outputs[name] = arranged(job, name, results[0].outputs[name].tensor)
        limits |= set(_limits_of(name, outputs[name], job.request.X, zeros))
    return {**files_of_test(job.request.model, job.request.inputs, outputs), "data.json": _EXACTLY}, limits


def _either_zero(outputs: Sequence[AcceptedOutput]) -> np.ndarray:
    """For each zero of an output that has a sign, whether the other sign is right, too.

    Raises :class:`_NotHeld` if there are answers that a runner tells apart: by more than a zero's sign, or the bits of a NaN.
    """
    first = outputs[0].tensor
    for each in outputs:
        if each.tensor.shape != first.shape or not (same(each.tensor, first) | (each.tensor == first)).all():
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
    # Another value of the output, or of X if it has its type, within the usual tolerance of one.
    with np.errstate(all="ignore"):
        own = output.reshape(-1).astype(np.float64)
        values = np.unique(np.concatenate([own, X.reshape(-1).astype(np.float64)]) if X.dtype == output.dtype else own)
        values = values[np.isfinite(values)]
        gaps = np.concatenate([[np.inf], np.diff(values), [np.inf]])
        is_near = np.minimum(gaps[1:], gaps[:-1])[: values.size] <= _ABSOLUTE + _RELATIVE * np.abs(values)
    if is_near[np.isin(values, own)].any():
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
