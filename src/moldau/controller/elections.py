"""ElectLeaders, and those parts of partition reassignment that apply to one node."""

from typing import Final

from moldau.controller.leader_changes import is_unclean_election_enabled, partition_change
from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.partition_change import PREFERRED, UNCLEAN, without
from moldau.controller.partitions import check_manual_assignment
from moldau.controller.state import ControllerState, check_record_count
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import TopicImage
from moldau.metadata.registrations import NO_LEADER, PartitionRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

_ELECTION_TYPES: Final = {0: PREFERRED, 1: UNCLEAN}


def elect_leaders(
    state: ControllerState, request: ElectLeadersRequest
) -> Deciding[ElectLeadersResponse]:
    """Elect the preferred replica or, if unclean, any replica where there is no leader.

    Raises:
        ApiError: INVALID_REQUEST if the election type is unknown.
    """
    election = _ELECTION_TYPES.get(request.election_type)
    if election is None:
        message = f"Unknown election type {request.election_type}"
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    records: list[Message] = []
    results = []
    if request.topic_partitions is None:
        # All partitions were requested: those that need no election are omitted.
        for topic in state.image.topics_by_name.values():
            partitions = []
            for partition in topic.partitions:
                result = _elect(state, topic.name, partition, election, records)
                if result.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                    partitions.append(result)
                yield
            results.append(ReplicaElectionResult(topic=topic.name, partition_result=partitions))
    else:
        for wanted in request.topic_partitions:
            partitions = []
            for partition in wanted.partitions:
                partitions.append(_elect(state, wanted.topic, partition, election, records))
                yield
            results.append(ReplicaElectionResult(topic=wanted.topic, partition_result=partitions))
    return Outcome(records, ElectLeadersResponse(replica_election_results=results))


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
        return ErrorCode.NONE, None
    if election == PREFERRED:
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."
    return (
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "Eligible topic partition leaders are not available.",
    )


def alter_partition_reassignments(
    state: ControllerState, request: AlterPartitionReassignmentsRequest
) -> Deciding[AlterPartitionReassignmentsResponse]:
    """Start a reassignment of replicas, or cancel one."""
    records: list[Message] = []
    responses = []
    for topic in request.topics:
        partitions = []
        for wanted in topic.partitions:
            response = ReassignablePartitionResponse(
                partition_index=wanted.partition_index, error_message=None
            )
            try:
                may_change_factor = request.allow_replication_factor_change
                _reassign(state, topic.name, wanted, may_change_factor, records)
                check_record_count(len(records))
            except ApiError as error:
                response.error_code = error.code
                response.error_message = error.message
            partitions.append(response)
            yield
        responses.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
    return Outcome(
        records,
        AlterPartitionReassignmentsResponse(
            allow_replication_factor_change=request.allow_replication_factor_change,
            error_message=None,
            responses=responses,
        ),
    )


def _reassign(
    state: ControllerState,
    name: str,
    wanted: ReassignablePartition,
    may_change_factor: bool,
    records: list[Message],
) -> None:
    topic = state.image.topics_by_name.get(name)
    if topic is None:
        message = f"Unable to find a topic named {name}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    registration = topic.partitions.get(wanted.partition_index)
    if registration is None:
        message = f"Unable to find partition {name}:{wanted.partition_index}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    if wanted.replicas is None:
        record = _revert(state, topic, wanted.partition_index, registration)
    else:
        check_manual_assignment(state, wanted.replicas, None)
        if not may_change_factor:
            _check_factor(registration, wanted.replicas)
        record = _move(state, topic, wanted.partition_index, registration, wanted.replicas)
    if record is not None:
        records.append(record)


def _check_factor(registration: PartitionRegistration, replicas: list[int]) -> None:
    current = len(without(registration.replicas, *registration.adding_replicas))
    if len(replicas) != current:
        message = (
            f"The replication factor is changed from {current} to {len(replicas)}, but "
            "allowReplicationFactorChange is false"
        )
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)


def _move(
    state: ControllerState,
    topic: TopicImage,
    partition: int,
    registration: PartitionRegistration,
    target: list[int],
) -> Message | None:
    original = without(registration.replicas, *registration.adding_replicas)
    removing = tuple(sorted(replica for replica in original if replica not in target))
    change = partition_change(state, topic, partition, registration)
    change.replicas = (*target, *removing)
    change.removing = removing
    change.adding = tuple(sorted(replica for replica in target if replica not in original))
    for replica in target:
        change.directories.setdefault(replica, state.default_directory(replica))
    return change.build()


def _revert(
    state: ControllerState,
    topic: TopicImage,
    partition: int,
    registration: PartitionRegistration,
) -> Message | None:
    if not registration.is_reassigning:
        raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    replicas = without(registration.replicas, *registration.adding_replicas)
    isr = without(registration.isr, *registration.adding_replicas)
    is_unclean_enabled = is_unclean_election_enabled(state, topic.name)
    if not isr:
        if not is_unclean_enabled:
            message = (
                f"Unable to revert partition assignment for {topic.name}:{partition} because "
                "it would require an unclean leader election."
            )
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        isr = replicas[:1]
    change = partition_change(state, topic, partition, registration)
    if is_unclean_enabled:
        change.election = UNCLEAN
    change.isr = isr
    change.replicas = replicas
    change.removing = change.adding = ()
    return change.build()


def list_partition_reassignments(
    state: ControllerState, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The ongoing reassignments."""
    if request.topics is None:
        wanted = [(topic.name, list(topic.partitions)) for topic in _all_topics(state)]
    else:
        wanted = [(topic.name, topic.partition_indexes) for topic in request.topics]
    topics = []
    for name, indexes in wanted:
        topic = state.image.topics_by_name.get(name)
        if topic is None:
            continue
        ongoing = []
        for index in indexes:
            registration = topic.partitions.get(index)
            if registration is not None and registration.is_reassigning:
                ongoing.append(
                    OngoingPartitionReassignment(
                        partition_index=index,
                        replicas=list(registration.replicas),
                        adding_replicas=list(registration.adding_replicas),
                        removing_replicas=list(registration.removing_replicas),
                    )
                )
        if ongoing:
            topics.append(OngoingTopicReassignment(name=name, partitions=ongoing))
    return ListPartitionReassignmentsResponse(error_message=None, topics=topics)


def _all_topics(state: ControllerState) -> list[TopicImage]:
    return list(state.image.topics_by_name.values())
