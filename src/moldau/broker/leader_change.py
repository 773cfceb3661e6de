"""The first batch of a leader of the metadata quorum in its epoch.

It names the leader and the nodes that voted for it (KIP-595). If the voters are stored in the log
(KIP-853), it also writes them if they are missing, or if the endpoints of this voter have
changed.
"""

from collections.abc import Sequence

from moldau.broker.metadata_snapshot import encode_kraft_version
from moldau.config.listeners import Listener
from moldau.protocol.records.client_data import LeaderChangeMessage
from moldau.protocol.records.client_data import Voter as VoterId
from moldau.raft.voters import Voter, VoterEndpoint, VoterSet
from moldau.record.control import ControlType

# Type and contents, as ``control_batch`` takes them.
ControlRecord = tuple[int, bytes]


def leader_change(
    leader_id: int, voters: Sequence[int], granting_voters: Sequence[int]
) -> ControlRecord:
    message = LeaderChangeMessage(
        version=0,
        leader_id=leader_id,
        voters=[VoterId(voter_id=voter) for voter in voters],
        granting_voters=[VoterId(voter_id=voter) for voter in granting_voters],
    )
    return int(ControlType.LEADER_CHANGE), message.encode(0)


def voters_written_down(kraft_version: int, voters: VoterSet) -> list[ControlRecord]:
    return [
        (int(ControlType.KRAFT_VERSION), encode_kraft_version(kraft_version)),
        (int(ControlType.KRAFT_VOTERS), voters.to_record().encode(0)),
    ]


def with_endpoints(voters: VoterSet, node_id: int, listeners: Sequence[Listener]) -> VoterSet:
    """The voters, with ``listeners`` as the endpoints of ``node_id``, if it has any."""
    endpoints = tuple(VoterEndpoint(each.name, each.host, each.port) for each in listeners)
    own = voters.voters[node_id]
    if not endpoints or endpoints == own.endpoints:
        return voters
    return voters.with_voter(Voter(own.id, own.directory_id, endpoints))
