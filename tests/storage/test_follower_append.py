"""Batches from a leader, which already have offsets."""

import pytest

from moldau.errors import ApiError, ErrorCode
from moldau.storage.simulated_disk import SimulatedDisk
from tests.storage.log_making import (
    SMALL_SEGMENTS,
    START_MS,
    batch,
    data_of,
    new_log,
    new_log_with,
    read_all,
    reopened,
)


def test_a_follower_becomes_a_copy_of_its_leader() -> None:
    leader = new_log(config=SMALL_SEGMENTS)
    for number in range(12):
        leader.append_as_leader(
            batch(b"%02d" % number * 30, producer_id=5, sequence=number), number // 4, START_MS
        )
    data = b"".join(
        data_of(leader.read(segment.base_offset, 1 << 20, max_offset=12))
        for segment in leader.segments
    )
    disk = SimulatedDisk()
    follower = new_log(disk, SMALL_SEGMENTS)
    info = follower.append_as_follower(data + data[:40], 10)
    assert info is not None
    assert (info.first_offset, info.last_offset) == (0, 11)
    assert read_all(follower) == read_all(leader)
    assert [s.base_offset for s in follower.segments] == [s.base_offset for s in leader.segments]
    assert follower.leader_epochs.entries() == leader.leader_epochs.entries()
    assert follower.producers.map_end_offset == 12
    assert follower.append_as_follower(b"") is None
    # The snapshots that were taken on the way hold what the batches before them say.
    for base_offset in [segment.base_offset for segment in follower.segments][1:]:
        shorter = disk.fork()
        truncated = reopened(shorter, SMALL_SEGMENTS)
        truncated.truncate_to(base_offset)
        entry = truncated.producers.entry(5)
        assert entry is not None
        assert entry.next_sequence == base_offset


def test_a_follower_refuses_offsets_that_go_back_and_bad_checksums() -> None:
    leader = new_log_with(b"a", b"b")
    data = data_of(leader.read(0, 1000, max_offset=2))
    follower = new_log()
    follower.append_as_follower(data)
    with pytest.raises(ApiError) as refused:
        follower.append_as_follower(data)
    assert refused.value.code == ErrorCode.INVALID_RECORD
    with pytest.raises(ApiError) as refused:
        new_log().append_as_follower(data[:-1] + b"?")
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    assert follower.log_end_offset == 2


def test_a_follower_leaves_out_batches_of_a_later_epoch() -> None:
    leader = new_log()
    leader.append_as_leader(batch(b"a"), 1, START_MS)
    leader.append_as_leader(batch(b"b"), 2, START_MS)
    follower = new_log()
    follower.append_as_follower(data_of(leader.read(0, 1000, max_offset=2)), 1)
    assert follower.log_end_offset == 1
