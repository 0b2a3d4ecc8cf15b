"""Talks a program through the protocol, step by step, and says what is missing or wrong."""

import contextlib
import itertools
import json
import math
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxpool_check.corpus.case import Case
from maxpool_check.corpus.tensors import Recipe
from maxpool_check.judging.oracle import Oracle
from maxpool_check.reference.dtypes import NUMPY, name_of
from maxpool_check.reference.geometry import Axis
from maxpool_check.results.outcomes import Accepted, Crashed, Inferred, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, Variant
from maxpool_check.running.case_run import judge_case
from maxpool_check.specifications import DEFAULT, SPECIFICATIONS, specification
from maxpool_check.specifications.roles import Role, attributes_for
from maxpool_check.specifications.specification import Specification
from maxpool_check.targets.jobs import Job
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.protocol import Request, in_message, in_ready, outcome_of, parsed, quoted, unknown_in_ready
from maxpool_check.targets.requests import jobs_of
from maxpool_check.targets.target import Target, TargetProfile
from maxpool_check.words import plural

OK, MISSING, WRONG, SKIPPED = "ok", "missing", "wrong", "skipped"

NEWEST_OPSET = 22
"""The operator set of the models that a program gets here."""

_QUIET_SECONDS = 0.3
"""How long to wait for lines that must not come."""

_EXECUTED = (Returned, Inferred, Accepted)
"""The outcomes of a request that a program did not refuse, whatever it decides."""

_FIXES = {
    "ready line": (
        'write {"type": "ready", "protocol": 1} as the first line of stdout, as soon as the first line of stdin is read'
    ),
    "two requests written ahead": "read stdin line by line, and write one line for each, in order, with its own id",
    "an unknown key in a request": "ignore keys that it does not know: later versions of the tool may send them",
    "a request to refuse, with strides of 0": (
        'check the attributes, and write {"id": ..., "type": "refusal", "status": "INVALID_ARGUMENT", "message": "..."}'
    ),
    "nothing else on stdout": "print what is no message to stderr",
    "ends when stdin ends": "leave the loop that reads requests at the end of stdin, and exit with 0",
}
"""How to fix what is wrong in a step, unless the mistake itself says more."""

_FIXES_OF_LINES = {
    "'id'": "give each line the id of its request",
    ".*it ends too early": "write each message whole, on one line: is a quote, a bracket or a brace left open?",
    r"a line is not JSON \(column (?!1:)": "correct the line at that column",
    "a line is not": "print what is no message to stderr; perhaps this line was printed after the answer before",
}
"""How to fix a line, by the beginning of what is wrong with it, whatever the request was."""

Lines = Sequence[tuple[str, str]]
"""Lines with their directions, ``in`` to the program and ``out`` of it."""


@dataclass(frozen=True)
class ProtocolStep:
    """One step of the check: its ``state``, what was seen, the lines in and out, and how to fix it."""

    name: str
    state: str
    message: str = ""
    lines: Lines = ()
    fix: str = ""


class _Mistake(ValueError):
    """What is missing or wrong in a step."""

    def __init__(self, message: str, fix: str = "", state: str = WRONG) -> None:
        super().__init__(message)
        self.fix, self.state = fix, state


