"""Files of deletions and cleanings that were interrupted.

Deletions first rename files to ``.deleted``. The cleaner writes its result as ``.cleaned``, renames
it to ``.swap`` when it is complete and durable, and only then removes the source segments. So
``.deleted`` and ``.cleaned`` files can be removed, and a ``.swap`` file takes precedence over its
source segments. If a log was to start anew and all of its segments are ``.deleted``, an empty one
takes the place of the last: without any, the log would begin at an offset it has long left behind.
"""

import logging
from typing import Final

from moldau.config.topic import LogConfig
from moldau.storage.disk.disk import Disk
from moldau.storage.log.batch_scan import CorruptSegment, iter_batches
from moldau.storage.log.segment import DELETED_SUFFIX, LOG_SUFFIX, Segment

CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
_SUFFIXES: Final = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)
# Snapshots of the metadata log are not handled here.
_KRAFT_SNAPSHOT_DELETED: Final = ".checkpoint.deleted"

_log = logging.getLogger(__name__)


def clear_leftovers(
    disk: Disk, directory: str, names: list[str], config: LogConfig, wall_ms: int
) -> list[str]:
    """Complete or undo interrupted operations; afterwards there are only plain names.

    ``names`` are the files in the directory. Returns the files that are there afterwards.
    """
    if not any(name.endswith(_SUFFIXES) for name in names):
        return names
    _keep_place(disk, directory, names)
    cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
    # An interrupted split of a segment leaves both kinds.
    first_cleaned = min((_offset(name) for name in cleaned), default=None)
    swaps: list[str] = []
    for name in names:
        is_deleted = name.endswith(DELETED_SUFFIX) and not name.endswith(_KRAFT_SNAPSHOT_DELETED)
        if is_deleted or name in cleaned:
            disk.remove(f"{directory}/{name}")
        elif name.endswith(SWAP_SUFFIX):
            if first_cleaned is not None and _offset(name) >= first_cleaned:
                disk.remove(f"{directory}/{name}")
            else:
                swaps.append(name)
    if swaps:
        _finish_swap(disk, directory, swaps, config, wall_ms)
    return disk.list_dir(directory)


def _keep_place(disk: Disk, directory: str, names: list[str]) -> None:
    """Put an empty segment where the last one was, if all of them were being deleted."""
    if any(name.endswith((LOG_SUFFIX, LOG_SUFFIX + SWAP_SUFFIX)) for name in names):
        return
    deleted = [name for name in names if name.endswith(LOG_SUFFIX + DELETED_SUFFIX)]
    if deleted:
        last = max(deleted, key=_offset).removesuffix(DELETED_SUFFIX)
        disk.open(f"{directory}/{last}", create=True).close()


def _finish_swap(
    disk: Disk, directory: str, swaps: list[str], config: LogConfig, wall_ms: int
) -> None:
    """Replace the source segments with complete ``.swap`` segments."""
    logs = [name for name in swaps if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
    if logs:
        start = min(_offset(name) for name in logs)
        end = max(_end_offset(disk, directory, name, config, wall_ms) for name in logs)
        for name in disk.list_dir(directory):
            stem = name.partition(".")[0]
            if name in swaps or not stem.isdigit() or not start <= int(stem) < end:
                continue
            _log.info("Removing %s/%s: a cleaned segment takes its place", directory, name)
            disk.remove(f"{directory}/{name}")
    for name in swaps:
        disk.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP_SUFFIX)}")


def _end_offset(disk: Disk, directory: str, name: str, config: LogConfig, wall_ms: int) -> int:
    base_offset = _offset(name)
    segment = Segment(disk, directory, base_offset, config, wall_ms, file_suffix=SWAP_SUFFIX)
    end_offset = base_offset
    try:
        for _, header in iter_batches(segment.log, 0, segment.size):
            end_offset = header.next_offset
    except CorruptSegment as error:
        _log.error("A segment from an interrupted cleaning is damaged: %s", error)
    return end_offset


def _offset(name: str) -> int:
    stem = name.partition(".")[0]
    return int(stem) if stem.isdigit() else 0
