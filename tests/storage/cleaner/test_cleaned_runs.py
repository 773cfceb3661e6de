"""Cleaning a segment run by run gives the same bytes as cleaning it batch by batch."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.clock import ManualClock
from moldau.record.compression import Codec
from moldau.record.header import TRANSACTIONAL_FLAG, BatchHeader
from moldau.record.offset_map import OffsetMap
from moldau.record.records import read_payload
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.cleaner.batch_cleaner import BatchCleaner, LastRecord
from moldau.storage.cleaner.chunk_walk import ChunkWalk
from moldau.storage.cleaner.cleaned_segment import CleanedSegment
from moldau.storage.cleaner.cleaned_transactions import CleanedTransactions
from moldau.storage.cleaner.cleaning import CleanerThrottle, Cleaning
from moldau.storage.cleaner.cleaning_work import clean_chunk
from moldau.storage.cleaner.offset_map_builder import DirtySegment, fill_offset_map
from moldau.storage.disk.disk import DiskFile
from moldau.storage.log.batch_scan import CorruptSegment, iter_valid_batches
from tests.record.chunks import (
    NOW_MS,
    PLAIN_FLAGS,
    START_OFFSET,
    Content,
    Made,
    batches,
    encode_all,
)
from tests.storage.cleaner.log_cleaning import COMPACT

CONFIG = replace(COMPACT, index_interval_bytes=150)
FLAGS = PLAIN_FLAGS | st.sampled_from([TRANSACTIONAL_FLAG, int(Codec.LZ4)])
CHUNK_BYTES = st.sampled_from([100, 250, 600, 5000])
PRODUCER_ID = 4


def segment_file(disk: SimulatedDisk, made: list[Made]) -> tuple[DiskFile, list[BatchHeader]]:
    headers, encoded = encode_all(made)
    disk.make_dirs("/data")
    file = disk.open("/data/source.log", create=True)
    file.append(encoded)
    return file, headers


def put_one_by_one(offset_map: OffsetMap, file: DiskFile, from_offset: int, end: int) -> int:
    for _, header, chunk, at in iter_valid_batches(file, 0, file.size, START_OFFSET):
        records = read_payload(chunk, at, header)
        if not offset_map.put_records(
            records, header.record_count, header.base_offset, from_offset
        ):
            return offset_map.latest_offset + 1
        if header.last_offset >= from_offset:
            offset_map.note_offset(header.last_offset)
    offset_map.note_offset(end - 1)
    return offset_map.latest_offset + 1


def put_in_runs(
    offset_map: OffsetMap, file: DiskFile, from_offset: int, end: int, chunk_bytes: int
) -> int:
    segment = DirtySegment(file, 0, file.size, START_OFFSET, end)
    cleaning = Cleaning(ManualClock(NOW_MS), CleanerThrottle(), lambda: 0.0)
    transactions = CleanedTransactions([])
    return fill_offset_map(offset_map, [segment], transactions, from_offset, cleaning, chunk_bytes)


@given(st.data(), batches(FLAGS, most=12), st.sampled_from([2, 3, 100]), CHUNK_BYTES)
def test_the_map_of_runs_is_that_of_single_batches(
    data: st.DataObject, made: list[Made], entries: int, chunk_bytes: int
) -> None:
    file, headers = segment_file(SimulatedDisk(), made)
    end = (headers[-1].next_offset if headers else START_OFFSET) + 5
    from_offset = data.draw(st.integers(START_OFFSET, end))
    one, other = (OffsetMap(24 * (entries + 1), 1.0, seed=bytes(16)) for _ in range(2))
    expected = put_one_by_one(one, file, from_offset, end)
    assert put_in_runs(other, file, from_offset, end, chunk_bytes) == expected
    assert (other.size, other.latest_offset) == (one.size, one.latest_offset)
    keys = (b"a", b"b", b"c", b"d")
    assert [other.get(key) for key in keys] == [one.get(key) for key in keys]


class Side:
    """One way to clean the same segment."""

    def __init__(
        self, disk: SimulatedDisk, name: str, offset_map: OffsetMap, last: int, end: int
    ) -> None:
        self.directory = f"/data/{name}"
        disk.make_dirs(self.directory)
        self._disk = disk
        self.cleaner = BatchCleaner(
            offset_map,
            CleanedTransactions([]),
            {PRODUCER_ID: LastRecord(last, 0)},
            CONFIG,
            upper_bound_offset=end,
            wall_ms=NOW_MS,
        )
        self.target = CleanedSegment(disk, self.directory, START_OFFSET, CONFIG, NOW_MS)

    def files(self) -> dict[str, bytes]:
        self.target.finish(NOW_MS)
        names = self._disk.list_dir(self.directory)
        return {name: self._disk.read_bytes(f"{self.directory}/{name}") for name in names}


@given(st.data(), batches(FLAGS, most=12), CHUNK_BYTES)
def test_a_segment_cleaned_in_runs_is_the_one_cleaned_batch_by_batch(
    data: st.DataObject, made: list[Made], chunk_bytes: int
) -> None:
    disk = SimulatedDisk()
    file, headers = segment_file(disk, made)
    end = headers[-1].next_offset if headers else START_OFFSET
    last = data.draw(st.sampled_from([-1, *(header.last_offset for header in headers)]))
    offset_map = OffsetMap(1 << 16, seed=bytes(16))
    put_one_by_one(offset_map, file, START_OFFSET, data.draw(st.integers(START_OFFSET, end)))
    single = Side(disk, "single", offset_map, last, end)
    for _, header, chunk, at in iter_valid_batches(file, 0, file.size, START_OFFSET):
        batch = single.cleaner.clean(header, chunk, at)
        if batch is not None:
            single.target.append(batch)

    runs = Side(disk, "runs", offset_map, last, end)
    walk = ChunkWalk(file, 0, file.size, START_OFFSET, chunk_bytes)
    while walk.read():
        clean_chunk(walk, runs.cleaner, runs.target)

    assert runs.files() == single.files()
    assert runs.cleaner.records_read == single.cleaner.records_read
    assert runs.cleaner.records_kept == single.cleaner.records_kept
    assert runs.target.segment.max_timestamp == single.target.segment.max_timestamp


@pytest.mark.parametrize("chunk_bytes", [100, 5000])
def test_damage_is_met_after_all_that_is_good_and_named_with_its_place(chunk_bytes: int) -> None:
    disk = SimulatedDisk()
    made = [Made(0, 0, -1, 0, [Content(1, 0, b"a", b"v")], 0)] * 6
    file, headers = segment_file(disk, made)
    place = sum(header.size_bytes for header in headers[:4])
    disk.damage(file.path, place + 65, b"\xff")
    walk = ChunkWalk(file, 0, file.size, START_OFFSET, chunk_bytes)
    seen = 0
    with pytest.raises(
        CorruptSegment, match=f"at position {place}: the CRC of offset 1004 differs"
    ):
        while walk.read():
            run = walk.take_run()
            seen += run.count if run is not None else 0
            while walk.take_batch() is not None:
                seen += 1
    assert seen == 4
