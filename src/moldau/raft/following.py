"""How voters and observers replicate the log: by fetching from the leader, one request at a time.

A fetch acknowledges all that comes before its offset, so a replica that may count as a voter asks
for more only when what it has is on disk. If the leader does not answer, or is not known, any of
the bootstrap servers is asked instead: its answer names the leader (KAFKA-17030).
"""

from moldau.errors import ErrorCode
from moldau.raft.effects import (
    AppendRecords,
    AppendSnapshot,
    InstallSnapshot,
    Truncate,
)
from moldau.raft.leader_discovery import LeaderDiscovery
from moldau.raft.log_view import LogEnd, SnapshotId, truncation_offset
from moldau.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Peer,
    SnapshotInstalled,
)
from moldau.raft.quorum import Quorum
from moldau.raft.requests import FOREVER_MS
from moldau.raft.roles import Follower


class Following:
    def __init__(self, quorum: Quorum, discovery: LeaderDiscovery) -> None:
        self._quorum = quorum
        self._discovery = discovery

    # Requests

    @property
    def must_flush(self) -> bool:
        """An observer that may be added as a voter counts from one moment to the next."""
        return self._quorum.is_voter or self._quorum.config.can_become_voter

    def leader_peer(self) -> Peer | None:
        quorum = self._quorum
        return quorum.peer(quorum.state.leader_id, quorum.leader_endpoints)

    def poll_fetch(self, role: Follower, now_ms: int) -> int:
        """Fetch from the leader, or ask others while it does not answer."""
        quorum = self._quorum
        if not self._may_fetch():
            return FOREVER_MS
        requests = quorum.requests
        leader = self.leader_peer()
        if leader is None:
            return self.poll_bootstrap(now_ms)
        if requests.has_timed_out(leader.id, now_ms):
            requests.forget(leader.id)
            return self.poll_bootstrap(now_ms)
        if requests.is_backing_off(leader.id, now_ms):
            return min(requests.ready_ms(leader.id), self.poll_bootstrap(now_ms))
        if requests.any_in_flight(now_ms):
            return requests.first_change_ms(now_ms)
        snapshot_id = role.snapshot_id
        if snapshot_id is None:
            return quorum.send(leader, self._fetch, now_ms)[1]
        request = FetchSnapshotRequest(
            quorum.config.replica,
            quorum.epoch,
            snapshot_id,
            role.snapshot_position,
            quorum.config.fetch_snapshot_max_bytes,
        )
        return quorum.send(leader, lambda: request, now_ms)[1]

    def poll_bootstrap(self, now_ms: int) -> int:
        """Ask one of the bootstrap servers, unless a request is in flight."""
        quorum = self._quorum
        requests = quorum.requests
        if not self._may_fetch():
            return FOREVER_MS
        if requests.any_in_flight(now_ms):
            return requests.first_change_ms(now_ms)
        servers = self._bootstrap_servers()
        if not servers:
            return FOREVER_MS
        first = quorum.random_index(len(servers))
        for nth in range(len(servers)):
            server = servers[(first + nth) % len(servers)]
            if requests.is_ready(server.id, now_ms):
                return quorum.send(server, self._fetch, now_ms)[1]
        return requests.first_change_ms(now_ms)

    def _may_fetch(self) -> bool:
        quorum = self._quorum
        if self.must_flush:
            return quorum.is_on_disk
        return quorum.installing is None and not quorum.is_log_changing

    def _bootstrap_servers(self) -> list[Peer]:
        """The configured servers, else the voters; this node is not among them."""
        quorum = self._quorum
        own = [(endpoint.host, endpoint.port) for endpoint in quorum.config.endpoints]
        # Their node ids are not known. Kafka numbers them from -2 down.
        found: list[Peer | None] = [
            Peer(-2 - nth, host, port)
            for nth, (host, port) in enumerate(quorum.config.bootstrap_servers)
        ]
        if not found:
            found = [
                quorum.peer(voter, quorum.voters.endpoints(voter)) for voter in quorum.voters.ids
            ]
        return [
            peer
            for peer in found
            if peer is not None
            and peer.id != quorum.config.node_id
            and (peer.host, peer.port) not in own
        ]

    def _fetch(self) -> FetchRequest:
        quorum = self._quorum
        return FetchRequest(
            quorum.config.replica,
            quorum.epoch,
            quorum.log.end_offset,
            quorum.log.last_epoch,
            quorum.high_watermark,
            quorum.config.fetch_max_wait_ms,
            quorum.config.fetch_max_bytes,
        )

    # Responses

    def on_fetch_response(self, response: FetchResponse, now_ms: int) -> bool:
        handled = self._discovery.handle(response.error, response.leader, now_ms)
        if handled is not None:
            return handled
        role = self._quorum.role
        if response.error is not ErrorCode.NONE or not isinstance(role, Follower):
            return False
        if response.diverging is not None:
            self._truncate(response.diverging)
        elif response.snapshot_id is not None:
            if not self._begin_snapshot(role, response.snapshot_id):
                return False
        else:
            self._append(role, response)
        role.fetched(now_ms)
        return True

    def _truncate(self, diverging: LogEnd) -> None:
        quorum = self._quorum
        offset = truncation_offset(quorum.log, diverging)
        lowest = max(quorum.high_watermark, quorum.log.start_offset)
        assert offset >= lowest, (
            f"the leader {quorum.state.leader_id} of epoch {quorum.epoch} asks to truncate the log "
            f"to offset {offset}, but everything before {lowest} is committed"
        )
        quorum.flushed_end = min(quorum.flushed_end, offset)
        quorum.history.truncate(offset)
        quorum.is_log_changing = True
        quorum.emit(Truncate(offset))

    def _append(self, role: Follower, response: FetchResponse) -> None:
        quorum = self._quorum
        role.leader_high_watermark = max(role.leader_high_watermark, response.high_watermark)
        if response.records:
            quorum.is_log_changing = True
            quorum.emit(AppendRecords(response.records, self.must_flush))
        else:
            self.commit(role)

    def commit(self, role: Follower) -> None:
        """What the leader has committed is committed here as far as the log reaches."""
        quorum = self._quorum
        quorum.commit(min(role.leader_high_watermark, quorum.log.end_offset))

    # Snapshots

    def _begin_snapshot(self, role: Follower, snapshot_id: SnapshotId) -> bool:
        quorum = self._quorum
        if snapshot_id.end_offset < 0 or snapshot_id.epoch < 0:
            return False
        assert snapshot_id.end_offset >= quorum.high_watermark, (
            f"the leader {quorum.state.leader_id} of epoch {quorum.epoch} sends to {snapshot_id}, "
            f"but everything before {quorum.high_watermark} is committed"
        )
        if quorum.log.snapshot_size_bytes(snapshot_id) is None:
            role.snapshot_id = snapshot_id
            role.snapshot_position = 0
        return True

    def on_snapshot_response(self, response: FetchSnapshotResponse, now_ms: int) -> bool:
        handled = self._discovery.handle(response.error, response.leader, now_ms)
        if handled is not None:
            return handled
        quorum = self._quorum
        role = quorum.role
        if not isinstance(role, Follower):
            return False
        is_gone = response.error is ErrorCode.SNAPSHOT_NOT_FOUND
        if is_gone or (response.error is ErrorCode.NONE and response.snapshot_id is None):
            # The leader has deleted it in the meantime; the next fetch names a newer one.
            role.snapshot_id = None
            role.fetched(now_ms)
            return True
        if response.error is not ErrorCode.NONE or role.snapshot_id is None:
            return False
        expected = (role.snapshot_id, role.snapshot_position)
        if (response.snapshot_id, response.position) != expected:
            role.snapshot_id = None
            return False
        if not response.data and response.position < response.size_bytes:
            return False
        quorum.emit(AppendSnapshot(role.snapshot_id, response.position, response.data))
        role.snapshot_position += len(response.data)
        if role.snapshot_position >= response.size_bytes:
            quorum.installing = role.snapshot_id
            role.snapshot_id = None
            quorum.emit(InstallSnapshot(quorum.installing))
        role.fetched(now_ms)
        return True

    def on_snapshot_installed(self, report: SnapshotInstalled) -> None:
        quorum = self._quorum
        snapshot_id = report.snapshot_id
        assert snapshot_id == quorum.installing, (snapshot_id, quorum.installing)
        quorum.installing = None
        quorum.flushed_end = quorum.log.end_offset
        quorum.history.reset(snapshot_id.end_offset - 1, report.kraft_version, report.voters)
        quorum.commit(snapshot_id.end_offset)
