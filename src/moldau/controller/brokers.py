"""Fencing, unfencing and controlled shutdown: what happens to the partitions of a broker.

A registered broker starts fenced: it is known but leads nothing. It is unfenced when it has
seen its own registration, and then leads the partitions without a leader. A broker that stops
announces it, gives up its leaderships, and is fenced. So is one whose session expires.

These decisions take one step per partition, since a broker may have thousands.
"""

from moldau.controller.leader_changes import broker_added, broker_lost_records, broker_removed
from moldau.controller.outcome import Deciding, Outcome, Steps
from moldau.controller.state import ControllerState, check_record_count
from moldau.errors import ErrorCode
from moldau.metadata.registrations import BrokerRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from moldau.protocol.records.metadata import (
    BrokerRegistrationChangeRecord,
    UnregisterBrokerRecord,
)


def fence(state: ControllerState, broker: BrokerRegistration) -> Steps[list[Message]]:
    """Remove the broker from every ISR, then fence it."""
    records = yield from broker_removed(state, broker.id)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=1
    )
    return [*records, change]


def unfence(state: ControllerState, broker: BrokerRegistration) -> Steps[list[Message]]:
    """Unfence the broker, then let it lead partitions without a leader."""
    change = BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=-1
    )
    records = yield from broker_added(state, broker.id)
    return [change, *records]


def begin_controlled_shutdown(
    state: ControllerState, broker: BrokerRegistration
) -> Steps[list[Message]]:
    """Move the leaderships of a broker to others before it stops, then record that it does.

    The others know that it leads nothing any more when they know that it is stopping.
    """
    records = yield from broker_removed(state, broker.id)
    if not broker.in_controlled_shutdown:
        records.append(
            BrokerRegistrationChangeRecord(
                broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1
            )
        )
    return records


def after_shutdown(state: ControllerState, broker_id: int, is_clean: bool) -> Steps[list[Message]]:
    """The consequences of how the previous incarnation of a broker ended.

    A broker that returns after an unclean shutdown may have lost unflushed records. With eligible
    leader replicas (KIP-966) it therefore leaves every ISR and ELR before it is registered again;
    where it was the last leader, it is elected again, as an unclean leader that has to recover.
    """
    if state.image.is_elr_enabled and not is_clean:
        return broker_lost_records(state, broker_id)
    return broker_removed(state, broker_id)


def unregister_broker(
    state: ControllerState, request: UnregisterBrokerRequest
) -> Deciding[UnregisterBrokerResponse]:
    """Remove a broker that will not return.

    Raises:
        ApiError: POLICY_VIOLATION if it is in the ISR of too many partitions.
    """
    broker = state.image.brokers.get(request.broker_id)
    if broker is None:
        response = UnregisterBrokerResponse(
            error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
            error_message=f"Broker ID {request.broker_id} is not currently registered",
        )
        return Outcome([], response)
    records = yield from broker_removed(state, broker.id)
    records.append(UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch))
    check_record_count(len(records))
    return Outcome(records, UnregisterBrokerResponse(), is_atomic=False)
