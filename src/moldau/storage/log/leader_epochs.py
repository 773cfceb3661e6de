"""The leader epochs of a log: which leader wrote which offsets.

The controller assigns an epoch to every leader of a partition, and the leader stamps it into the
batches it writes. With the start offset of each epoch, a follower or a consumer can find where its
log diverges from the leader's (KIP-101, KIP-320) by asking one question: where does this epoch end
in your log?

There are few entries: one for each leader that wrote something. They are kept in memory and in the
``leader-epoch-checkpoint`` file of the partition.

Rules this module keeps:

* Both epochs and start offsets increase from entry to entry. A new entry replaces older ones that
  contradict it, because it describes the batches that are in the log now.
* A new epoch is added in memory; an append does not wait for the disk, but another thread writes
  the file soon after (``write_late``). No epoch is lost if ``flush`` comes before the recovery
  point advances: recovery reads every batch above the recovery point and assigns their epochs
  again.
* The file is written with the lock ``writing`` held, and a late write of entries that have since
  changed does nothing. So the file never reverts to older contents.
* Removing entries that are or may soon be on disk (the log was truncated) writes the file
  immediately. Otherwise they could reappear after a crash and describe batches of another leader.
"""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, NamedTuple

from moldau.storage.disk.checkpoint import read_leader_epochs, write_leader_epochs
from moldau.storage.disk.disk import Disk

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


class EpochEntry(NamedTuple):
    """The first offset that the leader of ``epoch`` wrote."""

    epoch: int
    start_offset: int


class LeaderEpochCache:
    """The leader epochs of one partition."""

    __slots__ = (
        "_changes",
        "_disk",
        "_epochs",
        "_is_dirty",
        "_start_offsets",
        "_stored",
        "path",
        "writing",
    )

    def __init__(self, disk: Disk, path: str, *, is_new: bool = False) -> None:
        """Read the file, if there is one; ``is_new`` means that there is none.

        Its contents may be older than the log: truncate both ends to the log's offsets.

        Raises:
            CorruptCheckpoint: the file is damaged.
        """
        self._disk = disk
        self.path = path
        self._epochs: list[int] = []
        self._start_offsets: list[int] = []
        # The number of entries that the file may have.
        self._stored = 0
        self._is_dirty = False
        self._changes = 0
        self.writing = threading.Lock()
        if is_new:
            return
        for epoch, start_offset in read_leader_epochs(disk, path):
            self._assign_in_memory(epoch, start_offset)
        self._stored = len(self._epochs)

    @property
    def latest_epoch(self) -> int:
        """The epoch of the last batch; -1 if there is none."""
        return self._epochs[-1] if self._epochs else NO_EPOCH

    @property
    def latest_entry(self) -> EpochEntry | None:
        return EpochEntry(self._epochs[-1], self._start_offsets[-1]) if self._epochs else None

    @property
    def earliest_entry(self) -> EpochEntry | None:
        return EpochEntry(self._epochs[0], self._start_offsets[0]) if self._epochs else None

    def entries(self) -> list[EpochEntry]:
        return [
            EpochEntry(epoch, start_offset)
            for epoch, start_offset in zip(self._epochs, self._start_offsets, strict=True)
        ]

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Record that a batch of ``epoch`` begins at ``start_offset``; False if nothing changed.

        Entries that contradict the new one are removed.
        """
        assert min(epoch, start_offset) >= 0, f"epoch {epoch} cannot start at {start_offset}"
        if not self._assign_in_memory(epoch, start_offset):
            return False
        self._is_dirty = True
        if len(self._epochs) <= self._stored:
            self.flush()
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return the epoch and its end offset, which is where the next epoch starts.

        If nothing was written in that epoch, the result is for the largest one before it. An epoch
        older than all entries ends where the log begins. If the epoch is -1 or newer than all
        entries, the result is (-1, -1).
        """
        if epoch == NO_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return NO_EPOCH, NO_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, log_end_offset
        later = bisect_right(self._epochs, epoch)
        found_epoch = self._epochs[later - 1] if later else epoch
        return found_epoch, self._start_offsets[later]

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch of ``offset``; -1 if it is before the first entry."""
        slot = bisect_right(self._start_offsets, offset) - 1
        return self._epochs[slot] if slot >= 0 else NO_EPOCH

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the entries before the new ``start_offset``. Written with the next flush."""
        slot = bisect_right(self._start_offsets, start_offset) - 1
        if slot < 0 or (slot == 0 and self._start_offsets[0] == start_offset):
            return
        del self._epochs[:slot]
        del self._start_offsets[:slot]
        self._start_offsets[0] = start_offset
        self._stored = max(self._stored - slot, 0)
        self._is_dirty = True

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the entries from the new ``end_offset`` on."""
        keep = bisect_left(self._start_offsets, end_offset)
        if keep < len(self._epochs):
            self._forget_from(keep)

    def clear(self) -> None:
        """Remove all entries."""
        self._forget_from(0)

    def flush(self) -> None:
        """Make all entries durable. Does nothing if nothing changed."""
        if self._is_dirty:
            self._changes += 1
            with self.writing:
                write_leader_epochs(self._disk, self.path, self.entries())
            self._stored = len(self._epochs)
            self._is_dirty = False

    def write_late(self) -> Callable[[], None]:
        """Return the work, for any thread, that writes the current entries; it may raise OSError.

        It does nothing if newer entries have been written or are about to be. Nobody waits for it,
        so the next ``flush`` writes the entries again; and they must be removed as if they were on
        disk, since they may be.
        """
        self._stored = len(self._epochs)
        self._changes += 1
        changes = self._changes
        entries = self.entries()

        def work() -> None:
            with self.writing:
                if changes == self._changes:
                    write_leader_epochs(self._disk, self.path, entries)

        return work

    def moved(self, path: str) -> None:
        """Set the path after the directory was renamed.

        The caller must hold ``writing`` since before the rename.
        """
        self.path = path

    def _forget_from(self, keep: int) -> None:
        del self._epochs[keep:]
        del self._start_offsets[keep:]
        self._is_dirty = True
        self._changes += 1
        if keep < self._stored:
            self.flush()

    def _assign_in_memory(self, epoch: int, start_offset: int) -> bool:
        epochs, start_offsets = self._epochs, self._start_offsets
        if epochs and epoch == epochs[-1] and start_offset >= start_offsets[-1]:
            return False
        while epochs and (epochs[-1] >= epoch or start_offsets[-1] >= start_offset):
            epochs.pop()
            start_offsets.pop()
        epochs.append(epoch)
        start_offsets.append(start_offset)
        return True
