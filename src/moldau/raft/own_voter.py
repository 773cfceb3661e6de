"""What a follower asks the leader about its own place among the voters (KIP-853).

A voter whose addresses or versions changed sends UpdateRaftVoter. With
``controller.quorum.auto.join.enable`` an observer that may vote adds itself, and before that
removes the voter of its id that had another directory.
"""

from moldau.errors import ErrorCode
from moldau.raft.leader_discovery import LeaderDiscovery
from moldau.raft.messages import (
    AddVoterRequest,
    AddVoterResponse,
    Peer,
    RemoveVoterRequest,
    RemoveVoterResponse,
    ReplicaKey,
    Request,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from moldau.raft.quorum import Quorum
from moldau.raft.roles import Follower

# The change is done, or the leader is busy with another one: either way there is time.
_DONE_OR_BUSY = (
    ErrorCode.NONE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.DUPLICATE_VOTER,
    ErrorCode.VOTER_NOT_FOUND,
)


class OwnVoter:
    def __init__(self, quorum: Quorum, discovery: LeaderDiscovery) -> None:
        self._quorum = quorum
        self._discovery = discovery

    def wanted(self, role: Follower, now_ms: int) -> Request | None:
        """The request that is due; None if the leader's voters are right as they are."""
        quorum = self._quorum
        if now_ms < role.update_voter_ms:
            return None
        if quorum.is_voter:
            return self._update(role)
        config = quorum.config
        may_join = config.auto_join and config.can_become_voter
        if not may_join or quorum.history.kraft_version == 0:
            return None
        old = quorum.voters.voters.get(config.node_id)
        if old is not None:
            return RemoveVoterRequest(ReplicaKey(old.id, old.directory_id))
        return AddVoterRequest(config.replica, config.endpoints, ack_when_committed=False)

    def _update(self, role: Follower) -> Request | None:
        quorum = self._quorum
        if quorum.history.kraft_version > 0:
            known = quorum.voters.voters[quorum.config.node_id]
            is_due = not known.is_same(quorum.local_voter)
        else:
            # Nothing is written: every new leader has to be told, for the upgrade of the version.
            is_due = not role.has_updated_leader
        if not is_due:
            return None
        own = quorum.local_voter
        return UpdateVoterRequest(
            quorum.epoch,
            quorum.config.replica,
            own.endpoints,
            own.min_kraft_version,
            own.max_kraft_version,
        )

    def poll(self, role: Follower, leader: Peer, request: Request, now_ms: int) -> int:
        is_sent, next_ms = self._quorum.send(leader, lambda: request, now_ms)
        if is_sent:
            role.updated_voter(now_ms)
        return next_ms

    def on_update_response(self, response: UpdateVoterResponse, now_ms: int) -> bool:
        handled = self._discovery.handle(response.error, response.leader, now_ms)
        if handled is not None:
            return handled
        role = self._quorum.role
        is_told = response.error in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION)
        if is_told and isinstance(role, Follower):
            role.has_updated_leader = True
            role.fetched(now_ms)
        return is_told

    def on_update_failed(self, error: ErrorCode) -> bool:
        """An old leader does not know the request: it need not be asked again."""
        role = self._quorum.role
        is_told = error is ErrorCode.UNSUPPORTED_VERSION
        if is_told and isinstance(role, Follower):
            role.has_updated_leader = True
        return is_told

    def on_change_response(
        self, response: AddVoterResponse | RemoveVoterResponse, now_ms: int
    ) -> bool:
        role = self._quorum.role
        if response.error not in _DONE_OR_BUSY:
            return False
        if isinstance(role, Follower):
            role.updated_voter(now_ms)
        return True
