"""Which leader wrote which part of a log.

Every leader of a partition has an epoch, given by the controller, and stamps it into
the batches it writes. Remembering where each epoch began lets a follower, or a consumer,
find out where its history parts from the leader's (KIP-101, KIP-320), with one question:
where does this epoch end in your log?

The entries are few: one for each leader that wrote something. They live in memory and in
the ``leader-epoch-checkpoint`` file of the partition.

Rules this module keeps:

* Epochs and start offsets both grow from entry to entry. A new entry wins over older
  ones that contradict it, because it describes the batches that are there now.
* A new epoch is noted in memory; the append path does not wait for the disk, another
  thread writes the file soon after (``write_late``). Nothing is lost meanwhile as long as
  ``flush`` comes before the recovery point moves: recovery reads every batch behind the
  recovery point and assigns their epochs again.
* Whoever writes the file holds ``writing``, and a late write of entries that changed since
  does nothing. So the file never goes back to what it was.
* Forgetting entries that are on disk (the end of the log was cut off) writes at once.
  Otherwise they could come back after a crash and describe batches of a later leader.
"""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, NamedTuple

from moldau.storage.checkpoint import read_leader_epochs, write_leader_epochs
from moldau.storage.disk import Disk

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
        """Reads the file if there is one; not ``is_new``, which says that there is none.

        What it says may be older than the log: truncate both ends to the log's offsets.

        Raises:
            CorruptCheckpoint: the file is damaged.
        """
        self._disk = disk
        self.path = path
        self._epochs: list[int] = []
        self._start_offsets: list[int] = []
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
        """A batch of ``epoch`` begins at ``start_offset``.

        Does nothing, and says so, if the epoch is the latest one already. Entries that
        contradict the new one are forgotten.
        """
        assert min(epoch, start_offset) >= 0, f"epoch {epoch} cannot start at {start_offset}"
        if not self._assign_in_memory(epoch, start_offset):
            return False
        self._is_dirty = True
        if len(self._epochs) <= self._stored:
            self.flush()
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Where the batches of ``epoch`` end: the offset where a later epoch begins.

        If nothing was written in that epoch, the answer is about the largest one before it.
        An epoch older than everything here ends where the log begins. An epoch that is
        newer than everything here, or none, gives (-1, -1).
        """
        if epoch == NO_EPOCH or not self._epochs or epoch > self._epochs[-1]:
            return NO_EPOCH, NO_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, log_end_offset
        later = bisect_right(self._epochs, epoch)
        found_epoch = self._epochs[later - 1] if later else epoch
        return found_epoch, self._start_offsets[later]

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch that wrote ``offset``; -1 if it lies before everything known."""
        slot = bisect_right(self._start_offsets, offset) - 1
        return self._epochs[slot] if slot >= 0 else NO_EPOCH

    def truncate_from_start(self, start_offset: int) -> None:
        """The log begins at ``start_offset`` now. Written with the next flush."""
        slot = bisect_right(self._start_offsets, start_offset) - 1
        if slot < 0 or (slot == 0 and self._start_offsets[0] == start_offset):
            return
        del self._epochs[:slot]
        del self._start_offsets[:slot]
        self._start_offsets[0] = start_offset
        self._stored = max(self._stored - slot, 0)
        self._is_dirty = True

    def truncate_from_end(self, end_offset: int) -> None:
        """The log ends at ``end_offset`` now."""
        keep = bisect_left(self._start_offsets, end_offset)
        if keep < len(self._epochs):
            self._forget_from(keep)

    def clear(self) -> None:
        """Forget everything: the log starts afresh."""
        self._forget_from(0)

    def flush(self) -> None:
        """Everything durable in the file. Does nothing if nothing changed."""
        if self._is_dirty:
            self._changes += 1
            with self.writing:
                write_leader_epochs(self._disk, self.path, self.entries())
            self._stored = len(self._epochs)
            self._is_dirty = False

    def write_late(self) -> Callable[[], None]:
        """The work, for any thread, that writes the entries of now; it may raise OSError.

        It does nothing if other entries were written, or are about to be, by then. The
        entries still count as not stored: the next ``flush`` writes them once more.
        """
        self._changes += 1
        changes = self._changes
        entries = self.entries()

        def work() -> None:
            with self.writing:
                if changes == self._changes:
                    write_leader_epochs(self._disk, self.path, entries)

        return work

    def moved(self, path: str) -> None:
        """The file lies at ``path`` now, because its directory was renamed.

        The caller holds ``writing`` from before the rename on.
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