class ProtocolCheck:
    """The conversation with one program. ``seconds`` limits each wait, ``report`` gets each step as it is done."""

    def __init__(self, name: TargetName, seconds: float, report: Callable[[ProtocolStep], None]) -> None:
        self._target, self._seconds, self._report = Target(name, seconds), seconds, report
        self._worker: Worker | None = None
        self._lines: list[tuple[str, str]] = []
        # As in a run, a program cannot know the number before it has read it.
        self._number = secrets.randbelow(10**6)

    def run(self) -> None:
        """Take every step. Raises :class:`CannotStart` if the program cannot be run at all."""
        try:
            ready = self._ready()
            if ready is not None:
                profile = self._target.described(ready, lambda: NEWEST_OPSET)
                self._further_requests(self._valid_requests(profile), profile)
                self._end()
        finally:
            self._close()

    @contextlib.contextmanager
    def _step(self, name: str, fix: str = "") -> Iterator[None]:
        """Report what is done inside as a step; a mistake ends it, and the program."""
        self._lines = []
        try:
            yield
        except ValueError as error:
            self._close()
            mistake = error if isinstance(error, _Mistake) else _Mistake(str(error))
            of_line = next((fix for start, fix in _FIXES_OF_LINES.items() if re.match(start, str(mistake))), "")
            self._say(name, mistake.state, str(mistake), of_line or mistake.fix or fix or _FIXES[name], self._lines)
        else:
            self._say(name, OK)

    def _say(self, name: str, state: str, message: str = "", fix: str = "", lines: Lines = ()) -> None:
        self._report(ProtocolStep(name, state, message, tuple(lines), fix))

    def _close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _running(self) -> Worker:
        """The program, started again if it is gone."""
        if self._worker is None or not self._worker.alive:
            self._close()
            self._worker = self._target.worker()
            try:
                self._read(self._worker)
            except _Mistake as mistake:
                text = f"started again, it is not ready: {mistake}"
                raise _Mistake(text, "it must start as often as it is asked") from mistake
        return self._worker

    def _read(self, worker: Worker) -> bytes:
        try:
            line = worker.next_line(self._seconds)
        except TimeoutError:
            text = f"no line within {self._seconds:g} s; is stdout flushed after each line?"
            raise _Mistake(text, state=MISSING) from None
        if not line:
            raise _Mistake(_ended(worker))
        self._lines.append(("out", quoted(line)))
        return line

    def _ready(self) -> Mapping[str, Any] | None:
        """The ``ready`` line; None if the program cannot go on."""
        message: dict[str, Any] = {}
        mistakes = []
        with self._step("ready line"):
            self._lines.append(("in", '{"protocol": 1, "options": {...}}'))
            self._worker = self._target.worker()
            message = parsed(self._read(self._worker))
            if message.get("type") == "failed":
                failed, message = str(message.get("message")), {}
                raise CannotStart(failed) if "cannot be run" in failed else _Mistake(f"it failed: {failed}")
            mistakes = list(in_ready(message))
            basic = [(key, text) for key, text in mistakes if key in ("ready", "type", "protocol")]
            if basic:
                raise _Mistake("; ".join(text if key == "ready" else f"'{key}': {text}" for key, text in basic))
        unknown = unknown_in_ready(message)
        for key in [key for key in message if key not in ("type", "protocol")]:
            name = f"ready: '{key}'"
            if wrong := [text for place, text in mistakes if re.split(r"[.\[]", place)[0] == key]:
                self._say(name, WRONG, "; ".join(wrong), f"correct or leave out '{key}'", self._lines)
            elif key in unknown:
                fix = f"is '{unknown[key]}' meant? Otherwise leave it out" if unknown[key] else ""
                self._say(name, WRONG if fix else OK, "the protocol has no such key; it is ignored", fix)
            else:
                self._say(name, OK, json.dumps(message[key])[:100])
        for key, meaning in (("dtypes", "any dtype"), ("spatial", "any number of spatial axes")):
            if message and key not in message:
                self._say(f"ready: '{key}'", OK, f"left out, so it gets {meaning}, also what it does not have")
        return None if mistakes else message or None

    def _valid_requests(self, profile: TargetProfile) -> Case | None:
        """Execute a case of each dtype and number of axes; one that it has outputs for."""
        document = specification((profile.description.specs or ("onnx-22",))[0])
        works = None
        for dtype, axes in itertools.product(profile.dtypes or ("float32",), profile.spatial or (2,)):
            name = f"{dtype} over {plural(axes, 'spatial axis', 'spatial axes')}"
            if dtype not in document.dtypes or axes not in document.ranks:
                self._say(name, SKIPPED, f"{document.title} has no such MaxPool: it never gets one")
                continue
            case = plain_case(document, dtype, axes)
            finished: list[Job] = []
            for job in jobs_of(case, (WITH_INDICES, Y_ONLY), profile):
                step = f"{name}, {' and '.join(job.variant.outputs)}"
                if job.request is not None:
                    with self._step(step, "write one line for each request"):
                        outcome = self._execute(job.request)
                        if not isinstance(outcome, _EXECUTED):
                            fix = "give outputs, or leave out of 'dtypes', 'spatial' and 'specs' what it does not have"
                            raise _Mistake("it has no outputs for a valid request", fix, MISSING)
                        works = works or case
                        finished.append(job.finished(outcome, 0.0, profile))
                        _check_outputs(case, job.variant, finished[-1].outcome)
                elif profile.description.indices is not None or not job.variant.has_indices:
                    self._say(step, SKIPPED, job.why)
            self._check_values(name, case, finished)
        return works

    def _check_values(self, name: str, case: Case, jobs: Sequence[Job]) -> None:
        run = judge_case(case, str(self._target.name), case.oracle(), jobs)
        for variant, judgement in run.judgements.items():
            # A wrong shape was said already.
            is_said = bool(judgement.shapes) and isinstance(run.jobs[variant].outcome, Returned)
            if judgement.verdict is not Verdict.CONFORMS and not is_said:
                cells = "; ".join(map(str, judgement.cells[:2])) or judgement.message
                message = f"{', '.join(kind.value for kind in judgement.kinds)}: {cells}"
                fix = "is 'data' little-endian and row-major? Otherwise 'maxpool-check run' says more of the kernel itself"
                self._say(f"{name}, values ({variant})", WRONG, message, fix)

    def _execute(self, request: Request, times: int = 1, **more: Any) -> Outcome:
        """The outcome of a request with ``more`` keys, written so many times before it is read."""
        worker = self._running()
        first, self._number = self._number + 1, self._number + times
        for number in range(first, first + times):
            line = json.dumps({**json.loads(request.line(number)), **more}).encode() + b"\n"
            self._lines.append(("in", quoted(line)))
            worker.write(line)
        for number in range(first, first + times):
            message = parsed(self._read(worker))
            if mistake := in_message(message, number):
                raise _Mistake(mistake, "see 'The messages' in 'maxpool-check docs kernel'")
            outcome = outcome_of(message, number)
        return outcome

    def _further_requests(self, case: Case | None, profile: TargetProfile) -> None:
        """Requests that are written ahead, have another key, or are to be refused."""
        if case is None:
            self._say("further requests", SKIPPED, "first it must give outputs for those above")
            return
        (job,) = jobs_of(case, (Y_ONLY,), profile)
        if job.request is None:
            return
        with self._step("two requests written ahead"):
            self._execute(job.request, times=2)
        with self._step("an unknown key in a request"):
            if not isinstance(self._execute(job.request, more={"a": [1]}), _EXECUTED):
                raise _Mistake("it has no outputs for a valid request", state=MISSING)
        strides = {
            name: [0] * len(case.attributes[name])
            for name, each in case.specification.attributes.items()
            if each.role is Role.STRIDE and name in case.attributes
        }
        (job,) = jobs_of(replace(case, attributes={**case.attributes, **strides}), (Y_ONLY,), profile)
        if not strides or job.request is None:
            self._say("a request to refuse", SKIPPED, "nothing that its language excludes is known")
            return
        with self._step("a request to refuse, with strides of 0"):
            outcome = self._execute(job.request)
            if isinstance(outcome, _EXECUTED):
                raise _Mistake("it gave outputs; the document excludes the graph")
            if not isinstance(outcome, RefusedByTarget):
                raise _Mistake(f"it did not refuse it: {outcome}", state=MISSING)

    def _end(self) -> None:
        with self._step("nothing else on stdout"):
            worker = self._running()
            with contextlib.suppress(TimeoutError):
                line = worker.next_line(_QUIET_SECONDS)
                self._lines += [("out", quoted(line))] if line else []
                raise _Mistake("a line that no request asked for" if line else "it ended without being told to")
        with self._step("ends when stdin ends"):
            worker = self._running()
            worker.end_input()
            try:
                line = worker.next_line(self._seconds)
            except TimeoutError:
                raise _Mistake(f"it runs {self._seconds:g} s after stdin was closed", state=MISSING) from None
            if line:
                self._lines.append(("out", quoted(line)))
                raise _Mistake("it writes another line")
            if not (how := _ended(worker)).startswith("it exited with status 0"):
                raise _Mistake(how)


