"""A batch is acknowledged and visible when the in-sync replicas have it, and not before."""

import asyncio
import errno
from typing import Any

import pytest

from moldau.broker.commit_queue import TICK_MS
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.broker.batches import batch
from tests.broker.producing import produce_request
from tests.broker.replicated import LOCAL_ID, VERSION, Replicated, lead, turns, values

LATEST = -1
MIN_ISR_2 = {"min_insync_replicas": "2"}


def test_a_batch_is_acknowledged_when_the_high_watermark_has_passed_it() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        first = await replicated.produce(b"a")
        second = await replicated.produce(b"b")
        partition.advance(1)
        await turns()
        assert first.done()
        assert not second.done()
        partition.advance(2)
        assert await replicated.outcome(first) is ErrorCode.NONE
        assert await replicated.outcome(second) is ErrorCode.NONE

    replicated.run(scenario)


def test_a_consumer_sees_nothing_above_the_high_watermark() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        await replicated.produce(b"a")
        await replicated.produce(b"b")
        data = await replicated.fetch()
        assert (values(data), data.high_watermark, data.last_stable_offset) == ([], 0, 0)
        # It may ask for what it does not see: another replica may have been ahead.
        assert values(await replicated.fetch(1)) == []
        partition.advance(1)
        data = await replicated.fetch()
        assert (values(data), data.high_watermark) == ([b"a"], 1)

    replicated.run(scenario)


def test_the_latest_offset_of_a_consumer_is_the_high_watermark() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        await replicated.produce(b"a")
        await replicated.produce(b"b")
        partition.advance(1)
        assert (await list_offset(replicated, LATEST)).offset == 1
        assert (await list_offset(replicated, LATEST, replica_id=2)).offset == 2

    replicated.run(scenario)


async def list_offset(
    replicated: Replicated, timestamp: int, replica_id: int = -1, version: int = 7
) -> Any:
    wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topic = ListOffsetsTopic(name="t", partitions=[wanted])
    request = ListOffsetsRequest(replica_id=replica_id, topics=[topic])
    response = await replicated.broker.send(request, version)
    return response.topics[0].partitions[0]


@pytest.mark.parametrize(
    ("version", "code"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)]
)
def test_a_new_leader_does_not_guess_what_was_committed(version: int, code: ErrorCode) -> None:
    """KIP-207: a consumer must not see an offset and then an earlier one."""
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        await replicated.produce(b"a")
        await replicated.produce(b"b")
        partition.advance(1)
        lead(partition, epochs=1)
        for timestamp in (LATEST, 2000):
            refused = await list_offset(replicated, timestamp, version=version)
            assert (refused.offset, refused.error_code) == (-1, code)
        assert (await list_offset(replicated, 1000)).offset == 0
        assert (await list_offset(replicated, LATEST, replica_id=2)).offset == 2
        partition.advance(2)
        assert (await list_offset(replicated, LATEST)).offset == 2
        assert (await list_offset(replicated, 2000)).error_code == 0

    replicated.run(scenario)


@pytest.mark.parametrize("acks", [0, 1])
def test_who_does_not_ask_for_all_does_not_wait(acks: int) -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        request = produce_request("t", batch(b"a", timestamp=1000), acks=acks)
        reply = replicated.broker.handle(request, VERSION)
        assert reply is None if acks == 0 else isinstance(reply, list)
        assert (partition.log.high_watermark, partition.log.log_end_offset) == (0, 1)

    replicated.run(scenario)


def test_a_retry_waits_for_its_first_attempt_only() -> None:
    replicated = Replicated()
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}

    async def scenario(partition: Partition) -> None:
        first = await replicated.produce(b"a", **producer)
        later = await replicated.produce(b"b")
        retry = await replicated.produce(b"a", **producer)
        partition.advance(1)
        assert await replicated.outcome(first) is ErrorCode.NONE
        assert await replicated.outcome(retry) is ErrorCode.NONE
        assert not later.done()

    replicated.run(scenario)


