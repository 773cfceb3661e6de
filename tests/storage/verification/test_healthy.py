"""There are no findings for a directory in the state that a broker leaves."""

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.verification.findings import Options, Severity, Tally
from moldau.storage.verification.log_dir_check import Target, TopicFacts
from tests.storage.log_making import DIRECTORY, START_MS, append, new_log, reopened
from tests.storage.verification.healthy import (
    CONFIG,
    LOG_DIR,
    TOPIC_ID,
    batches,
    finish,
    healthy,
    logs,
    verify,
    write_sample,
)


def test_a_directory_that_was_closed_is_sound() -> None:
    disk = healthy()
    tally = Tally()
    assert verify(disk, topics={"orders": TopicFacts(TOPIC_ID, False)}, tally=tally) == []
    assert len(logs(disk)) > 3
    assert tally.partitions == 1
    assert tally.segments == len(logs(disk))
    assert tally.bytes == sum(map(disk.size, logs(disk)))
    assert tally.batches == sum(len(batches(disk, path)) for path in logs(disk))
    assert tally.records > tally.batches
    assert tally.index_entries > tally.segments
    assert tally.snapshots > 1


def test_one_partition_of_it_is_sound() -> None:
    assert verify(healthy(), Target(LOG_DIR, frozenset(["orders-0"]))) == []


def test_a_directory_whose_broker_was_killed_is_sound() -> None:
    disk = healthy(was_clean=False)
    assert verify(disk) == []


@pytest.mark.parametrize("seed", range(20))
def test_after_a_power_cut_there_are_at_most_notes(seed: int) -> None:
    disk = healthy(was_clean=False).fork(seed)
    disk.crash()
    found = verify(disk)
    assert [each for each in found if each.severity is Severity.DAMAGE] == []


@pytest.mark.parametrize("seed", range(5))
def test_what_recovery_made_of_a_power_cut_is_sound(seed: int) -> None:
    disk = healthy(was_clean=False).fork(seed)
    disk.crash()
    log = reopened(disk, CONFIG)
    write_sample(log, epoch=6)
    log.flush()
    finish(disk, log)
    assert verify(disk) == []


def test_a_log_that_lost_its_beginning_to_retention_is_sound() -> None:
    disk, clock = SimulatedDisk(), ManualClock(START_MS)
    log = new_log(disk, CONFIG, clock=clock)
    write_sample(log, epoch=3)
    write_sample(log, epoch=4)
    # The start lies in the middle of a transaction and in the middle of a batch.
    log.delete_records_before(27)
    log.delete_old_segments(START_MS)
    log.remove_deleted_files(clock.monotonic_ms())
    log.delete_records_before(log.segments.first.base_offset + 1)
    log.flush()
    finish(disk, log)
    assert verify(disk) == []


def test_an_empty_log_is_sound() -> None:
    disk = SimulatedDisk()
    log = new_log(disk)
    finish(disk, log)
    assert verify(disk) == []


def test_records_without_a_time_and_from_1970_are_sound() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, LogConfig(message_timestamp_after_max_ms=2**62))
    for timestamp in (-1, 0):
        append(log, b"old", timestamp=timestamp)
    log.flush()
    finish(disk, log)
    assert verify(disk) == []


def test_log_append_time_is_taken_for_what_it_is() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, LogConfig(message_timestamp_type="LogAppendTime"))
    append(log, b"one", b"two", timestamp=START_MS - 1000)
    log.flush()
    finish(disk, log)
    assert verify(disk) == []


def test_indexes_with_room_at_their_end_are_sound() -> None:
    """Apache Kafka gives them their full size at once, and a crash leaves them so."""
    disk = healthy(was_clean=False)
    for name in disk.list_dir(DIRECTORY):
        if name.endswith(("index", "timeindex")) and not name.endswith(".txnindex"):
            path = f"{DIRECTORY}/{name}"
            unit = 12 if name.endswith(".timeindex") else 8
            disk.open(path).append([bytes(unit * 20_000)])
    assert verify(disk) == []


def test_quick_reads_no_records_and_finds_the_same_nothing() -> None:
    assert verify(healthy(), options=Options(opens_batches=False)) == []
