"""Keys have the same hash as in every other client."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.kernels import Kernel, both_kernels


# What Kafka's own tests of its hash expect, as signed numbers.
@pytest.mark.parametrize(
    ("data", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
        (b"", 275646681),
    ],
)
@both_kernels
def test_keys_hash_as_in_the_java_client(kernel: Kernel, data: bytes, signed: int) -> None:
    assert kernel.murmur2(data) == signed & 0xFFFFFFFF


@both_kernels
@given(st.lists(st.none() | st.binary(max_size=40)))
def test_a_column_of_keys_hashes_as_each_of_them(kernel: Kernel, keys: list[bytes | None]) -> None:
    data = b"..".join(key or b"" for key in keys)
    position, size, at = array("q"), array("q"), 0
    for key in keys:
        position.append(at)
        size.append(-1 if key is None else len(key))
        at += len(key or b"") + 2
    hashes = array("q", bytes(8 * len(keys)))
    kernel.hash_keys(data, memoryview(position), memoryview(size), memoryview(hashes))
    assert list(hashes) == [-1 if key is None else kernel.murmur2(key) for key in keys]


@both_kernels
def test_columns_of_different_lengths_are_refused(kernel: Kernel) -> None:
    two, three = memoryview(array("q", [0, 0])), memoryview(array("q", [0, 0, 0]))
    with pytest.raises(ValueError, match="2 positions, 3 sizes"):
        kernel.hash_keys(b"", two, three, two)
