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
from maxpool_check.results.outcomes import RefusedByTarget, Returned
from maxpool_check.results.record import Execution, ExitCode, Record, TargetDescription
from maxpool_check.results.storage import record_of
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, parse_variants
from maxpool_check.running.case_run import oracle_of
from maxpool_check.running.run import RunPlan
from maxpool_check.running.run import run as run_plan
from maxpool_check.specifications import DEFAULT, specification
from maxpool_check.specifications.maxpool import plain_attributes, tensor_of
from maxpool_check.specifications.specification import override
from maxpool_check.targets.name import parse


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
    document, tensor = specification(spec), tensor_of(X)
    return Case(
        id=f"library:{name}",
        spec=document.name,
        X=tensor,
        attributes=plain_attributes(attributes, document, tensor.ndim),
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
