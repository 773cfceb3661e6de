"""A run from a leader is the same as reading and checking one batch after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.header import BatchHeader, crc_is_valid, iter_headers
from tests.record.kernels import Kernel, both_kernels
from tests.storage.log_making import START_MS, batch, new_log

EPOCH = 4


def replicated(count: int, *, epoch: int = EPOCH, producers: bool = False) -> bytes:
    """Batches as they lie in the log of a leader."""
    log = new_log()
    for number in range(count):
        made = batch(
            *[b"%d" % number] * (number % 3 + 1),
            # Timestamps go back now and then.
            timestamp=START_MS + number * 7 % 50,
            producer_id=number if producers and number % 2 else -1,
            sequence=0 if producers and number % 2 else -1,
        )
        log.append_as_leader(made, epoch, START_MS)
    data = log.read(0, 1 << 20, max_offset=log.log_end_offset).records
    assert isinstance(data, bytes)
    return data


def headers_of(data: bytes) -> list[tuple[int, BatchHeader]]:
    return list(iter_headers(data))


def at(data: bytes, position: int, change: bytes) -> bytes:
    return data[:position] + change + data[position + len(change) :]


@both_kernels
@given(st.integers(1, 12), st.booleans(), st.integers(0, 400))
def test_a_run_has_all_complete_batches(
    kernel: Kernel, count: int, producers: bool, cut: int
) -> None:
    whole = replicated(count, producers=producers)
    data = whole[: max(len(whole) - cut, 0)]
    found = headers_of(data)
    run = kernel.find_replicated(data, 0, EPOCH)
    if not found:
        assert run is None
        return
    assert run.count == len(found)
    assert run.end == found[-1][0] + found[-1][1].size_bytes
    assert run.positions.tolist() == [position for position, _ in found]
    assert run.last_offsets.tolist() == [header.last_offset for _, header in found]
    assert (run.base_offset, run.last_offset) == (0, found[-1][1].last_offset)
    assert run.leader_epoch == EPOCH
    assert run.first_timestamp == found[0][1].max_timestamp
    largest, offset = -1, -1
    for row, (_, header) in enumerate(found):
        if header.max_timestamp > largest:
            largest, offset = header.max_timestamp, header.last_offset
        assert (run.max_timestamps[row], run.offsets_of_max[row]) == (largest, offset)
    of_producers = [position for position, header in found if header.producer_id >= 0]
    assert run.of_producers.tolist() == of_producers


@both_kernels
@pytest.mark.parametrize(
    ("where", "change"),
    [
        (0, (1).to_bytes(8, "big")),
        (0, (-1).to_bytes(8, "big", signed=True)),
        (0, ((1 << 63) - 1).to_bytes(8, "big")),
        (8, (48).to_bytes(4, "big")),
        (8, (-1).to_bytes(4, "big", signed=True)),
        (8, (1 << 30).to_bytes(4, "big")),
        (12, (EPOCH + 1).to_bytes(4, "big")),
        (12, (EPOCH - 1).to_bytes(4, "big")),
        (16, b"\x01"),
        (17, b"bad!"),
        (21, b"\x00\x20"),
        (23, (-5).to_bytes(4, "big", signed=True)),
        (61, b"?"),
    ],
)
def test_a_run_ends_before_what_needs_a_closer_look(
    kernel: Kernel, where: int, change: bytes
) -> None:
    data = replicated(6)
    positions = [position for position, _ in headers_of(data)]
    for row in (3, 5):
        run = kernel.find_replicated(at(data, positions[row] + where, change), 0, EPOCH)
        assert (run.count, run.end) == (row, positions[row])


@both_kernels
def test_a_run_begins_with_a_batch_that_may_follow(kernel: Kernel) -> None:
    data = replicated(3)
    assert kernel.find_replicated(data, 1, EPOCH) is None
    assert kernel.find_replicated(data, 0, EPOCH - 1) is None
    assert kernel.find_replicated(data, 0, EPOCH + 1).count == 3
    assert kernel.find_replicated(b"", 0, EPOCH) is None
    assert kernel.find_replicated(data[:60], 0, EPOCH) is None


@both_kernels
@given(st.binary(max_size=300))
def test_nothing_that_is_found_in_garbage_is_damaged(kernel: Kernel, garbage: bytes) -> None:
    data = replicated(2) + garbage
    run = kernel.find_replicated(data, 0, EPOCH)
    for position, header in headers_of(data[: run.end]):
        assert crc_is_valid(data, position, header)
