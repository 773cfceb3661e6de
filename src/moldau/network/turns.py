"""Large work in time slices, so that one client does not delay the others.

There is one event loop, and everything that runs on it delays all other requests. So work that
can be large is written as steps: a generator that yields wherever other requests may be served, and
returns its result. Steps are taken until a share of a few milliseconds is used up; the rest waits
in a queue, from which each turn (iteration) of the event loop runs one share. Between two shares
the loop serves all connections that have received bytes.

Rules this module keeps:

* Work that fits one share is done immediately: no task, no future.
* At most one share of all work in the queue runs per turn of the loop: a hundred large requests
  delay the others no more than one does.
* The queue is first in, first out.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final, TypeVar

SHARE_MS: Final = 2.0
DROPPED_PER_STEP: Final = 200

R = TypeVar("R")
Steps = Generator[None, None, R]


class Turns:
    """The queue of one event loop."""

    def __init__(
        self, share_ms: float = SHARE_MS, now: Callable[[], float] = time.perf_counter
    ) -> None:
        """``now`` returns seconds; tests may pass another clock."""
        self.share_s = share_ms / 1000
        self.now = now
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_scheduled = False

    def later(self, go_on: Callable[[], None]) -> None:
        """Call ``go_on`` in a separate turn, after the work already queued."""
        self._waiting.append(go_on)
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def run(self, steps: Steps[R]) -> R | Awaitable[R]:
        """Take the steps; returns their result, or an awaitable of it if one share is too short."""
        try:
            self._take_share(steps)
        except StopIteration as end:
            result: R = end.value
            return result
        return self._take_rest(steps)

    async def complete(self, steps: Steps[R]) -> R:
        """Take the steps, in as many shares as they need, and return their result."""
        try:
            self._take_share(steps)
        except StopIteration as end:
            result: R = end.value
            return result
        return await self._take_rest(steps)

    async def _take_rest(self, steps: Steps[R]) -> R:
        loop = asyncio.get_running_loop()
        try:
            while True:
                turn: asyncio.Future[None] = loop.create_future()
                self.later(lambda turn=turn: _begin(turn))  # type: ignore[misc]
                await turn
                self._take_share(steps)
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            # The client may have disconnected: release what the steps hold now.
            steps.close()

    def _take_share(self, steps: Steps[R]) -> None:
        """Take steps until a share is used up; raises StopIteration with the result at the end."""
        now = self.now
        end = now() + self.share_s
        while True:
            next(steps)
            if now() >= end:
                return

    def _go_on(self) -> None:
        go_on = self._waiting.popleft()
        self._is_scheduled = bool(self._waiting)
        if self._is_scheduled:
            asyncio.get_running_loop().call_soon(self._go_on)
        go_on()


def dropping(items: list[Any] | dict[Any, Any]) -> Steps[None]:
    """Free many objects in steps: freeing takes half as long as creating them."""
    while isinstance(items, list) and items:
        del items[-DROPPED_PER_STEP:]
        yield
    while isinstance(items, dict) and items:
        for _ in range(min(DROPPED_PER_STEP, len(items))):
            items.popitem()
        yield


def _begin(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)
