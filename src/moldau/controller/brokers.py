"""The life cycle of brokers: registration, fencing, controlled shutdown, unregistration.

A registered broker starts fenced: it is known but leads nothing. It is unfenced when it has
caught up with the log, and then leads the partitions without a leader. A broker that stops
announces it, gives up its leaderships, and is fenced.

A broker that returns after an unclean shutdown may have lost unflushed records. With eligible
leader replicas (KIP-966) it is therefore removed from every ISR and ELR before it is registered
again; where it was the last leader, it is elected again, as an unclean leader that has to recover.
"""

from moldau.controller.directories import directories_offline
from moldau.controller.leader_changes import leader_and_isr_changes
from moldau.controller.outcome import Outcome
from moldau.controller.state import ControllerState
from moldau.errors import ApiError, ErrorCode
from moldau.ids import uuid_to_str
from moldau.metadata.features import (
    METADATA_3_7_IV2,
    METADATA_4_3_IV0,
    METADATA_VERSION,
    VersionRange,
)
from moldau.metadata.introduction import endpoints_of, features_of
from moldau.metadata.registrations import (
    RECOVERED,
    RECOVERING,
    BrokerRegistration,
    ControllerRegistration,
    is_reserved_directory,
)
from moldau.protocol.message import Message
from moldau.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from moldau.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from moldau.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from moldau.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from moldau.protocol.records.metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    UnregisterBrokerRecord,
)

PRODUCER_ID_BLOCK_SIZE = 1000
_MAX_INT64 = (1 << 63) - 1


def register_broker(
    state: ControllerState, request: BrokerRegistrationRequest, next_offset: int
) -> Outcome[BrokerRegistrationResponse]:
    """Register a broker, fenced. Its epoch is ``next_offset``, the end of the log.

    Raises:
        ApiError: INCONSISTENT_CLUSTER_ID, INVALID_REGISTRATION, UNSUPPORTED_VERSION.
    """
    if request.cluster_id != state.cluster_id:
        message = f"Expected cluster ID {state.cluster_id}, but got cluster ID {request.cluster_id}"
        raise ApiError(ErrorCode.INCONSISTENT_CLUSTER_ID, message)
    if request.is_migrating_zk_broker:
        message = "Controller does not support registering ZK brokers."
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
    _check_log_dirs(state, request)
    features = features_of(request.features)
    _check_features(state, features)
    existing = state.image.brokers.get(request.broker_id)
    records: list[Message] = []
    epoch, fenced, in_shutdown = next_offset, True, False
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        epoch, fenced = existing.epoch, existing.fenced
        in_shutdown = existing.in_controlled_shutdown
    elif existing is not None:
        is_clean = request.previous_broker_epoch == existing.epoch
        records += _after_shutdown(state, request.broker_id, is_clean)
    has_directories = state.image.metadata_version >= METADATA_3_7_IV2
    registration = BrokerRegistration(
        id=request.broker_id,
        epoch=epoch,
        incarnation_id=request.incarnation_id,
        endpoints=endpoints_of(request.listeners),
        features=features,
        rack=request.rack,
        fenced=fenced,
        in_controlled_shutdown=in_shutdown,
        log_dirs=tuple(request.log_dirs) if has_directories else (),
        cordoned_log_dirs=None,
    )
    # The registration comes last: until it is written, all of this can be repeated.
    records.append(registration.to_record())
    return Outcome(records, BrokerRegistrationResponse(broker_epoch=epoch))


def _check_log_dirs(state: ControllerState, request: BrokerRegistrationRequest) -> None:
    if state.image.metadata_version < METADATA_3_7_IV2:
        return

    def invalid(reason: str) -> ApiError:
        return ApiError(ErrorCode.INVALID_REGISTRATION, reason)

    if not request.log_dirs:
        raise invalid("No directories specified in request")
    if any(is_reserved_directory(directory) for directory in request.log_dirs):
        raise invalid("Reserved directory ID in request")
    if len(dict.fromkeys(request.log_dirs)) != len(request.log_dirs):
        raise invalid("Duplicate directory ID in request")
    for broker in state.image.brokers.values():
        for directory in request.log_dirs:
            if broker.id != request.broker_id and directory in broker.log_dirs:
                name = uuid_to_str(directory)
                raise invalid(f"Broker {broker.id} is already registered with directory {name}")


def _check_features(state: ControllerState, features: dict[str, VersionRange]) -> None:
    """Check that the broker supports every finalised feature level."""
    if METADATA_VERSION not in features:
        message = f"Request features do not contain '{METADATA_VERSION}'"
        raise ApiError(ErrorCode.INVALID_REGISTRATION, message)
    for name in {**features, **dict(state.image.features)}:
        finalized = state.image.features.get(name, 0)
        supported = features.get(name, VersionRange(0, 0))
        # The quorum checks kraft.version.
        if finalized not in supported and name != "kraft.version":
            message = (
                "Unable to register because the broker does not support finalized version "
                f"{finalized} of {name}. The broker wants a version between "
                f"{supported.min_version} and {supported.max_version}, inclusive."
            )
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)


