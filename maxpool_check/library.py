"""The public functions of the package: the reference, reading cases, running them, and the judge."""

import errno
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxpool_check.corpus.case import Case, Refusal, disagreements
from maxpool_check.corpus.collection import Corpus, collect, is_shipped
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.judging.judge import judge as judge_outcomes
from maxpool_check.judging.verdicts import Judgement
from maxpool_check.reference.pooling import Pooled
from maxpool_check.results.outcomes import Failed, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import Execution, ExitCode, Record, TargetDescription, Verdict
from maxpool_check.results.storage import record_of
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, Variant, parse_variants
from maxpool_check.running.decisions import RunPlan
from maxpool_check.running.run import run as run_plan
from maxpool_check.specifications import DEFAULT
from maxpool_check.specifications.maxpool import document_of, plain_attributes, policies_of, tensor_of
from maxpool_check.specifications.specification import Reason, Refused, nearest
from maxpool_check.targets.name import TargetName, claiming, parse
from maxpool_check.words import plural

MOST_SECONDS = 10**6
"""The longest time limit of an execution."""

_PROGRAMMING_ERRORS = (NameError, AttributeError, ImportError, SyntaxError)
"""Exceptions that are mistakes in the code of a kernel, not refusals of a case."""


def case(
    X: ArrayLike,
    *,
    spec: str = DEFAULT,
    policies: Mapping[str, str] | None = None,
    name: str = "case",
    expect: Mapping[str, str] | None = None,
    **attributes: Any,
) -> Case:
    """A case to run or to judge by; arguments as of :func:`maxpool`. ``name`` identifies it in results.

    If the document excludes the graph, ``expect`` must say so, as in a case file: ``{"refuse": "invalid-attribute"}`` with
    the reason of the refusal. The case is then judged by whether it is refused.

    Raises :class:`Refused` as :func:`maxpool` does, unless ``expect`` is this refusal; ``ValueError`` for another
    expectation than the document's, and for an unknown document or policy; ``TypeError`` for other arguments of a wrong type.
    """
    document, tensor = document_of(spec), tensor_of(X)
    if not isinstance(name, str) or not name:
        raise TypeError(f"name is {_shown(name)}; it takes a text, such as 'stride-2'")
    made = Case(
        id=f"library:{name}",
        spec=document.name,
        X=Recipe.of(tensor),
        attributes=plain_attributes(attributes, document, tensor.ndim),
        outputs=("Y", "Indices") if document.indices else ("Y",),
        policies=policies_of(document, policies),
        expect=None if expect is None else _refusal(expect),
    )
    if expect is None and isinstance(made.resolved, Refused):
        raise made.resolved
    if wrong := disagreements(made):
        raise ValueError(f"the case {'; '.join(wrong)}")
    return made


def _refusal(expect: object) -> Refusal:
    """The refusal that a case expects."""
    reasons = [reason.value for reason in Reason]
    if not isinstance(expect, Mapping) or list(expect) != ["refuse"]:
        raise TypeError(f"expect is {_shown(expect)}; it takes {{'refuse': REASON}}, or None")
    if expect["refuse"] not in reasons:
        hint = nearest(str(expect["refuse"]), reasons)
        raise ValueError(f"expect has the unknown reason {expect['refuse']!r}{hint}; there are {', '.join(reasons)}")
    return Refusal(Reason(expect["refuse"]))


def read_cases(*paths: str | PathLike[str]) -> list[Case]:
    """The cases of case files, or of folders of them; ``"corpus"`` is the one that comes with the tool, ``"corpus:onnx"`` a part.

    Raises :class:`CorpusError` with all mistakes in the files,
    ``FileNotFoundError`` for a path that does not exist.
    """
    if not paths:
        raise TypeError("read_cases takes the path of a case file or of a folder, or several")
    return list(_read(paths).cases)


def _read(paths: Iterable[object]) -> Corpus:
    files = []
    for path in paths:
        if not isinstance(path, (str, PathLike)):
            raise TypeError(f"{_shown(path)} is no path; paths are separate arguments, each a text or a pathlib.Path")
        files.append(Path(path))
        if not is_shipped(files[-1]) and not files[-1].exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return collect(files)


