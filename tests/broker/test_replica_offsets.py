"""ListOffsets and OffsetForLeaderEpoch where partitions have followers."""

from typing import Any

import pytest

from moldau.broker.partition import Partition
from moldau.errors import ErrorCode
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.batches import batch
from tests.broker.followed import Followed

CONSUMER, DEBUGGING, FOLLOWER = -1, -2, 2
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
NONE, NOT_LEADER = ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER
FENCED, UNKNOWN_EPOCH = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH


async def list_offset(
    followed: Followed, replica_id: int, timestamp: int, epoch: int = -1, version: int = 10
) -> Any:
    wanted = ListOffsetsPartition(timestamp=timestamp, current_leader_epoch=epoch)
    topic = ListOffsetsTopic(name="t", partitions=[wanted])
    request = ListOffsetsRequest(replica_id=replica_id, topics=[topic])
    return (await followed.broker.send(request, version)).topics[0].partitions[0]


async def end_of_epoch(followed: Followed, leader_epoch: int, epoch: int = -1) -> Any:
    wanted = OffsetForLeaderPartition(leader_epoch=leader_epoch, current_leader_epoch=epoch)
    topic = OffsetForLeaderTopic(topic="t", partitions=[wanted])
    request = OffsetForLeaderEpochRequest(replica_id=FOLLOWER, topics=[topic])
    return (await followed.broker.send(request, 4)).topics[0].partitions[0]


async def fill(followed: Followed) -> None:
    """Two records, with the timestamps 1000 and 2000, of which the first is committed."""
    partition = followed.partition("t")
    for timestamp in (1000, 2000):
        partition.append(batch(b"x", timestamp=timestamp), 1, 1000)
    for broker_id in (2, 3):
        followed.fetched(broker_id, 1)
    assert partition.log.high_watermark == 1


@pytest.mark.parametrize(
    ("timestamp", "consumers", "followers"),
    [
        (LATEST, (-1, 1), (-1, 2)),
        (EARLIEST, (-1, 0), (-1, 0)),
        (EARLIEST_LOCAL, (-1, 0), (-1, 0)),
        (MAX_TIMESTAMP, (-1, -1), (2000, 1)),
        (LATEST_TIERED, (-1, -1), (-1, -1)),
        (1500, (-1, -1), (2000, 1)),
        (500, (1000, 0), (1000, 0)),
    ],
)
def test_consumers_get_what_is_committed_and_followers_what_is_there(
    timestamp: int, consumers: tuple[int, int], followers: tuple[int, int]
) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await fill(followed)
        for replica_id, expected in (
            (CONSUMER, consumers),
            (FOLLOWER, followers),
            (DEBUGGING, followers),
        ):
            found = await list_offset(followed, replica_id, timestamp)
            assert (found.error_code, found.timestamp, found.offset) == (0, *expected)

    followed.run(scenario)


@pytest.mark.parametrize(
    ("replica_id", "codes"),
    [
        (CONSUMER, (NOT_LEADER, FENCED, NOT_LEADER, UNKNOWN_EPOCH)),
        (FOLLOWER, (NOT_LEADER, FENCED, NOT_LEADER, UNKNOWN_EPOCH)),
        (DEBUGGING, (NONE, FENCED, NONE, UNKNOWN_EPOCH)),
    ],
)
def test_a_follower_lists_offsets_for_debugging_only(
    replica_id: int, codes: tuple[ErrorCode, ...]
) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await fill(followed)
        followed.elect_again(partition, leader=2)
        current = partition.leader_epoch
        for epoch, code in zip((-1, current - 1, current, current + 1), codes, strict=True):
            found = await list_offset(followed, replica_id, LATEST, epoch)
            assert found.error_code == code
            assert found.offset == (2 if code == NONE else -1)

    followed.run(scenario)


def test_the_empty_log_of_a_follower_begins_in_no_epoch() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        followed.elect_again(partition, leader=2)
        found = await list_offset(followed, DEBUGGING, EARLIEST)
        assert (found.error_code, found.offset, found.leader_epoch) == (0, 0, -1)

    followed.run(scenario)


@pytest.mark.parametrize(
    ("timestamp", "code"),
    [
        (LATEST, ErrorCode.OFFSET_NOT_AVAILABLE),
        (1500, ErrorCode.OFFSET_NOT_AVAILABLE),
        (MAX_TIMESTAMP, ErrorCode.OFFSET_NOT_AVAILABLE),
        (500, NONE),
        (EARLIEST, NONE),
        (LATEST_TIERED, NONE),
    ],
)
def test_a_new_leader_does_not_know_yet_what_consumers_have_seen(
    timestamp: int, code: ErrorCode
) -> None:
    """KIP-207: its high watermark may be older than that of its predecessor."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await fill(followed)
        followed.elect_again(partition)
        assert (await list_offset(followed, CONSUMER, timestamp)).error_code == code
        assert (await list_offset(followed, FOLLOWER, LATEST)).offset == 2
        for broker_id in (2, 3):
            followed.fetched(broker_id, 2)
        assert (await list_offset(followed, CONSUMER, timestamp)).error_code == NONE

    followed.run(scenario)


def test_old_clients_are_told_that_the_leader_is_not_available() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await fill(followed)
        followed.elect_again(partition)
        found = await list_offset(followed, CONSUMER, LATEST, version=4)
        assert found.error_code == ErrorCode.LEADER_NOT_AVAILABLE

    followed.run(scenario)


def test_ends_of_epochs_are_told_by_the_leader_in_its_epoch() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await fill(followed)
        first = partition.leader_epoch
        followed.elect_again(partition)
        current = partition.leader_epoch
        found = await end_of_epoch(followed, first, current)
        assert (found.error_code, found.leader_epoch, found.end_offset) == (0, first, 2)
        for epoch, code in ((current - 1, FENCED), (current + 1, UNKNOWN_EPOCH)):
            refused = await end_of_epoch(followed, first, epoch)
            assert (refused.error_code, refused.leader_epoch, refused.end_offset) == (code, -1, -1)
        followed.elect_again(partition, leader=3)
        for epoch, code in ((-1, NOT_LEADER), (current, FENCED)):
            assert (await end_of_epoch(followed, first, epoch)).error_code == code

    followed.run(scenario)


def test_an_epoch_without_records_ends_with_the_one_before_it() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await fill(followed)
        first = partition.leader_epoch
        followed.elect_again(partition)
        found = await end_of_epoch(followed, partition.leader_epoch - 1)
        assert (found.leader_epoch, found.end_offset) == (first, 2)
        found = await end_of_epoch(followed, partition.leader_epoch)
        assert (found.leader_epoch, found.end_offset) == (partition.leader_epoch, 2)
        found = await end_of_epoch(followed, partition.leader_epoch + 1)
        assert (found.error_code, found.leader_epoch, found.end_offset) == (0, -1, -1)

    followed.run(scenario)
