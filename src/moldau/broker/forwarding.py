"""Sends requests that change the cluster to the active controller, on behalf of clients.

Any broker takes these requests. A client that was told "created" may ask the same broker for the
topic right away, so the answer is passed on when the change is not only committed but also here.
Apache Kafka does not wait for that; its clients have to try again.

If the controller is on another node, this one learns how far it has to catch up by asking it for
the end of the committed log, after the answer: the change is before it. If that controller ends
in between, the next one is asked, which has all that was committed.
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

from moldau.broker.envelopes import ANONYMOUS
from moldau.broker.metadata_publisher import MetadataPublisher
from moldau.broker.node_to_controller import NodeToControllerChannel, Unforwardable
from moldau.broker.replica_manager import ReplicaManager
from moldau.controller.context import DecisionContext
from moldau.network.session import CloseConnection
from moldau.protocol.header import encode_request_header
from moldau.protocol.message import Message

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

# A node that needs longer to catch up answers all the same.
CATCH_UP_TIMEOUT_MS: Final = 5_000


class Forwarding:
    """Passes requests to the active controller, in this process or elsewhere."""

    def __init__(
        self,
        node_id: int,
        channel: NodeToControllerChannel,
        publisher: MetadataPublisher,
        replicas: ReplicaManager,
    ) -> None:
        self._node_id = node_id
        self._channel = channel
        self._publisher = publisher
        self._replicas = replicas

    async def change(self, request: Message, context: "RequestContext") -> Any:
        """Forward a request of a client; the response comes when its effect is here.

        Raises:
            ApiError: the request failed as a whole.
            CloseConnection: the controller does not have this version of the API.
        """
        was_local = self._channel.is_local
        response = await self.read(request, context)
        await self._catch_up(was_local)
        return response

    async def read(self, request: Message, context: "RequestContext") -> Any:
        """Forward a request of a client that changes nothing."""
        header = context.header
        try:
            return await self._channel.forward(
                request,
                context.frame,
                header,
                DecisionContext(
                    principal=str(ANONYMOUS),
                    client_address=context.session.peer_host,
                    listener=context.session.listener,
                    received_by=self._node_id,
                ),
                ANONYMOUS,
            )
        except Unforwardable as error:
            raise CloseConnection(str(error)) from error

    def replace(self, request: Message, context: "RequestContext") -> None:
        """Let ``request`` be what is forwarded, instead of what the client sent."""
        header = context.header
        context.frame = encode_request_header(
            header.api_key, header.api_version, header.correlation_id, header.client_id
        ) + request.encode(header.api_version)

    async def send(self, request: Message) -> Any:
        """Send a request of this broker that changes what its clients see."""
        was_local = self._channel.is_local
        response = await self._channel.send(request)
        await self._catch_up(was_local)
        return response

    async def _catch_up(self, was_local: bool) -> None:
        """Return when what the controller has committed is applied here.

        A controller in this process has answered when it was; ``was_local`` if there was one.
        """
        if not was_local or not self._channel.is_local:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CATCH_UP_TIMEOUT_MS / 1000):
                    await self._wait_for_committed()
        await self._replicas.settled()

    async def _wait_for_committed(self) -> None:
        end_offset = await self._channel.committed_offset(CATCH_UP_TIMEOUT_MS)
        if end_offset is not None:
            publisher = self._publisher
            await publisher.wait_until(lambda: publisher.next_offset >= end_offset)
