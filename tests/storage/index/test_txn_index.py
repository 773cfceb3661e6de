"""The transaction index: 34 bytes for each aborted transaction, and no file without one."""

import errno
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.disk.disk import DiskFile
from moldau.storage.index.index_file import CorruptIndex
from moldau.storage.index.txn_index import AbortedTxn, TransactionIndex, decode_entries

PATH = "/00000000000000000000.txnindex"

# Written by Apache Kafka 4.3.1: producer 3 aborted 0 to 5 and 12 to 17.
WRITTEN_BY_KAFKA = bytes.fromhex(
    "0000 0000000000000003 0000000000000000 0000000000000005 0000000000000006"
    "0000 0000000000000003 000000000000000c 0000000000000011 0000000000000012"
)
FIRST = AbortedTxn(producer_id=3, first_offset=0, last_offset=5, last_stable_offset=6)
SECOND = AbortedTxn(producer_id=3, first_offset=12, last_offset=17, last_stable_offset=18)


def index_with(*txns: AbortedTxn) -> TransactionIndex:
    index = TransactionIndex(SimulatedDisk(), PATH, 0)
    for txn in txns:
        index.append(txn)
    return index


def collected(
    index: TransactionIndex, fetch_offset: int, upper_bound_offset: int
) -> tuple[list[AbortedTxn], bool]:
    entries, is_complete = index.collect(fetch_offset, upper_bound_offset)
    return decode_entries(entries), is_complete


def test_there_is_no_file_before_the_first_abort() -> None:
    disk = SimulatedDisk()
    index = TransactionIndex(disk, PATH, 0)
    assert index.all() == []
    index.truncate_to(0)
    index.reset()
    index.sanity_check()
    index.flush()
    index.close()
    index.remove()
    assert disk.list_dir("/") == []


def test_entries_are_apache_kafkas() -> None:
    disk = SimulatedDisk()
    index = TransactionIndex(disk, PATH, 0)
    index.append(FIRST)
    index.append(SECOND)
    assert disk.read_bytes(PATH) == WRITTEN_BY_KAFKA
    assert TransactionIndex(disk, PATH, 0).all() == [FIRST, SECOND]


def test_transactions_are_noted_in_the_order_in_which_they_end() -> None:
    index = index_with(SECOND)
    with pytest.raises(ValueError, match="ends at 5, not after 17"):
        index.append(FIRST)
    index.close()
    with pytest.raises(ValueError):
        index.append(SECOND)


def test_a_fetch_is_told_of_the_transactions_that_reach_into_it() -> None:
    index = index_with(FIRST, SECOND)
    assert collected(index, 0, 30) == ([FIRST, SECOND], False)
    assert collected(index, 6, 12) == ([], True)
    assert collected(index, 5, 6) == ([FIRST], True)
    assert collected(index, 3, 13) == ([FIRST, SECOND], True)
    assert collected(index, 18, 30) == ([], False)


def test_truncation_forgets_transactions_that_ended_later() -> None:
    for offset, left in [(18, 2), (17, 1), (6, 1), (5, 0), (0, 0)]:
        index = index_with(FIRST, SECOND)
        index.truncate_to(offset)
        assert index.all() == [FIRST, SECOND][:left]
        if left < 2:
            index.append(SECOND)


def test_a_torn_entry_is_ignored_and_overwritten() -> None:
    disk = SimulatedDisk()
    disk.open(PATH, create=True).append([WRITTEN_BY_KAFKA[:50]])
    index = TransactionIndex(disk, PATH, 0)
    assert index.all() == [FIRST]
    index.append(SECOND)
    assert disk.read_bytes(PATH) == WRITTEN_BY_KAFKA


def test_damage_is_found() -> None:
    index = index_with(FIRST)
    index.start_offset = 100
    with pytest.raises(CorruptIndex, match="before the segment's first offset 100"):
        index.sanity_check()

    disk = SimulatedDisk()
    disk.open(PATH, create=True).append([b"\0\7" + bytes(32)])
    with pytest.raises(CorruptIndex, match="version 7"):
        TransactionIndex(disk, PATH, 0).sanity_check()


def test_a_flushed_entry_survives_a_power_cut() -> None:
    disk = SimulatedDisk()
    index = TransactionIndex(disk, PATH, 0)
    index.append(FIRST)
    index.close()
    index.flush()
    disk.crash(keep_nothing)
    assert TransactionIndex(disk, PATH, 0).all() == [FIRST]


@pytest.mark.parametrize("seed", range(8))
def test_the_file_of_a_flushed_entry_survives_a_power_cut(seed: int) -> None:
    """It is younger than its segment, whose name was made durable with the directory."""
    disk = SimulatedDisk(seed)
    disk.make_dirs("/log")
    disk.sync_dir("/")
    index = TransactionIndex(disk, f"/log{PATH}", 0)
    index.append(FIRST)
    index.flush()
    disk.crash(keep_nothing, lose_names=True)
    assert TransactionIndex(disk, f"/log{PATH}", 0).all() == [FIRST]


def test_changes_are_flushed_once() -> None:
    disk = SimulatedDisk()
    index = TransactionIndex(disk, PATH, 0)
    disk.fail_next("fsync", PATH, errno.EIO)
    index.flush_changes()
    index.append(FIRST)
    with pytest.raises(OSError):
        index.flush_changes()
    index.flush_changes()
    disk.fail_next("fsync", PATH, errno.EIO)
    index.flush_changes()


def test_an_index_is_renamed_even_if_it_has_no_file() -> None:
    disk = SimulatedDisk()
    index = TransactionIndex(disk, PATH, 0)
    index.rename("/b")
    index.append(FIRST)
    index.rename("/c")
    index.append(SECOND)
    assert disk.list_dir("/") == ["c"]
    index.remove()
    assert disk.list_dir("/") == []


