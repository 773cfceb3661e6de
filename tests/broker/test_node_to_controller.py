"""A request reaches the active controller, wherever it is, and is sent again when that changes."""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from moldau.broker.envelopes import ANONYMOUS, opened
from moldau.broker.node_to_controller import (
    ControllerNode,
    NodeToControllerChannel,
    Unforwardable,
)
from moldau.controller.context import DecisionContext
from moldau.errors import ApiError, ErrorCode
from moldau.network.outbound import OutboundSettings
from moldau.network.server import Server
from moldau.network.session import Handled, Overlapping, Reply, Session
from moldau.network.socket_network import SocketNetwork
from moldau.protocol.header import (
    RequestHeader,
    decode_request_header,
    encode_request_header,
    response_header,
)
from moldau.protocol.message import Message
from moldau.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumResponse,
    PartitionDataResponse,
    TopicDataResponse,
)
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from tests.network.serving import run, run_on_both_loops, serving, until
from tests.network.virtual_time import run_in_virtual_time

NODE_ID = 1
ALLOCATE = AllocateProducerIdsRequest(broker_id=NODE_ID, broker_epoch=5)
CREATE = CreateTopicsRequest(topics=[CreatableTopic(name="t")])
HEADER = RequestHeader(19, 7, 77, "client")
FRAME = encode_request_header(19, 7, 77, "client") + CREATE.encode(7)
CONTEXT = DecisionContext(client_address="10.1.2.3", received_by=NODE_ID)
NOBODY_ACTIVE = ApiError(ErrorCode.NOT_CONTROLLER)


class FakeController:
    """A controller that allocates blocks from ``first`` on, while it is active."""

    def __init__(self, first: int, is_active: bool = True) -> None:
        self.first = first
        self.is_active = is_active
        self.seen: list[int] = []
        self.high_watermark = first
        self.hangs = False
        self.envelope_error = ErrorCode.NONE
        self.node: ControllerNode | None = None
        self.server: Server | None = None

    # In this process.

    async def handle(self, request: Message, version: int, context: DecisionContext) -> Message:
        self.seen.append(request.API_KEY)
        if not self.is_active:
            raise NOBODY_ACTIVE
        return self._answer(request.API_KEY)

    # On another node.

    def on_frame(self, session: Session, frame: bytes) -> Handled:
        header, position = decode_request_header(frame)
        if header.api_key == 18:
            keys = [ApiVersion(key, 0, 2) for key in (18, 55, 67)]
            keys.append(ApiVersion(19, 2, 7))
            keys.append(ApiVersion(58, 0, 0))
            return _reply(header, ApiVersionsResponse(api_keys=keys))
        self.seen.append(header.api_key)
        if self.hangs:
            return Overlapping(asyncio.get_running_loop().create_future())
        if header.api_key == 58:
            return _reply(header, self._open(EnvelopeRequest.decode(frame, position, 0)[0]))
        response: Any = self._answer(header.api_key)
        if not self.is_active:
            failed = response.topics[0] if header.api_key == 19 else response
            failed.error_code = ErrorCode.NOT_CONTROLLER
        return _reply(header, response)

    def _open(self, request: EnvelopeRequest) -> EnvelopeResponse:
        if not self.is_active:
            return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        if self.envelope_error:
            return EnvelopeResponse(error_code=self.envelope_error)
        found = opened(request)
        assert found.client_address == CONTEXT.client_address
        assert found.frame == FRAME
        prefix = response_header(found.header.correlation_id, 19, 7)
        return EnvelopeResponse(response_data=prefix + self._answer(19).encode(7))

    def _answer(self, key: int) -> Message:
        if key == 67:
            return AllocateProducerIdsResponse(producer_id_start=self.first, producer_id_len=1000)
        if key == 55:
            partition = PartitionDataResponse(high_watermark=self.high_watermark)
            topic = TopicDataResponse(topic_name="__cluster_metadata", partitions=[partition])
            return DescribeQuorumResponse(topics=[topic])
        topic_result = CreatableTopicResult(name="t", num_partitions=self.first)
        return CreateTopicsResponse(topics=[topic_result])


