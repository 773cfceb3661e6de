"""Runs the capture without a worker, and says which rows its records add up to."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from moldau.connect.connector import SourcePartition
from moldau.connect.connectors.postgres.connector import PostgresSource
from moldau.connect.converters.json_converter import JsonConverter
from moldau.connect.data.record import SourceRecord
from moldau.connect.data.struct import Struct

LIMIT_S = 120


class Offsets:
    """Stored progress."""

    def __init__(self, stored: Mapping[str, Any] | None) -> None:
        self._stored = None if stored is None else dict(stored)

    def get(self, partition: SourcePartition) -> dict[str, Any] | None:
        return self._stored

    def items(self) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        return []


class Capture:
    """One connector; ``stored`` is what the offsets topic would have."""

    def __init__(
        self,
        config: Mapping[str, str],
        stored: Mapping[str, Any] | None = None,
        json: tuple[JsonConverter, JsonConverter] | None = None,
    ) -> None:
        """With ``json``, converters of keys and values, changes may be converted already."""
        self.config = dict(config)
        self.stored = stored
        self.source = PostgresSource()
        if json is not None:
            self.source.write_json(*json)
        self.source.start(self.config, Offsets(stored))

    def poll(self, *, confirms: bool = True) -> list[SourceRecord]:
        records = self.source.poll() or []
        if records:
            self.stored = records[-1].source_offset
            if confirms:
                self.source.commit([(records[-1].source_partition, records[-1].source_offset)])
        return records

    def until(self, count: int, *, confirms: bool = True) -> list[SourceRecord]:
        """Poll until there are ``count`` records."""
        found: list[SourceRecord] = []
        deadline = time.monotonic() + LIMIT_S
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} records of {count}"
            found += self.poll(confirms=confirms)
        return found

    def stop(self) -> None:
        self.source.stop()


def plain(value: Any) -> Any:
    """A struct as a dict."""
    if isinstance(value, Struct):
        named = zip(value.schema.struct_fields, value.values, strict=True)
        return {field.name: plain(inner) for field, inner in named}
    return value


def table_of(records: Iterable[SourceRecord], topic: str) -> dict[Any, Any]:
    """The rows that a compacted topic would have, by key."""
    rows: dict[Any, Any] = {}
    for record in records:
        if record.topic != topic:
            continue
        key = tuple(plain(record.key).values())
        if record.value is None or record.value.get("op") == "d":
            rows.pop(key, None)
        else:
            rows[key] = plain(record.value)["after"]
    return rows
