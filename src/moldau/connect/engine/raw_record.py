"""A record as it was read from a topic, before any converter: what a dead letter contains."""

from typing import Final, NamedTuple

from moldau.connect.data.record import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE

# By Spark's number for them.
TIMESTAMP_TYPES: Final = {-1: NO_TIMESTAMP_TYPE, 0: CREATE_TIME, 1: LOG_APPEND_TIME}


class RawRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: str
    headers: list[tuple[str, bytes | None]]
