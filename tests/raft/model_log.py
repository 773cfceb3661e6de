"""A log in memory, which knows what a crash would leave of it."""

from bisect import bisect_right
from typing import NamedTuple

from moldau.raft.log_view import LogEnd, SnapshotId
from moldau.raft.voters import VoterSet


class Entry(NamedTuple):
    """One record: a number of a client, the voters, or a kraft.version."""

    epoch: int
    number: int = 0
    voters: VoterSet | None = None
    kraft_version: int | None = None


class Snapshot(NamedTuple):
    snapshot_id: SnapshotId
    kraft_version: int
    voters: VoterSet | None


class ModelLog:
    """Implements ``LogView``. Entries at and above ``flushed`` may be lost in a crash."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.start_offset = 0
        self.flushed = 0
        self.snapshots: dict[SnapshotId, Snapshot] = {}

    @property
    def end_offset(self) -> int:
        return self.start_offset + len(self.entries)

    @property
    def last_epoch(self) -> int:
        if self.entries:
            return self.entries[-1].epoch
        latest = self.latest_snapshot
        return 0 if latest is None else latest.epoch

    @property
    def earliest_snapshot(self) -> SnapshotId | None:
        return min(self.snapshots, default=None)

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return max(self.snapshots, default=None)

    def snapshot_size_bytes(self, snapshot_id: SnapshotId) -> int | None:
        return 100 if snapshot_id in self.snapshots else None

    def end_offset_for_epoch(self, epoch: int) -> LogEnd:
        entries = self.entries
        if not entries or epoch > entries[-1].epoch:
            return LogEnd(self.last_epoch, self.end_offset)
        later = bisect_right(entries, epoch, key=lambda entry: entry.epoch)
        found = entries[later - 1].epoch if later else epoch
        return LogEnd(found, self.start_offset + later)

    def entry(self, offset: int) -> Entry:
        return self.entries[offset - self.start_offset]

    def append(self, entry: Entry) -> int:
        assert entry.epoch >= self.last_epoch, (entry, self.last_epoch)
        self.entries.append(entry)
        return self.end_offset - 1

    def truncate(self, end_offset: int) -> None:
        assert end_offset >= self.start_offset, (end_offset, self.start_offset)
        del self.entries[end_offset - self.start_offset :]
        self.flushed = min(self.flushed, end_offset)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, and delete the log before it."""
        self.snapshots = {snapshot.snapshot_id: snapshot}
        end_offset = snapshot.snapshot_id.end_offset
        del self.entries[: end_offset - self.start_offset]
        self.start_offset = end_offset
        self.flushed = max(self.flushed, end_offset)

    def restart_at(self, snapshot: Snapshot) -> None:
        """Replace the log by a snapshot of another node."""
        self.entries = []
        self.snapshots = {snapshot.snapshot_id: snapshot}
        self.start_offset = self.flushed = snapshot.snapshot_id.end_offset
