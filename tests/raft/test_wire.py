"""Kafka's messages and the machine's: every message there and back, in every version."""

import pytest

from moldau.errors import ErrorCode
from moldau.ids import METADATA_TOPIC, METADATA_TOPIC_ID, NO_UUID
from moldau.protocol.message import Message
from moldau.protocol.messages import (
    add_raft_voter,
    api_versions,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    remove_raft_voter,
    update_raft_voter,
    vote,
)
from moldau.raft.log_view import LogEnd, SnapshotId
from moldau.raft.messages import (
    AddVoterRequest,
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    CurrentLeader,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveVoterRequest,
    RemoveVoterResponse,
    ReplicaKey,
    Request,
    Response,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoteRequest,
    VoteResponse,
)
from moldau.raft.voters import VoterEndpoint
from moldau.raft.wire import decode_request, decode_response, encode_request, encode_response
from moldau.raft.wire_context import WireContext

HERE = VoterEndpoint("CONTROLLER", "host2", 9093)
INSIDE = VoterEndpoint("INSIDE", "host2", 9094)
LEADER = CurrentLeader(2, 5, (HERE, INSIDE))
# A response has one address: that of the listener.
SHOWN = CurrentLeader(2, 5, (HERE,))
US = ReplicaKey(1, bytes(15) + b"\x07")
THEM = ReplicaKey(2, bytes(15) + b"\x08")
CONTEXT = WireContext("cluster", "CONTROLLER", leader=LEADER)
OK = ErrorCode.NONE

REQUESTS: list[tuple[Request, type[Message], int]] = [
    (VoteRequest(US, 5, LogEnd(4, 10), THEM), vote.VoteRequest, 1),
    (VoteRequest(US, 5, LogEnd(4, 10), THEM, True), vote.VoteRequest, 2),
    (BeginQuorumEpochRequest(LEADER, US), begin_quorum_epoch.BeginQuorumEpochRequest, 1),
    (
        EndQuorumEpochRequest(CurrentLeader(2, 5), (US, THEM)),
        end_quorum_epoch.EndQuorumEpochRequest,
        1,
    ),
    (FetchRequest(US, 5, 10, 4, 9, 500, 1000), fetch.FetchRequest, 18),
    (
        FetchSnapshotRequest(US, 5, SnapshotId(10, 4), 40, 30),
        fetch_snapshot.FetchSnapshotRequest,
        1,
    ),
    (AddVoterRequest(US, (HERE, INSIDE), False), add_raft_voter.AddRaftVoterRequest, 1),
    (RemoveVoterRequest(US), remove_raft_voter.RemoveRaftVoterRequest, 0),
    (UpdateVoterRequest(5, US, (HERE,), 0, 1), update_raft_voter.UpdateRaftVoterRequest, 0),
]
RESPONSES: list[tuple[Response, type[Message], int]] = [
    (VoteResponse(OK, SHOWN, True), vote.VoteResponse, 1),
    (
        BeginQuorumEpochResponse(ErrorCode.FENCED_LEADER_EPOCH, SHOWN),
        begin_quorum_epoch.BeginQuorumEpochResponse,
        1,
    ),
    (EndQuorumEpochResponse(OK, SHOWN), end_quorum_epoch.EndQuorumEpochResponse, 1),
    (FetchResponse(OK, SHOWN, 9, 3, records=b"x" * 70), fetch.FetchResponse, 17),
    (FetchResponse(OK, SHOWN, 9, 3, LogEnd(4, 8)), fetch.FetchResponse, 17),
    (FetchResponse(OK, SHOWN, 9, 3, None, SnapshotId(8, 4)), fetch.FetchResponse, 17),
    (
        FetchSnapshotResponse(OK, SHOWN, SnapshotId(8, 4), 100, 40, b"abc"),
        fetch_snapshot.FetchSnapshotResponse,
        1,
    ),
    (AddVoterResponse(ErrorCode.DUPLICATE_VOTER, "there"), add_raft_voter.AddRaftVoterResponse, 0),
    (RemoveVoterResponse(OK), remove_raft_voter.RemoveRaftVoterResponse, 0),
    (UpdateVoterResponse(OK, SHOWN), update_raft_voter.UpdateRaftVoterResponse, 0),
]


