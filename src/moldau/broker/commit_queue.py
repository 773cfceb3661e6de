"""Requests that wait until records are committed.

Records are committed when every in-sync replica has them, and the high watermark says how far that
is. Whoever acknowledges records (Produce with acks=all, a coordinator) waits for a ``Commitment``:
a future that a partition completes when its high watermark passes an offset.

Rules this module keeps:

* Every commitment ends: it is completed when the records are committed, when the broker can no
  longer tell (it has lost leadership, the topic is deleted, the disk has failed), or when the
  time is up.
* The result of the future is None or the error. It is never an exception: the client may have
  disconnected, and then nobody is left to retrieve it.
* One timer serves all commitments of a broker. Nearly all of them are completed long before their
  time is up, so adding and removing one must be cheap; when exactly it expires matters less.
"""

import asyncio
import heapq
from typing import Final

from moldau.clock import Clock
from moldau.errors import ApiError, ErrorCode
from moldau.timers import DeadlineTimer

Commitment = asyncio.Future[ApiError | None]

# Timeouts are rounded up to this, so that many of them share one entry.
TICK_MS: Final = 50
# Longer timeouts are rounded up further, by less than a hundredth: an entry stays until it is due,
# and some producers wait for weeks.
MAX_EXACT_MS: Final = 60_000


class CommitTimeouts:
    """The timeouts of all commitments of a broker. To be used on one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timer = DeadlineTimer(clock, self._on_time)
        # Insertion order, so that a simulation repeats itself.
        self._waiting: dict[int, dict[Commitment, None]] = {}
        # The keys of ``_waiting`` as a heap: the monotonic time in ticks.
        self._ticks: list[int] = []

    def add(self, commitment: Commitment, timeout_ms: int) -> int:
        """Complete the commitment with REQUEST_TIMED_OUT then; returns the tick for ``remove``."""
        tick = (self._clock.monotonic_ms() + max(timeout_ms, 0)) // TICK_MS + 1
        if timeout_ms > MAX_EXACT_MS:
            step = 1 << (timeout_ms // MAX_EXACT_MS).bit_length()
            tick = (tick // step + 1) * step
        waiting = self._waiting.get(tick)
        if waiting is None:
            waiting = self._waiting[tick] = {}
            heapq.heappush(self._ticks, tick)
            self._timer.set(self._ticks[0] * TICK_MS)
        waiting[commitment] = None
        return tick

    def remove(self, commitment: Commitment, tick: int) -> None:
        waiting = self._waiting.get(tick)
        if waiting is not None:
            waiting.pop(commitment, None)

    def _on_time(self) -> None:
        ticks = self._ticks
        tick = self._clock.monotonic_ms() // TICK_MS
        while ticks and ticks[0] <= tick:
            for commitment in self._waiting.pop(heapq.heappop(ticks)):
                complete(commitment, ApiError(ErrorCode.REQUEST_TIMED_OUT))
        if ticks:
            self._timer.set(ticks[0] * TICK_MS)


class CommitQueue:
    """The commitments of one partition, by the offset that the high watermark must reach."""

    __slots__ = ("_count", "_timeouts", "_waiting")

    def __init__(self, timeouts: CommitTimeouts) -> None:
        self._timeouts = timeouts
        # A heap, not a list: a retry waits for the offset of its first attempt.
        self._waiting: list[tuple[int, int, Commitment, int]] = []
        self._count = 0

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def add(self, offset: int, timeout_ms: int) -> Commitment:
        """A commitment of the records below ``offset``."""
        waiting = self._waiting
        while waiting and waiting[0][2].done():
            # Timed out, or its client has disconnected.
            self._pop()
        commitment: Commitment = asyncio.get_running_loop().create_future()
        self._count += 1
        tick = self._timeouts.add(commitment, timeout_ms)
        heapq.heappush(waiting, (offset, self._count, commitment, tick))
        return commitment

    def complete(self, high_watermark: int, error: ApiError | None) -> None:
        """Complete all commitments of records below ``high_watermark``."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= high_watermark:
            complete(self._pop(), error)

    def fail(self, error: ApiError) -> None:
        """Complete all commitments with ``error``."""
        while self._waiting:
            complete(self._pop(), error)

    def _pop(self) -> Commitment:
        _, _, commitment, tick = heapq.heappop(self._waiting)
        self._timeouts.remove(commitment, tick)
        return commitment


def complete(commitment: Commitment, error: ApiError | None) -> None:
    # The commitment of a client that has disconnected is cancelled.
    if not commitment.done():
        commitment.set_result(error)