def _ended(worker: Worker) -> str:
    """How a program ended."""
    death = worker.death()
    if isinstance(death, Crashed):
        return f"it {death.how}{': ' if death.stderr else ''}{death.stderr}"
    return death.why


def accepted_case(profile: TargetProfile) -> Case:
    """A plain case of a dtype and rank that a target accepts, preferably float32 and two axes; if there is none, any plain case."""
    # What a target takes may be the language of a runtime, and no document.
    names = profile.description.specs or (profile.description.speaks,)
    documents = [SPECIFICATIONS[name if name in SPECIFICATIONS else DEFAULT] for name in names]
    choices = [
        (document, dtype, axes)
        for document in documents
        for dtype in sorted(document.dtypes, key=lambda dtype: dtype != "float32")
        for axes in sorted(document.ranks, key=lambda axes: axes != 2)
    ]
    fitting = (each for each in choices if profile.exclude(each[1], each[2]) is None)
    return plain_case(*next(fitting, choices[0]))


def plain_case(document: Specification, dtype: str, axes: int) -> Case:
    """A case of windows of two cells on each of so many axes, with different values in a mixed order."""
    sizes = range(3, 3 + axes)
    attributes = next(attributes_for(document, tuple(Axis(size, 2, 1, 1, 0, 0, size - 1) for size in sizes)))
    shape = document.layout.arranged((1, document.channel_multiple, *sizes))
    count = math.prod(shape)
    # 7 and the sizes have no common divisor up to four axes.
    X = (1 + np.arange(count) * 7 % count % 100).astype(NUMPY[dtype]).reshape(shape)
    outputs = ("Y", "Indices") if document.indices else ("Y",)
    title = f"Windows of two cells over {axes} axes of {dtype}"
    return Case(f"{dtype}-{axes}d", document.name, Recipe.of(X), attributes, outputs, document.policies, title)


def _check_outputs(case: Case, variant: Variant, outcome: Outcome) -> None:
    """Check the names, shapes and dtypes of outputs."""
    oracle = case.oracle()
    if not isinstance(outcome, Returned) or not isinstance(oracle, Oracle):
        return
    for name in variant.outputs:
        if (value := outcome.outputs.get(name)) is None:
            or_none = ', or write "indices": null in ready' if name == "Indices" else ""
            fix = f"give '{name}' where it is among the 'outputs' of the request{or_none}"
            raise _Mistake(f"'outputs' has no '{name}'", fix, MISSING)
        expected = f"{name_of(oracle.dtype(name))}{list(oracle.shape)}"
        if (found := f"{name_of(value.dtype)}{list(value.shape)}") != expected:
            raise _Mistake(f"'{name}' is {found}; expected {expected}", "see 'Tensors' in 'maxpool-check docs kernel'")
