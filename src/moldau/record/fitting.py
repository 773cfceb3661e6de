"""Looking into a produced batch, and changing it to what its topic wants.

Everything here costs per record or per byte, so the validator sends only those batches
that the header cannot answer for: see there for when that is.

A changed batch keeps its producer's identity, its offsets and its keys and values; new are
the codec, the timestamp type, the latest timestamp and the checksum over them. Records
are written anew only when their offsets are not 0, 1, 2 and so on, which some clients get wrong.
"""

from typing import TYPE_CHECKING, Final

from moldau.errors import ApiError, ErrorCode
from moldau.record.compression import (
    CODEC_BY_NAME,
    MAX_DECOMPRESSED_BYTES,
    Codec,
    compress,
    decompress,
)
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    CorruptBatch,
    UnpacksTooLarge,
    seal,
)
from moldau.record.produced import ProducedBatch
from moldau.record.records import Record, decode_payload, encode_record
from moldau.record.walk import RecordFacts, walk_records

if TYPE_CHECKING:
    from moldau.config.topic import LogConfig

# The largest long, by which Kafka's settings mean "no limit".
FOREVER: Final = (1 << 63) - 1
# Length, attributes, two deltas, two sizes and a header count take a byte each at least.
SMALLEST_RECORD: Final = 7
# What compressed records may unpack to if only the broker wants to see them. It is more than
# producers put into a batch, and little enough that nobody waits long while it is unpacked.
MAX_UNASKED_BYTES: Final = 4 * 1024 * 1024

_UNCOMPRESSED: Final = int(Codec.NONE)


class RecordErrors(ApiError):  # noqa: N818  # several of them, in one
    """A batch refused because of single records; the response names each by its index."""

    def __init__(self, code: ErrorCode, record_errors: list[tuple[int, str]]) -> None:
        index, reason = record_errors[0]
        super().__init__(
            code,
            f"{len(record_errors)} of the batch's records are invalid, the first at index "
            f"{index}: {reason}",
        )
        self.record_errors = record_errors


def invalid_record(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_RECORD, message)


def too_large(header: BatchHeader, config: "LogConfig") -> ApiError:
    limit = config.max_message_bytes
    return ApiError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"batch of {header.size_bytes} bytes exceeds max.message.bytes={limit}",
    )


