"""Varints and in-place copies, compared with the encoder of whole records.

Those inlined in compiled code are tested through the kernels that use them.
"""

from hypothesis import given
from hypothesis import strategies as st

from moldau.record.primitives import after_varint, copy, read_varint, varint_size, write_varint
from moldau.record.records import encode_varint

numbers = st.integers(-(2**63), 2**63 - 1)


@given(numbers)
def test_a_number_is_written_as_in_a_record(number: int) -> None:
    expected = encode_varint(number)
    assert varint_size(number) == len(expected)
    target = bytearray(b"#" * (len(expected) + 2))
    assert write_varint(target, 1, number) == 1 + len(expected)
    assert target == b"#" + expected + b"#"


@given(numbers)
def test_a_number_is_read_up_to_its_end(number: int) -> None:
    data = b"#" + encode_varint(number) + b"\xff"
    assert read_varint(data, 1) == (number, len(data) - 1)
    assert after_varint(data, 1) == len(data) - 1


def test_a_copy_touches_nothing_beside_it() -> None:
    target = bytearray(b"......")
    assert copy(target, 1, b"abcdef", 2, 5) == 4
    assert target == b".cde.."
