"""AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter, as Kafka writes them."""

from moldau.errors import ErrorCode
from moldau.protocol.messages import add_raft_voter, remove_raft_voter, update_raft_voter
from moldau.raft.messages import (
    AddVoterRequest,
    AddVoterResponse,
    CurrentLeader,
    RemoveVoterRequest,
    RemoveVoterResponse,
    ReplicaKey,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from moldau.raft.quorum_state import NO_NODE
from moldau.raft.voters import VoterEndpoint
from moldau.raft.wire_context import WireContext, endpoints_of


def _other_cluster(found: str | None, context: WireContext) -> str:
    return f'The given id "{found}" doesn\'t match the cluster id "{context.cluster_id}"'


# Add


def decode_add_request(
    message: add_raft_voter.AddRaftVoterRequest, context: WireContext
) -> AddVoterRequest | add_raft_voter.AddRaftVoterResponse:
    if not context.is_for_us(message.cluster_id):
        return add_raft_voter.AddRaftVoterResponse(
            error_code=ErrorCode.INCONSISTENT_CLUSTER_ID,
            error_message=_other_cluster(message.cluster_id, context),
        )
    return AddVoterRequest(
        ReplicaKey(message.voter_id, message.voter_directory_id),
        endpoints_of(message.listeners),
        message.ack_when_committed,
    )


def encode_add_request(
    request: AddVoterRequest, context: WireContext
) -> add_raft_voter.AddRaftVoterRequest:
    return add_raft_voter.AddRaftVoterRequest(
        context.cluster_id,
        context.timeout_ms,
        request.voter.id,
        request.voter.directory_id,
        [add_raft_voter.Listener(*each) for each in request.endpoints],
        request.ack_when_committed,
    )


def encode_add_response(
    response: AddVoterResponse, context: WireContext
) -> add_raft_voter.AddRaftVoterResponse:
    return add_raft_voter.AddRaftVoterResponse(0, response.error, response.error_message)


def decode_add_response(
    message: add_raft_voter.AddRaftVoterResponse, context: WireContext
) -> AddVoterResponse:
    return AddVoterResponse(ErrorCode(message.error_code), message.error_message)


# Remove


def decode_remove_request(
    message: remove_raft_voter.RemoveRaftVoterRequest, context: WireContext
) -> RemoveVoterRequest | remove_raft_voter.RemoveRaftVoterResponse:
    if not context.is_for_us(message.cluster_id):
        return remove_raft_voter.RemoveRaftVoterResponse(
            error_code=ErrorCode.INCONSISTENT_CLUSTER_ID,
            error_message=_other_cluster(message.cluster_id, context),
        )
    return RemoveVoterRequest(ReplicaKey(message.voter_id, message.voter_directory_id))


def encode_remove_request(
    request: RemoveVoterRequest, context: WireContext
) -> remove_raft_voter.RemoveRaftVoterRequest:
    return remove_raft_voter.RemoveRaftVoterRequest(context.cluster_id, *request.voter)


def encode_remove_response(
    response: RemoveVoterResponse, context: WireContext
) -> remove_raft_voter.RemoveRaftVoterResponse:
    return remove_raft_voter.RemoveRaftVoterResponse(0, response.error, response.error_message)


def decode_remove_response(
    message: remove_raft_voter.RemoveRaftVoterResponse, context: WireContext
) -> RemoveVoterResponse:
    return RemoveVoterResponse(ErrorCode(message.error_code), message.error_message)


# Update


def decode_update_request(
    message: update_raft_voter.UpdateRaftVoterRequest, context: WireContext
) -> UpdateVoterRequest | update_raft_voter.UpdateRaftVoterResponse:
    if not context.is_for_us(message.cluster_id):
        error = ErrorCode.INCONSISTENT_CLUSTER_ID
        return encode_update_response(UpdateVoterResponse(error, context.leader), context)
    versions = message.kraft_version_feature or update_raft_voter.KRaftVersionFeature()
    return UpdateVoterRequest(
        message.current_leader_epoch,
        ReplicaKey(message.voter_id, message.voter_directory_id),
        endpoints_of(message.listeners),
        versions.min_supported_version,
        versions.max_supported_version,
    )


def encode_update_request(
    request: UpdateVoterRequest, context: WireContext
) -> update_raft_voter.UpdateRaftVoterRequest:
    return update_raft_voter.UpdateRaftVoterRequest(
        context.cluster_id,
        request.leader_epoch,
        request.voter.id,
        request.voter.directory_id,
        [update_raft_voter.Listener(*each) for each in request.endpoints],
        update_raft_voter.KRaftVersionFeature(request.min_kraft_version, request.max_kraft_version),
    )


def encode_update_response(
    response: UpdateVoterResponse, context: WireContext
) -> update_raft_voter.UpdateRaftVoterResponse:
    leader = response.leader
    current = update_raft_voter.CurrentLeader(leader.id, leader.epoch)
    address = context.address(leader.endpoints)
    if address is not None:
        current.host, current.port = address.host, address.port
    return update_raft_voter.UpdateRaftVoterResponse(0, response.error, current)


def decode_update_response(
    message: update_raft_voter.UpdateRaftVoterResponse, context: WireContext
) -> UpdateVoterResponse:
    current = message.current_leader or update_raft_voter.CurrentLeader()
    endpoints: tuple[VoterEndpoint, ...] = ()
    if current.leader_id >= 0 and current.host:
        endpoints = (VoterEndpoint(context.listener_name, current.host, current.port),)
    leader = CurrentLeader(max(current.leader_id, NO_NODE), current.leader_epoch, endpoints)
    return UpdateVoterResponse(ErrorCode(message.error_code), leader)