class Fitting:
    """One batch that has to be looked into, or changed, before the log can take it."""

    def __init__(
        self,
        batch: bytes | memoryview,
        header: BatchHeader,
        config: "LogConfig",
        now_ms: int,
        *,
        from_client: bool,
        ignore_size: bool,
        look_inside: bool,
    ) -> None:
        self.batch = batch
        self.header = header
        self.config = config
        self.now_ms = now_ms
        self.from_client = from_client
        self.ignore_size = ignore_size
        self.look_inside = look_inside
        self.source = header.compression
        self.target = self._target_codec()
        self.is_compacted = "compact" in config.cleanup_policy
        self.uses_log_append_time = config.message_timestamp_type == "LogAppendTime"
        # Decompressed, once they are needed.
        self.records: bytes | memoryview = batch[BATCH_HEADER_SIZE:]

    def fit(self) -> ProducedBatch:
        """The batch as the log shall have it, or the error that its producer shall have."""
        header = self.header
        must_renumber = False
        facts = self._look_inside()
        if facts is not None:
            self._check_records(facts)
            must_renumber = self.from_client and not facts.offsets_are_consecutive
        if must_renumber:
            self._renumber()

        max_timestamp = header.max_timestamp
        if self.uses_log_append_time:
            max_timestamp = self.now_ms
        elif facts is not None:
            max_timestamp = facts.max_timestamp
        if must_renumber or self.target != self.source:
            kept = TRANSACTIONAL_FLAG | CONTROL_FLAG
            rest: bytes | memoryview = compress(
                self.target, self.records, compression_level(self.target, self.config)
            )
        elif (
            max_timestamp != header.max_timestamp
            or header.is_log_append_time != self.uses_log_append_time
        ):
            kept = TRANSACTIONAL_FLAG | CONTROL_FLAG | DELETE_HORIZON_FLAG
            rest = self.batch[BATCH_HEADER_SIZE:]
        else:
            return ProducedBatch.unchanged(self.batch, header)

        header.attributes = self.target | header.attributes & kept
        if self.uses_log_append_time:
            header.attributes |= LOG_APPEND_TIME_FLAG
        header.max_timestamp = max_timestamp
        sealed = seal(header, rest)
        if header.size_bytes > self.config.max_message_bytes and not self.ignore_size:
            raise too_large(header, self.config)
        appended_at = self.now_ms if self.uses_log_append_time else NO_TIMESTAMP
        return ProducedBatch(header, sealed, rest, appended_at)

    def _target_codec(self) -> int:
        # Markers are tiny, and whoever wrote them uncompressed wants to find them so.
        if self.config.compression_type == "producer" or (
            self.header.is_control and self.header.compression == Codec.NONE
        ):
            return self.header.compression
        return CODEC_BY_NAME[self.config.compression_type]

    def _topic_asks(self) -> bool:
        """Whether only the records can answer what this topic wants to know, or to change."""
        header = self.header
        if self.is_compacted or self.target != self.source:
            return True
        if header.is_log_append_time or claims_too_many(header):
            return True
        # The header says when the latest record was made, which decides only the upper bound.
        return not self.uses_log_append_time and (
            self.config.message_timestamp_before_max_ms != FOREVER
            or self._is_too_new(header.max_timestamp)
        )

    def _is_too_new(self, timestamp: int) -> bool:
        return timestamp - self.now_ms > self.config.message_timestamp_after_max_ms

    def _is_too_old(self, timestamp: int) -> bool:
        return self.now_ms - timestamp > self.config.message_timestamp_before_max_ms

    def _look_inside(self) -> RecordFacts | None:
        """Decompress the records if need be, and walk them; None if they are taken unseen."""
        is_asked = self._topic_asks()
        if not is_asked and not self.look_inside:
            return None
        header = self.header
        try:
            facts = RecordFacts(header.base_timestamp, header.record_count)
            if header.compression != Codec.NONE:
                limit = MAX_DECOMPRESSED_BYTES if is_asked else MAX_UNASKED_BYTES
                self.records = decompress(header.compression, self.records, limit)
            position = walk_records(self.records, 0, len(self.records), facts)
        except UnpacksTooLarge as excess:
            if not is_asked:
                return None
            raise invalid_record(str(excess)) from excess
        except CorruptBatch as error:
            raise invalid_record(str(error)) from error
        if facts.passed != header.record_count or position != len(self.records):
            raise invalid_record(
                f"batch says {header.record_count} records, but its {len(self.records)} bytes "
                f"hold {facts.passed} and {len(self.records) - position} bytes more"
            )
        return facts

    def _check_records(self, facts: RecordFacts) -> None:
        header = self.header
        # Only a broker may say when a record was appended. As in Kafka, the flag is let pass
        # where it will be taken away and there is a timestamp to keep.
        if header.is_log_append_time and (
            self.uses_log_append_time or header.max_timestamp == NO_TIMESTAMP
        ):
            reason = "a producer must not set the timestamp type LogAppendTime"
            raise RecordErrors(
                ErrorCode.INVALID_TIMESTAMP,
                [(index, reason) for index in range(header.record_count)],
            )
        earliest = int(facts.min_timestamp)
        is_out_of_range = not self.uses_log_append_time and (
            self._is_too_new(int(facts.max_timestamp))
            or (earliest != FOREVER and self._is_too_old(earliest))
        )
        if is_out_of_range or (self.is_compacted and facts.has_null_key):
            self._name_invalid_records()

    def _name_invalid_records(self) -> None:
        code = ErrorCode.INVALID_RECORD
        errors: list[tuple[int, str]] = []
        for index, record in enumerate(self._decoded()):
            timestamp = record.timestamp
            if self.is_compacted and record.key is None:
                errors.append((index, "a record of a compacted topic must have a key"))
            elif (
                not self.uses_log_append_time
                and timestamp != NO_TIMESTAMP
                and (self._is_too_new(timestamp) or self._is_too_old(timestamp))
            ):
                code = ErrorCode.INVALID_TIMESTAMP
                oldest = self.now_ms - self.config.message_timestamp_before_max_ms
                latest = self.now_ms + self.config.message_timestamp_after_max_ms
                errors.append((index, f"timestamp {timestamp} is not within [{oldest}, {latest}]"))
        if errors:
            raise RecordErrors(code, errors)

    def _decoded(self) -> list[Record]:
        header = self.header
        attributes = header.attributes
        # With the flag, every record would seem to have the header's latest timestamp.
        header.attributes = attributes & ~LOG_APPEND_TIME_FLAG
        records = decode_payload(bytes(self.records), header)
        header.attributes = attributes
        return records

    def _renumber(self) -> None:
        records = self._decoded()
        first_timestamp = records[0].timestamp
        self.header.base_timestamp = first_timestamp
        self.records = b"".join(
            encode_record(
                delta, record.timestamp - first_timestamp, record.key, record.value, record.headers
            )
            for delta, record in enumerate(records)
        )


def claims_too_many(header: BatchHeader) -> bool:
    """Whether the record count cannot be right, or needs extraordinary compression to be.

    The count moves the end of the log, so it is not taken on trust when it is absurd.
    """
    size = header.size_bytes - BATCH_HEADER_SIZE
    if header.compression == _UNCOMPRESSED:
        return header.record_count * SMALLEST_RECORD > size
    return header.record_count > size


def compression_level(codec: int, config: "LogConfig") -> int | None:
    """What the topic says for this codec; None for one that has no levels."""
    if codec == Codec.GZIP:
        return config.compression_gzip_level
    if codec == Codec.LZ4:
        return config.compression_lz4_level
    if codec == Codec.ZSTD:
        return config.compression_zstd_level
    return None
