"""Batches from a leader, which already have offsets."""

import random

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.record.header import iter_headers
from moldau.simulator.disk import SimulatedDisk
from tests.storage.log_making import (
    DIRECTORY,
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


@pytest.mark.parametrize("seed", range(8))
def test_a_run_of_batches_leaves_the_same_files_as_one_batch_after_the_other(seed: int) -> None:
    rng = random.Random(seed)
    config = LogConfig(
        segment_bytes=rng.choice((3_000, 1 << 20)),
        index_interval_bytes=rng.choice((1, 200, 4096)),
    )
    leader = new_log()
    sequences = [0, 0]
    for number in range(150):
        producer = rng.choice((-1, -1, 0, 1))
        sequence = -1
        if producer >= 0:
            sequence = sequences[producer]
            sequences[producer] += 1
        data = batch(
            b"x" * rng.randint(1, 60),
            timestamp=START_MS + rng.randint(0, 1000),
            producer_id=producer,
            sequence=sequence,
        )
        leader.append_as_leader(data, number // 60, START_MS)
    whole = data_of(leader.read(0, 1 << 20, max_offset=150))
    disks = SimulatedDisk(), SimulatedDisk()
    at_once, one_by_one = (new_log(disk, config) for disk in disks)
    position = 0
    while position < len(whole):
        taken = at_once.append_as_follower(whole[position : position + rng.randint(1, 4000)], 9)
        position += 0 if taken is None else taken.size_bytes
    for start, header in iter_headers(whole):
        one_by_one.append_as_follower(whole[start : start + header.size_bytes], 9)
    for log in (at_once, one_by_one):
        log.flush()
        log.close()
    assert at_once.log_end_offset == one_by_one.log_end_offset == 150
    assert files(disks[0]) == files(disks[1])


def files(disk: SimulatedDisk) -> dict[str, bytes]:
    return {
        name: disk.read_bytes(f"{DIRECTORY}/{name}") for name in sorted(disk.list_dir(DIRECTORY))
    }
