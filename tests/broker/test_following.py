"""A partition that is led by another broker, or will be, or was."""

import errno

import pytest

from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from tests.broker.replicated import LOCAL_ID, Replicated, lead
from tests.storage.log_making import START_MS, batch, new_log

LEADER = 2


def records(*values: bytes, epoch: int = 5) -> bytes:
    log = new_log()
    for value in values:
        log.append_as_leader(batch(value), epoch, START_MS)
    data = log.read(0, 1 << 20, max_offset=log.log_end_offset).records
    assert isinstance(data, bytes)
    return data


def follow(partition: Partition, leader_epoch: int = 5) -> None:
    lead(partition, leader=LEADER, epochs=leader_epoch - partition.leader_epoch)


def refused(partition: Partition, leader_epoch: int) -> list[ErrorCode]:
    """The errors of everything that a leader of ``leader_epoch`` may want to change."""
    codes: list[ErrorCode] = []
    for change in (
        lambda: partition.append_as_follower(records(b"a"), leader_epoch),
        lambda: partition.truncate_to(0, leader_epoch),
        lambda: partition.truncate_fully_and_start_at(9, leader_epoch),
        lambda: partition.follow_high_watermark(1, 1, leader_epoch),
    ):
        with pytest.raises(ApiError) as error:
            change()
        codes.append(error.value.code)
    return codes


def test_only_the_current_leader_changes_the_log_of_a_follower() -> None:
    async def scenario(partition: Partition) -> None:
        follow(partition)
        partition.append_as_follower(records(b"a", b"b"), 5)
        partition.follow_high_watermark(1, 0, 5)
        assert set(refused(partition, 4)) == {ErrorCode.FENCED_LEADER_EPOCH}
        assert set(refused(partition, 6)) == {ErrorCode.FENCED_LEADER_EPOCH}
        lead(partition, leader=LOCAL_ID, epochs=1)
        assert set(refused(partition, 6)) == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
        assert (partition.log.log_end_offset, partition.log.high_watermark) == (2, 1)

    Replicated().run(scenario)


def test_the_high_watermark_of_a_follower_goes_as_far_as_its_log_and_never_back() -> None:
    async def scenario(partition: Partition) -> None:
        follow(partition)
        partition.append_as_follower(records(b"a", b"b"), 5)
        partition.follow_high_watermark(9, 0, 5)
        assert partition.log.high_watermark == 2
        # A new leader does not know yet what its predecessor had committed.
        follow(partition, 6)
        partition.follow_high_watermark(1, 0, 6)
        assert partition.log.high_watermark == 2

    Replicated().run(scenario)


def test_the_log_start_of_a_follower_is_not_moved_above_its_high_watermark() -> None:
    async def scenario(partition: Partition) -> None:
        follow(partition)
        partition.append_as_follower(records(b"a", b"b"), 5)
        partition.follow_high_watermark(1, 2, 5)
        assert partition.log.log_start_offset == 1

    Replicated().run(scenario)


def test_an_empty_log_that_starts_within_a_batch_takes_the_whole_batch() -> None:
    """DeleteRecords has moved the log start of the leader there."""

    async def scenario(partition: Partition) -> None:
        follow(partition)
        leader = new_log()
        for values in ((b"a", b"b"), (b"c", b"d", b"e"), (b"f",)):
            data = batch(*values, producer_id=7, sequence=leader.log_end_offset)
            leader.append_as_leader(data, 5, START_MS)
        leader.update_high_watermark(6)
        leader.delete_records_before(4)
        found = leader.read(4, 1 << 20, max_offset=6).records
        assert isinstance(found, bytes)
        partition.truncate_fully_and_start_at(4, 5)
        info = partition.append_as_follower(found, 5)
        assert info is not None
        assert (info.first_offset, info.last_offset) == (2, 5)
        log = partition.log
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (4, 4, 6)
        assert log.read(4, 1 << 20, max_offset=6).records == found
        partition.follow_high_watermark(6, 4, 5)
        assert (log.log_start_offset, log.high_watermark) == (4, 6)
        with pytest.raises(ApiError) as error:
            log.read(3, 1 << 20, max_offset=6)
        assert error.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
        lead(partition, leader=LOCAL_ID, epochs=1)
        info = partition.append(batch(b"g", producer_id=7, sequence=6), -1, START_MS)
        assert (info.is_duplicate, info.first_offset) == (False, 6)

    Replicated().run(scenario)


