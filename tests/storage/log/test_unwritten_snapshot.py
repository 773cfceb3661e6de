"""A snapshot of many producers is written by another thread, with the state at the roll."""

import errno

import pytest

from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_snapshot import read_snapshot, snapshot_path
from moldau.storage.log.producer_state import MANY_PRODUCERS
from tests.storage.log_making import DIRECTORY, EPOCH, START_MS, Later, batch, new_log

PRODUCERS = MANY_PRODUCERS + 1
PATH = snapshot_path(DIRECTORY, PRODUCERS)


class Rolled:
    """A log of many producers that was rolled, and whose snapshot is not written yet."""

    def __init__(self, producers: int = PRODUCERS) -> None:
        self.disk = SimulatedDisk()
        self.executor = Later()
        self.log: PartitionLog = new_log(self.disk, executor=self.executor)
        for producer_id in range(producers):
            self.write(producer_id, 0)
        self.log.roll()

    def write(self, producer_id: int, sequence: int) -> None:
        data = batch(b"x", producer_id=producer_id, sequence=sequence)
        self.log.append_as_leader(data, EPOCH, START_MS)
        self.log.update_high_watermark(self.log.log_end_offset)

    def last_offsets(self) -> list[int]:
        return [each.last_offset for each in read_snapshot(self.disk, PATH)]


def test_few_producers_are_written_at_once() -> None:
    rolled = Rolled(3)
    assert rolled.disk.exists(snapshot_path(DIRECTORY, 3))


def test_what_producers_write_after_the_roll_is_not_in_the_snapshot() -> None:
    rolled = Rolled()
    assert not rolled.disk.exists(PATH)
    assert rolled.log.producers.snapshot_offsets() == [PRODUCERS]
    rolled.write(5, 1)
    rolled.write(5, 2)
    rolled.write(PRODUCERS, 0)
    rolled.executor.run()
    assert rolled.last_offsets() == list(range(PRODUCERS))
    entry = rolled.log.producers.entry(5)
    assert entry is not None
    assert [each.last_offset for each in entry.batches()] == [5, PRODUCERS, PRODUCERS + 1]


def test_a_second_roll_has_a_snapshot_of_its_own() -> None:
    rolled = Rolled()
    rolled.write(5, 1)
    rolled.log.roll()
    rolled.write(5, 2)
    rolled.executor.run()
    assert rolled.last_offsets() == list(range(PRODUCERS))
    later = read_snapshot(rolled.disk, snapshot_path(DIRECTORY, PRODUCERS + 1))
    assert next(each.last_offset for each in later if each.producer_id == 5) == PRODUCERS
    assert rolled.log.recovery_point == PRODUCERS + 1


def test_a_snapshot_of_what_was_cut_off_is_not_written_any_more() -> None:
    rolled = Rolled()
    rolled.log.truncate_to(10)
    rolled.executor.run()
    assert not rolled.disk.exists(PATH)
    assert PRODUCERS not in rolled.log.producers.snapshot_offsets()
    assert len(rolled.log.producers.active_producers()) == 10


def test_a_cut_behind_the_snapshot_begins_with_it() -> None:
    rolled = Rolled()
    rolled.write(5, 1)
    rolled.write(6, 1)
    rolled.log.truncate_to(PRODUCERS + 1)
    assert rolled.last_offsets() == list(range(PRODUCERS))
    found = {each.producer_id: each.last_offset for each in rolled.log.producers.active_producers()}
    assert (found[5], found[6]) == (PRODUCERS, 6)
    rolled.executor.run()
    assert rolled.last_offsets() == list(range(PRODUCERS))


def test_a_snapshot_whose_segment_is_gone_does_not_come_back() -> None:
    rolled = Rolled()
    rolled.write(5, 1)
    rolled.log.roll()
    rolled.log.delete_records_before(PRODUCERS + 1)
    rolled.log._retention.remove_segments(2)
    rolled.executor.run()
    assert not rolled.disk.exists(PATH)
    assert rolled.disk.exists(snapshot_path(DIRECTORY, PRODUCERS + 1))


def test_a_full_disk_leaves_the_snapshot_out(caplog: pytest.LogCaptureFixture) -> None:
    rolled = Rolled()
    rolled.disk.fail_next("append", "*.snapshot", OSError(errno.ENOSPC, "No space left on device"))
    rolled.executor.run()
    assert not rolled.disk.exists(PATH)
    assert "it is left out" in caplog.text
    assert rolled.log.recovery_point == PRODUCERS
    rolled.write(5, 1)


def test_the_directory_may_be_renamed_before_the_snapshot_is_written() -> None:
    rolled = Rolled()
    rolled.log.rename_directory("/data/renamed-0")
    rolled.executor.run()
    moved = snapshot_path("/data/renamed-0", PRODUCERS)
    assert len(read_snapshot(rolled.disk, moved)) == PRODUCERS
