"""A change that another node decides is answered when it is here."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from moldau.broker.dispatch import Dispatcher, RequestContext
from moldau.broker.forwarding import Forwarding
from moldau.broker.node import Node
from moldau.broker.node_to_controller import ControllerNode, NodeToControllerChannel
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.network.outbound import OutboundSettings
from moldau.network.session import Session
from moldau.network.socket_network import SocketNetwork
from moldau.network.turns import Turns
from moldau.protocol.header import RequestHeader, encode_request_header
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.network.serving import run, until

OTHER_NODE = 2


class Follower:
    """What a broker on another node knows: the test decides how far it has caught up."""

    def __init__(self) -> None:
        self.next_offset = 0
        self.settled_count = 0
        self.is_waited_for = False
        self._changed = asyncio.Event()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.is_waited_for = True
            self._changed.clear()
            await self._changed.wait()

    def catch_up(self, next_offset: int) -> None:
        self.next_offset = next_offset
        self._changed.set()

    async def settled(self) -> None:
        self.settled_count += 1


class Other:
    """The forwarding of another node to the controller of a real one."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.follower = Follower()
        controller = ControllerNode(1, "127.0.0.1", node.ports["CONTROLLER"])
        self.channel = NodeToControllerChannel(
            OTHER_NODE,
            lambda: self._find(controller),
            node.metadata.controller_apis,
            SocketNetwork(),
            OutboundSettings(str(OTHER_NODE), negotiates=True),
            random.Random(1),
            logging.getLogger("tests.forwarding"),
        )
        follower: Any = self.follower
        self.forwarding = Forwarding(OTHER_NODE, self.channel, follower, follower)
        # Between controllers, nobody is known to lead.
        self.is_gone = False
        self.looked_for = 0

    def _find(self, controller: ControllerNode) -> ControllerNode | None:
        self.looked_for += self.is_gone
        return None if self.is_gone else controller

    def context(self, request: Any, version: int) -> RequestContext:
        header = RequestHeader(request.API_KEY, version, 77, "client")
        dispatcher = Dispatcher([], Turns())
        context = RequestContext(dispatcher, Session("10.1.2.3", 5, "PLAINTEXT"), header)
        prefix = encode_request_header(request.API_KEY, version, 77, "client")
        context.frame = prefix + request.encode(version)
        return context


@asynccontextmanager
async def two_nodes(data_dir: Path) -> AsyncIterator[Other]:
    properties = {
        "log.dirs": str(data_dir),
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "advertised.listeners": "PLAINTEXT://127.0.0.1:0",
    }
    node = Node(BrokerConfig.from_properties(properties))
    await node.start()
    other = Other(node)
    try:
        yield other
    finally:
        await other.channel.close()
        await node.stop()


def creation(*names: str) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=topics)


def test_the_answer_comes_when_the_change_is_committed_and_here(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_nodes(tmp_path) as other:
            request = creation("t")
            context = other.context(request, 7)
            changing = asyncio.ensure_future(other.forwarding.change(request, context))
            publisher = other.node.metadata.publisher
            await until(lambda: other.follower.is_waited_for)
            # The controller has answered, but this node has not caught up.
            assert "t" in publisher.image.topics_by_name
            assert not changing.done()
            assert other.follower.settled_count == 0
            other.follower.catch_up(publisher.next_offset)
            response = await changing
            assert response.topics[0].error_code == 0
            assert other.follower.settled_count == 1

    run(scenario)


def test_what_changes_nothing_does_not_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_nodes(tmp_path) as other:
            request = creation("t")
            request.validate_only = True
            response = await other.forwarding.read(request, other.context(request, 7))
            assert response.topics[0].error_code == 0

    run(scenario)


def test_a_node_that_does_not_catch_up_answers_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moldau.broker.forwarding.CATCH_UP_TIMEOUT_MS", 10)

    async def scenario() -> None:
        async with two_nodes(tmp_path) as other:
            request = creation("t")
            response = await other.forwarding.change(request, other.context(request, 7))
            assert response.topics[0].error_code == 0

    run(scenario)


def test_if_the_controller_ends_after_its_answer_the_next_one_says_what_is_committed(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with two_nodes(tmp_path) as other:
            request = creation("t")
            changing = asyncio.ensure_future(
                other.forwarding.change(request, other.context(request, 7))
            )
            publisher = other.node.metadata.publisher
            # It is gone before it can be asked how far its answer goes.
            await until(lambda: "t" in publisher.image.topics_by_name)
            other.is_gone = True
            await until(lambda: other.looked_for > 3)
            assert not changing.done()
            other.is_gone = False
            await until(lambda: other.follower.is_waited_for)
            other.follower.catch_up(publisher.next_offset)
            assert (await changing).topics[0].error_code == 0

    run(scenario)


def test_what_is_forwarded_can_be_replaced(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_nodes(tmp_path) as other:
            other.follower.catch_up(1 << 40)
            asked = creation("asked")
            context = other.context(asked, 7)
            other.forwarding.replace(creation("replaced"), context)
            response = await other.forwarding.change(creation("replaced"), context)
            assert [each.name for each in response.topics] == ["replaced"]
            assert "asked" not in other.node.metadata.image.topics_by_name

    run(scenario)


def test_requests_of_the_broker_itself_wait_as_well(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_nodes(tmp_path) as other:
            other.follower.catch_up(1 << 40)
            response = await other.forwarding.send(creation("own"))
            assert response.topics[0].error_code == 0
            assert other.follower.settled_count == 1

    run(scenario)


def test_the_controller_knows_which_broker_a_client_has_asked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_nodes(tmp_path) as other:
            other.follower.catch_up(1 << 40)
            config = AlterableConfig(name="log.cleaner.threads", config_operation=0, value="2")
            codes = {}
            for name in ("1", "2"):
                resource = AlterConfigsResource(4, name, [config])
                request = IncrementalAlterConfigsRequest(resources=[resource])
                context = other.context(request, 1)
                response = await other.forwarding.change(request, context)
                codes[name] = response.responses[0].error_code
            # Settings of one broker are changed through that broker.
            assert codes["1"] == ErrorCode.INVALID_REQUEST
            assert codes["2"] != ErrorCode.INVALID_REQUEST

    run(scenario)


def test_without_a_controller_the_request_fails_as_a_whole(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_nodes(tmp_path) as other:
            other.node.metadata.runtime.stop()
            other.channel._retry_timeout_ms = 50
            request = creation("t")
            with pytest.raises(ApiError) as caught:
                await other.forwarding.change(request, other.context(request, 7))
            assert caught.value.code == ErrorCode.REQUEST_TIMED_OUT

    run(scenario)
