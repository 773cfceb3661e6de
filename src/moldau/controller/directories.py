"""The assignment of replicas to log directories (KIP-858).

A broker with several disks chooses the directory of a replica and reports it to the controller.
When a disk fails, the broker reports only the directory, and the controller knows the affected
partitions: those assigned to it. They get another leader, or none.

A failed directory returns only with a new registration, that is after a restart.
"""

from collections.abc import Sequence

from moldau.controller.leader_changes import broker_removed, partition_change
from moldau.controller.outcome import Deciding, Outcome, Steps
from moldau.controller.partition_change import without
from moldau.controller.partition_index import PartitionKey
from moldau.controller.state import ControllerState
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.features import METADATA_3_7_IV2
from moldau.metadata.registrations import BrokerRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryDataResponse,
    PartitionDataResponse,
    TopicDataResponse,
)
from moldau.protocol.records.metadata import BrokerRegistrationChangeRecord


def assign_replicas_to_dirs(
    state: ControllerState, request: AssignReplicasToDirsRequest
) -> Deciding[AssignReplicasToDirsResponse]:
    """Record the directories of a broker's replicas.

    Raises:
        ApiError: STALE_BROKER_EPOCH; UNSUPPORTED_VERSION before metadata.version 3.7-IV2.
    """
    if state.image.metadata_version < METADATA_3_7_IV2:
        message = "Directory assignment is not supported yet."
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
    broker = state.broker_with_epoch(request.broker_id, request.broker_epoch)
    records: list[Message] = []
    response = AssignReplicasToDirsResponse()
    # What the request names twice is assigned once.
    named: dict[PartitionKey, bytes] = {}
    for directory in request.directories:
        topics = []
        for topic in directory.topics:
            results = []
            for wanted in topic.partitions:
                index = wanted.partition_index
                code = ErrorCode.NONE
                if named.get((topic.topic_id, index)) != directory.id:
                    code = _assign(state, broker, directory.id, topic.topic_id, index, records)
                if code == ErrorCode.NONE:
                    named[topic.topic_id, index] = directory.id
                results.append(PartitionDataResponse(partition_index=index, error_code=code))
                yield
            topics.append(TopicDataResponse(topic_id=topic.topic_id, partitions=results))
            yield
        response.directories.append(DirectoryDataResponse(id=directory.id, topics=topics))
        yield
    return Outcome(records, response, is_atomic=False)


def _assign(
    state: ControllerState,
    broker: BrokerRegistration,
    directory_id: bytes,
    topic_id: bytes,
    index: int,
    records: list[Message],
) -> ErrorCode:
    topic = state.image.topics_by_id.get(topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    registration = topic.partitions.get(index)
    if registration is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker.id not in registration.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    change = partition_change(state, topic, index, registration)
    change.directories[broker.id] = directory_id
    if not broker.has_online_dir(directory_id):
        change.isr = without(registration.isr, broker.id)
    record = change.build()
    if record is not None:
        records.append(record)
    return ErrorCode.NONE


def directories_offline(
    state: ControllerState, broker: BrokerRegistration, offline: Sequence[bytes]
) -> Steps[list[Message]]:
    """Directories of the broker failed: move the leadership of their replicas.

    The registration changes last, and only for directories that it still names: a broker
    repeats the report until it is acknowledged.
    """
    reported = dict.fromkeys(offline)
    failed = [directory_id for directory_id in broker.log_dirs if directory_id in reported]
    if not failed:
        return []
    records: list[Message] = []
    for directory_id in failed:
        records += yield from broker_removed(state, broker.id, directory_id)
    online = [directory_id for directory_id in broker.log_dirs if directory_id not in reported]
    change = BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=online
    )
    return [*records, change]
