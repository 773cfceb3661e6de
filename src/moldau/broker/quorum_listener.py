"""What the metadata quorum reports to the parts of a node."""

from moldau.raft.log_view import SnapshotId


class QuorumListener:
    """What the quorum reports. A subclass overrides what it wants to know."""

    def on_snapshot(self, snapshot: SnapshotId) -> None:
        """The log starts where ``snapshot`` ends."""

    def on_committed(self, high_watermark: int) -> None:
        """Everything before ``high_watermark`` is committed."""

    def on_leader_change(self, leader_id: int, leader_epoch: int) -> None:
        """The leader or the epoch changed; ``leader_id`` is -1 if there is no leader."""

    def on_failure(self, error: BaseException) -> None:
        """The log failed: nothing will be appended or committed any more."""
