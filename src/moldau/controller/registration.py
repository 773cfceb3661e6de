"""BrokerRegistration and ControllerRegistration.

Each start of a broker is an incarnation with an id of its own. The first registration of an
incarnation gets a new broker epoch, which all its later requests carry; so requests of an earlier
one are recognised. Registering again with the same incarnation keeps the epoch: the first
response may have been lost (KAFKA-16952).

While an earlier incarnation has a session, another cannot register: it may be a second process
with the same id. It need not wait if it has evidently taken the place of the earlier one: that has
closed all its connections and has not come back, and the new one has locked one of its directories,
and listens at its address. Each of the three excludes that both run, unless something is set up
wrongly: a process cannot lock a directory, or listen, where another one does.
"""

from collections.abc import Mapping, Sequence

from moldau.controller.brokers import after_shutdown
from moldau.controller.context import DecisionContext
from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.state import ControllerState
from moldau.errors import ApiError, ErrorCode
from moldau.ids import uuid_to_str
from moldau.metadata.features import (
    KRAFT_VERSION,
    METADATA_3_7_IV0,
    METADATA_3_7_IV2,
    METADATA_VERSION,
    VersionRange,
)
from moldau.metadata.introduction import endpoints_of, features_of
from moldau.metadata.registrations import (
    BrokerRegistration,
    ControllerRegistration,
    is_reserved_directory,
)
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from moldau.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)

# From this version on, a broker sends its epoch before a clean shutdown.
_CLEAN_SHUTDOWN_VERSION = 3
# More than any node has. Every node keeps the registrations of all others, and goes through the
# directories of a broker whenever one of its replicas changes.
MAX_LISTED = 1_000


def register_broker(
    state: ControllerState,
    request: BrokerRegistrationRequest,
    version: int,
    context: DecisionContext,
    now_ms: int,
) -> Deciding[BrokerRegistrationResponse]:
    """Register a broker, fenced. Its epoch is the end of the log.

    Raises:
        ApiError: INCONSISTENT_CLUSTER_ID, DUPLICATE_BROKER_REGISTRATION, INVALID_REGISTRATION,
            UNSUPPORTED_VERSION.
    """
    if request.cluster_id != state.cluster_id:
        message = f"Expected cluster ID {state.cluster_id}, but got cluster ID {request.cluster_id}"
        raise ApiError(ErrorCode.INCONSISTENT_CLUSTER_ID, message)
    existing = state.image.brokers.get(request.broker_id)
    is_same = existing is not None and existing.incarnation_id == request.incarnation_id
    if existing is not None and not is_same:
        _check_session(state, existing, request, context, now_ms)
    if request.is_migrating_zk_broker:
        message = "Controller does not support registering ZK brokers."
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
    _check_counts(request.listeners, request.features, request.log_dirs)
    _check_log_dirs(state, request)
    features = features_of(request.features)
    _check_features(state, features, context.kraft_version)
    records: list[Message] = []
    epoch, fenced, in_shutdown = context.next_offset, True, False
    if existing is not None and is_same:
        epoch, fenced = existing.epoch, existing.fenced
        in_shutdown = existing.in_controlled_shutdown
    else:
        # Even an unregistered broker may still be among the eligible leaders.
        previous = -1 if version < _CLEAN_SHUTDOWN_VERSION else request.previous_broker_epoch
        is_clean = existing is not None and previous == existing.epoch
        records += yield from after_shutdown(state, request.broker_id, is_clean)
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
    return Outcome(records, BrokerRegistrationResponse(broker_epoch=epoch), is_atomic=False)


def _check_session(
    state: ControllerState,
    existing: BrokerRegistration,
    request: BrokerRegistrationRequest,
    context: DecisionContext,
    now_ms: int,
) -> None:
    # The earlier incarnation of this node's own broker ended with the process before this one.
    is_over = context.is_local and existing.id == state.node_id
    if not is_over and context.has_predecessor_left:
        is_over = _is_in_the_place_of(existing, request)
    if not is_over and state.sessions.is_alive(existing, now_ms):
        message = (
            "Another broker is registered with that broker id. If the broker was recently "
            "restarted this should self-resolve once the heartbeat manager expires the broker's "
            "session."
        )
        raise ApiError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, message)


def _is_in_the_place_of(existing: BrokerRegistration, request: BrokerRegistrationRequest) -> bool:
    """Whether a broker has a directory and an address of the one that is registered."""
    addresses = [(endpoint.host, endpoint.port) for endpoint in existing.endpoints]
    has_directory = any(each in existing.log_dirs for each in request.log_dirs)
    has_address = any((each.host, each.port) in addresses for each in request.listeners)
    return has_directory and has_address


def _check_counts(*lists: Sequence[object]) -> None:
    for listed in lists:
        if len(listed) > MAX_LISTED:
            message = f"at most {MAX_LISTED} listeners, features or directories, not {len(listed)}"
            raise ApiError(ErrorCode.INVALID_REGISTRATION, message)


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


def _check_features(
    state: ControllerState, features: Mapping[str, VersionRange], kraft_version: int
) -> None:
    """Check that the broker supports every finalised feature level."""
    finalized = {**state.image.features, KRAFT_VERSION: kraft_version}
    for name, supported in features.items():
        _check_feature(name, finalized.get(name, 0), supported)
    if METADATA_VERSION not in features:
        message = f"Request features do not contain '{METADATA_VERSION}'"
        raise ApiError(ErrorCode.INVALID_REGISTRATION, message)
    for name, level in finalized.items():
        if name not in features:
            _check_feature(name, level, VersionRange(0, 0))


def _check_feature(name: str, finalized: int, supported: VersionRange) -> None:
    if finalized not in supported:
        message = (
            "Unable to register because the broker does not support finalized version "
            f"{finalized} of {name}. The broker wants a version between "
            f"{supported.min_version} and {supported.max_version}, inclusive."
        )
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)


def register_controller(
    state: ControllerState, request: ControllerRegistrationRequest
) -> Deciding[ControllerRegistrationResponse]:
    """Record the listeners and supported features of a controller.

    Raises:
        ApiError: UNSUPPORTED_VERSION before metadata.version 3.7-IV0, INVALID_REGISTRATION.
    """
    yield
    _check_counts(request.listeners, request.features)
    if state.image.metadata_version < METADATA_3_7_IV0:
        message = "The current MetadataVersion is too old to support controller registrations."
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
    registration = ControllerRegistration(
        id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        endpoints=endpoints_of(request.listeners),
        features=features_of(request.features),
    )
    return Outcome([registration.to_record()], ControllerRegistrationResponse())
