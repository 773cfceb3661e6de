"""Compaction of batches.

A record is kept if it is the last one with its key, according to the offset map of this pass. A
rewritten batch keeps its base offset, last offset, leader epoch and producer fields, so that
offsets stay valid and an idempotent producer can continue with its next sequence number.

Most batches come in runs, which the record kernel filters and writes on its own (``run_filter``).
Batches that it does not support are handled here, one by one.

Rules this module keeps, all of them Kafka's:

* A tombstone (a key without a value) is kept for ``delete.retention.ms`` after the first pass that
  reads it. That pass writes the end of this time, the delete horizon, into the batch, in place of
  the base timestamp (KIP-534); a later pass removes the tombstone when the horizon has passed.
* The marker of a transaction without batches is removed in the same way.
* Two kinds of batches are kept as bare headers even if they have no records left: the last one of
  each active producer, and the last one of the part that is cleaned.
* Records after the last offset of the map are all kept.
* A batch that loses no record is copied unchanged.
"""

from array import array
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from moldau.config.topic import LogConfig
from moldau.record.batch_run import BatchRun
from moldau.record.compression import Codec, compress
from moldau.record.fitting import compression_level
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    COMPRESSION_MASK,
    DELETE_HORIZON_FLAG,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    encode_batch,
    read_header,
)
from moldau.record.offset_map import OffsetMap
from moldau.record.rebase import rebase_timestamps
from moldau.record.records import read_payload
from moldau.record.retention_filter import Filtered, filter_records
from moldau.record.run_filter import RunFilter, WrittenBatches
from moldau.storage.cleaner.cleaned_transactions import CleanedTransactions, marker_type
from moldau.storage.index.txn_index import AbortedTxn

# Far from the limits of a timestamp, whatever the value of ``delete.retention.ms``.
_LAST_HORIZON_MS: Final = 1 << 61


class LastRecord(NamedTuple):
    """The last data offset (-1 if none) and the epoch of an active producer."""

    last_data_offset: int
    producer_epoch: int


class CleanedBatch(NamedTuple):
    """A batch for the cleaned segment."""

    header: BatchHeader
    data: bytes
    # To be added to the transaction index of the cleaned segment.
    aborted_txn: AbortedTxn | None = None


