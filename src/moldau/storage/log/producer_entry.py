"""The state of one idempotent producer in a partition.

A producer numbers its records, per partition, from zero. The last five batches are kept, because a
client may have five requests in flight and may retry any of them when a response is lost; a
duplicate batch is answered with the offsets of its first copy.

There can be many producers per partition, most of them idle, so batches are stored as plain
integers in one array, not as objects.
"""

from array import array
from typing import Final, NamedTuple

from moldau.record.header import BatchHeader

NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_OFFSET: Final = -1
BATCHES_TO_RETAIN: Final = 5

# For each batch: last sequence, last offset, offset delta, timestamp.
_FIELDS: Final = 4
_MAX_FIELDS: Final = _FIELDS * BATCHES_TO_RETAIN
_MAX_INT32: Final = 2**31 - 1


class DuplicateBatch(NamedTuple):
    """The first copy of a duplicate batch."""

    first_offset: int
    last_offset: int
    timestamp: int


class BatchMetadata(NamedTuple):
    """A batch of the producer."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """One producer id in one partition."""

    __slots__ = (
        "_batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp",
        "next_sequence",
        "place",
        "producer_id",
        "snapshots",
        "txn_first_offset",
    )

    def __init__(self, producer_id: int, epoch: int = NO_EPOCH) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.coordinator_epoch = -1
        self.last_timestamp = -1
        # First offset of the open transaction; -1 if there is none.
        self.txn_first_offset = NO_OFFSET
        # The expected next sequence in this epoch.
        self.next_sequence = 0
        # The number of snapshots when the entry was last changed: an earlier snapshot may not be
        # written yet and needs the old values.
        self.snapshots = 0
        # Among very many producers (``producer_chunks``).
        self.place = 0
        self._batches: array[int] = array("q")

    def copy(self) -> "ProducerEntry":
        """An independent copy of this entry."""
        entry = ProducerEntry(self.producer_id, self.epoch)
        entry.coordinator_epoch = self.coordinator_epoch
        entry.last_timestamp = self.last_timestamp
        entry.txn_first_offset = self.txn_first_offset
        entry.next_sequence = self.next_sequence
        entry.snapshots = self.snapshots
        entry.place = self.place
        entry._batches = self._batches[:]
        return entry

    @property
    def last_sequence(self) -> int:
        """-1 if there is no batch of this epoch."""
        return self._batches[-4] if self._batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The last offset of the last data batch; -1 if there is no batch of this epoch."""
        return self._batches[-3] if self._batches else NO_OFFSET

    @property
    def last_offset_delta(self) -> int:
        return self._batches[-2] if self._batches else 0

    def batches(self) -> list[BatchMetadata]:
        """The retained batches, oldest first."""
        values = self._batches
        return [
            BatchMetadata(
                (values[i] - values[i + 2]) & _MAX_INT32 if values[i] >= 0 else NO_SEQUENCE,
                values[i],
                values[i + 1] - values[i + 2],
                values[i + 1],
                values[i + 3],
            )
            for i in range(0, len(values), _FIELDS)
        ]

    def begin_epoch(self, epoch: int) -> None:
        """Start a new epoch: sequences restart at 0 and the batches of the old one are removed."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.next_sequence = 0
            del self._batches[:]

    def add_batch(self, last_sequence: int, last_offset: int, delta: int, timestamp: int) -> None:
        batches = self._batches
        batches.extend((last_sequence, last_offset, delta, timestamp))
        if len(batches) > _MAX_FIELDS:
            del batches[:_FIELDS]
        # Wraps from the largest int32 to 0. Batches of coordinators have no sequence (-1).
        self.next_sequence = (last_sequence + 1) & _MAX_INT32
        self.last_timestamp = timestamp

    def find_duplicate(self, header: BatchHeader) -> DuplicateBatch | None:
        """The retained batch with the same epoch and exactly the same sequences."""
        if header.producer_epoch != self.epoch:
            return None
        values = self._batches
        last_sequence = header.last_sequence
        for i in range(0, len(values), _FIELDS):
            if values[i] != last_sequence or last_sequence < 0:
                continue
            last_offset, delta = values[i + 1], values[i + 2]
            if (last_sequence - delta) & _MAX_INT32 == header.base_sequence:
                return DuplicateBatch(last_offset - delta, last_offset, values[i + 3])
        return None

    def __repr__(self) -> str:
        return (
            f"ProducerEntry({self.producer_id}, epoch={self.epoch}, "
            f"txn_first_offset={self.txn_first_offset}, batches={self.batches()})"
        )
