"""The time index finds its entries, whether in memory or in the file."""

import struct

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.index.time_index import CorruptIndex, TimeIndex

PATH = "/00000000000000000100.timeindex"
BASE = 100
NOTHING = (-1, BASE)


def new_index(disk: SimulatedDisk | None = None) -> TimeIndex:
    index = TimeIndex(disk if disk is not None else SimulatedDisk(), PATH, BASE)
    index.create()
    return index


def file_of(*entries: tuple[int, int], padding: int = 0) -> SimulatedDisk:
    disk = SimulatedDisk()
    data = b"".join(struct.pack(">qi", *entry) for entry in entries)
    disk.open(PATH, create=True).append([data + bytes(padding)])
    return disk


def test_a_new_index_is_an_empty_file() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    assert disk.size(PATH) == 0
    assert (index.entries, index.last_entry) == (0, NOTHING)
    assert index.lookup(5_000) == NOTHING
    index.sanity_check()


def test_a_lookup_gives_the_last_entry_that_is_not_later() -> None:
    index = new_index()
    assert index.maybe_append(1000, 110)
    assert index.maybe_append(2000, 125)
    assert [index.lookup(timestamp) for timestamp in (-1, 999, 1000, 1999, 2000, 9999)] == [
        NOTHING,
        NOTHING,
        (1000, 110),
        (1000, 110),
        (2000, 125),
        (2000, 125),
    ]


def test_entries_are_timestamp_in_eight_bytes_and_relative_offset_in_four() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    index.maybe_append(1_794_778_191_994, 110)
    index.close()
    assert disk.read_bytes(PATH) == struct.pack(">qi", 1_794_778_191_994, 10)


def test_only_a_later_timestamp_makes_an_entry() -> None:
    index = new_index()
    assert not index.maybe_append(-1, 105)
    assert index.maybe_append(1000, 110)
    assert not index.maybe_append(1000, 110)
    assert not index.maybe_append(1000, 120)
    assert index.entries == 1
    assert index.last_entry == (1000, 110)


@pytest.mark.parametrize("timestamp, offset", [(2000, 109), (999, 120), (2000, BASE + 2**31)])
def test_an_entry_that_goes_back_or_does_not_fit_is_refused(timestamp: int, offset: int) -> None:
    index = new_index()
    index.maybe_append(1000, 110)
    with pytest.raises(ValueError):
        index.maybe_append(timestamp, offset)
    assert index.last_entry == (1000, 110)


def test_one_slot_is_kept_free_for_the_entry_of_the_roll() -> None:
    index = new_index()
    index.maybe_append(1, 101)
    assert not index.is_full(36)
    index.maybe_append(2, 102)
    assert index.is_full(36)
    assert index.maybe_append(3, 103)


def test_truncation_forgets_the_offset_and_everything_behind_it() -> None:
    for closed in (False, True):
        for offset, left in [(500, 3), (131, 3), (130, 2), (121, 2), (120, 1), (110, 0), (50, 0)]:
            index = new_index()
            for i in range(1, 4):
                index.maybe_append(1000 * i, BASE + 10 * i)
            if closed:
                index.close()
            index.truncate_to(offset)
            assert index.entries == left
            assert index.last_entry == ((1000 * left, BASE + 10 * left) if left else NOTHING)


def test_what_apache_kafka_allocated_in_advance_is_not_an_entry() -> None:
    disk = file_of((1000, 10), (2000, 25), padding=10_000 * 12)
    index = TimeIndex(disk, PATH, BASE)
    index.sanity_check()
    assert (index.entries, index.last_entry) == (2, (2000, 125))
    index.maybe_append(3000, 130)
    index.close()
    assert disk.read_bytes(PATH) == struct.pack(">qiqiqi", 1000, 10, 2000, 25, 3000, 30)


def test_a_single_record_from_1970_at_the_base_offset_is_an_entry() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    assert index.maybe_append(0, BASE)
    index.close()
    assert TimeIndex(disk, PATH, BASE).last_entry == (0, BASE)


@pytest.mark.parametrize(
    "disk, problem",
    [
        (file_of((1, 1), padding=3), "15 bytes"),
        (file_of((2000, 1), (1000, 2)), "before its first"),
        (file_of((1000, 1), (2000, -5)), "before its base offset"),
    ],
)
def test_obvious_damage_is_found(disk: SimulatedDisk, problem: str) -> None:
    with pytest.raises(CorruptIndex, match=problem):
        TimeIndex(disk, PATH, BASE).sanity_check()


def test_flushed_entries_survive_a_power_cut() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    index.maybe_append(1000, 110)
    index.flush()
    index.maybe_append(2000, 120)
    index.write()
    disk.crash(keep_nothing)
    assert TimeIndex(disk, PATH, BASE).last_entry == (1000, 110)


class IndexModel(RuleBasedStateMachine):
    """An index through appends, truncations, writes and restarts, against a list."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.index = new_index(self.disk)
        self.model: list[tuple[int, int]] = []

    @rule(steps=st.lists(st.integers(1, 9), min_size=1, max_size=700))
    def append(self, steps: list[int]) -> None:
        timestamp, offset = self.model[-1] if self.model else (1000, BASE)
        for step in steps:
            timestamp, offset = timestamp + step, offset + 10 - step
            self.index.maybe_append(timestamp, offset)
            self.model.append((timestamp, offset))

    @rule(back=st.integers(0, 2000))
    def truncate(self, back: int) -> None:
        offset = (self.model[-1][1] if self.model else BASE) + 3 - back
        self.index.truncate_to(offset)
        self.model = [entry for entry in self.model if entry[1] < offset]

    @rule()
    def write(self) -> None:
        self.index.write()

    @rule()
    def release(self) -> None:
        self.index.release()

    @rule()
    def restart(self) -> None:
        self.index.close()
        assert self.disk.size(PATH) == 12 * len(self.model)
        self.index = TimeIndex(self.disk, PATH, BASE)
        self.index.sanity_check()

    @rule(back=st.integers(0, 5000))
    def lookup(self, back: int) -> None:
        target = (self.model[-1][0] if self.model else 1000) + 3 - back
        found = [entry for entry in self.model if entry[0] <= target]
        assert self.index.lookup(target) == (found[-1] if found else NOTHING)

    @invariant()
    def the_ends_agree(self) -> None:
        assert self.index.entries == len(self.model)
        assert self.index.last_entry == (self.model[-1] if self.model else NOTHING)


IndexModel.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestIndexModel = IndexModel.TestCase
