"""A broker with several disks: placement of partitions, moves, and failed disks."""

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from moldau.broker import directory_assignments
from moldau.broker.controller_channel import ControllerChannel
from moldau.broker.directory_assignments import DirectoryAssignments
from moldau.broker.format import FormatError, FormatOptions, format_directories
from moldau.broker.replica_mover import Throttle
from moldau.clock import ManualClock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.metadata.registrations import UNASSIGNED_DIRECTORY, PartitionRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.simulator.disk import PowerCut, SimulatedDisk, keep_everything
from moldau.storage.disk.checkpoint import (
    PARTITION_METADATA,
    read_meta_properties,
    write_meta_properties,
)
from tests.broker.simulated import SimulatedBroker

META, ONE, TWO, THREE = "/meta", "/one", "/two", "/three"
SETTINGS = {
    "log.dirs": f"{ONE},{TWO},{THREE}",
    "metadata.log.dir": META,
    "replica.fetch.backoff.ms": "1",
}
RIVER = TopicPartition("river", 0)
LARGE = b"x" * 200_000


class Disks:
    """A broker on three disks, and a fourth for its metadata."""

    def __init__(self, disk: SimulatedDisk | None = None) -> None:
        self.disk = disk or SimulatedDisk(seed=1)
        # Every start must generate different ids.
        seed = self.disk.operations
        self.broker = SimulatedBroker(self.disk, ManualClock(), SETTINGS, seed)

    async def start(self) -> "Disks":
        await self.broker.node.start()
        return self

    async def restart(self) -> "Disks":
        await self.broker.node.stop()
        return await Disks(self.disk).start()

    async def alter(self, path: str, topic: str = "river", index: int = 0) -> int:
        wanted = AlterReplicaLogDirTopic(name=topic, partitions=[index])
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=[wanted])])
        [result] = (await self.broker.send(request, 2)).results
        assert (result.topic_name, result.partitions[0].partition_index) == (topic, index)
        return int(result.partitions[0].error_code)

    async def moved(self) -> None:
        """Return when no replica is being moved."""
        await self.broker.node.broker.mover.idle()

    async def fill(self, count: int = 4, value: bytes = LARGE) -> None:
        for _ in range(count):
            assert await self.broker.produce("river", value) == 0

    async def describe(self, *partitions: TopicPartition) -> dict[str, Any]:
        topics = [DescribableLogDirTopic(topic=t, partitions=[i]) for t, i in partitions]
        request = DescribeLogDirsRequest(topics=topics or None)
        return {each.log_dir: each for each in (await self.broker.send(request, 4)).results}

    def registration(self, topic: str = "river") -> PartitionRegistration:
        return self.broker.node.broker.image.topics_by_name[topic].partitions[0]

    def directory_of(self, topic: str = "river") -> str | None:
        """The directory of the replica in the metadata."""
        dirs = self.broker.node.logs.dirs
        return dirs.path_of(self.registration(topic).directory_of(1))

    def log_dir(self, topic: str = "river") -> str:
        return self.broker.node.logs.logs[TopicPartition(topic, 0)].log_dir

    def partition_dirs(self, path: str) -> list[str]:
        return [name for name in self.disk.list_dir(path) if name.startswith("river-0")]


def run(scenario: Callable[[Disks], Awaitable[None]], *, in_dir: str = ONE) -> None:
    """Run the scenario on a new broker, with the topic ``river`` in one of its directories."""

    async def whole() -> None:
        disks = await Disks().start()
        assert await disks.alter(in_dir) == ErrorCode.REPLICA_NOT_AVAILABLE
        await disks.broker.create("river")
        assert disks.log_dir() == in_dir
        await scenario(disks)

    asyncio.run(whole())


# -- placement --


def test_partitions_spread_and_the_metadata_says_where_each_is() -> None:
    async def scenario() -> None:
        disks = await Disks().start()
        topic = CreatableTopic(name="wide", num_partitions=7, replication_factor=1)
        await disks.broker.send(CreateTopicsRequest(topics=[topic]), 7)
        await disks.broker.node.broker.assignments.settled()
        logs = disks.broker.node.logs
        counts = [sum(log.log_dir == path for log in logs.logs.values()) for path in (ONE, TWO)]
        assert sorted(counts) in ([2, 2], [2, 3])
        partitions = disks.broker.node.broker.image.topics_by_name["wide"].partitions
        for index, registration in partitions.items():
            path = logs.logs[TopicPartition("wide", index)].log_dir
            assert registration.directories == (logs.dirs.directory_ids[path],)
        again = await disks.restart()
        found = again.broker.node.broker.image.topics_by_name["wide"].partitions
        assert [each.directories for each in found.values()] == [
            each.directories for each in partitions.values()
        ]

    asyncio.run(scenario())


