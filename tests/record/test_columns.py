"""Columns agree with decoded records, and damage is reported, never followed."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.columns import SMALLEST_RECORD
from moldau.record.records import encode_record, encode_varint
from tests.record.kernels import KERNELS, PLAIN, Kernel, both_kernels

fields = st.none() | st.binary(max_size=90)
headers = st.lists(st.tuples(st.text(max_size=8), fields), max_size=3)
deltas = st.integers(-(2**63), 2**63 - 1)
contents = st.lists(st.tuples(st.integers(0, 2**31 - 1), deltas, fields, fields, headers))


def encode(records: list[Any]) -> bytes:
    return b"".join(encode_record(*record) for record in records)


def column_lists(columns: Any) -> list[list[int]]:
    names = [name for name in type(columns).__slots__ if name not in ("count", "records")]
    return [getattr(columns, name).tolist() for name in names]


def outcome(kernel: Kernel, data: bytes, count: int) -> Any:
    """The columns, or why there are none; any other error than ValueError comes through."""
    try:
        return column_lists(kernel.index_records(data, count))
    except ValueError as error:
        return str(error)


@both_kernels
@given(contents)
def test_columns_point_at_what_was_written(kernel: Kernel, records: list[Any]) -> None:
    data = encode(records)
    columns = kernel.index_records(data, len(records))

    def field(positions: memoryview, sizes: memoryview, i: int) -> bytes | None:
        return None if sizes[i] == -1 else data[positions[i] : positions[i] + sizes[i]]

    assert columns.count == len(records)
    assert columns.position.tolist()[-1] == len(data)
    for i, (offset_delta, timestamp_delta, key, value, pairs) in enumerate(records):
        assert columns.offset_delta[i] == offset_delta
        assert columns.timestamp_delta[i] == timestamp_delta
        assert field(columns.key_position, columns.key_size, i) == key
        assert field(columns.value_position, columns.value_size, i) == value
        assert columns.header_count[i] == len(pairs)
        start, end = columns.position[i], columns.position[i + 1]
        assert data[start:end] == encode_record(*records[i])
        whole_headers = data[columns.headers_position[i] : end]
        assert (
            encode_varint(len(pairs)) + whole_headers
            == encode_record(0, 0, None, None, pairs)[-len(whole_headers) - 1 :]
        )


@both_kernels
def test_nobody_can_write_to_columns(kernel: Kernel) -> None:
    columns = kernel.index_records(encode_record(0, 0, b"k", b"v", ()), 1)
    with pytest.raises(TypeError):
        columns.key_position[0] = 1 << 40


@both_kernels
@pytest.mark.parametrize("count", [-1, 2, 2**31])
def test_a_count_that_cannot_be_true_costs_nothing(kernel: Kernel, count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} records cannot lie in 7 bytes"):
        kernel.index_records(bytes(SMALLEST_RECORD), count)


def record(body: bytes) -> bytes:
    return encode_varint(len(body)) + body


@both_kernels
@pytest.mark.parametrize(
    "damaged, message",
    [
        (b"\x7f" * 7, "position 0: a length or count goes beyond"),
        (b"\x0a" + bytes(9), "position 0: a length or count goes beyond"),
        (b"\x80" * 7, "position 0: the data ends within a number"),
        (b"\x80" * 10 + bytes(7), "position 0: a number has more than 64 bits"),
        (b"\xff" * 9 + b"\x02" + bytes(7), "position 0: a number has more than 64 bits"),
        (record(b"\0\0\0\x04kk\x01"), "position 8: the data ends within a number"),
        (record(b"\0\0\0\x7e\x01\0\0"), "position 5: a length or count goes beyond"),
        (record(b"\0\0\0\x01\x01\0\0"), "position 7: the record does not fill its length"),
        (record(b"\0\0\0\x01\x01\x01\0"), "position 7: a length or count goes beyond"),
        (record(b"\0\0\0\x01\x01\x0a\0\0\0\0\0\0"), "position 13: the data ends within a number"),
        (record(b"\0\0\0\x01\x01\x02\x01\0"), "position 7: a length or count goes beyond"),
        (record(b"\0\0\x01\x01\x01\0"), "position 0: the offset delta is not one of 31 bits"),
    ],
)
def test_damage_is_named_with_its_place(kernel: Kernel, damaged: bytes, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        kernel.index_records(damaged, 1)
    assert message in str(caught.value)
    assert str(caught.value).startswith("record 0 ")


@both_kernels
def test_bytes_behind_the_last_record_are_damage(kernel: Kernel) -> None:
    data = encode_record(0, 0, b"k", b"v", ())
    with pytest.raises(
        ValueError, match=f"7 bytes are left after 1 records, at position {len(data)}"
    ):
        kernel.index_records(data + bytes(7), 1)


@given(st.binary(max_size=120), st.integers(0, 20))
def test_noise_is_damage_or_something_but_never_another_error(noise: bytes, count: int) -> None:
    assert len({str(outcome(kernel, noise, count)) for kernel in KERNELS}) == 1


def test_thousands_of_mutated_batches_meet_the_same_fate_everywhere() -> None:
    rng = random.Random(5)
    survived = 0
    for _ in range(4000):
        data, count = mutated_batch(rng)
        expected = outcome(PLAIN, data, count)
        assert all(outcome(kernel, data, count) == expected for kernel in KERNELS)
        survived += not isinstance(expected, str)
    # Mutations must reach both: what is read to its end, and what is not.
    assert 100 < survived < 3900


def mutated_batch(rng: random.Random) -> tuple[bytes, int]:
    """A batch of which a few bytes changed, came or went; aimed at lengths more than at data."""
    records = [
        (i, rng.choice([0, 1, -1, 2**40]), rng.choice([None, b"", b"key"]), b"value", [("h", None)])
        for i in range(rng.randrange(1, 6))
    ]
    data = bytearray(encode(records))
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            case 1:
                data.insert(at, rng.choice([0, 0x80, 0xFF]))
            case 2 if len(data) > 1:
                del data[at]
            case _:
                data[at] ^= 1 << rng.randrange(8)
    return bytes(data), len(records) + rng.choice([0, 0, 0, 0, -1, 1])
