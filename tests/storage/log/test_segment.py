"""One segment: its bytes, its indexes, and lookups."""

from pathlib import Path

import pytest

from moldau.config.topic import LogConfig
from moldau.record.header import BatchHeader, read_header
from moldau.record.records import BatchBuilder
from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.disk.disk import Disk, RealDisk
from moldau.storage.index.txn_index import AbortedTxn
from moldau.storage.log.batch_scan import CorruptSegment, find_valid_batch_after, iter_valid_batches
from moldau.storage.log.segment import Segment

CONFIG = LogConfig(index_interval_bytes=200)
BASE = 1000


def new_segment(disk: Disk, directory: str = "/s", config: LogConfig = CONFIG) -> Segment:
    disk.make_dirs(directory)
    return Segment(disk, directory, BASE, config, 5, create=True)


def make_batch(offset: int, count: int = 1, timestamp: int = 100, size: int = 40) -> bytes:
    builder = BatchBuilder(base_offset=offset, leader_epoch=1)
    for number in range(count):
        builder.append(timestamp + number, None, b"v" * size)
    return builder.build()


def put(segment: Segment, data: bytes) -> BatchHeader:
    header = read_header(data, 0)
    segment.append([data[:16], data[16:]], header.last_offset, header.max_timestamp, len(data))
    return header


def offsets_in(segment: Segment) -> list[int]:
    """The base offsets of the batches, all of them checked."""
    scan = iter_valid_batches(segment.log, 0, segment.size, BASE)
    return [header.base_offset for _, header, _, _ in scan]


def filled(disk: Disk, directory: str = "/s") -> tuple[Segment, list[tuple[int, BatchHeader]]]:
    """Thirty batches of three offsets each, with a gap of one offset after each."""
    segment = new_segment(disk, directory)
    placed = []
    for number in range(30):
        position = segment.size
        data = make_batch(BASE + 4 * number, 3, 100 + 10 * number)
        placed.append((position, put(segment, data)))
    return segment, placed


@pytest.mark.parametrize("seed", range(8))
def test_the_aborted_transactions_of_a_closed_segment_survive_a_power_cut(seed: int) -> None:
    """After a clean shutdown the index is trusted; without it, aborted records would be read."""
    disk = SimulatedDisk(seed)
    segment = new_segment(disk)
    disk.sync_dir("/")
    disk.sync_dir("/s")
    aborted = AbortedTxn(7, BASE, BASE + 1, BASE + 2)
    segment.txn_index.append(aborted)
    segment.close()
    disk.crash(keep_nothing, lose_names=True)
    assert Segment(disk, "/s", BASE, CONFIG, 5).txn_index.all() == [aborted]


@pytest.mark.parametrize("kind", ["simulated", "real"])
def test_every_offset_is_found_in_the_batch_that_holds_it(kind: str, tmp_path: Path) -> None:
    disk: Disk = SimulatedDisk() if kind == "simulated" else RealDisk()
    segment, placed = filled(disk, f"{tmp_path}/s")
    for reopen in (False, True):
        if reopen:
            segment.close()
            segment = Segment(disk, f"{tmp_path}/s", BASE, CONFIG, 5)
        assert segment.offset_index.entries > 5
        for position, header in placed:
            for offset in range(header.base_offset - 1, header.last_offset + 1):
                found = segment.find(max(offset, BASE))
                assert found is not None
                assert (found.position, found.size_bytes) == (position, header.size_bytes)
        assert segment.find(placed[-1][1].next_offset) is None
        assert segment.next_offset() == placed[-1][1].next_offset


def test_an_index_entry_names_the_last_offset_and_the_position_of_its_batch() -> None:
    segment, placed = filled(SimulatedDisk())
    starts = {header.last_offset: position for position, header in placed}
    previous = 0
    for slot in range(segment.offset_index.entries):
        offset, position = segment.offset_index.entry(slot)
        assert starts[offset] == position
        assert position - previous > 200
        previous = position
    for slot in range(segment.time_index.entries):
        timestamp, offset = segment.time_index.entry(slot)
        largest = max(h.max_timestamp for _, h in placed if h.last_offset <= offset)
        assert timestamp == largest


def test_a_new_segment_has_the_three_files_that_kafka_makes() -> None:
    disk = SimulatedDisk()
    new_segment(disk)
    stem = f"{BASE:020d}"
    assert disk.list_dir("/s") == [stem + s for s in (".index", ".log", ".timeindex")]


def test_the_largest_timestamp_is_kept_across_a_close() -> None:
    disk = SimulatedDisk()
    segment = new_segment(disk)
    for number, timestamp in enumerate((50, 90, 70)):
        put(segment, make_batch(BASE + number, timestamp=timestamp))
    segment.close()
    again = Segment(disk, "/s", BASE, CONFIG, 5)
    assert (again.max_timestamp, again.offset_of_max_timestamp) == (90, BASE + 1)
    assert again.first_timestamp == 50
    assert again.largest_timestamp == 90


