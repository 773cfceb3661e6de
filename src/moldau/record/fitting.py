"""Checking the records of a produced batch, and converting it to the settings of its topic.

Everything here costs time per record or per byte, so the validator uses it only for batches that
cannot be accepted by their header alone (see ``validator``). Small batches are decompressed once;
large ones are processed in pieces (``pieces``), once for each purpose: to check that the records
are well-formed, to find refused records, and to rewrite the records.

A converted batch keeps its producer fields, its offsets, and its keys and values; the codec, the
timestamp type, the largest timestamp and the checksum are new. Records are rewritten only if their
offset deltas are not 0, 1, 2 and so on, which some clients get wrong.
"""

from collections.abc import Iterator
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
from moldau.record.pieces import packed, unpacked, whole_records
from moldau.record.produced import ProducedBatch
from moldau.record.refused import NO_KEY, RefusedRecords
from moldau.record.renumber import first_timestamp_delta, renumber
from moldau.record.walk import TIMESTAMP_LIMIT, RecordFacts, walk_apart, walk_records

if TYPE_CHECKING:
    from moldau.config.topic import LogConfig

# The largest long, which Kafka's settings use for "no limit".
FOREVER: Final = (1 << 63) - 1
# Length, attributes, two deltas, two sizes and a header count take at least a byte each.
SMALLEST_RECORD: Final = 7
# The maximum number of refused records in a response: a request may have millions.
MAX_NAMED_RECORDS: Final = 1000
# The limits for checking a batch on the event loop: its size, the number of its records, and the
# size and number of its decompressed parts. Producers' largest usual batches have a megabyte of
# records, which takes a millisecond or two. Rewriting records takes longer.
QUICK_PLAIN_BYTES: Final = 2 * 1024 * 1024
QUICK_PACKED_BYTES: Final = 1024 * 1024
QUICK_RECORDS: Final = 64 * 1024
QUICK_UNPACKED_BYTES: Final = 1024 * 1024
QUICK_PARTS: Final = 64
QUICK_REWRITTEN_BYTES: Final = 4 * 1024

_UNCOMPRESSED: Final = int(Codec.NONE)


class TakesLong(Exception):  # noqa: N818  # says what is the case, and nothing is wrong
    """Checking the batch would block other requests for too long: do it in a thread."""


