"""A log of keys and values that a store replays: an internal topic, or memory.

The last value of a key counts. Whoever appends sees its own records only after ``read_to_end``, in
the order in which the log has them: that order is the truth, also when two workers write.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from moldau.connect.stores.config_records import Record

OnRecord = Callable[[bytes | None, bytes | None], None]


class RecordLog(Protocol):
    """Appends records and hands them all to one reader. Thread-safe."""

    def start(self, on_record: OnRecord) -> None:
        """Read the whole log. ``on_record`` is called with a lock held and must not append."""

    def read_to_end(self) -> None:
        """Hand on every record that was in the log when this was called."""

    def append(self, records: Sequence[Record]) -> None:
        """Write records, in order: they are durable on return."""

    def claim(self) -> None:
        """Become the only writer, if the log can tell one from another."""

    def close(self) -> None:
        """Release connections."""


class MemoryLog:
    """The log of a standalone worker, which forgets its connectors when it ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[Record] = []
        self._on_record: OnRecord = _ignore

    def start(self, on_record: OnRecord) -> None:
        self._on_record = on_record

    def read_to_end(self) -> None:
        with self._lock:
            pending, self._pending = self._pending, []
            for key, value in pending:
                self._on_record(key, value)

    def append(self, records: Sequence[Record]) -> None:
        with self._lock:
            self._pending += records

    def claim(self) -> None:
        pass

    def close(self) -> None:
        pass


def _ignore(key: bytes | None, value: bytes | None) -> None:
    pass
