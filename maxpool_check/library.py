"""The public functions of the package: the reference, reading cases, running them, and the judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.collection import Corpus, collect
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.judging.verdicts import judge as judge_outcomes
from maxpool_check.reference.dtypes import name_of
from maxpool_check.reference.evaluator import evaluate
from maxpool_check.reference.pooling import Pooled
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.record import Execution, ExitCode, Record, TargetDescription
from maxpool_check.results.storage import record_of
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, parse_variants
from maxpool_check.running.case_run import oracle_of
from maxpool_check.running.run import RunPlan
from maxpool_check.running.run import run as run_plan
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.refused import Refused
from maxpool_check.specifications.roles import AttributeType, Role
from maxpool_check.specifications.specification import Specification, override
from maxpool_check.targets.name import parse


def maxpool(
    X: ArrayLike, *, spec: str = DEFAULT, policies: Mapping[str, str] | None = None, **attributes: Any
) -> Pooled:
    """MaxPool of X as a document defines it, exact in every bit.

    X has the layout of the document (N x C x D1 x ... x Dn for ONNX, SONNX, OpenVINO and nGraph; N x D1 x ... x Dn x C for
    ort-nhwc-11; H x W x C for xmos-maxpool2d) and one of its dtypes: float16, float32, float64; int8 and uint8 from
    onnx-12 on; bfloat16 (of ml_dtypes) from onnx-22 on; OpenVINO and nGraph have the other integers, too.

    ``spec`` is the document: ``sonnx``, ``openvino-14``, ``ngraph-0`` ..., or ``onnx-N`` with any operator set N.

    Attributes of ONNX and SONNX (SONNX requires all seven):
      ``kernel_shape``   sizes of the window, one for each spatial axis; required
      ``strides``        distances between windows; 1
      ``dilations``      distances between the taps of a window; 1
      ``pads``           padding, [x1_begin, x2_begin, ..., x1_end, x2_end, ...]; 0
      ``auto_pad``       NOTSET, SAME_UPPER, SAME_LOWER or VALID; NOTSET
      ``ceil_mode``      1 or True rounds the output size up; 0
      ``storage_order``  1 counts Indices with the first spatial axis fastest; 0
    The other documents have their own names, listed in CONTRIBUTING. One integer stands for the same on every axis.

    ``policies`` changes the interpretation of points that the document leaves open: ``{"nan": "propagates"}``. By default
    the result is one of those that conform: NaN is ignored, the first of equal maxima is chosen.

    Returns a :class:`Pooled` with ``Y`` (dtype of X), ``Indices`` (int64, int32 for OpenVINO's i32, None for documents
    without), ``empty`` (bool; windows without an element of X, where Y and Indices mean nothing), all of the shape of Y:
    that of X with each spatial axis replaced by its number of windows.

    Raises :class:`Refused` for what the document excludes, with ``reason`` and ``clause``; its subclass :class:`IllTyped`
    for an unknown attribute or a value of the wrong type; ``ValueError`` for an unknown document or policy.
    """
    resolved = case(X, spec=spec, policies=policies, **attributes).resolved
    if isinstance(resolved, Refused):
        raise resolved
    return evaluate(resolved.layout.to_core(_tensor(X)), resolved).arranged(resolved.layout)


def case(
    X: ArrayLike,
    *,
    spec: str = DEFAULT,
    policies: Mapping[str, str] | None = None,
    name: str = "case",
    **attributes: Any,
) -> Case:
    """A case to run or to judge by; arguments as of :func:`maxpool`. ``name`` identifies it in results.

    The document may exclude the graph: then the case is judged by whether it is refused. Raises ``ValueError`` for an
    unknown document or policy.
    """
    document, tensor = specification(spec), _tensor(X)
    return Case(
        id=f"library:{name}",
        spec=document.name,
        X=tensor,
        attributes=_plain(attributes, document, tensor.ndim),
        outputs=("Y", "Indices") if document.indices else ("Y",),
        policies=override(document.policies, policies or {}),
    )


def read_cases(*paths: str | PathLike[str]) -> list[Case]:
    """The cases of case files, or of folders of them. Raises ``corpus.problems.CorpusError`` with all mistakes in them."""
    return list(collect([Path(path) for path in paths]).cases)


def judge(judged_case: Case, outputs: Mapping[str, ArrayLike] | Sequence[ArrayLike] | BaseException) -> Judgement:
    """Judge the outputs of a kernel of yours for a case, by the document of the case, bit by bit.

    ``outputs`` are ``{"Y": Y, "Indices": Indices}`` or ``{"Y": Y}``; or a tuple (Y, Indices) or (Y,), of numpy arrays in
    the document's layout; or the exception that the kernel has refused the case with.

    Returns a :class:`Judgement`: ``verdict`` (``conforms``, ``diverges``, ``refuses``, ``undefined``), ``kinds`` of
    divergence, ``message``, and the first wrong ``cells`` with their windows.
    """
    if isinstance(outputs, BaseException):
        variant = WITH_INDICES if "Indices" in judged_case.outputs else Y_ONLY
        refusal = RefusedByTarget(type(outputs).__name__, str(outputs))
        return judge_outcomes(oracle_of(judged_case), {variant: refusal})[variant]
    named = outputs if isinstance(outputs, Mapping) else dict(zip(("Y", "Indices"), outputs, strict=False))
    variant = WITH_INDICES if "Indices" in named else Y_ONLY
    returned = Returned({name: np.asarray(value) for name, value in named.items()})
    return judge_outcomes(oracle_of(judged_case), {variant: returned})[variant]


@dataclass(frozen=True)
class Results:
    """The results of a run. ``record`` has all of it: the header, the executions and the footer."""

    record: Record

    @property
    def executions(self) -> list[Execution]:
        """Every execution, in the order of the cases, with its verdict."""
        return list(self.record.executions)

    @property
    def unexpected(self) -> list[Execution]:
        """The executions that fail the run."""
        return [execution for execution in self.record.executions if execution.unexpected]

    @property
    def targets(self) -> tuple[TargetDescription, ...]:
        """The targets that started."""
        return self.record.header.targets

    @property
    def errors(self) -> tuple[str, ...]:
        """Why other targets did not start, or were given up."""
        return self.record.footer.errors if self.record.footer else ()

    @property
    def exit_code(self) -> ExitCode:
        """What the command line would exit with."""
        return ExitCode(self.record.footer.exit_code) if self.record.footer else ExitCode.INCOMPLETE


def run(
    cases: Iterable[Case] | str | PathLike[str],
    targets: str | Sequence[str] = "onnxruntime",
    *,
    variants: str = "default",
    timeout: float = 10.0,
    jobs: int = 1,
) -> Results:
    """Run cases on targets, each in a process of its own, and judge them; no divergence is expected.

    ``cases`` are cases, or the path of a case file or of a folder of them. ``targets`` are written as on the command line:
    ``onnxruntime==1.23.2``, ``python:kernel.py:maxpool``. ``variants`` is a list of variants, or ``all``. ``timeout`` is
    the time limit of one execution, in seconds; ``jobs`` the number of processes to run in.

    Raises ``ValueError`` for an unknown target or variant, ``corpus.problems.CorpusError`` for mistakes in case files. A
    target that cannot be started is one of the ``errors`` of the results.
    """
    is_path = isinstance(cases, (str, PathLike))
    corpus = collect([Path(cases)]) if is_path else Corpus(tuple(cases), (), False)  # type: ignore[arg-type]
    names = [parse(target) for target in ([targets] if isinstance(targets, str) else targets)]
    lines: list[Any] = []
    plan = RunPlan(corpus, corpus.cases, names, seconds=timeout, jobs=jobs, variants=parse_variants(variants))
    run_plan(plan, lines.append)
    return Results(record_of(lines))


def _tensor(X: ArrayLike) -> np.ndarray:
    tensor = np.asarray(X)
    name_of(tensor.dtype)
    return np.ascontiguousarray(tensor.astype(tensor.dtype.newbyteorder("="), copy=False)).reshape(tensor.shape)


def _plain(attributes: Mapping[str, Any], document: Specification, rank: int) -> dict[str, Any]:
    """Attributes as in a case file: lists for tuples and arrays, integers for bool, one integer repeated on every axis."""
    axes = max(rank - 2, 1)
    plain: dict[str, Any] = {}
    for name, value in attributes.items():
        attribute = document.attributes.get(name)
        is_integer = attribute is not None and attribute.type in (AttributeType.INTEGER, AttributeType.INTEGERS)
        if isinstance(value, (bool, np.integer)) and is_integer:
            value = int(value)
        if attribute is not None and attribute.type is AttributeType.INTEGERS and isinstance(value, int):
            value = [value] * (2 * axes if attribute.role in (Role.PADS, Role.PADS_BY_AXIS) else axes)
        plain[name] = list(value) if isinstance(value, (tuple, np.ndarray)) else value
    return plain
