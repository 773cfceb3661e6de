"""A waiting fetch is completed by an append, whenever that happens."""

import asyncio
from functools import partial
from typing import Any

import pytest

from moldau.broker.delayed_fetch import DelayedFetch
from moldau.broker.partition import HIGH_WATERMARK, Partition
from moldau.broker.uncommitted_bytes import MAX_COUNTED_BATCHES
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.record.control import ControlType, end_txn_batch
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.producer_state import AppendOrigin
from moldau.storage.log.verification import NOT_REQUIRED
from tests.broker.batches import batch
from tests.broker.producing import fetch_request
from tests.broker.replicated import Replicated, lead, turns, values
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
        reply = await asyncio.wait_for(waiting, 30)
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
        delayed = DelayedFetch(partitions, 2 * one_batch, HIGH_WATERMARK)
        waiting = asyncio.ensure_future(delayed.wait(60_000))
        await broker.produce("t", b"x")
        await asyncio.sleep(0)
        assert not waiting.done(), "half of it"
        await broker.produce("other", b"x")
        await asyncio.wait_for(waiting, 30)

    asyncio.run(scenario())


# --- what each kind of reader waits for


def waiting_fetch(replicated: Replicated, **fields: Any) -> "asyncio.Task[Any]":
    fields = {"min_bytes": 1, "max_wait_ms": 60_000, **fields}
    return asyncio.ensure_future(replicated.fetch(**fields))


def test_a_consumer_waits_for_the_high_watermark_and_a_follower_for_the_log_end() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        consumer = waiting_fetch(replicated)
        follower = waiting_fetch(replicated, replica_id=2)
        await turns()
        await replicated.produce(b"a")
        assert values(await asyncio.wait_for(follower, 30)) == [b"a"]
        assert not consumer.done(), "it is appended, but not committed"
        partition.advance(1)
        assert values(await asyncio.wait_for(consumer, 30)) == [b"a"]

    replicated.run(scenario)


def test_a_follower_is_not_woken_by_the_high_watermark_alone() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        await replicated.produce(b"a")
        follower = waiting_fetch(replicated, offset=1, replica_id=2)
        await turns()
        partition.advance(1)
        await turns()
        assert not follower.done()
        lead(partition, leader=2, epochs=1)
        data = await asyncio.wait_for(follower, 30)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    replicated.run(scenario)


def test_a_follower_is_told_the_high_watermark_and_reads_above_it() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        await replicated.produce(b"a")
        await replicated.produce(b"b")
        partition.advance(1)
        data = await replicated.fetch(replica_id=3)
        assert (values(data), data.high_watermark) == ([b"a", b"b"], 1)

    replicated.run(scenario)


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (0, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_a_broker_without_a_replica_cannot_follow(epoch: int, code: ErrorCode) -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        request = fetch_request("t", 0, replica_id=4)
        request.topics[0].partitions[0].current_leader_epoch = epoch
        response = await replicated.broker.send(request, 12)
        assert response.responses[0].partitions[0].error_code == code

    replicated.run(scenario)


def test_a_consumer_counts_the_bytes_that_became_readable() -> None:
    replicated = Replicated()
    one_batch = len(batch(b"x", timestamp=1000))

    async def scenario(partition: Partition) -> None:
        for _ in range(3):
            await replicated.produce(b"x")
        consumer = waiting_fetch(replicated, min_bytes=2 * one_batch)
        await turns()
        partition.advance(1)
        await turns()
        assert not consumer.done(), "three batches are appended, but one is readable"
        partition.advance(2)
        assert values(await asyncio.wait_for(consumer, 30)) == [b"x"] * 2

    replicated.run(scenario)


def test_bytes_that_a_new_leader_found_are_counted_when_they_are_committed() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        lead(partition, leader=2, epochs=1)
        partition.log.append_as_follower(batch(b"a", timestamp=1000))
        lead(partition, epochs=1)
        consumer = waiting_fetch(replicated)
        await turns()
        assert not consumer.done()
        partition.advance(1)
        assert values(await asyncio.wait_for(consumer, 30)) == [b"a"]

    replicated.run(scenario)


def test_very_many_uncommitted_batches_are_counted_together() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        for _ in range(MAX_COUNTED_BATCHES + 10):
            partition.append(batch(b"x", timestamp=1000), 1, 1000)
        before = partition.readable_bytes(HIGH_WATERMARK)
        partition.advance(partition.log.log_end_offset)
        readable = partition.readable_bytes(HIGH_WATERMARK) - before
        assert readable == partition.log.size_bytes

    replicated.run(scenario)


def test_who_reads_committed_waits_for_the_end_of_the_transaction() -> None:
    replicated = Replicated()
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}

    async def scenario(partition: Partition) -> None:
        append = partial(partition.append, acks=1, wall_ms=1000, guard=NOT_REQUIRED)
        append(batch(b"in", timestamp=1000, is_transactional=True, **producer))
        uncommitted = waiting_fetch(replicated)
        committed = waiting_fetch(replicated, isolation_level=1)
        await turns()
        partition.advance(1)
        assert values(await asyncio.wait_for(uncommitted, 30)) == [b"in"]
        append(batch(b"after", timestamp=1000))
        partition.advance(2)
        await turns()
        assert not committed.done(), "the transaction is open"
        marker = end_txn_batch(ControlType.COMMIT, 0, 7, 0, 1000)
        append(marker, origin=AppendOrigin.COORDINATOR)
        await turns()
        assert not committed.done(), "its end is not committed yet"
        partition.advance(3)
        data = await asyncio.wait_for(committed, 30)
        assert (values(data)[:2], data.last_stable_offset) == ([b"in", b"after"], 3)

    replicated.run(scenario)


