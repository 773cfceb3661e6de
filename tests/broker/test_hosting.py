"""Applying the metadata: large topics are hosted in slices, settings are applied to their logs."""

import asyncio
import errno

import pytest

from moldau.broker.partition import Partition
from moldau.broker.replica_manager import HOSTED_PER_TURN, LOG_COUNTS_AS
from moldau.clock import ManualClock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.simulator.disk import SimulatedDisk
from tests.broker.followed import Followed
from tests.broker.replicated import turns
from tests.broker.simulated import SimulatedBroker

MANY = 5 * HOSTED_PER_TURN


async def started() -> SimulatedBroker:
    broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock())
    await broker.node.start()
    return broker


def large_topic(broker: SimulatedBroker) -> "asyncio.Future[object]":
    topic = CreatableTopic(name="large", num_partitions=MANY, replication_factor=1)
    return asyncio.ensure_future(broker.send(CreateTopicsRequest(topics=[topic]), 7))


async def first_slice(broker: SimulatedBroker) -> None:
    """Run the loop until some of the partitions are hosted."""
    while not broker.node.broker.replicas.partitions_of("large"):  # noqa: ASYNC110
        await asyncio.sleep(0)


def test_others_get_their_turn_while_a_large_topic_is_made() -> None:
    async def scenario() -> None:
        broker = await started()
        await broker.create("small")
        replicas = broker.node.broker.replicas
        creating = large_topic(broker)
        await first_slice(broker)
        assert len(replicas.partitions_of("large")) == HOSTED_PER_TURN // LOG_COUNTS_AS
        assert await broker.produce("small", b"x") == 0, "in the middle of it"
        assert len(replicas.partitions_of("large")) < MANY
        assert await broker.produce("large", b"x", partition=MANY - 1) == 0, "it waits"
        assert len(replicas.partitions_of("large")) == MANY
        await creating

    asyncio.run(scenario())


class _FailsOnce:
    """What fetches from leaders, with a partition for which that is impossible at first."""

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.failing: TopicPartition | None = topic_partition

    def follow(self, partition: Partition) -> None:
        raise AssertionError("there is no other broker")

    def forget(self, topic_partition: TopicPartition) -> None:
        if topic_partition == self.failing:
            self.failing = None
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "no room")


def test_a_partition_that_fails_does_not_stop_the_others() -> None:
    async def scenario() -> None:
        broker = await started()
        replicas = broker.node.broker.replicas
        # Not in the first slice: nobody would call for the next one.
        failing = TopicPartition("large", 2 * HOSTED_PER_TURN)
        replicas._followers = _FailsOnce(failing)
        await asyncio.wait_for(large_topic(broker), 10)
        await asyncio.wait_for(replicas.settled(), 10)
        assert len(replicas.partitions_of("large")) == MANY
        await broker.create("next")
        assert await broker.produce("next", b"x") == 0

    asyncio.run(scenario())


def test_a_topic_deleted_while_it_is_made_leaves_nothing() -> None:
    async def scenario() -> None:
        broker = await started()
        creating = large_topic(broker)
        await first_slice(broker)
        doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="large")], timeout_ms=1)
        assert (await broker.send(doomed, 6)).responses[0].error_code == 0
        await creating
        assert broker.node.broker.replicas.partitions_of("large") == []
        assert not broker.node.logs.logs

    asyncio.run(scenario())


def test_a_changed_setting_reaches_the_log() -> None:
    async def scenario() -> None:
        broker = await started()
        await broker.create("t")
        await broker.create("other")
        config = AlterableConfig(name="max.message.bytes", config_operation=0, value="500")
        resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[config])
        await broker.send(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert await broker.produce("t", b"x" * 600) == ErrorCode.MESSAGE_TOO_LARGE
        assert await broker.produce("other", b"x" * 600) == 0

    asyncio.run(scenario())


def test_a_partition_made_on_a_full_disk_is_served_when_there_is_room() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=1)
        settings = {"log.dirs": "/data", "metadata.log.dir": "/meta"}
        broker = SimulatedBroker(disk, ManualClock(), settings)
        await broker.node.start()
        disk.fail_next("*", "/data/*-[01]/*", errno.ENOSPC, count=1000)
        topic = CreatableTopic(name="t", num_partitions=2, replication_factor=1)
        await broker.send(CreateTopicsRequest(topics=[topic]), 7)
        assert await broker.produce("t", b"x") == ErrorCode.KAFKA_STORAGE_ERROR
        broker.node.broker.host_again()
        assert await broker.produce("t", b"x") == ErrorCode.KAFKA_STORAGE_ERROR
        disk.heal()
        broker.node.broker.host_again()
        await broker.node.broker.replicas.settled()
        for partition in (0, 1):
            assert await broker.produce("t", b"x", partition) == 0
        broker.node.broker.host_again()
        await broker.node.stop()

    asyncio.run(scenario())


def test_groups_are_coordinated_once_there_is_room_for_their_partition() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=1)
        settings = {
            "log.dirs": "/data",
            "metadata.log.dir": "/meta",
            "offsets.topic.num.partitions": "1",
        }
        broker = SimulatedBroker(disk, ManualClock(), settings)
        await broker.node.start()
        disk.fail_next("*", "/data/__consumer_offsets-0/*", errno.ENOSPC, count=1000)
        groups = broker.node.broker.groups
        await groups.create_topic()
        with pytest.raises(ApiError, match="NOT_COORDINATOR"):
            groups.shard_of("g")
        disk.heal()
        broker.node.broker.host_again()
        await groups.settled()
        assert groups.shard_of("g").is_loaded
        await broker.node.stop()

    asyncio.run(scenario())


def test_a_broker_with_a_failed_disk_takes_a_replica_that_is_reassigned_to_it() -> None:
    """The failed disk cannot have it: it was never here."""
    dirs = {"log.dirs": "/one,/two", "metadata.log.dir": "/meta"}
    followed = Followed(dirs)

    async def scenario(_: Partition) -> None:
        await followed.create_elsewhere("lake")
        await followed.fence(2)
        await followed.beat(2)
        assert followed.registered("lake").leader_epoch > 0
        node = followed.broker.node
        failed = followed.partition("t").log.log_dir
        followed.disk.fail_next("append", f"{failed}/t-0/*.log", errno.EIO)
        await followed.broker.produce("t", b"x")
        await turns()
        assert list(node.logs.dirs.offline) == [failed]
        wanted = ReassignablePartition(partition_index=0, replicas=[3, 1])
        topic = ReassignableTopic(name="lake", partitions=[wanted])
        await followed.broker.send(AlterPartitionReassignmentsRequest(topics=[topic]), 0)
        await followed.applied()
        hosted = followed.partition("lake")
        assert hosted.log.log_dir in dirs["log.dirs"].split(",")
        assert hosted.log.log_dir != failed
        await node.broker.assignments.settled()
        await followed.applied()
        directory_id = node.logs.dirs.directory_ids[hosted.log.log_dir]
        assert followed.registered("lake").directory_of(1) == directory_id

    followed.run(scenario)
