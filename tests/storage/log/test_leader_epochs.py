"""Leader epochs: lookups, truncation, and when they are written to disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.disk.checkpoint import CorruptCheckpoint
from moldau.storage.log.leader_epochs import EpochEntry, LeaderEpochCache

PATH = "/leader-epoch-checkpoint"
LOG_END = 100


def cache_with(*entries: tuple[int, int]) -> LeaderEpochCache:
    cache = LeaderEpochCache(SimulatedDisk(), PATH)
    for epoch, start_offset in entries:
        cache.assign(epoch, start_offset)
    return cache


def test_an_empty_cache_knows_nothing() -> None:
    cache = cache_with()
    assert cache.latest_epoch == -1
    assert cache.latest_entry is None
    assert cache.earliest_entry is None
    assert cache.end_offset_for(0, LOG_END) == (-1, -1)
    assert cache.epoch_for_offset(5) == -1


def test_an_epoch_begins_once() -> None:
    cache = cache_with((2, 10), (2, 15), (4, 20))
    cache.assign(4, 25)
    assert cache.entries() == [(2, 10), (4, 20)]
    assert cache.latest_epoch == 4
    assert cache.earliest_entry == EpochEntry(2, 10)
    assert cache.latest_entry == EpochEntry(4, 20)


@pytest.mark.parametrize(
    "epoch, answer",
    [
        (-1, (-1, -1)),
        (1, (1, 10)),  # older than everything: where the log begins
        (2, (2, 20)),
        (3, (2, 20)),  # nothing was written in epoch 3
        (4, (4, 35)),
        (7, (7, LOG_END)),  # the present leader's epoch goes on
        (8, (-1, -1)),
    ],
)
def test_an_epoch_ends_where_a_later_one_begins(epoch: int, answer: tuple[int, int]) -> None:
    assert cache_with((2, 10), (4, 20), (7, 35)).end_offset_for(epoch, LOG_END) == answer


def test_an_offset_belongs_to_the_last_epoch_that_began_before_it() -> None:
    cache = cache_with((2, 10), (4, 20))
    offsets = (9, 10, 19, 20, 99)
    assert [cache.epoch_for_offset(offset) for offset in offsets] == [-1, 2, 2, 4, 4]


def test_a_new_entry_wins_over_those_that_contradict_it() -> None:
    assert cache_with((2, 10), (4, 20), (7, 35), (5, 30)).entries() == [(2, 10), (4, 20), (5, 30)]
    assert cache_with((2, 10), (4, 20), (7, 35), (8, 20)).entries() == [(2, 10), (8, 20)]
    assert cache_with((2, 10), (2, 5)).entries() == [(2, 5)]


def test_truncating_the_start_moves_the_first_epoch_up() -> None:
    def left(start_offset: int) -> list[EpochEntry]:
        cache = cache_with((2, 10), (4, 20), (7, 35))
        cache.truncate_from_start(start_offset)
        return cache.entries()

    assert left(5) == [(2, 10), (4, 20), (7, 35)]
    assert left(10) == [(2, 10), (4, 20), (7, 35)]
    assert left(15) == [(2, 15), (4, 20), (7, 35)]
    assert left(20) == [(4, 20), (7, 35)]
    assert left(90) == [(7, 90)]


def test_truncating_the_end_forgets_epochs_that_have_no_batch_left() -> None:
    def left(end_offset: int) -> list[EpochEntry]:
        cache = cache_with((2, 10), (4, 20), (7, 35))
        cache.truncate_from_end(end_offset)
        return cache.entries()

    assert left(36) == [(2, 10), (4, 20), (7, 35)]
    assert left(35) == [(2, 10), (4, 20)]
    assert left(11) == [(2, 10)]
    assert left(0) == []


def test_assigning_touches_no_disk_until_the_flush() -> None:
    disk = SimulatedDisk()
    cache = LeaderEpochCache(disk, PATH)
    cache.assign(0, 0)
    cache.assign(1, 10)
    assert disk.operations == 0
    cache.flush()
    disk.crash(keep_nothing, lose_names=True)
    assert disk.read_bytes(PATH) == b"0\n2\n0 0\n1 10\n"
    assert LeaderEpochCache(disk, PATH).entries() == [(0, 0), (1, 10)]


def test_a_new_epoch_touches_no_disk_after_the_start_was_cut_off() -> None:
    disk = SimulatedDisk()
    cache = LeaderEpochCache(disk, PATH)
    for epoch, start_offset in ((2, 10), (4, 20), (7, 35)):
        cache.assign(epoch, start_offset)
    cache.flush()
    written = disk.operations
    cache.truncate_from_start(40)
    cache.assign(8, 50)
    assert disk.operations == written
    cache.flush()
    assert LeaderEpochCache(disk, PATH).entries() == [(7, 40), (8, 50)]


def test_a_flush_without_changes_writes_nothing() -> None:
    disk = SimulatedDisk()
    cache = LeaderEpochCache(disk, PATH)
    cache.assign(0, 0)
    cache.flush()
    written = disk.operations
    cache.assign(0, 5)
    cache.flush()
    LeaderEpochCache(disk, PATH).flush()
    assert disk.operations == written


def test_entries_that_are_forgotten_do_not_come_back_after_a_crash() -> None:
    def forget_by_truncation(cache: LeaderEpochCache) -> None:
        cache.truncate_from_end(20)

    def forget_by_contradiction(cache: LeaderEpochCache) -> None:
        cache.assign(9, 20)

    def forget_all(cache: LeaderEpochCache) -> None:
        cache.clear()

    for forget in (forget_by_truncation, forget_by_contradiction, forget_all):
        disk = SimulatedDisk()
        cache = LeaderEpochCache(disk, PATH)
        for epoch, start_offset in ((2, 10), (4, 20), (7, 35)):
            cache.assign(epoch, start_offset)
        cache.flush()
        forget(cache)
        disk.crash(keep_nothing, lose_names=True)
        assert LeaderEpochCache(disk, PATH).entries() == cache.entries()


def test_a_moved_file_is_written_at_its_new_place() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/b")
    cache = LeaderEpochCache(disk, PATH)
    cache.assign(3, 0)
    cache.moved("/b/leader-epoch-checkpoint")
    cache.flush()
    assert LeaderEpochCache(disk, "/b/leader-epoch-checkpoint").latest_epoch == 3
    assert not disk.exists(PATH)


def test_a_failed_flush_is_made_up_for_by_the_next() -> None:
    disk = SimulatedDisk()
    cache = LeaderEpochCache(disk, PATH)
    cache.assign(3, 0)
    disk.fail_next("fsync", "*", 5)
    with pytest.raises(OSError):
        cache.flush()
    cache.flush()
    assert LeaderEpochCache(disk, PATH).latest_epoch == 3


def test_a_damaged_file_is_reported() -> None:
    disk = SimulatedDisk()
    disk.write_atomically(PATH, b"0\n1\nnonsense\n")
    with pytest.raises(CorruptCheckpoint, match="line 3"):
        LeaderEpochCache(disk, PATH)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 50)), max_size=30))
def test_epochs_and_offsets_always_grow_and_disk_and_memory_agree(
    assignments: list[tuple[int, int]],
) -> None:
    disk = SimulatedDisk()
    cache = LeaderEpochCache(disk, PATH)
    for epoch, start_offset in assignments:
        cache.assign(epoch, start_offset)
        entries = cache.entries()
        epochs = [entry.epoch for entry in entries]
        offsets = [entry.start_offset for entry in entries]
        assert epochs == sorted(set(epochs))
        assert offsets == sorted(set(offsets))
        assert epoch in epochs
        cache.flush()
        assert LeaderEpochCache(disk, PATH).entries() == entries


def test_a_late_write_makes_the_entries_durable() -> None:
    disk = SimulatedDisk()
    cache = LeaderEpochCache(disk, PATH)
    cache.assign(2, 10)
    work = cache.write_late()
    assert not disk.exists(PATH)
    work()
    disk.crash(keep_nothing)
    assert LeaderEpochCache(disk, PATH).entries() == [(2, 10)]


def test_a_late_write_does_not_bring_back_what_was_forgotten() -> None:
    disk = SimulatedDisk()
    cache = LeaderEpochCache(disk, PATH)
    cache.assign(2, 10)
    cache.flush()
    cache.assign(4, 20)
    work = cache.write_late()
    cache.truncate_from_end(15)
    work()
    assert LeaderEpochCache(disk, PATH).entries() == [(2, 10)]
    cache.assign(5, 15)
    later = cache.write_late()
    cache.flush()
    work()
    later()
    assert LeaderEpochCache(disk, PATH).entries() == [(2, 10), (5, 15)]


@pytest.mark.parametrize("is_written", [False, True])
def test_what_was_written_late_does_not_come_back_either(is_written: bool) -> None:
    disk = SimulatedDisk()
    cache = LeaderEpochCache(disk, PATH)
    cache.assign(2, 10)
    cache.flush()
    cache.assign(4, 20)
    work = cache.write_late()
    if is_written:
        work()
    cache.truncate_from_end(20)
    disk.crash(keep_nothing, lose_names=True)
    assert LeaderEpochCache(disk, PATH).entries() == [(2, 10)]


def test_a_late_write_follows_the_directory() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/new")
    cache = LeaderEpochCache(disk, PATH)
    cache.assign(2, 10)
    work = cache.write_late()
    cache.moved(f"/new{PATH}")
    work()
    assert LeaderEpochCache(disk, f"/new{PATH}").entries() == [(2, 10)]
    assert not disk.exists(PATH)
