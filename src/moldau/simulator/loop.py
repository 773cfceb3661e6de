"""The event loop of one simulated machine.

It is an asyncio loop whose time is virtual: coroutines, futures and timers work as on any other,
but it never waits and never reads a file descriptor. It runs one turn at a time, as an event of the
world, and is the running loop only during that turn; so the loops of many machines share a thread.

A machine can be paused: its loop then collects what becomes due. It can die: then the loop runs
nothing any more, not even the ``finally`` of coroutines, as with a process that was killed. They
are kept until ``bury``, because Python would run those blocks whenever it collects the garbage.
"""

import asyncio
import contextvars
import warnings
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from typing import Any, Final, TypeGuard, TypeVar, TypeVarTuple

from moldau.simulator.clock import SimulatedClock
from moldau.simulator.expected import EXPECTED, describe
from moldau.simulator.world import US_PER_S, Event, World

# What a turn of the loop takes. More than nothing: a coroutine that asks again in every turn must
# see time pass.
TURN_US: Final = 20

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Context = dict[str, Any]


class SimulatedTimer(asyncio.TimerHandle):
    """A timer that takes its event back when it is cancelled: most are, and would be for nothing.

    It knows the event only while that is planned: nothing may keep itself alive, because garbage is
    not collected during a simulation.
    """

    __slots__ = ("event",)

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: "SimulatedLoop",
        context: contextvars.Context | None,
    ) -> None:
        super().__init__(when, callback, args, loop, context)
        self.event: Event | None = None


class SimulatedLoop(asyncio.AbstractEventLoop):
    """The loop of the machine called ``name``."""

    def __init__(
        self, world: World, clock: SimulatedClock, name: str, executor: Executor | None = None
    ) -> None:
        self.world = world
        self.clock = clock
        self.name = name
        self.is_dead = False
        self._executor = executor
        self._ready: deque[asyncio.Handle] = deque()
        self._is_scheduled = False
        self._is_paused = False
        # In the order of creation: the loop is the only one who knows all of them.
        self._tasks: dict[asyncio.Task[Any], None] = {}
        # Called with what went wrong in callbacks and in tasks that nobody awaits.
        self.on_exception: Callable[[Context], None] = self._report

    # --- life ---

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._schedule()

    def die(self) -> None:
        """Run nothing from now on, nor the rest of this turn beyond the current callback."""
        self.is_dead = True
        self._ready.clear()

    def bury(self) -> None:
        """Let go of the coroutines of a dead loop, when nothing they do matters any more."""
        assert self.is_dead, f"the loop of {self.name} is alive"
        with warnings.catch_warnings():
            # Coroutines that were about to begin.
            warnings.simplefilter("ignore", RuntimeWarning)
            # What is closed may begin something in its last words, which is closed too.
            while self._tasks:
                tasks, self._tasks = list(self._tasks), {}
                for task in tasks:
                    _close(task)
                tasks.clear()

    def run_turn(self, call: Callable[[], T]) -> T:
        """Call something as if it was a callback of this loop."""
        events._set_running_loop(self)
        try:
            return call()
        finally:
            events._set_running_loop(None)

    def _schedule(self) -> None:
        if self._ready and not self._is_scheduled and not self._is_paused and not self.is_dead:
            self._is_scheduled = True
            self.world.after(TURN_US, self._turn)

    def _turn(self) -> None:
        """Run the callbacks that are ready now; those that they add come in the next turn."""
        self._is_scheduled = False
        if self._is_paused or self.is_dead:
            return
        ready = self._ready
        events._set_running_loop(self)
        try:
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle.cancelled():
                    handle._run()
                if self.is_dead:
                    break
        finally:
            events._set_running_loop(None)
        self._schedule()

    # --- asyncio ---

    def time(self) -> float:
        return self.clock.monotonic_us() / US_PER_S

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._add(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = SimulatedTimer(when, callback, args, self, context)
        if not self.is_dead:
            handle.event = self.world.at(self.clock.world_us(when), self._fire, handle)
        return handle

    def _fire(self, handle: "SimulatedTimer") -> None:
        handle.event = None
        self._add(handle)

    def _add(self, handle: asyncio.Handle) -> None:
        if not self.is_dead and not handle.cancelled():
            self._ready.append(handle)
            self._schedule()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Called by a handle, when it is cancelled."""
        assert isinstance(handle, SimulatedTimer)
        if handle.event is not None:
            handle.event.cancel()

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, T],  # type: ignore[override]
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> "asyncio.Task[T]":
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        chosen = executor or self._executor
        assert chosen is not None, f"{self.name} has no executor"
        return asyncio.wrap_future(chosen.submit(func, *args), loop=self)

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return self.is_dead

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: Context) -> None:
        if not self.is_dead:
            self.on_exception(context)

    def default_exception_handler(self, context: Context) -> None:
        self.call_exception_handler(context)

    def _report(self, context: Context) -> None:
        error = context.get("exception")
        task = context.get("future")
        # Not the callback or the task itself: they have their addresses in memory.
        where = getattr(task.get_coro(), "__qualname__", "") if is_task(task) else ""
        what = describe(error) if error is not None else ""
        if isinstance(error, EXPECTED):
            self.world.tell(self.name, f"fails {where}: {what}")
        else:
            message = str(context["message"]).split("(")[0]
            self.world.surprise(self.name, f"{message} {where}: {what}")


def is_task(found: object) -> "TypeGuard[asyncio.Task[Any]]":
    return isinstance(found, asyncio.Task)


def _close(task: "asyncio.Task[Any]") -> None:
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    try:
        task.get_coro().close()
    except BaseException:
        # Its last words: it believes that it was cancelled, and that its disk is still there.
        return
