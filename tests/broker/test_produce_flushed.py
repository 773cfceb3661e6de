"""With flush.messages=1 an acknowledged batch is on the device; other requests do not wait."""

import asyncio
import errno
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.network.session import CloseConnection, Overlapping
from moldau.simulator.disk import SimulatedDisk
from tests.broker.batches import batch
from tests.broker.by_hand import ByHand
from tests.broker.producing import create_topic, fetch_request, produce, produce_request, read_all
from tests.broker.replicated import lead
from tests.broker.simulated import SimulatedBroker
from tests.broker.transactional import MARKERS_VERSION, errors_of, markers
from tests.running import WireClient

TIMEOUT_S = 120
VERSION = 12


class Simulated:
    def __init__(self, flush_messages: int = 1) -> None:
        self.flush_messages = str(flush_messages)
        self.executor = ByHand(is_slow=False)
        self.disk = SimulatedDisk()
        self.broker = SimulatedBroker(self.disk, ManualClock(), executor=self.executor)

    def run(self, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def within() -> None:
            await self.broker.node.start()
            await self.broker.create("flushed", flush_messages=self.flush_messages)
            await self.broker.create("cached")
            self.executor.is_slow = True
            await scenario()
            self.executor.is_slow = False
            await self.broker.node.stop()

        asyncio.run(asyncio.wait_for(within(), TIMEOUT_S))

    async def begin(self, value: bytes, acks: int = -1, **producer: int) -> "asyncio.Future[Any]":
        request = produce_request("flushed", batch(value, timestamp=1000, **producer), acks=acks)
        handled = self.broker.handle(request, VERSION)
        # The next request of the connection need not wait: the batch is in the log.
        assert isinstance(handled, Overlapping)
        pending = asyncio.ensure_future(handled.awaitable)
        await turns()
        return pending

    async def finish_flush(self) -> None:
        self.executor.run_next()
        await turns()

    def code(self, reply: Any) -> int:
        response = self.broker.read_reply(reply, 0, VERSION)
        return int(response.responses[0].partition_responses[0].error_code)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_an_answer_waits_for_the_disk_and_nobody_else_does() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        pending = await simulated.begin(b"a")
        assert await simulated.broker.produce("cached", b"meanwhile") == 0
        assert not pending.done()
        assert await simulated.broker.read("flushed") == [], "it could still be lost"
        await simulated.finish_flush()
        assert simulated.code(await pending) == 0
        assert await simulated.broker.read("flushed") == [b"a"]

    simulated.run(scenario)


def test_one_flush_serves_all_who_had_written_when_it_began() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        first = await simulated.begin(b"a")
        others = [await simulated.begin(b"b"), await simulated.begin(b"c")]
        assert len(simulated.executor.waiting) == 1
        await simulated.finish_flush()
        assert first.done()
        assert not any(each.done() for each in others)
        assert await simulated.broker.read("flushed") == [b"a"]
        await simulated.finish_flush()
        assert [simulated.code(each.result()) for each in others] == [0, 0]
        assert await simulated.broker.read("flushed") == [b"a", b"b", b"c"]

    simulated.run(scenario)


def test_a_retry_waits_for_the_flush_of_its_first_attempt_and_shows_nothing_before() -> None:
    simulated = Simulated()
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}

    async def scenario() -> None:
        first = await simulated.begin(b"a", **producer)
        retry = await simulated.begin(b"a", **producer)
        assert not retry.done()
        assert await simulated.broker.read("flushed") == [], "it could still be lost"
        await simulated.finish_flush()
        assert simulated.code(await first) == 0
        assert simulated.code(await retry) == 0
        assert await simulated.broker.read("flushed") == [b"a"]
        request = produce_request("flushed", batch(b"a", timestamp=1000, **producer), acks=-1)
        assert not isinstance(simulated.broker.handle(request, VERSION), Overlapping)

    simulated.run(scenario)


