"""How a node learns of epochs and leaders: from every request and response (KIP-595)."""

from moldau.errors import ErrorCode
from moldau.raft.messages import CurrentLeader
from moldau.raft.quorum import Quorum
from moldau.raft.quorum_state import NO_NODE

_STALE = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class LeaderDiscovery:
    def __init__(self, quorum: Quorum) -> None:
        self._quorum = quorum

    def known(self, leader: CurrentLeader) -> CurrentLeader:
        """The leader with its addresses, those of the voters if the message has none."""
        if leader.id == NO_NODE or leader.endpoints:
            return leader
        return leader._replace(endpoints=self._quorum.voters.endpoints(leader.id))

    def observe(self, leader: CurrentLeader, now_ms: int) -> None:
        """Another node has this view; it is at least as new as ours."""
        quorum = self._quorum
        leader = self.known(leader)
        if leader.id == quorum.config.node_id:
            # Either the own view, or that of a time before this node lost its disk: the others
            # will elect another leader, because this one does not answer.
            return
        if leader.epoch == quorum.epoch and leader.id != NO_NODE and quorum.has_leader:
            assert leader.id == quorum.state.leader_id, (
                f"epoch {leader.epoch} has two leaders: {quorum.state.leader_id} and {leader.id}"
            )
        if leader.epoch > quorum.epoch:
            if leader.endpoints:
                quorum.to_follower(leader, now_ms)
            else:
                quorum.to_unattached(leader.epoch, NO_NODE, now_ms)
        elif leader.endpoints:
            is_better = len(leader.endpoints) > len(quorum.leader_endpoints)
            if not quorum.has_leader or is_better:
                quorum.to_follower(leader, now_ms)

    def handle(self, error: ErrorCode, leader: CurrentLeader, now_ms: int) -> bool | None:
        """What all responses have in common.

        None if the response is for the current epoch and its own handler goes on; else whether
        the node that sent it can be asked again at once.
        """
        quorum = self._quorum
        if leader.epoch < quorum.epoch or error is ErrorCode.UNKNOWN_LEADER_EPOCH:
            # A node that has not heard of the epoch would say so again.
            return error is ErrorCode.NONE
        if leader.epoch > quorum.epoch or error in _STALE:
            before = quorum.role
            self.observe(leader, now_ms)
            # Without news the answer would be the same: pause before the next question.
            return quorum.role is not before or error is ErrorCode.NONE
        if leader.id != NO_NODE and not (quorum.has_leader and quorum.leader_endpoints):
            # Also if only its address was missing. The response itself may be of use, then: an
            # observer finds the leader and gets its records at once.
            self.observe(leader, now_ms)
            return None if error is ErrorCode.NONE else True
        if error is ErrorCode.BROKER_NOT_AVAILABLE:
            return False
        if error is ErrorCode.INVALID_VOTER_KEY:
            # A voter whose disk was replaced. It stays another one until the voters change.
            return False
        if error is ErrorCode.INVALID_REQUEST:
            return False
        return None
