"""What the active controller knows about brokers that is not in the log.

A broker proves by its heartbeats that it is alive; the time of the last one is not worth a record.
So this state belongs to one term of one controller: it is created when the controller becomes
active and dropped when it resigns, and it is measured in monotonic time.

Rules this module keeps:

* Every broker that is unfenced when the controller becomes active gets a full session from then
  on. Otherwise one that died during the failover would never be fenced (KAFKA-18138).
* A heartbeat counts from its arrival, not from its decision, and only with the broker epoch of
  the registration: an earlier incarnation does not keep a session alive.
* A session ends early if the broker is known to be dead (``liveness``), unless a heartbeat of it
  arrives before it is fenced.
* A controller that was itself stopped or busy adds its delay to every session, because the
  heartbeats of that time are still unread (KAFKA-15019).
"""

from collections.abc import Mapping
from typing import Final

from moldau.metadata.registrations import BrokerRegistration

# A session is looked at this often in its lifetime: a broker is fenced after 112.5 % of it.
LOOKS_PER_SESSION: Final = 8
NEVER_REPORTED: Final = -1


class BrokerSession:
    """The session of one incarnation of a broker."""

    __slots__ = ("epoch", "heard_ms", "is_dead")

    def __init__(self, epoch: int, heard_ms: int) -> None:
        self.epoch = epoch
        self.heard_ms = heard_ms
        # Whether the broker is known to be dead, however recent its last heartbeat is.
        self.is_dead = False


class BrokerSessions:
    """The sessions of all brokers, and the metadata offsets that they have reported."""

    def __init__(
        self,
        timeout_ms: int,
        now_ms: int = 0,
        brokers: Mapping[int, BrokerRegistration] = {},
        offset: int = NEVER_REPORTED,
    ) -> None:
        """``brokers`` are the registrations as of ``offset``, when the term begins."""
        self._timeout_ms = timeout_ms
        self._look_interval_ms = max(1, timeout_ms // LOOKS_PER_SESSION)
        self._sessions: dict[int, BrokerSession] = {}
        self._metadata_offsets: dict[int, int] = {}
        # Where a controlled shutdown is in the log: others must have seen it before it completes.
        self._shutdown_offsets: dict[int, int] = {}
        self.next_look_ms = now_ms + self._look_interval_ms
        for broker in brokers.values():
            if not broker.fenced:
                self._sessions[broker.id] = BrokerSession(broker.epoch, now_ms)
                if broker.in_controlled_shutdown:
                    self._shutdown_offsets[broker.id] = offset

    # Heartbeats

    def heard(self, broker: BrokerRegistration, epoch: int, now_ms: int) -> None:
        """A heartbeat arrived. It extends the session if ``epoch`` is that of the registration."""
        if epoch != broker.epoch:
            return
        session = self._sessions.get(broker.id)
        if session is None or session.epoch != epoch:
            self._sessions[broker.id] = BrokerSession(epoch, now_ms)
        else:
            session.is_dead = False
            session.heard_ms = max(session.heard_ms, now_ms)

    def reported(self, broker_id: int, metadata_offset: int) -> None:
        """The broker has applied the metadata up to an offset. Heartbeats may overtake another."""
        known = self._metadata_offsets.get(broker_id, NEVER_REPORTED)
        self._metadata_offsets[broker_id] = max(known, metadata_offset)

    def is_alive(self, broker: BrokerRegistration, now_ms: int) -> bool:
        """Whether this incarnation has a session that has not expired."""
        session = self._sessions.get(broker.id)
        return (
            session is not None
            and session.epoch == broker.epoch
            and not self._is_expired(session, now_ms)
        )

    def _is_expired(self, session: BrokerSession, now_ms: int) -> bool:
        return session.is_dead or now_ms - session.heard_ms > self._timeout_ms

    def died(self, broker_id: int, epoch: int, now_ms: int) -> None:
        """An incarnation of a broker is known to be dead: its session is over at once."""
        session = self._sessions.get(broker_id)
        if session is not None and session.epoch == epoch:
            session.is_dead = True
            # A look that is overdue stays so: it has to know how late it is.
            self.next_look_ms = min(self.next_look_ms, now_ms)

    def has_died(self, broker_id: int) -> bool:
        """Whether the session of a broker is over because the broker is dead."""
        session = self._sessions.get(broker_id)
        return session is not None and session.is_dead

    def close(self, broker_id: int) -> None:
        """End the session of a broker."""
        self._sessions.pop(broker_id, None)

    # Expiry

    def look(self, now_ms: int) -> list[int]:
        """The brokers whose sessions have expired, the oldest registration first.

        A look that comes late by more than its interval means that this process did not run, and
        that it did not read heartbeats either.
        """
        late_ms = now_ms - self.next_look_ms
        if late_ms > self._look_interval_ms:
            for session in self._sessions.values():
                session.heard_ms = min(session.heard_ms + late_ms, now_ms)
        self.next_look_ms = now_ms + self._look_interval_ms
        return [
            broker_id
            for broker_id, session in self._sessions.items()
            if self._is_expired(session, now_ms)
        ]

    # Controlled shutdown

    def lowest_offset(self, brokers: Mapping[int, BrokerRegistration]) -> int | None:
        """The offset up to which every active broker has the metadata; None if none is active."""
        offsets = [
            self._metadata_offsets.get(broker.id, NEVER_REPORTED)
            for broker in brokers.values()
            if broker.is_active
        ]
        return min(offsets, default=None)

    def shutdown_offset(self, broker_id: int) -> int:
        """The offset that active brokers must reach before the broker may stop."""
        return self._shutdown_offsets.get(broker_id, NEVER_REPORTED)

    # Changes of the registrations, as they are replayed

    def registration_changed(
        self, before: BrokerRegistration | None, after: BrokerRegistration | None, offset: int
    ) -> None:
        """``before`` and ``after`` are the registrations around a change at ``offset``."""
        if after is None:
            if before is not None:
                self._forget(before.id)
            return
        if before is not None and before.epoch != after.epoch:
            self._forget(after.id)
        if after.fenced:
            # The session ends here, unless the broker goes on sending heartbeats.
            if before is not None and not before.fenced:
                self._sessions.pop(after.id, None)
            self._shutdown_offsets.pop(after.id, None)
        elif after.in_controlled_shutdown and after.id not in self._shutdown_offsets:
            self._shutdown_offsets[after.id] = offset

    def _forget(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)
        self._metadata_offsets.pop(broker_id, None)
        self._shutdown_offsets.pop(broker_id, None)
