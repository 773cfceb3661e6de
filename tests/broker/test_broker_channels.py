"""Requests to other brokers: over one connection for each incarnation."""

import asyncio
import random

import pytest

from moldau.broker.broker_channels import BrokerChannels
from moldau.broker.dynamic_config import DynamicConfig
from moldau.config.broker import BrokerConfig
from moldau.ids import NO_UUID
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.introduction import Endpoint
from moldau.metadata.registrations import BrokerRegistration
from moldau.network.outgoing import Disconnected
from moldau.network.socket_network import SocketNetwork
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.broker.scripted_leader import ScriptedLeader
from tests.network.serving import run

OTHER = 2
VERSION = 2


class Metadata:
    """An image that the test replaces."""

    def __init__(self) -> None:
        self.image = EMPTY_IMAGE

    def register(self, port: int, incarnation: int = 1, listener: str = "PLAINTEXT") -> None:
        endpoint = Endpoint(listener, "127.0.0.1", port, 0)
        broker = BrokerRegistration(
            id=OTHER,
            epoch=incarnation,
            incarnation_id=incarnation.to_bytes(16, "big"),
            endpoints=(endpoint,),
            features={},
            rack=None,
            fenced=False,
            in_controlled_shutdown=False,
            log_dirs=(),
            cordoned_log_dirs=None,
        )
        self.image = MetadataImage(brokers={OTHER: broker})


class Channels:
    """The channels of broker 1, and another broker whose answers the test gives."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.metadata = Metadata()
        properties = {"node.id": "1", "log.dirs": "unused", **(settings or {})}
        config = BrokerConfig.from_properties(properties)
        self.channels = BrokerChannels(
            SocketNetwork(), self.metadata, DynamicConfig(config), random.Random(1)
        )
        self.other = ScriptedLeader(NO_UUID)

    async def __aenter__(self) -> "Channels":
        await self.other.start()
        self.metadata.register(self.other.address[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self.channels.close()
        await self.channels.closed()
        await self.other.stop()

    def post(self, producer_id: int = 7) -> "asyncio.Task[object]":
        request = WriteTxnMarkersRequest(markers=[WritableTxnMarker(producer_id)])
        sending = self.channels.send(OTHER, request, VERSION)
        return asyncio.get_running_loop().create_task(sending)


def test_requests_to_a_broker_share_a_connection_and_get_their_answers() -> None:
    async def scenario() -> None:
        async with Channels() as it:
            first, second = it.post(7), it.post(8)
            asked = [await it.other.next(), await it.other.next()]
            assert [each.request.markers[0].producer_id for each in asked] == [7, 8]
            assert asked[0].version == VERSION
            for each in asked:
                each.send(WriteTxnMarkersResponse())
            assert isinstance(await first, WriteTxnMarkersResponse)
            assert isinstance(await second, WriteTxnMarkersResponse)
            assert it.other.connections == 1

    run(scenario)


def test_a_lost_connection_fails_its_requests_and_the_next_one_connects_again() -> None:
    async def scenario() -> None:
        async with Channels() as it:
            lost = it.post()
            (await it.other.next()).hang_up()
            with pytest.raises(Disconnected):
                await lost
            repeated = it.post()
            (await it.other.next()).send(WriteTxnMarkersResponse())
            await repeated
            assert it.other.connections == 2

    run(scenario)


def test_another_incarnation_of_a_broker_gets_another_connection() -> None:
    async def scenario() -> None:
        async with Channels() as it:
            before = it.post()
            await it.other.next()
            it.metadata.register(it.other.address[1], incarnation=2)
            after = it.post()
            (await it.other.next()).send(WriteTxnMarkersResponse())
            await after
            with pytest.raises(Disconnected):
                await before
            assert it.other.connections == 2

    run(scenario)


def test_a_broker_that_is_not_registered_is_not_reached() -> None:
    async def scenario() -> None:
        async with Channels() as it:
            it.metadata.image = EMPTY_IMAGE
            with pytest.raises(Disconnected, match="broker 2 is not registered"):
                await it.post()
            it.metadata.register(it.other.address[1], listener="EXTERNAL")
            with pytest.raises(Disconnected, match="a listener PLAINTEXT"):
                await it.post()

    run(scenario)


def test_a_broker_that_does_not_answer_is_given_up_after_request_timeout_ms() -> None:
    async def scenario() -> None:
        async with Channels({"request.timeout.ms": "30"}) as it:
            with pytest.raises(Disconnected, match="has not answered for 30 ms"):
                await it.post()

    run(scenario)


def test_closing_fails_what_has_no_answer_and_nothing_is_sent_afterwards() -> None:
    async def scenario() -> None:
        async with Channels() as it:
            waiting = it.post()
            await it.other.next()
            it.channels.close()
            with pytest.raises(Disconnected):
                await waiting
            with pytest.raises(Disconnected, match="this broker is stopping"):
                await it.post()

    run(scenario)
