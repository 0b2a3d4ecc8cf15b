"""The worker process of one target, made again when it has died."""

from __future__ import annotations

from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.target import Target


class Slot:
    """A place for one worker of a target; the first may be there already."""

    def __init__(self, target: Target, worker: Worker | None = None) -> None:
        self._target, self._worker = target, worker
        self._closed = False

    def worker(self) -> Worker:
        """The living worker, a new one if the last has died. Raises :class:`CannotStart`."""
        if self._closed:
            raise CannotStart("the run has ended")
        if self._worker is None or not self._worker.alive:
            if self._worker is not None:
                self._worker.close()
            self._worker = self._target.worker()
            if self._closed:
                self._worker.end()
        return self._worker

    def end(self) -> None:
        """Kill the worker, and give no other. From any thread."""
        self._closed = True
        if self._worker is not None:
            self._worker.end()

    def close(self) -> None:
        """Let go of what is left of it, when no thread uses it any more."""
        self.end()
        if self._worker is not None:
            self._worker.close()
