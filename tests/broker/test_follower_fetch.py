"""What a leader answers to the fetches of its followers, and what it learns from them."""

import asyncio
from typing import Any

import pytest

from moldau.broker.partition import Partition
from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.batches import batch
from tests.broker.followed import Followed
from tests.broker.replicated import turns, values

BY_STATE = 18
NOTHING = PartitionData(records=b"")


class Follower:
    """A broker that fetches the partition in a session, as replica fetchers do."""

    def __init__(self, followed: Followed, broker_id: int, **fields: Any) -> None:
        self.followed = followed
        self.broker_id = broker_id
        self.fields = fields
        self.session_id = 0
        self.session_epoch = 0

    def request(self, offset: int | None, *, broker_epoch: int | None = None) -> FetchRequest:
        epoch = self.followed.epochs[self.broker_id] if broker_epoch is None else broker_epoch
        request = FetchRequest(
            replica_state=ReplicaState(self.broker_id, epoch),
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=self.session_id,
            session_epoch=self.session_epoch,
        )
        if offset is not None:
            partition = self.followed.partition("t")
            wanted = FetchPartition(
                partition=0,
                fetch_offset=offset,
                log_start_offset=0,
                partition_max_bytes=1 << 20,
                current_leader_epoch=partition.leader_epoch,
            )
            for name, value in self.fields.items():
                setattr(wanted, name, value)
            request.topics = [FetchTopic(topic_id=partition.topic_id, partitions=[wanted])]
        return request

    async def fetch(
        self, offset: int | None = None, *, max_wait_ms: int = 0, broker_epoch: int | None = None
    ) -> Any:
        """The partition's part of the response; None if it is not in it."""
        request = self.request(offset, broker_epoch=broker_epoch)
        request.max_wait_ms = max_wait_ms
        self.session_epoch += 1
        response = await self.followed.broker.send(request, BY_STATE)
        assert response.error_code == 0
        self.session_id = response.session_id
        return response.responses[0].partitions[0] if response.responses else None


def follower_end(partition: Partition, broker_id: int) -> int:
    leadership = partition._leadership
    assert leadership is not None
    return leadership.state.followers[broker_id].log_end_offset


def test_a_fetch_acknowledges_everything_before_its_offset() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        pending = await followed.produce(b"a")
        second, third = Follower(followed, 2), Follower(followed, 3)
        for follower in (second, third):
            assert values(await follower.fetch(0)) == [b"a"]
        assert partition.log.high_watermark == 0
        assert await second.fetch(1) is None, "there is nothing new for it"
        assert not pending.done()
        # The response to the fetch that commits the record has the new high watermark.
        assert (await third.fetch(1)).high_watermark == 1
        assert await followed.outcome(pending) == ErrorCode.NONE

    followed.run(scenario)


def test_records_come_with_the_high_watermark_that_their_fetch_has_moved() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        for value in (b"a", b"b"):
            await followed.produce(value)
        await Follower(followed, 2).fetch(2)
        data = await Follower(followed, 3).fetch(1)
        assert (values(data), data.high_watermark) == ([b"b"], 1)

    followed.run(scenario)


def test_a_fetch_of_an_idle_partition_counts_too() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await Follower(followed, 2).fetch(0)
        assert follower_end(partition, 2) == 0
        assert follower_end(partition, 3) == -1

    followed.run(scenario)


def test_the_pass_after_a_wait_does_not_count() -> None:
    """The follower has said what it has when it sent the request, not when it is answered."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        follower = Follower(followed, 2)
        await follower.fetch(0)
        waiting = asyncio.ensure_future(follower.fetch(max_wait_ms=60_000))
        await turns()
        leadership = partition._leadership
        assert leadership is not None
        await followed.produce(b"a")
        assert values(await asyncio.wait_for(waiting, 30)) == [b"a"]
        assert leadership.state.followers[2].last_fetch_leader_end == 0

    followed.run(scenario)


def test_a_diverging_follower_acknowledges_nothing() -> None:
    """KAFKA-13141: its offset is one of another history."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        for value in (b"a", b"b"):
            await followed.produce(value)
        followed.elect_again(partition)
        await followed.produce(b"c")
        # Epoch 0 ended at 2 here, and later at the follower.
        data = await Follower(followed, 2, last_fetched_epoch=0).fetch(3)
        assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (0, 2)
        assert (data.error_code, data.records) == (0, b"")
        assert follower_end(partition, 2) == -1

    followed.run(scenario)


def test_a_diverging_follower_is_answered_at_once_and_again() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        followed.elect_again(partition)
        follower = Follower(followed, 2)
        await follower.fetch(0)
        await follower.fetch(0)
        follower.fields["last_fetched_epoch"] = 0
        for offset in (5, None):
            data = await asyncio.wait_for(follower.fetch(offset, max_wait_ms=60_000), 30)
            assert data.diverging_epoch.end_offset == 1

    followed.run(scenario)