class RecordErrors(ApiError):  # noqa: N818  # several of them, in one
    """A batch with invalid records; the response contains the first of them by their index."""

    def __init__(
        self, code: ErrorCode, record_errors: list[tuple[int, str]], count: int = 0
    ) -> None:
        """``count`` is the total number, if that is more than are listed."""
        index, reason = record_errors[0]
        super().__init__(
            code,
            f"{max(count, len(record_errors))} of the batch's records are invalid, the first at "
            f"index {index}: {reason}",
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
    """A batch whose records must be checked, or that must be converted, before it is appended."""

    def __init__(
        self,
        batch: bytes | memoryview,
        header: BatchHeader,
        config: "LogConfig",
        wall_ms: int,
        *,
        from_client: bool,
        ignore_size: bool,
        look_inside: bool,
        may_take_long: bool = True,
    ) -> None:
        self.batch = batch
        self.header = header
        self.config = config
        self.wall_ms = wall_ms
        self.from_client = from_client
        self.ignore_size = ignore_size
        self.look_inside = look_inside
        self.may_take_long = may_take_long
        self.source = header.compression
        self.target = self._target_codec()
        self.is_compacted = "compact" in config.cleanup_policy
        self.uses_log_append_time = config.message_timestamp_type == "LogAppendTime"
        # The decompressed records if they are small; of large ones only the size is kept.
        self.small: bytes | memoryview | None = None
        self.size_bytes = 0

    def fit(self) -> ProducedBatch:
        """The batch to append to the log.

        Raises:
            ApiError: see ``validate_produced``.
            TakesLong: it would take too long and ``may_take_long`` is false; nothing was changed.
        """
        header = self.header
        must_renumber = False
        facts = self._look_inside()
        if facts is not None:
            self._check_records(facts)
            must_renumber = self.from_client and not facts.offsets_are_consecutive

        max_timestamp = header.max_timestamp
        if self.uses_log_append_time:
            max_timestamp = self.wall_ms
        elif facts is not None:
            max_timestamp = int(facts.max_timestamp)
        if must_renumber or self.target != self.source:
            kept = TRANSACTIONAL_FLAG | CONTROL_FLAG
            rest: bytes | memoryview = self._rewritten(must_renumber)
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
        appended_at = self.wall_ms if self.uses_log_append_time else NO_TIMESTAMP
        return ProducedBatch(header, sealed, rest, appended_at, True)

    def _target_codec(self) -> int:
        # Markers are tiny, and uncompressed ones must stay uncompressed.
        if self.config.compression_type == "producer" or (
            self.header.is_control and self.header.compression == Codec.NONE
        ):
            return self.header.compression
        return CODEC_BY_NAME[self.config.compression_type]

    def _topic_asks(self) -> bool:
        """Whether the topic requires checks or changes of the records themselves."""
        header = self.header
        if self.is_compacted or self.target != self.source:
            return True
        if header.is_log_append_time or claims_too_many(header):
            return True
        # The header has the largest timestamp, which is enough only for the upper bound.
        return not self.uses_log_append_time and (
            self.config.message_timestamp_before_max_ms != FOREVER
            or self._is_too_new(header.max_timestamp)
        )

    def _is_too_new(self, timestamp: int) -> bool:
        return timestamp - self.wall_ms > self.config.message_timestamp_after_max_ms

    def _is_too_old(self, timestamp: int) -> bool:
        return self.wall_ms - timestamp > self.config.message_timestamp_before_max_ms

    def _look_inside(self) -> RecordFacts | None:
        """Scan the records, decompressed if needed; None if they need no check."""
        if not self.look_inside and not self._topic_asks():
            return None
        header = self.header
        try:
            facts = RecordFacts(header.base_timestamp, header.record_count)
            self._unpack_small()
            left_over = 0
            for records in self._records():
                position = self._walk(records, facts)
                self.size_bytes += len(records)
                left_over = len(records) - position
                if left_over:
                    break
        except UnpacksTooLarge as excess:
            # Kafka's producers react to this error by splitting the batch and sending the parts.
            raise ApiError(ErrorCode.MESSAGE_TOO_LARGE, str(excess)) from excess
        except CorruptBatch as error:
            raise invalid_record(str(error)) from error
        if facts.passed != header.record_count or left_over:
            raise invalid_record(
                f"batch says {header.record_count} records, but its first {self.size_bytes} bytes "
                f"hold {facts.passed} and {left_over} bytes more"
            )
        return facts

    def _walk(self, records: bytes | memoryview, facts: RecordFacts) -> int:
        # Reacquiring the GIL may take longer than scanning a small batch.
        if self.may_take_long:
            return int(walk_apart(records, facts))
        return int(walk_records(records, 0, len(records), facts))

    def _unpack_small(self) -> None:
        packed_records = self.batch[BATCH_HEADER_SIZE:]
        if self.source == _UNCOMPRESSED:
            if len(packed_records) <= QUICK_UNPACKED_BYTES or not self.may_take_long:
                self.small = packed_records
            return
        try:
            self.small = decompress(self.source, packed_records, QUICK_UNPACKED_BYTES, QUICK_PARTS)
        except UnpacksTooLarge:
            if not self.may_take_long:
                raise TakesLong from None

    def _records(self) -> Iterator[bytes | memoryview]:
        """All records, in pieces that end at a record boundary; each call starts again."""
        if self.small is not None:
            return iter((self.small,))
        return whole_records(self._pieces(), self._limit())

    def _pieces(self) -> Iterator[bytes | memoryview]:
        """All records, in pieces that end anywhere; each call starts again."""
        return unpacked(self.source, self.batch[BATCH_HEADER_SIZE:], self._limit())

    def _limit(self) -> int:
        return len(self.batch) if self.source == _UNCOMPRESSED else MAX_DECOMPRESSED_BYTES

    def _check_records(self, facts: RecordFacts) -> None:
        header = self.header
        # Only a broker may set LogAppendTime. As in Kafka, the flag is accepted if it will be
        # removed and there is a timestamp to keep.
        if header.is_log_append_time and (
            self.uses_log_append_time or header.max_timestamp == NO_TIMESTAMP
        ):
            reason = "a producer must not set the timestamp type LogAppendTime"
            count = header.record_count
            raise RecordErrors(
                ErrorCode.INVALID_TIMESTAMP,
                [(index, reason) for index in range(min(count, MAX_NAMED_RECORDS))],
                count,
            )
        earliest = int(facts.min_timestamp)
        is_out_of_range = not self.uses_log_append_time and (
            self._is_too_new(int(facts.max_timestamp))
            or (earliest != FOREVER and self._is_too_old(earliest))
        )
        if is_out_of_range or (self.is_compacted and facts.has_null_key):
            self._name_invalid_records()

    def _name_invalid_records(self) -> None:
        oldest = -FOREVER
        latest = FOREVER
        if not self.uses_log_append_time:
            oldest = max(self.wall_ms - self.config.message_timestamp_before_max_ms, oldest)
            latest = min(self.wall_ms + self.config.message_timestamp_after_max_ms, latest)
        refused = RefusedRecords(
            self.header.base_timestamp,
            needs_key=self.is_compacted,
            oldest=oldest,
            latest=latest,
            most=MAX_NAMED_RECORDS,
        )
        for records in self._records():
            refused.look(records)
        if not refused.refused:
            return
        errors: list[tuple[int, str]] = []
        for index, timestamp in refused.found():
            if timestamp == NO_KEY:
                errors.append((index, "a record of a compacted topic must have a key"))
            else:
                errors.append((index, f"timestamp {timestamp} is not within [{oldest}, {latest}]"))
        code = ErrorCode.INVALID_TIMESTAMP if refused.of_wrong_time else ErrorCode.INVALID_RECORD
        raise RecordErrors(code, errors, refused.refused)

    def _rewritten(self, must_renumber: bool) -> bytes:
        """The records as the topic requires them: renumbered if needed, and compressed."""
        if not self.may_take_long and self.size_bytes > QUICK_REWRITTEN_BYTES:
            raise TakesLong
        level = compression_level(self.target, self.config)
        limit = FOREVER if self.ignore_size else self.config.max_message_bytes - BATCH_HEADER_SIZE
        rest: bytes | None
        try:
            if self.small is not None:
                records = b"".join(self._renumbered()) if must_renumber else self.small
                return compress(self.target, records, level)
            pieces = self._renumbered() if must_renumber else self._pieces()
            rest = packed(self.target, level, pieces, self.size_bytes, limit)
        except ValueError as error:
            raise invalid_record(str(error)) from error
        if rest is None:
            raise ApiError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"the batch exceeds max.message.bytes={self.config.max_message_bytes} when it is "
                f"written with compression.type={self.config.compression_type}",
            )
        return rest

    def _renumbered(self) -> Iterator[bytes | memoryview]:
        """The records with offset deltas 0, 1, 2 and so on, and the first timestamp as the base."""
        header = self.header
        delta = 0
        shift = 0
        for records in self._records():
            if delta == 0:
                first_delta = int(first_timestamp_delta(records))
                base_timestamp = header.base_timestamp + first_delta
                if -TIMESTAMP_LIMIT <= base_timestamp < TIMESTAMP_LIMIT:
                    shift = -first_delta
                    header.base_timestamp = base_timestamp
            written, count = renumber(records, delta, shift)
            delta += count
            yield written


def claims_too_many(header: BatchHeader) -> bool:
    """Whether the record count is impossible, or would require extraordinary compression.

    The count advances the log end offset, so an absurd one is not trusted.
    """
    size = header.size_bytes - BATCH_HEADER_SIZE
    if header.compression == _UNCOMPRESSED:
        return header.record_count * SMALLEST_RECORD > size
    return header.record_count > size


def compression_level(codec: int, config: "LogConfig") -> int | None:
    """The topic's level for this codec; None for a codec without levels."""
    if codec == Codec.GZIP:
        return config.compression_gzip_level
    if codec == Codec.LZ4:
        return config.compression_lz4_level
    if codec == Codec.ZSTD:
        return config.compression_zstd_level
    return None
