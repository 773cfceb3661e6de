"""The threads of one simulated machine.

A job waits for a free thread, runs at one moment, and its result is known at a later one: a crash
in between leaves a job done of which nobody has heard. How long each step takes is up to the dice,
so jobs of two threads finish in any order. A slow disk is one whose jobs take long.
"""

import random
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Final, TypeVar

from moldau.simulator.disk_faults import PowerCut
from moldau.simulator.world import World

_LIKELY_US: Final = 2_000
_LONGEST_US: Final = 20_000
_SLOW: Final = 0.02

T = TypeVar("T")


class SimulatedJob(Future[Any]):
    """A job and its result. Who waits for the result, as a thread may, has it done at once."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work: Callable[[], Any] | None = work
        self._outcome: tuple[Any, BaseException | None] = (None, None)

    def run(self) -> None:
        """Do the work, unless it is done; the result is kept for ``finish``."""
        work, self._work = self._work, None
        if work is None or not self.set_running_or_notify_cancel():
            return
        try:
            self._outcome = (work(), None)
        except Exception as error:
            self._outcome = (None, error)

    def finish(self) -> None:
        """Tell the result to those who wait for it."""
        if not self.done():
            result, error = self._outcome
            if error is not None:
                self.set_exception(error)
            else:
                self.set_result(result)

    def result(self, timeout: float | None = None) -> Any:
        self._complete()
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._complete()
        return super().exception(0)

    def _complete(self) -> None:
        if not self.done():
            self.run()
            self.finish()


class SimulatedExecutor(Executor):
    """Some threads, in virtual time."""

    def __init__(self, world: World, rng: random.Random, threads: int = 2) -> None:
        self._world = world
        self._rng = rng
        self._idle = threads
        self._waiting: deque[SimulatedJob] = deque()
        self._paused: list[Callable[[], None]] | None = None
        self._is_dead = False
        # How much longer than usual everything takes.
        self.slowness = 1

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        if self._is_dead:
            # In the callback that was running when the power went, as from its disk.
            raise PowerCut("the machine has stopped")
        job = SimulatedJob(lambda: fn(*args, **kwargs))
        self._waiting.append(job)
        self._begin()
        return job

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        waiting = list(self._waiting)
        self._waiting.clear()
        for job in waiting:
            if cancel_futures:
                job.cancel()
            elif wait:
                job.exception()

    def pause(self) -> None:
        if self._paused is None:
            self._paused = []

    def resume(self) -> None:
        due, self._paused = self._paused or [], None
        for step in due:
            step()

    def die(self) -> None:
        """Do nothing any more: the process was killed."""
        self._is_dead = True
        self._waiting.clear()

    def _begin(self) -> None:
        while self._waiting and self._idle:
            self._idle -= 1
            self._later(self._run, self._waiting.popleft())

    def _run(self, job: SimulatedJob) -> None:
        job.run()
        self._later(self._finish, job)

    def _finish(self, job: SimulatedJob) -> None:
        self._idle += 1
        job.finish()
        self._begin()

    def _later(self, step: Callable[[SimulatedJob], None], job: SimulatedJob) -> None:
        most_us = _LONGEST_US if self._rng.random() < _SLOW else _LIKELY_US
        delay_us = self._rng.randint(1, most_us) * self.slowness
        self._world.after(delay_us, self._step, step, job)

    def _step(self, step: Callable[[SimulatedJob], None], job: SimulatedJob) -> None:
        if self._is_dead:
            return
        if self._paused is not None:
            self._paused.append(lambda: self._step(step, job))
        else:
            step(job)
