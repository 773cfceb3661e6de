"""The throttle that keeps all cleaners together below an I/O rate.

``log.cleaner.io.max.bytes.per.second`` applies to reads and writes together. Every transfer is
booked at the time at which it would end at that rate, and the caller must wait until then. So a
burst lengthens the next wait, and idle time is not credited.
"""

import threading


class CleanerThrottle:
    """The throttle state. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy_until_ms = 0.0

    def book(self, size_bytes: int, bytes_per_second: float, now_ms: int) -> float:
        """Book a transfer; returns how many milliseconds to wait after it."""
        duration_ms = 1000 * size_bytes / bytes_per_second if bytes_per_second > 0 else 0.0
        with self._lock:
            self._busy_until_ms = max(self._busy_until_ms, now_ms) + duration_ms
            return self._busy_until_ms - now_ms
