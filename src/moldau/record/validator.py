"""Validation of produced batches, and their conversion to the settings of the topic.

A usual batch (CreateTime, the producer's compression, no compaction) is written to disk unchanged,
after checks of its header, its checksum and the structure of its records. Compressed records are
decompressed for the check only: acknowledged records must be readable, or one faulty producer would
stop every consumer of its partition. Batches that expand to more than ``MAX_DECOMPRESSED_BYTES``
are refused. A caller that cannot wait for a long check (``TakesLong``) can repeat it in a thread.
Some settings of a topic require more:

* ``cleanup.policy=compact``: every record must have a key.
* ``message.timestamp.before.max.ms``: the smallest timestamp is needed; the header has only the
  largest.
* ``compression.type`` other than the batch's: the records are decompressed and compressed again.

Without such a reason, the records of batches built by the broker itself are not checked.

Rules this module keeps:

* The request is never modified; changed batches are new objects.
* A batch is accepted or refused as a whole. If single records are invalid, the first of them are
  listed.
* A batch with a correct checksum but invalid contents is an INVALID_RECORD, not a CORRUPT_MESSAGE:
  the producer built it that way, and a retry would not help.
"""

from typing import TYPE_CHECKING, Final

from moldau.errors import ApiError, ErrorCode
from moldau.record.compression import Codec, decompress
from moldau.record.fitting import (
    FOREVER,
    QUICK_PACKED_BYTES,
    QUICK_PARTS,
    QUICK_PLAIN_BYTES,
    QUICK_RECORDS,
    QUICK_UNPACKED_BYTES,
    Fitting,
    RecordErrors,
    TakesLong,
    claims_too_many,
    invalid_record,
    too_large,
)
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    SMALL_BATCH_BYTES,
    BatchHeader,
    CorruptBatch,
    UnpacksTooLarge,
    crc_is_valid,
    read_header,
)
from moldau.record.produced import ProducedBatch
from moldau.record.walk import RecordFacts, walk_records

if TYPE_CHECKING:
    from moldau.config.topic import LogConfig

__all__ = [
    "ProducedBatch",
    "RecordErrors",
    "TakesLong",
    "check_produce_version",
    "fit_built",
    "fit_marker",
    "validate_produced",
]

_FIRST_VERSION_WITH_ZSTD: Final = 7
# As plain integers: every batch is compared to them, and enum members compare slowly.
_UNCOMPRESSED: Final = int(Codec.NONE)
_LAST_CODEC: Final = int(Codec.ZSTD)

# The smallest length field of any magic, and the number of bytes up to and including the magic.
_SMALLEST_LENGTH: Final = 14
_SIZE_UP_TO_MAGIC: Final = 17


def check_produce_version(records: memoryview | bytes, version: int) -> None:
    """Refuse zstd in Produce versions that do not support it (KIP-110)."""
    if (
        version < _FIRST_VERSION_WITH_ZSTD
        and len(records) >= BATCH_HEADER_SIZE
        and records[16] == MAGIC
        and records[22] & COMPRESSION_MASK == Codec.ZSTD
    ):
        raise ApiError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs Produce version {_FIRST_VERSION_WITH_ZSTD}, the request has {version}",
        )


