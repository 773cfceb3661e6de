"""AlterPartitionReassignments and ListPartitionReassignments (KIP-455).

A reassignment goes through three stages. Its first record adds the new replicas and remembers
which are being added and removed. Then the new replicas catch up. When all of them are in the ISR,
the record of that ISR change also removes the old ones (``partition_change``). A reassignment whose
replicas are in sync already completes with its first record.
"""

from collections.abc import Iterable, Iterator, Sequence

from moldau.controller.leader_changes import is_unclean_election_enabled, partition_change
from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.partition_change import UNCLEAN, without
from moldau.controller.partitions import check_manual_assignment
from moldau.controller.state import ControllerState, check_record_count
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import MetadataImage, TopicImage
from moldau.metadata.registrations import PartitionRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from moldau.protocol.records.metadata import PartitionChangeRecord


def alter_partition_reassignments(
    state: ControllerState, request: AlterPartitionReassignmentsRequest
) -> Deciding[AlterPartitionReassignmentsResponse]:
    """Start reassignments of replicas, or cancel them."""
    records: list[Message] = []
    responses = []
    for topic in request.topics:
        yield
        partitions = []
        for wanted in topic.partitions:
            response = ReassignablePartitionResponse(
                partition_index=wanted.partition_index, error_message=None
            )
            try:
                may_change_factor = request.allow_replication_factor_change
                record = _alter(state, topic.name, wanted, may_change_factor)
                if record is not None:
                    check_record_count(len(records) + 1)
                    records.append(record)
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


def _alter(
    state: ControllerState, name: str, wanted: ReassignablePartition, may_change_factor: bool
) -> PartitionChangeRecord | None:
    topic = state.image.topics_by_name.get(name)
    if topic is None:
        message = f"Unable to find a topic named {name}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    registration = topic.partitions.get(wanted.partition_index)
    if registration is None:
        message = f"Unable to find partition {name}:{wanted.partition_index}."
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    if wanted.replicas is None:
        return _cancel(state, topic, wanted.partition_index, registration)
    check_manual_assignment(state, wanted.replicas, None)
    if not may_change_factor:
        _check_factor(registration, wanted.replicas)
    return _start(state, topic, wanted.partition_index, registration, wanted.replicas)


def _check_factor(registration: PartitionRegistration, target: Sequence[int]) -> None:
    """Check that the partition will have as many replicas as it has, or is about to (KIP-860)."""
    current = len(without(registration.replicas, *registration.removing_replicas))
    if len(target) != current:
        message = f"The replication factor is changed from {current} to {len(target)}"
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)


def _start(
    state: ControllerState,
    topic: TopicImage,
    partition: int,
    registration: PartitionRegistration,
    target: Sequence[int],
) -> PartitionChangeRecord | None:
    # As in Kafka, a replica that an earlier reassignment is adding counts as present. If nothing is
    # new, then unlike in Kafka only those are still being added that are in this target as well,
    # and nothing is being removed that is: otherwise this one could wait for replicas that it
    # removes itself, or lose some of its own.
    removing = tuple(sorted(without(registration.replicas, *target)))
    adding = tuple(sorted(without(target, *registration.replicas)))
    change = partition_change(state, topic, partition, registration)
    change.replicas = (*target, *removing)
    change.removing = removing
    change.adding = adding or tuple(each for each in registration.adding_replicas if each in target)
    for replica in target:
        change.directories.setdefault(replica, state.default_directory(replica))
    return change.build()


def _cancel(
    state: ControllerState,
    topic: TopicImage,
    partition: int,
    registration: PartitionRegistration,
) -> PartitionChangeRecord | None:
    if not registration.is_reassigning:
        raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    replicas = without(registration.replicas, *registration.adding_replicas)
    isr = without(registration.isr, *registration.adding_replicas)
    if not replicas:
        message = "Invalid replica assignment: addingReplicas contains all replicas."
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    is_unclean_enabled = is_unclean_election_enabled(state, topic.name)
    if not isr and not without(registration.elr, *registration.adding_replicas):
        # Only the replicas that are being added have every record.
        if not is_unclean_enabled:
            message = (
                f"Unable to revert partition assignment for {topic.name}:{partition} because "
                "it would require an unclean leader election."
            )
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if not state.image.is_elr_enabled:
            # Here an ISR is never empty.
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
) -> Deciding[ListPartitionReassignmentsResponse]:
    """The ongoing reassignments. A partition is a step."""
    by_name = state.image.topics_by_name
    response = ListPartitionReassignmentsResponse(error_message=None)
    for name, indexes in _wanted(state.image, request):
        yield
        topic = by_name.get(name)
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
            yield
        if ongoing:
            response.topics.append(OngoingTopicReassignment(name=name, partitions=ongoing))
    return Outcome([], response)


def _wanted(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> Iterator[tuple[str, Iterable[int]]]:
    """The requested topics and partitions; all if the request names none."""
    if request.topics is None:
        for topic in image.topics_by_name.values():
            yield topic.name, topic.partitions
    else:
        for asked in request.topics:
            yield asked.name, asked.partition_indexes
