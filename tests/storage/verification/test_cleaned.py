"""The results of the log cleaner are valid: gaps, emptied batches, merged segments."""

import random
from dataclasses import replace

import pytest

from moldau.clock import ManualClock
from moldau.record.compression import Codec
from moldau.record.control import ControlType
from moldau.record.records import BatchBuilder
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk import checkpoint
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.verification.findings import Tally
from tests.storage.cleaner.log_cleaning import COMPACT, clean, roll, write
from tests.storage.log_making import START_MS, TOPIC_PARTITION, new_log
from tests.storage.verification.healthy import (
    LOG_DIR,
    batches,
    damages,
    end_transaction,
    finish,
    flip,
    logs,
    verify,
    write_in_transaction,
)

EPOCH = 3


def cleaned(seed: int) -> SimulatedDisk:
    """A log that was written to and cleaned a few times, with values of a few keys."""
    rng = random.Random(seed)
    disk, clock = SimulatedDisk(), ManualClock(START_MS)
    log = new_log(disk, replace(COMPACT, file_delete_delay_ms=0), clock=clock)
    for _ in range(3):
        for _ in range(rng.randrange(5, 20)):
            _write(log, rng, clock.wall_ms())
        log.update_high_watermark(log.log_end_offset)
        log.roll()
        _write(log, rng, clock.wall_ms())
        log.update_high_watermark(log.log_end_offset)
        clean(log, disk, clock)
        clock.advance(2000)
        log.remove_deleted_files(clock.monotonic_ms())
    log.flush()
    path = f"{LOG_DIR}/{checkpoint.CLEANER_OFFSET_CHECKPOINT}"
    checkpoint.write_offsets(disk, path, {TOPIC_PARTITION: log.segments.active.base_offset})
    finish(disk, log)
    return disk


def _write(log: PartitionLog, rng: random.Random, now_ms: int) -> None:
    if rng.random() < 0.3:
        producer_id = rng.choice([7, 8])
        write_in_transaction(log, producer_id, EPOCH)
        kind = rng.choice([ControlType.ABORT, ControlType.COMMIT])
        end_transaction(log, producer_id, kind, EPOCH)
        return
    builder = BatchBuilder(codec=rng.choice(list(Codec)))
    for _ in range(rng.randrange(1, 6)):
        value = None if rng.random() < 0.2 else rng.randbytes(20)
        builder.append(now_ms + rng.randrange(50), b"key %d" % rng.randrange(6), value)
    log.append_as_leader(builder.build(), EPOCH, now_ms)


@pytest.mark.parametrize("seed", range(25))
def test_a_cleaned_log_is_sound(seed: int) -> None:
    tally = Tally()
    disk = cleaned(seed)
    assert verify(disk, tally=tally) == []
    ends = checkpoint.read_offsets(disk, f"{LOG_DIR}/{checkpoint.RECOVERY_POINT_CHECKPOINT}")
    assert tally.records < ends[TOPIC_PARTITION], "nothing was cleaned"


def test_it_is_known_for_compacted_by_what_it_holds() -> None:
    """A batch with fewer records than offsets is a cleaner's: its gaps are no loss."""
    disk, clock = SimulatedDisk(), ManualClock(START_MS)
    log = new_log(disk, COMPACT, clock=clock)
    write(log, (b"a", b"1"), (b"b", b"1"))
    write(log, (b"b", b"2"))
    write(log, (b"b", b"3"))
    roll(log)
    clean(log, disk, clock)
    log.remove_deleted_files(clock.monotonic_ms() + COMPACT.file_delete_delay_ms)
    log.flush()
    finish(disk, log)
    disk.remove(f"{LOG_DIR}/{checkpoint.CLEANER_OFFSET_CHECKPOINT}", missing_ok=True)
    assert [(h.base_offset, h.record_count) for _, h in batches(disk)] == [(0, 1), (3, 1)]
    assert verify(disk) == []


def test_a_flip_in_it_is_found() -> None:
    disk = cleaned(2)
    for path in logs(disk):
        for start, header in batches(disk, path):
            copy = disk.fork()
            flip(copy, path, start + header.size_bytes - 1)
            assert [(each.path, each.position) for each in damages(copy)] == [(path, start)]