def test_an_empty_segment_is_as_old_as_its_file(tmp_path: Path) -> None:
    disk = RealDisk()
    segment = new_segment(disk, f"{tmp_path}/s")
    assert segment.max_timestamp == -1
    assert segment.largest_timestamp == disk.modified_ms(segment.log.path) > 0


@pytest.mark.parametrize("number", range(0, 31, 3))
def test_truncation_leaves_what_a_shorter_segment_would_have(number: int) -> None:
    segment, placed = filled(SimulatedDisk())
    segment.truncate_to(BASE + 4 * number, 9)
    assert segment.next_offset() == (placed[number - 1][1].next_offset if number else BASE)
    assert segment.size == (placed[number][0] if number < 30 else segment.size)
    assert segment.max_timestamp == (placed[number - 1][1].max_timestamp if number else -1)
    if segment.offset_index.entries:
        assert segment.offset_index.last_offset < BASE + 4 * number
    put(segment, make_batch(BASE + 4 * number))
    found = segment.find(BASE + 4 * number)
    assert found is not None
    assert found.base_offset == BASE + 4 * number


def test_a_failed_write_leaves_the_segment_as_it_was() -> None:
    disk = SimulatedDisk()
    segment, placed = filled(disk)
    size, timestamp = segment.size, segment.max_timestamp
    disk.fail_next("append", "*.log", 28)
    with pytest.raises(OSError, match="No space"):
        put(segment, make_batch(BASE + 200, timestamp=10**6))
    assert (segment.size, segment.log.size, segment.max_timestamp) == (size, size, timestamp)
    assert segment.next_offset() == placed[-1][1].next_offset


def test_a_batch_whose_index_entry_finds_no_room_does_not_stay() -> None:
    disk = SimulatedDisk()
    segment = new_segment(disk, config=LogConfig(index_interval_bytes=0))
    disk.fail_next("append", "*.index", 28)
    offset = BASE
    failed = 0
    # The index keeps its entries in memory for a while before it writes them.
    for _ in range(1500):
        before = segment.size
        try:
            put(segment, make_batch(offset, timestamp=offset, size=1))
        except OSError:
            failed += 1
            assert segment.size == segment.log.size == before
            continue
        offset += 1
    assert failed == 1
    assert segment.next_offset() == offset
    assert [
        h.base_offset for _, h, _, _ in iter_valid_batches(segment.log, 0, segment.size, BASE)
    ] == [*range(BASE, offset)]
    for wanted in range(BASE, offset, 97):
        found = segment.find(wanted)
        assert found is not None
        assert found.base_offset == wanted


def test_a_deleted_segment_waits_under_another_name() -> None:
    disk = SimulatedDisk()
    segment, _ = filled(disk)
    region = segment.log.region(0, segment.size)
    segment.mark_deleted()
    assert all(name.endswith(".deleted") for name in disk.list_dir("/s"))
    segment.remove_files()
    assert disk.list_dir("/s") == []
    assert len(region.file.pread(region.size, 0)) == region.size


def test_a_search_for_good_batches_skips_any_garbage() -> None:
    disk = SimulatedDisk()
    segment = new_segment(disk)
    put(segment, make_batch(BASE))
    damaged_at = segment.size
    garbage = bytes(range(256)) * 30 + make_batch(BASE + 9)[:40]
    segment.log.append([garbage])
    good_at = damaged_at + len(garbage)
    segment.log.append([make_batch(BASE + 5)])
    end = segment.log.size
    found = find_valid_batch_after(segment.log, damaged_at, end, BASE + 1)
    assert found is not None
    assert (found.base_offset, found.position) == (BASE + 5, good_at)
    assert find_valid_batch_after(segment.log, damaged_at, end - 1, BASE + 1) is None
    assert find_valid_batch_after(segment.log, damaged_at, end, BASE + 6) is None


def test_batches_larger_than_the_scans_chunk_are_read_whole() -> None:
    disk = SimulatedDisk()
    segment = new_segment(disk)
    put(segment, make_batch(BASE, size=10))
    put(segment, make_batch(BASE + 1, size=3 << 20))
    put(segment, make_batch(BASE + 2, size=10))
    scanned = [
        h.base_offset for _, h, _, _ in iter_valid_batches(segment.log, 0, segment.size, BASE)
    ]
    assert scanned == [BASE, BASE + 1, BASE + 2]
    disk.damage(segment.log.path, 2 << 20, b"\x00\x01")
    with pytest.raises(CorruptSegment):
        offsets_in(segment)


def test_preallocated_room_is_given_back_on_close(tmp_path: Path) -> None:
    disk = RealDisk()
    config = LogConfig(preallocate=True, segment_bytes=100_000)
    segment = new_segment(disk, f"{tmp_path}/s", config)
    assert disk.size(segment.log.path) == 100_000
    put(segment, make_batch(BASE))
    segment.close()
    assert disk.size(segment.log.path) == segment.size < 1000