def test_the_registration_names_every_directory_but_the_metadata_logs() -> None:
    async def scenario(disks: Disks) -> None:
        broker = disks.broker.node.broker
        ids = broker.logs.dirs.directory_ids
        assert sorted(ids) == [ONE, THREE, TWO]
        assert broker.image.brokers[1].log_dirs == tuple(sorted(ids.values()))

    run(scenario)


def test_a_partition_is_unassigned_until_its_broker_has_chosen() -> None:
    async def scenario(disks: Disks) -> None:
        state = disks.broker.node.metadata.runtime.controller.state
        assert state.default_directory(1) == UNASSIGNED_DIRECTORY
        await disks.broker.node.broker.assignments.settled()
        assert disks.directory_of() == ONE

    run(scenario)


def test_a_directory_is_reported_again_until_a_controller_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(directory_assignments, "RETRY_PAUSE_S", 0.0)

    class Unreachable:
        """A channel on which the first two requests get no answer."""

        def __init__(self, channel: ControllerChannel) -> None:
            self._channel = channel
            self.failures = [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.STALE_BROKER_EPOCH]

        async def send(self, request: Message, version: int | None = None) -> Any:
            if self.failures:
                raise ApiError(self.failures.pop(0))
            return await self._channel.send(request, version)

    async def scenario(disks: Disks) -> None:
        node = disks.broker.node
        # The report of what ``run`` has created is not under way yet.
        assert disks.directory_of() is None
        channel = Unreachable(node.metadata.forwarding_channel)
        broker = node.broker
        broker.assignments = DirectoryAssignments(
            1, node.logs, node.metadata.publisher, node.metadata.lifecycle, channel
        )
        topic_id = broker.image.topics_by_name["river"].id
        broker.assignments.note(topic_id, 0, ONE)
        await broker.assignments.settled()
        assert channel.failures == []
        assert disks.directory_of() == ONE

    run(scenario)


def test_a_directory_from_before_directories_had_ids_gets_one() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.broker.node.stop()
        properties = read_meta_properties(disks.disk, ONE)
        assert properties is not None
        write_meta_properties(disks.disk, ONE, properties._replace(directory_id=None))
        again = await Disks(disks.disk).start()
        await again.broker.node.broker.assignments.settled()
        found = read_meta_properties(disks.disk, ONE)
        assert found is not None
        assert found.directory_id == again.broker.node.logs.dirs.directory_ids[ONE]
        assert again.directory_of() == ONE

    run(scenario)


# -- moves --


def test_a_replica_moves_with_everything_that_comes_meanwhile() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        assert await disks.alter(TWO) == 0
        log = disks.broker.node.logs.logs[RIVER]
        while RIVER in disks.broker.node.logs.future_logs and log.log_end_offset < 12:
            assert await disks.broker.produce("river", b"meanwhile") == 0
        await disks.moved()
        assert (disks.log_dir(), disks.directory_of()) == (TWO, TWO)
        await disks.fill(1, b"after")
        end = disks.broker.node.logs.logs[RIVER].log_end_offset
        values = await disks.broker.read("river")
        assert values[:4] == [LARGE] * 4
        assert values[4:] == [b"meanwhile"] * (end - 5) + [b"after"]
        assert end > 5
        assert disks.partition_dirs(TWO) == ["river-0"]
        [old] = disks.partition_dirs(ONE)
        assert old.endswith("-delete")
        again = await disks.restart()
        assert (again.log_dir(), again.directory_of()) == (TWO, TWO)
        assert await again.broker.read("river") == values

    run(scenario)


def test_both_copies_are_described_while_one_is_made() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        assert await disks.alter(TWO) == 0
        found = await disks.describe()
        [current] = found[ONE].topics[0].partitions
        [future] = found[TWO].topics[0].partitions
        assert (current.is_future_key, current.offset_lag) == (False, 0)
        assert current.partition_size > 4 * len(LARGE)
        assert future.is_future_key
        assert future.offset_lag > 0
        assert found[THREE].topics == []
        assert found[ONE].total_bytes >= found[ONE].usable_bytes > 0
        await disks.moved()
        found = await disks.describe(RIVER)
        assert found[ONE].topics == []
        [moved] = found[TWO].topics[0].partitions
        assert (moved.partition_size, moved.is_future_key) == (current.partition_size, False)
        assert (await disks.describe(TopicPartition("river", 9)))[TWO].topics == []

    run(scenario)


