"""The connections of this broker to the listeners of other brokers.

Coordinators of transactions use them (WriteTxnMarkers), and leaders of partitions
(AddPartitionsToTxn). All requests to a broker share one connection, which is opened with the first
of them and opened again when it is lost, with exponential back-off.

Rules this module keeps:

* A connection belongs to one incarnation of a broker, at one address. A broker that has restarted
  or moved gets a new one, which does not inherit the back-off of its predecessor.
* A request is sent at most once. Whether to send it again is for the sender to decide.
"""

import asyncio
import logging
import random
from typing import TYPE_CHECKING, NamedTuple

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.metadata_cache import MetadataCache
from moldau.network.network import Network
from moldau.network.outgoing import Disconnected, OutboundSettings
from moldau.protocol.message import Message

if TYPE_CHECKING:
    from moldau.network.outbound import Outbound

logger = logging.getLogger(__name__)


class _Instance(NamedTuple):
    """A broker as it was registered when the connection was made."""

    host: str
    port: int
    incarnation_id: bytes


class BrokerChannels:
    """The way to each of the other brokers. To be used on one event loop."""

    def __init__(
        self,
        network: Network,
        metadata: MetadataCache,
        configs: DynamicConfig,
        rng: random.Random,
    ) -> None:
        self._network = network
        self._metadata = metadata
        self._configs = configs
        self._rng = rng
        config = configs.static
        self._settings = OutboundSettings(
            client_id=f"broker-{config.node_id}-transactions",
            request_timeout_ms=config.request_timeout_ms,
            connection_setup_timeout_ms=config.socket_connection_setup_timeout_ms,
            connection_setup_timeout_max_ms=config.socket_connection_setup_timeout_max_ms,
        )
        self._outbounds: dict[int, tuple[_Instance, Outbound]] = {}
        # Connections that are being closed, in order: a simulation must replay.
        self._closing: dict[asyncio.Task[None], None] = {}
        self._is_closed = False

    async def send(
        self, node_id: int, request: Message, version: int, timeout_ms: int | None = None
    ) -> Message:
        """Send ``request`` to the inter-broker listener of a broker, and return its response.

        Without ``timeout_ms`` the response is awaited for ``request.timeout.ms``.

        Raises:
            Disconnected: the broker is not known, was not reached, or has not answered.
        """
        return await self._to(node_id).send(request, version, timeout_ms)

    def close(self) -> None:
        """Fail every request that has no response; ``closed`` waits for the end of it."""
        self._is_closed = True
        for _, outbound in self._outbounds.values():
            self._hang_up(outbound)
        self._outbounds.clear()

    async def closed(self) -> None:
        if self._closing:
            await asyncio.wait(list(self._closing))

    def _to(self, node_id: int) -> "Outbound":
        if self._is_closed:
            raise Disconnected(f"this broker is stopping, nothing is sent to broker {node_id}")
        instance = self._instance(node_id)
        known = self._outbounds.get(node_id)
        if known is not None:
            if known[0] == instance:
                return known[1]
            self._hang_up(known[1])
            del self._outbounds[node_id]
        if instance is None:
            listener = self._configs.static.inter_broker_listener_name
            raise Disconnected(f"broker {node_id} is not registered with a listener {listener}")
        from moldau.network.outbound import Outbound

        outbound = Outbound(
            self._network, instance.host, instance.port, self._settings, self._rng, logger
        )
        self._outbounds[node_id] = (instance, outbound)
        return outbound

    def _instance(self, node_id: int) -> _Instance | None:
        broker = self._metadata.image.brokers.get(node_id)
        if broker is None:
            return None
        endpoint = broker.endpoint(self._configs.static.inter_broker_listener_name)
        if endpoint is None:
            return None
        return _Instance(endpoint.host, endpoint.port, broker.incarnation_id)

    def _hang_up(self, outbound: "Outbound") -> None:
        closing = asyncio.get_running_loop().create_task(outbound.close())
        self._closing[closing] = None
        closing.add_done_callback(self._closing.pop)
