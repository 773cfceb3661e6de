"""Records on their way between topics and other systems.

Transforms never change a record; they return a copy made by ``replace``. The lists of headers are
shared by such copies, so they are not changed in place either.
"""

from dataclasses import dataclass, field
from typing import Any, Self

from moldau.connect.data.headers import Header
from moldau.connect.data.schema import Schema

NO_TIMESTAMP_TYPE = "NoTimestampType"
CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"


@dataclass(slots=True)
class ConnectRecord:
    """A key and a value with their schemas (None without), where they belong, and when they were
    made.
    """

    topic: str
    partition: int | None = None
    key_schema: Schema | None = None
    key: Any = None
    value_schema: Schema | None = None
    value: Any = None
    timestamp_ms: int | None = None
    headers: list[Header] = field(default_factory=list)

    def replace(self, **changes: Any) -> Self:
        """A copy with other attributes, such as ``topic="orders"``. Unknown names raise an
        AttributeError.
        """
        kind = type(self)
        made = object.__new__(kind)
        for name in kind.__dataclass_fields__:
            setattr(made, name, changes.pop(name) if name in changes else getattr(self, name))
        if changes:
            raise AttributeError(f"a {kind.__name__} has no attribute {', '.join(changes)}")
        return made


@dataclass(slots=True)
class SinkRecord(ConnectRecord):
    """A record read from a topic.

    ``original_topic``, ``original_partition`` and ``offset`` are where it was read, whatever
    transforms do to ``topic`` and ``partition`` (KIP-793): progress is committed by them.
    """

    offset: int = -1
    timestamp_type: str = NO_TIMESTAMP_TYPE
    original_topic: str = ""
    original_partition: int = -1

    def __post_init__(self) -> None:
        if not self.original_topic:
            self.original_topic = self.topic
        if self.original_partition < 0 and self.partition is not None:
            self.original_partition = self.partition


@dataclass(slots=True)
class SourceRecord(ConnectRecord):
    """A record of another system, to be written to a topic.

    ``source_partition`` names what it was read from, such as a file, and ``source_offset`` the
    position after which reading goes on when this record is durable.
    """

    source_partition: dict[str, Any] = field(default_factory=dict)
    source_offset: dict[str, Any] = field(default_factory=dict)


class ConvertedRecord:
    """A record of a source with the bytes that the converters would have made of it."""

    __slots__ = ("key", "source_partition", "topic", "value")

    def __init__(
        self, topic: str, key: bytes | None, value: bytes | None, source_partition: dict[str, Any]
    ) -> None:
        self.topic = topic
        self.key = key
        self.value = value
        self.source_partition = source_partition

    @property
    def source_offset(self) -> dict[str, Any]:
        """As that of a ``SourceRecord``; asked for only where reading may go on."""
        raise NotImplementedError
