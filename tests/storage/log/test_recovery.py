"""Opening a partition's directory after every kind of shutdown."""

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID
from moldau.record.header import iter_headers
from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.disk.checkpoint import LEADER_EPOCH_CHECKPOINT, write_partition_metadata
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.log_making import (
    DIRECTORY,
    EPOCH,
    START_MS,
    append,
    batch,
    data_of,
    new_log,
    read_all,
    reopened,
)

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)
EPOCHS = f"{DIRECTORY}/{LEADER_EPOCH_CHECKPOINT}"


def path(base_offset: int, suffix: str = ".log") -> str:
    return f"{DIRECTORY}/{base_offset:020d}{suffix}"


def written(disk: SimulatedDisk, count: int = 12, config: LogConfig = CONFIG) -> PartitionLog:
    """A log with ``count`` batches of one record and a few segments."""
    log = new_log(disk, config)
    for number in range(count):
        append(log, b"%02d" % number * 60, timestamp=START_MS + number)
    return log


def indexes_of(log: PartitionLog) -> list[tuple[bytes, bytes]]:
    """What the index files of every segment hold."""
    found = []
    for segment in log.segments:
        segment.close()
        disk = segment._disk
        found.append(
            (
                disk.read_bytes(segment.offset_index.path),
                disk.read_bytes(segment.time_index.path),
            )
        )
    return found


def test_a_clean_stop_leaves_nothing_to_recover() -> None:
    disk = SimulatedDisk()
    log = written(disk)
    expected = read_all(log)
    log.flush()
    log.close()
    operations = disk.operations
    again = reopened(disk, CONFIG, clean=True)
    assert disk.operations - operations <= 2
    assert (again.log_end_offset, again.recovery_point) == (12, 12)
    assert read_all(again) == expected
    assert append(again, b"next") == 12
    assert again.leader_epochs.latest_epoch == EPOCH


@pytest.mark.parametrize("is_flushed", [True, False])
def test_what_is_recovered_of_a_flushed_topic_is_on_the_device(is_flushed: bool) -> None:
    """The next client may be told that it is there."""
    config = replace(CONFIG, flush_messages=1) if is_flushed else CONFIG
    disk = SimulatedDisk()
    written(disk, config=config)
    disk.kill()
    assert reopened(disk, config).log_end_offset == 12
    disk.crash(keep_nothing)
    assert (reopened(disk, config).log_end_offset == 12) is is_flushed


def test_an_empty_directory_becomes_an_empty_log() -> None:
    disk = SimulatedDisk()
    log = reopened(disk, CONFIG)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (0, 0, 1)
    names = disk.list_dir(DIRECTORY)
    assert names == [f"{0:020d}{suffix}" for suffix in (".index", ".log", ".timeindex")]


def test_an_empty_log_starts_where_the_checkpoint_says() -> None:
    log = reopened(SimulatedDisk(), CONFIG, log_start_offset=40)
    assert (log.log_start_offset, log.log_end_offset) == (40, 40)


def test_a_torn_batch_at_the_end_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    disk = SimulatedDisk()
    log = written(disk)
    expected = read_all(log)
    last = log.segments.active.base_offset
    disk.open(path(last)).append([batch(b"torn")[:50]])
    with caplog.at_level(logging.WARNING):
        again = reopened(disk, CONFIG, recovery_point=log.recovery_point)
    assert read_all(again) == expected
    assert "cut 50 bytes of an unfinished write" in caplog.text
    assert path(last) in caplog.text
    assert disk.size(path(last)) == again.segments.active.size


def test_indexes_and_producers_are_rebuilt_as_they_were() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, CONFIG)
    for number in range(12):
        log.append_as_leader(
            batch(b"x" * 100, producer_id=8, sequence=number, timestamp=START_MS + number),
            number // 5,
            START_MS,
        )
    epochs = log.leader_epochs.entries()
    for name in disk.list_dir(DIRECTORY):
        if not name.endswith(".log"):
            disk.remove(f"{DIRECTORY}/{name}")
    again = reopened(disk, CONFIG)
    assert again.leader_epochs.entries() == epochs
    entry = again.producers.entry(8)
    assert entry is not None
    assert (entry.next_sequence, entry.last_offset) == (12, 11)
    assert indexes_of(again) == indexes_of(log)


