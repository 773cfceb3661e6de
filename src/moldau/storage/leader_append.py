"""Appending a batch as the leader, which assigns its offsets.

Validation comes first: the format of the batch, unless the caller has checked it, and the state of
its producer, which may be fenced or have sent the batch before. Then the batch is written, and last
the log end offset advances.

A transaction marker also changes the state of its producer, so its contents are needed. It is
appended as on a follower, which reads the contents of control batches anyway.
"""

from typing import TYPE_CHECKING, Final

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.record.produced import ProducedBatch
from moldau.record.validator import fit_built, validate_produced
from moldau.storage.follower_append import write_batches
from moldau.storage.log_results import LogAppendInfo
from moldau.storage.producer_replay import read_marker
from moldau.storage.producer_state import AppendOrigin, DuplicateBatch

if TYPE_CHECKING:
    from moldau.storage.partition_log import PartitionLog

_CLIENT: Final = AppendOrigin.CLIENT
_RAFT_LEADER: Final = AppendOrigin.RAFT_LEADER


def append_produced(
    log: "PartitionLog",
    records: memoryview | bytes | ProducedBatch,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> LogAppendInfo:
    """See ``PartitionLog.append_as_leader``."""
    config = log.config
    if origin is _CLIENT and not isinstance(records, ProducedBatch):
        batch = validate_produced(records, config, now_ms)
    else:
        batch = _validate_internal(records, config, now_ms, origin)
    header = batch.header
    first_offset = log.log_end_offset
    last_offset = first_offset + header.last_offset_delta
    size_bytes = batch.size_bytes
    max_timestamp = batch.max_timestamp
    has_producer = header.producer_id >= 0
    if has_producer:
        if header.is_control and not isinstance(records, ProducedBatch):
            return _append_marker(log, records, leader_epoch, now_ms, origin)
        duplicate = log.producers.check(header, origin)
        if duplicate is not None:
            return _appended_before(log, duplicate, origin)
    try:
        if leader_epoch != log.latest_epoch:
            log.assign_epoch(leader_epoch, first_offset)
        segment = log.segments.active
        if segment.should_roll(size_bytes, max_timestamp, last_offset, now_ms, config):
            segment = log.roll_for(size_bytes, first_offset)
        segment.append(
            batch.parts(first_offset, leader_epoch), last_offset, max_timestamp, size_bytes
        )
    except OSError as error:
        raise log.storage_error(error, "appending to") from error
    # The log end offset advances last: everything below it must be readable.
    log.log_end_offset = end_offset = last_offset + 1
    if has_producer:
        log.producers.update(header, first_offset, last_offset)
    else:
        log.producers.map_end_offset = end_offset
    return LogAppendInfo(
        first_offset,
        last_offset,
        batch.log_append_time,
        log.log_start_offset,
        max_timestamp,
        size_bytes,
        False,
        log.flush_if_due(can_wait=origin is _CLIENT),
    )


def _validate_internal(
    records: memoryview | bytes | ProducedBatch,
    config: LogConfig,
    now_ms: int,
    origin: AppendOrigin,
) -> ProducedBatch:
    if isinstance(records, ProducedBatch):
        return records if records.is_checked else fit_built(records, config, now_ms)
    return validate_produced(
        records,
        config,
        now_ms,
        from_client=False,
        ignore_size=origin is _RAFT_LEADER,
        look_inside=False,
    )


def _appended_before(
    log: "PartitionLog", duplicate: DuplicateBatch, origin: AppendOrigin
) -> LogAppendInfo:
    """The result for a duplicate batch. The first copy may not have been flushed yet."""
    return LogAppendInfo(
        duplicate.first_offset,
        duplicate.last_offset,
        duplicate.timestamp,
        log.log_start_offset,
        duplicate.timestamp,
        0,
        True,
        log.flush_if_due(can_wait=origin is _CLIENT),
    )


def _append_marker(
    log: "PartitionLog",
    records: memoryview | bytes,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> LogAppendInfo:
    """Append a control batch that ends a transaction."""
    batch = _validate_internal(records, log.config, now_ms, origin)
    header = batch.header
    marker = read_marker(records)
    if marker is None:
        raise ApiError(ErrorCode.INVALID_RECORD, "control batch without a transaction marker")
    log.producers.check_marker(header, marker.coordinator_epoch, origin=origin)
    first_offset = log.log_end_offset
    header.base_offset = first_offset
    header.partition_leader_epoch = leader_epoch
    data = b"".join(batch.parts(first_offset, leader_epoch))
    write_batches(log, data, [header])
    return LogAppendInfo(
        first_offset,
        header.last_offset,
        batch.log_append_time,
        log.log_start_offset,
        batch.max_timestamp,
        len(data),
    )
