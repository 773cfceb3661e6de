"""Statuses of connectors, tasks and topics on their way from the engine to the status topic.

The engine reports from its own threads, possibly after a connector was removed or the group lost:
what does not concern this worker any more is dropped here. Values from config providers are
replaced by their references before anything is written.
"""

import logging
import threading
from collections.abc import Callable, Mapping

from moldau.clock import Clock
from moldau.connect.engine_api import State
from moldau.connect.providers import Resolved
from moldau.connect.stores.config_records import Record
from moldau.connect.stores.status_records import (
    Status,
    TopicStatus,
    connector_status,
    task_status,
    topic_removal,
    topic_status,
)
from moldau.connect.stores.status_store import StatusStore

log = logging.getLogger(__name__)


class Reporter:
    """The engine's listener. Thread-safe; never waits for a broker."""

    def __init__(
        self,
        store: StatusStore,
        *,
        tracks_topics: bool,
        secrets: Mapping[str, str],
        may_report: Callable[[], bool],
        clock: Clock,
    ) -> None:
        """``secrets`` of the worker are hidden in what is reported of every connector."""
        self._store = store
        # Host and port of the REST API, known when it listens.
        self.worker_id = ""
        self._tracks_topics = tracks_topics
        self._worker_secrets = Resolved({}, dict(secrets))
        self._may_report = may_report
        self._clock = clock
        self._lock = threading.Lock()
        self._generation = 0
        # What is known of the connectors that this worker looks after.
        self._versions: dict[str, str] = {}
        self._secrets: dict[str, Resolved] = {}
        self._topics: set[tuple[str, str]] = set()

    def begin(self, name: str, version: str, generation: int) -> None:
        """This worker looks after ``name`` from now on."""
        with self._lock:
            self._versions[name] = version
            self._generation = generation

    def keep_secrets(self, name: str, resolved: Resolved) -> None:
        """Hide the values in ``resolved`` in whatever is reported of ``name``."""
        with self._lock:
            self._secrets[name] = resolved

    def end(self, name: str) -> None:
        """Drop what is reported of ``name`` from now on."""
        with self._lock:
            self._versions.pop(name, None)
            self._secrets.pop(name, None)
            self._topics = {each for each in self._topics if each[0] != name}

    def on_status(
        self, name: str, task_id: int | None, state: State, trace: str | None = None
    ) -> None:
        """Write the state of a connector, or of one of its tasks."""
        with self._lock:
            version = self._versions.get(name)
            if version is None or not self._may_report():
                return
            secrets = self._secrets.get(name)
            if trace is not None:
                trace = self._worker_secrets.hide(trace)
            if trace is not None and secrets is not None:
                trace = secrets.hide(trace)
            if state is State.FAILED:
                what = f"Connector {name}" if task_id is None else f"Task {name}-{task_id}"
                log.error("%s has failed: %s", what, trace)
            status = Status(str(state), self.worker_id, self._generation, trace, version)
            record = (
                connector_status(name, status)
                if task_id is None
                else task_status(name, task_id, status)
            )
            self._store.put([record])

    def on_topic(self, name: str, topic: str) -> None:
        """Write that a connector uses a topic, unless that is known."""
        if not self._tracks_topics:
            return
        with self._lock:
            if name not in self._versions or (name, topic) in self._topics:
                return
            self._topics.add((name, topic))
            if topic not in self._store.snapshot().topics.get(name, {}):
                used = TopicStatus(topic, name, 0, self._clock.wall_ms())
                self._store.put([topic_status(used)])

    def report_all(self, name: str, state: State, tasks: int = 1) -> None:
        """Write the same state of a connector and its tasks, and remove tasks beyond them."""
        self.on_status(name, None, state)
        for number in range(tasks):
            self.on_status(name, number, state)
        self.remove_tasks(name, tasks)

    def remove_tasks(self, name: str, first: int) -> None:
        """Remove the statuses of tasks from number ``first`` on."""
        known = self._store.snapshot().tasks.get(name, {})
        gone: list[Record] = [
            task_status(name, number, None) for number in sorted(known) if number >= first
        ]
        if gone:
            self._store.put(gone)

    def remove(self, name: str) -> None:
        """Remove all that is known of a connector."""
        self.end(name)
        self.remove_tasks(name, 0)
        self.reset_topics(name)
        self._store.put([connector_status(name, None)])

    def reset_topics(self, name: str) -> None:
        """Forget the topics of a connector; those it uses next are written again."""
        with self._lock:
            self._topics = {each for each in self._topics if each[0] != name}
        known = self._store.snapshot().topics.get(name, {})
        if known:
            self._store.put([topic_removal(name, topic) for topic in sorted(known)])