@pytest.mark.parametrize("seed", range(8))
def test_an_open_transaction_survives_a_clean_stop_and_a_power_cut(seed: int) -> None:
    """The names of new files are not durable, also not that of the snapshot of producers."""
    disk = SimulatedDisk(seed)
    disk.make_dirs("/data")
    disk.sync_dir("/")
    log = new_log(disk)
    records = batch(b"a", producer_id=7, sequence=0, transactional=True)
    log.append_as_leader(records, EPOCH, START_MS)
    log.flush()
    log.close()
    disk.crash(keep_nothing, lose_names=True)
    again = reopened(disk, clean=True)
    again.update_high_watermark(1)
    assert again.log_end_offset == 1
    assert again.last_stable_offset == 0


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    ("suffix", "how"),
    [
        (".index", "missing"),
        (".index", "odd size"),
        (".index", "points behind the end"),
        (".timeindex", "missing"),
        (".timeindex", "odd size"),
    ],
)
def test_damaged_indexes_are_rebuilt(clean: bool, suffix: str, how: str) -> None:
    disk = SimulatedDisk()
    log = written(disk)
    expected = indexes_of(log)
    log.flush()
    log.close()
    if how == "missing":
        disk.remove(path(0, suffix))
    elif how == "odd size":
        disk.open(path(0, suffix)).append([b"abc"])
    else:
        disk.damage(path(0, suffix), disk.size(path(0, suffix)) - 4, b"\x00\xff\xff\xff")
    again = reopened(disk, CONFIG, clean=clean, recovery_point=12)
    assert indexes_of(again) == expected
    assert again.log_end_offset == 12


def test_index_files_without_a_log_are_removed() -> None:
    disk = SimulatedDisk()
    written(disk)
    disk.open(path(777, ".index"), create=True)
    disk.open(path(777, ".txnindex"), create=True)
    reopened(disk, CONFIG)
    assert not any("777" in name for name in disk.list_dir(DIRECTORY))


def test_only_segments_from_the_recovery_point_on_are_read() -> None:
    disk = SimulatedDisk()
    log = written(disk)
    disk.damage(path(0), 70, b"damage")
    again = reopened(disk, CONFIG, recovery_point=log.recovery_point)
    assert again.log_end_offset == 12
    assert len(again.segments) == len(log.segments)


def test_bad_bytes_in_the_middle_cut_the_log_there(caplog: pytest.LogCaptureFixture) -> None:
    disk = SimulatedDisk()
    log = written(disk)
    second = log.segments[1].base_offset
    disk.damage(path(second), 70, b"damage")
    with caplog.at_level(logging.WARNING):
        again = reopened(disk, CONFIG, recovery_point=0)
    assert again.log_end_offset == second
    assert [offset for offset, _ in read_all(again)] == list(range(second))
    report = next(r.getMessage() for r in caplog.records if "bad bytes" in r.getMessage())
    assert path(second) in report
    assert "at position 0 " in report
    assert f"from offset {second + 1} " in report
    assert "Remedy" in report
    assert all(int(name[:20]) <= second for name in disk.list_dir(DIRECTORY) if name[0] == "0")


def test_a_missing_end_of_a_segment_is_a_gap_that_nothing_may_follow() -> None:
    disk = SimulatedDisk()
    log = written(disk)
    first = log.segments.first
    one_batch = len(data_of(log.read(0, 1 << 20, max_offset=1)))
    disk.open(path(0)).truncate(one_batch)
    assert first.size > one_batch
    again = reopened(disk, CONFIG)
    assert [offset for offset, _ in read_all(again)] == [0]
    assert append(again, b"next") == 1


