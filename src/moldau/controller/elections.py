"""Elections of leaders: by request (ElectLeaders), and those of the controller itself."""

from collections.abc import Iterable
from typing import Final

from moldau.controller.leader_changes import is_unclean_election_enabled, partition_change
from moldau.controller.outcome import Deciding, Outcome, Steps
from moldau.controller.partition_change import ONLINE, PREFERRED, UNCLEAN
from moldau.controller.partition_index import PartitionKey
from moldau.controller.state import ControllerState, check_record_count
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import NO_LEADER
from moldau.protocol.message import Message
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_ELECTION_TYPES: Final = {0: PREFERRED, 1: UNCLEAN}


def elect_leaders(
    state: ControllerState, request: ElectLeadersRequest
) -> Deciding[ElectLeadersResponse]:
    """Elect the preferred replica or, if unclean, any replica where there is no leader."""
    election = _ELECTION_TYPES.get(request.election_type)
    try:
        if election is None:
            message = f"Unknown election type {request.election_type}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        outcome = yield from _elect_all(state, request, election)
    except ApiError as error:
        return Outcome([], _failed(request, error))
    return outcome


def _elect_all(
    state: ControllerState, request: ElectLeadersRequest, election: str
) -> Deciding[ElectLeadersResponse]:
    records: list[Message] = []
    results = []
    if request.topic_partitions is None:
        # All partitions were requested: those that need no election are omitted.
        for topic in state.image.topics_by_name.values():
            yield
            partitions = []
            for partition in topic.partitions:
                result = _elect(state, topic.name, partition, election, records)
                if result.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                    partitions.append(result)
                yield
            results.append(ReplicaElectionResult(topic=topic.name, partition_result=partitions))
    else:
        for wanted in request.topic_partitions:
            yield
            partitions = []
            for partition in wanted.partitions:
                partitions.append(_elect(state, wanted.topic, partition, election, records))
                yield
            results.append(ReplicaElectionResult(topic=wanted.topic, partition_result=partitions))
    response = ElectLeadersResponse(replica_election_results=results)
    return Outcome(records, response, is_atomic=False)


def _failed(request: ElectLeadersRequest, error: ApiError) -> ElectLeadersResponse:
    """The error of the whole request, repeated for every partition that it names."""
    return ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=wanted.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=partition, error_code=error.code, error_message=error.message
                    )
                    for partition in wanted.partitions
                ],
            )
            for wanted in request.topic_partitions or ()
        ],
    )


def _elect(
    state: ControllerState, name: str, partition: int, election: str, records: list[Message]
) -> PartitionResult:
    code, message = _try_election(state, name, partition, election, records)
    return PartitionResult(partition_id=partition, error_code=code, error_message=message)


def _try_election(
    state: ControllerState, name: str, partition: int, election: str, records: list[Message]
) -> tuple[ErrorCode, str | None]:
    topic = state.image.topics_by_name.get(name)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}"
    registration = topic.partitions.get(partition)
    if registration is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{partition}"
    has_preferred = registration.leader == registration.preferred_leader
    has_leader = registration.leader != NO_LEADER
    if has_preferred if election == PREFERRED else has_leader:
        return ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
    change = partition_change(state, topic, partition, registration)
    change.election = election
    record = change.build()
    if record is not None:
        records.append(record)
        check_record_count(len(records))
        return ErrorCode.NONE, None
    if election == PREFERRED:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."
    return (
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "Eligible topic partition leaders are not available.",
    )


def elect_preferred_leaders(state: ControllerState, limit: int) -> Steps[list[Message]]:
    """Give up to ``limit`` partitions back to their preferred replicas, where these are in sync."""
    return _elect_some(state, list(state.index.not_led_by_preferred), PREFERRED, limit)


def elect_missing_leaders(state: ControllerState, limit: int) -> Steps[list[Message]]:
    """Elect a leader for up to ``limit`` partitions without one that have an active replica in
    their ISR or ELR.
    """
    return _elect_some(state, list(state.index.leaderless), ONLINE, limit)


def elect_unclean_leaders(state: ControllerState, limit: int) -> Steps[list[Message]]:
    """Elect a leader for up to ``limit`` partitions without one, where records may be lost."""
    return _elect_some(state, list(state.index.leaderless), UNCLEAN, limit)


def _elect_some(
    state: ControllerState, keys: Iterable[PartitionKey], election: str, limit: int
) -> Steps[list[Message]]:
    records: list[Message] = []
    for topic_id, partition in keys:
        if len(records) >= limit:
            break
        topic = state.image.topics_by_id[topic_id]
        if election != UNCLEAN or is_unclean_election_enabled(state, topic.name):
            change = partition_change(state, topic, partition, topic.partitions[partition])
            change.election = election
            record = change.build()
            if record is not None:
                records.append(record)
        yield
    return records
