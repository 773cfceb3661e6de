"""Filtering a run gives the same result as filtering its batches one by one."""

from array import array
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moldau.record.header import BatchHeader, encode_batch, iter_headers
from moldau.record.records import encode_record
from tests.record.chunks import (
    NOW_MS,
    PLAIN_FLAGS,
    START_OFFSET,
    Content,
    Made,
    batches,
    encode_all,
)
from tests.record.kernels import Kernel, both_kernels

HEADER = 61


class Looked:
    """A batch that is left to the caller."""


def one_by_one(
    kernel: Kernel, header: BatchHeader, data: bytes, offset_map: Any, needed: list[int]
) -> bytes | Looked | None:
    """What becomes of one batch."""
    keeps = not header.has_delete_horizon or header.base_timestamp > NOW_MS
    filtered = kernel.filter_records(
        data[HEADER:], header.record_count, header.base_offset, offset_map, keeps
    )
    if filtered.kept == 0:
        return Looked() if header.last_offset in needed else None
    if filtered.tombstones and not header.has_delete_horizon:
        return Looked()
    if filtered.kept == header.record_count:
        return data
    if not header.is_log_append_time:
        header.max_timestamp = header.base_timestamp + filtered.max_timestamp_delta
    header.record_count = filtered.kept
    return encode_batch(header, filtered.records)


def largest_so_far(headers: list[BatchHeader]) -> tuple[list[int], list[int]]:
    stamps, offsets = [], []
    for i in range(len(headers)):
        newest = max(headers[: i + 1], key=lambda header: header.max_timestamp)
        stamps.append(newest.max_timestamp)
        offsets.append(newest.last_offset)
    return stamps, offsets


@both_kernels
@given(st.data(), batches(PLAIN_FLAGS))
def test_a_run_is_filtered_as_its_batches_would_be(
    kernel: Kernel, data: st.DataObject, made: list[Made]
) -> None:
    headers, encoded = encode_all([each for each in made if each.contents])
    run = kernel.find_run(b"".join(encoded), 0, START_OFFSET)
    if run is None:
        return
    offsets = st.integers(START_OFFSET, run.next_offset + 3)
    offset_map = kernel.OffsetMap(1 << 16, seed=bytes(16))
    for key in (b"a", b"b", b"c"):
        # As if the last record of this key were here or there.
        offset_map.put_records(encode_record(0, 0, key, b"", ()), 1, data.draw(offsets), 0)
    lasts = st.sets(st.sampled_from([header.last_offset for header in headers]))
    needed = sorted(data.draw(lasts))
    expected = [
        one_by_one(kernel, headers[i], encoded[i], offset_map, needed) for i in range(run.count)
    ]

    run_filter = kernel.RunFilter(run, offset_map, array("q", needed), NOW_MS)
    first = 0
    while first < run.count:
        written = run_filter.write(first)
        stop = written.stop
        part = expected[first:stop]
        assert not any(isinstance(each, Looked) for each in part)
        assert bytes(written.data) == b"".join(each for each in part if isinstance(each, bytes))
        found = list(iter_headers(bytes(written.data)))
        left = [header for _, header in found]
        assert written.kept == sum(header.record_count for header in left)
        assert written.position.tolist() == [at for at, _ in found]
        assert written.last_offset.tolist() == [header.last_offset for header in left]
        columns = written.largest_timestamp.tolist(), written.offset_of_largest.tolist()
        assert columns == largest_so_far(left)
        assert stop == run.count or isinstance(expected[stop], Looked)
        first = stop + 1


@both_kernels
def test_timestamps_that_could_overflow_are_left_to_the_caller(kernel: Kernel) -> None:
    contents = [Content(1, 0, b"a", b"1"), Content(1, 2**62, b"b", b"1")]
    _, encoded = encode_all(
        [Made(0, 0, -1, 0, contents[:1], 0), Made(0, 0, -1, 0, contents, 0)] * 2
    )
    run = kernel.find_run(b"".join(encoded), 0, START_OFFSET)
    offset_map = kernel.OffsetMap(1 << 16, seed=bytes(16))
    run_filter = kernel.RunFilter(run, offset_map, array("q"), NOW_MS)
    assert [run_filter.write(first).stop for first in (0, 2)] == [1, 3]
    assert bytes(run_filter.write(2).data) == encoded[2]
    assert bytes(run_filter.write(4).data) == b""


@both_kernels
def test_many_small_batches_are_one_buffer(kernel: Kernel) -> None:
    count = 5000
    made = [Made(0, 0, -1, 0, [Content(1, 0, b"%d" % (i % 7), b"v")], 0) for i in range(count)]
    _, encoded = encode_all(made)
    run = kernel.find_run(b"".join(encoded), 0, START_OFFSET)
    offset_map = kernel.OffsetMap(1 << 16, seed=bytes(16))
    assert offset_map.put_columns(run.records, START_OFFSET, 0) == count
    written = kernel.RunFilter(run, offset_map, array("q"), NOW_MS).write(0)
    assert (written.stop, written.kept) == (count, 7)
    assert bytes(written.data) == b"".join(encoded[-7:])
