"""Producer ids from blocks that a controller allocates when the test says so."""

import asyncio
from typing import Any

import pytest

from moldau.broker.producer_ids import ProducerIds
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from tests.network.serving import run

BROKER_EPOCH = 40


class Controller:
    """A channel on which requests wait for the test."""

    def __init__(self) -> None:
        self.asked: list[tuple[Message, asyncio.Future[Any]]] = []

    async def send(self, request: Message, version: int | None = None) -> Any:
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.asked.append((request, waiting))
        return await waiting

    async def allocate(self, start: int, count: int = 10) -> None:
        _, waiting = self.asked.pop()
        block = AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=count)
        waiting.set_result(block)
        await turns()

    async def refuse(self) -> None:
        _, waiting = self.asked.pop()
        waiting.set_exception(ApiError(ErrorCode.STALE_BROKER_EPOCH))
        await turns()


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def started() -> tuple[ProducerIds, Controller]:
    controller = Controller()
    return ProducerIds(1, lambda: BROKER_EPOCH, controller), controller


def test_without_a_block_there_is_no_id_until_one_is_allocated() -> None:
    async def scenario() -> None:
        ids, controller = started()
        assert ids.take() is None
        waiting = asyncio.ensure_future(ids.available())
        await turns()
        ((request, _),) = controller.asked
        assert request == AllocateProducerIdsRequest(broker_id=1, broker_epoch=BROKER_EPOCH)
        assert not waiting.done()
        await controller.allocate(5000)
        await waiting
        assert [ids.take(), ids.take()] == [5000, 5001]

    run(scenario)


def test_the_next_block_is_requested_when_nine_tenths_of_this_one_are_used() -> None:
    async def scenario() -> None:
        ids, controller = started()
        ids.take()
        await turns()
        await controller.allocate(0)
        assert [ids.take() for _ in range(9)] == list(range(9))
        await turns()
        assert not controller.asked
        assert ids.take() == 9
        await turns()
        await controller.allocate(20)
        assert ids.take() == 20, "no id was missing in between"

    run(scenario)


def test_a_refused_block_is_requested_again_by_the_next_id() -> None:
    async def scenario() -> None:
        ids, controller = started()
        waiting = asyncio.ensure_future(ids.available())
        await turns()
        await controller.refuse()
        with pytest.raises(ApiError):
            await waiting
        assert ids.take() is None
        await turns()
        await controller.allocate(30)
        assert ids.take() == 30

    run(scenario)


def test_20031_a_block_that_overlaps_the_one_before_is_not_used() -> None:
    """Two producers would have one id."""

    async def scenario() -> None:
        ids, controller = started()
        ids.take()
        await turns()
        await controller.allocate(100)
        assert [ids.take() for _ in range(10)] == list(range(100, 110))
        await turns()
        await controller.allocate(105)
        assert ids.take() is None

    run(scenario)


def test_many_who_wait_share_one_allocation_and_get_different_ids() -> None:
    async def scenario() -> None:
        ids, controller = started()
        waiting = [asyncio.ensure_future(ids.next()) for _ in range(12)]
        await turns()
        assert len(controller.asked) == 1
        await controller.allocate(0)
        await controller.allocate(10)
        assert [await each for each in waiting] == list(range(12))

    run(scenario)
