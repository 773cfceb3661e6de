"""AlterPartition: a leader asks for another ISR, or reports that it has recovered.

Only the leader knows which replicas have caught up, but only the controller knows which of them
may count: a broker that is fenced, stopping, or restarted since the leader last heard of it does
not join an ISR (KIP-841, KIP-903). Both sides name epochs. A leader with an older one has missed a
change and is refused; one with a newer epoch talks to a controller that is no longer active.
"""

from collections.abc import Sequence

from moldau.controller.leader_changes import is_unclean_election_enabled, partition_change
from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.partition_change import UNCLEAN
from moldau.controller.partition_index import PartitionKey
from moldau.controller.state import ControllerState
from moldau.errors import ErrorCode
from moldau.metadata.image import TopicImage
from moldau.metadata.registrations import (
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    PartitionRegistration,
)
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionData,
    PartitionDataResponse,
    TopicDataResponse,
)

# Up to version 2, the new ISR is a list of broker ids without epochs.
_EPOCHS_VERSION = 3
_ANY_EPOCH = -1


def alter_partition(
    state: ControllerState, request: AlterPartitionRequest, version: int
) -> Deciding[AlterPartitionResponse]:
    """Change the ISR and the recovery state of partitions, as their leader requests.

    Raises:
        ApiError: STALE_BROKER_EPOCH.
    """
    state.broker_with_epoch(request.broker_id, request.broker_epoch)
    alteration = _Alteration(state, request.broker_id, version)
    response = AlterPartitionResponse()
    for wanted_topic in request.topics:
        results = []
        topic = state.image.topics_by_id.get(wanted_topic.topic_id)
        for wanted in wanted_topic.partitions:
            results.append(alteration.alter(topic, wanted))
            yield
        response.topics.append(
            TopicDataResponse(topic_id=wanted_topic.topic_id, partitions=results)
        )
        yield
    return Outcome(alteration.records, response, is_atomic=False)


class _Alteration:
    """Alters the partitions of one request, one after the other."""

    def __init__(self, state: ControllerState, broker_id: int, version: int) -> None:
        self.records: list[Message] = []
        self._state = state
        self._broker_id = broker_id
        self._version = version
        # A partition that the request names twice has a newer epoch the second time.
        self._altered: dict[PartitionKey, PartitionRegistration] = {}

    def alter(self, topic: TopicImage | None, wanted: PartitionData) -> PartitionDataResponse:
        index = wanted.partition_index
        if topic is None:
            return _refused(index, ErrorCode.UNKNOWN_TOPIC_ID)
        registration = self._altered.get((topic.id, index), topic.partitions.get(index))
        if registration is None:
            return _refused(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        isr = self._new_isr(wanted)
        code = _problem(self._state, self._broker_id, registration, wanted, isr)
        if code != ErrorCode.NONE:
            return _refused(index, code)
        change = partition_change(self._state, topic, index, registration)
        if is_unclean_election_enabled(self._state, topic.name):
            change.election = UNCLEAN
        change.isr = tuple(each.broker_id for each in isr)
        change.recovery_state = wanted.leader_recovery_state
        record = change.build()
        if record is not None:
            self.records.append(record)
            registration = registration.merge(record)
            self._altered[topic.id, index] = registration
            if record.leader not in (self._broker_id, NO_LEADER_CHANGE):
                # The new ISR completed a reassignment, and with it another replica leads. The
                # change is made all the same: the error tells the leader to wait for the metadata.
                return _refused(index, ErrorCode.NEW_LEADER_ELECTED)
        return PartitionDataResponse(
            partition_index=index,
            leader_id=registration.leader,
            leader_epoch=registration.leader_epoch,
            isr=list(registration.isr),
            leader_recovery_state=registration.leader_recovery_state,
            partition_epoch=registration.partition_epoch,
        )

    def _new_isr(self, wanted: PartitionData) -> Sequence[BrokerState]:
        if self._version >= _EPOCHS_VERSION:
            return wanted.new_isr_with_epochs
        return [BrokerState(broker_id=each, broker_epoch=_ANY_EPOCH) for each in wanted.new_isr]


def _refused(partition: int, code: ErrorCode) -> PartitionDataResponse:
    return PartitionDataResponse(partition_index=partition, error_code=code)


def _problem(
    state: ControllerState,
    broker_id: int,
    registration: PartitionRegistration,
    wanted: PartitionData,
    isr: Sequence[BrokerState],
) -> ErrorCode:
    """Why the change is refused; NONE if it is not. The order is that of Kafka."""
    if (
        wanted.leader_epoch > registration.leader_epoch
        or wanted.partition_epoch > registration.partition_epoch
    ):
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < registration.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != registration.leader:
        return ErrorCode.INVALID_REQUEST
    if wanted.partition_epoch < registration.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    ids = [each.broker_id for each in isr]
    if not _is_valid_isr(ids, registration) or broker_id not in ids:
        return ErrorCode.INVALID_REQUEST
    if wanted.leader_recovery_state not in (RECOVERED, RECOVERING):
        return ErrorCode.INVALID_REQUEST
    is_recovering = wanted.leader_recovery_state == RECOVERING
    if is_recovering and (len(ids) > 1 or registration.leader_recovery_state == RECOVERED):
        # A leader that may have lost records is alone until it has recovered.
        return ErrorCode.INVALID_REQUEST
    if any(not _is_eligible(state, each) for each in isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _is_valid_isr(isr: Sequence[int], registration: PartitionRegistration) -> bool:
    has_duplicates = len(dict.fromkeys(isr)) != len(isr)
    return not has_duplicates and all(replica in registration.replicas for replica in isr)


def _is_eligible(state: ControllerState, replica: BrokerState) -> bool:
    """Whether the broker may be in an ISR, in the incarnation that the leader knows."""
    broker = state.image.brokers.get(replica.broker_id)
    if broker is None or not broker.is_active:
        return False
    return replica.broker_epoch in (_ANY_EPOCH, broker.epoch)
