"""The time of a simulation, and everything that will happen in it.

There is one heap of events, ordered by time and then by the order in which they were planned.
Nothing else makes time pass: the world takes the next event, sets its time to it, and runs it. So
a day without events costs nothing, and two runs of one seed are the same run.

Everything that could differ between two runs is written to the trace, of which ``digest`` is a
short form: bytes that arrive, changes on disks, and the story that is told to the reader.
"""

import hashlib
import random
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

US_PER_MS: Final = 1_000
US_PER_S: Final = 1_000_000


class Told(NamedTuple):
    """One line of the story."""

    at_us: int
    who: str
    what: str


class Event:
    """Something planned; ``cancel`` takes it back."""

    __slots__ = ("arguments", "call")

    def __init__(self, call: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self.call: Callable[..., object] | None = call
        self.arguments = arguments

    def cancel(self) -> None:
        self.call = None
        self.arguments = ()


class World:
    """Virtual time in microseconds, which begins at 0."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now_us = 0
        self.events = 0
        # What is done to clean up afterwards is not part of the story.
        self.is_over = False
        self.story: list[Told] = []
        # What should never happen: exceptions that nobody expects, broken assertions.
        self.surprises: list[str] = []
        # Called with every line of the story, as it is told.
        self.listener: Callable[[Told], None] | None = None
        self._heap: list[tuple[int, int, Event]] = []
        self._planned = 0
        self._trace = hashlib.blake2b(digest_size=8)

    def random(self, name: str) -> random.Random:
        """Dice for one purpose, so that another purpose may throw more often without effect."""
        return random.Random(f"{self.seed}/{name}")

    # --- time ---

    def at(self, time_us: int, call: Callable[..., object], *arguments: Any) -> Event:
        """Plan ``call`` for a time; for one that has passed, it comes next."""
        event = Event(call, arguments)
        self._planned += 1
        heappush(self._heap, (max(time_us, self.now_us), self._planned, event))
        return event

    def after(self, delay_us: int, call: Callable[..., object], *arguments: Any) -> Event:
        return self.at(self.now_us + delay_us, call, *arguments)

    def run_until(self, time_us: int, is_over: Callable[[], bool] | None = None) -> bool:
        """Let events happen up to and including ``time_us``.

        Returns whether ``is_over`` became true, after which nothing more happens.
        """
        heap = self._heap
        while heap and heap[0][0] <= time_us:
            if is_over is not None and is_over():
                return True
            at_us, _, event = heappop(heap)
            call = event.call
            if call is not None:
                self.now_us = at_us
                self.events += 1
                call(*event.arguments)
        if is_over is not None and is_over():
            return True
        self.now_us = max(self.now_us, time_us)
        return False

    def run_for(self, delay_us: int, is_over: Callable[[], bool] | None = None) -> bool:
        return self.run_until(self.now_us + delay_us, is_over)

    # --- what happened ---

    def tell(self, who: str, what: str) -> None:
        """Add a line to the story, and to the trace."""
        if self.is_over:
            return
        told = Told(self.now_us, who, what)
        self.story.append(told)
        self.trace(f"{who}: {what}".encode())
        if self.listener is not None:
            self.listener(told)

    def trace(self, data: bytes) -> None:
        """Add bytes to the trace, with the time."""
        self._trace.update(b"%d %d " % (self.now_us, len(data)))
        self._trace.update(data)

    def surprise(self, who: str, what: str) -> None:
        """Note something that must not happen; the simulation fails."""
        if not self.is_over:
            self.surprises.append(f"{who}: {what}")
            self.tell(who, f"UNEXPECTED: {what}")

    @property
    def digest(self) -> str:
        """A hash of the trace so far."""
        return self._trace.hexdigest()
