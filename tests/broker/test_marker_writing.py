"""Markers that end transactions, as the coordinator of a transaction sends them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from moldau.broker.hosted_shard import HostedShard, TransactionalWrite
from moldau.broker.partition import Partition
from moldau.clock import ManualClock
from moldau.coordinator.outcome import Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.records import offset_commit_record
from moldau.ids import OFFSETS_TOPIC
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatResponse
from moldau.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.index.txn_index import decode_entries
from moldau.storage.log.verification import NOT_REQUIRED
from tests.broker.grouping import fetch_request as offsets_request
from tests.broker.replicated import ALL, Replicated, lead, turns, values
from tests.broker.simulated import SimulatedBroker
from tests.broker.transactional import MARKERS_VERSION, errors_of, markers, transactional

NOW_MS = 1_700_000_000_000
PRODUCER = 7


def within(scenario: Callable[[SimulatedBroker], Coroutine[Any, Any, None]]) -> None:
    """Run ``scenario`` with a broker that has the topic ``t``."""

    async def run() -> None:
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock(NOW_MS))
        await broker.node.start()
        await broker.create("t", partitions=2)
        await scenario(broker)
        await broker.node.stop()

    asyncio.run(run())


def partition_of(broker: SimulatedBroker, index: int = 0, topic: str = "t") -> Partition:
    return broker.node.broker.replicas.partition(topic, index)


def write(partition: Partition, data: bytes) -> None:
    partition.append(data, -1, NOW_MS, guard=NOT_REQUIRED)


@pytest.mark.parametrize("version", [1, 2])
def test_a_marker_makes_what_was_written_readable(version: int) -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        partition = partition_of(broker)
        write(partition, transactional(PRODUCER, 0, b"x"))
        assert partition.log.last_stable_offset == 0
        response = await broker.send(markers(PRODUCER, {"t": [0, 1]}), version)
        assert errors_of(response) == {("t", 0): 0, ("t", 1): 0}
        assert partition.log.last_stable_offset == 2
        assert partition_of(broker, 1).log.last_stable_offset == 1

    within(scenario)


def test_the_markers_of_one_node_are_written_in_the_turn_of_the_request() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reply = broker.handle(markers(PRODUCER, {"t": [0]}), MARKERS_VERSION)
        assert partition_of(broker).log.high_watermark == 1
        # On a busy machine the answer takes more than one turn.
        answer = await reply if isinstance(reply, Awaitable) else reply
        response = broker.read_reply(answer, WriteTxnMarkersRequest.API_KEY, MARKERS_VERSION)
        assert errors_of(response) == {("t", 0): 0}

    within(scenario)


def test_an_aborted_transaction_is_listed_for_those_who_read_committed() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        partition = partition_of(broker)
        write(partition, transactional(PRODUCER, 0, b"x"))
        await broker.send(markers(PRODUCER, {"t": [0]}, is_commit=False), MARKERS_VERSION)
        read = partition.log.read(0, 1 << 20, max_offset=2, include_aborted=True)
        assert read.aborted is not None
        assert [each.first_offset for each in decode_entries(read.aborted)] == [0]

    within(scenario)


def test_a_partition_that_is_not_there_is_named_and_the_others_are_written() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        request = markers(PRODUCER, {"nowhere": [0], "t": [0, 9]})
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert errors_of(await broker.send(request, MARKERS_VERSION)) == {
            ("nowhere", 0): unknown,
            ("t", 0): 0,
            ("t", 9): unknown,
        }

    within(scenario)


def test_a_marker_of_an_old_epoch_is_refused() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        write(partition_of(broker), transactional(PRODUCER, 0, b"x", epoch=4))
        stale = markers(PRODUCER, {"t": [0]}, epoch=3)
        fenced = ErrorCode.INVALID_PRODUCER_EPOCH
        assert errors_of(await broker.send(stale, MARKERS_VERSION)) == {("t", 0): fenced}

    within(scenario)


def test_from_version_two_on_a_marker_has_the_next_epoch() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        write(partition_of(broker), transactional(PRODUCER, 0, b"x", epoch=4))
        same = markers(PRODUCER, {"t": [0]}, epoch=4, transaction_version=2)
        fenced = ErrorCode.INVALID_PRODUCER_EPOCH
        assert errors_of(await broker.send(same, MARKERS_VERSION)) == {("t", 0): fenced}
        bumped = markers(PRODUCER, {"t": [0]}, epoch=5, transaction_version=2)
        assert errors_of(await broker.send(bumped, MARKERS_VERSION)) == {("t", 0): 0}
        assert errors_of(await broker.send(bumped, MARKERS_VERSION)) == {("t", 0): 0}, "a retry"

    within(scenario)


def test_an_old_coordinator_is_fenced() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        await broker.send(markers(PRODUCER, {"t": [0]}, coordinator_epoch=3), MARKERS_VERSION)
        old = markers(PRODUCER, {"t": [0]}, coordinator_epoch=2)
        fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
        assert errors_of(await broker.send(old, MARKERS_VERSION)) == {("t", 0): fenced}

    within(scenario)


def test_two_markers_of_one_producer_have_one_answer() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        request = markers(PRODUCER, {"t": [0]})
        request.markers += markers(PRODUCER, {"t": [1]}).markers
        response = await broker.send(request, MARKERS_VERSION)
        assert [each.producer_id for each in response.markers] == [PRODUCER]
        assert errors_of(response) == {("t", 0): 0, ("t", 1): 0}

    within(scenario)


def test_a_marker_is_answered_when_it_is_committed() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        write(partition, transactional(PRODUCER, 0, b"x"))
        partition.advance(1)
        sending = asyncio.ensure_future(
            replicated.broker.send(markers(PRODUCER, {"t": [0]}), MARKERS_VERSION)
        )
        await turns()
        assert not sending.done()
        assert values(await replicated.fetch(isolation_level=1)) == []
        partition.advance(2)
        assert errors_of(await sending) == {("t", 0): 0}
        assert values(await replicated.fetch(isolation_level=1))[:1] == [b"x"]

    replicated.run(scenario)


def test_a_broker_that_stops_leading_answers_with_that() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        sending = asyncio.ensure_future(
            replicated.broker.send(markers(PRODUCER, {"t": [0]}), MARKERS_VERSION)
        )
        await turns()
        lead(partition, ALL, leader=2, epochs=1)
        assert errors_of(await sending) == {("t", 0): ErrorCode.NOT_LEADER_OR_FOLLOWER}

    replicated.run(scenario)


# -- offsets of groups


async def commit_in_transaction(broker: SimulatedBroker, offset: int) -> int:
    """Commit an offset of group ``g`` in a transaction; returns the partition of the group."""
    await broker.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
    groups = broker.node.broker.groups
    hosted: HostedShard[Any] = groups.shard_of("g")
    record = offset_commit_record(
        "g", "t", 0, offset=offset, leader_epoch=-1, metadata="", commit_timestamp_ms=NOW_MS
    )
    hosted.decide(
        lambda token, request, context, now: Outcome([record], [Reply(token, HeartbeatResponse())]),
        None,
        None,
        transaction=TransactionalWrite(PRODUCER, 0, NOT_REQUIRED, hosted.shard.replay),
    )
    return groups.partition_for("g")


async def committed_offset(broker: SimulatedBroker, *, stable: bool = False) -> tuple[int, int]:
    request = offsets_request("g", "t", [0])
    request.require_stable = stable
    (group,) = (await broker.send(request, 9)).groups
    each = group.topics[0].partitions[0]
    return each.committed_offset, each.error_code


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 5), (False, -1)])
def test_the_marker_of_a_group_decides_about_its_offsets(is_commit: bool, offset: int) -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        index = await commit_in_transaction(broker, 5)
        assert await committed_offset(broker) == (-1, 0)
        unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert await committed_offset(broker, stable=True) == (-1, unstable)
        request = markers(PRODUCER, {OFFSETS_TOPIC: [index]}, is_commit=is_commit)
        response = await broker.send(request, MARKERS_VERSION)
        assert errors_of(response) == {(OFFSETS_TOPIC, index): 0}
        assert await committed_offset(broker, stable=True) == (offset, 0)

    within(scenario)


def test_a_group_whose_producer_is_fenced_keeps_its_shard() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        index = await commit_in_transaction(broker, 5)
        later = markers(PRODUCER, {OFFSETS_TOPIC: [index]}, epoch=1, is_commit=False)
        await broker.send(later, MARKERS_VERSION)
        shard = broker.node.broker.groups.shard_of("g")
        with pytest.raises(ApiError) as error:
            await commit_in_transaction(broker, 6)
        assert error.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
        assert broker.node.broker.groups.shard_of("g") is shard
        stale = markers(PRODUCER, {OFFSETS_TOPIC: [index]})
        response = await broker.send(stale, MARKERS_VERSION)
        assert errors_of(response) == {(OFFSETS_TOPIC, index): ErrorCode.INVALID_PRODUCER_EPOCH}
        assert broker.node.broker.groups.shard_of("g") is shard

    within(scenario)


def test_the_groups_that_are_being_loaded_take_markers_later() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        index = await commit_in_transaction(broker, 5)
        broker.node.broker.groups.shard_of("g").close()
        response = await broker.send(markers(PRODUCER, {OFFSETS_TOPIC: [index]}), MARKERS_VERSION)
        assert errors_of(response) == {(OFFSETS_TOPIC, index): ErrorCode.NOT_LEADER_OR_FOLLOWER}

    within(scenario)