@pytest.mark.parametrize("policy", ["compact", "delete"])
def test_gaps_are_normal_in_logs_that_are_or_were_compacted(policy: str) -> None:
    disk = SimulatedDisk()
    log = written(disk)
    disk.open(path(0)).truncate(len(data_of(log.read(0, 1 << 20, max_offset=1))))
    config = replace(CONFIG, cleanup_policy=(policy,))
    again = reopened(disk, config, was_cleaned=policy == "delete")
    assert again.log_end_offset == 12
    assert [offset for offset, _ in read_all(again)] == [0, *range(log.segments[1].base_offset, 12)]
    # A read of an offset that is gone begins at the next one there is.
    second = log.segments[1].base_offset
    data = data_of(again.read(1, 1 << 20, max_offset=12))
    assert next(iter_headers(data))[1].base_offset == second


@pytest.mark.parametrize("position", [0, 6, 17, 30, 61, 80])
def test_flushed_bytes_that_went_bad_are_named_and_never_served(
    position: int, caplog: pytest.LogCaptureFixture
) -> None:
    disk = SimulatedDisk()
    log = written(disk, config=LogConfig())
    log.flush()
    log.close()
    size = disk.size(path(0)) // 12
    disk.damage(path(0), 5 * size + position, b"\xee\xee")
    again = reopened(disk, LogConfig(), clean=True)
    good = data_of(again.read(0, 1 << 20, max_offset=12))
    assert [header.base_offset for _, header in iter_headers(good)] == [0, 1, 2, 3, 4]
    assert len(good) == 5 * size
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            again.read(5, 1 << 20, max_offset=12)
        assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
        assert f"{path(0)} at position {5 * size}" in str(refused.value)
        assert "Remedy" in str(refused.value)
    reports = [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR]
    assert len(reports) == 1
    assert f"valid batches follow from offset 6 at position {6 * size}" in reports[0]
    # What lies behind the damage can still be had, if the way there can be found.
    if position >= 17:
        assert [offset for offset, _ in read_all(again, 6)] == list(range(6, 12))


def test_a_bad_batch_in_a_flushed_segment_that_is_read_by_time_is_named() -> None:
    disk = SimulatedDisk()
    log = written(disk, config=LogConfig())
    log.flush()
    log.close()
    size = disk.size(path(0)) // 12
    disk.damage(path(0), 5 * size + 70, b"\xee\xee")
    again = reopened(disk, LogConfig(), clean=True)
    with pytest.raises(ApiError) as refused:
        again.offset_for_timestamp(START_MS + 5)
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    found = again.offset_for_timestamp(START_MS + 6)
    assert found is not None
    assert found.offset == 6


def test_a_clean_stop_with_a_damaged_end_is_recovered_all_the_same() -> None:
    disk = SimulatedDisk()
    log = written(disk, config=LogConfig())
    log.flush()
    log.close()
    size = disk.size(path(0)) // 12
    disk.damage(path(0), 11 * size + 8, b"\xff\xff\xff\xff")
    again = reopened(disk, LogConfig(), clean=True)
    assert again.log_end_offset == 11


def test_a_log_that_ends_before_its_start_is_emptied() -> None:
    disk = SimulatedDisk()
    written(disk)
    log = reopened(disk, CONFIG, log_start_offset=50)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (50, 50, 1)
    assert append(log, b"next") == 50


def test_the_start_offset_of_the_checkpoint_holds() -> None:
    disk = SimulatedDisk()
    written(disk)
    log = reopened(disk, CONFIG, log_start_offset=5)
    assert [offset for offset, _ in read_all(log)] == list(range(5, 12))
    earliest = log.leader_epochs.earliest_entry
    assert earliest is not None
    assert earliest.start_offset == 5


