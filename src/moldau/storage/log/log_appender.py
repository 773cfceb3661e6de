"""Appending batches: as the leader, which assigns their offsets, or as a follower.

Validation comes first: the format of the batch, unless the caller has checked it, and the state of
its producer, which may be fenced or have sent the batch before. Then the batch is written, and last
the log end offset advances.

A transaction marker also changes the state of its producer, so its contents are needed. One that
was built here brings them along (``EndTxnBatch``); they are read only from the bytes of others.

A follower writes exactly the leader's batches: they are checked, since they came over the network,
and written in as few pieces as the segments allow. The record kernel checks a run of them in one
call; the end of a transaction, and what may need another segment, is looked at individually.
"""

from typing import Final

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.record.control import EndTxnBatch
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    crc_is_valid,
    iter_headers,
    read_header,
)
from moldau.record.produced import ProducedBatch
from moldau.record.replicated_run import ReplicatedRun, find_replicated
from moldau.record.validator import fit_built, fit_marker, validate_produced
from moldau.storage.log.log_flusher import LogFlusher
from moldau.storage.log.log_results import NO_OFFSET, NO_TIMESTAMP, LogAppendInfo
from moldau.storage.log.log_state import LogState
from moldau.storage.log.log_tail import LogTail
from moldau.storage.log.producer_replay import TxnMarker, end_txn, read_marker, replay_batch
from moldau.storage.log.producer_state import AppendOrigin, DuplicateBatch
from moldau.storage.log.segment import Segment
from moldau.storage.log.verification import VerificationGuard

# Fewer bytes are not two batches.
MIN_RUN_BYTES: Final = 2 * BATCH_HEADER_SIZE
_LATEST_EPOCH: Final = 0x7FFFFFFF
_CLIENT: Final = AppendOrigin.CLIENT
_COORDINATOR: Final = AppendOrigin.COORDINATOR
_RAFT_LEADER: Final = AppendOrigin.RAFT_LEADER


