"""Produce requests that cause far more work than their size suggests.

Each function returns the settings of a topic and the batches to send to it, one after the other.
They are cheap to build: repeated records are compressed as they are generated, and nothing large is
kept in memory. A broker must accept or refuse them without delaying other clients.

Sending the batches and measuring the delays is done elsewhere.
"""

from collections.abc import Callable, Iterator
from typing import Final

from moldau.record.compression import Codec, compress
from moldau.record.header import BatchHeader, encode_batch
from moldau.record.pieces import packed
from moldau.record.records import BatchBuilder, encode_record, encode_varint

Attack = tuple[dict[str, str], list[bytes]]
"""The settings of the topic, and the batches."""

HOUR_MS: Final = 3_600_000
_PIECE_RECORDS: Final = 20_000


def null_keys(now_ms: int, records: int = 18_000_000) -> Attack:
    """Records without keys for a compacted topic: each of them is invalid."""
    return {"cleanup.policy": "compact"}, [_repeated(now_ms, records, Codec.ZSTD, key=None)]


def same_offsets(now_ms: int, records: int = 3_000_000) -> Attack:
    """Records that all have the offset delta 0: the broker has to assign their offsets."""
    return {}, [_repeated(now_ms, records, Codec.ZSTD)]


def same_offsets_into_gzip(now_ms: int, records: int = 3_000_000) -> Attack:
    """The same, for a topic with the highest gzip level."""
    settings = {"compression.type": "gzip", "compression.gzip.level": "9"}
    return settings, [_repeated(now_ms, records, Codec.ZSTD)]


def gzip_into_zstd(now_ms: int, size_bytes: int = 95_000_000) -> Attack:
    """One large record, to be recompressed at the highest level."""
    record = encode_record(0, 0, b"key", bytes(size_bytes), ())
    batch = encode_batch(_header(now_ms, 1, Codec.GZIP), compress(Codec.GZIP, record))
    return {"compression.type": "zstd", "compression.zstd.level": "22"}, [batch]


def from_the_future(now_ms: int, records: int = 1_000_000) -> Attack:
    """Records with timestamps later than the topic allows: each of them is invalid."""
    return {}, [_counted(now_ms + 9 * HOUR_MS, records, Codec.ZSTD)]


def sustained_zstd(now_ms: int, batches: int = 20) -> Attack:
    """Typical batches, one after the other, for a topic with zstd at level 19."""
    settings = {"compression.type": "zstd", "compression.zstd.level": "19"}
    return settings, [_everyday(now_ms, 1_000_000)] * batches


def sustained_gzip(now_ms: int, batches: int = 20) -> Attack:
    """Typical batches, one after the other, for a topic with gzip."""
    return {"compression.type": "gzip"}, [_everyday(now_ms, 1_000_000)] * batches


def smallest_records(now_ms: int, records: int = 1_000_000) -> Attack:
    """Valid records, as many as fit a batch of the default size."""
    return {}, [_counted(now_ms, records, Codec.ZSTD)]


