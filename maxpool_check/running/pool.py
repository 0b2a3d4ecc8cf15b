"""The worker processes of one target, made as they are needed."""

from __future__ import annotations

import queue

from maxpool_check.targets.process import CannotStart, Worker
from maxpool_check.targets.target import Target


class Pool:
    """Places for so many workers of one target."""

    def __init__(self, target: Target, size: int) -> None:
        self._slots: queue.LifoQueue[Slot] = queue.LifoQueue()
        self._all = [Slot(target, self._slots) for _ in range(size)]
        for slot in self._all:
            self._slots.put(slot)

    def slot(self) -> Slot:
        """A free place; waits for one."""
        return self._slots.get()

    def end(self) -> None:
        """Kill every worker, whatever it is doing; no place gives another."""
        for slot in self._all:
            slot.end()

    def close(self) -> None:
        """Let go of what is left of them, when no thread uses them any more."""
        for slot in self._all:
            slot.close()


class Slot:
    """A place for one worker, taken with ``with``."""

    def __init__(self, target: Target, home: queue.LifoQueue[Slot]) -> None:
        self._target, self._home = target, home
        self._worker: Worker | None = None
        self._closed = False

    def worker(self) -> Worker:
        """The living worker, a new one if the last has died."""
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
        """Let go of what is left of it."""
        if self._worker is not None:
            self._worker.close()

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *_: object) -> None:
        self._home.put(self)