def test_a_fetch_that_waits_is_answered_from_the_new_directory() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill(1, b"before")
        assert await disks.alter(TWO) == 0
        await disks.moved()
        reading = asyncio.ensure_future(disks.broker.read("river"))
        await disks.fill(1, b"after")
        assert await reading in ([b"before"], [b"before", b"after"])

    run(scenario)


def test_a_move_elsewhere_replaces_the_one_under_way() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        assert await disks.alter(TWO) == 0
        assert await disks.alter(THREE) == 0
        assert disks.broker.node.logs.future_logs[RIVER].log_dir == THREE
        await disks.moved()
        assert (disks.log_dir(), disks.directory_of()) == (THREE, THREE)
        [given_up] = disks.partition_dirs(TWO)
        assert given_up.endswith("-delete")

    run(scenario)


def test_a_move_back_to_where_it_is_cancels_the_one_under_way() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        assert await disks.alter(TWO) == 0
        assert await disks.alter(ONE) == 0
        await disks.moved()
        await disks.broker.node.broker.assignments.settled()
        assert not disks.broker.node.logs.future_logs
        assert (disks.log_dir(), disks.directory_of()) == (ONE, ONE)
        assert await disks.alter(ONE) == 0, "nothing to do"

    run(scenario)


def test_a_replica_moves_there_and_back() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        for path in (TWO, ONE, TWO, ONE):
            assert await disks.alter(path) == 0
            await disks.moved()
            assert (disks.log_dir(), disks.directory_of()) == (path, path)
            await disks.fill(1, b"more")
        assert await disks.broker.read("river") == [LARGE] * 4 + [b"more"] * 4
        assert (await disks.restart()).log_dir() == ONE

    run(scenario)


def test_a_topic_deleted_during_its_move_leaves_nothing() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        assert await disks.alter(TWO) == 0
        doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="river")], timeout_ms=1)
        assert (await disks.broker.send(doomed, 6)).responses[0].error_code == 0
        await disks.moved()
        logs = disks.broker.node.logs
        assert not logs.logs
        assert not logs.future_logs
        await disks.broker.create("river")
        await disks.fill(1, b"new")
        assert await disks.broker.read("river") == [b"new"]
        assert logs.dirs.live == [ONE, TWO, THREE]
        left = disks.partition_dirs(ONE) + disks.partition_dirs(TWO) + disks.partition_dirs(THREE)
        assert [name for name in left if not name.endswith("-delete")] == ["river-0"]

    run(scenario)


def test_a_move_goes_on_after_a_stop() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        assert await disks.alter(TWO) == 0
        again = await disks.restart()
        assert (again.log_dir(), again.directory_of()) == (ONE, ONE), "the stop came first"
        assert RIVER in again.broker.node.logs.future_logs
        await again.moved()
        assert (again.log_dir(), again.directory_of()) == (TWO, TWO)
        assert await again.broker.read("river") == [LARGE] * 4

    run(scenario)


def test_a_move_goes_on_after_the_topic_id_of_the_copy_was_lost_with_the_power() -> None:
    """Without it, the next start would not know whose records these are, and put them aside."""

    async def scenario(disks: Disks) -> None:
        await disks.fill()
        source = disks.broker.node.logs.logs[RIVER]
        # The copy is made, and has nothing yet.
        disks.broker.node.logs.get_or_create(
            RIVER, source.config, source.topic_id, is_new=False, log_dir=TWO, is_future=True
        )
        await disks.broker.node.stop()
        [copy] = disks.partition_dirs(TWO)
        disks.disk.remove(f"{TWO}/{copy}/{PARTITION_METADATA}")
        again = await Disks(disks.disk).start()
        await again.moved()
        assert (again.log_dir(), again.directory_of()) == (TWO, TWO)
        once_more = await again.restart()
        assert once_more.log_dir() == TWO
        assert await once_more.broker.read("river") == [LARGE] * 4

    run(scenario)


def test_a_full_disk_delays_a_move() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        disks.disk.fail_next("append", f"{TWO}/*.log", errno.ENOSPC, count=3)
        assert await disks.alter(TWO) == 0
        await disks.moved()
        assert disks.log_dir() == TWO
        assert await disks.broker.read("river") == [LARGE] * 4

    run(scenario)