def too_many_bytes(now_ms: int, size_bytes: int = 1_000_000_000) -> Attack:
    """A record of a gigabyte in a batch of a few kilobytes, which is refused."""
    record = encode_record(0, 0, b"k", b"", ())
    prefix = encode_varint(size_bytes) + record[1:]
    zeros = bytes(1_000_000)

    def pieces() -> Iterator[bytes]:
        yield prefix
        for _ in range(size_bytes // len(zeros)):
            yield zeros

    payload = packed(Codec.ZSTD, 1, pieces(), size_bytes, size_bytes)
    assert payload is not None
    return {}, [encode_batch(_header(now_ms, 1, Codec.ZSTD), payload)]


def empty_frames(now_ms: int, frames: int = 60_000) -> Attack:
    """Compressed data with tens of thousands of empty frames."""
    record = encode_record(0, 0, b"k", b"v", ())
    payload = compress(Codec.ZSTD, b"") * frames + compress(Codec.ZSTD, record)
    return {}, [encode_batch(_header(now_ms, 1, Codec.ZSTD), payload)]


def small_batches(now_ms: int, producers: int) -> list[bytes]:
    """A batch of one record from each of many producers."""
    record = encode_record(0, 0, b"k", b"v", ())
    batches = []
    for producer_id in range(producers):
        header = _header(now_ms, 1, Codec.NONE)
        header.producer_id, header.producer_epoch, header.base_sequence = producer_id, 0, 0
        batches.append(encode_batch(header, record))
    return batches


def many_producers(now_ms: int, producers: int = 100_000, rolls: int = 20) -> Attack:
    """A batch from each producer, then large ones that roll segments, each with a snapshot."""
    batches = small_batches(now_ms, producers)
    large = encode_record(0, 0, b"k", bytes(900_000), ())
    batches += [encode_batch(_header(now_ms, 1, Codec.NONE), large)] * rolls
    return {"segment.bytes": "1048576"}, batches


def flushed_each(now_ms: int, batches: int = 100) -> Attack:
    """Large batches, each of which must be on the device before it is acknowledged."""
    return {"flush.messages": "1"}, [_everyday(now_ms, 1_000_000)] * batches


ATTACKS: Final[dict[str, Callable[[int], Attack]]] = {
    "null keys into a compacted topic": null_keys,
    "records of the same offset": same_offsets,
    "records of the same offset into gzip": same_offsets_into_gzip,
    "gzip into zstd": gzip_into_zstd,
    "records from the future": from_the_future,
    "sustained zstd": sustained_zstd,
    "sustained gzip": sustained_gzip,
    "smallest records": smallest_records,
    "too many bytes": too_many_bytes,
    "empty frames": empty_frames,
    "rolls with many producers": many_producers,
    "a flush for each batch": flushed_each,
}
"""Every attack by name; each takes the time in milliseconds."""


def _header(now_ms: int, records: int, codec: int) -> BatchHeader:
    return BatchHeader(0, 0, -1, 2, 0, codec, records - 1, now_ms, now_ms, -1, -1, -1, records)


def _counted(now_ms: int, records: int, codec: int) -> bytes:
    """Records of seven to eleven bytes each, with increasing offsets."""

    def pieces() -> Iterator[bytes]:
        # A record is its length, attributes, time, offset, key, no value and no headers.
        behind = encode_record(0, 0, b"", None, ())[4:]
        lengths = {width: encode_varint(2 + width + len(behind)) for width in range(1, 6)}
        for start in range(0, records, _PIECE_RECORDS):
            piece = bytearray()
            for delta in range(start, min(start + _PIECE_RECORDS, records)):
                number = encode_varint(delta)
                piece += lengths[len(number)] + b"\0\0" + number + behind
            yield bytes(piece)

    payload = packed(codec, 1, pieces(), 10 * records, 10 * records)
    assert payload is not None
    return encode_batch(_header(now_ms, records, codec), payload)


def _repeated(now_ms: int, records: int, codec: int, key: bytes | None = b"") -> bytes:
    """One record repeated, including its offset."""
    record = encode_record(0, 0, key, None, ())
    many = record * _PIECE_RECORDS

    def pieces() -> Iterator[bytes]:
        for start in range(0, records, _PIECE_RECORDS):
            yield many[: min(records - start, _PIECE_RECORDS) * len(record)]

    payload = packed(codec, 3, pieces(), records * len(record), records * len(record))
    assert payload is not None
    return encode_batch(_header(now_ms, records, codec), payload)


def _everyday(now_ms: int, size_bytes: int) -> bytes:
    builder = BatchBuilder()
    number = 0
    while builder.size_bytes < size_bytes:
        text = b"order %d of customer %d, %d items" % (number, number * 7919 % 1000, number % 9)
        builder.append(now_ms, b"%d" % (number % 500), text * 3)
        number += 1
    return builder.build()