def _reply(header: RequestHeader, response: Message) -> Reply:
    prefix = response_header(header.correlation_id, header.api_key, header.api_version)
    return [prefix + response.encode(header.api_version)]


class Cluster:
    """This node, two other controllers, and what this node believes about who leads."""

    def __init__(self, timeout_ms: int = 20_000) -> None:
        self.local = FakeController(1)
        self.others = [FakeController(2), FakeController(3)]
        self.leader: ControllerNode | None = None
        self.channel = NodeToControllerChannel(
            NODE_ID,
            lambda: self.leader,
            self.local,
            SocketNetwork(),
            OutboundSettings("1", negotiates=True, reconnect_backoff_ms=1),
            random.Random(1),
            logging.getLogger("tests.channel"),
            timeout_ms,
        )

    def elect(self, controller: FakeController) -> None:
        self.leader = controller.node
        assert self.leader is not None
        self.channel.on_leader_change(self.leader.id, 1)


@contextlib.asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    made = Cluster()
    made.local.node = ControllerNode(NODE_ID, "unused", 0)
    async with contextlib.AsyncExitStack() as stack:
        for node_id, each in enumerate(made.others, NODE_ID + 1):
            each.server = await stack.enter_async_context(serving(each.on_frame))
            each.node = ControllerNode(node_id, "127.0.0.1", each.server.ports["PLAINTEXT"])
        try:
            yield made
        finally:
            await made.channel.close()


async def allocated(made: Cluster) -> int:
    response = await made.channel.send(ALLOCATE)
    assert isinstance(response, AllocateProducerIdsResponse)
    return response.producer_id_start


async def created(made: Cluster) -> int:
    response = await made.channel.forward(CREATE, FRAME, HEADER, CONTEXT, ANONYMOUS)
    assert isinstance(response, CreateTopicsResponse)
    return response.topics[0].num_partitions


async def committed(made: Cluster) -> int | None:
    return await made.channel.committed_offset(20_000)


async def created_directly(made: Cluster) -> int:
    response = await made.channel.send(CREATE)
    assert isinstance(response, CreateTopicsResponse)
    return response.topics[0].num_partitions


def test_a_request_goes_to_whoever_leads() -> None:
    async def scenario() -> None:
        async with cluster() as made:
            for controller in (made.local, *made.others, made.local):
                made.elect(controller)
                assert await allocated(made) == controller.first
                assert await created(made) == controller.first
            # Only the connection to the last leader is kept.
            await until(lambda: sum(len(each.server.connections) for each in made.others) <= 1)

    run_on_both_loops(scenario)


@pytest.mark.parametrize("ask", [allocated, created, created_directly, committed])
def test_a_request_is_sent_again_to_the_new_controller(ask: Any) -> None:
    async def scenario() -> None:
        async with cluster() as made:
            old, new = made.others
            old.is_active = False
            made.elect(old)
            asking = asyncio.ensure_future(ask(made))
            await until(lambda: len(old.seen) > 0)
            made.elect(new)
            assert await asking == new.first

    run_on_both_loops(scenario)


@pytest.mark.parametrize("ask", [allocated, created, committed])
def test_a_request_survives_the_loss_of_the_connection(ask: Any) -> None:
    async def scenario() -> None:
        async with cluster() as made:
            old, new = made.others
            old.hangs = True
            made.elect(old)
            asking = asyncio.ensure_future(ask(made))
            await until(lambda: len(old.seen) == 1)
            made.leader = new.node
            assert old.server is not None
            for connection in old.server.connections:
                connection.close("test")
            assert await asking == new.first

    run_on_both_loops(scenario)


@pytest.mark.parametrize("ask", [allocated, created, committed])
def test_a_request_does_not_wait_for_a_controller_that_was_replaced(ask: Any) -> None:
    async def scenario() -> None:
        async with cluster() as made:
            hanging, new = made.others
            hanging.hangs = True
            made.elect(hanging)
            asking = asyncio.ensure_future(ask(made))
            await until(lambda: len(hanging.seen) == 1)
            # Its connection stays open: the process is stopped, but its kernel is not.
            made.elect(new)
            assert await asking == new.first

    run_on_both_loops(scenario)


