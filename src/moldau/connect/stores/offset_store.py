"""How far sources have read, in the offsets topic or in the file of a standalone worker."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from moldau.connect.stores import offset_records
from moldau.connect.stores.offset_records import Position
from moldau.connect.stores.record_log import RecordLog


class OffsetStore:
    """Replays a log of offsets. Thread-safe.

    ``topic`` is the offsets topic, so that a transaction can write to it too; None for a file.
    """

    def __init__(self, records: RecordLog, topic: str | None = None) -> None:
        self._records = records
        self._topic = topic
        self._lock = threading.Lock()
        # Connector, then identity of the partition: the key as it was read, partition and offset.
        self._offsets: dict[str, dict[bytes, tuple[bytes, dict[str, Any], dict[str, Any]]]] = {}

    @property
    def topic(self) -> str | None:
        return self._topic

    def start(self) -> None:
        """Read the log."""
        self._records.start(self._on_record)

    def read(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """All partitions of ``connector`` with their offsets, up to the end of the log."""
        self._records.read_to_end()
        with self._lock:
            known = self._offsets.get(connector, {})
            return [(dict(partition), dict(offset)) for _, partition, offset in known.values()]

    def write(self, connector: str, offsets: Sequence[tuple[Position, Position | None]]) -> None:
        """Store offsets; None removes one. They are durable on return."""
        records = [self._encode(connector, partition, offset) for partition, offset in offsets]
        self._records.append(records)

    def encode(
        self, connector: str, partition: Mapping[str, Any], offset: Mapping[str, Any]
    ) -> tuple[bytes, bytes]:
        """Key and value of a record in the offsets topic, for who writes it in a transaction."""
        key, value = self._encode(connector, partition, offset)
        assert value is not None, "an offset is not a tombstone"
        return key, value

    def close(self) -> None:
        self._records.close()

    def _encode(
        self, connector: str, partition: Position, offset: Position | None
    ) -> tuple[bytes, bytes | None]:
        key, value = offset_records.encode(connector, partition, offset)
        with self._lock:
            # A partition that is stored with its fields in another order keeps its key: compaction
            # and Apache's workers would take another one for another partition.
            stored = self._offsets.get(connector, {}).get(offset_records.identity(partition))
        return (key if stored is None else stored[0]), value

    def _on_record(self, key: bytes | None, value: bytes | None) -> None:
        record = offset_records.decode(key, value)
        if record is None or record.partition is None:
            return
        assert key is not None, "it was decoded"
        identity = offset_records.identity(record.partition)
        with self._lock:
            known = self._offsets.setdefault(record.connector, {})
            if record.offset is None:
                known.pop(identity, None)
            else:
                known[identity] = (key, record.partition, record.offset)
