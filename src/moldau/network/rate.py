"""Measures a rate over a sliding window, and how long to wait if it is above a limit.

Counts are kept in samples of equal length, as in Kafka: the rate is the sum of the samples over
the time since the oldest of them began. A new meter treats the time before its first sample as
idle, up to all but one sample of the window, so a burst after an idle period may be as large as
the limit times that time.

Rules this module keeps:

* Memory is bounded: at most one sample more than configured, which is partly in the window.
* A wait is never longer than one sample (Kafka's ``quota.window.size.seconds``).
"""

from collections import deque
from typing import NamedTuple


class RateWindow(NamedTuple):
    """The window over which rates are measured."""

    samples: int = 11
    """quota.window.num"""
    sample_ms: int = 1000
    """quota.window.size.seconds"""

    @property
    def length_ms(self) -> int:
        return self.samples * self.sample_ms


class _Sample:
    __slots__ = ("count", "last_ms", "start_ms")

    def __init__(self, now_ms: int) -> None:
        self.start_ms = now_ms
        self.last_ms = now_ms
        self.count = 0


class Rate:
    """One meter. ``now_ms`` must never decrease."""

    __slots__ = ("_samples", "_window")

    def __init__(self, window: RateWindow) -> None:
        self._window = window
        self._samples: deque[_Sample] = deque(maxlen=window.samples + 1)

    def record(self, count: int, now_ms: int) -> None:
        samples = self._samples
        if not samples or now_ms - samples[-1].start_ms >= self._window.sample_ms:
            samples.append(_Sample(now_ms))
        samples[-1].count += count
        samples[-1].last_ms = now_ms

    def is_idle(self, now_ms: int) -> bool:
        """Whether everything recorded has left the window."""
        self._forget(now_ms)
        return not self._samples

    def excess_ms(self, limit: float, now_ms: int) -> int:
        """How long to wait until the rate falls to ``limit`` per second; 0 if it is not above.

        A count ``c`` is within the limit over ``c / limit`` seconds; the wait is that time less
        the time elapsed.
        """
        self._forget(now_ms)
        count = sum(sample.count for sample in self._samples)
        elapsed_ms = self._elapsed_ms(now_ms)
        if count * 1000 <= limit * elapsed_ms:
            return 0
        longest_ms = self._window.sample_ms
        return min(round(count * 1000 / limit - elapsed_ms), longest_ms) if limit else longest_ms

    def _forget(self, now_ms: int) -> None:
        """Drop the samples whose last event is before the window."""
        samples = self._samples
        while samples and now_ms - samples[0].last_ms >= self._window.length_ms:
            samples.popleft()

    def _elapsed_ms(self, now_ms: int) -> int:
        """The time that the samples cover: at least that of all but one sample of the window."""
        elapsed_ms = now_ms - self._samples[0].start_ms if self._samples else 0
        missing = max(0, self._window.samples - 1 - elapsed_ms // self._window.sample_ms)
        return max(1, elapsed_ms + missing * self._window.sample_ms)
