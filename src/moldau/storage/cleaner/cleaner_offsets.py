"""Which part of a compacted log can be cleaned, and which log needs it most.

A compacted log has a clean tail, in which every key occurs once, followed by a dirty head:

    log start          first dirty         first uncleanable            active        end
       |---- clean ----|------- cleanable ------|------- not yet --------|------------|

A pass reads the dirty part, finds the last offset of every key in it, and rewrites clean and dirty
segments without superseded records. Afterwards the clean part extends to the end of what the pass
read, which is stored in ``cleaner-offset-checkpoint``.

Rules this module keeps:

* Records that are not final are not cleaned: those in the active segment and above the last stable
  offset. Cleanable records need not be flushed, as in Kafka: the pass flushes them
  (``cleaning_pass``).
* ``min.compaction.lag.ms`` protects recent records; ``max.compaction.lag.ms`` forces the cleaning
  of old ones even if the dirty ratio is small.
* Whole segments are cleaned, so the bounds are base offsets of segments.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from moldau.config.topic import LogConfig

UNKNOWN: Final = -1
_FOREVER: Final = (1 << 63) - 1

T = TypeVar("T")


class SegmentFacts(NamedTuple):
    """The properties of a segment that matter here. Timestamps are in milliseconds, -1 if none."""

    base_offset: int
    size_bytes: int
    first_timestamp: int = UNKNOWN
    largest_timestamp: int = UNKNOWN


class LogFacts(NamedTuple):
    """The properties of a log that matter here; its last segment is the active one."""

    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    segments: Sequence[SegmentFacts]
    # Where the last pass ended; UNKNOWN if there was none.
    checkpoint: int = UNKNOWN


class DirtyLog(NamedTuple):
    """What a pass over a log would clean."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    # A record is older than max.compaction.lag.ms.
    is_overdue: bool
    # The checkpoint is outside the log, which was truncated or recreated.
    is_checkpoint_invalid: bool

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """The dirty share of the bytes that a pass would read."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    def is_worth_cleaning(self, config: LogConfig) -> bool:
        if self.cleanable_bytes == 0:
            return False
        return self.is_overdue or self.cleanable_ratio > config.min_cleanable_dirty_ratio


def needs_first_timestamps(config: LogConfig) -> bool:
    """Whether ``find_dirty`` uses ``SegmentFacts.first_timestamp``, which costs a read."""
    return config.max_compaction_lag_ms < _FOREVER


def needs_largest_timestamps(config: LogConfig) -> bool:
    """Whether ``find_dirty`` uses ``SegmentFacts.largest_timestamp``."""
    return config.min_compaction_lag_ms > 0


def find_dirty(log: LogFacts, config: LogConfig, wall_ms: int) -> DirtyLog:
    """The beginning, end and size of the dirty part."""
    first_dirty = log.checkpoint if log.checkpoint != UNKNOWN else log.log_start_offset
    is_invalid = not log.log_start_offset <= first_dirty <= log.log_end_offset
    if is_invalid:
        # Cleaning too much costs only time.
        first_dirty = log.log_start_offset

    bound = min(
        log.last_stable_offset,
        _first_too_young(log, first_dirty, config.min_compaction_lag_ms, wall_ms),
    )
    first_uncleanable = _base_at_or_before(log.segments, bound)
    clean_bytes = 0
    cleanable_bytes = 0
    first_base = min(_base_at_or_before(log.segments, first_dirty), first_uncleanable)
    for segment in log.segments:
        if segment.base_offset < first_dirty:
            clean_bytes += segment.size_bytes
        if first_base <= segment.base_offset < first_uncleanable:
            cleanable_bytes += segment.size_bytes
    return DirtyLog(
        first_dirty,
        max(first_dirty, first_uncleanable),
        clean_bytes,
        cleanable_bytes,
        _is_overdue(log, first_dirty, config.max_compaction_lag_ms, wall_ms),
        is_invalid and log.checkpoint != UNKNOWN,
    )


def _dirty_inactive(log: LogFacts, first_dirty: int) -> list[SegmentFacts]:
    first_base = _base_at_or_before(log.segments, first_dirty)
    return [segment for segment in log.segments[:-1] if segment.base_offset >= first_base]


def _first_too_young(log: LogFacts, first_dirty: int, min_lag_ms: int, wall_ms: int) -> int:
    """The base offset of the first segment with a record within ``min.compaction.lag.ms``."""
    if min_lag_ms > 0:
        for segment in _dirty_inactive(log, first_dirty):
            if segment.largest_timestamp > wall_ms - min_lag_ms:
                return segment.base_offset
    return log.segments[-1].base_offset


def _is_overdue(log: LogFacts, first_dirty: int, max_lag_ms: int, wall_ms: int) -> bool:
    return max_lag_ms < _FOREVER and any(
        0 < segment.first_timestamp < wall_ms - max_lag_ms
        for segment in _dirty_inactive(log, first_dirty)
    )


def _base_at_or_before(segments: Sequence[SegmentFacts], offset: int) -> int:
    """The base offset of the segment that contains ``offset``; of the first if it is before all."""
    found = segments[0].base_offset
    for segment in segments:
        if segment.base_offset > offset:
            break
        found = segment.base_offset
    return found


def filthiest_first(logs: Iterable[tuple[T, DirtyLog]]) -> list[T]:
    """The logs by descending dirty ratio; the order of equal ones is kept."""
    ordered = sorted(logs, key=lambda item: item[1].cleanable_ratio, reverse=True)
    return [log for log, _ in ordered]
