"""The state of the quorum as its leader knows it: DescribeQuorum (KIP-595, 836, 853)."""

from typing import Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.ids import METADATA_TOPIC, NO_UUID
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionDataResponse,
    ReplicaState,
    TopicDataResponse,
)
from moldau.raft.leader import Leader, Replica
from moldau.raft.messages import Endpoints, ReplicaKey
from moldau.raft.quorum import NOT_LEADER_MESSAGE, Quorum
from moldau.raft.wire_context import METADATA_PARTITION, is_metadata

_FIRST_VERSION_WITH_TIMES: Final = 1
_FIRST_VERSION_WITH_NODES: Final = 2
_UNKNOWN_PARTITION: Final = "This server does not host this topic-partition."


class ReplicaDescription(NamedTuple):
    """Times are of the wall clock; -1 means never."""

    key: ReplicaKey
    endpoints: Endpoints
    log_end_offset: int
    last_fetch_timestamp_ms: int
    last_caught_up_timestamp_ms: int


class QuorumDescription(NamedTuple):
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]


def describe_quorum(quorum: Quorum, now_ms: int, wall_ms: int) -> QuorumDescription | None:
    """None if this node does not lead."""
    leader = quorum.role
    if not isinstance(leader, Leader):
        return None
    leader.forget_silent_observers(now_ms)
    passed_ms = wall_ms - now_ms

    def described(replica: Replica) -> ReplicaDescription:
        if replica.is_at(quorum.config.replica):
            end = quorum.log.end_offset
            return ReplicaDescription(replica.key, replica.endpoints, end, wall_ms, wall_ms)
        fetched_ms, caught_up_ms = replica.last_fetch_ms, replica.last_caught_up_ms
        return ReplicaDescription(
            replica.key,
            replica.endpoints,
            replica.end_offset,
            fetched_ms + passed_ms if fetched_ms >= 0 else -1,
            caught_up_ms + passed_ms if caught_up_ms >= 0 else -1,
        )

    return QuorumDescription(
        quorum.config.node_id,
        quorum.epoch,
        leader.high_watermark,
        tuple(described(replica) for replica in leader.voters.values()),
        tuple(described(replica) for replica in leader.observers.values()),
    )


def encode_description(
    request: DescribeQuorumRequest, description: QuorumDescription | None, version: int
) -> DescribeQuorumResponse:
    """The answer, also if another partition is asked for or this node does not lead."""
    if not is_metadata(request.topics):
        return _refusal(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _UNKNOWN_PARTITION)
    if description is None:
        return _refusal(request, ErrorCode.NOT_LEADER_OR_FOLLOWER, NOT_LEADER_MESSAGE)
    partition = PartitionDataResponse(
        partition_index=METADATA_PARTITION,
        leader_id=description.leader_id,
        leader_epoch=description.leader_epoch,
        high_watermark=description.high_watermark,
        current_voters=[_replica(each, version) for each in description.voters],
        observers=[_replica(each, version) for each in description.observers],
    )
    response = DescribeQuorumResponse(topics=[TopicDataResponse(METADATA_TOPIC, [partition])])
    if version >= _FIRST_VERSION_WITH_NODES:
        response.nodes = [
            Node(each.key.id, [Listener(*endpoint) for endpoint in each.endpoints])
            for each in description.voters
        ]
    return response


def _replica(replica: ReplicaDescription, version: int) -> ReplicaState:
    state = ReplicaState(replica.key.id, NO_UUID, replica.log_end_offset)
    if version >= _FIRST_VERSION_WITH_TIMES:
        state.last_fetch_timestamp = replica.last_fetch_timestamp_ms
        state.last_caught_up_timestamp = replica.last_caught_up_timestamp_ms
    if version >= _FIRST_VERSION_WITH_NODES:
        state.replica_directory_id = replica.key.directory_id
    return state


def _refusal(
    request: DescribeQuorumRequest, error: ErrorCode, message: str
) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            TopicDataResponse(
                topic.topic_name,
                [
                    PartitionDataResponse(each.partition_index, error, message)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
