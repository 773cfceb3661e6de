"""Reads: the start offset, the size, and the form of the result."""

from pathlib import Path

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.primitives import FileRegion
from moldau.record.header import iter_headers, read_header
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk.disk import RealDisk
from tests.storage.log_making import (
    SMALL_SEGMENTS,
    START_MS,
    append,
    data_of,
    new_log,
    new_log_with,
    read_all,
)


@pytest.mark.parametrize("offset", [-1, 5])
def test_offsets_outside_of_the_log_are_out_of_range(offset: int) -> None:
    log = new_log()
    append(log, b"a", b"b", b"c", b"d")
    with pytest.raises(ApiError) as refused:
        log.read(offset, 1000, max_offset=4)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_read_at_the_end_is_empty_and_remembered() -> None:
    log = new_log()
    append(log, b"a")
    assert log.read(1, 1000, max_offset=1).size_bytes == 0
    append(log, b"b")
    assert data_of(log.read(1, 1000, max_offset=2)) == data_of(
        new_log_with(b"a", b"b").read(1, 1000, max_offset=2)
    )


def test_reads_stop_at_the_maximum_offset() -> None:
    log = new_log_with(b"a", b"b", b"c")
    for _ in range(2):
        headers = list(iter_headers(data_of(log.read(0, 1 << 20, max_offset=2))))
        assert [header.base_offset for _, header in headers] == [0, 1]
    assert log.read(2, 1 << 20, max_offset=2).size_bytes == 0


def test_an_offset_inside_a_batch_gives_the_whole_batch() -> None:
    log = new_log()
    append(log, b"a", b"b", b"c")
    append(log, b"d")
    header = read_header(data_of(log.read(1, 1 << 20, max_offset=4)), 0)
    assert header.base_offset == 0


def test_the_size_limit_cuts_inside_the_last_batch() -> None:
    log = new_log_with(b"a" * 100, b"b" * 100, b"c" * 100)
    fetched = log.read(0, 250, max_offset=3)
    assert fetched.size_bytes == 250
    assert [header.base_offset for _, header in iter_headers(data_of(fetched))] == [0]


def test_the_first_batch_comes_whole_only_if_one_is_due() -> None:
    log = new_log_with(b"a" * 1000, b"b")
    whole = log.read(0, 10, max_offset=2, min_one_message=True)
    size = read_header(data_of(whole), 0).size_bytes
    assert whole.size_bytes == size > 1000
    cut = log.read(0, 10, max_offset=2)
    assert (cut.size_bytes, cut.first_entry_incomplete) == (10, True)
    nothing = log.read(0, 0, max_offset=2)
    assert (nothing.size_bytes, nothing.first_entry_incomplete) == (0, True)


def test_large_answers_are_regions_of_the_file_and_outlive_the_segment(tmp_path: Path) -> None:
    clock = ManualClock(START_MS)
    log = new_log(RealDisk(), clock=clock, directory=f"{tmp_path}/orders-0")
    for number in range(4):
        append(log, bytes([number]) * 30_000)
    fetched = log.read(0, 1 << 20, max_offset=4)
    assert isinstance(fetched.records, FileRegion)
    assert len(fetched.records) == fetched.size_bytes > 120_000
    expected = [(n, bytes([n]) * 30_000) for n in range(4)]
    assert read_all(log) == expected

    log.truncate_fully_and_start_at(100)
    clock.advance(10**9)
    log.remove_deleted_files(clock.monotonic_ms())
    assert not list(tmp_path.glob("*/*.deleted"))
    assert [h.base_offset for _, h in iter_headers(data_of(fetched))] == [0, 1, 2, 3]


def test_reads_go_on_in_the_next_segment() -> None:
    log = new_log_with(*(b"%03d" % n * 40 for n in range(20)), config=SMALL_SEGMENTS)
    assert len(log.segments) > 3
    assert read_all(log) == [(n, b"%03d" % n * 40) for n in range(20)]
    for start in range(20):
        assert read_all(log, start)[0][0] == start


def test_a_tail_reader_needs_one_read_of_the_disk_for_each_fetch() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, LogConfig(segment_bytes=3000))
    for _ in range(100):
        append(log, b"x" * 50)
    counted = CountingReads(disk)
    offset = log.log_end_offset
    log.read(offset, 1000, max_offset=offset)
    for _ in range(50):
        append(log, b"new")
        counted.reads = 0
        fetched = log.read(offset, 1 << 20, max_offset=log.log_end_offset)
        assert read_header(data_of(fetched), 0).base_offset == offset
        assert counted.reads <= 1
        offset = log.log_end_offset


class CountingReads:
    """Counts how often the files of a log are read."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.reads = 0
        begin = disk.begin

        def counting(operation: str, path: str, changes: bool = True) -> None:
            self.reads += operation == "pread"
            begin(operation, path, changes)

        disk.begin = counting  # type: ignore[method-assign]


def test_readable_bytes_tell_what_a_fetch_would_find() -> None:
    log = new_log_with(*(b"%03d" % n * 40 for n in range(20)), config=SMALL_SEGMENTS)
    assert log.readable_bytes(0, 20) == log.size_bytes
    assert log.readable_bytes(20, 20) == 0
    one = log.read(19, 1 << 20, max_offset=20).size_bytes
    assert log.readable_bytes(19, 20) == one
    assert log.readable_bytes(18, 20) == 2 * one
