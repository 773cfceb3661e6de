"""Opening all logs of one log directory at broker startup.

After an unclean shutdown this takes most of the startup time, because all batches that were not
flushed are read. So logs are opened in parallel, and a slow startup logs its progress every few
seconds.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

from moldau.config.topic import LogConfig
from moldau.ids import METADATA_TOPIC, NO_UUID, TopicPartition, new_uuid
from moldau.storage.disk.checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    CorruptCheckpoint,
    has_clean_shutdown,
    read_offsets,
    remove_clean_shutdown,
)
from moldau.storage.log.log_context import LogContext
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.recovery import open_log
from moldau.storage.log_dirs import (
    DELETE,
    STRAY,
    PartitionDirectory,
    parse_directory,
    suffixed_name,
)

ConfigFor = Callable[[str], LogConfig]
IsStray = Callable[[TopicPartition, bytes], bool]

_PROGRESS_EVERY_MS: Final = 3000

_log = logging.getLogger(__name__)


class LoadedDirectory:
    """The contents of a log directory."""

    def __init__(self, was_clean: bool) -> None:
        self.was_clean = was_clean
        self.logs: list[PartitionLog] = []
        # Partitions that were deleted before the shutdown.
        self.to_remove: list[str] = []
        # The checkpoints of the last run, by file name.
        self.checkpoints: dict[str, dict[TopicPartition, int]] = {}


def load_directory(
    context: LogContext, log_dir: str, config_for: ConfigFor, is_stray: IsStray | None
) -> LoadedDirectory:
    """Open every log of ``log_dir``. Raises OSError if one of them cannot be read."""
    disk = context.disk
    loaded = LoadedDirectory(has_clean_shutdown(disk, log_dir))
    if loaded.was_clean:
        # A crash from here on must not find the marker.
        remove_clean_shutdown(disk, log_dir)
    checkpoints = _Checkpoints(context, log_dir)
    loaded.checkpoints = checkpoints.by_name
    names: list[tuple[str, PartitionDirectory]] = []
    for name in disk.list_dir(log_dir):
        path = f"{log_dir}/{name}"
        if not disk.is_dir(path):
            continue
        found = parse_directory(name)
        if found is None:
            _log.warning("%s is not a partition's directory and is left alone", path)
        elif found.suffix == DELETE:
            loaded.to_remove.append(path)
        elif found.suffix == STRAY:
            _log.warning("%s belongs to no topic and is left alone", path)
        elif found.topic_partition.topic != METADATA_TOPIC:
            names.append((path, found))

    if names and not loaded.was_clean:
        _log.info("%s was not closed cleanly: looking at its %d logs", log_dir, len(names))
    progress = _Progress(context, log_dir, len(names))

    def load_one(path: str, topic_partition: TopicPartition) -> PartitionLog:
        recovery_point = checkpoints.recovery_points.get(topic_partition, 0)
        clean_to = checkpoints.cleaner_offsets.get(topic_partition, -1)
        log = open_log(
            context,
            path,
            topic_partition,
            config_for(topic_partition.topic),
            clean_shutdown=loaded.was_clean,
            recovery_point=recovery_point,
            log_start_offset=checkpoints.start_offsets.get(topic_partition, 0),
            was_cleaned=clean_to >= 0,
        )
        log.update_high_watermark(checkpoints.high_watermarks.get(topic_partition, 0))
        log.cleaner_checkpoint = clean_to
        was_recovered = not loaded.was_clean and log.log_end_offset > recovery_point
        progress.one_more(was_recovered=was_recovered)
        return log

    # After a clean shutdown opening a log takes a few quick calls, and switching between threads
    # would double their cost. The CRC checks of recovery do run in parallel.
    executor = None if loaded.was_clean else context.executor
    if executor is None:
        loaded.logs = [load_one(path, found.topic_partition) for path, found in names]
    else:
        jobs = [executor.submit(load_one, path, found.topic_partition) for path, found in names]
        loaded.logs = [job.result() for job in jobs]
    if is_stray is not None:
        _move_strays(context, loaded.logs, is_stray)
    return loaded


def _move_strays(context: LogContext, logs: list[PartitionLog], is_stray: IsStray) -> None:
    """Move aside, but do not delete, partitions that are not (or no longer) in the metadata.

    Records without a topic id may belong to a deleted topic of the same name. An empty log without
    one counts as new.
    """
    for log in logs:
        is_nameless = log.topic_id == NO_UUID and log.log_end_offset > 0
        if not is_nameless and not is_stray(log.topic_partition, log.topic_id):
            continue
        old = log.directory
        name = suffixed_name(log.topic_partition, new_uuid(context.rng), STRAY)
        log.rename_directory(f"{log.log_dir}/{name}")
        log.close_files()
        _log.warning("%s belongs to no topic: renamed to %s", old, log.directory)


class _Checkpoints:
    """The offsets of the last run. A damaged file costs only time."""

    def __init__(self, context: LogContext, log_dir: str) -> None:
        self._context = context
        self._log_dir = log_dir
        self.by_name: dict[str, dict[TopicPartition, int]] = {}
        self.recovery_points = self._read(RECOVERY_POINT_CHECKPOINT)
        self.start_offsets = self._read(LOG_START_OFFSET_CHECKPOINT)
        self.high_watermarks = self._read(HIGH_WATERMARK_CHECKPOINT)
        self.cleaner_offsets = self._read(CLEANER_OFFSET_CHECKPOINT)

    def _read(self, name: str) -> dict[TopicPartition, int]:
        try:
            offsets = read_offsets(self._context.disk, f"{self._log_dir}/{name}")
        except CorruptCheckpoint as error:
            _log.warning("%s. Going on as if it were empty", error)
            offsets = {}
        self.by_name[name] = offsets
        return offsets


class _Progress:
    """Logs a line every few seconds, and one at the end if loading took longer than that."""

    def __init__(self, context: LogContext, log_dir: str, total: int) -> None:
        self._clock = context.clock
        self._log_dir = log_dir
        self._total = total
        self._loaded = 0
        self._recovered = 0
        self._last_ms = self._began_ms = self._clock.monotonic_ms()
        self._lock = threading.Lock()

    def one_more(self, *, was_recovered: bool) -> None:
        """Count one loaded log; in any thread."""
        now_ms = self._clock.monotonic_ms()
        with self._lock:
            self._loaded += 1
            self._recovered += was_recovered
            is_late = now_ms - self._last_ms >= _PROGRESS_EVERY_MS
            is_last = self._loaded == self._total and (
                self._recovered > 0 or now_ms - self._began_ms >= _PROGRESS_EVERY_MS
            )
            if not is_late and not is_last:
                return
            self._last_ms = now_ms
            counts = self._loaded, self._total, self._recovered
        _log.info("%d of %d logs loaded, %d recovered in %s", *counts, self._log_dir)
