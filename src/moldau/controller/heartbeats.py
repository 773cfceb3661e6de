"""BrokerHeartbeat: the states of a broker, and how its heartbeats change them.

    FENCED ──has seen its registration──► UNFENCED ──wants to stop──► CONTROLLED_SHUTDOWN
       ▲                                     │  leads nothing, or wants      leads nothing, │
       └─────────wants to be fenced──────────┤  to be fenced and to stop      others know it │
                                             └──────────► SHUTDOWN_NOW ◄────────────────────┘

A broker is unfenced when it has replayed up to its own registration, not up to the end of the
log: a busy log would always be ahead of it (KAFKA-13959). A broker that stops waits until the
active ones know that it leads nothing any more, so that no client is sent to it.
"""

from enum import Enum

from moldau.controller.brokers import begin_controlled_shutdown, fence, unfence
from moldau.controller.directories import directories_offline
from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.state import ControllerState
from moldau.metadata.features import METADATA_3_7_IV2, METADATA_4_3_IV0
from moldau.metadata.registrations import BrokerRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from moldau.protocol.records.metadata import BrokerRegistrationChangeRecord


class BrokerControlState(Enum):
    """Kafka's names for the states of a broker."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"

    @property
    def is_fenced(self) -> bool:
        return self in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)


FENCED = BrokerControlState.FENCED
UNFENCED = BrokerControlState.UNFENCED
CONTROLLED_SHUTDOWN = BrokerControlState.CONTROLLED_SHUTDOWN
SHUTDOWN_NOW = BrokerControlState.SHUTDOWN_NOW


def broker_heartbeat(
    state: ControllerState, request: BrokerHeartbeatRequest, now_ms: int
) -> Deciding[BrokerHeartbeatResponse]:
    """Extend the session of a broker, and fence, unfence or stop it as it requests.

    Raises:
        ApiError: STALE_BROKER_EPOCH if it is from an earlier incarnation.
    """
    broker = state.broker_with_epoch(request.broker_id, request.broker_epoch)
    state.sessions.heard(broker, request.broker_epoch, now_ms)
    state.sessions.reported(broker.id, request.current_metadata_offset)
    is_caught_up = request.current_metadata_offset >= state.registration_offset(broker.id)
    has_directories = state.image.metadata_version >= METADATA_3_7_IV2
    offline = request.offline_log_dirs if has_directories else []
    after = _next_state(state, broker, request, is_caught_up)
    if broker.fenced and after is UNFENCED and any(each in broker.log_dirs for each in offline):
        # With the next heartbeat, when it is known which of its replicas may lead.
        after = FENCED
    records: list[Message] = []
    if after.is_fenced:
        if not broker.fenced:
            records = yield from fence(state, broker)
        elif after is SHUTDOWN_NOW:
            # It has said goodbye: its next incarnation need not wait for the end of a session.
            state.sessions.close(broker.id)
    elif after is UNFENCED:
        if broker.fenced:
            records = yield from unfence(state, broker)
    elif not broker.in_controlled_shutdown or state.index.leads_any(broker.id):
        records = yield from begin_controlled_shutdown(state, broker)
    if offline:
        records += yield from directories_offline(state, broker, offline)
    cordoned = request.cordoned_log_dirs
    if cordoned is not None and state.image.metadata_version >= METADATA_4_3_IV0:
        records += _cordon(broker, tuple(cordoned))
    response = BrokerHeartbeatResponse(
        is_caught_up=is_caught_up,
        is_fenced=after.is_fenced,
        should_shut_down=after is SHUTDOWN_NOW,
    )
    return Outcome(records, response, is_atomic=False)


def _next_state(
    state: ControllerState,
    broker: BrokerRegistration,
    request: BrokerHeartbeatRequest,
    is_caught_up: bool,
) -> BrokerControlState:
    if broker.fenced:
        if request.want_shut_down:
            return SHUTDOWN_NOW
        # One that was stopping returns only by registering again: a heartbeat from before its
        # shutdown may have been overtaken, and would make a stopped broker lead.
        is_waiting = request.want_fence or broker.in_controlled_shutdown
        return UNFENCED if is_caught_up and not is_waiting else FENCED
    if broker.in_controlled_shutdown:
        return SHUTDOWN_NOW if _may_stop(state, broker) else CONTROLLED_SHUTDOWN
    if request.want_fence:
        return SHUTDOWN_NOW if request.want_shut_down else FENCED
    if request.want_shut_down:
        return CONTROLLED_SHUTDOWN if state.index.leads_any(broker.id) else SHUTDOWN_NOW
    return UNFENCED


def _may_stop(state: ControllerState, broker: BrokerRegistration) -> bool:
    """Whether a broker in controlled shutdown leads nothing, and all active brokers know it."""
    if state.index.leads_any(broker.id):
        return False
    lowest = state.sessions.lowest_offset(state.image.brokers)
    return lowest is None or lowest >= state.sessions.shutdown_offset(broker.id)


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
