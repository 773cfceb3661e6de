"""DeleteRecords is answered when all live replicas have deleted the records."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from moldau.broker.commit_queue import TICK_MS
from moldau.broker.partition import Partition
from moldau.errors import ErrorCode
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.broker.followed import Followed
from tests.broker.replicated import turns

VERSION = 2
TIMEOUT_MS = 10_000


class Deleting(Followed):
    """Two records, which all replicas have; the leader deletes the first one."""

    async def begin(self, offset: int = 1) -> "asyncio.Future[Any]":
        for value in (b"a", b"b"):
            await self.produce(value)
        for broker_id in (2, 3):
            self.fetched(broker_id, 2)
        wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
        topic = DeleteRecordsTopic(name="t", partitions=[wanted])
        request = DeleteRecordsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        handled = self.broker.handle(request, VERSION)
        assert isinstance(handled, Awaitable), "the followers still have the record"
        pending = asyncio.ensure_future(handled)
        await turns()
        return pending

    async def result(self, pending: "asyncio.Future[Any]") -> tuple[int, ErrorCode]:
        """The low watermark and the error of the response."""
        response = self.broker.read_reply(await pending, 21, VERSION)
        result = response.topics[0].partitions[0]
        return result.low_watermark, ErrorCode(result.error_code)


@pytest.mark.parametrize(("offset", "start"), [(1, 1), (-1, 2)])
def test_it_is_answered_when_the_last_follower_has_deleted_them(offset: int, start: int) -> None:
    deleting = Deleting()

    async def scenario(partition: Partition) -> None:
        pending = await deleting.begin(offset)
        assert partition.log.log_start_offset == start
        deleting.fetched(2, 2, log_start_offset=start)
        await turns()
        assert not pending.done()
        deleting.fetched(3, 2, log_start_offset=start)
        assert await deleting.result(pending) == (start, ErrorCode.NONE)

    deleting.run(scenario)


def test_a_follower_that_is_not_alive_is_not_waited_for() -> None:
    deleting = Deleting()

    async def scenario(partition: Partition) -> None:
        pending = await deleting.begin()
        deleting.fetched(2, 2, log_start_offset=1)
        await deleting.fence(3)
        assert await deleting.result(pending) == (1, ErrorCode.NONE)

    deleting.run(scenario)


def test_it_does_not_wait_longer_than_the_client_does() -> None:
    deleting = Deleting()

    async def scenario(partition: Partition) -> None:
        pending = await deleting.begin()
        deleting.clock.advance(TIMEOUT_MS + TICK_MS)
        deleting.broker.node.broker.led.timeouts._on_time()
        assert await deleting.result(pending) == (0, ErrorCode.REQUEST_TIMED_OUT)

    deleting.run(scenario)


def test_a_leader_that_has_resigned_cannot_say() -> None:
    deleting = Deleting()

    async def scenario(partition: Partition) -> None:
        pending = await deleting.begin()
        deleting.elect_again(partition, leader=2)
        assert await deleting.result(pending) == (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    deleting.run(scenario)


def test_a_broker_that_stops_does_not_wait_for_followers() -> None:
    deleting = Deleting()

    async def scenario(partition: Partition) -> None:
        pending = await deleting.begin()
        deleting.broker.node.broker.stop()
        assert await deleting.result(pending) == (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    deleting.run(scenario)


def test_records_above_the_high_watermark_are_not_deleted() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        wanted = DeleteRecordsPartition(partition_index=0, offset=1)
        topic = DeleteRecordsTopic(name="t", partitions=[wanted])
        request = DeleteRecordsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        response = await followed.broker.send(request, VERSION)
        assert response.topics[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert partition.log.log_start_offset == 0

    followed.run(scenario)