def test_what_was_being_deleted_or_cleaned_goes() -> None:
    disk = SimulatedDisk()
    log = written(disk)
    expected = read_all(log)
    for name in (path(90, ".log.deleted"), path(0, ".log.cleaned"), path(0, ".snapshot.deleted")):
        disk.open(name, create=True).append([b"leftover"])
    # Snapshots of the metadata log are not ours.
    kraft = f"{DIRECTORY}/{9:020d}-{1:010d}.checkpoint.deleted"
    disk.open(kraft, create=True)
    assert read_all(reopened(disk, CONFIG)) == expected
    left = [name for name in disk.list_dir(DIRECTORY) if name.count(".") > 1]
    assert left == [kraft.rpartition("/")[2]]


def test_a_finished_cleaning_takes_the_place_of_its_sources() -> None:
    disk = SimulatedDisk()
    log = written(disk)
    third = log.segments[2].base_offset
    kept = data_of(log.read(third - 1, 1 << 20, max_offset=third))
    disk.open(path(0, ".log.swap"), create=True).append([kept])
    disk.open(path(0, ".index.swap"), create=True)
    compacted = replace(CONFIG, cleanup_policy=("compact",))
    again = reopened(disk, compacted)
    assert [offset for offset, _ in read_all(again)] == list(range(third - 1, 12))
    assert [s.base_offset for s in again.segments][:2] == [0, third]


@pytest.mark.parametrize("contents", [b"nonsense\n", None])
@pytest.mark.parametrize("is_clean", [False, True])
def test_epochs_whose_file_is_lost_are_read_again_from_the_batches(
    contents: bytes | None, is_clean: bool
) -> None:
    disk = SimulatedDisk()
    log = written(disk)
    log.append_as_leader(batch(b"of the next leader"), EPOCH + 1, START_MS)
    log.flush()
    log.close()
    epochs = log.leader_epochs.entries()
    if contents is None:
        disk.remove(EPOCHS)
    else:
        disk.write_atomically(EPOCHS, contents)
    again = reopened(disk, CONFIG, clean=is_clean, recovery_point=13)
    assert [tuple(entry) for entry in epochs] == [(EPOCH, 0), (EPOCH + 1, 12)]
    assert again.leader_epochs.entries() == epochs
    again.close()
    assert reopened(disk, CONFIG, clean=True).leader_epochs.entries() == epochs


@pytest.mark.parametrize("is_clean", [False, True])
def test_nothing_that_was_flushed_is_cut_off_to_learn_the_epochs(
    caplog: pytest.LogCaptureFixture, is_clean: bool
) -> None:
    disk = SimulatedDisk()
    log = written(disk)
    log.flush()
    log.close()
    disk.remove(EPOCHS)
    second = log.segments[1]
    disk.damage(second.log.path, 0, bytes(40))
    again = reopened(disk, CONFIG, clean=is_clean, recovery_point=12)
    assert (again.log_end_offset, again.size_bytes) == (12, log.size_bytes)
    assert again.end_offset_for_epoch(EPOCH) == (EPOCH, 12)
    assert f"are not known: corrupt batch in {second.log.path}" in caplog.text


def test_the_topic_id_comes_from_the_partitions_metadata() -> None:
    disk = SimulatedDisk()
    written(disk)
    assert reopened(disk, CONFIG).topic_id == NO_UUID
    write_partition_metadata(disk, DIRECTORY, b"0123456789abcdef")
    assert reopened(disk, CONFIG).topic_id == b"0123456789abcdef"


def all_cuts(size: int) -> Iterator[int]:
    yield from range(0, size, 7)
    yield size


def test_a_write_torn_at_any_byte_is_cut_to_the_last_whole_batch() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, CONFIG)
    for number in range(3):
        append(log, b"%d" % number * 40)
    whole = disk.read_bytes(path(0))
    ends = [position + h.size_bytes for position, h in iter_headers(whole)]
    for cut in all_cuts(len(whole)):
        torn = disk.fork()
        torn.open(path(0)).truncate(cut)
        again = reopened(torn, CONFIG)
        assert again.log_end_offset == sum(end <= cut for end in ends)
        assert again.segments.active.size == max([0, *(end for end in ends if end <= cut)])
