"""Records are cut between batches, whatever is in them."""

import random

import pytest

from moldau.record.header import iter_headers
from moldau.replica.record_slices import SLICE_BYTES, slices
from tests.storage.log_making import batch


def batches(*sizes: int) -> list[bytes]:
    return [batch(b"x" * size) for size in sizes]


def test_small_records_are_one_slice() -> None:
    data = b"".join(batches(10, 20))
    assert list(slices(data)) == [data]
    assert list(slices(b"")) == []
    assert list(slices(None)) == []


def test_a_slice_has_whole_batches_and_a_large_batch_its_own() -> None:
    made = batches(*[50_000] * 5, 300_000, 10, 400_000)
    found = [bytes(each) for each in slices(b"".join(made))]
    assert b"".join(found) == b"".join(made)
    assert found == [
        b"".join(made[:2]),
        b"".join(made[2:4]),
        made[4],
        made[5],
        made[6],
        made[7],
    ]


def test_every_slice_but_the_last_is_whole() -> None:
    rng = random.Random(5)
    for _ in range(20):
        data = b"".join(batches(*(rng.randint(1, 60_000) for _ in range(30))))
        data = data[: rng.randint(1, len(data))]
        found = list(slices(memoryview(data)))
        assert b"".join(found) == data
        for each in found[:-1]:
            assert len(each) <= SLICE_BYTES
            assert sum(header.size_bytes for _, header in iter_headers(each)) == len(each)


@pytest.mark.parametrize("length", [-1, 0, -(1 << 31), (1 << 31) - 1])
def test_what_is_no_batch_is_left_to_the_log(length: int) -> None:
    first = b"".join(batches(100_000))
    bad = bytes(8) + length.to_bytes(4, "big", signed=True) + bytes(100_000)
    found = list(slices(first + bad))
    assert b"".join(found) == first + bad
