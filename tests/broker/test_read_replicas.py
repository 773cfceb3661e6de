"""Consumers may read from followers, and are sent to those in their rack (KIP-392)."""

import asyncio
from typing import Any

import pytest

from moldau.broker.partition import Partition
from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.replica.replica_selector import RACK_AWARE
from tests.broker.batches import batch
from tests.broker.followed import Followed
from tests.broker.replicated import turns, values

VERSION = 17


class Racks(Followed):
    """This broker is in rack a, and each of the others in one of its own."""

    def __init__(self, **settings: str) -> None:
        super().__init__({"broker.rack": "a", **settings})
        self.racks = {2: "b", 3: "c"}

    async def read(self, offset: int, rack_id: str = "", **fields: Any) -> Any:
        response = await self.broker.send(self.request(offset, rack_id, **fields), VERSION)
        return response.responses[0].partitions[0]

    def request(self, offset: int, rack_id: str = "", **fields: Any) -> FetchRequest:
        wanted = FetchPartition(fetch_offset=offset, partition_max_bytes=1 << 20)
        topic = FetchTopic(topic_id=self.partition("t").topic_id, partitions=[wanted])
        fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **fields}
        return FetchRequest(topics=[topic], rack_id=rack_id, **fields)


def rack_aware() -> Racks:
    return Racks(**{"replica.selector.class": RACK_AWARE})


def test_a_consumer_is_sent_to_the_follower_in_its_rack_at_once() -> None:
    racks = rack_aware()

    async def scenario(partition: Partition) -> None:
        await racks.produce(b"a")
        for broker_id in (2, 3):
            racks.fetched(broker_id, 1)
        request = racks.request(0, "c", max_wait_ms=60_000, min_bytes=1000)
        response = await asyncio.wait_for(racks.broker.send(request, VERSION), 30)
        data = response.responses[0].partitions[0]
        assert (data.preferred_read_replica, data.records) == (3, b"")
        assert (data.error_code, data.high_watermark) == (0, 1)

    racks.run(scenario)


def test_a_session_that_waited_at_the_leader_is_sent_away_when_a_follower_is_there() -> None:
    racks = rack_aware()

    async def scenario(partition: Partition) -> None:
        request = racks.request(0, "c", session_epoch=0)
        for _ in range(2):
            response = await racks.broker.send(request, VERSION)
            request.session_id = response.session_id
            request.session_epoch += 1
        racks.fetched(3, 0)
        request.max_wait_ms = 60_000
        response = await asyncio.wait_for(racks.broker.send(request, VERSION), 30)
        assert response.responses[0].partitions[0].preferred_read_replica == 3

    racks.run(scenario)


@pytest.mark.parametrize("rack_id", ["", "a", "elsewhere"])
def test_other_consumers_read_from_the_leader(rack_id: str) -> None:
    racks = rack_aware()

    async def scenario(partition: Partition) -> None:
        await racks.produce(b"a")
        for broker_id in (2, 3):
            racks.fetched(broker_id, 1)
        data = await racks.read(0, rack_id)
        assert (data.preferred_read_replica, values(data)) == (-1, [b"a"])

    racks.run(scenario)


def test_without_the_setting_consumers_read_from_the_leader() -> None:
    racks = Racks()

    async def scenario(partition: Partition) -> None:
        racks.fetched(3, 0)
        assert (await racks.read(0, "c")).preferred_read_replica == -1

    racks.run(scenario)


def test_a_follower_that_lacks_the_offset_is_not_preferred() -> None:
    racks = rack_aware()

    async def scenario(partition: Partition) -> None:
        await racks.produce(b"a")
        assert (await racks.read(0, "c")).preferred_read_replica == -1, "it has not fetched"
        racks.fetched(3, 0, log_start_offset=0)
        assert (await racks.read(1, "c")).preferred_read_replica == -1, "it ends before"
        racks.fetched(3, 1, log_start_offset=1)
        assert (await racks.read(0, "c")).preferred_read_replica == -1, "it begins after"
        racks.fetched(3, 1, log_start_offset=0)
        assert (await racks.read(0, "c")).preferred_read_replica == 3

    racks.run(scenario)


