"""The transaction index: 34 bytes for each aborted transaction, and no file without one."""

import pytest

from moldau.storage.index_file import CorruptIndex
from moldau.storage.simulated_disk import SimulatedDisk, keep_nothing
from moldau.storage.txn_index import AbortedTxn, TransactionIndex

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
    assert index.collect(0, 30) == ([FIRST, SECOND], False)
    assert index.collect(6, 12) == ([], True)
    assert index.collect(5, 6) == ([FIRST], True)
    assert index.collect(3, 13) == ([FIRST, SECOND], True)
    assert index.collect(18, 30) == ([], False)


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