def judge(
    judged_case: Case, outputs: Mapping[str, ArrayLike] | Sequence[ArrayLike] | np.ndarray | BaseException
) -> Judgement:
    """Judge the outputs of a kernel of yours for a case, by the document of the case, bit by bit.

    Of NaN, payload and sign are not judged.

    ``outputs`` are ``{"Y": Y, "Indices": Indices}`` or ``{"Y": Y}``; or a tuple (Y, Indices) or (Y,), of numpy arrays in
    the document's layout; or Y itself; or the exception that the kernel has raised. ``NameError``, ``AttributeError``,
    ``ImportError`` and ``SyntaxError`` are mistakes in the kernel's code, with the verdict ``error``; any other exception is
    a refusal of the case.

    Returns a :class:`Judgement`, to be compared by its ``verdict`` (``conforms``, ``diverges``, ``refuses``, ``undefined``,
    ``error``); it also has the ``kinds`` of divergence, a ``message``, and the first wrong ``cells`` with their windows.
    Raises ``TypeError`` or ``ValueError`` for outputs of another form.
    """
    if not isinstance(judged_case, Case):
        raise TypeError(
            f"the first argument is {_shown(judged_case)}; it takes a Case, made by case() or read_cases(): judge(case, outputs)"
        )
    variant, outcome = _outcome(judged_case, outputs)
    return judge_outcomes(judged_case.oracle(), {variant: outcome})[variant]


def _outcome(judged_case: Case, outputs: Any) -> tuple[Variant, Outcome]:
    """What the kernel has done, and the variant that it has done it in."""
    if isinstance(outputs, BaseException):
        variant = WITH_INDICES if "Indices" in judged_case.outputs else Y_ONLY
        status = type(outputs).__name__
        if isinstance(outputs, _PROGRAMMING_ERRORS):
            return variant, Failed(f"{status}: {outputs}")
        return variant, RefusedByTarget(status, str(outputs))
    named = _by_name(outputs)
    known = ("Y", "Indices") if judged_case.specification.indices else ("Y",)
    arrays = {}
    for name, value in named.items():
        if name not in known:
            has = f"there are {', '.join(known)}" if len(known) > 1 else "the document has Y only"
            raise ValueError(f"unknown output {name!r}; {has}")
        if value is None:
            hint = "did the function return?" if name == "Y" else "leave it out if the kernel returns Y only"
            raise ValueError(f"{name} is None: {hint}")
        try:
            arrays[name] = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} is no array: {error}") from error
    return WITH_INDICES if "Indices" in arrays else Y_ONLY, Returned(arrays)


def _by_name(outputs: Any) -> Mapping[Any, Any]:
    forms = "(Y, Indices) or Y"
    if isinstance(outputs, Mapping) and outputs:
        return outputs
    if outputs is None:
        return {"Y": None}
    if isinstance(outputs, Pooled):
        raise TypeError("outputs is a Pooled, which has Y and Indices; it takes (pooled.Y, pooled.Indices)")
    if isinstance(outputs, type) and issubclass(outputs, BaseException):
        raise TypeError(
            f"outputs is the class {outputs.__name__}; it takes the exception itself: {outputs.__name__}(...)"
        )
    if hasattr(outputs, "__array__"):
        return {"Y": outputs}
    if not isinstance(outputs, (tuple, list)):
        raise TypeError(f"outputs is {_shown(outputs)}; it takes {forms}, or what the kernel raised")
    if len(outputs) not in (1, 2):
        raise ValueError(f"the function returned {plural(len(outputs), 'value')}; expected {forms}")
    return dict(zip(("Y", "Indices"), outputs, strict=False))


@dataclass(frozen=True, repr=False)
class Results:
    """The results of a run. ``record`` has all of it: the header, the executions and the footer."""

    record: Record

    @property
    def executions(self) -> list[Execution]:
        """Every execution, in the order of the cases, with its verdict."""
        return list(self.record.executions)

    @property
    def unexpected(self) -> list[Execution]:
        """The executions that fail the run. Empty also if no target started: see ``errors`` and ``exit_code``."""
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

    def __repr__(self) -> str:
        verdicts = Counter(execution.verdict for execution in self.record.executions)
        counts = [f"{verdict.value}: {verdicts[verdict]}" for verdict in Verdict if verdicts[verdict]]
        errors = [f"errors: {len(self.errors)}"] if self.errors else []
        return f"Results({', '.join([*counts, *errors, f'exit_code: {self.exit_code.value}'])})"


