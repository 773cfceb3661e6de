"""A run is the same as reading one header after the other."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.header import BatchHeader, encode_batch
from tests.record.chunks import (
    FLAGS,
    PLAIN_FLAGS,
    START_OFFSET,
    Content,
    Made,
    batches,
    encode_all,
)
from tests.record.kernels import Kernel, both_kernels

HEADER = 61
NEVER = 2**63 - 1


def plain(count: int, gap: int = 0) -> tuple[list[BatchHeader], list[bytes]]:
    content = Content(1, 0, b"key", b"value")
    return encode_all([Made(gap, 0, -1, 0, [content] * (i % 3 + 1), 0) for i in range(count)])


def expected_count(made: list[Made]) -> int:
    """The plain ones from the first on; the last of the chunk only if no gap is before it."""
    count = 0
    while count < len(made) and made[count].is_plain:
        if made[count].gap and count == len(made) - 1:
            break
        count += 1
    return count


@both_kernels
@given(batches(FLAGS), st.integers(0, 3))
def test_a_run_has_the_plain_batches_up_to_the_first_that_is_not(
    kernel: Kernel, made: list[Made], before: int
) -> None:
    headers, encoded = encode_all(made)
    chunk = b"\xff" * before + b"".join(encoded)
    count = expected_count(made)
    run = kernel.find_run(chunk, before, START_OFFSET)
    assert (run.count if run is not None else 0) == count
    if run is None:
        return
    taken = headers[:count]
    ends = [before + sum(map(len, encoded[:i])) for i in range(count + 1)]
    assert run.position.tolist() == ends
    assert (run.end, run.next_offset) == (ends[-1], taken[-1].next_offset)
    assert run.base_offset.tolist() == [header.base_offset for header in taken]
    assert run.last_offset.tolist() == [header.last_offset for header in taken]
    assert run.attributes.tolist() == [header.attributes for header in taken]
    assert run.base_timestamp.tolist() == [header.base_timestamp for header in taken]
    assert run.max_timestamp.tolist() == [header.max_timestamp for header in taken]
    assert run.delete_horizon.tolist() == [
        header.base_timestamp if header.has_delete_horizon else NEVER for header in taken
    ]
    counts = [header.record_count for header in taken]
    assert run.first_row.tolist() == [sum(counts[:i]) for i in range(count + 1)]


@both_kernels
@given(batches(PLAIN_FLAGS))
def test_the_records_of_a_run_are_those_of_its_batches(kernel: Kernel, made: list[Made]) -> None:
    headers, encoded = encode_all([each for each in made if each.contents])
    run = kernel.find_run(b"".join(encoded), 0, START_OFFSET)
    for i in range(run.count if run is not None else 0):
        single = kernel.index_records(encoded[i][HEADER:], headers[i].record_count)
        rows = slice(run.first_row[i], run.first_row[i + 1])
        start = run.position[i] + HEADER
        shift = run.base_offset[i] - run.base_offset[0]
        records: Any = run.records
        for name in ("timestamp_delta", "key_size", "value_size", "header_count"):
            assert getattr(records, name)[rows].tolist() == getattr(single, name).tolist()
        for name in ("key_position", "value_position", "headers_position"):
            moved = [position + start for position in getattr(single, name)]
            assert getattr(records, name)[rows].tolist() == moved
        assert records.position[rows].tolist() == [at + start for at in single.position][:-1]
        assert records.offset_delta[rows].tolist() == [d + shift for d in single.offset_delta]


@both_kernels
@given(st.data(), st.integers(1, 255))
def test_a_run_ends_before_a_batch_that_was_damaged(
    kernel: Kernel, data: st.DataObject, flip: int
) -> None:
    _, encoded = plain(5)
    number = data.draw(st.integers(0, 4))
    # The leader epoch is not covered by anything.
    places = [at for at in range(len(encoded[number])) if not 12 <= at < 16]
    at = data.draw(st.sampled_from(places))
    damaged = bytearray(encoded[number])
    damaged[at] ^= flip
    chunk = b"".join([*encoded[:number], damaged, *encoded[number + 1 :]])
    run = kernel.find_run(chunk, 0, START_OFFSET)
    assert (run.count if run is not None else 0) == number


@both_kernels
def test_records_that_do_not_fit_their_lengths_end_a_run_though_the_checksum_is_right(
    kernel: Kernel,
) -> None:
    headers, encoded = plain(3)
    encoded[1] = encode_batch(headers[1], encoded[1][HEADER:-1] + b"\x7f")
    run = kernel.find_run(b"".join(encoded), 0, START_OFFSET)
    assert (run.count, run.records.count) == (1, 1)
    assert kernel.find_run(b"".join(encoded), len(encoded[0]), START_OFFSET + 1) is None


@both_kernels
@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 2**63 - 1))
def test_arbitrary_bytes_are_no_run(kernel: Kernel, data: bytes, at: int, offset: int) -> None:
    assert kernel.find_run(data, at, offset) is None


@both_kernels
@pytest.mark.parametrize("missing", [1, 30, 100])
def test_a_batch_that_is_not_whole_is_left_out(kernel: Kernel, missing: int) -> None:
    _, encoded = plain(3)
    run = kernel.find_run(b"".join(encoded)[:-missing], 0, START_OFFSET)
    assert run.count == (2 if missing < len(encoded[2]) else 1)


@both_kernels
def test_offsets_that_go_back_end_a_run(kernel: Kernel) -> None:
    _, encoded = plain(3)
    assert kernel.find_run(b"".join(encoded), 0, START_OFFSET + 1) is None
    run = kernel.find_run(encoded[0] + encoded[2] + encoded[1], 0, START_OFFSET)
    # What is behind the gap cannot be believed, since the next batch does not follow.
    assert run.count == 1


@both_kernels
def test_a_gap_before_the_last_batch_of_a_chunk_cannot_be_judged(kernel: Kernel) -> None:
    _, encoded = plain(3, gap=5)
    run = kernel.find_run(b"".join(encoded), 0, START_OFFSET)
    assert run.count == 2


@both_kernels
def test_offsets_that_could_overflow_end_a_run(kernel: Kernel) -> None:
    _, encoded = plain(1)
    for base_offset, is_taken in ((2**63 - 2**31 - 1, True), (2**63 - 2**31, False)):
        chunk = base_offset.to_bytes(8, "big") + encoded[0][8:]
        assert (kernel.find_run(chunk, 0, base_offset) is not None) == is_taken


@both_kernels
@pytest.mark.parametrize("at, offset", [(-1, 0), (0, -1)])
def test_what_no_caller_should_ask_for_is_refused(kernel: Kernel, at: int, offset: int) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        kernel.find_run(b"", at, offset)
