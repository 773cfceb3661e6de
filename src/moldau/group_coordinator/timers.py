"""Deadlines by key: which are due, in order, and when the next one is.

A session is extended far more often than it expires, so postponing a deadline only changes a
dictionary entry; the heap is updated when the old time has come.
"""

import heapq
from typing import Final

# Kind, group, and member or "".
TimerKey = tuple[str, str, str]

SESSION: Final = "session"
JOIN: Final = "join"
SYNC: Final = "sync"


class Timers:
    """At most one deadline per key."""

    __slots__ = ("_deadlines", "_heap", "_next_order", "_queued")

    def __init__(self) -> None:
        self._deadlines: dict[TimerKey, int] = {}
        # The earliest time at which the heap holds this key.
        self._queued: dict[TimerKey, int] = {}
        self._heap: list[tuple[int, int, TimerKey]] = []
        # Among equal deadlines, the one that was set first comes first.
        self._next_order = 0

    def __contains__(self, key: TimerKey) -> bool:
        return key in self._deadlines

    def schedule(self, key: TimerKey, deadline_ms: int) -> None:
        """Set the deadline of a key, replacing the old one."""
        self._deadlines[key] = deadline_ms
        queued = self._queued.get(key)
        if queued is None or queued > deadline_ms:
            self._push(key, deadline_ms)

    def cancel(self, key: TimerKey) -> None:
        self._deadlines.pop(key, None)

    def next_deadline_ms(self) -> int | None:
        self._settle()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> TimerKey | None:
        """Remove and return the key with the earliest deadline that is due."""
        self._settle()
        if not self._heap or self._heap[0][0] > now_ms:
            return None
        key = heapq.heappop(self._heap)[2]
        self._queued.pop(key, None)
        del self._deadlines[key]
        return key

    def _settle(self) -> None:
        """Update the top of the heap with the current deadlines."""
        while self._heap:
            queued, _, key = self._heap[0]
            deadline = self._deadlines.get(key)
            if deadline == queued:
                return
            heapq.heappop(self._heap)
            if self._queued.get(key) == queued:
                del self._queued[key]
                if deadline is not None:
                    self._push(key, deadline)

    def _push(self, key: TimerKey, deadline_ms: int) -> None:
        self._queued[key] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, self._next_order, key))
        self._next_order += 1
