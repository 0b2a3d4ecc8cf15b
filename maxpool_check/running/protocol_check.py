"""Talks a program through the protocol, step by step, and says what is missing or wrong."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from maxpool_check.corpus.case import Case
from maxpool_check.results.outcomes import Crashed, Outcome, RefusedByTarget, Returned
from maxpool_check.results.record import Verdict
from maxpool_check.results.variants import WITH_INDICES, Y_ONLY, Variant
from maxpool_check.running.case_run import judged_case
from maxpool_check.running.protocol_steps import (
    EXECUTED,
    MISSING,
    OK,
    SKIPPED,
    WRONG,
    Lines,
    ProtocolStep,
    fix_of,
    outcome_and_mistake,
    plain_case,
    ready_keys,
    with_outputs,
)
from maxpool_check.specifications import specification
from maxpool_check.specifications.roles import Role
from maxpool_check.targets import requests
from maxpool_check.targets.mistakes import in_ready, quoted
from maxpool_check.targets.name import TargetName
from maxpool_check.targets.plans import VariantPlan, VariantResult
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.protocol import parsed
from maxpool_check.targets.target import Target, TargetProfile
from maxpool_check.words import plural

NEWEST_OPSET = 22
"""The operator set of the models that a program gets here."""

_QUIET_SECONDS = 0.3
"""How long to wait for lines that must not come."""


class _Stop(Exception):
    """The program cannot go on; the steps so far say why."""


class ProtocolCheck:
    """The conversation with one program. ``seconds`` limits each wait."""

    def __init__(self, name: TargetName, seconds: float) -> None:
        self._target, self._seconds = Target(name, seconds), seconds
        self._worker: Worker | None = None
        self._number = 0
        self._ready: Mapping[str, Any] = {}
        self._works: Case | None = None

    def steps(self) -> Iterator[ProtocolStep]:
        """Each step as it is done. Raises :class:`CannotStart` if the program cannot be run at all."""
        try:
            yield from self._start()
            profile = self._target.described(self._ready, lambda: NEWEST_OPSET)
            yield from self._valid_requests(profile)
            yield from self._further_requests(profile)
            yield from self._end()
        except _Stop:
            pass
        finally:
            self._close()

    def _close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _open(self) -> tuple[bytes, str]:
        """Start the program; its first line, and why there is none."""
        self._close()
        self._worker = self._target.worker()
        return self._read()

    def _read(self, seconds: float | None = None) -> tuple[bytes, str]:
        """The next line, and why there is none."""
        assert self._worker is not None
        try:
            line = self._worker.next_line(self._seconds if seconds is None else seconds)
        except TimeoutError:
            return b"", f"no line within {self._seconds:g} s; is stdout flushed after each line?"
        if line:
            return line, ""
        death = self._worker.death()
        return b"", f"it {death.how}{': ' if death.stderr else ''}{death.stderr}" if isinstance(
            death, Crashed
        ) else death.why

    def _start(self) -> Iterator[ProtocolStep]:
        line, nothing = self._open()
        hello = ("in", '{"protocol": 1, "options": {...}}')
        expected = 'write {"type": "ready", "protocol": 1} as the first line of stdout, as soon as the first line of stdin is read'
        if nothing:
            state = MISSING if "no line" in nothing else WRONG
            yield ProtocolStep("ready line", state, nothing, (hello,), expected)
            raise _Stop
        lines = hello, ("out", quoted(line))
        try:
            message = parsed(line)
        except ValueError as error:
            yield ProtocolStep("ready line", WRONG, str(error), lines, expected)
            raise _Stop from error
        if message.get("type") == "failed":
            why = str(message.get("message"))
            if "cannot be run" in why:
                raise CannotStart(why)
            yield ProtocolStep("ready line", WRONG, f"it failed: {why}", lines, expected)
            raise _Stop
        mistakes = list(in_ready(message))
        basic = [text for key, text in mistakes if key in ("ready", "type", "protocol")]
        yield ProtocolStep(
            "ready line", WRONG if basic else OK, "; ".join(basic), lines if basic else (), expected if basic else ""
        )
        yield from ready_keys(message, mistakes, lines)
        if mistakes:
            raise _Stop
        self._ready = message

    def _valid_requests(self, profile: TargetProfile) -> Iterator[ProtocolStep]:
        document = specification((profile.description.specs or ("onnx-22",))[0])
        for dtype in profile.dtypes or ("float32",):
            if dtype not in document.dtypes:
                yield ProtocolStep(dtype, SKIPPED, f"{document.title} has no {dtype}: it never gets one")
                continue
            for axes in profile.spatial or (2,):
                name = f"{dtype} over {plural(axes, 'spatial axis', 'spatial axes')}"
                if axes not in document.ranks:
                    yield ProtocolStep(name, SKIPPED, f"{document.title} has no such MaxPool: it never gets one")
                    continue
                yield from self._valid(plain_case(document, dtype, axes), profile, name)

    def _valid(self, case: Case, profile: TargetProfile, name: str) -> Iterator[ProtocolStep]:
        outcomes: dict[Variant, Outcome] = {}
        plans = requests.plan(case, (WITH_INDICES, Y_ONLY), profile)
        for each in plans:
            step_name = f"{name}, {' and '.join(each.variant.outputs)}"
            if each.not_executed is not None:
                if profile.description.indices is not None or not each.variant.has_indices:
                    yield ProtocolStep(step_name, SKIPPED, each.not_executed.why)
                continue
            outcome, step = self._request(step_name, each)
            if isinstance(outcome, EXECUTED):
                result = requests.result(each, [outcome], profile)
                outcomes[each.variant] = result.outcome
                self._works = self._works or case
                step = with_outputs(step, case, each.variant, result.outcome)
            yield step
        if not outcomes:
            return
        results = {variant: VariantResult(outcome) for variant, outcome in outcomes.items()}
        for variant, judgement in judged_case(case, str(self._target.name), case.oracle(), results).judgements.items():
            is_said = bool(judgement.shapes) and isinstance(outcomes[variant], Returned)
            if judgement.verdict is not Verdict.CONFORMS and not is_said:
                kinds = ", ".join(kind.value for kind in judgement.kinds)
                cells = "; ".join(map(str, judgement.cells[:2]))
                fix = "is 'data' little-endian and row-major? Otherwise 'maxpool-check run' says more of the kernel itself"
                yield ProtocolStep(
                    f"{name}, values ({variant})", WRONG, f"{kinds}: {cells or judgement.message}", (), fix
                )

    def _request(
        self, name: str, planned: VariantPlan, change: Callable[[dict[str, Any]], None] = lambda _: None
    ) -> tuple[Outcome | None, ProtocolStep]:
        """The outcome of a request, None if there is none, and the step that says so."""
        (request,) = planned.requests
        self._number += 1
        message = json.loads(request.line(self._number))
        change(message)
        sent = json.dumps(message).encode() + b"\n"
        lines: Lines = (("in", quoted(sent)),)
        if (step := self._revive(name)) is not None:
            return None, step
        assert self._worker is not None
        self._worker.write(sent)
        line, nothing = self._read()
        if nothing:
            self._close()
            return None, ProtocolStep(
                name, MISSING if "no line" in nothing else WRONG, nothing, lines, "write one line for each request"
            )
        outcome, mistake = outcome_and_mistake(line, self._number)
        lines = (*lines, ("out", quoted(line)))
        if mistake:
            self._close()
            fix = fix_of(mistake) or "see 'The messages' in 'maxpool-check docs kernel'"
            return None, ProtocolStep(name, WRONG, mistake, lines, fix)
        if isinstance(outcome, EXECUTED):
            return outcome, ProtocolStep(name, OK)
        fix = "give outputs, or leave out of 'dtypes', 'spatial' and 'specs' what it does not have"
        return outcome, ProtocolStep(name, MISSING, "it has no outputs for a valid request", lines, fix)

    def _revive(self, name: str) -> ProtocolStep | None:
        """Start the program again, if it is gone; what is wrong with that."""
        if self._worker is not None and self._worker.alive:
            return None
        line, nothing = self._open()
        if line:
            return None
        return ProtocolStep(
            name, WRONG, f"started again, it is not ready: {nothing}", (), "it must start as often as it is asked"
        )

    def _further_requests(self, profile: TargetProfile) -> Iterator[ProtocolStep]:
        case = self._works
        if case is None:
            yield ProtocolStep("further requests", SKIPPED, "first it must give outputs for those above")
            return
        (planned,) = requests.plan(case, (Y_ONLY,), profile)
        if planned.not_executed is not None:
            return
        yield from self._two_ahead(planned)
        outcome, step = self._request(
            "an unknown key in a request", planned, lambda message: message.update(more={"a": [1]})
        )
        fix = "ignore keys that it does not know: later versions of the tool may send them"
        yield step if isinstance(outcome, EXECUTED) else replace(step, fix=fix_of(step.message) or fix)
        strides = {
            name: [0] * len(case.attributes[name])
            for name, each in case.specification.attributes.items()
            if each.role is Role.STRIDE and name in case.attributes
        }
        excluded = replace(case, attributes={**case.attributes, **strides})
        (planned,) = requests.plan(excluded, (Y_ONLY,), profile)
        if not strides or planned.not_executed is not None:
            yield ProtocolStep("a request to refuse", SKIPPED, "nothing that its language excludes is known")
            return
        yield self._refusal(planned)

    def _refusal(self, planned: VariantPlan) -> ProtocolStep:
        name = "a request to refuse, with strides of 0"
        outcome, step = self._request(name, planned)
        fix = 'check the attributes, and write {"id": ..., "type": "refusal", "status": "INVALID_ARGUMENT", "message": "..."}'
        if isinstance(outcome, RefusedByTarget):
            return ProtocolStep(name, OK)
        if isinstance(outcome, EXECUTED):
            return replace(step, state=WRONG, message="it gave outputs; the document excludes the graph", fix=fix)
        return replace(step, fix=fix_of(step.message) or fix)

    def _two_ahead(self, planned: VariantPlan) -> Iterator[ProtocolStep]:
        name, (request,) = "two requests written ahead", planned.requests
        if (step := self._revive(name)) is not None:
            yield step
            return
        assert self._worker is not None
        numbers = self._number + 1, self._number + 2
        self._number += 2
        self._worker.write(b"".join(map(request.line, numbers)))
        for number in numbers:
            line, nothing = self._read()
            mistake = nothing or outcome_and_mistake(line, number)[1]
            if mistake:
                self._close()
                fix = (
                    fix_of(mistake)
                    or "read stdin line by line, and write one line for each, in the same order, with its own id"
                )
                lines = (("out", quoted(line)),) if line else ()
                yield ProtocolStep(name, MISSING if nothing else WRONG, mistake, lines, fix)
                return
        yield ProtocolStep(name, OK)

    def _end(self) -> Iterator[ProtocolStep]:
        if (step := self._revive("the end")) is not None:
            yield step
            return
        assert self._worker is not None
        try:
            line = self._worker.next_line(_QUIET_SECONDS)
        except TimeoutError:
            yield ProtocolStep("nothing else on stdout", OK)
        else:
            fix = "print what is no message to stderr"
            message = "a line that no request asked for" if line else "it ended without being told to"
            yield ProtocolStep("nothing else on stdout", WRONG, message, (("out", quoted(line)),) if line else (), fix)
        self._worker.end_input()
        fix = "leave the loop that reads requests at the end of stdin, and exit with 0"
        try:
            line = self._worker.next_line(self._seconds)
        except TimeoutError:
            yield ProtocolStep(
                "ends when stdin ends", MISSING, f"it runs {self._seconds:g} s after stdin was closed", (), fix
            )
            return
        if line:
            yield ProtocolStep("ends when stdin ends", WRONG, "it writes another line", (("out", quoted(line)),), fix)
            return
        death = self._worker.death()
        is_clean = isinstance(death, Crashed) and death.how == "exited with status 0"
        how = death.how if isinstance(death, Crashed) else death.why
        state, message, fix = (OK, "", "") if is_clean else (WRONG, f"it {how}", fix)
        yield ProtocolStep("ends when stdin ends", state, message, (), fix)
