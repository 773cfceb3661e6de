"""The 61-byte header of a record batch (magic 2), and its checksum.

The base offset, the length, the leader epoch and the magic byte come before the checksum and are
not covered by it. So a broker can set the offset and the epoch of a batch without touching the
bytes that the producer checksummed:

    0  base offset        8    21  attributes         2    43  producer id        8
    8  length             4    23  last offset delta  4    51  producer epoch     2
   12  leader epoch       4    27  base timestamp     8    53  base sequence      4
   16  magic              1    35  max timestamp      8    57  record count       4
   17  crc-32c            4                                61  records

Reading a header checks only what is needed to find the end of the batch. The validator checks
whether its fields are consistent, and the checksum whether the bytes are unchanged.
"""

import struct
from collections.abc import Iterator
from typing import Final

from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
from mypy_extensions import i64

from moldau.errors import ApiError, ErrorCode
from moldau.record.checksum import crc32c

Buffer = bytes | bytearray | memoryview

BATCH_HEADER_SIZE: Final = 61
MAGIC: Final = 2

# The length field counts the bytes after it.
LENGTH_OVERHEAD: Final = 12
# The bytes that a leader stamps: base offset, length, leader epoch.
STAMP_SIZE: Final = 16
ATTRIBUTES_POSITION: Final = 21

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_LEADER_EPOCH: Final = -1

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20
DELETE_HORIZON_FLAG: Final = 0x40

# Up to this size copying bytes costs less than creating a view.
SMALL_BATCH_BYTES: Final = 4096

_MAX_INT32: Final = 0x7FFFFFFF
_STAMP: Final = struct.Struct(">qii")
_MAGIC_AND_CRC: Final = struct.Struct(">bI")
_crc32c: Final = crc32c


class CorruptBatch(ApiError):  # noqa: N818  # a state of the bytes, as in Kafka
    """Bytes that are not a batch, or not the batch that was written."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)


# Here, and not with the codecs, because a compiled class can only have compiled subclasses.
class UnpacksTooLarge(CorruptBatch):
    """The data may be valid, but is larger than the caller's limit."""


