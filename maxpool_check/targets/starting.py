"""Targets that start, and are inspected, in threads of their own, while this process does something else."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

from maxpool_check.results.record import TargetDescription
from maxpool_check.targets.inspection import inspect
from maxpool_check.targets.session import TargetSession

_STOP_SECONDS = 5
"""How long a target that is still starting may take to notice that it is ended."""


class StartingTarget:
    """A target that is starting."""

    def __init__(self, make: Callable[[], TargetSession], *, inspects: bool = True) -> None:
        """``make`` makes its session, which may have to install an environment and may raise ``CannotStart``.

        ``inspects``: the description says what it is made of.
        """
        self._make, self._inspects = make, inspects
        self._made: TargetSession | None = None
        self._ended = False
        self._started = Future[tuple[TargetSession, TargetDescription]]()
        # Not in a pool, whose threads must end before the program: a runtime may hang during its import.
        threading.Thread(target=self._start, daemon=True).start()

    @property
    def error(self) -> BaseException | None:
        """Why it cannot be started, None if its session can be used; waits for either."""
        return self._started.exception()

    @property
    def session(self) -> TargetSession:
        """The session of a target that can be used."""
        return self._started.result()[0]

    @property
    def description(self) -> TargetDescription:
        """The description of a target that can be used."""
        return self._started.result()[1]

    def end(self) -> None:
        """Kill it; nothing more is executed. From any thread."""
        self._ended = True
        if self._made is not None:
            self._made.end()

    def close(self) -> None:
        """End it. From the thread that uses its session."""
        self.end()
        # A process that is forked later must not inherit what a thread has locked.
        wait([self._started], _STOP_SECONDS)
        if self._started.done() and self._made is not None:
            self._made.close()

    def _start(self) -> None:
        try:
            self._made = session = self._make()
            if self._ended:
                session.end()
            description = session.profile.description
            if self._inspects:
                description = inspect(session.target, description)
            self._started.set_result((session, description))
        except BaseException as error:
            if self._made is not None:
                self._made.close()
            self._started.set_exception(error)