def test_a_target_that_fails_leaves_the_replica_where_it_is() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        disks.disk.fail_next("append", f"{TWO}/*.log", errno.EIO)
        assert await disks.alter(TWO) == 0
        await disks.moved()
        await disks.broker.node.broker.settle()
        assert (disks.log_dir(), disks.directory_of()) == (ONE, ONE)
        assert not disks.broker.node.logs.future_logs
        assert await disks.alter(TWO) == ErrorCode.KAFKA_STORAGE_ERROR
        assert await disks.broker.read("river") == [LARGE] * 4

    run(scenario)


def test_what_cannot_be_moved_is_refused() -> None:
    async def scenario(disks: Disks) -> None:
        assert await disks.alter("/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
        assert await disks.alter(META) == ErrorCode.LOG_DIR_NOT_FOUND
        assert await disks.alter(TWO, "lake") == ErrorCode.REPLICA_NOT_AVAILABLE
        assert await disks.alter(TWO, "x" * 249) == ErrorCode.INVALID_TOPIC_EXCEPTION
        await disks.broker.create("lake")
        assert disks.log_dir("lake") == TWO, "the wish was remembered"

    run(scenario)


def test_a_broker_killed_at_any_moment_of_a_move_serves_everything_afterwards() -> None:
    async def until(moment: int) -> tuple[SimulatedDisk, int]:
        disks = await Disks().start()
        await disks.alter(ONE)
        await disks.broker.create("river")
        await disks.fill(3)
        before = disks.disk.operations
        disks.disk.cut_power_after(moment)
        with suppress(PowerCut):
            await disks.alter(TWO)
            await disks.moved()
        return disks.disk, disks.disk.operations - before

    async def scenario() -> None:
        _, whole = await until(10**6)
        places = set()
        for moment in range(0, whole, 2):
            disk, _ = await until(moment)
            disk.crash(keep_everything)
            again = await Disks(disk).start()
            places.add(again.log_dir())
            assert await again.broker.read("river") == [LARGE] * 3, f"moment {moment}"
            await again.moved()
            await again.broker.node.broker.assignments.settled()
            assert again.directory_of() == again.log_dir(), f"moment {moment}"
            assert await again.broker.read("river") == [LARGE] * 3, f"moment {moment}"
        assert places == {ONE, TWO}

    asyncio.run(scenario())


# -- failed disks --


def test_a_disk_that_fails_takes_its_partitions_along_and_no_others() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.alter(TWO, "lake")
        await disks.broker.create("lake")
        await disks.broker.node.broker.assignments.settled()
        await disks.fill(1, b"kept")
        disks.disk.fail_next("append", f"{ONE}/river-0/*.log", errno.EIO)
        assert await disks.broker.produce("river", b"lost") == ErrorCode.KAFKA_STORAGE_ERROR
        await disks.broker.node.broker.settle()
        for _ in range(2):
            assert await disks.broker.produce("river", b"x") == ErrorCode.KAFKA_STORAGE_ERROR
            assert await disks.broker.produce("lake", b"x") == 0
        assert disks.broker.node.failure is None

        topics = [MetadataRequestTopic(name=name) for name in ("river", "lake")]
        river, lake = (await disks.broker.send(MetadataRequest(topics=topics), 12)).topics
        [partition] = river.partitions
        assert partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE
        assert (partition.leader_id, partition.offline_replicas) == (-1, [1])
        assert lake.partitions[0].leader_id == 1
        found = await disks.describe()
        assert found[ONE].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert found[TWO].topics[0].name == "lake"
        broker = disks.broker.node.broker
        assert len(broker.image.brokers[1].log_dirs) == 2
        assert await disks.alter(ONE, "lake") == ErrorCode.KAFKA_STORAGE_ERROR
        assert await disks.alter(TWO) == ErrorCode.KAFKA_STORAGE_ERROR

        again = await disks.restart()
        assert len(again.broker.node.broker.image.brokers[1].log_dirs) == 3
        assert await again.broker.read("river") == [b"kept"], "the disk was repaired"
        assert again.registration().leader == 1

    run(scenario)


def test_a_disk_that_is_broken_at_the_start_is_left_out_until_it_is_repaired() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill(1, b"kept")
        await disks.alter(TWO, "lake")
        await disks.broker.create("lake")
        await disks.broker.node.broker.assignments.settled()
        await disks.broker.node.stop()
        disks.disk.fail_next("*", f"{ONE}*", errno.EIO, count=10**6)
        broken = await Disks(disks.disk).start()
        assert list(broken.broker.node.logs.dirs.offline) == [ONE]
        assert await broken.broker.produce("river", b"x") == ErrorCode.KAFKA_STORAGE_ERROR
        assert await broken.broker.produce("lake", b"x") == 0
        assert broken.registration().leader == -1
        assert await broken.alter(TWO) == ErrorCode.KAFKA_STORAGE_ERROR
        await broken.broker.create("sea")
        assert await broken.broker.produce("sea", b"x") == 0
        await broken.broker.node.stop()
        disks.disk.heal()
        again = await Disks(disks.disk).start()
        assert await again.broker.read("river") == [b"kept"]
        assert await again.broker.produce("river", b"more") == 0

    run(scenario)


def test_a_disk_that_was_replaced_gets_its_partitions_anew() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill(1, b"gone with the disk")
        await disks.broker.node.broker.assignments.settled()
        old_id = disks.broker.node.logs.dirs.directory_ids[ONE]
        await disks.broker.node.stop()
        disks.disk.remove_tree(ONE)
        again = Disks(disks.disk)
        with pytest.raises(FormatError, match=r"No meta\.properties found in /one"):
            await again.start()
        options = FormatOptions(ignore_formatted=True)
        format_directories(again.broker.node.config, options, disks.disk, random.Random(2))
        await again.start()
        await again.broker.node.broker.assignments.settled()
        assert again.broker.node.logs.dirs.directory_ids[ONE] != old_id
        assert again.directory_of() == again.log_dir()
        assert await again.broker.produce("river", b"new") == 0

    run(scenario)


def test_without_its_metadata_the_broker_stops() -> None:
    async def scenario(disks: Disks) -> None:
        disks.disk.fail_next("append", f"{META}/*.log", errno.EIO)
        topic = CreatableTopic(name="sea", num_partitions=1, replication_factor=1)
        refused = await disks.broker.send(CreateTopicsRequest(topics=[topic]), 7)
        assert refused.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        await asyncio.wait_for(disks.broker.node.failed.wait(), 120)
        assert f"the metadata log directory {META} has failed" in (disks.broker.node.failure or "")
        await disks.broker.node.abandon()
        assert await (await Disks(disks.disk).start()).broker.produce("river", b"x") == 0

    run(scenario)


def test_a_failed_flush_of_the_metadata_stops_the_broker() -> None:
    async def scenario(disks: Disks) -> None:
        disks.disk.fail_next("fsync", f"{META}/*.log", errno.EIO)
        topic = CreatableTopic(name="sea", num_partitions=1, replication_factor=1)
        refused = await disks.broker.send(CreateTopicsRequest(topics=[topic]), 7)
        assert refused.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        await asyncio.wait_for(disks.broker.node.failed.wait(), 120)

    run(scenario)


def test_without_any_disk_for_logs_the_broker_stops() -> None:
    async def scenario(disks: Disks) -> None:
        for path in (ONE, TWO, THREE):
            await disks.alter(path, path[1:])
            await disks.broker.create(path[1:])
            assert disks.broker.node.failure is None
            disks.disk.fail_next("append", f"{path}/*.log", errno.EIO)
            assert await disks.broker.produce(path[1:], b"x") == ErrorCode.KAFKA_STORAGE_ERROR
        assert "all log directories have failed" in (disks.broker.node.failure or "")

    run(scenario)


def test_a_broken_metadata_directory_prevents_the_start() -> None:
    async def scenario() -> None:
        disks = Disks()
        disks.disk.fail_next("*", f"{META}*", errno.EIO, count=10**6)
        with pytest.raises(FormatError, match="metadata log directory /meta cannot be used"):
            await disks.start()

    asyncio.run(scenario())


# -- the throttle --


def test_what_was_copied_is_paid_for_by_time() -> None:
    throttle = Throttle()
    throttle.copied(500)
    assert throttle.delay_ms(rate=1000, now_ms=10**9) == 0, "long ago nobody copied"
    throttle.copied(500)
    assert throttle.delay_ms(rate=1000, now_ms=10**9) == 500
    assert throttle.delay_ms(rate=1000, now_ms=10**9 + 200) == 300
    assert throttle.delay_ms(rate=2000, now_ms=10**9 + 300) == 50
    assert throttle.delay_ms(rate=2000, now_ms=10**9 + 350) == 0


def test_a_rate_of_nothing_is_asked_about_every_second() -> None:
    throttle = Throttle()
    assert throttle.delay_ms(rate=0, now_ms=0) == 0
    throttle.copied(1_000_000)
    assert throttle.delay_ms(rate=0, now_ms=1_000) == 1000
    assert throttle.delay_ms(rate=0, now_ms=2_000) == 1000
    assert throttle.delay_ms(rate=10**9, now_ms=3_000) == 0
