"""Records on their way to a partition: gathered into batches, and what became of them."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from moldau.errors import ApiError
from moldau.ids import TopicPartition
from moldau.record.header import BATCH_HEADER_SIZE
from moldau.record.records import BatchBuilder

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]

# What a record costs besides its key, value and headers, at most.
_RECORD_OVERHEAD = 24


class Delivery:
    """What became of one record: ``is_done``, and then ``offset`` or ``error``."""

    __slots__ = ("error", "is_done", "offset", "on_delivery", "partition", "timestamp", "topic")

    def __init__(
        self, partition: TopicPartition, on_delivery: Callable[["Delivery"], None] | None
    ) -> None:
        self.topic = partition.topic
        self.partition = partition.partition
        self.offset = -1
        self.timestamp = -1
        self.error: ApiError | None = None
        self.is_done = False
        self.on_delivery = on_delivery

    def finish(self, offset: int, timestamp: int, error: ApiError | None) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.error = error
        self.is_done = True
        if self.on_delivery is not None:
            self.on_delivery(self)


class PendingBatch:
    """The records of one batch until the broker has answered for them.

    The bytes are made when they are first sent, and kept for a retry: a broker knows a
    batch it has already taken by producer id and sequence, so both must stay the same.
    """

    __slots__ = (
        "base_sequence",
        "created_s",
        "deliveries",
        "encoded",
        "last_error",
        "partition",
        "records",
        "size_bytes",
    )

    def __init__(self, partition: TopicPartition, created_s: float) -> None:
        self.partition = partition
        self.created_s = created_s
        self.records: list[tuple[int, bytes | None, bytes | None, Headers]] = []
        self.deliveries: list[Delivery] = []
        self.size_bytes = BATCH_HEADER_SIZE
        self.base_sequence = -1
        self.encoded: bytes | None = None
        self.last_error: ApiError | None = None

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        delivery: Delivery,
    ) -> None:
        self.records.append((timestamp, key, value, headers))
        self.deliveries.append(delivery)
        self.size_bytes += record_size(key, value, headers)

    def encode(self, codec: int, level: int | None, producer_id: int, producer_epoch: int) -> bytes:
        """The batch as it goes on the wire."""
        if self.encoded is None:
            builder = BatchBuilder(
                codec,
                level=level,
                producer_id=producer_id,
                producer_epoch=producer_epoch if producer_id >= 0 else -1,
                base_sequence=self.base_sequence if producer_id >= 0 else -1,
            )
            for timestamp, key, value, headers in self.records:
                builder.append(timestamp, key, value, headers)
            self.encoded = builder.build()
        return self.encoded

    def unsequence(self) -> None:
        """Forget which producer this batch was from; it is made again when it is sent."""
        self.base_sequence = -1
        self.encoded = None

    def halves(self) -> "tuple[PendingBatch, PendingBatch]":
        """Two batches in place of one that the broker finds too large."""
        middle = len(self.records) // 2
        parts = []
        for chosen in (slice(0, middle), slice(middle, None)):
            part = PendingBatch(self.partition, self.created_s)
            for record, delivery in zip(self.records[chosen], self.deliveries[chosen], strict=True):
                part.append(*record, delivery)
            parts.append(part)
        return parts[0], parts[1]

    def succeed(self, base_offset: int, log_append_time: int) -> None:
        for index, delivery in enumerate(self.deliveries):
            timestamp = log_append_time if log_append_time >= 0 else self.records[index][0]
            delivery.finish(base_offset + index if base_offset >= 0 else -1, timestamp, None)

    def fail(self, error: ApiError, record_errors: dict[int, str] | None = None) -> None:
        """All records of a batch fail together; those to blame get a message of their own."""
        for index, delivery in enumerate(self.deliveries):
            message = (record_errors or {}).get(index)
            own = error if message is None else ApiError(error.code, message)
            delivery.finish(-1, -1, own)


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """The most bytes a record takes, uncompressed."""
    size = _RECORD_OVERHEAD + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += 10 + 4 * len(name) + len(content or b"")
    return size
