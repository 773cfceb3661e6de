"""A simulated broker that leads partitions with followers; the test moves the high watermark."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from typing import Any

from moldau.broker.partition import Partition
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.metadata.registrations import PartitionRegistration
from moldau.network.session import Overlapping
from moldau.record.records import decode_all
from moldau.simulator.disk import SimulatedDisk
from tests.broker.batches import batch
from tests.broker.producing import fetch_request, produce_request
from tests.broker.simulated import SimulatedBroker

TIMEOUT_S = 120
VERSION = 12
LOCAL_ID = 1
ALL = (LOCAL_ID, 2, 3)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def lead(
    partition: Partition,
    isr: tuple[int, ...] = ALL,
    *,
    leader: int = LOCAL_ID,
    epochs: int = 0,
) -> None:
    """Let the metadata say that the partition has three replicas, of which ``isr`` are in sync."""
    partition.update(
        PartitionRegistration(
            replicas=ALL,
            directories=partition.registration.directories * len(ALL),
            isr=isr,
            leader=leader,
            leader_epoch=partition.leader_epoch + epochs,
            partition_epoch=partition.registration.partition_epoch + 1,
        )
    )


class Replicated:
    """A broker with the topic ``t``, whose partition has two followers."""

    def __init__(
        self, settings: Mapping[str, str] | None = None, executor: Executor | None = None
    ) -> None:
        self.disk = SimulatedDisk(seed=1)
        self.clock = ManualClock()
        self.broker = SimulatedBroker(
            self.disk,
            self.clock,
            {"node.id": str(LOCAL_ID), **(settings or {})},
            executor=executor,
        )

    def run(
        self, scenario: Callable[[Partition], Coroutine[Any, Any, None]], **configs: str
    ) -> None:
        async def within() -> None:
            await self.broker.node.start()
            await self.broker.create("t", **configs)
            await self.broker.node.broker.assignments.settled()
            lead(self.partition("t"))
            await scenario(self.partition("t"))
            await self.broker.node.stop()

        asyncio.run(asyncio.wait_for(within(), TIMEOUT_S))

    def partition(self, topic: str, index: int = 0) -> Partition:
        return self.broker.node.broker.replicas.partition(topic, index)

    async def produce(
        self, value: bytes, *, timeout_ms: int = 30_000, **producer: int
    ) -> "asyncio.Future[Any]":
        """Produce with acks=all; the future is done when it is acknowledged."""
        request = produce_request("t", batch(value, timestamp=1000, **producer))
        request.timeout_ms = timeout_ms
        handled = self.broker.handle(request, VERSION)
        # The next request of the connection need not wait: the batch is in the log.
        assert isinstance(handled, Overlapping), "nothing is committed yet"
        pending = asyncio.ensure_future(handled.awaitable)
        await turns()
        return pending

    async def outcome(self, pending: "asyncio.Future[Any]") -> ErrorCode:
        response = self.broker.read_reply(await pending, 0, VERSION)
        return ErrorCode(response.responses[0].partition_responses[0].error_code)

    async def fetch(self, offset: int = 0, **fields: Any) -> Any:
        """The partition's part of the response."""
        request = fetch_request("t", offset, **fields)
        return (await self.broker.send(request, VERSION)).responses[0].partitions[0]


def values(data: Any) -> list[bytes | None]:
    assert data.error_code == 0, ErrorCode(data.error_code).name
    return [each.value for _, found in decode_all(bytes(data.records)) for each in found]