def test_a_follower_outside_the_isr_is_not_preferred() -> None:
    racks = rack_aware()

    async def scenario(partition: Partition) -> None:
        await racks.produce(b"a")
        racks.fetched(3, 0)
        assert (await racks.read(0, "c")).preferred_read_replica == 3
        await racks.lag(3)
        assert partition.registration.isr == (1, 2)
        assert (await racks.read(0, "c")).preferred_read_replica == -1

    racks.run(scenario)


def follow(racks: Racks, partition: Partition, *values_: bytes) -> None:
    """Let broker 2 lead, and this one have ``values_`` from it, of which nothing is committed."""
    racks.elect_again(partition, leader=2)
    for value in values_:
        offset = partition.log.log_end_offset
        epoch = partition.leader_epoch
        records = batch(value, timestamp=1000, base_offset=offset, leader_epoch=epoch)
        partition.append_as_follower(records, epoch)


def test_a_follower_serves_consumers_up_to_its_high_watermark() -> None:
    racks = Racks()

    async def scenario(partition: Partition) -> None:
        follow(racks, partition, b"a", b"b")
        epoch = partition.leader_epoch
        partition.follow_high_watermark(1, 0, epoch)
        data = await racks.read(0)
        assert (values(data), data.high_watermark) == ([b"a"], 1)
        assert values(await racks.read(2)) == [], "it is not known to be committed"

    racks.run(scenario)


@pytest.mark.parametrize("offset", [0, 3])
def test_a_follower_sends_consumers_to_the_leader_for_what_it_does_not_have(offset: int) -> None:
    """Only the leader knows whether an offset is out of range for everybody."""
    racks = Racks()

    async def scenario(partition: Partition) -> None:
        follow(racks, partition, b"a", b"b")
        partition.follow_high_watermark(2, 1, partition.leader_epoch)
        data = await racks.read(offset)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert data.current_leader.leader_id == 2
        assert (await racks.read(1)).error_code == ErrorCode.NONE

    racks.run(scenario)


def test_a_consumer_that_waits_at_a_follower_is_woken_by_its_high_watermark() -> None:
    racks = Racks()

    async def scenario(partition: Partition) -> None:
        follow(racks, partition, b"a")
        waiting = asyncio.ensure_future(racks.read(0, max_wait_ms=60_000))
        await turns()
        assert not waiting.done()
        partition.follow_high_watermark(1, 0, partition.leader_epoch)
        assert values(await asyncio.wait_for(waiting, 30)) == [b"a"]

    racks.run(scenario)


def test_a_consumer_at_a_former_leader_is_woken_for_what_it_had_not_committed() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.produce(b"a")
        followed.elect_again(partition, leader=2)
        waiting = asyncio.ensure_future(followed.fetch(0, max_wait_ms=60_000, min_bytes=1))
        await turns()
        assert not waiting.done()
        partition.follow_high_watermark(1, 0, partition.leader_epoch)
        assert values(await asyncio.wait_for(waiting, 30)) == [b"a"]

    followed.run(scenario)


def test_consumers_of_old_versions_need_the_leader() -> None:
    racks = Racks()

    async def scenario(partition: Partition) -> None:
        follow(racks, partition)
        request = racks.request(0)
        request.topics[0].topic = "t"
        for version, code in ((10, ErrorCode.NOT_LEADER_OR_FOLLOWER), (11, ErrorCode.NONE)):
            response = await racks.broker.send(request, version)
            assert response.responses[0].partitions[0].error_code == code

    racks.run(scenario)


def test_a_follower_knows_that_consumers_read_from_it() -> None:
    racks = Racks()

    async def scenario(partition: Partition) -> None:
        before = partition.consumer_read_ms
        await racks.read(0)
        assert partition.consumer_read_ms == before, "it leads"
        follow(racks, partition)
        await racks.read(0)
        assert partition.consumer_read_ms == racks.clock.monotonic_ms()

    racks.run(scenario)
