"""Deletion of old segments (``retention.ms``, ``retention.bytes``).

Retention deletes whole segments, oldest first, and never beyond the high watermark: records that
are not yet replicated are kept. The rules apply one after the other, as in Kafka, because each
deletion makes the log smaller for the next rule.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from moldau.storage.segment import Segment

if TYPE_CHECKING:
    from moldau.storage.partition_log import PartitionLog

_log = logging.getLogger(__name__)

# Whether a segment may be deleted, given the segment that follows it.
_Rule = Callable[[Segment, Segment | None], bool]


def roll_if_overdue(log: "PartitionLog", now_ms: int) -> None:
    """Roll the active segment if ``segment.ms`` has passed and no append has rolled it.

    Only inactive segments can be compacted, and retention deletes whole segments.
    """
    if log.segments.active.is_overdue(now_ms, log.config):
        _log.debug("%s: rolling a quiet log", log.topic_partition)
        log.roll()


def delete_old_segments(log: "PartitionLog", now_ms: int) -> int:
    """Apply the retention settings of the log; returns the number of deleted segments."""
    config = log.config

    def is_below_start(_: Segment, following: Segment | None) -> bool:
        return following is not None and following.base_offset <= log.log_start_offset

    deleted = _delete(log, is_below_start, f"log start offset {log.log_start_offset}")
    if "delete" not in config.cleanup_policy:
        return deleted

    excess = log.size_bytes - config.retention_bytes

    def is_too_much(segment: Segment, _: Segment | None) -> bool:
        nonlocal excess
        if excess < segment.size:
            return False
        excess -= segment.size
        return True

    if config.retention_bytes >= 0 and excess >= 0:
        deleted += _delete(log, is_too_much, f"retention.bytes={config.retention_bytes}")

    def is_too_old(segment: Segment, _: Segment | None) -> bool:
        return now_ms - segment.largest_timestamp > config.retention_ms

    if config.retention_ms >= 0:
        deleted += _delete(log, is_too_old, f"retention.ms={config.retention_ms}")
    return deleted


def _delete(log: "PartitionLog", rule: _Rule, reason: str) -> int:
    count = 0
    segments = list(log.segments)
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        end_offset = following.base_offset if following is not None else log.log_end_offset
        is_empty_end = following is None and segment.size == 0
        if is_empty_end or log.high_watermark < end_offset or not rule(segment, following):
            break
        count += 1
    if count:
        _log.info("%s: deleting %d segments for %s", log.topic_partition, count, reason)
        log.remove_segments(count)
    return count