class CountedFile:
    """A file that counts the bytes that are read."""

    def __init__(self, file: DiskFile) -> None:
        self._file = file
        self.read_bytes = 0

    def pread(self, size: int, position: int) -> bytes:
        self.read_bytes += size
        return self._file.pread(size, position)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class CountingDisk(SimulatedDisk):
    """Counts how often it is asked for a file, and what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.opened: list[CountedFile] = []

    def open(self, path: str, *, create: bool = False) -> Any:
        self.opened.append(CountedFile(super().open(path, create=create)))
        return self.opened[-1]

    def exists(self, path: str) -> bool:
        self.asked += 1
        return super().exists(path)


def sequential(number: int, length: int = 10) -> AbortedTxn:
    """The transaction of ``length`` offsets that ends before the next one begins."""
    first = number * length
    return AbortedTxn(number, first, first + length - 1, first + length)


def test_a_search_among_many_reads_few_entries() -> None:
    count = 100_000
    disk = CountingDisk()
    entries = [struct.pack(">hqqqq", 0, *sequential(number)) for number in range(count)]
    disk.open(PATH, create=True).append([b"".join(entries)])
    index = TransactionIndex(disk, PATH, 0)
    for number in (0, 1, 777, 50_000, count - 1):
        expected = [sequential(number)]
        assert collected(index, number * 10, number * 10 + 10) == (expected, True)
    assert collected(index, count * 10, count * 10 + 10) == ([], False)
    assert disk.opened[-1].read_bytes < 6 * 600 * 34


def test_a_long_transaction_among_short_ones_is_found() -> None:
    long = AbortedTxn(9, 5, 100, 101)
    short = [AbortedTxn(1, first, first + 1, 5) for first in range(10, 90, 2)]
    index = index_with(*short, long)
    assert collected(index, 6, 8) == ([long], True)
    assert collected(index, 50, 52) == ([short[20], long], True)
    assert collected(index, 51, 52) == ([short[20], long], True)
    assert collected(index, 52, 53) == ([short[21], long], True)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60),
    st.integers(0, 60),
    st.integers(1, 20),
)
def test_a_search_finds_what_looking_at_every_entry_finds(
    steps: list[tuple[int, bool]], fetch_offset: int, size: int
) -> None:
    """Producers begin and abort transactions in any order; the rest is the definition."""
    begun: dict[int, int] = {}
    txns: list[AbortedTxn] = []
    for offset, (producer, is_end) in enumerate(steps):
        if is_end and producer in begun:
            first = begun.pop(producer)
            stable = min(begun.values(), default=offset + 1)
            txns.append(AbortedTxn(producer, first, offset, stable))
        else:
            begun.setdefault(producer, offset)
    upper = fetch_offset + size
    expected: list[AbortedTxn] = []
    is_complete = False
    for txn in txns:
        if txn.last_offset >= fetch_offset and txn.first_offset < upper:
            expected.append(txn)
        if txn.last_stable_offset >= upper:
            is_complete = True
            break
    assert collected(index_with(*txns), fetch_offset, upper) == (expected, is_complete)


def test_an_index_that_is_not_there_is_looked_for_once() -> None:
    disk = CountingDisk()
    index = TransactionIndex(disk, PATH, 0)
    for _ in range(10):
        assert collected(index, 0, 10) == ([], False)
    assert disk.asked == 1
    index.append(FIRST)
    assert collected(index, 0, 30) == ([FIRST], False)


def test_an_index_that_is_known_not_to_be_there_is_not_looked_for() -> None:
    disk = CountingDisk()
    index = TransactionIndex(disk, PATH, 0)
    index.note_absent()
    assert collected(index, 0, 10) == ([], False)
    assert disk.asked == 0


def test_an_entry_waits_for_room_on_a_full_disk() -> None:
    disk = SimulatedDisk()
    index = TransactionIndex(disk, PATH, 0)
    disk.capacity = 0
    index.append(FIRST)
    assert index.exists()
    assert index.all() == [FIRST]
    assert collected(index, 0, 30) == ([FIRST], False)
    assert collected(index, 6, 12) == ([], False)
    with pytest.raises(OSError, match="space"):
        index.flush()
    disk.capacity = None
    assert collected(index, 0, 6) == ([FIRST], True)
    disk.capacity = disk.used_bytes()
    index.append(SECOND)
    assert collected(index, 0, 30) == ([FIRST, SECOND], False)
    assert collected(index, 6, 13) == ([SECOND], True)
    disk.capacity = None
    index.flush()
    index.close()
    assert TransactionIndex(disk, PATH, 0).all() == [FIRST, SECOND]


def test_an_entry_that_waits_is_removed_by_truncation() -> None:
    disk = SimulatedDisk()
    index = TransactionIndex(disk, PATH, 0)
    index.append(FIRST)
    disk.capacity = 0
    index.append(SECOND)
    index.truncate_to(10)
    disk.capacity = None
    assert index.all() == [FIRST]
    index.append(SECOND)
    assert index.all() == [FIRST, SECOND]
    disk.capacity = 0
    index.reset()
    assert index.all() == []


def test_an_entry_that_cannot_be_written_for_another_reason_is_an_error() -> None:
    disk = SimulatedDisk()
    index = TransactionIndex(disk, PATH, 0)
    index.append(FIRST)
    disk.fail_next("append", "*", errno.EIO, 1)
    with pytest.raises(OSError, match=r"\[Errno 5\]"):
        index.append(SECOND)
