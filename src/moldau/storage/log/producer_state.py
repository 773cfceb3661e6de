"""The state of the producers of a partition.

An idempotent producer sends its id, epoch and sequence numbers with every batch. By comparing them
to the last ones seen, the partition distinguishes a duplicate batch (answered with its original
offsets and not written again) from an out-of-order one or one of a fenced producer (both refused).
Transactions build on this: the state includes the open transactions, and markers tell which were
aborted.

The state is derived from the log: it is rebuilt by reading the log from the newest usable snapshot
on. ``check`` comes before an append and changes nothing; ``update`` comes after the write, so that
a failed append leaves the state unchanged.

Rules this module keeps:

* A producer without state may start with any sequence. Its records may have been deleted by
  retention, and refusing it would block a healthy producer for no benefit.
* A higher epoch starts again at sequence 0; a lower one is refused.
* A producer that is idle for ``producer.id.expiration.ms`` expires, except while it has an open
  transaction.
* The leader has already checked replicated batches: a follower does not refuse them for their epoch
  or sequence.
"""

import logging
from bisect import insort
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.record.header import CONTROL_FLAG, TRANSACTIONAL_FLAG, BatchHeader
from moldau.storage.disk.disk import Disk
from moldau.storage.log.producer_chunks import ProducerChunks
from moldau.storage.log.producer_entry import (
    NO_EPOCH,
    NO_OFFSET,
    NO_SEQUENCE,
    DuplicateBatch,
    ProducerEntry,
)
from moldau.storage.log.producer_snapshot import (
    CorruptSnapshot,
    SnapshotFiles,
    UnwrittenSnapshot,
    read_snapshot,
    snapshot_path,
    write_snapshot,
)
from moldau.storage.log.verification import NOT_REQUIRED, VerificationGuard, Verifications

__all__ = [
    "AppendOrigin",
    "CompletedTxn",
    "DuplicateBatch",
    "ProducerEntry",
    "ProducerStateManager",
]

_MAX_INT16: Final = 2**15 - 1
_MAX_INT32: Final = 2**31 - 1
# A snapshot of more producers would block the event loop for too long.
MANY_PRODUCERS: Final = 1000

_log = logging.getLogger(__name__)


class AppendOrigin(IntEnum):
    """The origin of an append, which determines the checks."""

    REPLICATION = 0
    COORDINATOR = 1
    CLIENT = 2
    RAFT_LEADER = 3


class CompletedTxn:
    """A transaction with data in this partition and its marker (at ``last_offset``)."""

    __slots__ = ("first_offset", "is_aborted", "last_offset", "producer_id")

    def __init__(
        self, producer_id: int, first_offset: int, last_offset: int, is_aborted: bool
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.is_aborted = is_aborted

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CompletedTxn):
            return NotImplemented
        return (
            self.producer_id == other.producer_id
            and self.first_offset == other.first_offset
            and self.last_offset == other.last_offset
            and self.is_aborted == other.is_aborted
        )


