"""Fetch of the metadata, and FetchSnapshot, as Kafka writes them."""

from moldau.errors import ErrorCode
from moldau.ids import METADATA_TOPIC, METADATA_TOPIC_ID
from moldau.protocol.messages import fetch, fetch_snapshot
from moldau.raft.log_view import LogEnd, SnapshotId
from moldau.raft.messages import (
    CurrentLeader,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    ReplicaKey,
)
from moldau.raft.wire_context import METADATA_PARTITION, WireContext, in_memory, leader_of

_FIRST_FETCH_WITH_ENDPOINTS = 17
_FIRST_SNAPSHOT_WITH_ENDPOINTS = 1

# Fetch


def decode_fetch_request(
    message: fetch.FetchRequest, context: WireContext
) -> FetchRequest | fetch.FetchResponse:
    if not context.is_for_us(message.cluster_id):
        return fetch.FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    topics = message.topics
    is_metadata = (
        len(topics) == 1
        and topics[0].topic_id == METADATA_TOPIC_ID
        and len(topics[0].partitions) == 1
        and topics[0].partitions[0].partition == METADATA_PARTITION
    )
    if not is_metadata:
        return fetch.FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    partition = topics[0].partitions[0]
    state = message.replica_state
    # From version 15 on the replica is in the tagged field.
    replica_id = message.replica_id if state is None or state.replica_id < 0 else state.replica_id
    return FetchRequest(
        ReplicaKey(replica_id, partition.replica_directory_id),
        partition.current_leader_epoch,
        partition.fetch_offset,
        partition.last_fetched_epoch,
        partition.high_watermark,
        message.max_wait_ms,
        message.max_bytes,
    )


def encode_fetch_request(request: FetchRequest, context: WireContext) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        current_leader_epoch=request.leader_epoch,
        fetch_offset=request.fetch_offset,
        last_fetched_epoch=request.last_fetched_epoch,
        replica_directory_id=request.replica.directory_id,
        high_watermark=request.high_watermark,
    )
    return fetch.FetchRequest(
        cluster_id=context.cluster_id,
        replica_state=fetch.ReplicaState(request.replica.id),
        max_wait_ms=request.max_wait_ms,
        max_bytes=request.max_bytes,
        topics=[fetch.FetchTopic(METADATA_TOPIC, METADATA_TOPIC_ID, [partition])],
    )


def encode_fetch_response(response: FetchResponse, context: WireContext) -> fetch.FetchResponse:
    leader = response.leader
    partition = fetch.PartitionData(
        error_code=response.error,
        high_watermark=response.high_watermark,
        log_start_offset=response.log_start_offset,
        current_leader=fetch.LeaderIdAndEpoch(leader.id, leader.epoch),
        records=response.records,
    )
    if response.diverging is not None:
        partition.diverging_epoch = fetch.EpochEndOffset(*response.diverging)
    if response.snapshot_id is not None:
        partition.snapshot_id = fetch.SnapshotId(*response.snapshot_id)
    topic = fetch.FetchableTopicResponse(METADATA_TOPIC, METADATA_TOPIC_ID, [partition])
    nodes = context.endpoint_of(leader, fetch.NodeEndpoint, _FIRST_FETCH_WITH_ENDPOINTS)
    return fetch.FetchResponse(responses=[topic], node_endpoints=nodes)


def decode_fetch_response(
    message: fetch.FetchResponse, context: WireContext
) -> FetchResponse | ErrorCode:
    if message.error_code:
        return ErrorCode(message.error_code)
    topics = message.responses
    is_metadata = (
        len(topics) == 1
        and topics[0].topic_id == METADATA_TOPIC_ID
        and len(topics[0].partitions) == 1
        and topics[0].partitions[0].partition_index == METADATA_PARTITION
    )
    if not is_metadata:
        return ErrorCode.INVALID_REQUEST
    partition = topics[0].partitions[0]
    current = partition.current_leader or fetch.LeaderIdAndEpoch()
    diverging, snapshot_id = partition.diverging_epoch, partition.snapshot_id
    has_snapshot = snapshot_id is not None and max(snapshot_id.epoch, snapshot_id.end_offset) >= 0
    return FetchResponse(
        ErrorCode(partition.error_code),
        leader_of(current.leader_id, current.leader_epoch, message.node_endpoints, context),
        partition.high_watermark,
        partition.log_start_offset,
        LogEnd(diverging.epoch, diverging.end_offset)
        if diverging is not None and diverging.epoch >= 0
        else None,
        SnapshotId(snapshot_id.end_offset, snapshot_id.epoch)
        if snapshot_id is not None and has_snapshot
        else None,
        in_memory(partition.records),
    )