def test_what_follows_a_batch_that_waits_is_not_left_waiting() -> None:
    simulated = Simulated(flush_messages=2)

    async def scenario() -> None:
        assert await simulated.broker.produce("flushed", b"a") == 0
        second = await simulated.begin(b"b")
        third = await simulated.begin(b"c")
        await simulated.finish_flush()
        assert second.done()
        assert not third.done()
        await simulated.finish_flush()
        assert simulated.code(await third) == 0
        assert await simulated.broker.read("flushed") == [b"a", b"b", b"c"]

    simulated.run(scenario)


def test_a_waiting_fetch_is_woken_when_the_batch_is_on_the_device() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        request = fetch_request("flushed", 0, min_bytes=1, max_wait_ms=30_000)
        waiting = asyncio.ensure_future(simulated.broker.send(request, VERSION))
        await turns()
        await simulated.begin(b"a")
        again = asyncio.ensure_future(simulated.broker.send(request, VERSION))
        await turns()
        assert not waiting.done()
        await simulated.finish_flush()
        for each in (await waiting, await again):
            assert each.responses[0].partitions[0].records

    simulated.run(scenario)


def test_a_client_that_goes_away_takes_nothing_with_it() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        pending = await simulated.begin(b"a")
        pending.cancel()
        await turns()
        await simulated.finish_flush()
        assert await simulated.broker.read("flushed") == [b"a"]

    simulated.run(scenario)


def test_with_followers_the_leader_counts_what_is_on_its_device() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        partition = simulated.broker.node.broker.replicas.partition("flushed", 0)
        lead(partition)
        pending = await simulated.begin(b"a")
        later = await simulated.begin(b"b")
        assert (partition.local_end_offset, partition.log.log_end_offset) == (0, 2)
        await simulated.finish_flush()
        assert partition.local_end_offset == 1
        assert not pending.done(), "the followers do not have it yet"
        partition.advance(partition.local_end_offset)
        assert simulated.code(await pending) == 0
        await simulated.finish_flush()
        assert partition.local_end_offset == 2
        assert not later.done()

    simulated.run(scenario)


@pytest.mark.parametrize("acks", [-1, 0])
def test_a_disk_that_fails_to_flush_is_answered_with_an_error(acks: int) -> None:
    simulated = Simulated()

    async def scenario() -> None:
        simulated.disk.fail_next("fsync", "*/flushed-0/*.log", OSError(errno.EIO, "I/O error"))
        pending = await simulated.begin(b"a", acks)
        await simulated.finish_flush()
        if acks:
            assert simulated.code(await pending) == ErrorCode.KAFKA_STORAGE_ERROR
        else:
            with pytest.raises(CloseConnection, match="KAFKA_STORAGE_ERROR"):
                await pending
        assert await simulated.broker.produce("flushed", b"b") == ErrorCode.KAFKA_STORAGE_ERROR

    simulated.run(scenario)


@pytest.mark.parametrize("acks", [1, -1])
def test_after_a_flush_for_which_there_was_no_descriptor_the_next_one_may_succeed(
    acks: int,
) -> None:
    """The directory stays online: what was not flushed is not lost either."""
    it = Simulated()

    async def scenario() -> None:
        pending = await it.begin(b"a", acks)
        it.disk.fail_next("sync_dir", "*flushed-0", errno.EMFILE)
        await it.finish_flush()
        assert it.code(await pending) == ErrorCode.KAFKA_STORAGE_ERROR
        pending = await it.begin(b"b", acks)
        await it.finish_flush()
        assert it.code(await pending) == ErrorCode.NONE
        assert await it.broker.read("flushed") == [b"a", b"b"]

    it.run(scenario)


def test_every_batch_is_acknowledged_and_read_back(client: WireClient) -> None:
    create_topic(client, "t", flush_messages="1")
    for number in range(5):
        assert produce(client, "t", batch(b"%d" % number)).base_offset == number
    assert len(read_all(client, "t")) == 5


def test_a_marker_is_answered_when_it_is_on_the_device() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        end = simulated.broker.send(markers(7, {"flushed": [0]}), MARKERS_VERSION)
        pending = asyncio.ensure_future(end)
        await turns()
        assert not pending.done()
        # On a busy machine the request counts as large, and its answer is encoded by a thread.
        simulated.executor.is_slow = False
        await simulated.finish_flush()
        assert errors_of(await pending) == {("flushed", 0): 0}

    simulated.run(scenario)
