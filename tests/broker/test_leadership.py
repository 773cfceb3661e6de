"""A leader commits what its followers have, and keeps its ISR with the controller."""

import pytest

from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.alter_partition import AlterPartitionRequest
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tests.broker.batches import batch
from tests.broker.followed import ALL, MAX_LAG_MS, Followed
from tests.broker.replicated import turns, values

MIN_ISR_2 = {"min_insync_replicas": "2"}
MIN_ISR_3 = {"min_insync_replicas": "3"}


def test_a_batch_is_acknowledged_when_every_replica_in_sync_has_fetched_past_it() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        pending = await followed.produce(b"a")
        followed.fetched(2, 1)
        await turns()
        assert not pending.done()
        assert values(await followed.fetch()) == []
        followed.fetched(3, 0)
        followed.fetched(3, 1)
        assert await followed.outcome(pending) is ErrorCode.NONE
        assert values(await followed.fetch()) == [b"a"]

    followed.run(scenario)


def test_a_follower_that_lags_is_removed_and_what_waited_for_it_is_committed() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        pending = await followed.produce(b"a")
        await followed.lag(3)
        assert partition.registration.isr == (1, 2)
        assert followed.registered("t").isr == (1, 2)
        assert await followed.outcome(pending) is ErrorCode.NONE

    followed.run(scenario, **MIN_ISR_2)


def test_a_follower_that_has_caught_up_is_in_sync_again() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        await followed.lag(3)
        followed.fetched(3, 0)
        await followed.applied()
        assert partition.registration.isr == (1, 2)
        followed.fetched(3, 1)
        await followed.applied()
        assert partition.registration.isr == ALL
        assert followed.registered("t").isr == ALL

    followed.run(scenario)


def test_a_follower_of_an_idle_partition_is_not_removed_when_a_record_arrives() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        for broker_id in (2, 3):
            followed.fetched(broker_id, 0)
        followed.clock.advance(100 * MAX_LAG_MS)
        await followed.produce(b"a")
        sent = followed.count_requests()
        followed.check_isrs()
        await followed.applied()
        assert (partition.registration.isr, sent) == (ALL, [])

    followed.run(scenario)


def test_the_high_watermark_stands_still_while_too_few_are_in_sync() -> None:
    """KIP-966: what the only replica has could be lost with it."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        pending = await followed.produce(b"a")
        await followed.lag(3)
        assert partition.registration.isr == (1, 2)
        assert partition.log.high_watermark == 0
        with pytest.raises(ApiError) as refused:
            partition.check_append(-1)
        assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
        followed.fetched(3, 1)
        await followed.applied()
        assert partition.registration.isr == ALL
        assert await followed.outcome(pending) is ErrorCode.NONE

    followed.run(scenario, **MIN_ISR_3)


def test_15221_a_fetch_of_an_earlier_incarnation_is_refused() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        before = followed.epochs[3]
        await followed.fence(3)
        await followed.start_broker(3)
        with pytest.raises(ApiError) as refused:
            followed.fetched(3, 0, broker_epoch=before)
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert partition.registration.isr == (1, 2)
        followed.fetched(3, 0)
        await followed.applied()
        assert partition.registration.isr == ALL

    followed.run(scenario)


@pytest.mark.parametrize(
    ("leader_epoch", "code"),
    [(0, ErrorCode.UNKNOWN_LEADER_EPOCH), (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)],
)
def test_a_fetch_of_a_broker_without_a_replica_is_refused(
    leader_epoch: int, code: ErrorCode
) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        for stranger in (4, 1):
            with pytest.raises(ApiError) as refused:
                partition.check_follower(stranger, -1, leader_epoch)
            assert refused.value.code is code

    followed.run(scenario)


def test_13916_a_fenced_follower_does_not_join() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.fence(3)
        assert partition.registration.isr == (1, 2)
        sent = followed.count_requests()
        followed.fetched(3, 0)
        await followed.applied()
        assert (partition.registration.isr, sent) == ((1, 2), [])
        await followed.beat(3)
        followed.fetched(3, 0)
        await followed.applied()
        assert partition.registration.isr == ALL

    followed.run(scenario)


def test_a_follower_that_stops_while_it_catches_up_holds_up_nobody() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.fence(2)
        await followed.fence(3)
        assert partition.registration.isr == (1,)
        await followed.beat(3)
        await followed.produce_all(b"a")
        # It was at the end when the next record came, so it is waited for.
        followed.fetched(3, 0)
        pending = await followed.produce(b"b")
        assert partition.log.high_watermark == 1
        followed.clock.advance(MAX_LAG_MS + 1)
        followed.check_isrs()
        assert await followed.outcome(pending) is ErrorCode.NONE

    followed.run(scenario)


def test_12686_metadata_that_the_controllers_answer_has_overtaken_changes_nothing() -> None:
    """A change that the leader has asked for since stays pending."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        before = partition.registration
        await followed.lag(3)
        confirmed = partition.registration
        followed.fetched(3, 1)
        # Asked for, but not answered: broker 3 counts.
        for old in (before, confirmed):
            partition.update(old)
            assert partition.registration is confirmed
        await followed.produce(b"b")
        followed.fetched(2, 2)
        assert partition.log.high_watermark == 1
        await followed.applied()
        assert partition.registration.isr == ALL

    followed.run(scenario)