# FetchSnapshot


def decode_snapshot_request(
    message: fetch_snapshot.FetchSnapshotRequest, context: WireContext
) -> FetchSnapshotRequest | fetch_snapshot.FetchSnapshotResponse:
    if not context.is_for_us(message.cluster_id):
        error = ErrorCode.INCONSISTENT_CLUSTER_ID
        return fetch_snapshot.FetchSnapshotResponse(error_code=error)
    topics = message.topics
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return fetch_snapshot.FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
    partition = topics[0].partitions[0]
    if topics[0].name != METADATA_TOPIC or partition.partition != METADATA_PARTITION:
        unknown = fetch_snapshot.PartitionSnapshotResponse(
            partition.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
        return _snapshot_response(topics[0].name, unknown, context.leader, context)
    snapshot_id = partition.snapshot_id or fetch_snapshot.SnapshotId()
    return FetchSnapshotRequest(
        ReplicaKey(message.replica_id, partition.replica_directory_id),
        partition.current_leader_epoch,
        SnapshotId(snapshot_id.end_offset, snapshot_id.epoch),
        partition.position,
        message.max_bytes,
    )


def encode_snapshot_request(
    request: FetchSnapshotRequest, context: WireContext
) -> fetch_snapshot.FetchSnapshotRequest:
    partition = fetch_snapshot.PartitionSnapshot(
        METADATA_PARTITION,
        request.leader_epoch,
        fetch_snapshot.SnapshotId(*request.snapshot_id),
        request.position,
        request.replica.directory_id,
    )
    topic = fetch_snapshot.TopicSnapshot(METADATA_TOPIC, [partition])
    return fetch_snapshot.FetchSnapshotRequest(
        context.cluster_id, request.replica.id, request.max_bytes, [topic]
    )


def encode_snapshot_response(
    response: FetchSnapshotResponse, context: WireContext
) -> fetch_snapshot.FetchSnapshotResponse:
    leader = response.leader
    partition = fetch_snapshot.PartitionSnapshotResponse(
        METADATA_PARTITION,
        response.error,
        fetch_snapshot.SnapshotId(*(response.snapshot_id or (0, 0))),
        fetch_snapshot.LeaderIdAndEpoch(leader.id, leader.epoch),
        response.size_bytes,
        response.position,
        response.data,
    )
    return _snapshot_response(METADATA_TOPIC, partition, leader, context)


def _snapshot_response(
    topic: str,
    partition: fetch_snapshot.PartitionSnapshotResponse,
    leader: CurrentLeader,
    context: WireContext,
) -> fetch_snapshot.FetchSnapshotResponse:
    make = fetch_snapshot.NodeEndpoint
    return fetch_snapshot.FetchSnapshotResponse(
        topics=[fetch_snapshot.TopicSnapshotResponse(topic, [partition])],
        node_endpoints=context.endpoint_of(leader, make, _FIRST_SNAPSHOT_WITH_ENDPOINTS),
    )


def decode_snapshot_response(
    message: fetch_snapshot.FetchSnapshotResponse, context: WireContext
) -> FetchSnapshotResponse | ErrorCode:
    if message.error_code:
        return ErrorCode(message.error_code)
    topics = message.topics
    is_metadata = (
        len(topics) == 1
        and topics[0].name == METADATA_TOPIC
        and len(topics[0].partitions) == 1
        and topics[0].partitions[0].index == METADATA_PARTITION
    )
    if not is_metadata:
        return ErrorCode.INVALID_REQUEST
    partition = topics[0].partitions[0]
    current = partition.current_leader or fetch_snapshot.LeaderIdAndEpoch()
    found = partition.snapshot_id or fetch_snapshot.SnapshotId()
    is_known = found.end_offset >= 0 and found.epoch >= 0
    return FetchSnapshotResponse(
        ErrorCode(partition.error_code),
        leader_of(current.leader_id, current.leader_epoch, message.node_endpoints, context),
        SnapshotId(found.end_offset, found.epoch) if is_known else None,
        partition.size,
        partition.position,
        in_memory(partition.unaligned_records),
    )
