"""Finds out that brokers are dead, for the active controller (see ``controller.liveness``).

It watches the connections over which brokers send heartbeats and fetch the metadata log, and probes
the listeners of those that have none left. What follows from it is decided elsewhere: the pure part
says who is dead, and the controller fences it as if its session had expired.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from moldau.broker.metadata_cache import MetadataCache
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.controller.liveness import UNKNOWN_EPOCH, BrokerLiveness, Suspicion
from moldau.metadata.introduction import Endpoint
from moldau.metadata.registrations import BrokerRegistration
from moldau.network.network import Network
from moldau.network.probe import ProbeResult, probe
from moldau.network.session import Session
from moldau.timers import DeadlineTimer

logger = logging.getLogger(__name__)

# A refusal comes within a round trip. What takes longer tells nothing anyway.
PROBE_TIMEOUT_MS: Final = 1_000

Brokers = Callable[[], Mapping[int, BrokerRegistration]]


class FailureDetection:
    """The connections of brokers to this node. To be used on one event loop."""

    def __init__(
        self, config: BrokerConfig, metadata: MetadataCache, network: Network, clock: Clock
    ) -> None:
        self._node_id = config.node_id
        self._is_enabled = config.moldau_failure_detection_enable
        self._inter_broker = config.inter_broker_listener_name
        self._metadata = metadata
        self._network = network
        self._clock = clock
        self._liveness = BrokerLiveness()
        self._timer = DeadlineTimer(clock, self._look)
        # The number of each connection of a broker.
        self._connections: dict[Session, int] = {}
        self._last_number = 0
        self._probes: dict[asyncio.Task[None], None] = {}
        # The epoch of the last incarnation of each broker that this node has found dead.
        self.dead: dict[int, int] = {}
        # The brokers as the active controller knows them, and what to do about a dead one.
        self._brokers: Brokers = dict
        self._on_dead: Callable[[BrokerRegistration], None] = lambda broker: None

    # Connections

    def seen(self, session: Session, broker_id: int, epoch: int = UNKNOWN_EPOCH) -> None:
        """A request of a broker came over this connection."""
        if not self._is_enabled or broker_id not in self._metadata.image.brokers:
            return
        number = self._connections.get(session)
        is_new = number is None
        if number is None:
            self._last_number = number = self._last_number + 1
            self._connections[session] = number
        self._liveness.connected(number, broker_id, epoch, self._clock.monotonic_ms())
        if is_new:
            session.on_peer_closed(lambda: self._closed(session))

    def _closed(self, session: Session) -> None:
        number = self._connections.pop(session)
        self._liveness.disconnected(number, self._clock.monotonic_ms())
        self._timer.set(self._liveness.deadline_ms)

    def has_left(self, broker_id: int) -> bool:
        """Whether the registered incarnation of a broker has had no connection for a while."""
        broker = self._brokers().get(broker_id)
        return broker is not None and self._liveness.has_left(broker, self._clock.monotonic_ms())

    # Terms

    def begin_term(self, brokers: Brokers, on_dead: Callable[[BrokerRegistration], None]) -> None:
        """This node is the active controller, and ``on_dead`` is called with brokers that died."""
        self._brokers, self._on_dead = brokers, on_dead
        others = {
            each.id: each
            for each in brokers().values()
            if each.id != self._node_id and not each.fenced
        }
        if self._is_enabled:
            self._liveness.begin_term(others, self._clock.monotonic_ms())
            self._timer.set(self._liveness.deadline_ms)

    def end_term(self) -> None:
        self._brokers = dict
        self._liveness.end_term()
        self._timer.cancel()
        for task in list(self._probes):
            task.cancel()

    # Probes

    def _look(self) -> None:
        for suspicion in self._liveness.due(self._clock.monotonic_ms()):
            broker = self._suspect(suspicion)
            if broker is not None and not broker.fenced:
                task = asyncio.get_running_loop().create_task(self._probe(suspicion, broker))
                self._probes[task] = None
                task.add_done_callback(self._probes.pop)
        self._timer.set(self._liveness.deadline_ms)

    def _suspect(self, suspicion: Suspicion) -> BrokerRegistration | None:
        """The broker, if the suspicion is about the incarnation that is registered."""
        broker = self._brokers().get(suspicion.broker_id)
        is_current = broker is not None and broker.epoch == suspicion.broker_epoch
        return broker if is_current and suspicion.broker_id != self._node_id else None

    async def _probe(self, suspicion: Suspicion, broker: BrokerRegistration) -> None:
        is_refused = await self._is_refused(self._listeners_of(broker))
        is_dead = self._liveness.probed(suspicion, is_refused, self._clock.monotonic_ms())
        if is_dead and self._suspect(suspicion) is not None:
            self.dead[broker.id] = broker.epoch
            self._on_dead(broker)
        self._timer.set(self._liveness.deadline_ms)

    def _listeners_of(self, broker: BrokerRegistration) -> Sequence[Endpoint]:
        """Where other nodes reach a broker. Listeners for clients may be known only to them."""
        named = [each for each in broker.endpoints if each.name == self._inter_broker]
        return named or broker.endpoints

    async def _is_refused(self, listeners: Sequence[Endpoint]) -> bool:
        for listener in listeners:
            result = await probe(self._network, listener.host, listener.port, PROBE_TIMEOUT_MS)
            logger.debug("A connect to %s:%d was %s", listener.host, listener.port, result.value)
            if result is not ProbeResult.REFUSED:
                return False
        return bool(listeners)