class LogAppender:
    """Appends to one log. It alone advances the log end offset."""

    __slots__ = ("_flusher", "_state", "_tail")

    def __init__(self, state: LogState, tail: LogTail, flusher: LogFlusher) -> None:
        self._state = state
        self._tail = tail
        self._flusher = flusher

    # -- as the leader --

    def append_as_leader(
        self,
        records: memoryview | bytes | ProducedBatch,
        leader_epoch: int,
        wall_ms: int,
        origin: AppendOrigin,
        guard: VerificationGuard | None,
        transaction_version: int,
    ) -> LogAppendInfo:
        """See ``PartitionLog.append_as_leader``."""
        state = self._state
        if state.is_closed:
            raise state.closed_error()
        config = state.config
        if isinstance(records, EndTxnBatch):
            batch = fit_marker(records, config, wall_ms)
            marker = TxnMarker(0, 0, records.is_abort, records.coordinator_epoch)
            return self._append_marker(
                batch, marker, leader_epoch, wall_ms, origin, transaction_version
            )
        if origin is _CLIENT and not isinstance(records, ProducedBatch):
            batch = validate_produced(records, config, wall_ms)
        else:
            batch = _validate_internal(records, config, wall_ms, origin)
        header = batch.header
        first_offset = state.log_end_offset
        last_offset = first_offset + header.last_offset_delta
        has_producer = header.producer_id >= 0
        if has_producer:
            if header.is_control and not isinstance(records, ProducedBatch):
                found = read_marker(records)
                if found is None:
                    message = "control batch without a transaction marker"
                    raise ApiError(ErrorCode.INVALID_RECORD, message)
                return self._append_marker(
                    batch, found, leader_epoch, wall_ms, origin, transaction_version
                )
            duplicate = state.producers.check(header, origin, guard)
            if duplicate is not None:
                return self._appended_before(duplicate, origin)
        self._write_batch(batch, first_offset, last_offset, leader_epoch, wall_ms)
        # The log end offset advances last: everything below it must be readable.
        state.log_end_offset = end_offset = last_offset + 1
        if has_producer:
            state.producers.update(header, first_offset, last_offset)
        else:
            state.producers.map_end_offset = end_offset
        return LogAppendInfo(
            first_offset,
            last_offset,
            batch.log_append_time,
            state.log_start_offset,
            batch.max_timestamp,
            batch.size_bytes,
            False,
            self._flush_if_due(can_wait=origin is _CLIENT),
        )

    def _write_batch(
        self,
        batch: ProducedBatch,
        first_offset: int,
        last_offset: int,
        leader_epoch: int,
        wall_ms: int,
    ) -> Segment:
        """Write one batch to the active segment, which is returned; it may be a new one."""
        state = self._state
        size_bytes = batch.size_bytes
        max_timestamp = batch.max_timestamp
        try:
            if leader_epoch != self._tail.latest_epoch:
                self._tail.assign_epoch(leader_epoch, first_offset)
            segment = state.segments.active
            if segment.should_roll(size_bytes, max_timestamp, last_offset, wall_ms, state.config):
                segment = self._tail.roll_for(size_bytes, first_offset)
            segment.append(
                batch.parts(first_offset, leader_epoch), last_offset, max_timestamp, size_bytes
            )
        except OSError as error:
            raise state.storage_error(error, "appending to") from error
        return segment

    def _appended_before(self, duplicate: DuplicateBatch, origin: AppendOrigin) -> LogAppendInfo:
        """The result for a duplicate batch. The first copy may not have been flushed yet."""
        return LogAppendInfo(
            duplicate.first_offset,
            duplicate.last_offset,
            duplicate.timestamp,
            self._state.log_start_offset,
            duplicate.timestamp,
            0,
            True,
            self._flush_if_due(can_wait=origin is _CLIENT),
        )

    def _append_marker(
        self,
        batch: ProducedBatch,
        marker: TxnMarker,
        leader_epoch: int,
        wall_ms: int,
        origin: AppendOrigin,
        transaction_version: int,
    ) -> LogAppendInfo:
        """Append a control batch that ends a transaction; ``marker`` is what it says."""
        state = self._state
        header = batch.header
        state.producers.check_marker(header, marker.coordinator_epoch, transaction_version, origin)
        first_offset = state.log_end_offset
        last_offset = first_offset + header.last_offset_delta
        segment = self._write_batch(batch, first_offset, last_offset, leader_epoch, wall_ms)
        state.log_end_offset = end_offset = last_offset + 1
        marker.offset = last_offset
        marker.timestamp = batch.max_timestamp
        try:
            end_txn(state.producers, header, marker, segment.txn_index)
        except OSError as error:
            raise state.storage_error(error, "appending to") from error
        state.producers.map_end_offset = end_offset
        return LogAppendInfo(
            first_offset,
            last_offset,
            batch.log_append_time,
            state.log_start_offset,
            batch.max_timestamp,
            batch.size_bytes,
            False,
            # The coordinator waits until the marker is committed, and so until it is flushed.
            self._flush_if_due(can_wait=True),
        )

    def _flush_if_due(self, *, can_wait: bool = False) -> bool:
        """Flush if ``flush.messages`` have been appended since the last flush.

        With ``can_wait`` and an executor it returns True instead, and the caller must flush: an
        fsync can take a second while other writes keep the disk busy.
        """
        state = self._state
        if state.log_end_offset - self._flusher.recovery_point < state.config.flush_messages:
            return False
        if can_wait and state.context.executor is not None:
            return True
        self._flusher.flush()
        return False

    # -- as a follower --

    def append_as_follower(
        self, records: memoryview | bytes, leader_epoch: int | None, can_wait: bool
    ) -> LogAppendInfo | None:
        """See ``PartitionLog.append_as_follower``."""
        state = self._state
        if state.is_closed:
            raise state.closed_error()
        first_offset = NO_OFFSET
        max_timestamp = NO_TIMESTAMP
        size_bytes = 0
        rest = records
        try:
            run = self._append_run(rest, leader_epoch)
            while run is not None:
                if size_bytes == 0:
                    first_offset = run.base_offset
                max_timestamp = max(max_timestamp, run.max_timestamp)
                size_bytes += run.end
                rest = rest[run.end :]
                run = self._append_run(rest, leader_epoch)
            headers = self._check_replicated(rest, leader_epoch)
            if headers:
                if size_bytes == 0:
                    first_offset = headers[0].base_offset
                self._write_batches(rest, headers)
        except ApiError:
            # What comes before is in the log, and the caller does not learn that it must flush it.
            if not state.is_closed:
                self._flush_if_due()
            raise
        if headers:
            for header in headers:
                max_timestamp = max(max_timestamp, header.max_timestamp)
                size_bytes += header.size_bytes
        elif size_bytes == 0:
            return None
        return LogAppendInfo(
            first_offset,
            state.log_end_offset - 1,
            NO_TIMESTAMP,
            state.log_start_offset,
            max_timestamp,
            size_bytes,
            False,
            self._flush_if_due(can_wait=can_wait),
        )

    def _append_run(
        self, records: memoryview | bytes, leader_epoch: int | None
    ) -> ReplicatedRun | None:
        """Append the batches at the beginning of ``records`` that are alike, in one go.

        Returns None if there are too few of them, or if they need more than one segment.
        """
        if len(records) < MIN_RUN_BYTES or read_header(records, 0).size_bytes == len(records):
            return None
        state = self._state
        data = bytes(records)
        latest_epoch = _LATEST_EPOCH if leader_epoch is None else leader_epoch
        run = find_replicated(data, state.log_end_offset, latest_epoch)
        if run is None:
            return None
        segment = state.segments.active
        if not segment.takes_run(run, state.context.clock.wall_ms(), state.config):
            return None
        producers = state.producers
        headers = [read_header(data, position) for position in run.of_producers]
        for header in headers:
            producers.check(header, AppendOrigin.REPLICATION)
        try:
            if run.leader_epoch >= 0 and run.leader_epoch != self._tail.latest_epoch:
                self._tail.assign_epoch(run.leader_epoch, run.base_offset)
            segment.append_run(data if run.end == len(data) else data[: run.end], run)
        except OSError as error:
            raise state.storage_error(error, "appending to") from error
        state.log_end_offset = end_offset = run.last_offset + 1
        for header in headers:
            producers.update(header, header.base_offset, header.last_offset)
        producers.map_end_offset = end_offset
        return run

    def skip_to(self, offset: int) -> None:
        """See ``PartitionLog.skip_to``."""
        try:
            self._tail.roll_for(0, offset)
        except OSError as error:
            raise self._state.storage_error(error, f"continuing at {offset} in") from error
        self._state.log_end_offset = offset

    def _check_replicated(
        self, records: memoryview | bytes, leader_epoch: int | None
    ) -> list[BatchHeader]:
        """The headers of the batches to append; raises before anything is written."""
        state = self._state
        headers: list[BatchHeader] = []
        next_offset = state.log_end_offset
        for position, header in iter_headers(records):
            if leader_epoch is not None and header.partition_leader_epoch > leader_epoch:
                break
            if not next_offset <= header.base_offset <= header.last_offset:
                raise ApiError(
                    ErrorCode.INVALID_RECORD,
                    f"{state.topic_partition}: a batch of offsets {header.base_offset} to "
                    f"{header.last_offset} where the log continues at {next_offset}",
                )
            if not crc_is_valid(records, position, header):
                raise CorruptBatch(
                    f"{state.topic_partition}: the batch at offset {header.base_offset} does not "
                    "match its checksum"
                )
            if header.producer_id >= 0 and not header.is_control:
                state.producers.check(header, AppendOrigin.REPLICATION)
            headers.append(header)
            next_offset = header.next_offset
        return headers

    def _write_batches(self, data: memoryview | bytes, headers: list[BatchHeader]) -> None:
        """Write complete batches; the log end offset and the producer state are updated per piece.

        A piece is what fits into the active segment. If the disk fails between two pieces, the
        first ones stay: the log is shorter than requested, but correct.
        """
        state = self._state
        wall_ms = state.context.clock.wall_ms()
        start = end = 0
        piece: list[BatchHeader] = []
        try:
            for header in headers:
                if state.segments.active.should_roll(
                    end - start + header.size_bytes,
                    header.max_timestamp,
                    header.last_offset,
                    wall_ms,
                    state.config,
                ):
                    self._write_piece(data[start:end], piece)
                    start = end
                    self._tail.roll_for(header.size_bytes, header.base_offset)
                piece.append(header)
                end += header.size_bytes
            self._write_piece(data[start:end], piece)
        except OSError as error:
            raise state.storage_error(error, "appending to") from error

    def _write_piece(self, data: memoryview | bytes, piece: list[BatchHeader]) -> None:
        if not piece:
            return
        state = self._state
        for header in piece:
            if header.partition_leader_epoch >= 0:
                self._tail.assign_epoch(header.partition_leader_epoch, header.base_offset)
        segment = state.segments.active
        segment.append_batches(data, piece)
        state.log_end_offset = piece[-1].next_offset
        position = 0
        for header in piece:
            # Before the next roll, which takes a snapshot of the producer state.
            replay_batch(state.producers, header, data, position, segment.txn_index)
            position += header.size_bytes
        piece.clear()


def _validate_internal(
    records: memoryview | bytes | ProducedBatch,
    config: LogConfig,
    wall_ms: int,
    origin: AppendOrigin,
) -> ProducedBatch:
    if isinstance(records, ProducedBatch):
        return records if records.is_checked else fit_built(records, config, wall_ms)
    return validate_produced(
        records,
        config,
        wall_ms,
        from_client=False,
        # A marker must not be too large for a topic: its transaction would never end.
        ignore_size=origin is _RAFT_LEADER or origin is _COORDINATOR,
        look_inside=False,
    )