def transactional_append(partition: Partition, number: int, value: bytes) -> int:
    """Append a batch of producer 7, committed at once; returns its size."""
    data = batch(
        value,
        timestamp=1000,
        is_transactional=True,
        producer_id=7,
        producer_epoch=0,
        base_sequence=number,
    )
    partition.append(data, 1, 1000, guard=NOT_REQUIRED)
    partition.advance(partition.log.log_end_offset)
    return len(data)


def test_who_reads_committed_counts_what_a_marker_makes_readable() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        size = transactional_append(partition, 0, b"x" * 100)
        commit = end_txn_batch(ControlType.COMMIT, 0, 7, 0, 1000)
        all_bytes = 3 * size + len(commit)
        committed = waiting_fetch(replicated, isolation_level=1, min_bytes=all_bytes)
        more = waiting_fetch(replicated, isolation_level=1, min_bytes=all_bytes + 1)
        await turns()
        for number in (1, 2):
            transactional_append(partition, number, b"x" * 100)
        partition.append(batch(b"y" * 1000, timestamp=1000), 1, 1000)
        partition.advance(partition.log.log_end_offset)
        await turns()
        assert not committed.done(), "more than enough was appended, but nothing can be read"
        partition.append(commit, 1, 1000, origin=AppendOrigin.COORDINATOR)
        partition.advance(partition.log.log_end_offset)
        data = await asyncio.wait_for(committed, 30)
        assert len(data.records) > all_bytes
        assert (await asyncio.wait_for(more, 30)).last_stable_offset == 5

    replicated.run(scenario)


def test_in_a_session_too_a_marker_wakes_those_who_read_committed() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        request = fetch_request("t", 0, isolation_level=1, session_epoch=0)
        begun = await replicated.broker.send(request, 12)
        assert begun.session_id
        following = fetch_request(
            "t",
            0,
            isolation_level=1,
            session_id=begun.session_id,
            session_epoch=1,
            min_bytes=1,
            max_wait_ms=60_000,
        )
        following.topics = []
        waiting = asyncio.ensure_future(replicated.broker.send(following, 12))
        await turns()
        for number in range(10):
            transactional_append(partition, number, b"x")
            await turns()
        assert not waiting.done(), "the transaction is open"
        commit = end_txn_batch(ControlType.COMMIT, 0, 7, 0, 1000)
        partition.append(commit, 1, 1000, origin=AppendOrigin.COORDINATOR)
        partition.advance(partition.log.log_end_offset)
        data = (await asyncio.wait_for(waiting, 30)).responses[0].partitions[0]
        assert values(data)[:10] == [b"x"] * 10

    replicated.run(scenario)