def register_controller(
    state: ControllerState, request: ControllerRegistrationRequest
) -> Outcome[ControllerRegistrationResponse]:
    """Record the listeners and supported features of a controller."""
    registration = ControllerRegistration(
        id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        endpoints=endpoints_of(request.listeners),
        features=features_of(request.features),
    )
    return Outcome([registration.to_record()], ControllerRegistrationResponse(error_message=None))


def broker_heartbeat(
    state: ControllerState, request: BrokerHeartbeatRequest
) -> Outcome[BrokerHeartbeatResponse]:
    """Fence, unfence or shut down a broker, as its heartbeat requests.

    Raises:
        ApiError: STALE_BROKER_EPOCH if it is from an earlier incarnation.
    """
    broker = state.broker_with_epoch(request.broker_id, request.broker_epoch)
    is_caught_up = request.current_metadata_offset >= broker.epoch
    records: list[Message] = []
    fenced = broker.fenced
    should_shut_down = False
    if request.want_shut_down:
        if not broker.fenced and not broker.in_controlled_shutdown:
            records += begin_controlled_shutdown(state, broker)
        elif not broker.fenced and not _leads_any(state, broker.id):
            records += fence(state, broker)
            fenced = True
        should_shut_down = fenced
    elif request.want_fence:
        if not broker.fenced:
            records += fence(state, broker)
        fenced = True
    elif broker.fenced and is_caught_up:
        records += unfence(state, broker)
        fenced = False
    if request.offline_log_dirs and state.image.metadata_version >= METADATA_3_7_IV2:
        records += directories_offline(state, broker, request.offline_log_dirs)
    cordoned = request.cordoned_log_dirs
    if cordoned is not None and state.image.metadata_version >= METADATA_4_3_IV0:
        records += _cordon(broker, tuple(cordoned))
    response = BrokerHeartbeatResponse(
        is_caught_up=is_caught_up, is_fenced=fenced, should_shut_down=should_shut_down
    )
    return Outcome(records, response)


def _leads_any(state: ControllerState, broker_id: int) -> bool:
    return any(registration.leader == broker_id for _, _, registration in state.partitions())


def _cordon(broker: BrokerRegistration, cordoned: tuple[bytes, ...]) -> list[Message]:
    known = broker.cordoned_log_dirs
    # Before the first report nothing is known, so that even an empty list is a change.
    if known is not None and set(known) == set(cordoned):
        return []
    return [
        BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=list(cordoned)
        )
    ]


def fence(state: ControllerState, broker: BrokerRegistration) -> list[Message]:
    """Remove the broker from every ISR, then fence it."""
    records = list(leader_and_isr_changes(state, to_remove=broker.id))
    change = BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=1
    )
    return [*records, change]


def unfence(state: ControllerState, broker: BrokerRegistration) -> list[Message]:
    """Unfence the broker, then let it lead partitions without a leader."""
    change = BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=-1
    )
    return [change, *leader_and_isr_changes(state, to_add=broker.id)]


def begin_controlled_shutdown(state: ControllerState, broker: BrokerRegistration) -> list[Message]:
    """Move the leaderships of a broker to others before it stops."""
    records: list[Message] = []
    if not broker.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1
            )
        )
    return [*records, *leader_and_isr_changes(state, to_remove=broker.id)]


def _after_shutdown(state: ControllerState, broker_id: int, is_clean: bool) -> list[Message]:
    """The consequences of how the previous incarnation of a broker ended."""
    if state.image.is_elr_enabled and not is_clean:
        return list(leader_and_isr_changes(state, unclean=broker_id))
    return list(leader_and_isr_changes(state, to_remove=broker_id))


def mark_recovered(state: ControllerState, broker_id: int) -> list[Message]:
    """Mark the partitions that ``broker_id`` leads as recovered.

    A leader recovers by serving the records it has, so it reports recovery as soon as it
    leads.
    """
    return [
        PartitionChangeRecord(
            topic_id=topic.id, partition_id=partition, leader_recovery_state=RECOVERED
        )
        for topic, partition, registration in state.partitions()
        if registration.leader == broker_id and registration.leader_recovery_state == RECOVERING
    ]


def unregister_broker(
    state: ControllerState, request: UnregisterBrokerRequest
) -> Outcome[UnregisterBrokerResponse]:
    """Remove a broker that will not return."""
    broker = state.image.brokers.get(request.broker_id)
    if broker is None:
        response = UnregisterBrokerResponse(
            error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
            error_message=f"Broker ID {request.broker_id} is not currently registered",
        )
        return Outcome([], response)
    records = list(leader_and_isr_changes(state, to_remove=broker.id))
    record = UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    return Outcome([*records, record], UnregisterBrokerResponse(error_message=None))


def allocate_producer_ids(
    state: ControllerState, request: AllocateProducerIdsRequest
) -> Outcome[AllocateProducerIdsResponse]:
    """Allocate the next thousand producer ids to a broker.

    Raises:
        ApiError: STALE_BROKER_EPOCH.
    """
    state.broker_with_epoch(request.broker_id, request.broker_epoch)
    first = max(0, state.image.next_producer_id)
    if first > _MAX_INT64 - PRODUCER_ID_BLOCK_SIZE:
        message = f"all producer ids up to {first} have been allocated"
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=first + PRODUCER_ID_BLOCK_SIZE,
    )
    response = AllocateProducerIdsResponse(
        producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK_SIZE
    )
    return Outcome([record], response)
