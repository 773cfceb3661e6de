"""Vote, BeginQuorumEpoch and EndQuorumEpoch, as Kafka writes them."""

from moldau.errors import ErrorCode
from moldau.ids import METADATA_TOPIC
from moldau.protocol.messages import begin_quorum_epoch as begin
from moldau.protocol.messages import end_quorum_epoch as end
from moldau.protocol.messages import vote
from moldau.raft.log_view import LogEnd
from moldau.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    CurrentLeader,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    ReplicaKey,
    VoteRequest,
    VoteResponse,
)
from moldau.raft.wire_context import (
    WireContext,
    endpoints_of,
    is_metadata,
    leader_of,
    replica_key,
)

_FIRST_VERSION_WITH_ENDPOINTS = 1


_Request = vote.VoteRequest | begin.BeginQuorumEpochRequest | end.EndQuorumEpochRequest
_Response = vote.VoteResponse | begin.BeginQuorumEpochResponse | end.EndQuorumEpochResponse


def _refusal(message: _Request, context: WireContext) -> ErrorCode:
    """Why a request is not for the machine."""
    if not context.is_for_us(message.cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    return ErrorCode.NONE if is_metadata(message.topics) else ErrorCode.INVALID_REQUEST


def _error(message: _Response) -> ErrorCode:
    """The error of the whole response."""
    if message.error_code:
        return ErrorCode(message.error_code)
    return ErrorCode.NONE if is_metadata(message.topics) else ErrorCode.INVALID_REQUEST


# Vote


def decode_vote_request(
    message: vote.VoteRequest, context: WireContext
) -> VoteRequest | vote.VoteResponse:
    error = _refusal(message, context)
    if error is not ErrorCode.NONE:
        return vote.VoteResponse(error_code=error)
    partition = message.topics[0].partitions[0]
    return VoteRequest(
        ReplicaKey(partition.replica_id, partition.replica_directory_id),
        partition.replica_epoch,
        LogEnd(partition.last_offset_epoch, partition.last_offset),
        replica_key(message.voter_id, partition.voter_directory_id),
        partition.pre_vote,
    )


def encode_vote_request(request: VoteRequest, context: WireContext) -> vote.VoteRequest:
    voter = request.voter or ReplicaKey(-1)
    partition = vote.PartitionData(
        replica_epoch=request.candidate_epoch,
        replica_id=request.candidate.id,
        replica_directory_id=request.candidate.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=request.log_end.epoch,
        last_offset=request.log_end.offset,
        pre_vote=request.is_pre_vote,
    )
    topic = vote.TopicData(METADATA_TOPIC, [partition])
    return vote.VoteRequest(context.cluster_id, voter.id, [topic])


def encode_vote_response(response: VoteResponse, context: WireContext) -> vote.VoteResponse:
    leader = response.leader
    partition = vote.PartitionDataResponse(
        error_code=response.error,
        leader_id=leader.id,
        leader_epoch=leader.epoch,
        vote_granted=response.is_granted,
    )
    topic = vote.TopicDataResponse(METADATA_TOPIC, [partition])
    nodes = context.endpoint_of(leader, vote.NodeEndpoint, _FIRST_VERSION_WITH_ENDPOINTS)
    return vote.VoteResponse(0, [topic], nodes)


def decode_vote_response(
    message: vote.VoteResponse, context: WireContext
) -> VoteResponse | ErrorCode:
    error = _error(message)
    if error is not ErrorCode.NONE:
        return error
    partition = message.topics[0].partitions[0]
    leader = leader_of(partition.leader_id, partition.leader_epoch, message.node_endpoints, context)
    return VoteResponse(ErrorCode(partition.error_code), leader, partition.vote_granted)


# BeginQuorumEpoch


def decode_begin_request(
    message: begin.BeginQuorumEpochRequest, context: WireContext
) -> BeginQuorumEpochRequest | begin.BeginQuorumEpochResponse:
    error = _refusal(message, context)
    if error is not ErrorCode.NONE:
        return begin.BeginQuorumEpochResponse(error_code=error)
    partition = message.topics[0].partitions[0]
    endpoints = endpoints_of(message.leader_endpoints)
    leader = CurrentLeader(partition.leader_id, partition.leader_epoch, endpoints)
    voter = replica_key(message.voter_id, partition.voter_directory_id)
    return BeginQuorumEpochRequest(leader, voter)


def encode_begin_request(
    request: BeginQuorumEpochRequest, context: WireContext
) -> begin.BeginQuorumEpochRequest:
    voter = request.voter or ReplicaKey(-1)
    leader = request.leader
    partition = begin.PartitionData(
        voter_directory_id=voter.directory_id, leader_id=leader.id, leader_epoch=leader.epoch
    )
    topic = begin.TopicData(METADATA_TOPIC, [partition])
    endpoints = [begin.LeaderEndpoint(*each) for each in leader.endpoints]
    return begin.BeginQuorumEpochRequest(context.cluster_id, voter.id, [topic], endpoints)


def encode_begin_response(
    response: BeginQuorumEpochResponse, context: WireContext
) -> begin.BeginQuorumEpochResponse:
    leader = response.leader
    partition = begin.PartitionDataResponse(0, response.error, leader.id, leader.epoch)
    topic = begin.TopicDataResponse(METADATA_TOPIC, [partition])
    nodes = context.endpoint_of(leader, begin.NodeEndpoint, _FIRST_VERSION_WITH_ENDPOINTS)
    return begin.BeginQuorumEpochResponse(0, [topic], nodes)


def decode_begin_response(
    message: begin.BeginQuorumEpochResponse, context: WireContext
) -> BeginQuorumEpochResponse | ErrorCode:
    error = _error(message)
    if error is not ErrorCode.NONE:
        return error
    partition = message.topics[0].partitions[0]
    leader = leader_of(partition.leader_id, partition.leader_epoch, message.node_endpoints, context)
    return BeginQuorumEpochResponse(ErrorCode(partition.error_code), leader)


# EndQuorumEpoch


def decode_end_request(
    message: end.EndQuorumEpochRequest, context: WireContext
) -> EndQuorumEpochRequest | end.EndQuorumEpochResponse:
    error = _refusal(message, context)
    if error is not ErrorCode.NONE:
        return end.EndQuorumEpochResponse(error_code=error)
    partition = message.topics[0].partitions[0]
    endpoints = endpoints_of(message.leader_endpoints)
    leader = CurrentLeader(partition.leader_id, partition.leader_epoch, endpoints)
    preferred = [
        ReplicaKey(each.candidate_id, each.candidate_directory_id)
        for each in partition.preferred_candidates
    ]
    if not preferred:
        preferred = [ReplicaKey(each) for each in partition.preferred_successors]
    return EndQuorumEpochRequest(leader, tuple(preferred))


def encode_end_request(
    request: EndQuorumEpochRequest, context: WireContext
) -> end.EndQuorumEpochRequest:
    """Without the leader's addresses, as Kafka does: it is about to go."""
    preferred = request.preferred_successors
    partition = end.PartitionData(
        leader_id=request.leader.id,
        leader_epoch=request.leader.epoch,
        preferred_successors=[each.id for each in preferred],
        preferred_candidates=[end.ReplicaInfo(*each) for each in preferred],
    )
    topic = end.TopicData(METADATA_TOPIC, [partition])
    return end.EndQuorumEpochRequest(context.cluster_id, [topic])


def encode_end_response(
    response: EndQuorumEpochResponse, context: WireContext
) -> end.EndQuorumEpochResponse:
    leader = response.leader
    partition = end.PartitionDataResponse(0, response.error, leader.id, leader.epoch)
    topic = end.TopicDataResponse(METADATA_TOPIC, [partition])
    nodes = context.endpoint_of(leader, end.NodeEndpoint, _FIRST_VERSION_WITH_ENDPOINTS)
    return end.EndQuorumEpochResponse(0, [topic], nodes)


def decode_end_response(
    message: end.EndQuorumEpochResponse, context: WireContext
) -> EndQuorumEpochResponse | ErrorCode:
    error = _error(message)
    if error is not ErrorCode.NONE:
        return error
    partition = message.topics[0].partitions[0]
    leader = leader_of(partition.leader_id, partition.leader_epoch, message.node_endpoints, context)
    return EndQuorumEpochResponse(ErrorCode(partition.error_code), leader)
