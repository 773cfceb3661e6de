"""How long to wait before trying again: longer after each failure, and never in step with others.

The formula is that of Kafka's clients: the wait doubles with each failure up to a maximum, then
varies by 20 % either way, so that nodes that lost the same peer do not all return at once.
"""

import random
from typing import Final

MULTIPLIER: Final = 2.0
JITTER: Final = 0.2
# Far above any useful number of doublings; larger exponents would overflow.
_MOST_DOUBLINGS: Final = 32


class Backoff:
    """Counts failures in a row. Randomness is passed in."""

    def __init__(self, initial_ms: int, max_ms: int, rng: random.Random) -> None:
        self._initial_ms = initial_ms
        self._max_ms = max(initial_ms, max_ms)
        self._rng = rng
        self.failures = 0

    def next_ms(self) -> float:
        """Count a failure; returns how long to wait after it."""
        doublings = min(self.failures, _MOST_DOUBLINGS)
        self.failures += 1
        wait_ms: float = min(self._initial_ms * MULTIPLIER**doublings, self._max_ms)
        return wait_ms * self._rng.uniform(1 - JITTER, 1 + JITTER)

    def reset(self) -> None:
        """Begin again with the initial wait: something has succeeded."""
        self.failures = 0