def validate_produced(
    records: memoryview | bytes | None,
    config: "LogConfig",
    wall_ms: int,
    *,
    from_client: bool = True,
    ignore_size: bool = False,
    look_inside: bool = True,
    may_take_long: bool = True,
) -> ProducedBatch:
    """Validate one produced batch for its topic, and convert it if needed.

    Appends from inside the broker (``from_client=False``) may have control records and need not
    start at offset 0; ``ignore_size`` lifts ``max.message.bytes``. ``look_inside`` means that
    records are checked even if the topic does not require it. Any thread may call this.

    Raises:
        ApiError: CORRUPT_MESSAGE, INVALID_RECORD, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE or
            UNSUPPORTED_COMPRESSION_TYPE; as ``RecordErrors`` if single records are invalid.
        TakesLong: it would take more than some milliseconds, and ``may_take_long`` is false.
    """
    batch: bytes | memoryview = b"" if records is None else records
    if isinstance(batch, bytes) and len(batch) > SMALL_BATCH_BYTES:
        batch = memoryview(batch)
    try:
        header = read_header(batch, 0)
    except CorruptBatch as error:
        raise _refusal_of_unreadable(batch, error) from error
    if header.size_bytes != len(batch):
        batch = _cut_to_one_batch(batch, header)
    if header.base_offset != 0 and from_client:
        raise invalid_record(f"base offset of a produced batch is {header.base_offset}, not 0")
    if header.size_bytes > config.max_message_bytes and not ignore_size:
        raise too_large(header, config)
    is_quick = _is_quick(header, may_take_long)
    if not crc_is_valid(batch, 0, header):
        raise CorruptBatch(f"batch does not match its checksum {header.crc:#010x}")

    attributes = header.attributes
    if from_client:
        _check_header(header)
    codec = attributes & COMPRESSION_MASK
    if codec > _LAST_CODEC:
        raise _no_such_codec(codec)
    if _header_answers(header, config, wall_ms) and (
        not look_inside or (is_quick and _records_agree(batch, header, codec, may_take_long))
    ):
        return ProducedBatch.unchanged(batch, header)
    return Fitting(
        batch,
        header,
        config,
        wall_ms,
        from_client=from_client,
        ignore_size=ignore_size,
        look_inside=look_inside,
        may_take_long=may_take_long,
    ).fit()


def fit_built(batch: ProducedBatch, config: "LogConfig", wall_ms: int) -> ProducedBatch:
    """Convert a batch that this process has just built to the settings of its topic.

    It needs no checks: it is complete, its checksum is correct, and every record has a key. So it
    is appended unchanged, unless the topic requires other timestamps, another codec, or smaller
    batches.

    Raises:
        ApiError: MESSAGE_TOO_LARGE, or the errors of ``validate_produced``.
    """
    header = batch.header
    if header.size_bytes > config.max_message_bytes:
        raise too_large(header, config)
    codec = config.compression_type
    is_asked_codec = codec == "producer" or (
        codec == "uncompressed" and header.attributes & COMPRESSION_MASK == _UNCOMPRESSED
    )
    if is_asked_codec and _keeps_timestamps(header, config, wall_ms):
        return batch
    data = b"".join(batch.parts(header.base_offset, header.partition_leader_epoch))
    return validate_produced(data, config, wall_ms, from_client=False, look_inside=False)


def fit_marker(batch: ProducedBatch, config: "LogConfig", wall_ms: int) -> ProducedBatch:
    """Convert an uncompressed control batch of this process to the settings of its topic.

    It is never too large, because its transaction would never end, and stays uncompressed.
    """
    header = batch.header
    if _keeps_timestamps(header, config, wall_ms):
        return batch
    data = b"".join(batch.parts(header.base_offset, header.partition_leader_epoch))
    return validate_produced(
        data, config, wall_ms, from_client=False, ignore_size=True, look_inside=False
    )


def _keeps_timestamps(header: BatchHeader, config: "LogConfig", wall_ms: int) -> bool:
    """Whether the topic takes the timestamps of a batch as they are, for all that is known."""
    return (
        config.message_timestamp_type == "CreateTime"
        and header.max_timestamp - wall_ms <= config.message_timestamp_after_max_ms
        and config.message_timestamp_before_max_ms == FOREVER
    )


def _header_answers(header: BatchHeader, config: "LogConfig", wall_ms: int) -> bool:
    """Whether the header is sufficient for the topic's checks, and the batch needs no change."""
    return (
        config.compression_type == "producer"
        and _keeps_timestamps(header, config, wall_ms)
        and not header.attributes & LOG_APPEND_TIME_FLAG
        and "compact" not in config.cleanup_policy
        and not claims_too_many(header)
    )


def _is_quick(header: BatchHeader, may_take_long: bool) -> bool:
    """Whether the batch can be checked quickly, unless it expands too much.

    Raises:
        TakesLong: it cannot, and ``may_take_long`` is false.
    """
    if header.attributes & COMPRESSION_MASK != _UNCOMPRESSED:
        is_quick = header.size_bytes <= QUICK_PACKED_BYTES
    else:
        is_quick = header.size_bytes <= QUICK_PLAIN_BYTES and header.record_count <= QUICK_RECORDS
    if not is_quick and not may_take_long:
        raise TakesLong
    return is_quick


