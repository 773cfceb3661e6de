"""The broker on a simulated disk and clock: power failures, full disks, failing disks."""

import asyncio

import pytest

from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.metadata import MetadataRequest
from moldau.simulator.disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker


def test_what_was_flushed_survives_a_power_cut() -> None:
    async def scenario() -> None:
        disk, clock = SimulatedDisk(seed=3), ManualClock()
        first = SimulatedBroker(disk, clock)
        await first.node.start()
        await first.create("kept", flush_messages="1")
        await first.create("cached")
        for index in range(5):
            assert await first.produce("kept", b"%d" % index) == 0
            assert await first.produce("cached", b"%d" % index) == 0
        disk.crash()
        second = SimulatedBroker(disk, clock)
        await second.node.start()
        assert await second.read("kept") == [b"%d" % index for index in range(5)]
        cached = await second.read("cached")
        assert cached == [b"%d" % index for index in range(len(cached))], "a prefix is left"
        assert await second.produce("cached", b"new") == 0
        await second.node.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("seed", range(8))
def test_records_of_a_deleted_topic_do_not_come_back_in_a_new_one_of_its_name(seed: int) -> None:
    async def scenario() -> None:
        disk, clock = SimulatedDisk(seed=seed), ManualClock()
        first = SimulatedBroker(disk, clock)
        await first.node.start()
        await first.create("t", flush_messages="1")
        assert await first.produce("t", b"old") == 0
        topics = [DeleteTopicState(name="t")]
        await first.send(DeleteTopicsRequest(topics=topics, timeout_ms=1000), 6)
        await first.create("t")
        disk.crash(lose_names=True)
        second = SimulatedBroker(disk, clock, seed=2)
        await second.node.start()
        assert b"old" not in await second.read("t")
        assert await second.produce("t", b"new") == 0
        await second.node.stop()

    asyncio.run(scenario())


def test_a_full_disk_gives_an_error_and_recovers_when_there_is_room() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=4)
        broker = SimulatedBroker(disk, ManualClock())
        await broker.node.start()
        await broker.create("t")
        assert await broker.produce("t", b"before") == 0
        disk.capacity = 0
        assert await broker.produce("t", b"x" * 5000) == ErrorCode.KAFKA_STORAGE_ERROR
        disk.capacity = None
        assert await broker.produce("t", b"after") == 0
        assert await broker.read("t") == [b"before", b"after"]
        await broker.node.stop()

    asyncio.run(scenario())


def test_a_failing_disk_takes_its_directory_offline_not_the_broker() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=5)
        broker = SimulatedBroker(disk, ManualClock())
        await broker.node.start()
        await broker.create("t")
        disk.fail_next("append", "*/t-0/*.log", OSError(5, "Input/output error"))
        assert await broker.produce("t", b"x") == ErrorCode.KAFKA_STORAGE_ERROR
        assert await broker.produce("t", b"x") == ErrorCode.KAFKA_STORAGE_ERROR
        assert (await broker.send(MetadataRequest(topics=None), 12)).topics, "it still answers"

    asyncio.run(scenario())
