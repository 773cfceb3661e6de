"""A node whose disk is full stops like any other, and starts again when there is room."""

import asyncio

import pytest

from moldau.clock import ManualClock
from moldau.simulator.disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker


@pytest.mark.parametrize("unsaved_bytes", [0, 2 << 20], ids=["short log", "long log"])
def test_a_node_on_a_full_disk_stops_and_starts_again(unsaved_bytes: int) -> None:
    async def scenario() -> None:
        disk, clock = SimulatedDisk(seed=1), ManualClock()
        broker = SimulatedBroker(disk, clock)
        await broker.node.start()
        await broker.create("river")
        # After a long log a stop writes a snapshot of the metadata.
        broker.node.metadata.raft.store.bytes_since_snapshot += unsaved_bytes
        disk.capacity = disk.used_bytes()
        await broker.node.stop()
        disk.capacity = None
        # The directory is not locked any more, and nothing is missing.
        again = SimulatedBroker(disk, clock)
        await again.node.start()
        assert "river" in again.node.metadata.image.topics_by_name
        await again.node.stop()

    asyncio.run(scenario())
