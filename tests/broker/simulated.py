"""A broker with a simulated disk, a clock that the test sets, and no sockets."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple, TypeVar, cast

from moldau.broker.dispatch import ListenerRouter
from moldau.broker.node import Node
from moldau.clock import ManualClock
from moldau.config.broker import BrokerConfig
from moldau.network.limits import ServerLimits
from moldau.network.network import Admission, ListenerAddress, Listening
from moldau.network.session import Overlapping, Session
from moldau.protocol.api import APIS
from moldau.protocol.header import decode_response_header, encode_request_header
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.primitives import FileRegion
from moldau.record.records import decode_all
from moldau.simulator.disk import SimulatedDisk
from tests.broker.batches import batch
from tests.broker.producing import fetch_request, produce_request

T = TypeVar("T")


class InlineExecutor(Executor):
    """Runs work immediately instead of in a thread."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


class NoNetwork:
    """A network on which nobody connects: the test calls the handler directly."""

    async def listen(
        self,
        listener: ListenerAddress,
        limits: ServerLimits,
        admission: Admission,
        logger: logging.Logger,
    ) -> Sequence[Listening]:
        return [Unreachable(listener.port)]

    async def connect(
        self, host: str, port: int, protocol_factory: Callable[[], asyncio.BaseProtocol]
    ) -> asyncio.Transport:
        raise ConnectionRefusedError(f"{host}:{port} is not there")


class Unreachable(NamedTuple):
    """A listener that accepts nothing."""

    port: int

    def resume(self) -> None: ...

    def close(self) -> None: ...


class SimulatedBroker:
    """One run of a broker; the disk and the clock outlive it."""

    def __init__(
        self,
        disk: SimulatedDisk,
        clock: ManualClock,
        settings: Mapping[str, str] | None = None,
        seed: int = 1,
        executor: Executor | None = None,
    ) -> None:
        config = BrokerConfig.from_properties({"log.dirs": "/disk", **(settings or {})})
        self.session = Session("simulated", 1, "PLAINTEXT")
        self.node = Node(
            config,
            disk=disk,
            clock=clock,
            rng=random.Random(seed),
            executor=executor or InlineExecutor(),
            network=NoNetwork(),
        )

    @property
    def dispatcher(self) -> ListenerRouter:
        return cast(ListenerRouter, self.node.server.handler)

    def handle(self, request: Any, version: int) -> Any:
        """The result of the handler: a reply, or an awaitable of one, not awaited yet."""
        header = encode_request_header(request.API_KEY, version, 1, "test")
        return self.dispatcher.handle(self.session, header + request.encode(version))

    async def send(self, request: Any, version: int) -> Any:
        key = request.API_KEY
        handled = self.handle(request, version)
        if isinstance(handled, Overlapping):
            handled = handled.awaitable
        return self.read_reply(
            await handled if isinstance(handled, Awaitable) else handled, key, version
        )

    def read_reply(self, reply: Any, key: int, version: int) -> Any:
        answer = b"".join(
            part.read() if isinstance(part, FileRegion) else bytes(part)
            for part in cast(Any, reply)
        )
        _, position = decode_response_header(answer, key, version)
        return APIS[key].response_class().decode(answer, position, version)[0]

    async def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        response = await self.send(CreateTopicsRequest(topics=[topic]), 7)
        assert response.topics[0].error_code == 0

    async def produce(self, name: str, value: bytes, partition: int = 0) -> int:
        """Produce one record; returns the error code."""
        batches = batch(value, timestamp=1000)
        response = await self.send(produce_request(name, batches, partition), 12)
        return int(response.responses[0].partition_responses[0].error_code)

    async def read(self, name: str) -> list[bytes | None]:
        response = await self.send(fetch_request(name, 0), 12)
        data = response.responses[0].partitions[0]
        assert data.error_code == 0
        return [each.value for _, found in decode_all(bytes(data.records)) for each in found]
