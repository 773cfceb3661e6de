"""The metadata log as the raft machine sees it."""

from moldau.broker.quorum_store import QuorumStore
from moldau.raft.log_view import LogEnd, SnapshotId


class QuorumLogView:
    """Implements ``LogView``."""

    def __init__(self, store: QuorumStore) -> None:
        self._log = store.log
        self._snapshots = store.snapshots

    @property
    def start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def last_epoch(self) -> int:
        epoch = self._log.leader_epochs.latest_epoch
        latest = self._snapshots.latest
        return max(epoch, 0 if latest is None else latest.epoch)

    @property
    def earliest_snapshot(self) -> SnapshotId | None:
        return self._snapshots.earliest

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return self._snapshots.latest

    def snapshot_size_bytes(self, snapshot_id: SnapshotId) -> int | None:
        return self._snapshots.size_bytes(snapshot_id)

    def end_offset_for_epoch(self, epoch: int) -> LogEnd:
        found, offset = self._log.leader_epochs.end_offset_for(epoch, self.end_offset)
        if found < 0:
            return LogEnd(self.last_epoch, self.end_offset)
        return LogEnd(found, offset)
