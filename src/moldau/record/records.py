"""Records as objects: decoding and encoding of batches.

The hot paths of the broker do not use this, since they handle batches unchanged. Clients, the
metadata log, coordinators and tools do: ``decode_records`` decodes a batch, ``BatchBuilder`` writes
one, byte for byte like the Java client.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from librt.strings import BytesWriter
from mypy_extensions import i64

from moldau.record.compression import MAX_DECOMPRESSED_BYTES, Codec, compress, decompress
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Buffer,
    CorruptBatch,
    crc_is_valid,
    encode_batch,
    iter_headers,
    read_header,
    seal,
)
from moldau.record.produced import ProducedBatch
from moldau.record.walk import TIMESTAMP_LIMIT

Headers = tuple[tuple[str, bytes | None], ...]

NO_HEADERS: Final[Headers] = ()
_NO_FIELD: Final = 1
_MAX_INT32: Final = 0x7FFFFFFF
# Header keys are text only by convention. Bytes that are not UTF-8 are preserved.
_KEY_ERRORS: Final = "surrogateescape"


class Record(NamedTuple):
    """One record as a consumer sees it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def decode_records(
    batch: Buffer, position: int = 0, *, max_size: int = MAX_DECOMPRESSED_BYTES
) -> list[Record]:
    """The records of the batch at ``position``, decompressed if needed.

    Raises:
        CorruptBatch: the batch is incomplete, its checksum is wrong, or its records are malformed.
    """
    header = read_header(batch, position)
    if position + header.size_bytes > len(batch):
        raise CorruptBatch(
            f"batch of {header.size_bytes} bytes, but {len(batch) - position} are there"
        )
    if not crc_is_valid(batch, position, header):
        raise CorruptBatch(f"batch at offset {header.base_offset} does not match its checksum")
    payload = read_payload(batch, position, header, max_size=max_size)
    return decode_payload(payload, header)


def decode_all(data: Buffer) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """Header and records of every complete batch in ``data``, as in a fetch response."""
    for position, header in iter_headers(data):
        yield header, decode_records(data, position)


def read_payload(
    batch: Buffer, position: int, header: BatchHeader, *, max_size: int = MAX_DECOMPRESSED_BYTES
) -> bytes:
    """The contents after the header, decompressed."""
    view = memoryview(batch)[position + BATCH_HEADER_SIZE : position + header.size_bytes]
    return decompress(header.compression, view, max_size)


def decode_payload(payload: bytes, header: BatchHeader) -> list[Record]:
    """The records in a decompressed ``payload`` with the given ``header``."""
    count = header.record_count
    if count < 0 or count > len(payload):
        raise CorruptBatch(f"batch claims {count} records in {len(payload)} bytes")
    if not -TIMESTAMP_LIMIT <= header.base_timestamp < TIMESTAMP_LIMIT:
        raise CorruptBatch(f"base timestamp {header.base_timestamp} is out of range")
    log_append_time = header.max_timestamp if header.is_log_append_time else None
    records: list[Record] = []
    position: i64 = 0
    try:
        for _ in range(count):
            record, position = _decode_record(payload, position, header, log_append_time)
            records.append(record)
    except IndexError as error:
        raise CorruptBatch(f"batch ends within its record {len(records)}") from error
    if position != len(payload):
        raise CorruptBatch(f"{len(payload) - position} bytes are left after {count} records")
    return records


def read_varint(data: bytes, position: i64) -> tuple[i64, i64]:
    """A zig-zag varint of at most nine bytes, and the position after it.

    Nine bytes cover -2^62 to 2^62, which is more than any field of a record may have.

    Raises:
        IndexError: the data ends within it.
        CorruptBatch: it does not end within nine bytes.
    """
    raw: i64 = data[position]
    position += 1
    if raw >= 0x80:
        byte: i64 = data[position]
        position += 1
        raw = raw & 0x7F | (byte & 0x7F) << 7
        shift: i64 = 14
        while byte >= 0x80:
            if shift == 63:
                raise CorruptBatch(f"varint before position {position} is out of range")
            byte = data[position]
            position += 1
            raw |= (byte & 0x7F) << shift
            shift += 7
    return (raw >> 1) ^ -(raw & 1), position


def _decode_record(
    data: bytes, position: i64, header: BatchHeader, log_append_time: int | None
) -> tuple[Record, i64]:
    size, position = read_varint(data, position)
    end = position + size
    if size < 0 or end > len(data):
        raise CorruptBatch(f"record of {size} bytes, but {len(data) - position} are left")
    delta, position = read_varint(data, position + 1)
    timestamp = header.base_timestamp + delta
    offset_delta, position = read_varint(data, position)
    key, position = _read_field(data, position, end)
    value, position = _read_field(data, position, end)
    count, position = read_varint(data, position)
    if count < 0 or count > end - position:
        raise CorruptBatch(f"record with an impossible number of headers, {count}")
    headers = NO_HEADERS
    if count > 0:
        pairs: list[tuple[str, bytes | None]] = []
        for _ in range(count):
            name, position = _read_field(data, position, end)
            if name is None:
                raise CorruptBatch("record header without a key")
            content, position = _read_field(data, position, end)
            pairs.append((name.decode("utf-8", _KEY_ERRORS), content))
        headers = tuple(pairs)
    if position != end:
        raise CorruptBatch(f"record does not fill its {size} bytes")
    when = timestamp if log_append_time is None else log_append_time
    return Record(header.base_offset + offset_delta, when, key, value, headers), position


