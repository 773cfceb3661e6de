"""The connections of this node to the others of the metadata quorum.

Requests of the raft node go out, and their responses go back to it. A request that has no answer
is reported as failed; whether to repeat it is for the raft node to decide.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from moldau.broker.quorum_settings import controller_listener_name
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.network.network import Network
from moldau.network.outgoing import SOFTWARE_NAME, Disconnected, OutboundSettings
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.raft import messages as say
from moldau.raft.effects import Send
from moldau.raft.voters import VoterSet
from moldau.raft.wire_context import WireContext
from moldau.version import VERSION

if TYPE_CHECKING:
    from moldau.network.outbound import Outbound

logger = logging.getLogger(__name__)


class QuorumPeers:
    """The other nodes of the quorum. To be used on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        network: Network | None,
        rng: random.Random,
        report: Callable[[say.Message], None],
        on_lost: Callable[[str, int], None],
    ) -> None:
        """``report`` takes the answers, each as ``Answered`` or ``RequestFailed``; ``on_lost`` is
        called with the address of a node that cannot be reached any more.
        """
        self._config = config
        self._network = network
        self._rng = rng
        self._report = report
        self._on_lost = on_lost
        self._timeout_ms = config.controller_quorum_request_timeout_ms
        # The raft node has pauses of its own between two requests.
        self._settings = OutboundSettings(
            client_id=f"raft-client-{config.node_id}",
            request_timeout_ms=self._timeout_ms,
            reconnect_backoff_ms=config.controller_quorum_retry_backoff_ms,
            reconnect_backoff_max_ms=config.controller_quorum_retry_backoff_ms * 10,
            negotiates=True,
        )
        self._outbounds: dict[tuple[str, int], Outbound] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._context: WireContext

    def open(self, cluster_id: str) -> None:
        listener_name = controller_listener_name(self._config)
        self._context = WireContext(cluster_id, listener_name, timeout_ms=self._timeout_ms)

    def send(self, effect: Send) -> None:
        """Send a request; its answer is reported in a later turn of the loop."""
        # Imported late: a node that is alone needs none of it.
        from moldau.raft.wire import encode_request

        peer = effect.peer
        message = encode_request(effect.request, self._context)
        if isinstance(message, ApiVersionsRequest):
            message = ApiVersionsRequest(SOFTWARE_NAME, VERSION)
        answer = self._to(peer.host, peer.port).post(message, None, self._timeout_ms)
        answer.add_done_callback(lambda future: self._on_answer(effect, future))

    def is_connected(self, endpoints: say.Endpoints) -> bool:
        """Whether there is a connection to a node that listens there."""
        address = self._context.address(endpoints)
        outbound = None if address is None else self._outbounds.get((address.host, address.port))
        return outbound is not None and outbound.is_connected

    def count_connected(self, voters: VoterSet) -> int:
        """The number of voters to which this node has a connection."""
        return sum(self.is_connected(voters.endpoints(voter_id)) for voter_id in voters.ids)

    def _to(self, host: str, port: int) -> "Outbound":
        outbound = self._outbounds.get((host, port))
        if outbound is None:
            assert self._network is not None, f"there is no network to reach {host}:{port}"
            from moldau.network.outbound import Outbound

            outbound = Outbound(self._network, host, port, self._settings, self._rng, logger)
            self._outbounds[host, port] = outbound
        return outbound

    def _on_answer(self, effect: Send, future: "asyncio.Future[Message]") -> None:
        from moldau.raft.wire import decode_response

        error = ErrorCode.BROKER_NOT_AVAILABLE
        if not future.cancelled() and isinstance(future.exception(), ValueError):
            # The version of the other node cannot express it, as a pre-vote before version 2.
            error = ErrorCode.UNSUPPORTED_VERSION
        elif not future.cancelled():
            try:
                response = decode_response(future.result(), self._context)
            except Disconnected:
                self._on_lost(effect.peer.host, effect.peer.port)
            except ApiError as unsupported:
                error = unsupported.code
            else:
                if not isinstance(response, ErrorCode):
                    self._report(say.Answered(effect.request_id, response))
                    return
                error = response
        self._report(say.RequestFailed(effect.request_id, error))

    def close(self) -> None:
        """Close all connections, as soon as the loop runs again."""
        loop = asyncio.get_running_loop()
        for outbound in self._outbounds.values():
            closing = loop.create_task(outbound.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        self._outbounds.clear()

    async def closed(self) -> None:
        """Return when all connections are closed."""
        if self._closing:
            await asyncio.wait(self._closing)
