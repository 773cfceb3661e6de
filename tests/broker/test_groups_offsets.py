"""Committed offsets: stored, fetched, refused, expired."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.ids import OFFSETS_TOPIC
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.offset_commit import OffsetCommitRequestTopic
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from moldau.record.compression import Codec
from moldau.record.header import iter_headers
from moldau.simulator.disk import SimulatedDisk
from tests.broker.grouping import (
    QUICK,
    Member,
    commit,
    commit_request,
    committed,
    fetch_request,
    find_coordinator,
)
from tests.broker.producing import create_topic, fetch
from tests.broker.simulated import SimulatedBroker
from tests.broker.test_kill import Process
from tests.running import RunningBroker, WireClient

DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path / "data", QUICK) as broker:
        yield broker


@pytest.fixture
def ready(quick: RunningBroker) -> Iterator[WireClient]:
    """A broker with a coordinator and a topic ``t`` of three partitions."""
    with quick.connect() as client:
        find_coordinator(client)
        create_topic(client, "t", 3)
        yield client


def topic_id(broker: RunningBroker, name: str) -> bytes:
    return broker.node.broker.image.topics_by_name[name].id


@pytest.mark.parametrize("version", range(2, 11))
def test_a_commit_is_taken_in_every_version(
    quick: RunningBroker, ready: WireClient, version: int
) -> None:
    request = commit_request("g", "t", {0: 3, 2: 5}, "note", topic_id(quick, "t"))
    response = ready.send(request, version)
    (topic,) = response.topics
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [
        (0, 0),
        (2, 0),
    ]
    assert (topic.name, topic.topic_id)[version >= 10] == ("t", topic_id(quick, "t"))[version >= 10]
    assert committed(ready, "g") == {("t", 0): 3, ("t", 2): 5}


@pytest.mark.parametrize("version", range(1, 11))
def test_an_offset_is_found_in_every_version(
    quick: RunningBroker, ready: WireClient, version: int
) -> None:
    request = commit_request("g", "t", {1: 42}, "note")
    request.topics[0].partitions[0].committed_leader_epoch = 6
    ready.send(request, 9)
    if version < 8:
        wanted = OffsetFetchRequestTopic(name="t", partition_indexes=[1, 2])
        answer = ready.send(OffsetFetchRequest(group_id="g", topics=[wanted]), version)
    else:
        by_id = OffsetFetchRequestTopics(
            name="t", topic_id=topic_id(quick, "t"), partition_indexes=[1, 2]
        )
        group = OffsetFetchRequestGroup(group_id="g", topics=[by_id])
        (answer,) = ready.send(OffsetFetchRequest(groups=[group]), version).groups
    assert answer.error_code == 0
    found, missing = answer.topics[0].partitions
    assert (found.partition_index, found.committed_offset, found.metadata) == (1, 42, "note")
    assert found.committed_leader_epoch == (6 if version >= 5 else -1)
    assert (missing.partition_index, missing.committed_offset) == (2, -1)
    assert (found.error_code, missing.error_code) == (0, 0)


@pytest.mark.parametrize("version", [2, 7])
def test_old_versions_can_ask_for_all_offsets_too(ready: WireClient, version: int) -> None:
    commit(ready, "g", "t", {0: 1, 1: 2})
    answer = ready.send(OffsetFetchRequest(group_id="g", topics=None), version)
    assert [each.committed_offset for each in answer.topics[0].partitions] == [1, 2]


def test_many_groups_are_asked_for_at_once(quick: RunningBroker, ready: WireClient) -> None:
    names = [f"group {number}" for number in range(10)]
    for number, name in enumerate(names):
        commit(ready, name, "t", {0: number})
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    response = ready.send(OffsetFetchRequest(groups=groups, require_stable=True), 10)
    found = [
        (each.group_id, each.topics[0].topic_id, each.topics[0].partitions[0].committed_offset)
        for each in response.groups
    ]
    assert found == [(name, topic_id(quick, "t"), number) for number, name in enumerate(names)]


def test_what_does_not_exist_is_refused_and_the_rest_is_taken(ready: WireClient) -> None:
    request = commit_request("g", "t", {0: 1, 7: 2})
    request.topics += commit_request("g", "nothing", {0: 3}).topics
    response = ready.send(request, 9)
    codes = {
        (topic.name, each.partition_index): each.error_code
        for topic in response.topics
        for each in topic.partitions
    }
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {("t", 0): 0, ("t", 7): unknown, ("nothing", 0): unknown}
    assert committed(ready, "g") == {("t", 0): 1}


def test_an_unknown_topic_id_is_called_that(ready: WireClient) -> None:
    request = commit_request("g", "", {0: 1}, topic_id=b"0123456789abcdef")
    (topic,) = ready.send(request, 10).topics
    assert topic.topic_id == b"0123456789abcdef"
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    wanted = OffsetFetchRequestTopics(topic_id=b"0123456789abcdef", partition_indexes=[4])
    group = OffsetFetchRequestGroup(group_id="g", topics=[wanted])
    (answer,) = ready.send(OffsetFetchRequest(groups=[group]), 10).groups
    (partition,) = answer.topics[0].partitions
    assert (partition.partition_index, partition.committed_offset) == (4, -1)
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_note_may_be_only_so_long(ready: WireClient) -> None:
    response = ready.send(commit_request("g", "t", {0: 1}, "x" * 4097), 9)
    code = response.topics[0].partitions[0].error_code
    assert code == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert committed(ready, "g") == {}


def test_without_a_coordinator_every_partition_says_so(client: WireClient) -> None:
    create_topic(client, "t")
    (topic,) = client.send(commit_request("g", "t", {0: 1}), 9).topics
    assert topic.partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    (group,) = client.send(fetch_request("g", "t", [0]), 9).groups
    assert group.error_code == ErrorCode.NOT_COORDINATOR
    wanted = OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    oldest = client.send(OffsetFetchRequest(group_id="g", topics=[wanted]), 1)
    assert oldest.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR


def test_only_members_commit_for_a_group_that_has_some(ready: WireClient) -> None:
    member = Member(ready)
    member.join()
    member.sync({member.member_id: b"everything"})
    (topic,) = ready.send(commit_request("g", "t", {0: 1}), 9).topics
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert member.commit("t", 0, 2) is ErrorCode.NONE
    member.generation += 1
    assert member.commit("t", 0, 3) is ErrorCode.ILLEGAL_GENERATION
    assert committed(ready, "g") == {("t", 0): 2}


def delete_request(group: str, offsets: dict[str, list[int]]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in indexes],
            )
            for name, indexes in offsets.items()
        ],
    )


def test_offsets_are_deleted_one_by_one(ready: WireClient) -> None:
    commit(ready, "g", "t", {0: 1, 1: 2, 2: 3})
    response = ready.send(delete_request("g", {"t": [0, 2, 9], "nothing": [0]}), 0)
    assert response.error_code == 0
    codes = {
        (topic.name, each.partition_index): each.error_code
        for topic in response.topics
        for each in topic.partitions
    }
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {("t", 0): 0, ("t", 2): 0, ("t", 9): unknown, ("nothing", 0): unknown}
    assert committed(ready, "g") == {("t", 1): 2}
    response = ready.send(delete_request("no such group", {"t": [0]}), 0)
    assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    response = ready.send(delete_request("", {"t": [0]}), 0)
    assert response.error_code == ErrorCode.INVALID_GROUP_ID


def test_the_offsets_of_a_deleted_topic_go_with_it(ready: WireClient) -> None:
    create_topic(ready, "kept")
    commit(ready, "g", "t", {0: 1})
    commit(ready, "g", "kept", {0: 2})
    ready.send(DeleteTopicsRequest([DeleteTopicState(name="t")], timeout_ms=60_000), 6)
    assert committed(ready, "g") == {("kept", 0): 2}


def test_offsets_are_there_after_a_restart(tmp_path: Path) -> None:
    with RunningBroker(tmp_path / "data") as broker, broker.connect() as client:
        find_coordinator(client)
        create_topic(client, "t", 3)
        for number in range(200):
            commit(client, f"group {number % 20}", "t", {number % 3: number})
        expected = {f"group {n}": committed(client, f"group {n}") for n in range(20)}
        ready_groups = client.send(delete_request("group 0", {"t": [0]}), 0)
        assert ready_groups.error_code == 0
        expected["group 0"].pop(("t", 0))
    with RunningBroker(tmp_path / "data") as broker, broker.connect() as client:
        wait_until_loaded(client, [*expected])
        assert {name: committed(client, name) for name in expected} == expected


def wait_until_loaded(client: WireClient, names: list[str]) -> None:
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    while any(
        each.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        for each in client.send(OffsetFetchRequest(groups=groups), 9).groups
    ):
        pass


def test_acknowledged_commits_survive_kill_nine(tmp_path: Path) -> None:
    process = Process(tmp_path / "data")
    with WireClient(process.port) as client:
        find_coordinator(client)
        create_topic(client, "t")
        for offset in range(100):
            commit(client, "g", "t", {0: offset})
        process.kill()
    process = Process(tmp_path / "data")
    with WireClient(process.port) as client:
        wait_until_loaded(client, ["g"])
        assert committed(client, "g") == {("t", 0): 99}
    assert process.terminate() == 0


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_the_log_is_written_with_the_codec_that_was_asked_for(tmp_path: Path, codec: Codec) -> None:
    settings = {"offsets.topic.compression.codec": str(int(codec))}
    settings["offsets.topic.num.partitions"] = "1"
    with RunningBroker(tmp_path / "data", settings) as broker, broker.connect() as client:
        find_coordinator(client)
        create_topic(client, "t", 2)
        commit(client, "g", "t", {0: 1, 1: 2})
        records = bytes(fetch(client, OFFSETS_TOPIC, 0).records)
        (_, header), *rest = iter_headers(records)
        assert rest == [], "one commit, one batch"
        assert (header.compression, header.record_count) == (codec, 2)
    with RunningBroker(tmp_path / "data", settings) as broker, broker.connect() as client:
        wait_until_loaded(client, ["g"])
        assert committed(client, "g") == {("t", 0): 1, ("t", 1): 2}


def test_an_outcome_larger_than_a_batch_is_written_in_several(ready: WireClient) -> None:
    request = commit_request("g", "t", {0: 0})
    create_topic(ready, "wide", 400)
    request.topics = [
        OffsetCommitRequestTopic(
            name="wide",
            partitions=commit_request("g", "", dict.fromkeys(range(400), 1), "x" * 4000)
            .topics[0]
            .partitions,
        )
    ]
    (topic,) = ready.send(request, 9).topics
    assert {each.error_code for each in topic.partitions} == {0}
    assert len(committed(ready, "g")) == 400


class Simulation:
    """A broker on a simulated disk with a coordinator and a topic ``t``."""

    def __init__(self, disk: SimulatedDisk, clock: ManualClock) -> None:
        self.broker = SimulatedBroker(disk, clock)

    async def start(self) -> None:
        await self.broker.node.start()
        await self.broker.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
        await self.broker.create("t")

    async def commit(self, offset: int) -> ErrorCode:
        response = await self.broker.send(commit_request("g", "t", {0: offset}), 9)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    async def committed(self) -> Any:
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        group: Any = None
        while group is None or group.error_code == loading:
            await asyncio.sleep(0)
            (group,) = (await self.broker.send(fetch_request("g", None, []), 9)).groups
        assert group.error_code == 0
        return [p.committed_offset for topic in group.topics for p in topic.partitions]


def test_offsets_of_an_empty_group_expire() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        simulation = Simulation(SimulatedDisk(seed=1), clock)
        await simulation.start()
        assert await simulation.commit(5) is ErrorCode.NONE
        groups = simulation.broker.node.broker.groups
        clock.advance(6 * DAY_MS)
        groups.expire_offsets()
        assert await simulation.committed() == [5]
        clock.advance(2 * DAY_MS)
        groups.expire_offsets()
        assert await simulation.committed() == []
        await simulation.broker.node.stop()

    asyncio.run(scenario())


def test_a_commit_that_cannot_be_written_leaves_no_trace() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=2)
        simulation = Simulation(disk, ManualClock())
        await simulation.start()
        assert await simulation.commit(5) is ErrorCode.NONE
        disk.capacity = 0
        assert await simulation.commit(6) is ErrorCode.NOT_COORDINATOR
        disk.capacity = None
        assert await simulation.committed() == [5], "read again from the log"
        assert await simulation.commit(7) is ErrorCode.NONE
        assert await simulation.committed() == [7]
        await simulation.broker.node.stop()

    asyncio.run(scenario())


def test_a_failed_disk_coordinates_nobody() -> None:
    async def scenario() -> None:
        disk = SimulatedDisk(seed=3)
        simulation = Simulation(disk, ManualClock())
        await simulation.start()
        disk.fail_next("append", f"*/{OFFSETS_TOPIC}-*/*.log", OSError(5, "Input/output error"))
        assert await simulation.commit(5) is ErrorCode.NOT_COORDINATOR
        await asyncio.sleep(0)
        assert await simulation.commit(5) is ErrorCode.NOT_COORDINATOR

    asyncio.run(scenario())