def run(
    cases: Iterable[Case] | Case | str | PathLike[str],
    targets: str | Sequence[str] = "onnxruntime",
    *,
    variants: str | Sequence[str] = "default",
    specs: str | Sequence[str] = (),
    timeout: float = 10.0,
    jobs: int = 1,
) -> Results:
    """Run cases on targets, each in a process of its own, and judge them; no divergence is expected.

    ``cases`` are cases of different names, one case, or the path of a case file or of a folder of them. ``targets`` are
    written as on the command line: ``onnxruntime==1.23.2``, ``python:kernel.py:maxpool``. ``variants`` are the names of
    variants, or ``all``. ``specs`` are documents and families that ``python:`` and ``command:`` targets claim beside their
    own, such as ``sonnx`` or ``openvino``. ``timeout`` is the time limit of one execution, in seconds; ``jobs`` the number
    of processes to run in.

    Raises ``ValueError`` or ``TypeError`` for an argument that cannot be used, :class:`CorpusError` for mistakes in case
    files. A target that cannot be started is one of the ``errors`` of the results, and its ``exit_code`` is not 0.
    """
    corpus = _corpus(cases)
    names = claiming(_targets(targets), [specs] if isinstance(specs, str) else specs)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= MOST_SECONDS:
        raise ValueError(f"timeout is {_shown(timeout)}; it takes a number of seconds above 0, up to {MOST_SECONDS}")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs is {_shown(jobs)}; it takes a number of processes, at least 1")
    selected = _variants(variants)
    lines: list[Any] = []
    plan = RunPlan(corpus, corpus.cases, names, seconds=float(timeout), jobs=jobs, variants=selected)
    run_plan(plan, lines.append)
    return Results(record_of(lines))


def _corpus(cases: Any) -> Corpus:
    if isinstance(cases, (str, PathLike)):
        return _read([cases])
    if isinstance(cases, Case):
        cases = [cases]
    if not isinstance(cases, Iterable):
        raise TypeError(f"cases is {_shown(cases)}; it takes a list of cases, one case, or a path")
    listed = tuple(cases)
    for entry in listed:
        if not isinstance(entry, Case):
            raise TypeError(f"cases contains {_shown(entry)}; it takes cases, made by case() or read_cases()")
    name, times = next(iter(Counter(entry.id for entry in listed).most_common(1)), ("", 1))
    if times > 1:
        raise ValueError(f"{times} cases are called '{name}'; give each its own name: case(X, name=...)")
    return Corpus(listed, (), False)


def _targets(targets: Any) -> list[TargetName]:
    texts = [targets] if isinstance(targets, str) or not isinstance(targets, Iterable) else list(targets)
    for text in texts:
        if not isinstance(text, str):
            hint = "; use 'python:FILE.py:NAME' for a function" if callable(text) else ""
            raise TypeError(f"targets has {_shown(text)}; it takes names, such as 'onnxruntime==1.23.2'{hint}")
    names = [parse(text) for text in texts]
    if not names:
        raise ValueError("targets is empty; it takes names, such as 'onnxruntime'")
    if len(set(texts)) < len(texts):
        raise ValueError(f"targets names one twice: {', '.join(texts)}")
    return names


def _variants(variants: Any) -> Collection[Variant]:
    names = [variants] if isinstance(variants, str) or not isinstance(variants, Iterable) else list(variants)
    if not names or not all(isinstance(name, str) for name in names):
        example = "'default,twice' or ['default', 'twice']"
        raise TypeError(f"variants is {_shown(variants)}; it takes names, such as {example}")
    return parse_variants(",".join(names))


def _shown(value: object) -> str:
    """A wrong argument in a message: itself if it is short, else its type."""
    text = repr(value)
    return (
        text
        if len(text) <= 40 and "\n" not in text and not isinstance(value, np.ndarray)
        else f"a {type(value).__name__}"
    )
