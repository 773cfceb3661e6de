"""Records with another base timestamp are otherwise unchanged."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.records import encode_record
from tests.record.kernels import Kernel, both_kernels

fields = st.none() | st.binary(max_size=130)
headers = st.lists(st.tuples(st.text(max_size=3), fields), max_size=2)
numbers = st.integers(-(2**62), 2**62 - 1)
contents = st.lists(st.tuples(st.integers(0, 2**31 - 1), numbers, fields, fields, headers))


@both_kernels
@given(contents, numbers)
def test_rebased_records_are_those_that_would_be_written_for_the_new_base(
    kernel: Kernel, records: list[Any], shift: int
) -> None:
    before = b"".join(encode_record(*record) for record in records)
    after = b"".join(
        encode_record(offset, delta + shift, *rest) for offset, delta, *rest in records
    )
    assert kernel.rebase_timestamps(before, len(records), shift) == after


@both_kernels
def test_the_attributes_of_a_record_stay(kernel: Kernel) -> None:
    record = bytearray(encode_record(0, 5, b"k", b"v", ()))
    record[1] = 0xA5
    rebased = kernel.rebase_timestamps(bytes(record), 1, 1000)
    assert rebased[1] == 0xA5


@both_kernels
@pytest.mark.parametrize("delta", [2**62, -(2**62) - 1])
def test_a_delta_that_could_overflow_is_refused(kernel: Kernel, delta: int) -> None:
    data = encode_record(0, 0, b"k", b"v", ()) + encode_record(1, delta, b"k", b"v", ())
    with pytest.raises(ValueError, match=f"record 1 has the timestamp delta {delta}"):
        kernel.rebase_timestamps(data, 2, 0)


@both_kernels
@pytest.mark.parametrize("shift", [2**62, -(2**62) - 1, 2**70])
def test_a_shift_that_could_overflow_is_refused(kernel: Kernel, shift: int) -> None:
    with pytest.raises(ValueError, match=f"cannot be moved by {shift}"):
        kernel.rebase_timestamps(b"", 0, shift)


@both_kernels
def test_damaged_records_are_refused(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="record 0 is damaged at position 0"):
        kernel.rebase_timestamps(b"\x7f" * 7, 1, 0)
