"""What nodes of the quorum say to each other (KIP-595, 630, 853, 996).

Requests and responses are Kafka's RPCs without their envelope: ``wire`` translates them, and
checks there what needs no state, such as the cluster id and the name of the topic. Every
response carries the sender's view of the leader, because that is how nodes find it.
"""

from typing import NamedTuple

from moldau.errors import ErrorCode
from moldau.ids import NO_UUID
from moldau.raft.log_view import LogEnd, SnapshotId
from moldau.raft.quorum_state import NO_NODE
from moldau.raft.voters import VoterEndpoint, VoterSet

Endpoints = tuple[VoterEndpoint, ...]


class ReplicaKey(NamedTuple):
    """A node and the directory of its log: after a disk was replaced it is another replica."""

    id: int
    directory_id: bytes = NO_UUID


class Peer(NamedTuple):
    """A node to send requests to. Bootstrap servers, whose id is unknown, have negative ids."""

    id: int
    host: str
    port: int


class CurrentLeader(NamedTuple):
    """The leader as the sender of a message knows it."""

    id: int = NO_NODE
    epoch: int = 0
    endpoints: Endpoints = ()


# Elections


class VoteRequest(NamedTuple):
    """A vote, or with ``is_pre_vote`` the question whether there would be one (KIP-996)."""

    candidate: ReplicaKey
    candidate_epoch: int
    log_end: LogEnd
    voter: ReplicaKey | None = None
    is_pre_vote: bool = False


class VoteResponse(NamedTuple):
    error: ErrorCode
    leader: CurrentLeader
    is_granted: bool = False


class BeginQuorumEpochRequest(NamedTuple):
    """A new leader announces itself; repeated to voters that do not fetch."""

    leader: CurrentLeader
    voter: ReplicaKey | None = None


class BeginQuorumEpochResponse(NamedTuple):
    error: ErrorCode
    leader: CurrentLeader


class EndQuorumEpochRequest(NamedTuple):
    """A leader resigns; the successors are listed with the most complete log first."""

    leader: CurrentLeader
    preferred_successors: tuple[ReplicaKey, ...] = ()


class EndQuorumEpochResponse(NamedTuple):
    error: ErrorCode
    leader: CurrentLeader


# Replication


class FetchRequest(NamedTuple):
    """Asks for the records from ``fetch_offset`` on, and acknowledges all before it."""

    replica: ReplicaKey
    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    high_watermark: int = -1
    max_wait_ms: int = 0
    max_bytes: int = 1024 * 1024


class FetchResponse(NamedTuple):
    """Records, or what the replica has to do first: cut its log, or fetch a snapshot."""

    error: ErrorCode
    leader: CurrentLeader
    high_watermark: int = -1
    log_start_offset: int = -1
    diverging: LogEnd | None = None
    snapshot_id: SnapshotId | None = None
    records: bytes | memoryview = b""


class FetchSnapshotRequest(NamedTuple):
    replica: ReplicaKey
    leader_epoch: int
    snapshot_id: SnapshotId
    position: int = 0
    max_bytes: int = 1024 * 1024


class FetchSnapshotResponse(NamedTuple):
    error: ErrorCode
    leader: CurrentLeader
    snapshot_id: SnapshotId | None = None
    size_bytes: int = 0
    position: int = 0
    data: bytes | memoryview = b""


# Changes of the voters (KIP-853)


class AddVoterRequest(NamedTuple):
    voter: ReplicaKey
    endpoints: Endpoints
    ack_when_committed: bool = True


class AddVoterResponse(NamedTuple):
    error: ErrorCode
    error_message: str | None = None


class RemoveVoterRequest(NamedTuple):
    voter: ReplicaKey


class RemoveVoterResponse(NamedTuple):
    error: ErrorCode
    error_message: str | None = None


class UpdateVoterRequest(NamedTuple):
    leader_epoch: int
    voter: ReplicaKey
    endpoints: Endpoints
    min_kraft_version: int
    max_kraft_version: int


class UpdateVoterResponse(NamedTuple):
    error: ErrorCode
    leader: CurrentLeader


class ApiVersionsRequest(NamedTuple):
    """Asks a voter to be added for the kraft.versions that it supports."""


class ApiVersionsResponse(NamedTuple):
    """The range of kraft.version; None if the node does not know the feature."""

    error: ErrorCode
    min_kraft_version: int | None = None
    max_kraft_version: int | None = None


Request = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | UpdateVoterRequest
    | ApiVersionsRequest
)
Response = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | AddVoterResponse
    | RemoveVoterResponse
    | UpdateVoterResponse
    | ApiVersionsResponse
)


# What the driver passes to ``RaftNode.step``


class Received(NamedTuple):
    """A request of another node. The answer is a ``Reply`` with the same ``reply_to``."""

    reply_to: int
    request: Request


class Answered(NamedTuple):
    """The response to the request that ``Send`` numbered."""

    request_id: int
    response: Response


class RequestFailed(NamedTuple):
    """There is no valid response: not connected, timed out, or an error for all of it."""

    request_id: int
    error: ErrorCode = ErrorCode.BROKER_NOT_AVAILABLE


class VotersChange(NamedTuple):
    """A VotersRecord at an offset of the log."""

    offset: int
    voters: VoterSet


class KraftVersionChange(NamedTuple):
    """A KRaftVersionRecord at an offset of the log."""

    offset: int
    kraft_version: int


class LogAppended(NamedTuple):
    """Records were written to the log, by the leader itself or for ``AppendRecords``.

    To be reported after every write, before any other message, and also if ``AppendRecords``
    could not write them. ``changes`` are the control records of the quorum among them.
    """

    changes: tuple[VotersChange | KraftVersionChange, ...] = ()


class LogTruncated(NamedTuple):
    """``Truncate`` is done."""


class LogFlushed(NamedTuple):
    """The log is on disk up to, but not including, ``end_offset``."""

    end_offset: int


class SnapshotInstalled(NamedTuple):
    """``InstallSnapshot`` is done: the log begins and ends where the snapshot ends."""

    snapshot_id: SnapshotId
    kraft_version: int = 0
    voters: VoterSet | None = None


class LeaderGone(NamedTuple):
    """The leader of an epoch has closed its connection, and refuses new ones."""

    leader_id: int
    leader_epoch: int


class Resign(NamedTuple):
    """Stop leading ``leader_epoch``, if this node still does."""

    leader_epoch: int


class ShutDown(NamedTuple):
    """Stop: hand over leadership, and start no election."""


Message = (
    Received
    | Answered
    | RequestFailed
    | LogAppended
    | LogTruncated
    | LogFlushed
    | SnapshotInstalled
    | LeaderGone
    | Resign
    | ShutDown
)
