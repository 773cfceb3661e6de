"""Compiled or plain, the record kernel does the same with bytes that are nearly right.

Compiled, nothing but its own checks keeps it within these bytes; so most changes are to lengths.
"""

from array import array
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.errors import ApiError
from moldau.record.header import BatchHeader, encode_batch
from moldau.record.records import encode_record, encode_varint
from tests.record.kernels import INSTALLED, PLAIN, Kernel

SMALL = (0, 1, -1, 5, 6, 7, 63, 64, 8192)
LIMITS = tuple(limit + near for limit in (2**31, 2**32, 2**62, -(2**62)) for near in (-1, 0))
LARGEST = (2**63 - 10, 2**63 - 1, -(2**63))
NUMBERS = st.sampled_from(SMALL + LIMITS + LARGEST)
# The last two are a number that is longer than necessary, and one that never ends.
PATCHES = NUMBERS.map(encode_varint) | st.sampled_from([b"", b"\x80\x00", b"\xff" * 11])
FIELDS = st.none() | st.sampled_from([b"", b"key", b"k" * 70])
HEADERS = st.lists(st.tuples(st.just("h"), FIELDS), max_size=2)
CONTENTS = st.lists(st.tuples(st.integers(-3, 3), FIELDS, FIELDS, HEADERS), max_size=6)
PLACES = st.floats(0, 1, exclude_max=True)
CHANGES = st.lists(st.tuples(PLACES, st.integers(0, 2), PATCHES), max_size=3)
SEED = bytes(16)


def changed(data: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    """With a few bytes replaced by others, each time at that part of its length."""
    for place, cut, patch in changes:
        at = int(place * len(data))
        data = data[:at] + patch + data[at + cut :]
    return data


@st.composite
def nearly_records(draw: st.DrawFn) -> tuple[bytes, int]:
    """Records, and the number that a header might give."""
    contents = draw(CONTENTS)
    data = b"".join(encode_record(index, *each) for index, each in enumerate(contents))
    return changed(data, draw(CHANGES)), len(contents) + draw(st.sampled_from([0, 0, 0, 1, -1]))


@st.composite
def nearly_batches(draw: st.DrawFn) -> bytes:
    """Batches whose checksums are right, though their records and headers may not be."""
    made = []
    offset = 0
    for records, count in draw(st.lists(nearly_records(), min_size=1, max_size=4)):
        stamp = draw(st.integers(0, 50) | NUMBERS)
        header = BatchHeader(offset, 0, 0, 2, 0, 0, max(count, 0), stamp, stamp, -1, -1, -1, count)
        made.append(encode_batch(header, records))
        offset += max(count, 0) + 1
    return changed(b"".join(made), draw(st.just([]) | CHANGES))


def lists_of(columns: Any, *left_out: str) -> list[Any]:
    """All columns of an object, and its numbers."""
    found = [getattr(columns, name) for name in type(columns).__slots__ if name not in left_out]
    return [each.tolist() if isinstance(each, memoryview) else each for each in found]


def outcome(work: Callable[[], Any]) -> Any:
    """What comes out, or the error; one of another type comes through."""
    try:
        return work()
    except (ValueError, ApiError) as error:
        return type(error).__name__, str(error)


def walk(kernel: Kernel, data: bytes, count: int) -> Any:
    facts, facts_apart = kernel.RecordFacts(5, count), kernel.RecordFacts(5, count)
    found = [outcome(lambda: kernel.walk_records(data, 0, len(data), facts))]
    found.append(outcome(lambda: kernel.walk_apart(data, facts_apart)))
    for each in (facts, facts_apart):
        found += [each.passed, each.min_timestamp, each.max_timestamp]
        found += [each.has_null_key, each.offsets_are_consecutive]
    return found


def cut(kernel: Kernel, data: bytes, count: int) -> Any:
    return kernel.end_of_whole(data), outcome(lambda: kernel.size_of_first(data))


def renumber(kernel: Kernel, data: bytes, count: int) -> Any:
    return kernel.first_timestamp_delta(data), outcome(lambda: kernel.renumber(data, 62, 1 << 40))


def refuse(kernel: Kernel, data: bytes, count: int) -> Any:
    refused = kernel.RefusedRecords(0, needs_key=True, oldest=0, latest=2, most=3)
    found = [outcome(lambda: refused.look(data)), outcome(lambda: refused.look(data))]
    return [*found, refused.found(), refused.refused, refused.passed, refused.of_wrong_time]


def rebase(kernel: Kernel, data: bytes, count: int) -> Any:
    return kernel.rebase_timestamps(data, count, -(1 << 40))


def gather(kernel: Kernel, data: bytes, count: int) -> Any:
    columns = kernel.index_records(data, count)
    headers = kernel.index_headers(data, columns, 0, count)
    found = [lists_of(columns), lists_of(headers)]
    for position, size in (
        (columns.key_position, columns.key_size),
        (columns.value_position, columns.value_size),
        (headers.value_position, headers.value_size),
    ):
        gathered = kernel.Gathered(len(position), sum(each for each in size if each > 0))
        gathered.append(data, position, size)
        hashes = memoryview(bytearray(8 * len(position))).cast("q")
        kernel.hash_keys(data, position, size, hashes)
        found += [lists_of(gathered), hashes.tolist()]
    return found


def compact(kernel: Kernel, data: bytes, count: int) -> Any:
    offset_map = kernel.OffsetMap(4 * 24, 0.5, seed=SEED)
    found = [offset_map.put_records(data, count, 2, 3), offset_map.size, offset_map.latest_offset]
    found.append(offset_map.get(b"key"))
    return [*found, *kernel.filter_records(data, count, 1, offset_map, False)]


@pytest.mark.parametrize("work", [walk, cut, renumber, refuse, rebase, gather, compact])
@given(nearly_records())
def test_of_records(work: Callable[..., Any], records: tuple[bytes, int]) -> None:
    expected = outcome(lambda: work(PLAIN, *records))
    assert outcome(lambda: work(INSTALLED, *records)) == expected


def clean(kernel: Kernel, data: bytes) -> Any:
    run = kernel.find_run(data, 0, 0)
    if run is None:
        return None
    offset_map = kernel.OffsetMap(1 << 12, seed=SEED)
    found = [lists_of(run, "chunk", "records"), offset_map.put_columns(run.records, 0, 0)]
    run_filter = kernel.RunFilter(run, offset_map, array("q", run.last_offset[-1:]), 20)
    first = 0
    while first < run.count:
        written = run_filter.write(first)
        found.append(lists_of(written))
        first = written.stop + 1
    return found


def replicate(kernel: Kernel, data: bytes) -> Any:
    run = kernel.find_replicated(data, 0, 0)
    return None if run is None else lists_of(run)


@pytest.mark.parametrize("work", [clean, replicate])
@given(nearly_batches())
def test_of_batches(work: Callable[..., Any], batches: bytes) -> None:
    assert work(INSTALLED, batches) == work(PLAIN, batches)
