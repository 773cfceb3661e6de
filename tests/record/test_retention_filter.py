"""A cleaning keeps the same records as a filter of single records."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.records import encode_record
from tests.record.kernels import Kernel, both_kernels

BASE = 1000

records = st.tuples(
    st.integers(-(2**40), 2**40),
    st.none() | st.binary(max_size=1),
    st.none() | st.binary(max_size=40),
    st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2),
)
gaps = st.lists(st.integers(1, 3), max_size=20)


def encode(deltas: list[int], contents: list[Any]) -> list[bytes]:
    return [encode_record(delta, *content) for delta, content in zip(deltas, contents, strict=True)]


def stays(offset: int, content: Any, latest: dict[bytes, int], end: int, tombstones: bool) -> bool:
    _, key, value, _ = content
    if offset >= end:
        return True
    if key is None or (value is None and not tombstones):
        return False
    return offset >= latest.get(key, -1)


@both_kernels
@given(st.data(), gaps, st.booleans(), st.integers(-1, 30))
def test_it_keeps_what_a_reader_of_single_records_would(
    kernel: Kernel, data: st.DataObject, steps: list[int], keep_tombstones: bool, read: int
) -> None:
    deltas = [sum(steps[: i + 1]) - 1 for i in range(len(steps))]
    contents = [data.draw(records) for _ in deltas]
    encoded = encode(deltas, contents)
    # The map has seen the first offsets of this batch, and one later record.
    offset_map = kernel.OffsetMap(1 << 16, seed=bytes(16))
    end = BASE + read + 1
    latest = {}
    for delta, content, single in zip(deltas, contents, encoded, strict=True):
        if BASE + delta < end:
            offset_map.put_records(single, 1, BASE, 0)
            if content[1] is not None:
                latest[content[1]] = BASE + delta
    if read >= 0:
        offset_map.note_offset(BASE + read)
    kept = [
        i
        for i, delta in enumerate(deltas)
        if stays(BASE + delta, contents[i], latest, end, keep_tombstones)
    ]

    filtered = kernel.filter_records(
        b"".join(encoded), len(encoded), BASE, offset_map, keep_tombstones
    )

    assert filtered.records == b"".join(encoded[i] for i in kept)
    assert (filtered.kept, filtered.discarded) == (len(kept), len(deltas) - len(kept))
    assert filtered.tombstones == sum(contents[i][2] is None for i in kept)
    gone = set(range(len(deltas))) - set(kept)
    assert filtered.unkeyed == sum(contents[i][1] is None for i in gone)
    assert filtered.first_offset_delta == (deltas[kept[0]] if kept else -1)
    assert filtered.last_offset_delta == (deltas[kept[-1]] if kept else -1)
    newest = max(kept, key=lambda i: contents[i][0], default=None)
    assert filtered.max_timestamp_delta == (0 if newest is None else contents[newest][0])
    assert filtered.offset_delta_of_max_timestamp == (-1 if newest is None else deltas[newest])


@both_kernels
def test_a_record_with_a_later_one_in_another_batch_goes(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(1 << 16, seed=bytes(16))
    offset_map.put_records(encode_record(0, 0, b"a", b"later", ()), 1, 2000, 0)
    batch = encode_record(0, 0, b"a", b"1", ()) + encode_record(1, 0, b"b", b"1", ())
    filtered = kernel.filter_records(batch, 2, BASE, offset_map, True)
    assert filtered.records == encode_record(1, 0, b"b", b"1", ())


@both_kernels
def test_a_batch_that_loses_nothing_is_not_copied(kernel: Kernel) -> None:
    batch = encode_record(0, 0, b"a", b"1", ())
    assert (
        kernel.filter_records(
            batch, 1, BASE, kernel.OffsetMap(1 << 16, seed=bytes(16)), True
        ).records
        is batch
    )


@both_kernels
def test_long_runs_and_single_records_are_copied_alike(kernel: Kernel) -> None:
    count = 3000
    encoded = [encode_record(i, i, b"%d" % i, bytes(i % 200), ()) for i in range(count)]
    gone = {i for i in range(count) if i % 97 == 5 or 1000 < i < 1100 or i % 2 > i // 2500}
    offset_map = kernel.OffsetMap(1 << 20, seed=bytes(16))
    for i in gone:
        offset_map.put_records(encode_record(0, 0, b"%d" % i, b"", ()), 1, 10_000 + i, 0)
    filtered = kernel.filter_records(b"".join(encoded), count, 0, offset_map, True)
    assert filtered.records == b"".join(encoded[i] for i in range(count) if i not in gone)


@both_kernels
def test_damaged_records_are_refused(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="record 0 is damaged at position 0"):
        kernel.filter_records(b"\x7f" * 7, 1, 0, kernel.OffsetMap(1 << 16, seed=bytes(16)), True)
    with pytest.raises(ValueError, match="base offset -1 is out of range"):
        kernel.filter_records(b"", 0, -1, kernel.OffsetMap(1 << 16, seed=bytes(16)), True)
