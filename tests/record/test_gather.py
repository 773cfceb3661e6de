"""Fields of many records gathered in the layout of Arrow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.gather import MAX_GATHERED_BYTES
from moldau.record.header import BATCH_HEADER_SIZE
from moldau.record.records import BatchBuilder
from tests.record.kernels import Kernel, both_kernels

fields = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), fields), max_size=3)
records = st.lists(st.tuples(fields, fields, headers), min_size=1, max_size=40)


def section(rows: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]]) -> bytes:
    """The records of a batch, without its header."""
    builder = BatchBuilder(base_offset=0)
    for key, value, pairs in rows:
        builder.append(0, key, value, tuple(pairs))
    return builder.build()[BATCH_HEADER_SIZE:]


def rows_of(gathered: Any) -> list[bytes | None]:
    found: list[bytes | None] = []
    for row in range(gathered.rows):
        is_there = gathered.validity[row // 8] >> (row % 8) & 1
        field = bytes(gathered.data[gathered.ends[row] : gathered.ends[row + 1]])
        found.append(field if is_there else None)
    return found


@both_kernels
@given(records, records)
def test_fields_of_several_batches_come_out_in_order_and_whole(
    kernel: Kernel, first: list[Any], second: list[Any]
) -> None:
    expected = [value for _, value, _ in [*first, *second]]
    gathered = kernel.Gathered(len(expected), sum(len(value or b"") for value in expected))
    for rows in (first, second):
        data = section(rows)
        columns = kernel.index_records(data, len(rows))
        gathered.append(data, columns.value_position, columns.value_size)
    assert rows_of(gathered) == expected
    assert gathered.null_count == expected.count(None)


@both_kernels
@given(records)
def test_headers_come_out_as_one_row_for_each_pair(kernel: Kernel, rows: list[Any]) -> None:
    data = section(rows)
    columns = kernel.index_records(data, len(rows))
    found = kernel.index_headers(data, columns, 0, len(rows))
    pairs = [pair for _, _, of_record in rows for pair in of_record]
    keys = kernel.Gathered(len(pairs), sum(found.key_size))
    keys.append(data, found.key_position, found.key_size)
    values = kernel.Gathered(len(pairs), sum(size for size in found.value_size if size > 0))
    values.append(data, found.value_position, found.value_size)
    assert rows_of(keys) == [key.encode() for key, _ in pairs]
    assert rows_of(values) == [value for _, value in pairs]


@both_kernels
def test_a_part_of_a_batch_can_be_gathered(kernel: Kernel) -> None:
    data = section([(b"a", b"1", [("h", b"x")]), (b"b", None, []), (b"c", b"333", [("i", None)])])
    columns = kernel.index_records(data, 3)
    gathered = kernel.Gathered(2, 3)
    gathered.append(data, columns.value_position[1:], columns.value_size[1:])
    assert rows_of(gathered) == [None, b"333"]
    assert list(kernel.index_headers(data, columns, 1, 3).value_size) == [-1]
    assert list(kernel.index_headers(data, columns, 1, 30_000).value_size) == [-1]


@both_kernels
def test_what_does_not_fit_is_refused_before_it_is_written(kernel: Kernel) -> None:
    data = section([(None, b"four", [])])
    columns = kernel.index_records(data, 1)
    with pytest.raises(ValueError, match="more than the 3 bytes"):
        kernel.Gathered(1, 3).append(data, columns.value_position, columns.value_size)
    with pytest.raises(ValueError, match="room for 0"):
        kernel.Gathered(0, 4).append(data, columns.value_position, columns.value_size)


@both_kernels
def test_an_array_has_no_more_bytes_than_its_ends_can_count(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="do not fit one array"):
        kernel.Gathered(1, MAX_GATHERED_BYTES + 1)
