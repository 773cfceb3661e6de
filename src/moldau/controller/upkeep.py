"""What the active controller does without a request.

* It fences brokers whose sessions have expired or that are dead, one per decision, so that each
  decision sees the effects of the one before.
* It elects, once in a term, the leaders that its predecessor was about to elect: a broker is
  unfenced first, and then gets its partitions, in parts.
* It gives leadership back to preferred replicas (``auto.leader.rebalance.enable``).
* It elects leaders uncleanly where a topic allows it and no other way is left.

All but the second have an interval. A round is limited; what remains is due again immediately.
"""

from typing import Final

from moldau.controller.brokers import fence
from moldau.controller.elections import (
    elect_missing_leaders,
    elect_preferred_leaders,
    elect_unclean_leaders,
)
from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.state import ControllerState
from moldau.metadata.registrations import BrokerRegistration
from moldau.protocol.message import Message

# Kafka has an internal setting for it, unclean.leader.election.interval.ms.
UNCLEAN_ELECTION_INTERVAL_MS: Final = 300_000
MAX_ELECTIONS_PER_ROUND: Final = 1000
_NEVER: Final = 1 << 62


class Upkeep:
    """The deadlines of one term."""

    def __init__(self, state: ControllerState, now_ms: int) -> None:
        self._state = state
        config = state.config
        self._preferred_interval_ms = config.leader_imbalance_check_interval_seconds * 1000
        is_balancing = config.auto_leader_rebalance_enable
        self._preferred_ms = now_ms + self._preferred_interval_ms if is_balancing else _NEVER
        self._unclean_ms = now_ms + UNCLEAN_ELECTION_INTERVAL_MS
        self._missing_ms = state.sessions.next_look_ms

    @property
    def deadline_ms(self) -> int:
        looks_ms = self._state.sessions.next_look_ms
        return min(looks_ms, self._missing_ms, self._preferred_ms, self._unclean_ms)

    def due(self, now_ms: int) -> Deciding[str | None]:
        """The most urgent of what is due, and what it is, for the log of the node."""
        state = self._state
        if now_ms >= state.sessions.next_look_ms:
            for broker_id in state.sessions.look(now_ms):
                broker = state.image.brokers[broker_id]
                if broker.fenced:
                    state.sessions.close(broker_id)
                    continue
                # There may be more, and this one may not be written: look again at once.
                state.sessions.next_look_ms = now_ms
                has_died = state.sessions.has_died(broker_id)
                records = yield from fence(state, broker)
                message = _fenced(broker, len(records) - 1, has_died)
                return Outcome(records, message, is_atomic=False)
        if now_ms >= self._missing_ms:
            records = yield from elect_missing_leaders(state, MAX_ELECTIONS_PER_ROUND)
            if records:
                # There may be more, and these may not be written: look again at once.
                return _elected(records, "the leaders that they were about to get")
            self._missing_ms = _NEVER
        if now_ms >= self._preferred_ms:
            records = yield from elect_preferred_leaders(state, MAX_ELECTIONS_PER_ROUND)
            if len(records) < MAX_ELECTIONS_PER_ROUND:
                self._preferred_ms = now_ms + self._preferred_interval_ms
            return _elected(records, "their preferred leaders back")
        if now_ms >= self._unclean_ms:
            records = yield from elect_unclean_leaders(state, MAX_ELECTIONS_PER_ROUND)
            if len(records) < MAX_ELECTIONS_PER_ROUND:
                self._unclean_ms = now_ms + UNCLEAN_ELECTION_INTERVAL_MS
            return _elected(records, "unclean leaders: they may lose records")
        return Outcome([], None)


def _fenced(broker: BrokerRegistration, partitions: int, has_died: bool) -> str:
    reason = "it has closed all connections and refuses new ones"
    if not has_died:
        reason = "its session has timed out"
    return (
        f"broker {broker.id} at epoch {broker.epoch} is fenced because {reason}; "
        f"it leaves the ISR of {partitions} partition(s)"
    )


def _elected(records: list[Message], what: str) -> Outcome[str | None]:
    message = f"{len(records)} partition(s) get {what}" if records else None
    return Outcome(records, message, is_atomic=False)
