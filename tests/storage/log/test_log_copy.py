"""A copy of a log in another directory gets everything, and follows all changes of its source."""

from collections.abc import Iterator

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.leader_epochs import EpochEntry, LeaderEpochCache
from moldau.storage.log.log_copy import SLICE_BYTES, LogCopy, Slice, common_end
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.log_making import EPOCH, START_MS, append, batch, new_log, read_all

CONFIG = LogConfig(segment_bytes=1000, index_interval_bytes=100)
COPY = "/other/orders-0.00ff-future"


def pair(config: LogConfig = CONFIG) -> tuple[SimulatedDisk, PartitionLog, LogCopy]:
    disk = SimulatedDisk()
    source = new_log(disk, config)
    return disk, source, LogCopy(source, new_log(disk, config, directory=COPY))


def slices(copy: LogCopy) -> Iterator[Slice]:
    while (piece := copy.plan()) is not None:
        yield piece
        copy.copy(piece)


def finish(copy: LogCopy) -> int:
    """Copy until nothing is left; gives the number of steps."""
    return sum(1 for _ in slices(copy))


def assert_same(copy: LogCopy) -> None:
    source, future = copy.source, copy.future
    assert read_all(future) == read_all(source)
    assert (future.log_start_offset, future.log_end_offset, future.high_watermark) == (
        source.log_start_offset,
        source.log_end_offset,
        source.high_watermark,
    )
    assert future.leader_epochs.entries() == source.leader_epochs.entries()


def test_an_empty_log_needs_no_copying() -> None:
    _, _, copy = pair()
    assert copy.plan() is None


def test_a_copy_gets_every_segment_and_then_what_is_new() -> None:
    _, source, copy = pair()
    for number in range(30):
        append(source, b"%d" % number * 40)
    assert len(source.segments) > 2
    assert finish(copy) == len(source.segments)
    assert_same(copy)
    assert [s.base_offset for s in copy.future.segments] == [s.base_offset for s in source.segments]
    append(source, b"new")
    [piece] = slices(copy)
    assert piece.is_tail
    assert_same(copy)


def test_a_large_log_is_copied_in_slices_of_whole_batches() -> None:
    _, source, copy = pair(LogConfig())
    for number in range(9):
        append(source, b"%d" % number * 100_000)
    pieces = list(slices(copy))
    assert [piece.remaining_bytes for piece in pieces] == sorted(
        (piece.remaining_bytes for piece in pieces), reverse=True
    )
    assert not pieces[0].is_tail
    assert pieces[-1].is_tail
    assert_same(copy)


def test_a_batch_larger_than_a_slice_is_copied_whole() -> None:
    _, source, copy = pair(LogConfig(max_message_bytes=4 * SLICE_BYTES))
    append(source, b"small")
    append(source, b"x" * 3 * SLICE_BYTES)
    append(source, b"small")
    finish(copy)
    assert_same(copy)


def test_a_copy_begins_where_its_source_begins_now() -> None:
    _, source, copy = pair()
    append(source, *(b"%d" % number for number in range(10)))
    append(source, *(b"%d" % number for number in range(10, 20)))
    source.delete_records_before(13)
    finish(copy)
    assert_same(copy)
    assert copy.future.log_start_offset == 13
    assert copy.future.segments.first.base_offset == 10, "the batch that holds it"


def test_a_copy_follows_when_old_records_are_deleted_ahead_of_it() -> None:
    _, source, copy = pair()
    for number in range(30):
        append(source, b"%d" % number * 40)
    first = copy.plan()
    assert first is not None
    copy.copy(first)
    source.delete_records_before(28)
    source.delete_old_segments(START_MS)
    finish(copy)
    assert_same(copy)


def test_a_copy_that_has_everything_still_follows_the_start_of_the_log() -> None:
    _, source, copy = pair()
    for number in range(30):
        append(source, b"%d" % number * 40)
    finish(copy)
    source.delete_records_before(20)
    finish(copy)
    assert_same(copy)
    assert copy.future.segments.first.base_offset > 0