class BatchHeader:
    """The fields of a header, and derived values."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "crc",
        "last_offset_delta",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size_bytes",
    )

    def __init__(
        self,
        base_offset: int,
        size_bytes: int,
        partition_leader_epoch: int,
        magic: int,
        crc: int,
        attributes: int,
        last_offset_delta: int,
        base_timestamp: int,
        max_timestamp: int,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        record_count: int,
    ) -> None:
        self.base_offset = base_offset
        # The whole batch, including the twelve bytes that the length field does not count.
        self.size_bytes = size_bytes
        self.partition_leader_epoch = partition_leader_epoch
        self.magic = magic
        self.crc = crc
        self.attributes = attributes
        self.last_offset_delta = last_offset_delta
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.record_count = record_count

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_FLAG != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Set by the cleaner: the base timestamp is when its tombstones expire (KIP-534)."""
        return self.attributes & DELETE_HORIZON_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """Sequences wrap from 2^31 - 1 to 0; -1 if the batch has no sequence."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & _MAX_INT32

    def __repr__(self) -> str:
        return (
            f"BatchHeader(offsets={self.base_offset}..{self.last_offset}, "
            f"size_bytes={self.size_bytes}, leader_epoch={self.partition_leader_epoch}, "
            f"attributes={self.attributes:#x}, "
            f"timestamps={self.base_timestamp}..{self.max_timestamp}, "
            f"producer={self.producer_id}/{self.producer_epoch}, "
            f"base_sequence={self.base_sequence}, record_count={self.record_count}, "
            f"crc={self.crc:#010x})"
        )


def read_header(data: Buffer, position: int) -> BatchHeader:
    """The header that begins at ``position``; the records after it may be missing.

    Raises:
        CorruptBatch: fewer than 61 bytes are left, the length is smaller than a header, or
            the magic is not 2.
    """
    if position < 0 or len(data) - position < BATCH_HEADER_SIZE:
        raise CorruptBatch(
            f"{len(data) - position} bytes at position {position} are too few "
            f"for a batch header of {BATCH_HEADER_SIZE}"
        )
    # Compiled code reads integers from ``bytes`` without creating objects.
    at: i64 = 0
    if isinstance(data, bytes):
        head = data
        at = position
    else:
        head = bytes(data[position : position + BATCH_HEADER_SIZE])
    length: int = read_i32_be(head, at + 8)
    magic: int = head[at + 16]
    if magic != MAGIC:
        raise CorruptBatch(f"batch at position {position} has magic {magic}: only 2 is supported")
    if length < BATCH_HEADER_SIZE - LENGTH_OVERHEAD:
        raise CorruptBatch(
            f"batch at position {position} has length {length}: the smallest possible is "
            f"{BATCH_HEADER_SIZE - LENGTH_OVERHEAD}"
        )
    signed_crc: int = read_i32_be(head, at + 17)
    return BatchHeader(
        read_i64_be(head, at),
        length + LENGTH_OVERHEAD,
        read_i32_be(head, at + 12),
        magic,
        signed_crc & 0xFFFFFFFF,
        read_i16_be(head, at + 21),
        read_i32_be(head, at + 23),
        read_i64_be(head, at + 27),
        read_i64_be(head, at + 35),
        read_i64_be(head, at + 43),
        read_i16_be(head, at + 51),
        read_i32_be(head, at + 53),
        read_i32_be(head, at + 57),
    )


def crc_is_valid(data: Buffer, position: int, header: BatchHeader) -> bool:
    """Whether ``data`` contains the whole batch and its checksum is correct."""
    end = position + header.size_bytes
    if end > len(data):
        return False
    start = position + ATTRIBUTES_POSITION
    computed: int
    if isinstance(data, bytes) and header.size_bytes <= SMALL_BATCH_BYTES:
        computed = _crc32c(data[start:end])
    else:
        # Slicing a memoryview copies nothing; slicing bytes would copy the batch.
        view = data if isinstance(data, memoryview) else memoryview(data)
        computed = _crc32c(view[start:end])
    return computed == header.crc


def iter_headers(data: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of every complete batch in ``data``, in order.

    An incomplete last batch ends the iteration: a fetch response may contain one, and so may a
    segment after a power failure. Checksums are not checked.

    Raises:
        CorruptBatch: a header in the middle is invalid.
    """
    size = len(data)
    position = 0
    while size - position >= BATCH_HEADER_SIZE:
        header = read_header(data, position)
        end = position + header.size_bytes
        if end > size:
            return
        yield position, header
        position = end


def encode_stamp(base_offset: int, size_bytes: int, leader_epoch: int) -> bytes:
    """The first 16 bytes, which are all that a leader changes in an otherwise unchanged batch."""
    return _STAMP.pack(base_offset, size_bytes - LENGTH_OVERHEAD, leader_epoch)


def seal(header: BatchHeader, payload: Buffer) -> bytes:
    """Bytes 16 to 61 of the batch with ``payload``; sets size and checksum in ``header``.

    ``payload`` is what follows the header: the records, compressed or not.
    """
    writer = BytesWriter()
    write_i16_be(writer, header.attributes)
    write_i32_be(writer, header.last_offset_delta)
    write_i64_be(writer, header.base_timestamp)
    write_i64_be(writer, header.max_timestamp)
    write_i64_be(writer, header.producer_id)
    write_i16_be(writer, header.producer_epoch)
    write_i32_be(writer, header.base_sequence)
    write_i32_be(writer, header.record_count)
    checked = writer.getvalue()
    header.size_bytes = BATCH_HEADER_SIZE + len(payload)
    header.crc = _crc32c(payload, _crc32c(checked))
    return _MAGIC_AND_CRC.pack(MAGIC, header.crc) + checked


def encode_batch(header: BatchHeader, payload: Buffer) -> bytes:
    """A whole batch as bytes; sets size and checksum in ``header``."""
    sealed = seal(header, payload)
    stamp = encode_stamp(header.base_offset, header.size_bytes, header.partition_leader_epoch)
    return b"".join((stamp, sealed, payload))
