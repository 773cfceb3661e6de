"""Broken requests to a complete broker: each is refused, and other clients are not affected."""

import asyncio
import random
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from moldau.broker.apis import BROKER_APIS
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.network.session import CloseConnection
from moldau.protocol.header import encode_request_header
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.messages.metadata import MetadataRequest
from moldau.protocol.primitives import MalformedMessage
from moldau.simulator.disk import SimulatedDisk
from tests.broker.batches import batch, idempotent
from tests.broker.producing import create_topic, fetch_request, produce, produce_request
from tests.broker.simulated import SimulatedBroker
from tests.network.fuzzing import FrameMutator
from tests.protocol.random_messages import random_message
from tests.running import RunningBroker, WireClient

FRAMES = 100_000


def good_frames(rng: random.Random) -> list[bytes]:
    """Requests of every supported API and version, and some for an existing topic."""
    frames = []
    for handler in BROKER_APIS:
        for version in range(handler.min_version, handler.max_version + 1):
            message = random_message(f"{handler.name}Request", version, rng)
            header = encode_request_header(handler.key, version, 1, "fuzz")
            frames.append(header + message.encode(version))
    for version in range(4, 13):
        request: Any = produce_request("t", idempotent(9, 0, b"fuzz" * 20))
        frames.append(encode_request_header(0, version, 1, "fuzz") + request.encode(version))
        request = fetch_request("t", 0)
        frames.append(encode_request_header(1, version, 1, "fuzz") + request.encode(version))
    return frames


def test_no_frame_brings_the_broker_down() -> None:
    async def scenario() -> None:
        rng = random.Random(11)
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock())
        await broker.node.start()
        await broker.create("t")
        assert await broker.produce("t", b"before") == 0
        mutator = FrameMutator(rng, good_frames(rng))
        refused = answered = 0
        for _ in range(FRAMES):
            try:
                handled = broker.dispatcher.handle(broker.session, mutator.body())
                awaitable = getattr(handled, "awaitable", handled)
                if isinstance(awaitable, Awaitable):
                    # Requests that wait for a timeout would wait for hours here.
                    await asyncio.wait_for(awaitable, timeout=0.001)
            except (MalformedMessage, CloseConnection):
                refused += 1
            except TimeoutError:
                pass
            else:
                answered += 1
        assert refused > FRAMES // 3
        assert answered > FRAMES // 40, "the mutations must reach the handlers, too"
        # One of the frames unregisters the broker, which is a valid request: it registers again
        # when its next heartbeat is refused.
        async with asyncio.timeout(120):
            while await broker.produce("t", b"after") != 0:  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(0.05)
        values = await broker.read("t")
        assert (values[0], values[-1]) == (b"before", b"after")

    asyncio.run(scenario())


def test_bytes_behind_a_request_are_ignored_as_kafka_does(client: WireClient) -> None:
    # librdkafka 2.16 sends such a request for the metadata of all topics.
    request = MetadataRequest(topics=None).encode(13)
    client.send_frame(encode_request_header(3, 13, 1, "x") + request + b"\x01\x00\x00")
    assert client.receive(3, 13).error_code == ErrorCode.NONE


def test_garbage_closes_its_connection_and_no_other(
    broker: RunningBroker, client: WireClient
) -> None:
    with broker.connect() as hostile:
        hostile.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert hostile.is_closed_by_peer()
    with broker.connect() as hostile:
        hostile.send_frame(b"\x00\x03\x00\x0c")
        assert hostile.is_closed_by_peer()
    create_topic(client, "t")
    assert produce(client, "t", batch(b"fine")).error_code == ErrorCode.NONE


def test_a_name_of_32767_characters_is_refused_without_a_fault(tmp_path: Path) -> None:
    name = "x" * 32_767
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    resource = DescribeConfigsResource(resource_type=2, resource_name=name)
    change = AlterConfigsResource(
        resource_type=2,
        resource_name=name,
        configs=[AlterableConfig(name="retention.ms", value="1")],
    )
    with RunningBroker(tmp_path / "data") as broker, broker.connect() as client:
        created = client.send(CreateTopicsRequest(topics=[topic]), 4).topics[0]
        described = client.send(DescribeConfigsRequest(resources=[resource]), 2).results[0]
        request = IncrementalAlterConfigsRequest(resources=[change])
        altered = client.send(request, 0).responses[0]
    for answer in (created, described, altered):
        assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert answer.error_message.endswith(" more characters)")
