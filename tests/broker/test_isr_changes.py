"""Changes of ISRs reach the controller, whatever it answers first."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from moldau.broker.isr_changes import RETRY_PAUSE_MS
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    PartitionDataResponse,
    TopicDataResponse,
)
from tests.broker.followed import ALL, MAX_LAG_MS, Followed
from tests.broker.replicated import turns


class ScriptedController:
    """Answers requests when, and as, the test says; nothing of it gets into the metadata."""

    def __init__(self, followed: Followed) -> None:
        self._arrived: asyncio.Queue[tuple[AlterPartitionRequest, asyncio.Future[Any]]]
        self._arrived = asyncio.Queue()
        followed.broker.node.broker.isr_changes._channel = self

    async def send(self, request: Any, version: int | None = None) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._arrived.put_nowait((request, answer))
        return await answer

    async def request(self) -> tuple[AlterPartitionRequest, "asyncio.Future[Any]"]:
        """The next request, and the future of its answer."""
        return await self._arrived.get()

    @property
    def has_request(self) -> bool:
        return not self._arrived.empty()


def accepted(request: AlterPartitionRequest) -> AlterPartitionResponse:
    """The answer of a controller that does what it is asked."""
    return AlterPartitionResponse(
        topics=[
            TopicDataResponse(
                topic_id=topic.topic_id,
                partitions=[
                    PartitionDataResponse(
                        partition_index=each.partition_index,
                        leader_id=request.broker_id,
                        leader_epoch=each.leader_epoch,
                        isr=[replica.broker_id for replica in each.new_isr_with_epochs],
                        partition_epoch=each.partition_epoch + 1,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refused(request: AlterPartitionRequest, code: ErrorCode) -> AlterPartitionResponse:
    response = accepted(request)
    for topic in response.topics:
        for each in topic.partitions:
            each.error_code = code
    return response


def wanted(request: AlterPartitionRequest) -> Sequence[int]:
    return [each.broker_id for each in request.topics[0].partitions[0].new_isr_with_epochs]


def test_13091_the_answer_counts_before_the_metadata_has_it() -> None:
    """The high watermark does not wait for another append or fetch."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        controller = ScriptedController(followed)
        pending = await followed.produce(b"a")
        await followed.lag(3)
        request, answer = await controller.request()
        assert wanted(request) == [1, 2]
        assert partition.log.high_watermark == 0
        answer.set_result(accepted(request))
        await turns()
        assert (partition.registration.isr, partition.log.high_watermark) == ((1, 2), 1)
        assert await followed.outcome(pending) is ErrorCode.NONE

    followed.run(scenario)


def test_the_request_names_every_epoch() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        controller = ScriptedController(followed)
        await followed.produce(b"a")
        await followed.lag(3)
        request, _ = await controller.request()
        local_epoch = followed.broker.node.metadata.lifecycle.broker_epoch
        assert (request.broker_id, request.broker_epoch) == (1, local_epoch)
        asked = request.topics[0].partitions[0]
        assert asked.leader_epoch == partition.leader_epoch
        assert asked.partition_epoch == partition.registration.partition_epoch
        epochs = [each.broker_epoch for each in asked.new_isr_with_epochs]
        assert epochs == [local_epoch, followed.epochs[2]]

    followed.run(scenario)


def test_a_controller_that_knows_no_broker_epochs_gets_the_ids() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        controller = ScriptedController(followed)
        await followed.produce(b"a")
        await followed.lag(3)
        request, _ = await controller.request()
        for version in (2, 3):
            written = b"".join(map(bytes, request.encode_parts(b"", version)))
            read, _ = AlterPartitionRequest.decode(written, 0, version)
            asked = read.topics[0].partitions[0]
            ids = asked.new_isr or [each.broker_id for each in asked.new_isr_with_epochs]
            assert ids == [1, 2]
            assert asked.partition_epoch == partition.registration.partition_epoch

    followed.run(scenario)


@pytest.mark.parametrize(
    "error",
    [
        ApiError(ErrorCode.STALE_BROKER_EPOCH),
        ApiError(ErrorCode.REQUEST_TIMED_OUT),
        ValueError("a mistake"),
    ],
)
def test_a_request_that_fails_as_a_whole_is_sent_again(error: Exception) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        controller = ScriptedController(followed)
        await followed.produce(b"a")
        await followed.lag(3)
        _, answer = await controller.request()
        answer.set_exception(error)
        request, answer = await controller.request()
        answer.set_result(accepted(request))
        await followed.applied()
        assert partition.registration.isr == (1, 2)

    followed.run(scenario)


