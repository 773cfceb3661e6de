"""A swap of segments has several steps; the log is consistent between any two of them."""

import errno

import pytest

from moldau.clock import ManualClock
from moldau.errors import ApiError
from moldau.simulator.disk import SimulatedDisk, keep_everything
from moldau.storage.cleaner.segment_swap import SegmentSwap
from moldau.storage.log.leftovers import CLEANED_SUFFIX
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.segment import Segment
from tests.storage.cleaner.log_cleaning import (
    COMPACT,
    Cleaner,
    check_segments,
    compacted_log,
    fill,
    last_values,
    offsets_of,
)
from tests.storage.log_making import START_MS, reopened

# More than a pass over the log below has.
MOST_STEPS = 40
STEPS = pytest.mark.parametrize("steps", range(MOST_STEPS))


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(clock=ManualClock(START_MS))


@pytest.fixture
def log(disk: SimulatedDisk) -> PartitionLog:
    log = compacted_log(disk)
    fill(log)
    return log


def begun(disk: SimulatedDisk, log: PartitionLog, steps: int) -> Cleaner:
    cleaner = Cleaner(disk, ManualClock(START_MS), [log])
    cleaner.begin()
    for _ in range(steps):
        cleaner.threads.step()
    return cleaner


def after_a_crash(disk: SimulatedDisk) -> PartitionLog:
    disk.crash(keep_everything)
    log = reopened(disk, COMPACT)
    log.update_high_watermark(log.log_end_offset)
    check_segments(log)
    names = disk.list_dir(log.directory)
    assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))]
    return log


def suffixes_seen(disk: SimulatedDisk, log: PartitionLog) -> set[str]:
    return {name.rpartition(".")[2] for name in disk.list_dir(log.directory)}


def test_the_steps_below_reach_into_swaps_and_to_the_end_of_the_pass(
    disk: SimulatedDisk, log: PartitionLog
) -> None:
    cleaner = begun(disk, log, 0)
    seen = []
    for _ in range(MOST_STEPS - 1):
        cleaner.threads.step()
        seen.append("swap" in suffixes_seen(disk, log))
    assert sum(seen) >= 5
    assert not cleaner.cleaner.in_progress


@STEPS
def test_a_log_is_whole_after_a_crash(disk: SimulatedDisk, log: PartitionLog, steps: int) -> None:
    expected = last_values(log)
    begun(disk, log, steps)
    assert last_values(log) == expected
    check_segments(log)
    again = after_a_crash(disk)
    assert (last_values(again), again.log_end_offset) == (expected, 20)


@STEPS
def test_what_is_cut_off_does_not_come_back(
    disk: SimulatedDisk, log: PartitionLog, steps: int
) -> None:
    cleaner = begun(disk, log, steps)
    log.truncate_to(10)
    twin = disk.fork()
    again = after_a_crash(twin)
    assert again.log_end_offset <= 10
    assert all(offset < 10 for offset in offsets_of(again))
    cleaner.threads.finish()
    assert offsets_of(log) == offsets_of(again)


@STEPS
def test_a_log_can_be_closed(disk: SimulatedDisk, log: PartitionLog, steps: int) -> None:
    expected = last_values(log)
    cleaner = begun(disk, log, steps)
    log.close()
    cleaner.threads.finish()
    assert not suffixes_seen(disk, log) & {"cleaned", "swap"}
    assert last_values(after_a_crash(disk)) == expected


@STEPS
def test_a_log_whose_disk_failed_is_left_as_it_is(
    disk: SimulatedDisk, log: PartitionLog, steps: int
) -> None:
    expected = last_values(log)
    cleaner = begun(disk, log, steps)
    before = disk.list_dir(log.directory)
    log.close_files()
    assert disk.list_dir(log.directory) == before
    cleaner.threads.finish()
    assert last_values(after_a_crash(disk)) == expected


@STEPS
def test_the_directory_can_be_renamed(disk: SimulatedDisk, log: PartitionLog, steps: int) -> None:
    expected = last_values(log)
    cleaner = begun(disk, log, steps)
    log.rename_directory("/data/elsewhere-0")
    cleaner.threads.finish()
    assert last_values(log) == expected
    check_segments(log)


def begun_swap(disk: SimulatedDisk, log: PartitionLog, sources: list[Segment]) -> SegmentSwap:
    """An empty segment is about to take the place of ``sources``: the thread has its work."""
    cleaned = Segment(
        disk,
        log.directory,
        sources[0].base_offset,
        log.config,
        START_MS,
        create=True,
        file_suffix=CLEANED_SUFFIX,
    )
    swap = SegmentSwap(log, cleaned, sources)
    assert swap.go_on()
    return swap


def test_a_swap_that_failed_in_its_thread_goes_no_further(
    disk: SimulatedDisk, log: PartitionLog
) -> None:
    sources = list(log.segments)[:2]
    swap = begun_swap(disk, log, sources)
    disk.fail_next("rename", "*.cleaned", errno.EIO)
    with pytest.raises(ApiError, match="swapping segments"):
        swap.work()
    # The log still reads from the sources: their names are those of their files.
    assert not swap.go_on()
    assert list(log.segments)[:2] == sources


@pytest.mark.parametrize("is_late", [False, True])
def test_what_is_done_is_not_done_again(
    disk: SimulatedDisk, log: PartitionLog, is_late: bool
) -> None:
    """The owner finishes a swap before it hears from the thread, which may be late or just done."""
    first, second, *others = log.segments
    swap = begun_swap(disk, log, [first, second])
    if is_late:
        swap.finish()
        swap.work()
    else:
        swap.work()
        swap.finish()
    assert not swap.go_on()
    assert list(log.segments)[1:] == others
    names = disk.list_dir(log.directory)
    assert f"{second.base_offset:020d}.log.deleted" in names
    assert not [name for name in names if name.endswith((".cleaned", ".swap"))]


def test_a_cleaned_segment_keeps_the_snapshot_of_producers_at_its_beginning(
    disk: SimulatedDisk, log: PartitionLog
) -> None:
    second, third = list(log.segments)[1:3]
    before = list(log.producers.snapshot_offsets())
    assert {second.base_offset, third.base_offset} < set(before)
    begun_swap(disk, log, [second, third]).finish()
    before.remove(third.base_offset)
    assert log.producers.snapshot_offsets() == before


def test_nobody_reads_a_cleaned_segment_through_before_it_is_served(
    disk: SimulatedDisk, log: PartitionLog
) -> None:
    begun(disk, log, MOST_STEPS)
    cleaned = next(segment for segment in log.segments if segment.size)
    disk.fail_next("pread", "*", errno.EIO)
    assert cleaned.verify(0, cleaned.size) == cleaned.size
