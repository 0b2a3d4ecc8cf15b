"""A target: what it accepts, how its workers are started, and its session during a run."""

import secrets
from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic

from maxpool_check.results.outcomes import Crashed, Failed, Outcome, Returned, TimedOut
from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.protocol import Request
from maxpool_check.targets.target import Target, TargetProfile


class TargetSession:
    """Executes requests on one target, in the order of submission; a death costs one request.

    Requests are written ahead while the worker is busy. A context manager: close the session at the end.
    """

    def __init__(self, target: Target) -> None:
        """Prepare a session; nothing is started yet."""
        self.target = target
        self.failure: CannotStart | None = None
        """Why no other worker can be started, if that is so; all later requests fail."""
        self.rewrite: Callable[[Request], Request] | None = None
        """What is made of each request before it is executed; None: nothing."""
        self._worker: Worker | None = None
        self._profile: TargetProfile | None = None
        # A program of the user gets ids that it cannot know before it has read them.
        self._submitted = 0 if target.is_own else secrets.randbelow(10**6)
        self._waiting: deque[tuple[int, Request, bytes]] = deque()
        self._written: deque[tuple[int, Request, bytes]] = deque()
        self._written_at: dict[int, float] = {}
        self._outcomes: dict[int, tuple[Outcome, float]] = {}
        self._ended = False

    @property
    def profile(self) -> TargetProfile:
        """What the target is and what it accepts; starts it. Raises :class:`CannotStart`."""
        if self._profile is None:
            self._profile = self.target.profile_of(self._start())
        return self._profile

    def submit(self, requests: Iterable[Request]) -> list[int]:
        """Queue requests; their numbers."""
        numbers = []
        for request in requests:
            if self.rewrite is not None:
                request = self.rewrite(request)
            self._submitted += 1
            numbers.append(self._submitted)
            line = (request.line_and_bytes if self.target.takes_bytes else request.line)(self._submitted)
            self._waiting.append((self._submitted, request, line))
        try:
            self._write_ahead()
        except BaseException:
            self._reset()
            raise
        return numbers

    def outcome(self, number: int) -> Outcome:
        """The outcome of a request, once."""
        return self.timed_outcome(number)[0]

    def timed_outcome(self, number: int) -> tuple[Outcome, float]:
        """The outcome of a request, once, and the seconds that the worker had it, without those of earlier requests.

        Of a request that was executed again after a crash, the seconds are those of the first execution.
        """
        try:
            while number not in self._outcomes:
                self._write_ahead()
                if self._written:
                    self._read_next()
        except BaseException:
            # An interruption may come between two steps; later outcomes must not be taken for those of other requests.
            self._reset()
            raise
        return self._outcomes.pop(number)

    def end(self) -> None:
        """Kill the worker, and start no other. From any thread."""
        self._ended = True
        if (worker := self._worker) is not None:
            worker.end()

    def close(self) -> None:
        """End the session. From the thread that uses it."""
        self.end()
        self._reset()

    def __enter__(self) -> "TargetSession":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reset(self) -> None:
        """Forget all requests, and close the worker."""
        self._waiting.clear()
        self._written.clear()
        self._written_at.clear()
        self._outcomes.clear()
        self._close_worker()

    def _close_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _start(self) -> Worker:
        """The worker, started if there is none. Raises :class:`CannotStart`."""
        if self._ended:
            raise CannotStart("the run has ended")
        if self._worker is None:
            self._worker = self.target.worker()
        if self._ended:
            self._worker.end()
        return self._worker

    def _write_ahead(self) -> None:
        """Write the requests, of which the worker takes as many as it can; fail them if no worker can be started."""
        if not self._written and self._worker is not None and not self._worker.alive:
            self._close_worker()
        while self._waiting and self.failure is None and self._may_write():
            try:
                number, _, line = self._waiting[0]
                # Before it is written: the worker may be faster than this process.
                self._written_at[number] = monotonic()
                self._start().write(line)
                self._written.append(self._waiting.popleft())
            except CannotStart as error:
                self.failure = error
        if self._worker is not None:
            self._worker.flush()
        if self.failure is not None:
            failed = Failed(f"could not be started again: {self.failure}", final=True)
            self._outcomes |= {number: (failed, 0.0) for number, _, _ in (*self._written, *self._waiting)}
            self._written.clear()
            self._written_at.clear()
            self._waiting.clear()

    def _may_write(self) -> bool:
        if not self._written:
            return True
        _, request, _ = self._waiting[0]
        return not (request.excluded or self._written[-1][1].excluded)

    def _read_next(self) -> None:
        number, request, line = self._written[0]
        try:
            worker = self._start()
            _ = worker.description
            # A worker begins when it is ready, or has written the outcome before this one.
            began = max(self._written_at.pop(number), worker.arrived)
            outcome = worker.read(number, self.target.seconds, takes_bytes=self.target.takes_bytes)
        except CannotStart as error:
            self.failure = self.target.cannot_start(error)
            return
        # Without a line, the wait itself came to an end.
        seconds = (worker.arrived if worker.arrived > began else monotonic()) - began
        if self.target.is_own and isinstance(worker.seconds, float) and not isinstance(outcome, (Crashed, TimedOut)):
            # This process may have been busy when the line came.
            seconds = worker.seconds
        if isinstance(outcome, Crashed) and worker.executed:
            outcome = self._alone(number, line, outcome)
        self._written.popleft()
        self._outcomes[number] = outcome, seconds
        died = isinstance(outcome, (Crashed, TimedOut, Failed)) and not worker.alive
        if died or (request.excluded and isinstance(outcome, Returned)):
            if self._worker is worker:
                self._close_worker()
            # The next worker executes what this one has not.
            self._waiting.extendleft(reversed(self._written))
            self._written.clear()

    def _alone(self, number: int, line: bytes, crash: Crashed) -> Outcome:
        """Execute a request again in a new worker: it shows whether an earlier request may have caused the crash."""
        self._close_worker()
        try:
            worker = self._start()
            worker.write(line)
            outcome = worker.read(number, self.target.seconds, takes_bytes=self.target.takes_bytes)
        except CannotStart:
            self._close_worker()
            return crash
        if isinstance(outcome, (Crashed, TimedOut, Failed)):
            self._close_worker()
            return outcome
        return Crashed(f"{crash.how} after other requests; executed alone, it does not crash", crash.stderr)
