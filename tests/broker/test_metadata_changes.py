"""Metadata changes are made one after the other, and large ones do not delay other requests."""

import asyncio
import errno
from typing import Any

from moldau.broker.background import STEPS_PER_TURN
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.metadata.snapshot import snapshot_records
from moldau.protocol.messages.alter_configs import AlterableConfig as OldConfig
from moldau.protocol.messages.alter_configs import AlterConfigsRequest
from moldau.protocol.messages.alter_configs import AlterConfigsResource as OldResource
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.simulator.disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker

TURNS = 8
MANY = TURNS * STEPS_PER_TURN


async def started(disk: SimulatedDisk | None = None) -> SimulatedBroker:
    broker = SimulatedBroker(disk or SimulatedDisk(seed=1), ManualClock())
    await broker.node.start()
    return broker


def creation(name: str, partitions: int = 1) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic])


async def code_of(creating: Any) -> int:
    return int((await creating).topics[0].error_code)


def decided(broker: SimulatedBroker, name: str) -> bool:
    return name in broker.node.metadata.runtime.controller.image.topics_by_name


def test_two_that_create_the_same_topic_at_once_do_not_both_succeed() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=1)
        broker = await started(disk)
        # As in the network layer: both requests arrive before either is handled.
        for partitions in (1, MANY):
            name = f"river-{partitions}"
            requests = [broker.send(creation(name, partitions), 7) for _ in range(2)]
            codes = await asyncio.gather(*map(code_of, map(asyncio.ensure_future, requests)))
            assert sorted(codes) == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]
        await broker.node.stop()
        again = await started(disk)
        assert sorted(again.node.broker.image.topics_by_name) == ["river-1", f"river-{MANY}"]

    asyncio.run(scenario())


def test_frames_of_one_turn_are_decided_one_after_the_other() -> None:
    async def scenario() -> None:
        broker = await started()
        replies = [broker.handle(creation("river"), 7) for _ in range(2)]
        first, second = await asyncio.gather(*replies)
        assert b"already exists" not in b"".join(map(bytes, first))
        assert b"already exists" in b"".join(map(bytes, second))

    asyncio.run(scenario())


def test_clients_are_answered_while_a_large_change_is_made_ready() -> None:
    async def scenario() -> None:
        broker = await started()
        await broker.create("small")
        end_offset = broker.node.metadata.raft.log_end_offset
        creating = asyncio.ensure_future(broker.send(creation("large", MANY), 7))
        answered = 0
        while not decided(broker, "large"):
            assert broker.node.metadata.raft.log_end_offset == end_offset
            assert await broker.produce("small", b"x") == 0
            answered += 1
            await asyncio.sleep(0)
        assert answered >= TURNS, "one in every turn"
        assert await code_of(creating) == 0
        partitions = broker.node.broker.image.topics_by_name["large"].partitions
        assert list(partitions) == list(range(MANY))

    asyncio.run(scenario())


def test_the_log_leads_to_the_image_that_was_made_in_turns() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=1)
        broker = await started(disk)
        await broker.send(creation("large", MANY), 7)
        await broker.node.broker.assignments.settled()
        expected = broker.node.broker.image
        await broker.node.stop()
        again = await started(disk)
        found = again.node.broker.image
        topic_id = expected.topics_by_name["large"].id
        assert found.topics_by_id[topic_id].partitions.keys() == set(range(MANY))
        # Leader and partition epochs change with every start, but the leader does not.
        assert all(each.leader == 1 for each in found.topics_by_id[topic_id].partitions.values())
        assert sum(1 for _ in snapshot_records(found)) == sum(1 for _ in snapshot_records(expected))

    asyncio.run(scenario())


def test_other_changes_wait_for_a_large_one() -> None:
    async def scenario() -> None:
        broker = await started()
        creating = asyncio.ensure_future(broker.send(creation("large", MANY), 7))
        await asyncio.sleep(0)
        change = AlterableConfig(name="retention.ms", config_operation=0, value="5000")
        resource = AlterConfigsResource(resource_type=2, resource_name="large", configs=[change])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        response = await broker.send(request, 1)
        assert response.responses[0].error_code == 0, "it sees the topic created before it"
        assert await code_of(creating) == 0

    asyncio.run(scenario())


def test_a_large_change_given_up_half_way_never_was() -> None:
    async def scenario() -> None:
        broker = await started()
        creating = asyncio.ensure_future(broker.send(creation("large", MANY), 7))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not decided(broker, "large")
        creating.cancel()
        await asyncio.wait([creating])
        assert not decided(broker, "large")
        assert await code_of(broker.send(creation("large", MANY), 7)) == 0
        assert len(broker.node.broker.image.topics_by_name["large"].partitions) == MANY

    asyncio.run(scenario())


def test_a_full_disk_leaves_nothing_of_a_large_change() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=1)
        broker = await started(disk)
        disk.fail_next("append", "*__cluster_metadata-0/*.log", errno.ENOSPC)
        refused = await code_of(broker.send(creation("large", MANY), 7))
        assert refused == ErrorCode.KAFKA_STORAGE_ERROR
        assert not decided(broker, "large")
        assert await code_of(broker.send(creation("large", MANY), 7)) == 0
        await broker.node.stop()
        again = await started(disk)
        assert len(again.node.broker.image.topics_by_name["large"].partitions) == MANY

    asyncio.run(scenario())


def test_every_item_of_a_change_that_a_full_disk_refuses_says_so() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=1)
        broker = await started(disk)
        await broker.create("river")
        setting = AlterableConfig(name="retention.ms", value="1")
        resource = AlterConfigsResource(resource_type=2, resource_name="river", configs=[setting])
        old_resource = OldResource(
            resource_type=2,
            resource_name="river",
            configs=[OldConfig(name="retention.ms", value="1")],
        )
        more = CreatePartitionsTopic(name="river", count=2, assignments=None)
        requests: list[tuple[Any, int]] = [
            (creation("sea"), 7),
            (CreatePartitionsRequest(topics=[more], timeout_ms=1000), 3),
            (IncrementalAlterConfigsRequest(resources=[resource]), 1),
            (AlterConfigsRequest(resources=[old_resource]), 2),
            (DeleteTopicsRequest(topic_names=["river"], timeout_ms=1000), 5),
            (DeleteTopicsRequest(topics=[DeleteTopicState(name="river")], timeout_ms=1000), 6),
        ]
        for request, version in requests:
            disk.fail_next("append", "*__cluster_metadata-0/*.log", errno.ENOSPC)
            response = await broker.send(request, version)
            [item] = next(
                items
                for name in ("topics", "results", "responses")
                if (items := getattr(response, name, None))
            )
            assert item.error_code == ErrorCode.KAFKA_STORAGE_ERROR, request
            assert "no room" in item.error_message
            assert "river" in repr(item) or "sea" in repr(item)
        assert await broker.produce("river", b"x") == 0
        await broker.node.stop()

    asyncio.run(scenario())
