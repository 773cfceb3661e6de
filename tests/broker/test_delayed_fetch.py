"""A waiting fetch is completed by an append, whenever that happens."""

import asyncio

from moldau.broker.delayed_fetch import DelayedFetch
from moldau.clock import ManualClock
from moldau.storage.simulated_disk import SimulatedDisk
from tests.broker.batches import batch
from tests.broker.producing import fetch_request
from tests.broker.simulated import SimulatedBroker


def test_an_append_between_reading_and_waiting_is_not_missed() -> None:
    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock())
        await broker.node.start()
        await broker.create("t")
        request = fetch_request("t", 0, min_bytes=1, max_wait_ms=60_000)
        # The fetch has read and found nothing, but is not awaited yet.
        waiting = broker.handle(request, 12)
        assert await broker.produce("t", b"news") == 0
        reply = await asyncio.wait_for(waiting, 10)
        assert b"news" in b"".join(bytes(part) for part in reply)

    asyncio.run(scenario())


def test_bytes_that_come_to_several_partitions_add_up() -> None:
    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock())
        await broker.node.start()
        await broker.create("t")
        await broker.create("other")
        replicas = broker.node.broker.replicas
        partitions = [replicas.partition(name, 0) for name in ("t", "other")]
        one_batch = len(batch(b"x", timestamp=1000))
        delayed = DelayedFetch(partitions, 2 * one_batch)
        waiting = asyncio.ensure_future(delayed.wait(60_000))
        await broker.produce("t", b"x")
        await asyncio.sleep(0)
        assert not waiting.done(), "half of it"
        await broker.produce("other", b"x")
        await asyncio.wait_for(waiting, 10)

    asyncio.run(scenario())