def test_whoever_waits_learns_that_the_leader_has_changed() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        waiting = [await replicated.produce(value) for value in (b"a", b"b")]
        lead(partition, leader=2, epochs=1)
        for each in waiting:
            assert await replicated.outcome(each) is ErrorCode.NOT_LEADER_OR_FOLLOWER

    replicated.run(scenario)


def test_a_batch_of_another_leader_does_not_acknowledge_one_that_is_gone() -> None:
    """The log may have been truncated, and others may have the offset now."""
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        pending = await replicated.produce(b"lost")
        lead(partition, leader=2, epochs=1)
        partition.log.truncate_to(0)
        lead(partition, epochs=1)
        other = await replicated.produce(b"other")
        partition.advance(1)
        assert await replicated.outcome(pending) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert await replicated.outcome(other) is ErrorCode.NONE

    replicated.run(scenario)


def test_a_new_epoch_of_the_same_leader_keeps_everybody_waiting() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        pending = await replicated.produce(b"a")
        lead(partition, epochs=1)
        await turns()
        assert not pending.done()
        partition.advance(1)
        assert await replicated.outcome(pending) is ErrorCode.NONE

    replicated.run(scenario)


def test_whoever_waits_learns_that_the_topic_is_deleted() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        pending = await replicated.produce(b"a")
        request = DeleteTopicsRequest([DeleteTopicState(name="t")], timeout_ms=60_000)
        await replicated.broker.send(request, 6)
        assert await replicated.outcome(pending) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    replicated.run(scenario)


def test_whoever_waits_learns_that_the_disk_has_failed() -> None:
    replicated = Replicated({"metadata.log.dir": "/metadata", "log.dirs": "/disk,/other"})

    async def scenario(partition: Partition) -> None:
        pending = await replicated.produce(b"a")
        replicated.disk.fail_next("*", "*/t-0/*.log", OSError(errno.EIO, "I/O error"))
        with pytest.raises(ApiError, match="failed while appending"):
            partition.append(batch(b"b", timestamp=1000), 1, 1000)
        assert await replicated.outcome(pending) is ErrorCode.KAFKA_STORAGE_ERROR

    replicated.run(scenario)


def test_nobody_waits_longer_than_they_wanted() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        patient = await replicated.produce(b"a")
        hasty = [await replicated.produce(b"b", timeout_ms=each) for each in (1, 0, -1)]
        assert not any(each.done() for each in hasty)
        replicated.clock.advance(TICK_MS)
        for each in hasty:
            assert await replicated.outcome(each) is ErrorCode.REQUEST_TIMED_OUT
        assert not patient.done()
        partition.advance(4)
        assert await replicated.outcome(patient) is ErrorCode.NONE

    replicated.run(scenario)


def test_long_time_outs_of_committed_batches_do_not_pile_up() -> None:
    """Some producers are configured to wait for weeks."""
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        timeouts = replicated.broker.node.broker.led.timeouts
        for _ in range(5_000):
            partition.append(batch(b"a", timestamp=1000), -1, 1000)
            end_offset = partition.log.log_end_offset
            assert partition.committed(end_offset, 0x7FFFFFFF) is not None
            partition.advance(end_offset)
            replicated.clock.advance(TICK_MS)
        assert len(timeouts._waiting) < 10

    replicated.run(scenario)


def test_all_time_outs_of_a_broker_share_one_timer() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        await replicated.broker.create("other")
        other = replicated.partition("other")
        lead(other)
        loop = asyncio.get_running_loop()
        before = len([each for each in loop._scheduled if not each.cancelled()])  # type: ignore[attr-defined]
        for each in (partition, other, partition):
            each.append(batch(b"a", timestamp=1000), -1, 1000)
            for timeout_ms in (60_000, 5_000, 30_000):
                assert each.committed(each.log.log_end_offset, timeout_ms) is not None
        timers = [each for each in loop._scheduled if not each.cancelled()]  # type: ignore[attr-defined]
        assert len(timers) == before + 1

    replicated.run(scenario)


def test_a_client_that_goes_away_takes_nothing_with_it() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        gone = await replicated.produce(b"a")
        pending = await replicated.produce(b"b")
        gone.cancel()
        await turns()
        partition.advance(2)
        assert await replicated.outcome(pending) is ErrorCode.NONE

    replicated.run(scenario)


