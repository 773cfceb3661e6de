"""The statuses of connectors, tasks and topics, in the status topic or in memory.

Statuses are reported from threads that must not wait for a broker: ``put`` only queues them, and a
thread writes them. If the brokers are away it tries again until they are back.
"""

import copy
import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue

from moldau.client.connection import ConnectionFailed
from moldau.connect.stores.config_records import Record
from moldau.connect.stores.record_log import RecordLog
from moldau.connect.stores.status_records import StatusState
from moldau.errors import ApiError

log = logging.getLogger(__name__)

_RETRY_S = 1.0


class StatusStore:
    """Replays a log into a ``StatusState``, and appends to it in the background. Thread-safe."""

    def __init__(self, records: RecordLog) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._state = StatusState()
        self._snapshot: StatusState | None = None
        self._queue: SimpleQueue[Sequence[Record] | threading.Event | None] = SimpleQueue()
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._write_all, name="connect-status", daemon=True)

    def start(self) -> None:
        """Read the log, and begin to write what is put."""
        self._records.start(self._on_record)
        self._thread.start()

    def refresh(self) -> None:
        """Read up to the end of the log."""
        self._records.read_to_end()

    def put(self, records: Sequence[Record]) -> None:
        """Write records soon, in order. Returns at once."""
        self._queue.put(records)

    def flush(self, timeout_s: float) -> bool:
        """Wait until all that was put is written and read back; whether it was in time."""
        if not self._thread.is_alive():
            return False
        done = threading.Event()
        self._queue.put(done)
        return done.wait(timeout_s)

    def snapshot(self) -> StatusState:
        """The statuses as of the last read. They do not change any more; do not change them."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = copy.deepcopy(self._state)
            return self._snapshot

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what is queued, for as long as ``timeout_s``, and release connections."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(timeout_s)
            # If it is trying again, it gives up now.
            self._is_closing.set()
            self._thread.join(2 * _RETRY_S)
        self._records.close()

    def _write_all(self) -> None:
        while True:
            batch, flushes, ended = self._next_batch()
            if batch:
                self._persist(partial(self._records.append, batch))
            if batch or flushes:
                self._persist(self._records.read_to_end)
            for each in flushes:
                each.set()
            if ended:
                return

    def _next_batch(self) -> tuple[list[Record], list[threading.Event], bool]:
        """Everything that is queued, so that a burst is one request."""
        batch: list[Record] = []
        flushes: list[threading.Event] = []
        item = self._queue.get()
        while True:
            if item is None:
                return batch, flushes, True
            if isinstance(item, threading.Event):
                flushes.append(item)
            else:
                batch += item
            try:
                item = self._queue.get_nowait()
            except Empty:
                return batch, flushes, False

    def _persist(self, operation: Callable[[], None]) -> None:
        while not self._is_closing.is_set():
            try:
                operation()
            except (ApiError, ConnectionFailed) as error:
                log.warning("The status topic cannot be used now, trying again: %s", error)
                self._is_closing.wait(_RETRY_S)
            else:
                return

    def _on_record(self, key: bytes | None, value: bytes | None) -> None:
        with self._lock:
            try:
                self._state.replay(key, value)
            except ValueError as error:
                log.error("A record of the status topic with key %r is ignored: %s", key, error)
                return
            self._snapshot = None
