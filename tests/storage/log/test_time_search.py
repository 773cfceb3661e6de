"""Offsets by timestamp, and timestamps by offset."""

from dataclasses import replace

from tests.storage.log_making import (
    EPOCH,
    SMALL_SEGMENTS,
    START_MS,
    append,
    new_log,
)


def test_offsets_are_found_by_time() -> None:
    log = new_log(config=replace(SMALL_SEGMENTS, index_interval_bytes=0))
    for number in range(30):
        append(log, b"x" * 50, b"y", timestamp=START_MS + 100 * number)
    assert len(log.segments) > 3
    for number in range(30):
        for delta, offset in ((0, 0), (1, 1), (2, 2)):
            found = log.offset_for_timestamp(START_MS + 100 * number + delta)
            if 2 * number + offset == 60:
                assert found is None
            else:
                assert found is not None
                assert found.offset == 2 * number + offset
                assert found.leader_epoch == EPOCH
    assert log.offset_for_timestamp(START_MS + 10**6) is None
    first = log.offset_for_timestamp(0)
    assert first is not None
    assert (first.offset, first.timestamp) == (0, START_MS)


def test_a_search_by_time_does_not_see_deleted_records() -> None:
    log = new_log()
    append(log, b"a", b"b", b"c")
    log.delete_records_before(2)
    found = log.offset_for_timestamp(0)
    assert found is not None
    assert found.offset == 2


def test_the_largest_timestamp_is_found_wherever_it_is() -> None:
    log = new_log(config=SMALL_SEGMENTS)
    assert log.max_timestamp() is None
    for number, timestamp in enumerate((10, 40, 20, 40, 5, 30)):
        append(log, b"%d" % number * 150, timestamp=timestamp)
    found = log.max_timestamp()
    assert found is not None
    assert (found.timestamp, found.offset) == (40, 1)
    assert (log.earliest().offset, log.latest().offset) == (0, 6)
    assert log.latest().leader_epoch == EPOCH
