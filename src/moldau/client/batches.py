"""Batches of records that wait to be sent, and the results of sending them.

There are two kinds. A ``PendingBatch`` collects single records and reports the result of each.
An ``EncodedBatch`` is created from records that were already encoded, and reports one result for
all of them. The sender treats both alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from moldau.errors import ApiError
from moldau.ids import TopicPartition
from moldau.record.compression import Codec, decompress
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    encode_batch,
)
from moldau.record.records import BatchBuilder, decode_payload

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]

# The largest size of a record without its key, value and headers.
_RECORD_OVERHEAD = 24


class Delivery:
    """The result of sending one record: once ``is_done``, either ``offset`` or ``error`` is set."""

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


class OutgoingBatch(ABC):
    """The records of one batch until the broker has responded.

    The batch is encoded when it is first sent, and the bytes are kept for retries: the broker
    recognises a batch it has already stored by producer id and sequence, so both must not change.
    """

    __slots__ = ("base_sequence", "created_s", "encoded", "last_error", "partition")

    def __init__(self, partition: TopicPartition, created_s: float) -> None:
        self.partition = partition
        self.created_s = created_s
        self.base_sequence = -1
        self.encoded: bytes | None = None
        self.last_error: ApiError | None = None

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of records."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """An upper bound of the encoded size."""

    @abstractmethod
    def encode(self, producer_id: int, producer_epoch: int, *, is_transactional: bool) -> bytes:
        """The batch in the wire format."""

    @abstractmethod
    def halves(self) -> "tuple[OutgoingBatch, OutgoingBatch]":
        """Split a batch that the broker finds too large."""

    @abstractmethod
    def succeed(self, base_offset: int, log_append_time: int) -> None:
        """The broker has stored the batch."""

    @abstractmethod
    def fail(self, error: ApiError, record_errors: dict[int, str] | None = None) -> None:
        """The batch failed; ``record_errors`` are the messages for single records, by index."""

    def unsequence(self) -> None:
        """Drop producer id and sequence; the batch is encoded again when it is sent."""
        self.base_sequence = -1
        self.encoded = None


class PendingBatch(OutgoingBatch):
    """A batch to which records are added one by one."""

    __slots__ = ("_codec", "_level", "_size_bytes", "deliveries", "records")

    def __init__(
        self,
        partition: TopicPartition,
        created_s: float,
        codec: int = Codec.NONE,
        level: int | None = None,
    ) -> None:
        super().__init__(partition, created_s)
        self.records: list[tuple[int, bytes | None, bytes | None, Headers]] = []
        self.deliveries: list[Delivery] = []
        self._codec = codec
        self._level = level
        self._size_bytes = BATCH_HEADER_SIZE

    @property
    def count(self) -> int:
        return len(self.records)

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

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
        self._size_bytes += record_size(key, value, headers)

    def encode(self, producer_id: int, producer_epoch: int, *, is_transactional: bool) -> bytes:
        if self.encoded is None:
            builder = BatchBuilder(
                self._codec,
                level=self._level,
                producer_id=producer_id,
                producer_epoch=producer_epoch if producer_id >= 0 else -1,
                base_sequence=self.base_sequence if producer_id >= 0 else -1,
                is_transactional=is_transactional,
            )
            for timestamp, key, value, headers in self.records:
                builder.append(timestamp, key, value, headers)
            self.encoded = builder.build()
        return self.encoded

    def halves(self) -> "tuple[PendingBatch, PendingBatch]":
        middle = len(self.records) // 2
        parts = []
        for chosen in (slice(0, middle), slice(middle, None)):
            part = PendingBatch(self.partition, self.created_s, self._codec, self._level)
            for record, delivery in zip(self.records[chosen], self.deliveries[chosen], strict=True):
                part.append(*record, delivery)
            parts.append(part)
        return _in_sequence(self.base_sequence, parts[0], parts[1])

    def succeed(self, base_offset: int, log_append_time: int) -> None:
        for index, delivery in enumerate(self.deliveries):
            timestamp = log_append_time if log_append_time >= 0 else self.records[index][0]
            delivery.finish(base_offset + index if base_offset >= 0 else -1, timestamp, None)

    def fail(self, error: ApiError, record_errors: dict[int, str] | None = None) -> None:
        """All records of a batch fail together; invalid ones get their own message."""
        for index, delivery in enumerate(self.deliveries):
            message = (record_errors or {}).get(index)
            own = error if message is None else ApiError(error.code, message)
            delivery.finish(-1, -1, own)


class EncodedBatch(OutgoingBatch):
    """A batch whose records are already encoded and compressed."""

    __slots__ = (
        "_base_timestamp",
        "_codec",
        "_count",
        "_max_timestamp",
        "_on_done",
        "_payload",
        "base_offset",
    )

    def __init__(
        self,
        partition: TopicPartition,
        created_s: float,
        payload: bytes,
        *,
        count: int,
        base_timestamp: int,
        max_timestamp: int,
        codec: int = Codec.NONE,
        on_done: Callable[["EncodedBatch", ApiError | None], None],
    ) -> None:
        """``payload`` is everything after the batch header."""
        super().__init__(partition, created_s)
        # Where the broker has put it; -1 until it is there, or if the broker does not say.
        self.base_offset = -1
        self._payload = payload
        self._count = count
        self._base_timestamp = base_timestamp
        self._max_timestamp = max_timestamp
        self._codec = codec
        self._on_done = on_done

    @property
    def count(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        return BATCH_HEADER_SIZE + len(self._payload)

    def encode(self, producer_id: int, producer_epoch: int, *, is_transactional: bool) -> bytes:
        if self.encoded is None:
            header = self._header(producer_id, producer_epoch, is_transactional)
            self.encoded = encode_batch(header, self._payload)
        return self.encoded

    def halves(self) -> "tuple[EncodedBatch, EncodedBatch]":
        # Slow but rare: batches are normally built to fit.
        payload = decompress(self._codec, self._payload)
        records = decode_payload(payload, self._header(NO_PRODUCER_ID, -1, False))
        middle = self._count // 2
        parts = []
        for chosen in (records[:middle], records[middle:]):
            builder = BatchBuilder(self._codec)
            for record in chosen:
                builder.append(record.timestamp, record.key, record.value, record.headers)
            times = [record.timestamp for record in chosen]
            part = EncodedBatch(
                self.partition,
                self.created_s,
                builder.build()[BATCH_HEADER_SIZE:],
                count=len(chosen),
                base_timestamp=times[0],
                max_timestamp=max(times),
                codec=self._codec,
                on_done=self._on_done,
            )
            parts.append(part)
        return _in_sequence(self.base_sequence, parts[0], parts[1])

    def succeed(self, base_offset: int, log_append_time: int) -> None:
        self.base_offset = base_offset
        self._on_done(self, None)

    def fail(self, error: ApiError, record_errors: dict[int, str] | None = None) -> None:
        for message in (record_errors or {}).values():
            error = ApiError(error.code, message)
            break
        self._on_done(self, error)

    def _header(self, producer_id: int, producer_epoch: int, is_transactional: bool) -> BatchHeader:
        return BatchHeader(
            0,
            0,
            NO_LEADER_EPOCH,
            MAGIC,
            0,
            self._codec | (TRANSACTIONAL_FLAG if is_transactional else 0),
            self._count - 1,
            self._base_timestamp,
            self._max_timestamp,
            producer_id,
            producer_epoch if producer_id >= 0 else -1,
            self.base_sequence if producer_id >= 0 else -1,
            self._count,
        )


_Batch = TypeVar("_Batch", bound=OutgoingBatch)


def _in_sequence(base_sequence: int, first: _Batch, second: _Batch) -> tuple[_Batch, _Batch]:
    """Give the two halves the sequence numbers of the original batch, if it had any."""
    if base_sequence >= 0:
        first.base_sequence = base_sequence
        # Sequences wrap around to 0 after the largest int32.
        second.base_sequence = (base_sequence + first.count) & 0x7FFFFFFF
    return first, second


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """An upper bound of the uncompressed size of a record."""
    size = _RECORD_OVERHEAD + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += 10 + 4 * len(name) + len(content or b"")
    return size
