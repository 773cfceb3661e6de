"""Performs what the raft node wants done with the metadata log and its snapshots."""

import logging
from collections.abc import Callable
from typing import Final

from moldau.broker.leader_change import ControlRecord, leader_change, voters_written_down
from moldau.broker.quorum_store import QuorumStore
from moldau.clock import Clock
from moldau.errors import ApiError
from moldau.protocol.file_region import FileRegion, Part
from moldau.raft import effects as do
from moldau.raft import messages as say
from moldau.raft.log_view import SnapshotId
from moldau.record.control import control_batch
from moldau.timers import call_after

logger = logging.getLogger(__name__)

# After records of the leader could not be written, as on a full disk.
RETRY_APPEND_MS: Final = 1_000


class QuorumLogChanges:
    """Changes the log, and reports each change."""

    def __init__(
        self,
        node_id: int,
        store: QuorumStore,
        clock: Clock,
        request_flush: Callable[[], None],
        report: Callable[[say.Message], None],
    ) -> None:
        self._node_id = node_id
        self._store = store
        self._clock = clock
        self._request_flush = request_flush
        self._report = report

    def append(self, batches: bytes | memoryview, *, must_flush: bool = True) -> int:
        """Append batches that have their offsets and epochs; returns the first offset."""
        offset, changes = self._store.append(batches)
        if must_flush:
            self._request_flush()
        self._report(say.LogAppended(changes))
        return offset

    def perform(self, effect: do.Effect) -> None:
        if isinstance(effect, do.AppendRecords):
            self._append_fetched(effect)
        elif isinstance(effect, do.AppendLeaderChange):
            records = [leader_change(self._node_id, effect.voters, effect.granting_voters)]
            if effect.voter_set is not None:
                records += voters_written_down(effect.kraft_version, effect.voter_set)
            self._append_control(records, effect.leader_epoch)
        elif isinstance(effect, do.AppendVoters):
            records = voters_written_down(effect.kraft_version, effect.voter_set)
            self._append_control(records, effect.leader_epoch)
        elif isinstance(effect, do.Truncate):
            self._store.log.truncate_to(effect.end_offset)
            self._report(say.LogTruncated())
        else:
            assert isinstance(effect, do.AppendSnapshot), effect
            data = _in_memory(effect.data)
            self._store.snapshots.append_part(effect.snapshot_id, effect.position, data)

    def _append_fetched(self, effect: do.AppendRecords) -> None:
        records = _in_memory(effect.records)
        end_offset = self._store.log.log_end_offset
        try:
            self.append(records, must_flush=effect.must_flush)
        except ApiError as error:
            logger.error("records of the leader were not written: %s", error)
            if self._store.log.log_end_offset > end_offset:
                # Some were. They count, and nothing is fetched before they are on the device.
                if effect.must_flush:
                    self._request_flush()
                self._report(say.LogAppended(self._store.changes_in(records)))
                return
            # Not at once: the same would be fetched again.
            call_after(RETRY_APPEND_MS, self._report, say.LogAppended())

    def _append_control(self, records: list[ControlRecord], epoch: int) -> None:
        end_offset = self._store.log.log_end_offset
        wall_ms = self._clock.wall_ms()
        self.append(control_batch(records, wall_ms, base_offset=end_offset, leader_epoch=epoch))

    def install_snapshot(self, snapshot: SnapshotId) -> None:
        """A fetched snapshot is complete: let it replace the log."""
        control = self._store.install_snapshot(snapshot)
        self._report(say.SnapshotInstalled(snapshot, control.kraft_version, control.voters))

    # Answers to other nodes

    def with_records(self, effect: do.ReplyRecords) -> say.FetchResponse:
        """The response with the records, as they lie in the log."""
        end_offset = self._store.log.log_end_offset
        records = self._store.read(effect.offset, end_offset, effect.max_bytes)
        return effect.response._replace(records=records)

    def with_data(self, effect: do.ReplySnapshot) -> say.FetchSnapshotResponse:
        """The response with a part of the file of a snapshot."""
        response = effect.response
        assert response.snapshot_id is not None
        snapshots = self._store.snapshots
        data = snapshots.read(response.snapshot_id, response.position, effect.max_bytes)
        return response._replace(data=data)


def _in_memory(part: Part) -> bytes | memoryview:
    """What another node has sent."""
    assert not isinstance(part, FileRegion)
    return part