def test_a_broker_that_stops_leaves_nobody_waiting() -> None:
    replicated = Replicated()
    waiting: list[asyncio.Future[object]] = []

    async def scenario(partition: Partition) -> None:
        waiting.append(await replicated.produce(b"a"))
        replicated.broker.node.broker.stop()
        assert await replicated.outcome(waiting[0]) is ErrorCode.NOT_LEADER_OR_FOLLOWER

    replicated.run(scenario)


# --- the in-sync replicas


def test_the_rest_is_committed_when_the_leader_is_the_only_one_in_sync() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        pending = await replicated.produce(b"a")
        lead(partition, (LOCAL_ID,))
        assert await replicated.outcome(pending) is ErrorCode.NONE
        # From now on an append is committed at once.
        assert await replicated.broker.produce("t", b"b") == 0
        assert partition.log.high_watermark == 2

    replicated.run(scenario)


def test_nothing_is_appended_while_too_few_are_in_sync() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        lead(partition, (LOCAL_ID,))
        assert await replicated.broker.produce("t", b"a") == ErrorCode.NOT_ENOUGH_REPLICAS
        assert partition.log.log_end_offset == 0

    replicated.run(scenario, **MIN_ISR_2)


def test_the_high_watermark_stands_still_while_too_few_are_in_sync() -> None:
    """KIP-966: otherwise a record that consumers have seen could be lost with the leader."""
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        pending = await replicated.produce(b"a")
        lead(partition, (LOCAL_ID,))
        partition.append(batch(b"b", timestamp=1000), 1, 1000)
        await turns()
        assert not pending.done()
        assert values(await replicated.fetch()) == []
        lead(partition)
        partition.advance(2)
        assert await replicated.outcome(pending) is ErrorCode.NONE

    replicated.run(scenario, **MIN_ISR_2)


def test_a_lone_replica_of_many_commits_nothing_by_itself() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        lead(partition, (LOCAL_ID,))
        partition.append(batch(b"a", timestamp=1000), 1, 1000)
        assert (partition.log.high_watermark, partition.log.log_end_offset) == (0, 1)

    replicated.run(scenario, **MIN_ISR_2)


def test_a_producer_learns_that_too_few_were_in_sync_after_the_append() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        pending = await replicated.produce(b"a")
        lead(partition, (LOCAL_ID,))
        partition.advance(1)
        outcome = await replicated.outcome(pending)
        assert outcome is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    replicated.run(scenario, **MIN_ISR_2)


def test_the_high_watermark_does_not_move_back() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        await replicated.produce(b"a")
        partition.advance(1)
        partition.advance(0)
        lead(partition, epochs=1)
        assert partition.log.high_watermark == 1

    replicated.run(scenario)


def test_a_disk_that_fails_at_an_election_does_not_stop_the_metadata() -> None:
    replicated = Replicated({"metadata.log.dir": "/metadata", "log.dirs": "/disk,/other"})

    async def scenario(partition: Partition) -> None:
        lead(partition, leader=2, epochs=1)
        for value in (b"a", b"b", b"c"):
            built = bytearray(batch(value, timestamp=1000))
            built[:8] = partition.log.log_end_offset.to_bytes(8, "big")
            partition.log.append_as_follower(bytes(built))
        partition.advance(1)
        replicated.disk.fail_next("*", "*/t-0/*", OSError(errno.EIO, "I/O error"))
        lead(partition, epochs=1)
        assert partition.log.is_closed

    replicated.run(scenario)


def test_a_new_leader_does_not_commit_what_it_has_alone() -> None:
    replicated = Replicated()

    async def scenario(partition: Partition) -> None:
        lead(partition, leader=2, epochs=1)
        partition.log.append_as_follower(batch(b"a", timestamp=1000))
        lead(partition, epochs=1)
        assert values(await replicated.fetch()) == []
        partition.advance(1)
        assert values(await replicated.fetch()) == [b"a"]

    replicated.run(scenario)