@pytest.mark.parametrize(
    ("operation", "file"), [("append", "*.log"), ("open", "*.log"), ("open", "*.timeindex")]
)
def test_a_log_that_cannot_take_the_batch_it_starts_within_does_not_end_before_its_start(
    operation: str, file: str
) -> None:
    it = Replicated()

    async def scenario(partition: Partition) -> None:
        follow(partition)
        leader = new_log()
        leader.append_as_leader(batch(b"a", b"b", b"c"), 5, START_MS)
        found = leader.read(0, 1 << 20, max_offset=3).records
        assert isinstance(found, bytes)
        log = partition.log
        partition.truncate_fully_and_start_at(2, 5)
        it.disk.fail_next(operation, file, errno.ENOSPC)
        # Nor is there room for other files.
        it.disk.fail_next("open", "*2.log", errno.ENOSPC, count=2)
        with pytest.raises(ApiError):
            partition.append_as_follower(found, 5)
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (2, 2, 2)
        it.disk.heal_failures()
        partition.append_as_follower(found, 5)
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (2, 2, 3)

    it.run(scenario)


def test_only_an_empty_log_goes_back_to_the_beginning_of_a_batch() -> None:
    async def scenario(partition: Partition) -> None:
        follow(partition)
        leader = new_log()
        leader.append_as_leader(batch(b"a", b"b"), 5, START_MS)
        leader.append_as_leader(batch(b"c"), 5, START_MS)
        found = leader.read(0, 1 << 20, max_offset=3).records
        assert isinstance(found, bytes)
        partition.append_as_follower(found, 5)
        with pytest.raises(ApiError) as error:
            partition.append_as_follower(found, 5)
        assert error.value.code == ErrorCode.INVALID_RECORD
        assert partition.log.log_end_offset == 3
        # Nor does it go back for a batch that is damaged.
        partition.truncate_fully_and_start_at(1, 5)
        with pytest.raises(ApiError):
            partition.append_as_follower(found[:70] + b"?" + found[71:], 5)
        assert partition.log.log_end_offset == 1

    Replicated().run(scenario)


def test_an_elected_follower_knows_its_producers_and_its_epochs() -> None:
    async def scenario(partition: Partition) -> None:
        follow(partition)
        leader = new_log()
        for number in range(3):
            data = batch(b"%d" % number, producer_id=7, sequence=number)
            leader.append_as_leader(data, number, START_MS)
        found = leader.read(0, 1 << 20, max_offset=3).records
        assert isinstance(found, bytes)
        partition.append_as_follower(found, 5)
        partition.truncate_to(2, 5)
        lead(partition, leader=LOCAL_ID, epochs=1)
        # The batch that was truncated is new, and the one before it is a duplicate.
        again = partition.append(batch(b"1", producer_id=7, sequence=1), -1, START_MS)
        assert again.is_duplicate
        info = partition.append(batch(b"2", producer_id=7, sequence=2), -1, START_MS)
        assert (info.is_duplicate, info.first_offset) == (False, 2)
        entries = [tuple(each) for each in partition.log.leader_epochs.entries()]
        assert entries == [(0, 0), (1, 1), (6, 2)]

    Replicated().run(scenario)


def test_epochs_end_where_that_of_a_leader_begins_that_has_written_nothing() -> None:
    async def scenario(partition: Partition) -> None:
        lead(partition, leader=LOCAL_ID, epochs=7)
        assert partition.leader_epoch == 7
        # A follower that was ahead of us has records of an epoch of which we have nothing.
        assert partition.end_offset_for_epoch(5) == (5, 0)
        assert partition.end_offset_for_epoch(7) == (7, 0)
        partition.log.assign_epoch(3, 0)
        assert partition.end_offset_for_epoch(5) == (3, 0)

    Replicated().run(scenario)
