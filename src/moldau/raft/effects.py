"""What the machine asks of its driver.

The effects of one step are performed in order and completely before the next step, reports of
them included; only flushes and ``InstallSnapshot`` may go on in the background. A state is on
disk before the message that depends on it leaves, because ``Persist`` comes before ``Send`` and
``Reply``.
"""

from typing import NamedTuple

from moldau.raft.log_view import SnapshotId
from moldau.raft.messages import (
    FetchResponse,
    FetchSnapshotResponse,
    Peer,
    Request,
    Response,
)
from moldau.raft.quorum_state import QuorumState
from moldau.raft.voters import VoterSet


class Persist(NamedTuple):
    """Write and flush the quorum state before the next effect."""

    state: QuorumState


class Send(NamedTuple):
    """Send a request; report ``Answered`` or ``RequestFailed`` with its ``request_id``.

    A late or missing report does no harm: the machine has its own timeout.
    """

    request_id: int
    peer: Peer
    request: Request


class Reply(NamedTuple):
    """Answer the request that was ``Received`` with this ``reply_to``."""

    reply_to: int
    response: Response


class ReplyRecords(NamedTuple):
    """Answer a fetch with records from ``offset`` to the end of the log, up to ``max_bytes``.

    At least one batch is sent, whatever its size.
    """

    reply_to: int
    response: FetchResponse
    offset: int
    max_bytes: int


class ReplySnapshot(NamedTuple):
    """Answer with up to ``max_bytes`` of a snapshot's file, from ``response.position`` on."""

    reply_to: int
    response: FetchSnapshotResponse
    max_bytes: int


class AppendRecords(NamedTuple):
    """Append fetched batches as they are; report ``LogAppended``.

    With ``must_flush`` flush them too, and report ``LogFlushed``: the next fetch waits for it.
    """

    records: bytes | memoryview
    must_flush: bool


class AppendLeaderChange(NamedTuple):
    """Append the first batch of an epoch; report ``LogAppended`` and ``LogFlushed``.

    A LeaderChange record, and after it, in the same batch, a KRaftVersionRecord and a
    VotersRecord if ``voter_set`` is given.
    """

    leader_epoch: int
    voters: tuple[int, ...]
    granting_voters: tuple[int, ...]
    kraft_version: int = 0
    voter_set: VoterSet | None = None


class AppendVoters(NamedTuple):
    """Append a control batch: a KRaftVersionRecord if given, and a VotersRecord if given.

    Report ``LogAppended`` and ``LogFlushed``.
    """

    leader_epoch: int
    voter_set: VoterSet | None
    kraft_version: int | None = None


class Truncate(NamedTuple):
    """Cut the log, so that it ends at ``end_offset``; report ``LogTruncated``."""

    end_offset: int


class AppendSnapshot(NamedTuple):
    """Write a part of a snapshot that is being fetched. Position 0 starts a new file."""

    snapshot_id: SnapshotId
    position: int
    data: bytes | memoryview


class InstallSnapshot(NamedTuple):
    """The snapshot is complete: flush and rename it, and let the log start and end at its end.

    Report ``SnapshotInstalled``. Nothing is fetched before.
    """

    snapshot_id: SnapshotId


class Committed(NamedTuple):
    """Everything before ``high_watermark`` is committed. It never falls."""

    high_watermark: int


class LeaderChanged(NamedTuple):
    """The leader or the epoch changed; ``leader_id`` is -1 while there is no leader.

    If it is this node, it may append; records of earlier epochs are committed when
    the high watermark passes ``RaftNode.epoch_start_offset``.
    """

    leader_id: int
    leader_epoch: int


Effect = (
    Persist
    | Send
    | Reply
    | ReplyRecords
    | ReplySnapshot
    | AppendRecords
    | AppendLeaderChange
    | AppendVoters
    | Truncate
    | AppendSnapshot
    | InstallSnapshot
    | Committed
    | LeaderChanged
)
