"""The configurations of all connectors, in the config topic or in memory.

Only the active worker writes. A write is followed by a read to the end, so that whoever asked sees
the state that every other worker will see.
"""

import copy
import logging
import threading
from collections.abc import Sequence

from moldau.connect.stores.config_records import Record, RestartRequest
from moldau.connect.stores.config_state import ConfigState, LoggerLevel
from moldau.connect.stores.record_log import RecordLog

log = logging.getLogger(__name__)


class ConfigStore:
    """Replays a log into a ``ConfigState``. Thread-safe."""

    def __init__(self, records: RecordLog) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._state = ConfigState()
        self._snapshot: ConfigState | None = None
        self._has_started = False
        self._requests: list[RestartRequest | LoggerLevel] = []

    def start(self) -> None:
        """Read the log. Requests in it are old, and not carried out again."""
        self._records.start(self._on_record)
        self._has_started = True

    def refresh(self) -> None:
        """Read up to the end of the log."""
        self._records.read_to_end()

    def claim(self) -> None:
        """Become the one that writes: what another worker has not finished writing is dropped."""
        self._records.claim()

    def write(self, records: Sequence[Record]) -> None:
        """Append records and read them back."""
        self._records.append(records)
        self._records.read_to_end()

    def snapshot(self) -> ConfigState:
        """The state as of the last read. It does not change any more; do not change it."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = copy.deepcopy(self._state)
            return self._snapshot

    def take_requests(self) -> list[RestartRequest | LoggerLevel]:
        """What was asked for in records since the last call."""
        with self._lock:
            requests, self._requests = self._requests, []
            return requests

    def close(self) -> None:
        self._records.close()

    def _on_record(self, key: bytes | None, value: bytes | None) -> None:
        with self._lock:
            try:
                request = self._state.replay(key, value)
            except ValueError as error:
                # Values may hold secrets: only the key is logged.
                log.error("A record of the config topic with key %r is ignored: %s", key, error)
                return
            self._snapshot = None
            if request is not None and self._has_started:
                self._requests.append(request)
