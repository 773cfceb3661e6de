"""CreatePartitions, and the placement of new partitions that CreateTopics uses too."""

from collections.abc import Sequence

from moldau.controller.outcome import Deciding, Outcome, Steps
from moldau.controller.placement import place_replicas
from moldau.controller.state import ControllerState, check_record_count
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import TopicImage
from moldau.metadata.registrations import PartitionRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


def registration_of(
    state: ControllerState, replicas: Sequence[int]
) -> PartitionRegistration | None:
    """A new partition on these brokers; None if none of them can lead it."""
    isr = tuple(broker for broker in replicas if state.is_active(broker))
    if not isr:
        return None
    directories = tuple(state.default_directory(broker) for broker in replicas)
    return PartitionRegistration(tuple(replicas), directories, isr, leader=isr[0])


def place_partitions(
    state: ControllerState, count: int, replication_factor: int
) -> list[PartitionRegistration]:
    """Place new partitions on brokers.

    Raises:
        ApiError: INVALID_REPLICATION_FACTOR if there are too few brokers.
    """
    prefix = f"Unable to replicate the partition {replication_factor} time(s): "
    try:
        brokers = state.image.brokers.values()
        placed = place_replicas(brokers, count, replication_factor, state.rng)
    except ApiError as error:
        raise ApiError(error.code, f"{prefix}{error.message}") from None
    partitions = []
    known: dict[tuple[int, ...], PartitionRegistration | None] = {}
    for replicas in placed:
        key = tuple(replicas)
        if key not in known:
            known[key] = registration_of(state, replicas)
        registration = known[key]
        if registration is None:
            message = f"{prefix}All brokers are currently fenced or in controlled shutdown."
            raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        partitions.append(registration)
    return partitions


def check_manual_assignment(
    state: ControllerState, replicas: Sequence[int], replication_factor: int | None
) -> None:
    """Check the assignment of replicas that a client requested.

    Raises:
        ApiError: INVALID_REPLICA_ASSIGNMENT.
    """

    def invalid(reason: str) -> ApiError:
        message = f"The manual partition assignment includes {reason}"
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)

    if not replicas:
        raise invalid("an empty replica list.")
    previous: int | None = None
    for broker_id in sorted(replicas):
        broker = state.image.brokers.get(broker_id)
        if broker is None:
            raise invalid(f"broker {broker_id}, but no such broker is registered.")
        if not broker.has_uncordoned_dirs:
            raise invalid(f"broker {broker_id}, but all its log directories are cordoned.")
        if broker_id == previous:
            raise invalid(f"the broker {broker_id} more than once.")
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise invalid(
            f"a partition with {len(replicas)} replica(s), but this is not consistent with "
            f"previous partitions, which have {replication_factor} replica(s)."
        )


def create_partitions(
    state: ControllerState, request: CreatePartitionsRequest
) -> Deciding[CreatePartitionsResponse]:
    """Add partitions to topics; with ``validate_only``, validate without applying."""
    counts: dict[str, int] = {}
    for topic in request.topics:
        counts[topic.name] = counts.get(topic.name, 0) + 1
        yield
    results = [
        CreatePartitionsTopicResult(
            name=name,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="Duplicate topic name.",
        )
        for name, count in counts.items()
        if count > 1
    ]
    records: list[Message] = []
    wanted = [topic for topic in request.topics if counts[topic.name] == 1]
    for topic in wanted:
        result = CreatePartitionsTopicResult(name=topic.name, error_message=None)
        try:
            added = yield from _added_partitions(state, topic)
            check_record_count(len(records) + len(added))
            records += added
        except ApiError as error:
            result.error_code = error.code
            result.error_message = error.message
        results.append(result)
        yield
    if request.validate_only:
        records = []
    return Outcome(records, CreatePartitionsResponse(results=results))


def _added_partitions(state: ControllerState, topic: CreatePartitionsTopic) -> Steps[list[Message]]:
    image = state.image.topics_by_name.get(topic.name)
    if image is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    present = len(image.partitions)
    if topic.count == present:
        message = f"Topic already has {present} partition(s)."
        raise ApiError(ErrorCode.INVALID_PARTITIONS, message)
    if topic.count < present:
        message = (
            f"The topic {topic.name} currently has {present} partition(s); "
            f"{topic.count} would not be an increase."
        )
        raise ApiError(ErrorCode.INVALID_PARTITIONS, message)
    additional = topic.count - present
    # Before anything is placed: the count comes from the client and may be in the billions.
    check_record_count(additional)
    factor = len(image.partitions[0].replicas)
    if topic.assignments is None:
        partitions = place_partitions(state, additional, factor)
    else:
        partitions = yield from _assigned(state, topic, image, additional, factor)
    return [
        registration.to_record(image.id, present + index)
        for index, registration in enumerate(partitions)
    ]


def _assigned(
    state: ControllerState,
    topic: CreatePartitionsTopic,
    image: TopicImage,
    additional: int,
    factor: int,
) -> Steps[list[PartitionRegistration]]:
    assert topic.assignments is not None
    if len(topic.assignments) != additional:
        message = (
            f"Attempted to add {additional} additional partition(s), but only "
            f"{len(topic.assignments)} assignment(s) were specified."
        )
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    partitions = []
    for index, assignment in enumerate(topic.assignments):
        check_manual_assignment(state, assignment.broker_ids, factor)
        registration = registration_of(state, assignment.broker_ids)
        if registration is None:
            message = (
                "All brokers specified in the manual partition assignment for partition "
                f"{len(image.partitions) + index} are fenced or in controlled shutdown."
            )
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        partitions.append(registration)
        yield
    return partitions
