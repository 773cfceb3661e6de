"""Consistency checks of a batch whose checksum is correct.

The checksum shows that a batch has not changed since it was created, but not that it was
well-formed. Here the header fields are checked against each other and against the records, which
are decompressed if needed.
"""

from typing import Final

from moldau.record.compression import Codec, decompress
from moldau.record.header import BATCH_HEADER_SIZE, BatchHeader, CorruptBatch
from moldau.record.records import read_varint
from moldau.record.walk import RecordFacts, walk_records

# Offline there is time and memory for any batch that a broker may have accepted.
_MAX_UNPACKED_BYTES: Final = 1 << 30
_LARGEST_CODEC: Final = max(Codec)


def header_problem(header: BatchHeader) -> str | None:
    """What is wrong with the fields of a header; None if nothing is."""
    if header.base_offset < 0:
        return f"its base offset is {header.base_offset}"
    if header.partition_leader_epoch < -1:
        return f"its leader epoch is {header.partition_leader_epoch}"
    if header.last_offset_delta < 0:
        return f"its last offset delta is {header.last_offset_delta}"
    if not 0 <= header.record_count <= header.last_offset_delta + 1:
        return (
            f"it claims {header.record_count} records for offsets {header.base_offset} to "
            f"{header.last_offset}"
        )
    if header.compression > _LARGEST_CODEC:
        return f"its compression codec is {header.compression}: expected 0 to {_LARGEST_CODEC}"
    return None


def records_problem(data: bytes, at: int, header: BatchHeader) -> str | None:
    """What is wrong with the records of the batch at ``at``; None if nothing is.

    ``data`` contains the whole batch, and ``header_problem`` returned None for it.
    """
    start, end = at + BATCH_HEADER_SIZE, at + header.size_bytes
    try:
        if header.compression != Codec.NONE and header.record_count:
            packed = memoryview(data)[start:end]
            data = decompress(header.compression, packed, _MAX_UNPACKED_BYTES)
            start, end = 0, len(data)
        facts = RecordFacts(header.base_timestamp, header.record_count)
        passed_to = walk_records(data, start, end, facts)
        if facts.passed < header.record_count:
            return f"it holds {facts.passed} whole records, not {header.record_count}"
        if passed_to != end:
            return f"{end - passed_to} bytes follow its {header.record_count} records"
        problem = None
        if not facts.offsets_are_consecutive:
            problem = _offset_problem(data, start, header)
    except CorruptBatch as error:
        return str(error)
    return problem or _timestamp_problem(header, facts)


def _timestamp_problem(header: BatchHeader, facts: RecordFacts) -> str | None:
    # With LogAppendTime the timestamp of the header applies, whatever the records say. A batch
    # emptied by compaction keeps its timestamp.
    is_own = header.is_log_append_time or not header.record_count
    if is_own or facts.max_timestamp == header.max_timestamp:
        return None
    return (
        f"its largest timestamp is {facts.max_timestamp}, but its header says "
        f"{header.max_timestamp}"
    )


def _offset_problem(data: bytes, position: int, header: BatchHeader) -> str | None:
    """Compaction removes records, but offsets still increase and stay within the batch."""
    previous = -1
    for number in range(header.record_count):
        size, start = read_varint(data, position)
        _, at = read_varint(data, start + 1)
        delta, _ = read_varint(data, at)
        if not previous < delta <= header.last_offset_delta:
            return (
                f"its record {number} has offset {header.base_offset + delta}, after "
                f"{header.base_offset + previous} and in a batch that ends at {header.last_offset}"
            )
        previous = delta
        position = start + size
    return None
