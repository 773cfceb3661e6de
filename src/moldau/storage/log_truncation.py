"""Truncation of a log, for a follower whose records diverged from its leader's.

Everything that refers to the records is truncated with them: segments, indexes, leader epochs,
producer state, and the cached positions of the reader.

Rules this module keeps:

* Cleaning is aborted and pending flushes are invalidated first, because the records they use are
  about to change.
* Offsets change after the files, so that nothing is stored beyond a new log end offset.
"""

import logging
from typing import TYPE_CHECKING

from moldau.storage.producer_replay import rebuild_producer_state

if TYPE_CHECKING:
    from moldau.storage.partition_log import PartitionLog

_log = logging.getLogger(__name__)


def truncate(log: "PartitionLog", offset: int) -> bool:
    """See ``PartitionLog.truncate_to``."""
    if offset < log.high_watermark:
        _log.warning(
            "Truncating %s to offset %d, below its high watermark %d",
            log.topic_partition,
            offset,
            log.high_watermark,
        )
    if offset >= log.log_end_offset:
        # An epoch may have been assigned without a batch being written.
        log.truncate_epochs(log.log_end_offset)
        return False
    if offset < log.segments.first.base_offset:
        start_anew(log, offset, offset)
        return True
    now_ms = log.now_ms()
    log.prepare_cut(offset)
    log.cleaner_checkpoint = min(log.cleaner_checkpoint, offset)
    try:
        log.discard(log.segments.remove_after(offset))
        log.segments.active.truncate_to(offset, now_ms)
        log.set_end(offset)
        log.log_start_offset = min(log.log_start_offset, offset)
        log.truncate_epochs(offset)
        rebuild_producer_state(log.producers, log.segments, log.log_start_offset, offset, now_ms)
    except OSError as error:
        raise log.storage_error(error, f"truncating to {offset}:") from error
    if log.high_watermark > offset:
        log.update_high_watermark(offset)
    return True


def start_anew(log: "PartitionLog", offset: int, log_start_offset: int) -> None:
    """See ``PartitionLog.truncate_fully_and_start_at``."""
    log.prepare_cut(offset)
    log.cleaner_checkpoint = -1
    try:
        log.discard(list(log.segments))
        log.segments.replace_all(log.new_segment(offset))
        log.set_end(offset)
        log.leader_epochs.clear()
        log.truncate_epochs(offset)
        log.producers.truncate_fully_and_start_at(offset)
    except OSError as error:
        raise log.storage_error(error, f"restarting at {offset}:") from error
    log.log_start_offset = log_start_offset
    log.update_high_watermark(offset)