def test_a_follower_before_the_log_start_is_out_of_range_whatever_its_epoch() -> None:
    """KAFKA-12996: it must not truncate to an offset that the leader does not have any more."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        for value in (b"a", b"b", b"c"):
            await followed.produce(value)
        followed.elect_again(partition)
        await followed.produce(b"d")
        partition.log.move_log_start_offset(2)
        # This leader has records of the epochs 0 and 2, so epoch 1 diverges.
        data = await Follower(followed, 2, last_fetched_epoch=1).fetch(1)
        assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert follower_end(partition, 2) == -1

    followed.run(scenario)


@pytest.mark.parametrize("offset", [-1, 2])
def test_an_offset_out_of_range_acknowledges_nothing(offset: int) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        data = await Follower(followed, 2).fetch(offset)
        assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert follower_end(partition, 2) == -1

    followed.run(scenario)


def test_a_fetch_of_an_earlier_incarnation_is_refused() -> None:
    """KAFKA-15221: a restarted follower may have lost what its old fetch acknowledges."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        old_epoch = followed.epochs[2]
        await followed.fence(2)
        await followed.start_broker(2)
        data = await Follower(followed, 2).fetch(1, broker_epoch=old_epoch)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert follower_end(partition, 2) == -1
        assert (await Follower(followed, 2).fetch(1)).error_code == ErrorCode.NONE

    followed.run(scenario)


@pytest.mark.parametrize(
    ("epochs", "code"),
    [(-1, ErrorCode.FENCED_LEADER_EPOCH), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_another_leader_epoch_is_refused(epochs: int, code: ErrorCode) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        followed.elect_again(partition)
        leader_epoch = partition.leader_epoch + epochs
        data = await Follower(followed, 2, current_leader_epoch=leader_epoch).fetch(0)
        assert data.error_code == code
        assert follower_end(partition, 2) == -1

    followed.run(scenario)


@pytest.mark.parametrize(
    ("known_epoch", "code"),
    [
        ("old", ErrorCode.FENCED_LEADER_EPOCH),
        ("current", ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("new", ErrorCode.UNKNOWN_LEADER_EPOCH),
        ("none", ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_who_does_not_lead_speaks_of_epochs_first(known_epoch: str, code: ErrorCode) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        followed.elect_again(partition, leader=3)
        epoch = partition.leader_epoch
        known = {"old": epoch - 1, "current": epoch, "new": epoch + 1, "none": -1}[known_epoch]
        data = await Follower(followed, 2, current_leader_epoch=known).fetch(0)
        assert data.error_code == code

    followed.run(scenario)


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (0, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_a_broker_without_a_replica_is_refused(epoch: int, code: ErrorCode) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        followed.epochs[4] = 99
        data = await Follower(followed, 4, current_leader_epoch=epoch).fetch(0)
        assert data.error_code == code

    followed.run(scenario)


def test_before_version_15_the_replica_id_is_in_the_request() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        partition.append(batch(b"a", timestamp=1000), 1, 1000)
        data = await followed.fetch(replica_id=2)
        assert values(data) == [b"a"]
        await followed.fetch(1, replica_id=2)
        assert follower_end(partition, 2) == 1

    followed.run(scenario)


async def set_rate(followed: Followed, rate: int) -> None:
    wanted = AlterableConfig(
        name="leader.replication.throttled.rate", config_operation=0, value=str(rate)
    )
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=[wanted])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response = await followed.broker.send(request, 1)
    assert response.responses[0].error_code == 0
    await followed.applied()


def test_a_throttled_follower_gets_nothing_above_the_rate_unless_it_is_in_sync() -> None:
    """KIP-73: leader.replication.throttled.rate, while a reassignment is under way."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await set_rate(followed, 1)
        await followed.fence(2)
        assert partition.registration.isr == (1, 3)
        for _ in range(2):
            partition.append(batch(b"x" * 1000, timestamp=1000), 1, 1000)
        second, third = Follower(followed, 2), Follower(followed, 3)
        assert len((await second.fetch(0)).records) > 2000, "nothing was sent before"
        assert not (await second.fetch(0) or NOTHING).records
        assert len((await third.fetch(0)).records) > 2000
        # It is not woken for more of what it does not get.
        waiting = asyncio.ensure_future(second.fetch(max_wait_ms=60_000))
        await turns()
        partition.append(batch(b"x", timestamp=1000), 1, 1000)
        await turns()
        assert not waiting.done()
        await set_rate(followed, 1_000_000)
        partition.release_waiters()
        assert len((await asyncio.wait_for(waiting, 30)).records) > 2000

    followed.run(scenario, leader_replication_throttled_replicas="*")


def test_a_follower_that_comes_back_is_let_into_the_isr_by_fetching_only() -> None:
    """The session reads its partition as long as it is outside, although nothing changes."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        third = Follower(followed, 3)
        await third.fetch(0)
        await followed.fence(2)
        assert partition.registration.isr == (1, 3)
        second = Follower(followed, 2)
        await second.fetch(0)
        await second.fetch()
        await followed.beat(2)
        await second.fetch()
        await followed.applied()
        assert partition.registration.isr == (1, 3, 2)

    followed.run(scenario)
