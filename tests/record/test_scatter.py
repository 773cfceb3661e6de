"""Rows of columns become the same records as from a builder of single records."""

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.header import BATCH_HEADER_SIZE
from moldau.record.records import BatchBuilder
from moldau.record.scatter import LARGEST_OVERHEAD, Field, HeaderFields, Rows
from tests.record.kernels import Kernel, both_kernels

fields = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), fields), max_size=3)
moments = st.integers(0, 1 << 50)
rows = st.lists(st.tuples(moments, fields, fields, headers), min_size=1, max_size=30)

Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def column(numbers: Any) -> memoryview:
    return memoryview(array("q", numbers))


def field(contents: list[bytes | None]) -> Field:
    """The contents one after the other, with something else in between."""
    data, positions = b"", []
    for content in contents:
        data += b"#"
        positions.append(len(data))
        data += content or b""
    sizes = [-1 if content is None else len(content) for content in contents]
    return Field(data, column(positions), column(sizes))


def columns_of(rows: list[Row], *, with_headers: bool = True) -> Rows:
    pairs = [pair for *_, of_row in rows for pair in of_row]
    counts = [len(of_row) for *_, of_row in rows]
    firsts = [sum(counts[:number]) for number in range(len(rows))]
    found = HeaderFields(
        column(firsts),
        column(counts),
        field([name.encode() for name, _ in pairs]),
        field([content for _, content in pairs]),
    )
    return Rows(
        column([moment for moment, *_ in rows]),
        field([key for _, key, _, _ in rows]),
        field([value for _, _, value, _ in rows]),
        found if with_headers else None,
    )


def section(rows: list[Row]) -> bytes:
    builder = BatchBuilder()
    for moment, key, value, pairs in rows:
        builder.append(moment, key, value, tuple(pairs))
    return builder.build()[BATCH_HEADER_SIZE:]


@both_kernels
@given(rows, st.randoms(use_true_random=False))
def test_chosen_rows_are_written_as_a_builder_writes_them(
    kernel: Kernel, rows: list[Row], rng: Any
) -> None:
    order = list(range(len(rows)))
    rng.shuffle(order)
    first = rng.randrange(len(rows))
    expected = section([rows[number] for number in order[first:]])
    room = bytearray(len(expected))
    written = kernel.write_records(columns_of(rows), column(order), first, len(rows), room)
    assert written == (len(rows), len(expected))
    assert bytes(room) == expected


@both_kernels
@given(rows, st.integers(0, 2000))
def test_what_does_not_fit_is_left_for_the_next_batch(
    kernel: Kernel, rows: list[Row], size: int
) -> None:
    columns, order = columns_of(rows), column(range(len(rows)))
    following, written = kernel.write_records(columns, order, 0, len(rows), bytearray(size))
    assert written <= size
    assert written == (len(section(rows[:following])) if following else 0)
    if following < len(rows):
        assert len(section(rows[: following + 1])) > size


@both_kernels
def test_rows_need_no_headers(kernel: Kernel) -> None:
    rows: list[Row] = [(5, b"k", b"v", []), (9, None, None, [])]
    room = bytearray(100)
    columns = columns_of(rows, with_headers=False)
    _, size = kernel.write_records(columns, column([0, 1]), 0, 2, room)
    assert bytes(room[:size]) == section(rows)


@both_kernels
def test_the_overhead_of_a_record_is_never_larger_than_said(kernel: Kernel) -> None:
    rows: list[Row] = [(0, b"", b"", []), ((1 << 62) - 1, b"", b"", [])]
    room = bytearray(100)
    columns = columns_of(rows, with_headers=False)
    _, first = kernel.write_records(columns, column([0]), 0, 1, room)
    _, both = kernel.write_records(columns, column([0, 1]), 0, 2, room)
    assert both - first <= LARGEST_OVERHEAD


@both_kernels
@pytest.mark.parametrize("first, last", [(-1, 1), (0, 3), (2, 1)])
def test_rows_that_are_not_there_are_refused(kernel: Kernel, first: int, last: int) -> None:
    columns = columns_of([(0, b"", b"", []), (0, b"", b"", [])])
    with pytest.raises(ValueError, match="2 rows, of which"):
        kernel.write_records(columns, column([0, 1]), first, last, bytearray(100))
