"""Brokers that are away: noticed while an app runs, shown, and waited for.

A query asks the brokers again for as long as ``kafka.request.timeout.ms``, then it fails. An app
does not end by that: it waits until a broker answers, and starts the query again from its
checkpoint, for as long as it is told to be patient. A thread asks a broker once a second, so that
the progress says what is the matter while the queries still try.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau.client.cluster import Cluster
from moldau.client.connection import ConnectionFailed
from moldau.errors import ApiError
from moldau.spark.errors import PipelineError

if TYPE_CHECKING:
    from moldau.streams.app import App

_ASK_EVERY_S: Final = 1.0
# Whoever does not answer in this time is away.
_ANSWER_WITHIN_S: Final = 5.0
_FIRST_BACKOFF_S: Final = 0.5
_LAST_BACKOFF_S: Final = 30.0
# Queries that have run for so long since the last outage have nothing more to do with it.
_CALM_S: Final = 60.0


class Outage(NamedTuple):
    """Brokers are away."""

    since_s: float
    reason: str


class BrokerWatch:
    """Knows whether a broker answers."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._outage: Outage | None = None
        self._ended = threading.Event()
        # Set while a broker answers.
        self.answers = threading.Event()
        self.answers.set()

    @property
    def outage(self) -> Outage | None:
        return self._outage

    def ask(self) -> None:
        """Find out how it is now."""
        try:
            self._cluster.refresh(())
        except ConnectionFailed as failure:
            if self._outage is None:
                self._outage = Outage(time.monotonic(), str(failure))
            self.answers.clear()
            return
        except ApiError:
            # Whatever it says, it answers.
            pass
        self._outage = None
        self.answers.set()

    def run(self) -> None:
        """Ask until ``end``."""
        while not self._ended.wait(_ASK_EVERY_S):
            self.ask()
        self._cluster.close()

    def end(self) -> None:
        self._ended.set()


@contextmanager
def watched_brokers(app: "App") -> Iterator[BrokerWatch]:
    """Within this block a thread asks the brokers of ``app`` how they are."""
    with app.admin() as admin:
        security = admin.cluster.security
    cluster = Cluster(
        app.bootstrap, client_id="moldau-watch", timeout_s=_ANSWER_WITHIN_S, security=security
    )
    watch = BrokerWatch(cluster)
    thread = threading.Thread(target=watch.run, name="moldau-brokers", daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.end()
        thread.join()


class Patience:
    """Waits between a failure for want of brokers and the next try, longer each time."""

    def __init__(
        self, brokers: BrokerWatch, stopping: threading.Event, patience_s: float | None
    ) -> None:
        """``patience_s`` is how long an outage may take; None for as long as it does."""
        self._brokers = brokers
        self._stopping = stopping
        self._patience_s = patience_s
        self._began_s = 0.0
        self._tried_s: float | None = None
        self._backoff_s = _FIRST_BACKOFF_S

    def wait(self, reason: str) -> Iterator[None]:
        """Wait until it is worth another try, or the app stops; yields every now and then.

        Raises:
            PipelineError: it takes too long.
        """
        now_s = time.monotonic()
        if self._tried_s is None or now_s - self._tried_s > _CALM_S:
            outage = self._brokers.outage
            self._began_s = now_s if outage is None else outage.since_s
            self._backoff_s = _FIRST_BACKOFF_S
        due_s = now_s + self._backoff_s
        self._backoff_s = min(2 * self._backoff_s, _LAST_BACKOFF_S)
        while not self._stopping.is_set():
            waited_s = time.monotonic() - self._began_s
            if self._patience_s is not None and waited_s > self._patience_s:
                raise PipelineError(
                    f"{reason}; after {waited_s:.0f} s of waiting for brokers the patience of "
                    f"{self._patience_s:g} s is over (--patience, or patience_s of App.run)"
                )
            if time.monotonic() >= due_s and self._brokers.answers.is_set():
                break
            yield
            self._stopping.wait(_ASK_EVERY_S / 10)
        self._tried_s = time.monotonic()