class BatchCleaner:
    """Cleans the batches of a log, in order, in one pass."""

    def __init__(
        self,
        offset_map: OffsetMap,
        transactions: CleanedTransactions,
        last_records: Mapping[int, LastRecord],
        config: LogConfig,
        *,
        upper_bound_offset: int,
        wall_ms: int,
    ) -> None:
        """``upper_bound_offset`` is the end of the cleanable part of the log."""
        self._offset_map = offset_map
        self._transactions = transactions
        self._last_records = last_records
        self._config = config
        self._upper_bound_offset = upper_bound_offset
        self._wall_ms = wall_ms
        # The last offsets of data batches that are kept even without records.
        needed = {last.last_data_offset for last in last_records.values()}
        needed.add(upper_bound_offset - 1)
        self._needed_offsets = array("q", sorted(offset for offset in needed if offset >= 0))
        self.records_read = 0
        self.records_kept = 0

    def clean_run(self, run: BatchRun) -> Iterator[CleanedBatch | WrittenBatches]:
        """The batches that remain of a run, in order.

        Raises:
            CorruptBatch, ValueError: a batch is malformed.
        """
        run_filter = RunFilter(run, self._offset_map, self._needed_offsets, self._wall_ms)
        first = 0
        while first < run.count:
            written = run_filter.write(first)
            self.records_read += run.first_row[written.stop] - run.first_row[first]
            self.records_kept += written.kept
            if written.kept:
                yield written
            first = written.stop
            if first < run.count:
                position = run.position[first]
                batch = self.clean(read_header(run.chunk, position), run.chunk, position)
                if batch is not None:
                    yield batch
                first += 1

    def clean(self, header: BatchHeader, chunk: bytes, position: int) -> CleanedBatch | None:
        """The remainder of the batch at ``position`` of ``chunk``; None if it is removed.

        Raises:
            CorruptBatch, ValueError: its records are malformed.
        """
        self.records_read += header.record_count
        if header.is_control:
            return self._clean_marker(header, chunk, position)
        is_aborted = self._transactions.on_batch(header)
        if is_aborted or header.record_count == 0:
            return self._emptied(header) if self._stays_empty(header) else None

        payload = read_payload(chunk, position, header)
        keeps_tombstones = not header.has_delete_horizon or self._wall_ms < header.base_timestamp
        filtered = filter_records(
            payload, header.record_count, header.base_offset, self._offset_map, keeps_tombstones
        )
        if filtered.kept == 0:
            return self._emptied(header) if self._stays_empty(header) else None
        self.records_kept += filtered.kept
        gets_horizon = filtered.tombstones > 0 and not header.has_delete_horizon
        if filtered.kept == header.record_count and not gets_horizon:
            return CleanedBatch(header, _copy_of(chunk, position, header))
        return self._rebuilt(header, filtered, gets_horizon)

    def _clean_marker(
        self, header: BatchHeader, chunk: bytes, position: int
    ) -> CleanedBatch | None:
        control_type = marker_type(header, chunk, position)
        is_spent, aborted_txn = self._transactions.on_marker(header, control_type)
        has_expired = header.has_delete_horizon and header.base_timestamp <= self._wall_ms
        if control_type is None or (is_spent and has_expired):
            return self._emptied(header) if self._stays_empty(header) else None
        self.records_kept += header.record_count
        if is_spent and not header.has_delete_horizon:
            payload = read_payload(chunk, position, header)
            return CleanedBatch(*self._with_horizon(header, payload, header.record_count))
        return CleanedBatch(header, _copy_of(chunk, position, header), aborted_txn)

    def _stays_empty(self, header: BatchHeader) -> bool:
        """Whether a batch without records must be kept for its header."""
        if header.next_offset == self._upper_bound_offset:
            return True
        last = self._last_records.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.last_data_offset >= 0:
            return header.last_offset == last.last_data_offset
        return header.is_control and header.producer_epoch == last.producer_epoch

    def _emptied(self, header: BatchHeader) -> CleanedBatch:
        attributes = header.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_FLAG)
        emptied = _copy(header, attributes, NO_TIMESTAMP, header.max_timestamp, 0)
        return CleanedBatch(emptied, encode_batch(emptied, b""))

    def _rebuilt(self, header: BatchHeader, filtered: Filtered, gets_horizon: bool) -> CleanedBatch:
        max_timestamp = header.max_timestamp
        if not header.is_log_append_time:
            max_timestamp = header.base_timestamp + filtered.max_timestamp_delta
        source = _copy(
            header, header.attributes, header.base_timestamp, max_timestamp, filtered.kept
        )
        if gets_horizon:
            return CleanedBatch(*self._with_horizon(source, filtered.records, filtered.kept))
        return CleanedBatch(source, self._encoded(source, filtered.records))

    def _with_horizon(
        self, header: BatchHeader, payload: bytes, count: int
    ) -> tuple[BatchHeader, bytes]:
        horizon_ms = min(self._wall_ms + self._config.delete_retention_ms, _LAST_HORIZON_MS)
        shifted = rebase_timestamps(payload, count, header.base_timestamp - horizon_ms)
        attributes = header.attributes | DELETE_HORIZON_FLAG
        marked = _copy(header, attributes, horizon_ms, header.max_timestamp, count)
        return marked, self._encoded(marked, shifted)

    def _encoded(self, header: BatchHeader, payload: bytes) -> bytes:
        codec = header.compression
        if codec == Codec.NONE:
            return encode_batch(header, payload)
        level = compression_level(codec, self._config)
        return encode_batch(header, compress(codec, payload, level))


def _copy_of(chunk: bytes, position: int, header: BatchHeader) -> bytes:
    """A copy of the batch. A view would keep the whole chunk in memory until it is written."""
    return chunk[position : position + header.size_bytes]


def _copy(
    header: BatchHeader, attributes: int, base_timestamp: int, max_timestamp: int, count: int
) -> BatchHeader:
    return BatchHeader(
        header.base_offset,
        BATCH_HEADER_SIZE,
        header.partition_leader_epoch,
        MAGIC,
        0,
        attributes,
        header.last_offset_delta,
        base_timestamp,
        max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        count,
    )
