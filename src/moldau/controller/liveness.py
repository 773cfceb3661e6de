"""Which brokers are dead, long before their sessions expire: what their connections tell.

A broker that is killed cannot say goodbye, but its machine does so in its place: it closes the
connections of the process, and refuses new ones. This takes milliseconds, where a session takes
seconds. Neither fact is proof by itself: proxies reset connections, and a listener may refuse for a
moment. So the active controller takes a broker for dead only if all of this is true:

* every connection of this broker to this controller has closed;
* none has come back within ``QUIET_MS``; for a controller that has just become active, to which a
  broker has to connect first, within ``NEW_TERM_MS``;
* two connects to its registered listener are refused, at least ``PROBE_PAUSE_MS`` apart.

Any other answer to a connect, or none, means that nothing is known: then the session decides. A
process that is stopped, a machine that hangs or is cut off, and a listener that still accepts all
end like this.

A connection belongs to a broker once it has carried a request with its id. Requests with a broker
epoch say which incarnation it is. A fetch of the metadata log has no epoch: it counts for the
incarnation that is connected; if none is, it may come from the next one. It is then no reason to
think that the earlier incarnation lives, but reason enough not to fence anybody.
"""

from collections.abc import Mapping
from typing import Final

from moldau.metadata.registrations import BrokerRegistration

QUIET_MS: Final = 150
NEW_TERM_MS: Final = 300
PROBE_PAUSE_MS: Final = 100
REFUSALS_NEEDED: Final = 2
UNKNOWN_EPOCH: Final = -1


class Suspicion:
    """One silence of an incarnation. It is over when the broker connects, or by a probe."""

    __slots__ = ("broker_epoch", "broker_id", "probe_ms", "refusals")

    def __init__(self, broker_id: int, broker_epoch: int, probe_ms: int) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        # When to probe the listener next; None while a probe is under way.
        self.probe_ms: int | None = probe_ms
        self.refusals = 0


class _Traces:
    """What one broker id has left here."""

    __slots__ = ("epoch", "left_ms", "own", "suspicion", "unclaimed")

    def __init__(self, left_ms: int) -> None:
        # The incarnation that the rest is about.
        self.epoch = UNKNOWN_EPOCH
        # Its open connections, and those that may be its successor's.
        self.own: dict[int, None] = {}
        self.unclaimed: dict[int, None] = {}
        # Since when it has no connection, if it has none.
        self.left_ms = left_ms
        self.suspicion: Suspicion | None = None

    @property
    def is_silent(self) -> bool:
        return not self.own and not self.unclaimed


class BrokerLiveness:
    """The connections of all brokers to this node, and the suspicions of its current term."""

    def __init__(self) -> None:
        self._traces: dict[int, _Traces] = {}
        # The broker of each open connection.
        self._brokers: dict[int, int] = {}
        self._is_active = False

    # Terms

    def begin_term(self, brokers: Mapping[int, BrokerRegistration], now_ms: int) -> None:
        """This node is the active controller from now on; ``brokers`` are all that exist."""
        self._is_active = True
        for broker_id, broker in brokers.items():
            traces = self._traces.setdefault(broker_id, _Traces(now_ms))
            if broker.epoch > traces.epoch:
                # It registered with another controller. Which incarnation connected is not known.
                traces.epoch = broker.epoch
                traces.unclaimed.update(traces.own)
                traces.own.clear()
            if not traces.own:
                # It has had no time to connect: its silence begins when that time is over.
                traces.left_ms = now_ms + NEW_TERM_MS - QUIET_MS
            if traces.is_silent:
                traces.suspicion = Suspicion(broker_id, traces.epoch, now_ms + NEW_TERM_MS)

    def end_term(self) -> None:
        self._is_active = False
        for traces in self._traces.values():
            traces.suspicion = None

    # Connections

    def connected(self, connection: int, broker_id: int, epoch: int, now_ms: int) -> None:
        """A request of a broker came over a connection; the epoch may be unknown."""
        if self._brokers.get(connection, broker_id) != broker_id:
            # It is not that of a broker, but of somebody who speaks for several.
            self.disconnected(connection, now_ms)
        traces = self._traces.setdefault(broker_id, _Traces(now_ms))
        self._brokers[connection] = broker_id
        if epoch == UNKNOWN_EPOCH:
            if traces.own:
                traces.own[connection] = None
            else:
                traces.unclaimed[connection] = None
        elif epoch < traces.epoch:
            # An earlier incarnation: it says nothing about the current one.
            return
        else:
            if epoch > traces.epoch:
                traces.own.clear()
                traces.epoch = epoch
            traces.own.update(traces.unclaimed)
            traces.unclaimed.clear()
            traces.own[connection] = None
        traces.suspicion = None

    def disconnected(self, connection: int, now_ms: int) -> None:
        """A connection is closed."""
        broker_id = self._brokers.pop(connection, None)
        if broker_id is None:
            return
        traces = self._traces[broker_id]
        if connection in traces.own:
            del traces.own[connection]
            if not traces.own:
                traces.left_ms = now_ms
        elif connection in traces.unclaimed:
            del traces.unclaimed[connection]
        else:
            return
        if self._is_active and traces.is_silent:
            traces.suspicion = Suspicion(broker_id, traces.epoch, now_ms + QUIET_MS)

    def has_left(self, broker: BrokerRegistration, now_ms: int) -> bool:
        """Whether this incarnation has had no connection for a while.

        Connections without an epoch do not count here: they may be those of its successor, which
        is about to register.
        """
        traces = self._traces.get(broker.id)
        if not self._is_active or traces is None:
            return False
        is_connected = bool(traces.own) and traces.epoch == broker.epoch
        return not is_connected and now_ms - traces.left_ms >= QUIET_MS

    # Probes

    @property
    def deadline_ms(self) -> int | None:
        """When ``due`` has something to return; None if no broker is to be probed."""
        waiting = [
            traces.suspicion.probe_ms
            for traces in self._traces.values()
            if traces.suspicion is not None and traces.suspicion.probe_ms is not None
        ]
        return min(waiting, default=None)

    def due(self, now_ms: int) -> list[Suspicion]:
        """The brokers to probe now: one connect to each, whose result goes to ``probed``."""
        found = []
        for traces in self._traces.values():
            suspicion = traces.suspicion
            if suspicion is None or suspicion.probe_ms is None or now_ms < suspicion.probe_ms:
                continue
            suspicion.probe_ms = None
            found.append(suspicion)
        return found

    def probed(self, suspicion: Suspicion, is_refused: bool, now_ms: int) -> bool:
        """A probe has ended; returns whether the broker is dead."""
        traces = self._traces[suspicion.broker_id]
        if traces.suspicion is not suspicion:
            # The broker has connected since.
            return False
        if not is_refused:
            # From here on its session decides, unless it connects and is lost again.
            traces.suspicion = None
            return False
        suspicion.refusals += 1
        if suspicion.refusals < REFUSALS_NEEDED:
            suspicion.probe_ms = now_ms + PROBE_PAUSE_MS
            return False
        traces.suspicion = None
        return True