def test_14154_a_change_that_was_refused_for_now_is_asked_for_again() -> None:
    """The controller knows less than this leader, so it is not active any more."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        controller = ScriptedController(followed)
        await followed.produce(b"a")
        await followed.lag(3)
        request, answer = await controller.request()
        answer.set_result(refused(request, ErrorCode.NOT_CONTROLLER))
        await turns()
        assert not controller.has_request, f"not before {RETRY_PAUSE_MS} ms"
        request, answer = await controller.request()
        answer.set_result(accepted(request))
        await followed.applied()
        assert partition.registration.isr == (1, 2)

    followed.run(scenario)


def test_a_partition_that_the_controller_forgot_is_named_again() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        controller = ScriptedController(followed)
        await followed.produce(b"a")
        await followed.lag(3)
        _, answer = await controller.request()
        answer.set_result(AlterPartitionResponse())
        request, _ = await controller.request()
        assert wanted(request) == [1, 2]

    followed.run(scenario)


def test_what_the_metadata_has_decided_is_not_asked_for_again() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.create("u")
        controller = ScriptedController(followed)
        await followed.produce(b"a")
        await followed.lag(3)
        first, answer = await controller.request()
        await followed.fence(3)
        assert partition.registration.isr == (1, 2)
        answer.set_exception(ApiError(ErrorCode.REQUEST_TIMED_OUT))
        await turns()
        await followed.beat(3)
        # The next request is about another partition only.
        followed.fetched(3, 0, topic="u")
        second, _ = await controller.request()
        assert [each.topic_id for each in second.topics] != [first.topics[0].topic_id]
        assert (len(second.topics), wanted(second)) == (1, list(ALL))

    followed.run(scenario)


def test_a_leader_that_waits_for_the_metadata_asks_for_nothing() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        controller = ScriptedController(followed)
        await followed.produce(b"a")
        await followed.lag(3)
        request, answer = await controller.request()
        answer.set_result(refused(request, ErrorCode.INVALID_UPDATE_VERSION))
        await turns()
        followed.check_isrs()
        await turns()
        assert not controller.has_request
        assert partition.log.high_watermark == 0

    followed.run(scenario)


def test_a_follower_that_may_not_join_is_not_waited_for_any_more() -> None:
    """The high watermark does not wait for another append, fetch, or check of the ISR."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.fence(3)
        await followed.beat(3)
        controller = ScriptedController(followed)
        followed.fetched(3, 0)
        request, answer = await controller.request()
        pending = await followed.produce(b"a")
        await followed.fence(3)
        followed.fetched(2, 1)
        assert partition.log.high_watermark == 0
        answer.set_result(refused(request, ErrorCode.INELIGIBLE_REPLICA))
        await turns()
        assert partition.log.high_watermark == 1
        assert await followed.outcome(pending) is ErrorCode.NONE

    followed.run(scenario)


def test_one_request_is_under_way_at_a_time() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.create("u")
        await followed.fence(3)
        await followed.beat(3)
        controller = ScriptedController(followed)
        followed.fetched(3, 0)
        first, answer = await controller.request()
        followed.fetched(3, 0, topic="u")
        await turns()
        assert not controller.has_request
        answer.set_result(accepted(first))
        second, _ = await controller.request()
        assert first.topics[0].topic_id != second.topics[0].topic_id

    followed.run(scenario)


def test_a_follower_that_had_to_wait_joins_without_another_fetch() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        for broker_id in (2, 3):
            await followed.fence(broker_id)
            await followed.beat(broker_id)
        controller = ScriptedController(followed)
        for broker_id in (2, 3):
            followed.fetched(broker_id, 0)
        for isr in ([1, 2], [1, 2, 3]):
            request, answer = await controller.request()
            assert wanted(request) == isr
            answer.set_result(accepted(request))
        await turns()
        assert partition.registration.isr == ALL

    followed.run(scenario)


def test_a_follower_that_was_removed_is_not_added_again_at_once() -> None:
    """It has reached the high watermark, which waits for more replicas: but it lags."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        controller = ScriptedController(followed)
        for broker_id in (2, 3):
            followed.fetched(broker_id, 0)
        await followed.produce(b"a")
        followed.clock.advance(MAX_LAG_MS + 1)
        followed.fetched(2, 1)
        followed.fetched(3, 0)
        followed.check_isrs()
        request, answer = await controller.request()
        assert wanted(request) == [1, 2]
        answer.set_result(accepted(request))
        await turns()
        assert partition.log.high_watermark == 0
        assert not controller.has_request

    followed.run(scenario, min_insync_replicas="3")
