"""What the leader does: it serves fetches and snapshots, and commits.

A fetch is answered when there is something to say: records, a new high watermark, an order to
truncate or to fetch a snapshot. Otherwise it waits, at most as long as it asked for.
"""

from moldau.errors import ErrorCode
from moldau.raft.effects import Reply, ReplyRecords, ReplySnapshot
from moldau.raft.leader import Leader, ParkedFetch
from moldau.raft.log_view import BOOTSTRAP_SNAPSHOT, LogEnd, SnapshotId, diverging_end
from moldau.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    ReplicaKey,
)
from moldau.raft.quorum import Quorum
from moldau.raft.requests import FOREVER_MS
from moldau.raft.voter_changes import VoterChanges


class Leading:
    def __init__(self, quorum: Quorum, changes: VoterChanges) -> None:
        self._quorum = quorum
        self._changes = changes

    # Fetch

    def on_fetch_request(self, reply_to: int, request: FetchRequest, now_ms: int) -> None:
        quorum = self._quorum
        is_invalid = (
            request.max_wait_ms < 0
            or request.fetch_offset < 0
            or request.last_fetched_epoch < 0
            or request.last_fetched_epoch > request.leader_epoch
        )
        if is_invalid:
            self._refuse_fetch(reply_to, ErrorCode.INVALID_REQUEST)
            return
        error = quorum.check_leader(request.leader_epoch)
        leader = quorum.role
        if error is not ErrorCode.NONE or not isinstance(leader, Leader):
            self._refuse_fetch(reply_to, error)
            return
        if request.replica.id == quorum.config.node_id or request.max_bytes < 0:
            self._refuse_fetch(reply_to, ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        parked = ParkedFetch(reply_to, request, now_ms + request.max_wait_ms)
        end = diverging_end(quorum.log, request.fetch_offset, request.last_fetched_epoch)
        if end is None:
            # Only a log that is a prefix of the leader's counts as progress.
            log_end = quorum.log.end_offset
            if leader.fetched(request.replica, request.fetch_offset, log_end, now_ms):
                self._advanced(leader, now_ms)
        if not self._answer(leader, parked, now_ms, is_due=False):
            leader.parked.append(parked)

    def _refuse_fetch(self, reply_to: int, error: ErrorCode) -> None:
        quorum = self._quorum
        response = FetchResponse(error, quorum.current_leader, -1, quorum.log.start_offset)
        quorum.emit(Reply(reply_to, response))

    def _answer(self, leader: Leader, parked: ParkedFetch, now_ms: int, is_due: bool) -> bool:
        """Answer a fetch, unless there is no news and it can wait; returns whether it did."""
        quorum = self._quorum
        request, log = parked.request, quorum.log
        end = diverging_end(log, request.fetch_offset, request.last_fetched_epoch)
        response = FetchResponse(
            ErrorCode.NONE,
            quorum.current_leader,
            leader.high_watermark,
            log.start_offset,
            end if isinstance(end, LogEnd) else None,
            end if isinstance(end, SnapshotId) else None,
        )
        if end is None and request.fetch_offset < log.end_offset:
            quorum.emit(
                ReplyRecords(parked.reply_to, response, request.fetch_offset, request.max_bytes)
            )
            return True
        has_news = end is not None or request.high_watermark < leader.high_watermark
        if has_news or is_due or now_ms >= parked.expires_ms:
            quorum.emit(Reply(parked.reply_to, response))
            return True
        return False

    def _answer_parked(self, leader: Leader, now_ms: int, *, all_due: bool = False) -> None:
        parked, leader.parked = leader.parked, []
        for each in parked:
            if not self._answer(leader, each, now_ms, is_due=all_due):
                leader.parked.append(each)

    # Snapshots

    def on_snapshot_request(
        self, reply_to: int, request: FetchSnapshotRequest, now_ms: int
    ) -> None:
        quorum = self._quorum
        error = quorum.check_leader(request.leader_epoch)
        size_bytes = quorum.log.snapshot_size_bytes(request.snapshot_id)
        if error is ErrorCode.NONE:
            if size_bytes is None or request.snapshot_id == BOOTSTRAP_SNAPSHOT:
                error = ErrorCode.SNAPSHOT_NOT_FOUND
            elif not 0 <= request.position < size_bytes:
                error = ErrorCode.POSITION_OUT_OF_RANGE
            elif request.max_bytes < 0:
                error = ErrorCode.UNKNOWN_SERVER_ERROR
        leader = quorum.role
        if error is not ErrorCode.NONE or size_bytes is None or not isinstance(leader, Leader):
            quorum.emit(Reply(reply_to, FetchSnapshotResponse(error, quorum.current_leader)))
            return
        leader.follows(request.replica, now_ms)
        response = FetchSnapshotResponse(
            ErrorCode.NONE,
            quorum.current_leader,
            request.snapshot_id,
            size_bytes,
            request.position,
        )
        quorum.emit(ReplySnapshot(reply_to, response, request.max_bytes))

    # The own log

    def on_appended(self, leader: Leader, has_new_voters: bool, now_ms: int) -> None:
        if has_new_voters and leader.change_voters(self._quorum.voters, now_ms):
            self._advanced(leader, now_ms)
        self._answer_parked(leader, now_ms)

    def on_flushed(self, leader: Leader, now_ms: int) -> None:
        if leader.flushed(self._quorum.flushed_end):
            self._advanced(leader, now_ms)

    def _advanced(self, leader: Leader, now_ms: int) -> None:
        """More is committed: tell the listeners, and all replicas that wait."""
        self._quorum.commit(leader.high_watermark)
        self._changes.on_committed(leader)
        self._answer_parked(leader, now_ms, all_due=True)

    # Timers

    def poll(self, leader: Leader, now_ms: int) -> int:
        quorum = self._quorum
        is_cut_off = now_ms >= leader.check_quorum_ms
        if quorum.is_shutting_down or leader.is_resigning or is_cut_off:
            quorum.to_resigned(leader.successors(), now_ms)
            return now_ms
        if any(now_ms >= parked.expires_ms for parked in leader.parked):
            self._answer_parked(leader, now_ms)
        next_ms = min(leader.check_quorum_ms, self._changes.poll(leader, now_ms))
        for parked in leader.parked:
            next_ms = min(next_ms, parked.expires_ms)
        return min(next_ms, self._poll_begin(leader, now_ms))

    def _poll_begin(self, leader: Leader, now_ms: int) -> int:
        """Announce the epoch to voters that have not fetched, again and again."""
        quorum = self._quorum
        if len(leader.voters) == 1 and quorum.is_voter:
            return FOREVER_MS
        if now_ms >= leader.begin_ms:
            for voter in leader.silent_voters(now_ms):
                self._begin(voter, now_ms)
            leader.began(now_ms)
        return leader.begin_ms

    def _begin(self, voter: ReplicaKey, now_ms: int) -> None:
        quorum = self._quorum
        peer = quorum.peer(voter.id, quorum.voters.endpoints(voter.id))
        if peer is not None:
            request = BeginQuorumEpochRequest(quorum.current_leader, voter)
            quorum.send(peer, lambda: request, now_ms)
