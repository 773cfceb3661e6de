"""Simulated visitors of a web shop: who clicks on what, and when."""

import json
import random
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple

from moldau.client.connection import ConnectionFailed
from moldau.client.producer import Producer
from moldau.clock import Clock, SystemClock
from moldau.errors import ApiError

# More people look than buy.
PAGES: Final = {"/": 40, "/search": 25, "/product": 20, "/basket": 10, "/checkout": 5}
_USERS: Final = 500
# One click in this many is late, by up to this time.
_ONE_LATE_IN: Final = 50
_MAX_LATE_MS: Final = 3_000
_TICK_S: Final = 0.1


class Click(NamedTuple):
    """One record of the topic."""

    key: bytes
    value: bytes
    timestamp_ms: int


def make_clicks(rng: random.Random, wall_ms: int, count: int) -> Iterator[Click]:
    """``count`` clicks with timestamps of ``wall_ms``, or earlier for the few that are late."""
    for page in rng.choices(list(PAGES), list(PAGES.values()), k=count):
        user = f"user-{rng.randrange(_USERS)}"
        late_ms = rng.randrange(_MAX_LATE_MS) if rng.randrange(_ONE_LATE_IN) == 0 else 0
        value = json.dumps({"user": user, "page": page}).encode()
        yield Click(user.encode(), value, wall_ms - late_ms)


class Visitors:
    """Produces clicks from a background thread at a fixed rate until stopped."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        clicks_per_s: int,
        *,
        rng: random.Random | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._per_tick = max(1, round(clicks_per_s * _TICK_S))
        self._rng = rng or random.Random()
        self._clock = clock or SystemClock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._click, name="visitors", daemon=True)
        self.failure: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _click(self) -> None:
        try:
            with Producer(self._bootstrap, client_id="visitors") as producer:
                while not self._stopping.wait(_TICK_S):
                    for click in make_clicks(self._rng, self._clock.wall_ms(), self._per_tick):
                        producer.send(
                            self._topic, click.value, click.key, timestamp=click.timestamp_ms
                        )
                    producer.flush()
        except (ApiError, ConnectionFailed) as error:
            self.failure = error
