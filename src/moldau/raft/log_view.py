"""What the quorum knows about its log, and what follows from it.

``LogView`` has only facts that are in memory: the machine reads them at any time and expects them
to be up to date, so the driver performs all effects of one step before it calls the next.
"""

from typing import Final, NamedTuple, Protocol


class LogEnd(NamedTuple):
    """A position in the log. Ordered as Raft orders logs: by epoch, then by length."""

    epoch: int
    offset: int


class SnapshotId(NamedTuple):
    """The log end that a snapshot represents: the next offset, and the last epoch."""

    end_offset: int
    epoch: int


# The snapshot that a directory is formatted with. It is not replicated: the first leader writes
# its contents to the log.
BOOTSTRAP_SNAPSHOT: Final = SnapshotId(0, 0)


class LogView(Protocol):
    """The metadata log of this node, with what is written but not yet flushed."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, or of the snapshot that replaced it; 0 without either."""
        ...

    @property
    def earliest_snapshot(self) -> SnapshotId | None: ...

    @property
    def latest_snapshot(self) -> SnapshotId | None: ...

    def snapshot_size_bytes(self, snapshot_id: SnapshotId) -> int | None:
        """The size of a complete snapshot; None if there is no such snapshot."""
        ...

    def end_offset_for_epoch(self, epoch: int) -> LogEnd:
        """The largest epoch that is not larger than ``epoch``, and where it ends.

        If ``epoch`` is larger than all epochs of the log, the end of the log. If it is smaller
        than all, ``epoch`` itself and the start of the log.
        """
        ...


def log_end(log: LogView) -> LogEnd:
    return LogEnd(log.last_epoch, log.end_offset)


def diverging_end(log: LogView, offset: int, epoch: int) -> LogEnd | SnapshotId | None:
    """Where the log of a replica that ends at ``offset`` in ``epoch`` leaves this one.

    None if it is a prefix of this log, the snapshot to fetch if this log no longer reaches back
    far enough to say, else the end of the epoch they have in common.
    """
    latest = log.latest_snapshot
    if offset == 0 and latest is not None and latest != BOOTSTRAP_SNAPSHOT:
        # An empty log is filled faster by a snapshot than by the records it replaces.
        return latest
    if offset == 0 and log.start_offset == 0:
        return None
    earliest = log.earliest_snapshot
    if earliest is not None and latest is not None:
        is_cut = offset < log.start_offset
        is_other_start = offset == log.start_offset and epoch != earliest.epoch
        if is_cut or is_other_start or epoch < earliest.epoch:
            return latest
    end = _end_of_epoch(log, epoch)
    if end.epoch != epoch or end.offset < offset:
        return end
    return None


def truncation_offset(log: LogView, diverging: LogEnd) -> int:
    """Where to cut this log, if the leader's log ends ``diverging.epoch`` at that offset."""
    if diverging.epoch == 0:
        return min(diverging.offset, log.end_offset)
    end = _end_of_epoch(log, diverging.epoch)
    if end.epoch == diverging.epoch:
        return min(end.offset, diverging.offset)
    return end.offset


def _end_of_epoch(log: LogView, epoch: int) -> LogEnd:
    end = log.end_offset_for_epoch(epoch)
    earliest = log.earliest_snapshot
    if earliest is not None and end == (epoch, earliest.end_offset):
        # Everything of this epoch is in the snapshot, which knows the real epoch.
        return LogEnd(earliest.epoch, earliest.end_offset)
    return end
