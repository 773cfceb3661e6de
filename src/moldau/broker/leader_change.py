"""The first batch of a leader of the metadata quorum in its epoch.

It names the leader and the nodes that voted for it (KIP-595). It has the voters as well if they
are stored in the log (KIP-853) and are missing there, or have changed.
"""

from collections.abc import Sequence

from moldau.broker.metadata_snapshot import encode_kraft_version
from moldau.protocol.records.client_data import LeaderChangeMessage
from moldau.protocol.records.client_data import Voter as VoterId
from moldau.raft.voters import VoterSet
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


def voters_written_down(kraft_version: int | None, voters: VoterSet | None) -> list[ControlRecord]:
    """A KRaftVersionRecord and a VotersRecord, those of them that are given."""
    records: list[ControlRecord] = []
    if kraft_version is not None:
        records.append((int(ControlType.KRAFT_VERSION), encode_kraft_version(kraft_version)))
    if voters is not None:
        records.append((int(ControlType.KRAFT_VOTERS), voters.to_record().encode(0)))
    return records