def _records_agree(
    batch: bytes | memoryview, header: BatchHeader, codec: int, may_take_long: bool
) -> bool:
    """Whether the records match the header, so that nothing must change.

    If they do not, ``Fitting`` checks them again and converts or refuses the batch.
    """
    records = batch
    position = BATCH_HEADER_SIZE
    try:
        if codec != _UNCOMPRESSED:
            packed = memoryview(batch)[BATCH_HEADER_SIZE:]
            records = decompress(codec, packed, QUICK_UNPACKED_BYTES, QUICK_PARTS)
            position = 0
        facts = RecordFacts(header.base_timestamp, header.record_count)
        end = walk_records(records, position, len(records), facts)
    except UnpacksTooLarge:
        if not may_take_long:
            raise TakesLong from None
        return False
    except CorruptBatch:
        return False
    return (
        facts.passed == header.record_count
        and end == len(records)
        and facts.offsets_are_consecutive
        and facts.max_timestamp == header.max_timestamp
    )


def _refusal_of_unreadable(batch: bytes | memoryview, error: CorruptBatch) -> ApiError:
    """The error for a batch whose header cannot be read.

    Invalid bytes are corrupt, and a retry may help; a missing batch, or one in a format from before
    2017, is the producer's mistake.
    """
    size = len(batch)
    if size < LENGTH_OVERHEAD:
        return invalid_record(f"a produced partition needs a record batch, got {size} bytes")
    length = int.from_bytes(batch[8:12], "big", signed=True)
    if length < _SMALLEST_LENGTH:
        return error
    if size >= _SIZE_UP_TO_MAGIC and batch[16] > MAGIC:
        return error
    if length + LENGTH_OVERHEAD > size:
        return invalid_record(
            f"a batch of {length + LENGTH_OVERHEAD} bytes is cut off after {size}"
        )
    if batch[16] != MAGIC:
        return invalid_record(f"batch has magic {batch[16]}: only 2 is supported")
    return error


def _cut_to_one_batch(batch: bytes | memoryview, header: BatchHeader) -> bytes | memoryview:
    """The first batch alone, if it is followed only by an incomplete one."""
    size = header.size_bytes
    if size > len(batch):
        raise invalid_record(f"a batch of {size} bytes is cut off after {len(batch)}")
    rest = batch[size:]
    if len(rest) >= LENGTH_OVERHEAD:
        length = int.from_bytes(rest[8:12], "big", signed=True)
        if length < _SMALLEST_LENGTH:
            raise CorruptBatch(f"second batch has length {length}")
        if len(rest) >= _SIZE_UP_TO_MAGIC and rest[16] > MAGIC:
            raise CorruptBatch(f"second batch has magic {rest[16]}: only 2 is supported")
        if length + LENGTH_OVERHEAD <= len(rest):
            raise invalid_record("a produced partition may hold only one record batch")
    return batch[:size]


def _no_such_codec(codec: int) -> ApiError:
    message = f"compression codec {codec} does not exist: expected 0 to {_LAST_CODEC}"
    return ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message)


def _check_header(header: BatchHeader) -> None:
    """Raises ApiError if a client must not send a batch with this header."""
    if (
        header.record_count <= 0
        or header.last_offset_delta + 1 != header.record_count
        or header.attributes & CONTROL_FLAG
        or (header.base_sequence < 0 and header.producer_id >= 0)
    ):
        raise _refusal_of_header(header)


def _refusal_of_header(header: BatchHeader) -> ApiError:
    count = header.record_count
    if header.last_offset_delta < 0:
        return invalid_record(f"last offset delta {header.last_offset_delta} is negative")
    if count <= 0:
        return invalid_record(f"record count {count} of a produced batch must be positive")
    if header.last_offset_delta + 1 != count:
        return invalid_record(
            f"batch has {count} records, but its offsets end at {header.last_offset_delta}"
        )
    if header.is_control:
        return invalid_record("clients may not write control records")
    return invalid_record(
        f"batch of producer {header.producer_id} has the sequence number {header.base_sequence}"
    )
