"""Renumbered records are the same as records written with these numbers."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.records import encode_record
from moldau.record.renumber import first_timestamp_delta
from tests.record.kernels import both_kernels

fields = st.none() | st.binary(max_size=40)
headers = st.lists(st.tuples(st.text(max_size=4), fields), max_size=2)
deltas = st.integers(-5, 5) | st.integers(-(2**31), 2**31 - 1)
contents = st.lists(
    st.tuples(deltas, st.integers(-(2**60), 2**60), fields, fields, headers), max_size=8
)


@both_kernels
@given(contents, st.integers(0, 2**31 - 10), st.integers(-(2**60), 2**60))
def test_renumbered_records_are_those_that_would_be_written(
    kernel: Any, records: list[Any], first: int, shift: int
) -> None:
    written, count = kernel.renumber(
        b"".join(encode_record(*each) for each in records), first, shift
    )
    assert count == len(records)
    assert written == b"".join(
        encode_record(first + index, timestamp + shift, *rest)
        for index, (_, timestamp, *rest) in enumerate(records)
    )


@both_kernels
def test_records_in_a_view_are_renumbered(kernel: Any) -> None:
    record = encode_record(9, 3, b"k", b"v", ())
    view = memoryview(b"before" + record + b"behind")[6:-6]
    assert kernel.renumber(view, 0, -3) == (encode_record(0, 0, b"k", b"v", ()), 1)


@both_kernels
def test_large_records_take_no_memory_that_is_zeroed_at_once(kernel: Any) -> None:
    value = bytes(2 << 20)
    record = encode_record(9, 3, b"k", value, ())
    tracemalloc.start()
    try:
        written, count = kernel.renumber(memoryview(record), 0, -3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (written, count) == (encode_record(0, 0, b"k", value, ()), 1)
    # What is mapped is not counted. Interpreted, the record is copied on its way.
    assert peak < 2 * len(record)


@both_kernels
@given(st.binary(max_size=60))
def test_noise_is_renumbered_or_refused_and_nothing_else(kernel: Any, noise: bytes) -> None:
    try:
        written, _ = kernel.renumber(noise, 2**31 - 1, 2**61)
    except ValueError:
        return
    assert bool(written) == bool(noise)


@both_kernels
@pytest.mark.parametrize("shift", [-(2**62) - 1, 2**62])
def test_a_shift_that_could_overflow_is_refused(kernel: Any, shift: int) -> None:
    with pytest.raises(ValueError, match="cannot be moved"):
        kernel.renumber(b"", 0, shift)


@both_kernels
def test_damage_is_named_by_the_number_of_its_record(kernel: Any) -> None:
    record = encode_record(0, 0, b"k", b"v", ())
    with pytest.raises(ValueError, match="record 42 is damaged"):
        kernel.renumber(record * 2 + record[:-1], 40, 0)


def test_the_first_timestamp_delta_is_found() -> None:
    assert first_timestamp_delta(encode_record(5, -77, b"k", b"v", ())) == -77
    assert first_timestamp_delta(b"") == 0
    assert first_timestamp_delta(b"\xff") == 0
