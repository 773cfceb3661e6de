"""A broker starts although bits have flipped in records that were flushed long ago."""

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.record.header import BatchHeader, iter_headers
from moldau.simulator.disk import SimulatedDisk
from tests.storage.log.test_transactions import Writer
from tests.storage.log_making import DIRECTORY, append, new_log, reopened

# Four batches each: two of a transaction, its marker, and a plain one.
CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)
SEGMENTS = 4
FIRST = f"{DIRECTORY}/{0:020d}.log"
LAST = f"{DIRECTORY}/{12:020d}.log"
LENGTH_AT = 9
END_OFFSET = 16


def written() -> SimulatedDisk:
    """A log that is flushed and closed, with one transaction of another producer per segment."""
    disk = SimulatedDisk()
    log = new_log(disk, CONFIG)
    for number in range(SEGMENTS):
        writer = Writer(log, producer_id=100 + number)
        writer.write(b"a" * 50)
        writer.write(b"b" * 50)
        writer.end()
        append(log, b"plain" * 10)
    assert [each.base_offset for each in log.segments] == [0, 4, 8, 12]
    assert log.log_end_offset == END_OFFSET
    log.flush()
    log.close()
    return disk


def batches(disk: SimulatedDisk, path: str) -> list[tuple[int, BatchHeader]]:
    return list(iter_headers(disk.read_bytes(path)))


def flip(disk: SimulatedDisk, path: str, position: int) -> None:
    disk.damage(path, position, bytes([disk.read_bytes(path)[position] ^ 1]))


def lose_snapshots(disk: SimulatedDisk) -> None:
    for name in disk.list_dir(DIRECTORY):
        if name.endswith(".snapshot"):
            disk.remove(f"{DIRECTORY}/{name}")


@pytest.mark.parametrize("is_clean", [True, False])
def test_producers_are_found_around_a_damaged_batch(is_clean: bool) -> None:
    disk = written()
    second, _ = batches(disk, FIRST)[1]
    flip(disk, FIRST, second + LENGTH_AT)
    lose_snapshots(disk)
    log = reopened(disk, CONFIG, clean=is_clean, recovery_point=END_OFFSET)
    assert log.log_end_offset == END_OFFSET
    known = [each.producer_id for each in log.producers.active_producers()]
    assert known == [100, 101, 102, 103]
    log.update_high_watermark(END_OFFSET)
    with pytest.raises(ApiError) as error:
        log.read(1, 1 << 20, max_offset=END_OFFSET)
    assert error.value.code == ErrorCode.CORRUPT_MESSAGE
    # The marker of its transaction comes after the damage.
    assert log.last_stable_offset == END_OFFSET


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_damaged_marker_leaves_its_transaction_open_until_another_one_ends_it(
    is_clean: bool,
) -> None:
    """Whose transaction it ended is not certain, and nobody must read what is not committed."""
    disk = written()
    marker, header = batches(disk, FIRST)[2]
    assert header.is_control
    flip(disk, FIRST, marker + header.size_bytes - 1)
    lose_snapshots(disk)
    log = reopened(disk, CONFIG, clean=is_clean, recovery_point=END_OFFSET)
    log.update_high_watermark(END_OFFSET)
    assert (log.log_end_offset, log.last_stable_offset) == (END_OFFSET, 0)
    Writer(log, producer_id=100).end()
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == log.log_end_offset


def test_recovery_cuts_the_last_segment_at_a_damaged_marker() -> None:
    """As at any other damage in the segment that is recovered."""
    disk = written()
    marker, header = batches(disk, LAST)[2]
    flip(disk, LAST, marker + header.size_bytes - 1)
    log = reopened(disk, CONFIG, clean=False, recovery_point=END_OFFSET)
    assert log.log_end_offset == header.base_offset


def test_one_flipped_bit_anywhere_in_the_records_does_not_keep_a_log_closed() -> None:
    for segment in range(SEGMENTS):
        path = f"{DIRECTORY}/{4 * segment:020d}.log"
        for position in range(0, written().size(path), 11):
            for is_clean in (True, False):
                disk = written()
                flip(disk, path, position)
                lose_snapshots(disk)
                log = reopened(disk, CONFIG, clean=is_clean, recovery_point=END_OFFSET)
                assert log.log_start_offset == 0
