"""The public functions of the package: the reference, reading cases, running them, and the judge."""

import errno
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from maxpool_check.results.outcomes import Failed, NotExecuted, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import Execution, ExitCode, Record, TargetDescription, Verdict
from maxpool_check.results.storage import record_of
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, parse_variants
from maxpool_check.running.run import RunPlan
from maxpool_check.running.run import run as run_plan
from maxpool_check.specifications import DEFAULT
from maxpool_check.specifications.maxpool import document_of, plain_attributes, policies_of, tensor_of
from maxpool_check.specifications.specification import Reason, Refused, nearest
from maxpool_check.targets.name import claiming, parse
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
    _check(isinstance(name, str) and name, f"name is {_shown(name)}; it takes a text, such as 'stride-2'")
    refusal, reasons = None, [reason.value for reason in Reason]
    if expect is not None:
        is_refusal = isinstance(expect, Mapping) and list(expect) == ["refuse"]
        _check(is_refusal, f"expect is {_shown(expect)}; it takes {{'refuse': REASON}}, or None")
        hint = nearest(str(expect["refuse"]), reasons)
        message = f"expect has the unknown reason {expect['refuse']!r}{hint}; there are {', '.join(reasons)}"
        _check(expect["refuse"] in reasons, message, ValueError)
        refusal = Refusal(Reason(expect["refuse"]))
    made = Case(
        id=f"library:{name}",
        spec=document.name,
        X=Recipe.of(tensor),
        attributes=plain_attributes(attributes, document, tensor.ndim),
        outputs=("Y", "Indices") if document.indices else ("Y",),
        policies=policies_of(document, policies),
        expect=refusal,
    )
    if expect is None and isinstance(made.resolved, Refused):
        raise made.resolved
    if wrong := disagreements(made):
        raise ValueError(f"the case {'; '.join(wrong)}")
    return made


def read_cases(*paths: str | PathLike[str]) -> list[Case]:
    """The cases of case files, or of folders of them; ``"corpus"`` is the one that comes with the tool, ``"corpus:onnx"`` a part.

    Raises :class:`CorpusError` with all mistakes in the files,
    ``FileNotFoundError`` for a path that does not exist.
    """
    _check(paths, "read_cases takes the path of a case file or of a folder, or several")
    return list(_read(paths).cases)


def _read(paths: Iterable[Any]) -> Corpus:
    for path in paths:
        message = f"{_shown(path)} is no path; paths are separate arguments, each a text or a pathlib.Path"
        _check(isinstance(path, (str, PathLike)), message)
        if not is_shipped(Path(path)) and not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return collect([Path(path) for path in paths])


def judge(
    judged_case: Case, outputs: Mapping[str, ArrayLike] | Sequence[ArrayLike] | np.ndarray | BaseException
) -> Judgement:
    """Judge the outputs of a kernel of yours for a case, by the document of the case, bit by bit.

    Of NaN, payload and sign are not judged.

    ``outputs`` are ``{"Y": Y, "Indices": Indices}`` or ``{"Y": Y}``; or a tuple (Y, Indices) or (Y,), of numpy arrays in
    the document's layout; or Y itself; or the exception that the kernel has raised. ``NameError``, ``AttributeError``,
    ``ImportError`` and ``SyntaxError`` are mistakes in the kernel's code, with the verdict ``error``; ``NotImplementedError``
    says that the kernel cannot compute the case, which is then ``not-expressible``; any other exception is a refusal of it.

    Returns a :class:`Judgement`, to be compared by its ``verdict`` (``conforms``, ``diverges``, ``refuses``, ``undefined``,
    ``not-expressible``, ``error``); it also has the ``kinds`` of divergence, a ``message``, and the first wrong ``cells`` with their windows.
    Raises ``TypeError`` or ``ValueError`` for outputs of another form.
    """
    wrong = f"the first argument is {_shown(judged_case)}; it takes a Case, made by case() or read_cases()"
    _check(isinstance(judged_case, Case), f"{wrong}: judge(case, outputs)")
    outcome: Outcome
    if isinstance(outputs, BaseException):
        status, variant = type(outputs).__name__, WITH_INDICES if "Indices" in judged_case.outputs else Y_ONLY
        outcome = RefusedByTarget(status, str(outputs))
        if isinstance(outputs, _PROGRAMMING_ERRORS):
            outcome = Failed(f"{status}: {outputs}")
        elif isinstance(outputs, NotImplementedError):
            outcome = NotExecuted(f"{status}: {outputs}")
    else:
        arrays = _arrays(outputs, ("Y", "Indices") if judged_case.specification.indices else ("Y",))
        variant, outcome = WITH_INDICES if "Indices" in arrays else Y_ONLY, Returned(arrays)
    return judge_outcomes(judged_case.oracle(), {variant: outcome})[variant]