@pytest.mark.parametrize("ask", [allocated, created, committed])
def test_a_local_controller_that_is_not_active_yet_is_asked_again(ask: Any) -> None:
    async def scenario() -> None:
        async with cluster() as made:
            made.local.is_active = False
            made.elect(made.local)
            asking = asyncio.ensure_future(ask(made))
            await until(lambda: len(made.local.seen) > 1)
            made.local.is_active = True
            assert await asking == made.local.first

    run(scenario)


def test_a_request_waits_for_a_leader_to_be_known() -> None:
    async def scenario() -> None:
        async with cluster() as made:
            asking = asyncio.ensure_future(allocated(made))
            await asyncio.sleep(0)
            made.elect(made.others[0])
            assert await asking == made.others[0].first

    run(scenario)


def test_an_error_that_is_not_about_who_leads_is_raised() -> None:
    async def scenario() -> None:
        async with cluster() as made:
            made.elect(made.others[0])
            made.others[0]._answer = lambda key: AllocateProducerIdsResponse(  # type: ignore[method-assign]
                error_code=ErrorCode.STALE_BROKER_EPOCH
            )
            with pytest.raises(ApiError) as caught:
                await made.channel.send(ALLOCATE)
            assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH

    run(scenario)


@pytest.mark.parametrize(
    "code", [ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
)
def test_clients_see_no_error_of_the_envelope(code: ErrorCode) -> None:
    async def scenario() -> None:
        async with cluster() as made:
            made.others[0].envelope_error = code
            made.elect(made.others[0])
            with pytest.raises(ApiError) as caught:
                await created(made)
            assert caught.value.code == ErrorCode.UNKNOWN_SERVER_ERROR

    run(scenario)


def test_a_version_that_the_controller_does_not_have_ends_the_connection_of_the_client() -> None:
    async def scenario() -> None:
        async with cluster() as made:
            made.others[0].envelope_error = ErrorCode.UNSUPPORTED_VERSION
            made.elect(made.others[0])
            with pytest.raises(Unforwardable):
                await created(made)

    run(scenario)


def test_the_committed_offset_is_that_of_the_controller() -> None:
    async def scenario() -> None:
        async with cluster() as made:
            assert await made.channel.committed_offset(1) is None
            for controller in (made.local, *made.others):
                made.elect(controller)
                assert made.channel.is_local == (controller is made.local)
                assert await committed(made) == controller.first

    run(scenario)


def test_a_controller_that_has_committed_nothing_yet_is_asked_again() -> None:
    async def scenario() -> None:
        async with cluster() as made:
            new = made.others[0]
            new.high_watermark = -1
            made.elect(new)
            asking = asyncio.ensure_future(committed(made))
            await until(lambda: len(new.seen) > 1)
            assert not asking.done()
            new.high_watermark = 7
            assert await asking == 7

    run(scenario)


def test_without_a_controller_a_request_times_out() -> None:
    async def scenario() -> None:
        made = Cluster(timeout_ms=60_000)
        begin_s = asyncio.get_running_loop().time()
        for ask in (allocated, created):
            with pytest.raises(ApiError) as caught:
                await ask(made)
            assert caught.value.code == ErrorCode.REQUEST_TIMED_OUT
        assert asyncio.get_running_loop().time() - begin_s == pytest.approx(120)
        await made.channel.close()

    run_in_virtual_time(scenario)


def test_closing_ends_every_request() -> None:
    async def scenario() -> None:
        async with cluster() as made:
            made.others[0].hangs = True
            made.elect(made.others[0])
            asking = asyncio.ensure_future(allocated(made))
            await until(lambda: made.others[0].seen == [67])
            await made.channel.close()
            with pytest.raises(ApiError) as caught:
                await asking
            assert caught.value.code == ErrorCode.REQUEST_TIMED_OUT

    run_on_both_loops(scenario)