def through_the_wire(message: Message, version: int) -> Message:
    decoded, _ = type(message).decode(message.encode(version), 0, version)
    return decoded


@pytest.mark.parametrize(("request_", "kind", "first_version"), REQUESTS)
def test_a_request_arrives_as_it_was_sent(
    request_: Request, kind: type[Message], first_version: int
) -> None:
    message = encode_request(request_, CONTEXT)
    assert type(message) is kind
    for version in range(first_version, kind.MAX_VERSION + 1):
        arrived = through_the_wire(message, version)
        assert decode_request(arrived, CONTEXT._replace(version=version)) == request_


@pytest.mark.parametrize(("response", "kind", "first_version"), RESPONSES)
def test_a_response_arrives_as_it_was_sent(
    response: Response, kind: type[Message], first_version: int
) -> None:
    for version in range(first_version, kind.MAX_VERSION + 1):
        message = encode_response(response, CONTEXT._replace(version=version))
        assert type(message) is kind
        assert decode_response(through_the_wire(message, version), CONTEXT) == response


def test_only_the_address_of_the_listener_is_shown() -> None:
    context = CONTEXT._replace(listener_name="INSIDE", version=2)
    message = encode_response(VoteResponse(OK, LEADER), context)
    assert isinstance(message, vote.VoteResponse)
    assert message.node_endpoints == [vote.NodeEndpoint(2, "host2", 9094)]


@pytest.mark.parametrize(("response", "kind", "first_version"), RESPONSES[:7])
def test_older_versions_have_no_addresses(
    response: Response, kind: type[Message], first_version: int
) -> None:
    version = first_version - 1
    message = encode_response(response, CONTEXT._replace(version=version))
    arrived = decode_response(through_the_wire(message, version), CONTEXT)
    assert arrived == response._replace(leader=CurrentLeader(2, 5))  # type: ignore[call-arg]


def test_a_pre_vote_cannot_be_sent_to_an_old_voter() -> None:
    message = encode_request(VoteRequest(US, 5, LogEnd(4, 10), THEM, True), CONTEXT)
    with pytest.raises(ValueError, match="pre_vote"):
        message.encode(1)


def test_successors_of_the_first_version_have_no_directories() -> None:
    request = EndQuorumEpochRequest(CurrentLeader(2, 5), (US, THEM))
    arrived = decode_request(through_the_wire(encode_request(request, CONTEXT), 0), CONTEXT)
    expected = (ReplicaKey(1), ReplicaKey(2))
    assert arrived == request._replace(preferred_successors=expected)


def test_a_vote_of_the_first_version_does_not_say_for_whom() -> None:
    request = VoteRequest(US, 5, LogEnd(4, 10), THEM)
    arrived = decode_request(through_the_wire(encode_request(request, CONTEXT), 0), CONTEXT)
    assert arrived == request._replace(candidate=ReplicaKey(1), voter=None)


def test_a_fetch_before_version_18_never_waits_for_the_high_watermark() -> None:
    message = encode_request(FetchRequest(US, 5, 10, 4, 9), CONTEXT)
    arrived = decode_request(through_the_wire(message, 17), CONTEXT)
    assert isinstance(arrived, FetchRequest)
    assert arrived.high_watermark == (1 << 63) - 1