def _arrays(outputs: Any, known: Sequence[str]) -> dict[str, np.ndarray]:
    """The outputs of a kernel by name, of those that are ``known``, in each of the forms that the judge takes."""
    wrong, forms = f"outputs is {_shown(outputs)}; it takes (Y, Indices) or Y, or what the kernel raised", (tuple, list)
    if isinstance(outputs, Pooled):
        wrong = "outputs is a Pooled, which has Y and Indices; it takes (pooled.Y, pooled.Indices)"
    elif isinstance(outputs, type) and issubclass(outputs, BaseException):
        wrong = f"outputs is the class {outputs.__name__}; it takes the exception itself: {outputs.__name__}(...)"
    elif outputs is None or hasattr(outputs, "__array__"):
        outputs = {"Y": outputs}
    elif isinstance(outputs, forms):
        count = f"the function returned {plural(len(outputs), 'value')}; expected (Y, Indices) or Y"
        _check(len(outputs) in (1, 2), count, ValueError)
        outputs = dict(zip(("Y", "Indices"), outputs, strict=False))
    _check(isinstance(outputs, Mapping) and outputs, wrong)
    arrays = {}
    for name, value in outputs.items():
        has = f"there are {', '.join(known)}" if len(known) > 1 else "the document has Y only"
        _check(name in known, f"unknown output {name!r}; {has}", ValueError)
        hint = "did the function return?" if name == "Y" else "leave it out if the kernel returns Y only"
        _check(value is not None, f"{name} is None: {hint}", ValueError)
        try:
            arrays[name] = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} is no array: {error}") from error
    return arrays


@dataclass(frozen=True, repr=False)
class Results:
    """The results of a run. ``record`` has all of it: the header, the executions and the footer.

    ``executions`` are all, in the order of the cases, each with its verdict; ``unexpected`` those that fail the run: none also
    if no target started. ``targets`` are those that started; ``errors`` say why others did not, or were given up. ``exit_code``
    is what the command line would exit with.
    """

    record: Record
    executions: list[Execution]
    unexpected: list[Execution]
    targets: tuple[TargetDescription, ...]
    errors: tuple[str, ...]
    exit_code: ExitCode

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
    names = [targets] if isinstance(targets, str) or not isinstance(targets, Iterable) else list(targets)
    for text in names:
        hint = "; use 'python:FILE.py:NAME' for a function" if callable(text) else ""
        takes = f"it takes names, such as 'onnxruntime==1.23.2'{hint}"
        _check(isinstance(text, str), f"targets has {_shown(text)}; {takes}")
    _check(names, "targets is empty; it takes names, such as 'onnxruntime'", ValueError)
    _check(len(set(names)) == len(names), f"targets names one twice: {', '.join(map(str, names))}", ValueError)
    chosen = [variants] if isinstance(variants, str) or not isinstance(variants, Iterable) else list(variants)
    takes = "it takes names, such as 'default,twice' or ['default', 'twice']"
    _check(chosen and all(isinstance(name, str) for name in chosen), f"variants is {_shown(variants)}; {takes}")
    takes = f"it takes a number of seconds above 0, up to {MOST_SECONDS}"
    _check(
        _is_number(timeout, float) and 0 < timeout <= MOST_SECONDS, f"timeout is {_shown(timeout)}; {takes}", ValueError
    )
    takes = "it takes a number of processes, at least 1"
    _check(_is_number(jobs, int) and jobs >= 1, f"jobs is {_shown(jobs)}; {takes}", ValueError)
    corpus, lines = _corpus(cases), list[Any]()
    plan = RunPlan(
        corpus, corpus.cases, claiming(map(parse, names), [specs] if isinstance(specs, str) else specs),
        seconds=float(timeout), jobs=jobs, variants=parse_variants(",".join(chosen)),
    )  # fmt: skip
    run_plan(plan, lines.append)
    record = record_of(lines)
    executions, footer = list(record.executions), record.footer
    unexpected = [execution for execution in executions if execution.unexpected]
    exit_code = ExitCode(footer.exit_code) if footer else ExitCode.INCOMPLETE
    return Results(record, executions, unexpected, record.header.targets, footer.errors if footer else (), exit_code)


def _corpus(cases: Any) -> Corpus:
    if isinstance(cases, (str, PathLike)):
        return _read([cases])
    listed = [cases] if isinstance(cases, Case) else cases
    takes = "it takes a list of cases, one case, or a path"
    _check(isinstance(listed, Iterable), f"cases is {_shown(cases)}; {takes}")
    listed = tuple(listed)
    for entry in listed:
        takes = "it takes cases, made by case() or read_cases()"
        _check(isinstance(entry, Case), f"cases contains {_shown(entry)}; {takes}")
    for name, times in Counter(entry.id for entry in listed).items():
        message = f"{times} cases are called '{name}'; give each its own name: case(X, name=...)"
        _check(times == 1, message, ValueError)
    return Corpus(listed, (), False)


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, (int, kind)) and not isinstance(value, bool)


def _check(is_right: object, message: str, error: type[Exception] = TypeError) -> None:
    if not is_right:
        raise error(message)


def _shown(value: object) -> str:
    """A wrong argument in a message: itself if it is short, else its type."""
    text = repr(value)
    is_short = len(text) <= 40 and "\n" not in text and not isinstance(value, np.ndarray)
    return text if is_short else f"a {type(value).__name__}"