def _read_field(data: bytes, position: i64, end: i64) -> tuple[bytes | None, i64]:
    size, position = read_varint(data, position)
    if size < 0:
        return None, position
    if size > end - position:
        raise CorruptBatch(f"field of {size} bytes, but its record has {end - position} left")
    return data[position : position + size], position + size


class BatchBuilder:
    """Builds a batch from records.

    The base timestamp is that of the first record, and offsets start at ``base_offset``, unless
    records are appended with explicit offsets, which must increase.
    """

    def __init__(
        self,
        codec: int = Codec.NONE,
        *,
        level: int | None = None,
        base_offset: int = 0,
        leader_epoch: int = NO_LEADER_EPOCH,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        log_append_time: int | None = None,
    ) -> None:
        self._codec = codec
        self._level = level
        self._base_offset = base_offset
        self._leader_epoch = leader_epoch
        self._producer_id = producer_id
        self._producer_epoch = producer_epoch
        self._base_sequence = base_sequence
        self._log_append_time = log_append_time
        self._attributes = (
            codec
            | (0 if log_append_time is None else LOG_APPEND_TIME_FLAG)
            | (TRANSACTIONAL_FLAG if is_transactional else 0)
            | (CONTROL_FLAG if is_control else 0)
        )
        self._payload = bytearray()
        self._count = 0
        self._base_timestamp = NO_TIMESTAMP
        self._max_timestamp = NO_TIMESTAMP
        self._last_offset_delta = -1

    @property
    def count(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """The size of the batch so far, before compression."""
        return BATCH_HEADER_SIZE + len(self._payload)

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        *,
        offset: int | None = None,
    ) -> int:
        """Add a record and return its offset."""
        delta = self._last_offset_delta + 1 if offset is None else offset - self._base_offset
        if not self._last_offset_delta < delta <= _MAX_INT32:
            raise ValueError(
                f"offset {self._base_offset + delta} does not follow "
                f"{self._base_offset + self._last_offset_delta}"
            )
        if self._count == 0:
            self._base_timestamp = timestamp
        self._payload += encode_record(delta, timestamp - self._base_timestamp, key, value, headers)
        self._max_timestamp = max(self._max_timestamp, timestamp)
        self._last_offset_delta = delta
        self._count += 1
        return self._base_offset + delta

    def build(self) -> bytes:
        """The complete batch. Raises ValueError if it is empty."""
        header, payload = self._finish()
        return encode_batch(header, payload)

    def build_for_log(self) -> ProducedBatch:
        """The complete batch for a log of this process, which appends it without validation.

        For a compacted topic every record must have a key.
        """
        header, payload = self._finish()
        sealed = seal(header, payload)
        return ProducedBatch(header, sealed, bytes(payload), -1)

    def _finish(self) -> tuple[BatchHeader, Buffer]:
        if self._count == 0:
            raise ValueError("a batch needs at least one record")
        header = BatchHeader(
            self._base_offset,
            0,
            self._leader_epoch,
            MAGIC,
            0,
            self._attributes,
            self._last_offset_delta,
            self._base_timestamp,
            self._max_timestamp if self._log_append_time is None else self._log_append_time,
            self._producer_id,
            self._producer_epoch,
            self._base_sequence,
            self._count,
        )
        payload: Buffer = self._payload
        if self._codec != Codec.NONE:
            payload = compress(self._codec, payload, self._level)
        return header, payload


def encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
) -> bytes:
    """One record with its length, as in an uncompressed batch."""
    writer = BytesWriter()
    writer.append(0)
    _write_varint(writer, timestamp_delta)
    _write_varint(writer, offset_delta)
    _write_field(writer, key)
    _write_field(writer, value)
    _write_varint(writer, len(headers))
    for name, content in headers:
        _write_field(writer, name.encode("utf-8", _KEY_ERRORS))
        _write_field(writer, content)
    body = writer.getvalue()
    return encode_varint(len(body)) + body


def encode_varint(value: int) -> bytes:
    """``value`` in zig-zag encoding, seven bits per byte, lowest first."""
    if -64 <= value < 64:
        return _SHORT_VARINTS[value]
    raw = value << 1 if value >= 0 else ~(value << 1)
    encoded = bytearray()
    while raw >= 0x80:
        encoded.append(raw & 0x7F | 0x80)
        raw >>= 7
    encoded.append(raw)
    return bytes(encoded)


# Every one-byte varint, at the index of its value, -64 to 63.
_SHORT_VARINTS: Final = [bytes((2 * n,)) for n in range(64)] + [
    bytes((2 * -n - 1,)) for n in range(-64, 0)
]


def _write_varint(writer: BytesWriter, value: int) -> None:
    raw = value << 1 if value >= 0 else ~(value << 1)
    while raw >= 0x80:
        writer.append(raw & 0x7F | 0x80)
        raw >>= 7
    writer.append(raw)


def _write_field(writer: BytesWriter, field: bytes | None) -> None:
    if field is None:
        writer.append(_NO_FIELD)
    else:
        _write_varint(writer, len(field))
        writer.write(field)