def test_a_source_that_lost_all_its_records_leaves_an_empty_copy_at_its_end() -> None:
    _, source, copy = pair()
    append(source, b"a", b"b", b"c")
    finish(copy)
    append(source, b"d")
    source.delete_records_before(4)
    finish(copy)
    future = copy.future
    assert (future.log_start_offset, future.high_watermark, future.log_end_offset) == (4, 4, 4)
    append(source, b"e")
    finish(copy)
    assert_same(copy)


def test_a_copy_is_cut_where_its_source_was_cut_and_rewritten_by_another_leader() -> None:
    _, source, copy = pair()
    for number in range(10):
        append(source, b"old %d" % number)
    finish(copy)
    source.truncate_to(6)
    for number in range(20):
        source.append_as_leader(batch(b"new %d" % number), EPOCH + 1, START_MS)
    source.update_high_watermark(source.log_end_offset)
    finish(copy)
    assert_same(copy)
    assert read_all(copy.future)[6] == (6, b"new 0")


def test_a_copy_is_cut_where_its_source_ends() -> None:
    _, source, copy = pair()
    append(source, b"a")
    append(source, b"b")
    finish(copy)
    source.truncate_to(1)
    finish(copy)
    assert_same(copy)


def test_producers_are_known_in_the_copy() -> None:
    _, source, copy = pair()
    for sequence in range(3):
        source.append_as_leader(batch(b"x", producer_id=7, sequence=sequence), EPOCH, START_MS)
    finish(copy)
    duplicate = batch(b"x", producer_id=7, sequence=2)
    assert copy.future.append_as_leader(duplicate, EPOCH, START_MS).is_duplicate


def test_a_damaged_batch_is_not_copied_and_nothing_after_it() -> None:
    disk, source, copy = pair()
    append(source, b"good")
    position = source.segments.active.size
    append(source, b"x" * 50)
    disk.damage(source.segments.active.log.path, position + 70, b"?")
    with pytest.raises(ApiError) as refused:
        finish(copy)
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
    assert copy.future.log_end_offset == 1


def test_a_copy_goes_on_behind_what_was_compacted_away() -> None:
    """A segment may be empty behind the last batch that was left: offsets are not given twice."""
    _, source, copy = pair()
    append(source, b"a")
    source.skip_to(5)
    finish(copy)
    assert (copy.future.log_end_offset, copy.future.segments.active.base_offset) == (5, 5)


def test_a_copy_does_not_end_at_a_segment_that_was_compacted_to_nothing() -> None:
    _, source, copy = pair()
    append(source, b"a")
    for offset in (5, 8):
        source.skip_to(offset)
    append(source, b"b")
    finish(copy)
    assert [offset for offset, _ in read_all(copy.future)] == [0, 8]
    assert_same(copy)


def test_a_copy_finds_its_place_again_when_segments_were_replaced() -> None:
    _, source, copy = pair()
    for number in range(30):
        append(source, b"%d" % number * 40)
    first = copy.plan()
    assert first is not None
    copy.copy(first)
    # What a clean restart of the source would bring: other objects, the same files.
    copy.source = new_log(source._state.context.disk, CONFIG)
    copy.source.update_high_watermark(30)
    finish(copy)
    assert_same(copy)


@pytest.mark.parametrize(
    ("future", "source", "expected"),
    [
        ([], [], 0),
        ([(1, 0)], [(1, 0)], 10),
        ([(1, 0)], [(1, 0), (2, 4)], 4),
        ([(1, 0), (2, 4)], [(1, 0), (3, 6)], 4),
        ([(1, 0), (2, 4)], [(1, 0), (2, 4)], 10),
        ([(1, 0), (2, 4)], [(2, 7)], 10),
        ([(5, 3)], [(1, 0)], 3),
    ],
)
def test_histories_part_where_another_leader_wrote(
    future: list[tuple[int, int]], source: list[tuple[int, int]], expected: int
) -> None:
    cache = LeaderEpochCache(SimulatedDisk(), "/epochs")
    for epoch, start_offset in source:
        cache._assign_in_memory(epoch, start_offset)
    entries = [EpochEntry(*entry) for entry in future]
    assert common_end(entries, 10 if future else 0, cache, 12) == expected