class ProducerStateManager(SnapshotFiles):
    """The producers of one partition, their open transactions and their snapshots."""

    __slots__ = (
        "_chunks",
        "_last_snapshot_offset",
        "_ongoing",
        "_producers",
        "_snapshots_taken",
        "_unreplicated",
        "expiration_ms",
        "map_end_offset",
        "topic_partition",
        "verifications",
    )

    def __init__(
        self, disk: Disk, directory: str, topic_partition: TopicPartition, expiration_ms: int
    ) -> None:
        """Empty, at offset 0; see ``truncate_and_reload``. Does not access the disk."""
        super().__init__(disk, directory)
        self.topic_partition = topic_partition
        self.expiration_ms = expiration_ms
        # Of this leader; not part of the state that is derived from the log.
        self.verifications = Verifications()
        # The offset up to which the log is included in the state.
        self.map_end_offset = 0
        self._last_snapshot_offset = 0
        # Number of snapshots written in the background: older entries are copied, not changed.
        self._snapshots_taken = 0
        self._producers: dict[int, ProducerEntry] = {}
        # The same producers, for snapshots of very many; None while there are few.
        self._chunks: ProducerChunks | None = None
        # First offset -> producer id, in offset order.
        self._ongoing: dict[int, int] = {}
        # First offset -> offset of the marker, which may be above the high watermark.
        self._unreplicated: dict[int, int] = {}

    # -- batches

    def check(
        self,
        header: BatchHeader,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = NOT_REQUIRED,
    ) -> DuplicateBatch | None:
        """Check whether a batch may be appended; returns its earlier copy if it is a duplicate.

        The first batch of a transaction needs the valid ``guard`` of its producer.

        Raises:
            ApiError: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER or
                INVALID_TXN_STATE.
        """
        entry = self._producers.get(header.producer_id)
        if header.attributes & TRANSACTIONAL_FLAG and origin is not AppendOrigin.REPLICATION:
            return self._check_transactional(entry, header, origin, guard)
        # A producer without state, or a batch without a producer (-1).
        if entry is None:
            return None
        if (
            header.base_sequence == entry.next_sequence
            and header.producer_epoch == entry.epoch
            and (entry.txn_first_offset < 0 or header.attributes & TRANSACTIONAL_FLAG)
        ):
            return None
        return self._check_closely(entry, header, origin)

    def update(self, header: BatchHeader, base_offset: int, last_offset: int) -> None:
        """Update the state after a data batch was appended at these offsets."""
        self.map_end_offset = last_offset + 1
        producer_id = header.producer_id
        if producer_id < 0:
            return
        attributes = header.attributes
        assert not attributes & CONTROL_FLAG, "markers go to update_marker"
        entry = self._producers.get(producer_id)
        if entry is None or entry.snapshots != self._snapshots_taken:
            entry = self._renew(producer_id, entry)
        if entry.epoch != header.producer_epoch:
            entry.begin_epoch(header.producer_epoch)
        delta = last_offset - base_offset
        last_sequence = header.base_sequence
        if last_sequence != NO_SEQUENCE:
            last_sequence = (last_sequence + delta) & _MAX_INT32
        entry.add_batch(last_sequence, last_offset, delta, header.max_timestamp)
        if attributes & TRANSACTIONAL_FLAG:
            self.verifications.on_data(producer_id)
            if entry.txn_first_offset < 0:
                entry.txn_first_offset = base_offset
                self._ongoing[base_offset] = producer_id

    def _renew(self, producer_id: int, entry: ProducerEntry | None) -> ProducerEntry:
        """A modifiable entry: a new one, or a copy of one that is part of a snapshot."""
        renewed = ProducerEntry(producer_id) if entry is None else entry.copy()
        renewed.snapshots = self._snapshots_taken
        self._producers[producer_id] = renewed
        if self._chunks is None:
            self._begin_chunks()
        elif entry is None:
            self._chunks.add(renewed)
        else:
            self._chunks.replace(renewed)
        return renewed

    def _begin_chunks(self) -> None:
        """Divide the producers into chunks if there have come to be many."""
        if len(self._producers) > MANY_PRODUCERS:
            self._chunks = ProducerChunks(self._producers.values())

    def _check_transactional(
        self,
        entry: ProducerEntry | None,
        header: BatchHeader,
        origin: AppendOrigin,
        guard: VerificationGuard | None,
    ) -> DuplicateBatch | None:
        is_ongoing = False
        if entry is not None:
            is_ongoing = entry.txn_first_offset >= 0 and entry.epoch == header.producer_epoch
            if is_ongoing and header.base_sequence == entry.next_sequence:
                return None
            if origin is AppendOrigin.CLIENT:
                duplicate = entry.find_duplicate(header)
                if duplicate is not None:
                    return duplicate
            self._check_epoch(entry, header, header.producer_epoch < entry.epoch, origin)
        if not is_ongoing:
            problem = self.verifications.problem(
                header.producer_id,
                header.base_sequence,
                guard,
                is_new=entry is None or entry.last_offset < 0,
            )
            if problem is not None:
                raise ApiError(problem.code, f"{self.topic_partition}: {problem.message}")
        if entry is not None and origin is AppendOrigin.CLIENT:
            self._check_sequence(entry, header)
        return None

    def _check_closely(
        self, entry: ProducerEntry, header: BatchHeader, origin: AppendOrigin
    ) -> DuplicateBatch | None:
        if header.attributes & CONTROL_FLAG:
            return None
        if origin is AppendOrigin.CLIENT:
            duplicate = entry.find_duplicate(header)
            if duplicate is not None:
                return duplicate
        self._check_epoch(entry, header, header.producer_epoch < entry.epoch, origin)
        if origin is AppendOrigin.CLIENT:
            self._check_sequence(entry, header)
        if entry.txn_first_offset >= 0 and not header.attributes & TRANSACTIONAL_FLAG:
            message = (
                f"{self._who(header)} wrote outside of a transaction while its transaction from "
                f"offset {entry.txn_first_offset} is open"
            )
            raise ApiError(ErrorCode.INVALID_TXN_STATE, message)
        return None

    def _check_epoch(
        self, entry: ProducerEntry, header: BatchHeader, is_stale: bool, origin: AppendOrigin
    ) -> None:
        if not is_stale:
            return
        message = (
            f"{self._who(header)} has epoch {header.producer_epoch}, "
            f"but epoch {entry.epoch} has been seen"
        )
        if origin is not AppendOrigin.REPLICATION:
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
        _log.warning("%s (replicated all the same)", message)

    def _check_sequence(self, entry: ProducerEntry, header: BatchHeader) -> None:
        sequence = header.base_sequence
        if header.producer_epoch != entry.epoch:
            if sequence == 0 or entry.epoch == NO_EPOCH:
                return
            expected = f"0, as epoch {header.producer_epoch} follows {entry.epoch}"
        elif sequence != entry.next_sequence:
            expected = f"{entry.next_sequence} after {entry.last_sequence}"
        else:
            return
        message = f"{self._who(header)} sent sequence {sequence}: expected {expected}"
        raise ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)

    def _who(self, header: BatchHeader) -> str:
        return (
            f"producer {header.producer_id} at offset {self.map_end_offset} "
            f"of {self.topic_partition}"
        )

    # -- transactions

    def check_marker(
        self,
        header: BatchHeader,
        coordinator_epoch: int,
        transaction_version: int = 0,
        origin: AppendOrigin = AppendOrigin.COORDINATOR,
    ) -> None:
        """Check whether a commit or abort marker may be appended.

        From transaction version 2 on the coordinator increases the epoch before it writes the
        marker (KIP-890), so a marker of the current epoch belongs to the previous transaction. It
        is accepted if no transaction is open: then it is a retry of the same marker.

        Raises:
            ApiError: INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED.
        """
        entry = self._producers.get(header.producer_id)
        if entry is None:
            return
        epoch = header.producer_epoch
        is_stale = epoch < entry.epoch
        if transaction_version >= 2 and epoch == entry.epoch:
            is_stale = entry.txn_first_offset >= 0 and epoch != _MAX_INT16
        self._check_epoch(entry, header, is_stale, origin)
        if coordinator_epoch < entry.coordinator_epoch:
            message = (
                f"a coordinator with epoch {coordinator_epoch} ends a transaction of "
                f"{self._who(header)}, but coordinator epoch {entry.coordinator_epoch} was seen"
            )
            if origin is not AppendOrigin.REPLICATION:
                raise ApiError(ErrorCode.TRANSACTION_COORDINATOR_FENCED, message)
            _log.info("%s (replicated all the same)", message)

    def update_marker(
        self,
        header: BatchHeader,
        coordinator_epoch: int,
        is_abort: bool,
        offset: int,
        timestamp: int,
    ) -> CompletedTxn | None:
        """Update the state after a marker was appended at ``offset``.

        Returns the transaction that it ends, or None if that has no data here. The caller adds an
        aborted one to the transaction index, with ``last_stable_offset``, and then calls
        ``complete_txn``.
        """
        self.map_end_offset = offset + 1
        producer_id = header.producer_id
        entry = self._producers.get(producer_id)
        if entry is None or entry.snapshots != self._snapshots_taken:
            entry = self._renew(producer_id, entry)
        first_offset = entry.txn_first_offset
        entry.begin_epoch(header.producer_epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        entry.txn_first_offset = NO_OFFSET
        self.verifications.on_marker(producer_id, header.producer_epoch)
        # A transaction without data does not affect the last stable offset or the index.
        if first_offset < 0:
            return None
        return CompletedTxn(producer_id, first_offset, offset, is_abort)

    def last_stable_offset(self, txn: CompletedTxn) -> int:
        """The last stable offset once ``txn`` is complete and replicated."""
        for first_offset, producer_id in self._ongoing.items():
            if producer_id != txn.producer_id:
                return first_offset
        return txn.last_offset + 1

    def complete_txn(self, txn: CompletedTxn) -> None:
        """Mark a transaction as complete; it stays unstable until its marker is replicated."""
        del self._ongoing[txn.first_offset]
        self._unreplicated[txn.first_offset] = txn.last_offset

    @property
    def first_unstable_offset(self) -> int:
        """Start of the first transaction that is open or not fully replicated; -1 if none."""
        undecided = self.first_undecided_offset
        if not self._unreplicated:
            return undecided
        unreplicated = min(self._unreplicated)
        return unreplicated if undecided < 0 else min(undecided, unreplicated)

    @property
    def first_undecided_offset(self) -> int:
        """Start of the first open transaction; -1 if there is none."""
        return next(iter(self._ongoing)) if self._ongoing else NO_OFFSET

    def begin_verification(
        self,
        producer_id: int,
        producer_epoch: int,
        sequence: int,
        wall_ms: int,
        *,
        supports_epoch_bump: bool,
    ) -> VerificationGuard | None:
        """The guard for the first batch of a transaction; None if its transaction is open here.

        ``sequence`` is the first one of the batch, -1 if it comes from a coordinator.

        Raises:
            ApiError: INVALID_PRODUCER_EPOCH.
        """
        entry = self._producers.get(producer_id)
        if entry is not None:
            if producer_epoch < entry.epoch:
                message = (
                    f"producer {producer_id} of {self.topic_partition} has epoch "
                    f"{producer_epoch}, but epoch {entry.epoch} has been seen"
                )
                raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
            if entry.epoch == producer_epoch and entry.txn_first_offset >= 0:
                return None
        return self.verifications.begin(
            producer_id,
            sequence,
            producer_epoch,
            wall_ms,
            supports_epoch_bump=supports_epoch_bump,
        )

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self._producers.get(producer_id)
        return entry is not None and entry.epoch == producer_epoch and entry.txn_first_offset >= 0

    def on_high_watermark(self, high_watermark: int) -> None:
        """Remove transactions whose markers are below the high watermark, and so replicated."""
        if self._unreplicated:
            done = [first for first, last in self._unreplicated.items() if last < high_watermark]
            for first_offset in done:
                del self._unreplicated[first_offset]

    # -- maintenance

    def active_producers(self) -> list[ProducerEntry]:
        """All producers, in the order of their first batches."""
        return list(self._producers.values())

    def active_producers_in_steps(self) -> Iterator[list[ProducerEntry]]:
        """The same, a chunk at a time if there are many; for DescribeProducers."""
        chunks = self._chunks
        if chunks is None:
            yield self.active_producers()
            return
        for number in range(len(chunks)):
            yield chunks.entries(number)

    def entry(self, producer_id: int) -> ProducerEntry | None:
        return self._producers.get(producer_id)

    def expire(self, wall_ms: int) -> int:
        """Remove expired producers; returns their number."""
        return sum(self.expire_in_steps(wall_ms))

    def expire_in_steps(self, wall_ms: int) -> Iterator[int]:
        """Remove expired producers, a chunk at a time if there are many; yields their number."""
        self.verifications.expire(wall_ms, self.expiration_ms)
        chunks = self._chunks
        if chunks is None:
            yield self._remove_expired(self.active_producers(), wall_ms)
            return
        for number in range(len(chunks)):
            # The log may have been truncated since the last step.
            if self._chunks is not chunks:
                return
            yield self._remove_expired(chunks.entries(number), wall_ms)
        if self._chunks is chunks and len(self._producers) <= MANY_PRODUCERS:
            self._chunks = None

    def _remove_expired(self, entries: list[ProducerEntry], wall_ms: int) -> int:
        expired = [entry for entry in entries if self._expired(entry, wall_ms)]
        for entry in expired:
            del self._producers[entry.producer_id]
            if self._chunks is not None:
                self._chunks.remove(entry, self._snapshots_taken)
        return len(expired)

    def on_log_start_offset(self, log_start_offset: int) -> None:
        """Update offsets after records were deleted. Producers are kept."""
        self.on_high_watermark(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        latest = self.latest_snapshot_offset
        self._last_snapshot_offset = latest if latest >= 0 else log_start_offset

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, wall_ms: int) -> None:
        """Load the newest snapshot within the log between these offsets.

        Snapshots outside that range are deleted, and so are damaged ones. The caller must then
        replay the log from ``map_end_offset`` on with ``update``.
        """
        for offset in list(self.snapshot_offsets()):
            if offset > log_end_offset or offset <= log_start_offset:
                self._delete_snapshot(offset)
        if log_end_offset == self.map_end_offset:
            self.on_log_start_offset(log_start_offset)
            return
        self._clear()
        self._write_unwritten()
        self._load_newest_snapshot(log_start_offset, wall_ms)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Clear the state: the log is empty and begins at ``offset``."""
        self._clear()
        for snapshot in list(self.snapshot_offsets()):
            self._delete_snapshot(snapshot)
        self._last_snapshot_offset = 0
        self.map_end_offset = offset

    def _clear(self) -> None:
        self._producers.clear()
        self._chunks = None
        self._ongoing.clear()
        self._unreplicated.clear()

    def _load_newest_snapshot(self, log_start_offset: int, wall_ms: int) -> None:
        while self.latest_snapshot_offset >= 0:
            offset = self.latest_snapshot_offset
            try:
                entries = read_snapshot(self._disk, snapshot_path(self.directory, offset))
            except CorruptSnapshot as error:
                _log.warning("deleting a damaged producer snapshot: %s", error)
                self._delete_snapshot(offset)
                continue
            for entry in entries:
                entry.snapshots = self._snapshots_taken
                if not self._expired(entry, wall_ms):
                    self._producers[entry.producer_id] = entry
            self._begin_chunks()
            open_txns = [e for e in self._producers.values() if e.txn_first_offset >= 0]
            for entry in sorted(open_txns, key=lambda e: e.txn_first_offset):
                self._ongoing[entry.txn_first_offset] = entry.producer_id
            self._last_snapshot_offset = self.map_end_offset = offset
            return
        self._last_snapshot_offset = self.map_end_offset = log_start_offset

    def _expired(self, entry: ProducerEntry, wall_ms: int) -> bool:
        return entry.txn_first_offset < 0 and wall_ms - entry.last_timestamp >= self.expiration_ms

    # -- snapshots

    def take_snapshot(self, sync: bool = False) -> str | None:
        """Write a snapshot, unless there is one at this offset already; returns the path."""
        offset = self.map_end_offset
        if offset <= self._last_snapshot_offset:
            return None
        path = snapshot_path(self.directory, offset)
        write_snapshot(self._disk, path, self._producers.values(), sync)
        self._note_snapshot(offset)
        return path

    def plan_snapshot(self) -> UnwrittenSnapshot | None:
        """A snapshot of the current state, to be written by any thread.

        None if there are few producers or nothing new: then ``take_snapshot`` is faster.
        """
        offset = self.map_end_offset
        if offset <= self._last_snapshot_offset or self._chunks is None:
            return None
        snapshot = UnwrittenSnapshot(offset, self._chunks.shared())
        self._snapshots_taken += 1
        self._note_unwritten(snapshot)
        self._note_snapshot(offset)
        return snapshot

    def _note_snapshot(self, offset: int) -> None:
        if offset not in self.snapshot_offsets():
            insort(self.snapshot_offsets(), offset)
        self._last_snapshot_offset = offset
