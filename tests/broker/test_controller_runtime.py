"""The active controller of a node: large decisions about other brokers, in small parts."""

import asyncio

import pytest

from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from moldau.simulator.disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker
from tests.controller.cluster import registration

OTHER = 7
PARTITIONS = 2500


def heartbeat(epoch: int, *, fence: bool = False, stop: bool = False) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(
        broker_id=OTHER,
        broker_epoch=epoch,
        current_metadata_offset=1 << 40,
        want_fence=fence,
        want_shut_down=stop,
    )


async def with_other_broker(broker: SimulatedBroker) -> int:
    """Start a broker, and register another one that leads many partitions; returns its epoch."""
    await broker.node.start()
    metadata = broker.node.metadata
    request = registration(OTHER)
    request.cluster_id = broker.node.metadata.cluster_id
    epoch = int((await metadata.runtime.handle(request, 4)).broker_epoch)
    await metadata.runtime.handle(heartbeat(epoch), 1)
    assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=[OTHER])
        for index in range(PARTITIONS)
    ]
    topic = CreatableTopic(
        name="river", num_partitions=-1, replication_factor=-1, assignments=assignments
    )
    created = await broker.send(CreateTopicsRequest(topics=[topic]), 7)
    assert created.topics[0].error_code == ErrorCode.NONE
    return epoch


@pytest.mark.parametrize("is_stopping", [False, True])
def test_a_broker_with_many_partitions_leaves_them_in_several_batches(is_stopping: bool) -> None:
    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock())
        epoch = await with_other_broker(broker)
        metadata = broker.node.metadata
        changes: list[tuple[int, bool]] = []

        def note(image: MetadataImage, delta: MetadataDelta) -> None:
            count = sum(len(changed) for changed in delta.changed_partitions.values())
            changes.append((count, not image.brokers[OTHER].is_active))

        metadata.publisher.add_listener(note)
        leaving = heartbeat(epoch, fence=not is_stopping, stop=is_stopping)
        await metadata.runtime.handle(leaving, 1)
        # The leaderships first, the broker itself last.
        assert changes == [(1000, False), (1000, False), (500, True)]
        await broker.node.stop()

    asyncio.run(scenario())


def test_a_broker_that_returns_leads_all_its_partitions_even_if_its_connection_is_lost() -> None:
    """It stays unfenced, so no later heartbeat would elect it where it was not elected yet."""

    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock())
        epoch = await with_other_broker(broker)
        metadata = broker.node.metadata
        await metadata.runtime.handle(heartbeat(epoch, fence=True), 1)

        def leaderless() -> int:
            partitions = metadata.image.topics_by_name["river"].partitions.values()
            return sum(each.leader == -1 for each in partitions)

        assert leaderless() == PARTITIONS
        beating = asyncio.ensure_future(metadata.runtime.handle(heartbeat(epoch), 1))
        await metadata.publisher.wait_until(lambda: leaderless() < PARTITIONS)
        assert leaderless() > 0
        # As when the connection is lost over which it came.
        beating.cancel()
        await asyncio.wait([beating])
        assert beating.cancelled()
        assert (await metadata.runtime.handle(heartbeat(epoch), 1)).is_fenced is False
        assert leaderless() == 0
        await broker.node.stop()

    asyncio.run(scenario())


def creation(name: str, partitions: int, timeout_ms: int) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms)


def test_a_request_whose_turn_comes_after_its_timeout_does_nothing() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        broker = SimulatedBroker(SimulatedDisk(seed=1), clock)
        await broker.node.start()
        requests = [
            creation("large", PARTITIONS, 1000),
            creation("late", 1, 1000),
            creation("patient", 1, 1001),
        ]
        sending = [asyncio.ensure_future(broker.send(request, 7)) for request in requests]
        # The first decision has begun, and takes several turns of the loop.
        await asyncio.sleep(0)
        clock.advance(1000)
        codes = [(await each).topics[0].error_code for each in sending]
        assert codes == [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]
        assert list(broker.node.metadata.image.topics_by_name) == ["large", "patient"]
        await broker.node.stop()

    asyncio.run(scenario())