def test_a_new_leader_epoch_forgets_what_followers_had() -> None:
    """They may have truncated their logs in between, under another leader."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        await followed.produce(b"b")
        followed.fetched(2, 2)
        followed.fetched(3, 1)
        assert partition.log.high_watermark == 1
        followed.elect_again(partition)
        followed.fetched(3, 2)
        assert partition.log.high_watermark == 1
        followed.fetched(2, 2)
        assert partition.log.high_watermark == 2

    followed.run(scenario)


def test_a_partition_that_is_led_elsewhere_asks_for_nothing() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        followed.elect_again(partition, leader=2)
        assert list(followed.broker.node.broker.led.check_isrs()) == []
        partition.follower_fetched(3, followed.epochs[3], 1, 0, 1, 0)
        assert partition.log.high_watermark == 0

    followed.run(scenario)


def test_a_leader_epoch_that_ends_while_isrs_are_checked_asks_for_nothing() -> None:
    """The check takes several turns with many partitions, and leaders change in between."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.create("u")
        other = followed.partition("u")
        followed.clock.advance(MAX_LAG_MS + 1)
        for each in (partition, other):
            each.append(batch(b"a", timestamp=1000), 1, 1000)
        sent = followed.count_requests()
        steps = followed.broker.node.broker.led.check_isrs()
        next(steps)
        followed.elect_again(other)
        for _ in steps:
            pass
        await followed.applied()
        (request,) = sent
        assert isinstance(request, AlterPartitionRequest)
        assert [topic.topic_id for topic in request.topics] == [partition.topic_id]

    followed.run(scenario)


def test_many_partitions_change_their_isrs_in_one_request() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.create("u")
        await followed.produce(b"a")
        sent = followed.count_requests()
        await followed.fence(3)
        await followed.beat(3)
        assert sent == []
        followed.fetched(3, 1)
        followed.fetched(3, 0, topic="u")
        await followed.applied()
        assert followed.registered("t").isr == followed.registered("u").isr == ALL
        assert len(sent) == 1

    followed.run(scenario)


def test_a_follower_describes_producers_as_well() -> None:
    """KIP-664: kafka-transactions asks any replica."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
        followed.elect_again(partition, leader=2)
        topic = TopicRequest(name="t", partition_indexes=[0])
        response = await followed.broker.send(DescribeProducersRequest(topics=[topic]), 0)
        described = response.topics[0].partitions[0]
        assert described.error_code == ErrorCode.NONE
        assert [each.producer_id for each in described.active_producers] == [7]

    followed.run(scenario)