@pytest.mark.parametrize(("request_", "kind", "first_version"), REQUESTS)
def test_a_request_of_another_cluster_is_refused(
    request_: Request, kind: type[Message], first_version: int
) -> None:
    message = encode_request(request_, CONTEXT._replace(cluster_id="other"))
    refused = decode_request(message, CONTEXT)
    assert isinstance(refused, Message)
    assert refused.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID  # type: ignore[attr-defined]
    if isinstance(refused, add_raft_voter.AddRaftVoterResponse):
        expected = 'The given id "other" doesn\'t match the cluster id "cluster"'
        assert refused.error_message == expected
    if isinstance(refused, update_raft_voter.UpdateRaftVoterResponse):
        expected_leader = update_raft_voter.CurrentLeader(2, 5, "host2", 9093)
        assert refused.current_leader == expected_leader


@pytest.mark.parametrize(("request_", "kind", "first_version"), REQUESTS)
def test_a_request_without_a_cluster_id_is_for_every_cluster(
    request_: Request, kind: type[Message], first_version: int
) -> None:
    message = encode_request(request_, CONTEXT)
    message.cluster_id = None  # type: ignore[attr-defined]
    assert decode_request(message, CONTEXT) == request_


@pytest.mark.parametrize("number", [0, 2, 3])
def test_another_topic_or_partition_is_an_invalid_request(number: int) -> None:
    request = REQUESTS[number][0]
    for change in range(4):
        message = encode_request(request, CONTEXT)
        topics = message.topics  # type: ignore[attr-defined]
        if change == 0:
            topics[0].topic_name = "other"
        elif change == 1:
            topics[0].partitions[0].partition_index = 1
        elif change == 2:
            topics.append(topics[0])
        else:
            topics[0].partitions = []
        refused = decode_request(message, CONTEXT)
        assert isinstance(refused, Message)
        assert refused.error_code == ErrorCode.INVALID_REQUEST  # type: ignore[attr-defined]


def test_a_fetch_of_another_topic_is_an_invalid_request() -> None:
    message = encode_request(FetchRequest(US, 5, 10, 4, 9), CONTEXT)
    assert isinstance(message, fetch.FetchRequest)
    assert message.topics[0].topic_id == METADATA_TOPIC_ID
    message.topics[0].topic_id = NO_UUID
    assert decode_request(message, CONTEXT) == fetch.FetchResponse(
        error_code=ErrorCode.INVALID_REQUEST
    )


def test_a_snapshot_of_another_topic_is_unknown() -> None:
    request = FetchSnapshotRequest(US, 5, SnapshotId(10, 4))
    message = encode_request(request, CONTEXT)
    assert isinstance(message, fetch_snapshot.FetchSnapshotRequest)
    assert message.topics[0].name == METADATA_TOPIC
    message.topics[0].name = "other"
    refused = decode_request(message, CONTEXT._replace(version=1))
    assert isinstance(refused, fetch_snapshot.FetchSnapshotResponse)
    assert refused.topics[0].name == "other"
    assert refused.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused.node_endpoints == [fetch_snapshot.NodeEndpoint(2, "host2", 9093)]
    message.topics = []
    assert decode_request(message, CONTEXT) == fetch_snapshot.FetchSnapshotResponse(
        error_code=ErrorCode.INVALID_REQUEST
    )


def test_an_error_of_the_whole_response_is_a_failure() -> None:
    message = vote.VoteResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert decode_response(message, CONTEXT) is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert decode_response(vote.VoteResponse(), CONTEXT) is ErrorCode.INVALID_REQUEST


def test_the_range_of_kraft_version_is_read_from_api_versions() -> None:
    request = encode_request(ApiVersionsRequest(), CONTEXT)
    assert isinstance(request, api_versions.ApiVersionsRequest)
    assert request.client_software_name == "moldau"
    assert request.client_software_version
    message = api_versions.ApiVersionsResponse()
    assert decode_response(message, CONTEXT) == ApiVersionsResponse(OK)
    feature = api_versions.SupportedFeatureKey("kraft.version", 0, 1)
    message.supported_features = [feature]
    assert decode_response(message, CONTEXT) == ApiVersionsResponse(OK, 0, 1)
