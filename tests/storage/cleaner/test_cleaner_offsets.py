"""Which part of a log may be cleaned, and which log is cleaned next."""

from dataclasses import replace

from moldau.config.topic import LogConfig
from moldau.storage.cleaner.cleaner_offsets import (
    DirtyLog,
    LogFacts,
    SegmentFacts,
    filthiest_first,
    find_dirty,
    needs_first_timestamps,
    needs_largest_timestamps,
)

CONFIG = LogConfig(cleanup_policy=("compact",))
NOW_MS = 1_000_000
# Three finished segments of 100 bytes and an active one.
SEGMENTS = [
    SegmentFacts(0, 100, first_timestamp=1_000, largest_timestamp=2_000),
    SegmentFacts(10, 100, first_timestamp=3_000, largest_timestamp=4_000),
    SegmentFacts(20, 100, first_timestamp=5_000, largest_timestamp=6_000),
    SegmentFacts(30, 100, first_timestamp=7_000, largest_timestamp=8_000),
]
LOG = LogFacts(
    log_start_offset=0,
    log_end_offset=40,
    last_stable_offset=40,
    segments=SEGMENTS,
)


def test_a_log_that_was_never_cleaned_is_dirty_up_to_the_active_segment() -> None:
    dirty = find_dirty(LOG, CONFIG, NOW_MS)
    assert dirty == DirtyLog(0, 30, 0, 300, is_overdue=False, is_checkpoint_invalid=False)
    assert dirty.cleanable_ratio == 1.0


def test_the_clean_part_ends_at_the_checkpoint() -> None:
    dirty = find_dirty(LOG._replace(checkpoint=20), CONFIG, NOW_MS)
    assert (dirty.first_dirty_offset, dirty.clean_bytes, dirty.cleanable_bytes) == (20, 200, 100)
    assert dirty.cleanable_ratio == 100 / 300


def test_a_segment_that_was_cleaned_in_part_counts_as_clean_and_as_cleanable() -> None:
    dirty = find_dirty(LOG._replace(checkpoint=15), CONFIG, NOW_MS)
    assert (dirty.first_dirty_offset, dirty.clean_bytes, dirty.cleanable_bytes) == (15, 200, 200)


def test_a_clean_log_has_nothing_to_clean() -> None:
    dirty = find_dirty(LOG._replace(checkpoint=30), CONFIG, NOW_MS)
    assert dirty.cleanable_bytes == 0
    assert not dirty.is_worth_cleaning(replace(CONFIG, min_cleanable_dirty_ratio=0.0))


def test_nothing_above_the_last_stable_offset_is_cleaned() -> None:
    dirty = find_dirty(LOG._replace(last_stable_offset=25), CONFIG, NOW_MS)
    assert dirty.first_uncleanable_offset == 20


def test_a_transaction_at_the_beginning_holds_up_everything() -> None:
    dirty = find_dirty(LOG._replace(last_stable_offset=5), CONFIG, NOW_MS)
    assert (dirty.first_uncleanable_offset, dirty.cleanable_bytes) == (0, 0)


def test_young_segments_wait_for_the_min_compaction_lag() -> None:
    config = replace(CONFIG, min_compaction_lag_ms=1_000)
    assert needs_largest_timestamps(config)
    assert find_dirty(LOG, config, 4_999).first_uncleanable_offset == 10
    assert find_dirty(LOG, config, 5_000).first_uncleanable_offset == 20
    assert find_dirty(LOG, config, 7_000).first_uncleanable_offset == 30


def test_a_young_segment_holds_up_the_older_records_behind_it() -> None:
    segments = [SEGMENTS[0], SEGMENTS[1]._replace(largest_timestamp=NOW_MS), *SEGMENTS[2:]]
    config = replace(CONFIG, min_compaction_lag_ms=1_000)
    dirty = find_dirty(LOG._replace(segments=segments), config, NOW_MS)
    assert dirty.first_uncleanable_offset == 10


def test_the_max_compaction_lag_makes_a_small_dirty_part_worth_cleaning() -> None:
    config = replace(CONFIG, max_compaction_lag_ms=1_000, min_cleanable_dirty_ratio=0.9)
    assert needs_first_timestamps(config)
    log = LOG._replace(checkpoint=20)
    assert not find_dirty(log, config, 6_000).is_worth_cleaning(config)
    assert find_dirty(log, config, 6_001).is_worth_cleaning(config)


def test_the_active_segment_is_never_overdue() -> None:
    config = replace(CONFIG, max_compaction_lag_ms=1_000)
    assert not find_dirty(LOG._replace(checkpoint=30), config, NOW_MS).is_overdue


def test_a_log_without_timestamps_is_never_overdue() -> None:
    segments = [segment._replace(first_timestamp=-1) for segment in SEGMENTS]
    config = replace(CONFIG, max_compaction_lag_ms=1_000)
    assert not find_dirty(LOG._replace(segments=segments), config, NOW_MS).is_overdue


def test_without_lags_no_timestamp_is_read() -> None:
    assert not needs_first_timestamps(CONFIG)
    assert not needs_largest_timestamps(CONFIG)


def test_the_dirty_ratio_must_be_exceeded() -> None:
    dirty = DirtyLog(0, 30, 50, 50, is_overdue=False, is_checkpoint_invalid=False)
    assert not dirty.is_worth_cleaning(replace(CONFIG, min_cleanable_dirty_ratio=0.5))
    assert dirty.is_worth_cleaning(replace(CONFIG, min_cleanable_dirty_ratio=0.49))


def test_a_checkpoint_outside_of_the_log_means_cleaning_from_its_start() -> None:
    for checkpoint in (4, 41):
        log = LOG._replace(log_start_offset=5, checkpoint=checkpoint)
        dirty = find_dirty(log, CONFIG, NOW_MS)
        assert (dirty.first_dirty_offset, dirty.is_checkpoint_invalid) == (5, True)


def test_the_filthiest_log_has_the_largest_share_of_dirty_bytes() -> None:
    half = DirtyLog(0, 30, 50, 50, is_overdue=True, is_checkpoint_invalid=False)
    most = DirtyLog(0, 30, 10, 50, is_overdue=False, is_checkpoint_invalid=False)
    logs = [("half", half), ("most", most), ("as much", most)]
    assert filthiest_first(logs) == ["most", "as much", "half"]
