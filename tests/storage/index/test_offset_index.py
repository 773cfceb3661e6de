"""The offset index finds its entries, whether in memory or in the file."""

import struct
from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moldau.simulator.disk import SimulatedDisk, keep_everything, keep_nothing
from moldau.storage.index.index_file import TAIL_ENTRIES
from moldau.storage.index.offset_index import CorruptIndex, OffsetIndex

PATH = "/00000000000000000100.index"
BASE = 100


def new_index(disk: SimulatedDisk | None = None) -> OffsetIndex:
    index = OffsetIndex(disk if disk is not None else SimulatedDisk(), PATH, BASE)
    index.create()
    return index


def file_of(*entries: tuple[int, int], padding: int = 0) -> SimulatedDisk:
    disk = SimulatedDisk()
    data = b"".join(struct.pack(">ii", *entry) for entry in entries)
    disk.open(PATH, create=True).append([data + bytes(padding)])
    return disk


def test_a_new_index_is_an_empty_file() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    assert disk.size(PATH) == 0
    assert (index.entries, index.last_offset) == (0, BASE)
    assert index.lookup(5_000) == (BASE, 0)
    index.sanity_check()


def test_a_lookup_gives_the_last_entry_that_is_not_behind_the_offset() -> None:
    index = new_index()
    index.append(110, 4000)
    index.append(125, 9000)
    assert [index.lookup(offset) for offset in (100, 109, 110, 124, 125, 999)] == [
        (BASE, 0),
        (BASE, 0),
        (110, 4000),
        (110, 4000),
        (125, 9000),
        (125, 9000),
    ]


def test_entries_are_relative_offset_and_position_in_four_bytes_each() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    index.append(110, 4000)
    index.append(BASE + 2**31 - 1, 2**31 - 1)
    index.close()
    assert disk.read_bytes(PATH) == struct.pack(">iiii", 10, 4000, 2**31 - 1, 2**31 - 1)


def test_an_index_is_not_read_before_it_is_used() -> None:
    disk = SimulatedDisk()
    index = OffsetIndex(disk, PATH, BASE)
    assert not index.exists()
    with pytest.raises(FileNotFoundError):
        index.lookup(110)


def test_a_closed_index_answers_from_the_file() -> None:
    index = new_index()
    for i in range(2000):
        index.append(110 + 10 * i, 4096 * i)
    index.close()
    assert index.lookup(110 + 10 * 1234 + 5) == (110 + 10 * 1234, 4096 * 1234)
    assert (index.entries, index.last_offset) == (2000, 110 + 10 * 1999)
    index.append(99_999, 99_999_999)
    assert index.lookup(99_999) == (99_999, 99_999_999)


def test_memory_holds_only_the_newest_entries() -> None:
    index = new_index()
    for i in range(10 * TAIL_ENTRIES):
        index.append(BASE + i, 4096 * i)
        assert index._tail_size() <= 2 * TAIL_ENTRIES
    assert index._tail_size() >= TAIL_ENTRIES
    index.release()
    assert index._tail_size() == 0


@pytest.mark.parametrize("offset, position", [(110, 1), (99, 1), (BASE + 2**31, 1), (120, 2**31)])
def test_an_entry_that_does_not_fit_is_refused(offset: int, position: int) -> None:
    index = new_index()
    index.append(110, 0)
    with pytest.raises(ValueError):
        index.append(offset, position)
    assert index.entries == 1


def test_offsets_too_far_from_the_base_cannot_be_indexed() -> None:
    index = new_index()
    assert index.can_append(BASE)
    assert index.can_append(BASE + 2**31 - 1)
    assert not index.can_append(BASE + 2**31)
    assert not index.can_append(BASE - 1)


def test_an_index_is_full_when_one_more_entry_would_pass_the_limit() -> None:
    index = new_index()
    for i in range(3):
        assert not index.is_full(31)
        index.append(110 + i, i)
    assert index.is_full(31)
    assert not index.is_full(32)


def test_truncation_forgets_the_offset_and_everything_behind_it() -> None:
    def truncated(offset: int, *, close_first: bool) -> list[tuple[int, int]]:
        index = new_index()
        for i in range(1, 4):
            index.append(BASE + 10 * i, 1000 * i)
        if close_first:
            index.close()
        index.truncate_to(offset)
        entries = [index.entry(slot) for slot in range(index.entries)]
        assert index.last_offset == (entries[-1][0] if entries else BASE)
        return entries

    full = [(110, 1000), (120, 2000), (130, 3000)]
    for close_first in (False, True):
        assert truncated(500, close_first=close_first) == full
        assert truncated(131, close_first=close_first) == full
        assert truncated(130, close_first=close_first) == full[:2]
        assert truncated(121, close_first=close_first) == full[:2]
        assert truncated(120, close_first=close_first) == full[:1]
        assert truncated(50, close_first=close_first) == []


def test_the_upper_bound_is_the_first_entry_at_or_behind_a_position() -> None:
    index = new_index()
    index.append(110, 4000)
    index.append(125, 9000)
    assert index.upper_bound(0) == (110, 4000)
    assert index.upper_bound(4000) == (110, 4000)
    assert index.upper_bound(4001) == (125, 9000)
    assert index.upper_bound(9001) is None


def test_what_apache_kafka_allocated_in_advance_is_not_an_entry() -> None:
    disk = file_of((10, 4000), (25, 9000), padding=10_000 * 8)
    index = OffsetIndex(disk, PATH, BASE)
    index.sanity_check()
    assert (index.entries, index.last_offset) == (2, 125)
    assert index.lookup(10_000) == (125, 9000)
    index.append(130, 12_000)
    index.close()
    assert disk.read_bytes(PATH) == struct.pack(">iiiiii", 10, 4000, 25, 9000, 30, 12_000)


