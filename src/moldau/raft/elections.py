"""Elections: votes, the beginning and the end of an epoch.

A voter that loses its leader first asks whether it would be elected (Prospective, KIP-996). Only
with a majority of such answers does it raise the epoch and ask for votes (Candidate), so that a
node that was cut off does not disturb a working leader when it comes back (KAFKA-18345).

A voter need not wait for the timeout if the leader has evidently gone. That only this voter may
think so does no harm, because of the pre-vote: the others do not grant it to anybody while they
have a leader.
"""

from typing import Final

from moldau.errors import ErrorCode
from moldau.raft.leader_discovery import LeaderDiscovery
from moldau.raft.log_view import log_end
from moldau.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    LeaderGone,
    Peer,
    ReplicaKey,
    VoteRequest,
    VoteResponse,
)
from moldau.raft.quorum import Quorum
from moldau.raft.quorum_state import NO_NODE
from moldau.raft.requests import FOREVER_MS
from moldau.raft.roles import Candidate, Follower, Prospective, Resigned, Unattached

# All voters notice at once that the leader has gone. One after the other, they do not compete.
TURN_MS: Final = 150


class Elections:
    def __init__(self, quorum: Quorum, discovery: LeaderDiscovery) -> None:
        self._quorum = quorum
        self._discovery = discovery

    # Requests

    def on_vote_request(self, request: VoteRequest, now_ms: int) -> VoteResponse:
        """Grant or refuse a vote. The vote is persisted before the answer is sent."""
        quorum = self._quorum
        end = request.log_end
        if request.is_pre_vote:
            is_valid = end.epoch <= request.candidate_epoch
        else:
            # A candidate raised the epoch: it cannot have records of it yet.
            is_valid = end.epoch < request.candidate_epoch
        if end.offset < 0 or end.epoch < 0 or not is_valid:
            return self._vote(ErrorCode.INVALID_REQUEST)
        error = self._check(request.candidate.id, request.candidate_epoch)
        if error is not ErrorCode.NONE:
            return self._vote(error)
        if request.candidate_epoch > quorum.epoch:
            quorum.to_unattached(request.candidate_epoch, NO_NODE, now_ms)
        if not self._is_meant(request.voter):
            return self._vote(ErrorCode.INVALID_VOTER_KEY)
        is_up_to_date = end >= log_end(quorum.log)
        is_granted = quorum.role.may_grant(
            quorum.state, request.candidate, is_up_to_date, request.is_pre_vote
        )
        if is_granted and not request.is_pre_vote and quorum.state.voted_id == NO_NODE:
            quorum.vote(request.candidate, now_ms)
        return self._vote(ErrorCode.NONE, is_granted)

    def on_begin_request(
        self, request: BeginQuorumEpochRequest, now_ms: int
    ) -> BeginQuorumEpochResponse:
        quorum = self._quorum
        error = self._check(request.leader.id, request.leader.epoch)
        if error is ErrorCode.NONE:
            self._discovery.observe(request.leader, now_ms)
            if not self._is_meant(request.voter):
                error = ErrorCode.INVALID_VOTER_KEY
        return BeginQuorumEpochResponse(error, quorum.current_leader)

    def on_end_request(self, request: EndQuorumEpochRequest, now_ms: int) -> EndQuorumEpochResponse:
        quorum = self._quorum
        error = self._check(request.leader.id, request.leader.epoch)
        if error is ErrorCode.NONE:
            self._discovery.observe(request.leader, now_ms)
            role = quorum.role
            if isinstance(role, Follower) and quorum.state.leader_id == request.leader.id:
                role.fetch_expires_ms = now_ms + self._backoff_ms(request.preferred_successors)
        return EndQuorumEpochResponse(error, quorum.current_leader)

    def on_leader_gone(self, report: LeaderGone, now_ms: int) -> None:
        """Grant pre-votes from now on, and stand in turn, in the order of the voters' ids."""
        quorum = self._quorum
        role = quorum.role
        known = (quorum.state.leader_id, quorum.epoch)
        if isinstance(role, Follower) and known == (report.leader_id, report.leader_epoch):
            role.has_fetched = False
            rivals = [
                each
                for each in quorum.voters.ids
                if each < quorum.config.node_id and each != report.leader_id
            ]
            role.fetch_expires_ms = min(role.fetch_expires_ms, now_ms + len(rivals) * TURN_MS)

    def _check(self, node_id: int, epoch: int) -> ErrorCode:
        if epoch < self._quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.INVALID_REQUEST if node_id < 0 else ErrorCode.NONE

    def _is_meant(self, voter: ReplicaKey | None) -> bool:
        """Whether a request was sent to this replica, and not to one of the same address."""
        if voter is None:
            return True
        replica = self._quorum.config.replica
        return voter in (replica, ReplicaKey(replica.id))

    def _vote(self, error: ErrorCode, is_granted: bool = False) -> VoteResponse:
        return VoteResponse(error, self._quorum.current_leader, is_granted)

    def _backoff_ms(self, successors: tuple[ReplicaKey, ...]) -> int:
        """The first successor stands at once, each further one waits twice as long."""
        longest_ms = self._quorum.config.election_backoff_max_ms
        replica = self._quorum.config.replica
        for position, successor in enumerate(successors):
            if successor in (replica, ReplicaKey(replica.id)):
                if position == 0:
                    return 0
                base_ms = longest_ms >> (len(successors) - 1)
                return min(longest_ms, base_ms << (position - 1))
        return longest_ms if successors else 0

    # Responses

    def on_vote_response(self, peer: Peer, response: VoteResponse, now_ms: int) -> bool:
        handled = self._discovery.handle(response.error, response.leader, now_ms)
        if handled is not None:
            return handled
        if response.error is not ErrorCode.NONE:
            return False
        role = self._quorum.role
        if isinstance(role, Prospective):
            role.votes.record(peer.id, response.is_granted)
            if role.votes.is_won:
                self._quorum.to_candidate(now_ms)
            elif role.votes.is_lost:
                self._give_up(role, now_ms)
        elif isinstance(role, Candidate):
            role.votes.record(peer.id, response.is_granted)
            if role.votes.is_won:
                self._quorum.to_leader(now_ms)
        return True

    def on_vote_failed(self, error: ErrorCode, now_ms: int) -> bool:
        """A voter without pre-votes is asked for a vote right away."""
        is_old = error is ErrorCode.UNSUPPORTED_VERSION
        if is_old and isinstance(self._quorum.role, Prospective):
            self._quorum.to_candidate(now_ms)
            return True
        return False

    def on_begin_response(self, response: BeginQuorumEpochResponse, now_ms: int) -> bool:
        handled = self._discovery.handle(response.error, response.leader, now_ms)
        return response.error is ErrorCode.NONE if handled is None else handled

    def on_end_response(self, peer: Peer, response: EndQuorumEpochResponse, now_ms: int) -> bool:
        handled = self._discovery.handle(response.error, response.leader, now_ms)
        if handled is not None:
            return handled
        role = self._quorum.role
        if response.error is ErrorCode.NONE and isinstance(role, Resigned):
            role.unacknowledged.pop(peer.id, None)
            return True
        return False

    # Timers. Each returns when it is next due.

    def poll_election_timer(self, role: Unattached, now_ms: int) -> int:
        """An unattached voter stands when its timeout is over and its log is on disk."""
        quorum = self._quorum
        if not quorum.may_stand or quorum.is_shutting_down:
            return FOREVER_MS
        if now_ms < role.election_ms:
            return role.election_ms
        if not quorum.is_on_disk:
            return FOREVER_MS
        quorum.to_prospective(now_ms)
        return now_ms

    def poll_nominee(self, role: Prospective | Candidate, now_ms: int) -> int:
        quorum = self._quorum
        if now_ms >= role.election_ms and not quorum.is_shutting_down:
            if isinstance(role, Prospective):
                self._give_up(role, now_ms)
            else:
                quorum.to_prospective(now_ms)
            return now_ms
        next_ms = FOREVER_MS if quorum.is_shutting_down else role.election_ms
        if not role.votes.is_lost:
            is_pre_vote = isinstance(role, Prospective)
            for voter_id in role.votes.missing:
                next_ms = min(next_ms, self._ask_for_vote(voter_id, is_pre_vote, now_ms))
        return next_ms

    def _ask_for_vote(self, voter_id: int, is_pre_vote: bool, now_ms: int) -> int:
        quorum = self._quorum
        peer = quorum.peer(voter_id, quorum.voters.endpoints(voter_id))
        if peer is None:
            return FOREVER_MS
        voter = ReplicaKey(voter_id, quorum.voters.voters[voter_id].directory_id)
        request = VoteRequest(
            quorum.config.replica, quorum.epoch, log_end(quorum.log), voter, is_pre_vote
        )
        return quorum.send(peer, lambda: request, now_ms)[1]

    def _give_up(self, role: Prospective, now_ms: int) -> None:
        """Back to the leader that is still known, or wait for the next election."""
        quorum = self._quorum
        leader = quorum.current_leader
        if leader.endpoints and leader.id != quorum.config.node_id:
            quorum.to_follower(leader, now_ms)
        else:
            quorum.to_unattached(quorum.epoch, leader.id, now_ms)

    def poll_resigned(self, role: Resigned, now_ms: int) -> int:
        """Tell the voters, and give them the time of an election.

        After that the epoch is raised: in the old one this node is still called the leader.
        """
        quorum = self._quorum
        next_ms = FOREVER_MS
        if not quorum.is_shutting_down:
            if now_ms >= role.election_ms:
                quorum.to_unattached(quorum.epoch + 1, NO_NODE, now_ms)
                return now_ms
            next_ms = role.election_ms
        request = EndQuorumEpochRequest(quorum.current_leader, role.preferred_successors)
        for voter_id in role.unacknowledged:
            peer = quorum.peer(voter_id, quorum.voters.endpoints(voter_id))
            if peer is not None:
                next_ms = min(next_ms, quorum.send(peer, lambda: request, now_ms)[1])
        return next_ms
