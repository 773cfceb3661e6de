"""Appending batches as a follower, with the offsets assigned by the leader.

A follower writes exactly the leader's batches: they are checked, since they came over the network,
and written in as few pieces as the segments allow.
"""

from typing import TYPE_CHECKING

from moldau.errors import ApiError, ErrorCode
from moldau.record.header import BatchHeader, CorruptBatch, crc_is_valid, iter_headers
from moldau.storage.log_results import NO_TIMESTAMP, LogAppendInfo
from moldau.storage.producer_replay import replay_batch
from moldau.storage.producer_state import AppendOrigin

if TYPE_CHECKING:
    from moldau.storage.partition_log import PartitionLog


def append_replicated(
    log: "PartitionLog", records: memoryview | bytes, leader_epoch: int | None
) -> LogAppendInfo | None:
    """See ``PartitionLog.append_as_follower``."""
    headers = _check(log, records, leader_epoch)
    if not headers:
        return None
    write_batches(log, records, headers)
    return LogAppendInfo(
        headers[0].base_offset,
        headers[-1].last_offset,
        NO_TIMESTAMP,
        log.log_start_offset,
        max(header.max_timestamp for header in headers),
        sum(header.size_bytes for header in headers),
    )


def _check(
    log: "PartitionLog", records: memoryview | bytes, leader_epoch: int | None
) -> list[BatchHeader]:
    """The headers of the batches to append; raises before anything is written."""
    headers: list[BatchHeader] = []
    next_offset = log.log_end_offset
    for position, header in iter_headers(records):
        if leader_epoch is not None and header.partition_leader_epoch > leader_epoch:
            break
        if not next_offset <= header.base_offset <= header.last_offset:
            raise ApiError(
                ErrorCode.INVALID_RECORD,
                f"{log.topic_partition}: a batch of offsets {header.base_offset} to "
                f"{header.last_offset} where the log continues at {next_offset}",
            )
        if not crc_is_valid(records, position, header):
            raise CorruptBatch(
                f"{log.topic_partition}: the batch at offset {header.base_offset} does not match "
                "its checksum"
            )
        if header.producer_id >= 0 and not header.is_control:
            log.producers.check(header, AppendOrigin.REPLICATION)
        headers.append(header)
        next_offset = header.next_offset
    return headers


def write_batches(
    log: "PartitionLog", data: memoryview | bytes, headers: list[BatchHeader]
) -> None:
    """Write complete batches; the log end offset and the producer state are updated per piece.

    A piece is what fits into the active segment. If the disk fails between two pieces, the first
    ones stay: the log is shorter than requested, but correct.
    """
    config = log.config
    now_ms = log.now_ms()
    start = end = 0
    piece: list[BatchHeader] = []
    try:
        for header in headers:
            if log.segments.active.should_roll(
                end - start + header.size_bytes,
                header.max_timestamp,
                header.last_offset,
                now_ms,
                config,
            ):
                _write_piece(log, data[start:end], piece)
                start = end
                log.roll_for(header.size_bytes, header.base_offset)
            piece.append(header)
            end += header.size_bytes
        _write_piece(log, data[start:end], piece)
    except OSError as error:
        raise log.storage_error(error, "appending to") from error
    log.flush_if_due()


def _write_piece(log: "PartitionLog", data: memoryview | bytes, piece: list[BatchHeader]) -> None:
    if not piece:
        return
    for header in piece:
        if header.partition_leader_epoch >= 0:
            log.assign_epoch(header.partition_leader_epoch, header.base_offset)
    segment = log.segments.active
    segment.append_batches(data, piece)
    log.log_end_offset = piece[-1].next_offset
    position = 0
    for header in piece:
        # Before the next roll, which takes a snapshot of the producer state.
        replay_batch(log.producers, header, data, position, segment.txn_index)
        position += header.size_bytes
    piece.clear()
