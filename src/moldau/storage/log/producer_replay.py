"""Rebuilding the producer state from the batches of the log.

The state of ``ProducerStateManager`` is derived from the batches, so it can be rebuilt by replaying
their headers in order. Snapshots only shorten this: the newest one that is not ahead of the log is
loaded, and the batches after it are replayed.
"""

import logging
from collections.abc import Iterator

from moldau.record.control import ControlType, decode_control_key, decode_end_txn_marker
from moldau.record.header import BatchHeader, Buffer, crc_is_valid
from moldau.record.records import decode_records
from moldau.storage.index.txn_index import AbortedTxn, TransactionIndex
from moldau.storage.log.batch_scan import CorruptSegment, find_valid_batch_after, iter_batches
from moldau.storage.log.producer_state import ProducerStateManager
from moldau.storage.log.segment import Segment
from moldau.storage.log.segment_list import SegmentList

_log = logging.getLogger(__name__)


class TxnMarker:
    """The contents of a control batch that ends a transaction."""

    __slots__ = ("coordinator_epoch", "is_abort", "offset", "timestamp")

    def __init__(self, offset: int, timestamp: int, is_abort: bool, coordinator_epoch: int) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.is_abort = is_abort
        self.coordinator_epoch = coordinator_epoch


def read_marker(batch: Buffer, position: int = 0) -> TxnMarker | None:
    """The marker in a control batch; None if it is another kind of control batch."""
    for record in decode_records(batch, position):
        control_type = decode_control_key(record.key)
        if control_type in (ControlType.ABORT, ControlType.COMMIT):
            return TxnMarker(
                record.offset,
                record.timestamp,
                control_type == ControlType.ABORT,
                decode_end_txn_marker(record.value),
            )
    return None


def replay_batch(
    producers: ProducerStateManager,
    header: BatchHeader,
    data: Buffer,
    position: int,
    txn_index: TransactionIndex | None,
) -> None:
    """Update ``producers`` with a batch of the log.

    With ``txn_index``, a transaction that the batch aborts is added to it.
    """
    if header.producer_id >= 0:
        if not header.is_control:
            producers.update(header, header.base_offset, header.last_offset)
        else:
            marker = read_marker(data, position)
            if marker is not None:
                end_txn(producers, header, marker, txn_index)
    producers.map_end_offset = header.next_offset


def end_txn(
    producers: ProducerStateManager,
    header: BatchHeader,
    marker: TxnMarker,
    txn_index: TransactionIndex | None,
) -> None:
    """Complete the transaction of a marker; an aborted one is added to the index."""
    completed = producers.update_marker(
        header, marker.coordinator_epoch, marker.is_abort, marker.offset, marker.timestamp
    )
    if completed is None:
        return
    if completed.is_aborted and txn_index is not None:
        txn_index.append(
            AbortedTxn(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                producers.last_stable_offset(completed),
            )
        )
    producers.complete_txn(completed)


def rebuild_producer_state(
    producers: ProducerStateManager,
    segments: SegmentList,
    log_start_offset: int,
    log_end_offset: int,
    wall_ms: int,
) -> None:
    """Rebuild the state after the last batch below ``log_end_offset``.

    Without a snapshot the whole log is read, also after a clean shutdown: that has written one, but
    its name may have been lost with the power afterwards.

    Raises:
        OSError: the disk fails. If it only takes no snapshot, the state is complete all the same.
    """
    failure: OSError | None = None
    snapshot_at = [segment.base_offset for segment in segments][-2:]
    producers.truncate_and_reload(log_start_offset, log_end_offset, wall_ms)
    for segment in segments.overlapping(producers.map_end_offset, log_end_offset):
        if producers.map_end_offset >= log_end_offset:
            break
        start = max(segment.base_offset, producers.map_end_offset, log_start_offset)
        producers.map_end_offset = start
        if segment.base_offset in snapshot_at and start == segment.base_offset:
            try:
                producers.take_snapshot()
            except OSError as error:
                failure = error
        for header, data in _undamaged(segment, start):
            if header.base_offset >= log_end_offset:
                break
            replay_batch(producers, header, data, 0, None)
    producers.map_end_offset = log_end_offset
    producers.take_snapshot()
    if failure is not None:
        raise failure


def _undamaged(segment: Segment, offset: int) -> Iterator[tuple[BatchHeader, bytes]]:
    """The batches from ``offset`` on, control batches with their contents.

    Damage is skipped: one flipped bit must not keep a broker from starting. What the damaged
    batches said about producers and transactions is unknown then, but they cannot be read either.
    """
    position = -1
    while True:
        try:
            if position < 0:
                found = segment.find(offset)
                if found is None:
                    return
                position = found.position
            for at, header in iter_batches(segment.log, position, segment.size):
                data = b""
                if header.is_control:
                    data = segment.log.pread(header.size_bytes, at)
                    if not crc_is_valid(data, 0, header):
                        raise CorruptSegment(segment.log.path, at, "the checksum does not match")
                yield header, data
                offset = header.next_offset
            return
        except CorruptSegment as error:
            _log.error("Its effect on producers is not known: %s", error)
            following = find_valid_batch_after(segment.log, error.position, segment.size, offset)
            if following is None:
                return
            position = following.position