def test_an_index_that_was_only_allocated_is_empty() -> None:
    disk = file_of(padding=10_485_760)
    index = OffsetIndex(disk, PATH, BASE)
    index.sanity_check()
    assert index.entries == 0
    assert index.lookup(10_000) == (BASE, 0)
    index.close()
    assert disk.size(PATH) == 0


def test_a_file_of_odd_size_is_corrupt() -> None:
    with pytest.raises(CorruptIndex, match="11 bytes"):
        OffsetIndex(file_of((1, 1), padding=3), PATH, BASE).sanity_check()


def test_an_offset_before_the_base_is_corrupt() -> None:
    with pytest.raises(CorruptIndex, match="before its base offset"):
        OffsetIndex(file_of((1, 1), (-5, 2)), PATH, BASE).sanity_check()


def test_a_missing_index_is_not_found() -> None:
    with pytest.raises(FileNotFoundError):
        OffsetIndex(SimulatedDisk(), PATH, BASE).sanity_check()


def test_a_reset_index_is_empty_even_if_it_was_corrupt_or_missing() -> None:
    for disk in (file_of((1, 1), (-5, 2), padding=3), SimulatedDisk()):
        index = OffsetIndex(disk, PATH, BASE)
        index.reset()
        assert index.entries == 0
        index.append(110, 4000)
        index.close()
        assert disk.read_bytes(PATH) == struct.pack(">ii", 10, 4000)


def test_flushed_entries_survive_a_power_cut() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    index.append(110, 4000)
    index.flush()
    index.append(120, 8000)
    index.write()
    disk.crash(keep_nothing)
    assert OffsetIndex(disk, PATH, BASE).last_offset == 110


def test_entries_written_before_a_release_are_flushed_after_it() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    index.append(110, 4000)
    index.release()
    index.flush()
    disk.crash(keep_nothing)
    assert OffsetIndex(disk, PATH, BASE).last_offset == 110


def test_written_entries_survive_the_end_of_the_process() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    index.append(110, 4000)
    index.write()
    index.append(120, 8000)
    disk.crash(keep_everything)
    assert OffsetIndex(disk, PATH, BASE).last_offset == 110


def test_an_index_is_renamed_and_removed() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    index.append(110, 4000)
    index.write()
    index.rename(PATH + ".deleted")
    index.append(120, 8000)
    index.close()
    assert disk.list_dir("/") == [PATH[1:] + ".deleted"]
    assert disk.size(PATH + ".deleted") == 16
    index.remove()
    index.remove()
    assert disk.list_dir("/") == []


def test_a_failed_write_can_be_repeated() -> None:
    disk = SimulatedDisk()
    index = new_index(disk)
    index.append(110, 4000)
    disk.fail_next("append", "*", 28)
    with pytest.raises(OSError):
        index.write()
    index.write()
    assert disk.size(PATH) == 8


@settings(max_examples=50)
@given(
    st.lists(st.integers(1, 2**20), min_size=1, max_size=3000, unique=True),
    st.lists(st.integers(-5, 2**20 + 5), min_size=1, max_size=20),
    st.booleans(),
)
def test_every_lookup_agrees_with_a_sorted_list(
    relatives: list[int], targets: list[int], released: bool
) -> None:
    relatives.sort()
    index = new_index()
    for slot, relative in enumerate(relatives):
        index.append(BASE + relative, slot)
    if released:
        index.release()
    for target in targets:
        slot = bisect_right(relatives, target) - 1
        expected = (BASE + relatives[slot], slot) if slot >= 0 else (BASE, 0)
        assert index.lookup(BASE + target) == expected


class IndexModel(RuleBasedStateMachine):
    """An index through appends, truncations, writes and restarts, against a list."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.index = new_index(self.disk)
        self.model: list[tuple[int, int]] = []

    @rule(steps=st.lists(st.integers(1, 9), min_size=1, max_size=700))
    def append(self, steps: list[int]) -> None:
        offset, position = self.model[-1] if self.model else (BASE, 0)
        for step in steps:
            offset, position = offset + step, position + 4096
            self.index.append(offset, position)
            self.model.append((offset, position))

    @rule(back=st.integers(0, 2000))
    def truncate(self, back: int) -> None:
        offset = (self.model[-1][0] if self.model else BASE) + 3 - back
        self.index.truncate_to(offset)
        self.model = [entry for entry in self.model if entry[0] < offset]

    @rule()
    def write(self) -> None:
        self.index.write()

    @rule()
    def release(self) -> None:
        self.index.release()

    @rule()
    def reset(self) -> None:
        self.index.reset()
        self.model = []

    @rule()
    def restart(self) -> None:
        self.index.close()
        assert self.disk.size(PATH) == 8 * len(self.model)
        self.index = OffsetIndex(self.disk, PATH, BASE)
        self.index.sanity_check()

    @rule(back=st.integers(0, 5000))
    def lookup(self, back: int) -> None:
        target = (self.model[-1][0] if self.model else BASE) + 3 - back
        found = [entry for entry in self.model if entry[0] <= target]
        assert self.index.lookup(target) == (found[-1] if found else (BASE, 0))

    @invariant()
    def the_ends_agree(self) -> None:
        assert self.index.entries == len(self.model)
        assert self.index.last_offset == (self.model[-1][0] if self.model else BASE)


IndexModel.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestIndexModel = IndexModel.TestCase
