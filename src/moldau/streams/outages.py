"""Outages: detects while an app runs that no broker answers, shows it, and waits.

A query retries its requests for ``kafka.request.timeout.ms``, then it fails. That does not end the
app: it waits until a broker answers, and restarts the query from its checkpoint, for up to
``patience_s``. A thread contacts a broker once a second, so that the progress shows the problem
while the queries still retry.
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
# A broker that does not answer within this time is unavailable.
_ANSWER_WITHIN_S: Final = 5.0
_FIRST_BACKOFF_S: Final = 0.5
_LAST_BACKOFF_S: Final = 30.0
# If a query fails after running for this long, it is a new outage.
_CALM_S: Final = 60.0


class Outage(NamedTuple):
    """A time in which no broker answers."""

    since_s: float
    reason: str


class BrokerWatch:
    """Checks whether a broker answers."""

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
        """Check once."""
        try:
            self._cluster.refresh(())
        except ConnectionFailed as failure:
            if self._outage is None:
                self._outage = Outage(time.monotonic(), str(failure))
            self.answers.clear()
            return
        except ApiError:
            # Even an error is an answer.
            pass
        self._outage = None
        self.answers.set()

    def run(self) -> None:
        """Check periodically until ``end``."""
        while not self._ended.wait(_ASK_EVERY_S):
            self.ask()
        self._cluster.close()

    def end(self) -> None:
        self._ended.set()


@contextmanager
def watched_brokers(app: "App") -> Iterator[BrokerWatch]:
    """Run a thread in this block that checks the brokers of ``app``."""
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
    """Waits between a failure in an outage and the next attempt, longer each time."""

    def __init__(
        self, brokers: BrokerWatch, stopping: threading.Event, patience_s: float | None
    ) -> None:
        """``patience_s`` is the maximum length of an outage; None for no limit."""
        self._brokers = brokers
        self._stopping = stopping
        self._patience_s = patience_s
        self._began_s = 0.0
        self._tried_s: float | None = None
        self._backoff_s = _FIRST_BACKOFF_S

    def wait(self, reason: str) -> Iterator[None]:
        """Wait until a retry makes sense, or the app stops; yields periodically.

        Raises:
            PipelineError: the outage is longer than ``patience_s``.
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
