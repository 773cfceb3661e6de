"""Cordoned log directories get no new partitions; existing ones keep working (KIP-1066)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.metadata.image import BROKER_RESOURCE
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.simulator.disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker

ONE, TWO, THREE = "/one", "/two", "/three"
SETTINGS = {"log.dirs": f"{ONE},{TWO},{THREE}", "metadata.log.dir": "/meta"}


class Disks:
    """A broker on three disks."""

    def __init__(self, disk: SimulatedDisk, settings: Mapping[str, str]) -> None:
        self.disk = disk
        self.broker = SimulatedBroker(disk, ManualClock(), {**SETTINGS, **settings})

    @property
    def node(self) -> Any:
        return self.broker.node

    async def cordon(self, paths: str) -> int:
        """Change the setting at run time; returns the error code."""
        change = AlterableConfig(name="cordoned.log.dirs", config_operation=0, value=paths)
        resource = AlterConfigsResource(
            resource_type=BROKER_RESOURCE, resource_name="1", configs=[change]
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        [result] = (await self.broker.send(request, 1)).responses
        await asyncio.gather(*self.node.broker._reporting)
        return int(result.error_code)

    async def create(self, name: str, partitions: int) -> tuple[int, set[str]]:
        """Create a topic; returns the error code and the directories of its partitions."""
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        response = await self.broker.send(CreateTopicsRequest(topics=[topic]), 7)
        logs = self.node.logs.logs.values()
        where = {log.log_dir for log in logs if log.topic_partition.topic == name}
        return int(response.topics[0].error_code), where

    async def alter(self, path: str, topic: str) -> int:
        wanted = AlterReplicaLogDirTopic(name=topic, partitions=[0])
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=[wanted])])
        [result] = (await self.broker.send(request, 2)).results
        return int(result.partitions[0].error_code)

    async def described_as_cordoned(self) -> list[str]:
        results = (await self.broker.send(DescribeLogDirsRequest(topics=None), 5)).results
        return [each.log_dir for each in results if each.is_cordoned]

    def registered_as_cordoned(self) -> list[str]:
        """The cordoned directories in the controller's registration of the broker."""
        ids = self.node.broker.image.brokers[1].cordoned_log_dirs
        return [path for path, known in self.node.logs.dirs.directory_ids.items() if known in ids]


def run(scenario: Callable[[Disks], Awaitable[None]], **settings: str) -> None:
    given = {name.replace("_", "."): value for name, value in settings.items()}

    async def whole() -> None:
        disks = Disks(SimulatedDisk(seed=1), given)
        await disks.node.start()
        await scenario(disks)
        await disks.node.stop()

    asyncio.run(whole())


def test_new_partitions_go_to_the_other_directories() -> None:
    async def scenario(disks: Disks) -> None:
        assert await disks.create("before", 6) == (0, {ONE, TWO, THREE})
        assert await disks.cordon(f"{ONE},{THREE}") == 0
        assert await disks.create("after", 6) == (0, {TWO})
        assert await disks.described_as_cordoned() == [ONE, THREE]
        assert disks.registered_as_cordoned() == [ONE, THREE]
        assert await disks.cordon("") == 0
        assert await disks.create("again", 6) == (0, {ONE, THREE}), "where least is"
        assert await disks.described_as_cordoned() == []
        assert disks.registered_as_cordoned() == []

    run(scenario)


def test_what_is_in_a_cordoned_directory_goes_on() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.broker.create("river")
        [where] = {log.log_dir for log in disks.node.logs.logs.values()}
        assert await disks.cordon(where) == 0
        assert await disks.broker.produce("river", b"more") == 0
        assert await disks.broker.read("river") == [b"more"]
        other = next(path for path in (ONE, TWO, THREE) if path != where)
        assert await disks.alter(other, "river") == 0, "it may leave"
        await disks.node.broker.mover.idle()
        assert disks.node.logs.logs[TopicPartition("river", 0)].log_dir == other
        assert await disks.alter(where, "river") == ErrorCode.INVALID_REPLICA_ASSIGNMENT

    run(scenario)


def test_a_broker_with_nothing_but_cordoned_directories_gets_no_partitions() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.broker.create("river")
        assert await disks.cordon("*") == 0
        assert disks.registered_as_cordoned() == [ONE, TWO, THREE]
        assert await disks.create("sea", 1) == (ErrorCode.INVALID_REPLICATION_FACTOR, set())
        assert await disks.broker.produce("river", b"still here") == 0

    run(scenario)


def test_the_setting_holds_from_the_start() -> None:
    async def scenario(disks: Disks) -> None:
        assert disks.registered_as_cordoned() == [TWO]
        assert await disks.create("river", 4) == (0, {ONE, THREE})

    run(scenario, cordoned_log_dirs=TWO)


def test_a_dynamic_setting_holds_after_a_restart_and_a_directory_taken_away_ends_it() -> None:
    async def scenario(disks: Disks) -> None:
        assert await disks.cordon(f"{ONE}") == 0
        await disks.node.stop()
        again = Disks(disks.disk, {})
        await again.node.start()
        assert again.registered_as_cordoned() == [ONE]
        assert await again.create("river", 4) == (0, {TWO, THREE})
        await again.node.stop()
        fewer = Disks(disks.disk, {"log.dirs": f"{TWO},{THREE}"})
        await fewer.node.start()
        assert fewer.registered_as_cordoned() == []
        await fewer.node.stop()
        disks.broker = Disks(disks.disk, {}).broker
        await disks.node.start()

    run(scenario)


def test_as_many_replicas_move_at_a_time_as_there_are_threads() -> None:
    async def most_at_a_time(disks: Disks) -> int:
        most = 0
        for name in ("a", "b", "c", "d"):
            await disks.alter(ONE, name)
            await disks.broker.create(name)
            assert await disks.broker.produce(name, b"x" * 300_000) == 0
        for name in ("a", "b", "c", "d"):
            assert await disks.alter(TWO, name) == 0
        mover = disks.node.broker.mover
        while mover._moves:
            most = max(most, sum(move.is_begun for move in mover._moves.values()))
            await asyncio.sleep(0)
        assert {log.log_dir for log in disks.node.logs.logs.values()} == {TWO}
        return most

    async def one(disks: Disks) -> None:
        assert await most_at_a_time(disks) == 1

    async def three(disks: Disks) -> None:
        assert await most_at_a_time(disks) == 3

    run(one, num_replica_alter_log_dirs_threads="1")
    run(three, num_replica_alter_log_dirs_threads="3")
    run(three)
