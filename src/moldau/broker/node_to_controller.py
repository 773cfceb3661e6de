"""The way of requests to the active controller, wherever it is.

A request is handled in this process if this node is the active controller, and sent over a
connection otherwise. Who is active can change while a request is under way, so a channel tries
again, as Kafka's NodeToControllerChannelManager does: when the connection is lost, when the answer
is NOT_CONTROLLER, and when nobody is known to lead, until the time of the request is over.

A request may therefore be handled twice, if the first controller failed after it had handled it and
before it answered. Requests are made for this: creating a topic a second time fails, and a
heartbeat, a registration or an assignment says what is, not what to add.

A channel has one connection. Requests on it are answered in order, so whoever must not wait for the
requests of clients, such as heartbeats, has a channel of its own.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from moldau.broker.dispatch import ERROR_PER_ITEM_KEYS
from moldau.broker.envelopes import Principal, envelope, response_in
from moldau.broker.quorum_listener import QuorumListener
from moldau.controller.context import DecisionContext
from moldau.errors import ApiError, ErrorCode
from moldau.ids import METADATA_TOPIC
from moldau.network.backoff import Backoff
from moldau.network.network import Network
from moldau.network.outgoing import Disconnected, OutboundSettings
from moldau.protocol.header import RequestHeader
from moldau.protocol.message import Message, Struct
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from moldau.protocol.messages.envelope import EnvelopeResponse
from moldau.protocol.primitives import MalformedMessage

if TYPE_CHECKING:
    from moldau.network.outbound import Outbound

# The pauses between two attempts; a new leader ends them.
FIRST_PAUSE_MS: Final = 20
MAX_PAUSE_MS: Final = 100
# Kafka's timeout for requests of clients.
RETRY_TIMEOUT_MS: Final = 60_000

T = TypeVar("T")


class ControllerNode(NamedTuple):
    """The node that leads the metadata quorum, and where it listens for other nodes."""

    id: int
    host: str
    port: int


class LocalController(Protocol):
    """The controller of this process, which may be the active one."""

    async def handle(self, request: Message, version: int, context: DecisionContext) -> Any:
        """The response, when what it says is committed.

        Raises:
            ApiError: NOT_CONTROLLER if it is not active, or is no longer before the commit;
                else the error of the whole request.
        """
        ...


class NodeToControllerChannel(QuorumListener):
    """One channel to the active controller. To be used on one event loop."""

    def __init__(
        self,
        node_id: int,
        find_controller: Callable[[], ControllerNode | None],
        local: LocalController,
        network: Network,
        settings: OutboundSettings,
        rng: random.Random,
        logger: logging.Logger,
        retry_timeout_ms: int = RETRY_TIMEOUT_MS,
    ) -> None:
        """``find_controller`` returns the leader of the quorum, if it is known."""
        self._node_id = node_id
        self._find_controller = find_controller
        self._local = local
        self._network = network
        self._settings = settings
        self._rng = rng
        self._logger = logger
        self._retry_timeout_ms = retry_timeout_ms
        self._outbound: Outbound | None = None
        # In order, because a simulation must replay.
        self._closing: dict[asyncio.Task[None], None] = {}
        self._paused: list[asyncio.Future[None]] = []
        # Called when an established connection is lost, or closed for a new leader.
        self.on_lost: Callable[[], None] | None = None
        self._is_closed = False

    async def send(
        self, request: Message, version: int | None = None, timeout_ms: int | None = None
    ) -> Any:
        """The response to a request of this node.

        Without a version, the newest is used that both nodes support.

        Raises:
            ApiError: the error of the response as a whole, if it has one; REQUEST_TIMED_OUT if no
                active controller answered in time.
        """
        newest = type(request).MAX_VERSION if version is None else version
        # The earlier incarnation of this node's broker ended with the process before this one.
        context = DecisionContext(is_local=True, received_by=self._node_id)

        async def ask(node: ControllerNode) -> Any:
            if node.id == self._node_id:
                response = await self._local.handle(request, newest, context)
            else:
                response = await self._remote(node).send(request, version)
            _raise_error_of(response)
            return response

        return await self._answered(ask, timeout_ms)

    async def forward(
        self,
        request: Message,
        frame: bytes,
        header: RequestHeader,
        context: DecisionContext,
        principal: Principal,
    ) -> Any:
        """The response to a request of a client, which is in ``frame`` as it was sent.

        Raises:
            ApiError: REQUEST_TIMED_OUT; UNKNOWN_SERVER_ERROR if the controller refused the
                envelope; if it is in this process, the error of the whole request.
            Unforwardable: the controller does not have this version of the API.
        """

        async def ask(node: ControllerNode) -> Any:
            if node.id == self._node_id:
                return await self._local.handle(request, header.api_version, context)
            enclosed = envelope(frame, principal, context.client_address)
            response = await self._remote(node).send(enclosed, 0)
            assert isinstance(response, EnvelopeResponse)
            return self._opened(response, header)

        return await self._answered(ask, None)

    @property
    def is_local(self) -> bool:
        """Whether this node leads the quorum."""
        node = self._find_controller()
        return node is not None and node.id == self._node_id

    async def committed_offset(self, timeout_ms: int) -> int | None:
        """The end of what is committed, as the active controller knows it: the next one, if one
        ends meanwhile. None if none has answered in time.
        """
        topic = TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData()])
        request = DescribeQuorumRequest(topics=[topic])
        context = DecisionContext(is_local=True, received_by=self._node_id)

        async def ask(node: ControllerNode) -> int:
            if node.id == self._node_id:
                response = await self._local.handle(request, request.MAX_VERSION, context)
            else:
                response = await self._remote(node).send(request)
            high_watermark = _high_watermark(response)
            if high_watermark < 0:
                # It leads no more, or has committed nothing of its epoch yet.
                raise ApiError(ErrorCode.NOT_CONTROLLER)
            return high_watermark

        try:
            return await self._answered(ask, timeout_ms)
        except ApiError:
            return None

    def on_leader_change(self, leader_id: int, leader_epoch: int) -> None:
        """Requests that wait for another node to lead, or for one that leads no more, try again.

        A node that was replaced because it hangs will not answer them.
        """
        node = self._find_controller()
        if node is not None and not self._is_connected_to(node):
            self._disconnect()
        self._wake()

    def hang_up(self) -> None:
        """Like ``close``, without waiting for the connection."""
        self._is_closed = True
        self._disconnect()
        self._wake()

    def _wake(self) -> None:
        paused, self._paused = self._paused, []
        for pause in paused:
            if not pause.done():
                pause.set_result(None)

    async def close(self) -> None:
        """Close the connection; requests that have no answer fail with REQUEST_TIMED_OUT."""
        self.hang_up()
        if self._closing:
            await asyncio.wait(list(self._closing))

    # --- trying again ---

    async def _answered(
        self, ask: Callable[[ControllerNode], Awaitable[T]], timeout_ms: int | None
    ) -> T:
        if timeout_ms is None:
            timeout_ms = self._retry_timeout_ms
        pauses = Backoff(FIRST_PAUSE_MS, MAX_PAUSE_MS, self._rng)
        reason = "no node is known to lead the metadata quorum"
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while not self._is_closed:
                    node = self._find_controller()
                    if node is not None:
                        try:
                            return await ask(node)
                        except Disconnected as error:
                            reason = str(error)
                        except ApiError as error:
                            if error.code != ErrorCode.NOT_CONTROLLER:
                                raise
                            reason = error.message or f"node {node.id} is not active"
                    await self._pause(pauses.next_ms())
        except TimeoutError:
            pass
        message = f"the active controller did not answer in {timeout_ms} ms: {reason}"
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, message)

    async def _pause(self, delay_ms: float) -> None:
        """Return after the delay, or when another node may lead."""
        pause: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._paused.append(pause)
        await asyncio.wait([pause], timeout=delay_ms / 1000)
        pause.cancel()
        if pause in self._paused:
            self._paused.remove(pause)

    # --- the connection ---

    def _remote(self, node: ControllerNode) -> "Outbound":
        """The connection to ``node``; the one to its predecessor is closed."""
        if self._outbound is not None and self._is_connected_to(node):
            return self._outbound
        self._disconnect()
        self._logger.info("The active controller is node %d at %s:%d", *node)
        # Imported late: a node that is alone needs none of it.
        from moldau.network.outbound import Outbound

        self._outbound = outbound = Outbound(
            self._network,
            node.host,
            node.port,
            self._settings,
            self._rng,
            self._logger,
            on_closed=self._on_closed,
        )
        return outbound

    def _on_closed(self, error: Disconnected) -> None:
        if self.on_lost is not None and not self._is_closed:
            self.on_lost()

    def _is_connected_to(self, node: ControllerNode) -> bool:
        outbound = self._outbound
        return outbound is not None and (outbound.host, outbound.port) == (node.host, node.port)

    def _disconnect(self) -> None:
        if self._outbound is not None:
            closing = asyncio.get_running_loop().create_task(self._outbound.close())
            self._closing[closing] = None
            closing.add_done_callback(self._closing.pop)
            self._outbound = None

    def _opened(self, response: EnvelopeResponse, header: RequestHeader) -> Message:
        """The response in an envelope; errors of the envelope are not for clients, as in Kafka."""
        try:
            return response_in(response, header)
        except ApiError as error:
            if error.code == ErrorCode.NOT_CONTROLLER:
                raise
            if error.code == ErrorCode.UNSUPPORTED_VERSION:
                raise Unforwardable(str(error)) from error
            reason: Exception = error
        except MalformedMessage as error:
            reason = error
        self._logger.error("A forwarded request has no answer: %s", reason)
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from reason


class Unforwardable(Exception):  # noqa: N818  # says what the request is
    """The controller does not have this version of the API: the client has to ask again for the
    versions, so its connection is closed.
    """


def _high_watermark(response: DescribeQuorumResponse) -> int:
    """The high watermark of the metadata; -1 if the answer does not have it."""
    for topic in response.topics:
        for partition in topic.partitions:
            if not response.error_code and not partition.error_code:
                return partition.high_watermark
    return -1


def _raise_error_of(response: Message) -> None:
    code = getattr(response, "error_code", 0)
    if code:
        raise ApiError(ErrorCode(code), getattr(response, "error_message", None) or None)
    if response.API_KEY in ERROR_PER_ITEM_KEYS and _has_item_of_another(response):
        raise ApiError(ErrorCode.NOT_CONTROLLER)


def _has_item_of_another(struct: Struct) -> bool:
    """Whether any item of a response says that another node is the active controller."""
    if getattr(struct, "error_code", 0) == ErrorCode.NOT_CONTROLLER:
        return True
    lists = [getattr(struct, name) for name in struct.FIELDS]
    return any(
        isinstance(item, Struct) and _has_item_of_another(item)
        for items in lists
        if isinstance(items, list)
        for item in items
    )
