"""The offset map is a dict with a size limit: from keys to the largest offset put."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.records import encode_record
from tests.record.kernels import Kernel, both_kernels

MEBIBYTE = 1 << 20
KEY = bytes(range(16))
# SipHash-2-4 of the bytes 0, 1, 2, … under KEY, as its authors publish them.
SIPHASH = {
    0: "a3817f04ba25a8e66df67214c7550293",
    1: "da87c1d86b99af44347659119b22fc45",
    7: "a1f1ebbed8dbc153c0b84aa61ff08239",
    8: "3b62a9ba6258f5610f83e264f31497b4",
    15: "5493e99933b0a8117e08ec0f97cfc3d9",
    63: "5150d1772f50834a503e069a973fbd7c",
}

keys = st.none() | st.binary(max_size=3)


def batch_of(keys: list[Any]) -> tuple[bytes, int]:
    return b"".join(encode_record(i, 0, key, b"v", ()) for i, key in enumerate(keys)), len(keys)


@both_kernels
@given(st.lists(st.lists(keys, min_size=1, max_size=8)), st.integers(0, 2**62))
def test_it_knows_the_latest_offset_of_every_key(
    kernel: Kernel, batches: list[list[Any]], start: int
) -> None:
    offset_map = kernel.OffsetMap(MEBIBYTE, seed=bytes(16))
    model: dict[bytes, int] = {}
    offset = start
    for batch in batches:
        assert offset_map.put_records(*batch_of(batch), offset, 0)
        model |= {key: offset + i for i, key in enumerate(batch) if key is not None}
        offset += len(batch)
    assert offset_map.size == len(model)
    assert offset_map.latest_offset == max(model.values(), default=-1)
    assert {key: offset_map.get(key) for key in model} == model
    assert offset_map.get(b"never written") == -1


@both_kernels
def test_keys_of_every_length_are_told_apart(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(MEBIBYTE, seed=bytes(16))
    zeros = [bytes(length) for length in range(70)] + [b"x" * 100_000]
    assert offset_map.put_records(*batch_of(zeros), 0, 0)
    assert [offset_map.get(key) for key in zeros] == list(range(len(zeros)))


@both_kernels
def test_records_before_the_first_offset_asked_for_are_left_out(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(MEBIBYTE, seed=bytes(16))
    assert offset_map.put_records(*batch_of([b"a", b"b", b"a", b"c"]), 100, 102)
    assert [offset_map.get(key) for key in (b"a", b"b", b"c")] == [102, -1, 103]


@both_kernels
def test_an_offset_never_goes_back(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(MEBIBYTE, seed=bytes(16))
    offset_map.put_records(*batch_of([b"a"]), 50, 0)
    offset_map.put_records(*batch_of([b"a"]), 40, 0)
    offset_map.note_offset(30)
    assert (offset_map.get(b"a"), offset_map.latest_offset) == (50, 50)
    offset_map.note_offset(60)
    assert offset_map.latest_offset == 60


@both_kernels
def test_a_full_map_has_taken_the_records_up_to_its_latest_offset(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(10 * 24, 0.5, seed=bytes(16))
    assert offset_map.max_entries == 5
    batch = [b"a", b"b", b"a", b"c", None, b"d", b"e", b"a", b"f", b"a"]
    assert not offset_map.put_records(*batch_of(batch), 10, 0)
    assert (offset_map.size, offset_map.latest_offset) == (5, 17)
    assert [offset_map.get(key) for key in (b"a", b"e", b"f")] == [17, 16, -1]
    # A key that is known needs no room.
    assert offset_map.put_records(*batch_of([b"c"]), 20, 0)
    assert offset_map.get(b"c") == 20


@both_kernels
@pytest.mark.parametrize("load_factor", [0.9, 1.0])
def test_a_map_that_grew_to_its_limit_has_forgotten_nothing(
    kernel: Kernel, load_factor: float
) -> None:
    offset_map = kernel.OffsetMap(20_000 * 24, load_factor, seed=bytes(16))
    distinct = [b"key %d" % i for i in range(offset_map.max_entries)]
    for start in range(0, len(distinct), 700):
        assert offset_map.put_records(*batch_of(distinct[start : start + 700]), start, 0)
    assert offset_map.size == len(distinct) == (18_000 if load_factor == 0.9 else 19_999)
    assert [offset_map.get(key) for key in distinct] == list(range(len(distinct)))
    assert not offset_map.put_records(*batch_of([b"one more"]), len(distinct), 0)
    assert offset_map.get(b"one more") == -1


@both_kernels
def test_entries_that_were_moved_in_several_steps_are_all_there(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(4 * MEBIBYTE, seed=bytes(16))
    distinct = [b"%d" % i for i in range(90_000)]
    for start in range(0, len(distinct), 15_000):
        assert offset_map.put_records(*batch_of(distinct[start : start + 15_000]), start, 0)
    assert [offset_map.get(key) for key in distinct] == list(range(90_000))


@both_kernels
def test_a_cleared_map_is_empty_and_can_be_filled_again(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(MEBIBYTE, seed=bytes(16))
    offset_map.put_records(*batch_of([b"a", b"b"]), 7, 0)
    offset_map.clear()
    assert (offset_map.size, offset_map.latest_offset, offset_map.get(b"a")) == (0, -1, -1)
    offset_map.put_records(*batch_of([b"b"]), 3, 0)
    assert (offset_map.size, offset_map.get(b"a"), offset_map.get(b"b")) == (1, -1, 3)


@both_kernels
def test_nothing_is_put_of_damaged_records(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(MEBIBYTE, seed=bytes(16))
    data, count = batch_of([b"a", b"b", b"c"])
    with pytest.raises(ValueError, match="record 2 is damaged at position"):
        offset_map.put_records(data[:-1] + b"\x7f", count, 0, 0)
    assert (offset_map.size, offset_map.latest_offset) == (0, -1)


@both_kernels
@pytest.mark.parametrize("base_offset", [-1, 2**63 - 2**31, 2**63 - 1])
def test_offsets_that_could_overflow_are_refused(kernel: Kernel, base_offset: int) -> None:
    with pytest.raises(ValueError, match=f"base offset {base_offset} is out of range"):
        kernel.OffsetMap(MEBIBYTE, seed=bytes(16)).put_records(*batch_of([b"a"]), base_offset, 0)


@both_kernels
@pytest.mark.parametrize("memory_bytes, load_factor", [(0, 0.9), (24, 1.0), (1000, 0.0), (-1, 0.9)])
def test_a_map_without_room_for_a_key_is_refused(
    kernel: Kernel, memory_bytes: int, load_factor: float
) -> None:
    with pytest.raises(ValueError, match=f"offset map of {memory_bytes} bytes"):
        kernel.OffsetMap(memory_bytes, load_factor, seed=bytes(16))


@both_kernels
def test_a_map_may_be_larger_than_the_memory_of_the_machine(kernel: Kernel) -> None:
    offset_map = kernel.OffsetMap(1 << 50, seed=bytes(16))
    assert offset_map.put_records(*batch_of([b"a"]), 0, 0)
    assert offset_map.max_entries > 1 << 31


@both_kernels
def test_a_hash_depends_on_the_whole_key_and_on_the_seed(kernel: Kernel) -> None:
    texts = [bytes(range(size)) for size in range(70)]
    hashes = {
        kernel.hash_key(text, 0, len(text), seed) for text in texts for seed in (KEY, bytes(16))
    }
    assert len(hashes) == 140
    assert kernel.hash_key(b"..key..", 2, 3, KEY) == kernel.hash_key(b"key", 0, 3, KEY)


@both_kernels
def test_the_compiled_hash_is_siphash(kernel: Kernel) -> None:
    if not kernel.is_compiled:
        pytest.skip("the plain one is hashlib's")
    for size, published in SIPHASH.items():
        words = kernel.hash_key(bytes(range(size)), 0, size, KEY)
        assert b"".join(word.to_bytes(8, "little") for word in words).hex() == published
