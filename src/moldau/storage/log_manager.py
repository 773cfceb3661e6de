"""All partitions of a broker, across its log directories.

It finds the logs at startup, creates and deletes them, and writes the checkpoints that the next
startup needs (``log_checkpoints``). It has no timers: periodic work is in plain methods that the
broker node calls, and work that covers every log is in ``log_upkeep``.

Rules this module keeps:

* A log directory belongs to one broker (``.lock``). A directory that fails goes offline with its
  partitions; the others stay in use.
* A deleted partition is renamed first and removed later (``retired_logs``).
* Future logs, the copies of replicas that are being moved, belong to the code that copies. Nothing
  here changes them until they replace their source.
* The clean-shutdown marker is removed before the first log is opened and written after the last one
  is closed: it exists only if everything in between succeeded.
"""

import logging
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence

from moldau.clock import Clock
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, TopicPartition, new_uuid, uuid_to_str
from moldau.storage.disk.checkpoint import (
    write_clean_shutdown,
    write_partition_metadata,
)
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.disk.log_failure import is_out_of_descriptors, is_passing
from moldau.storage.log.log_context import LogContext
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.recovery import open_log
from moldau.storage.log_checkpoints import LogCheckpoints
from moldau.storage.log_dirs import DELETE, FUTURE, STRAY, LogDirs, suffixed_name
from moldau.storage.log_loader import ConfigFor, IsStray, LoadedDirectory, load_directory
from moldau.storage.log_placement import Copies, DirectoryLoad, Wishes, settle
from moldau.storage.retired_logs import RetiredLogs
from moldau.storage.running_marks import RunningMarks, remove_running_mark

# The log directory of a partition according to the cluster metadata, if it is live.
AssignedDir = Callable[[TopicPartition, bytes], str | None]

_log = logging.getLogger(__name__)


class LogManager:
    """The logs of one broker."""

    def __init__(
        self,
        log_dirs: Sequence[str],
        *,
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        executor: Executor | None = None,
        producer_expiration_ms: int = 86_400_000,
        on_offline: Callable[[str], None] | None = None,
        wake: Callable[[], None] | None = None,
    ) -> None:
        """``on_offline`` is called for each directory that fails, on the owner's thread.

        ``wake`` is called, from any thread, when there is work for ``handle_failures``, as in
        ``lambda: loop.call_soon_threadsafe(manager.handle_failures)``.
        """
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self._executor = executor
        self._on_offline = on_offline
        self._wake = wake
        self._owner = threading.get_ident()
        self._failures: deque[tuple[str, str]] = deque()
        self._retired = RetiredLogs(disk, clock, rng, executor)
        self._checkpoints = LogCheckpoints(disk, executor, self._directory_failed, self._logs_in)
        self.context = LogContext(
            disk, clock, rng, executor, self._directory_failed, producer_expiration_ms
        )
        self.dirs = LogDirs(disk, log_dirs)
        self.marks = RunningMarks(disk, log_dirs)
        self.logs: dict[TopicPartition, PartitionLog] = {}
        # Requested log directories for partitions that do not exist yet.
        self.wishes = Wishes()
        self._load = DirectoryLoad()
        # Replicas that are being moved between log directories.
        self.future_logs: dict[TopicPartition, PartitionLog] = {}
        # Set by ``load``: whether every live directory was closed cleanly.
        self.was_clean_shutdown = False

    # -- startup and shutdown --

    def open_directories(self) -> None:
        """Lock the log directories. Raises DirectoryInUse, or ApiError if none is usable."""
        self._owner = threading.get_ident()
        self.dirs.open()
        self._check_one_is_live()

    def load(
        self,
        config_for: ConfigFor,
        is_stray: IsStray | None = None,
        assigned_dir: AssignedDir | None = None,
    ) -> None:
        """Open every log in the live directories, several in parallel if there is an executor.

        ``config_for(topic)`` returns the configuration of a topic. Partitions for which
        ``is_stray(topic_partition, topic_id)`` is true are moved aside. If a crash interrupted a
        move between directories, ``assigned_dir`` decides (``log_placement.settle``). The metadata
        log is not opened here.
        """
        self.was_clean_shutdown = True
        found: dict[TopicPartition, Copies] = {}
        for path in list(self.dirs.live):
            try:
                remove_running_mark(self._disk, path)
                loaded = load_directory(self.context, path, config_for, is_stray)
            except OSError as error:
                self.dirs.fail(path, f"loading failed: {error}")
                continue
            self.was_clean_shutdown &= loaded.was_clean
            self._checkpoints.found(path, loaded.checkpoints)
            self._sort(loaded, found)
        for topic_partition, copies in found.items():
            self._adopt(topic_partition, copies, assigned_dir)
        self._check_one_is_live()

    def _sort(self, loaded: LoadedDirectory, found: dict[TopicPartition, Copies]) -> None:
        for log in loaded.logs:
            if log.is_closed:
                continue
            copies = found.setdefault(log.topic_partition, Copies())
            is_future = log.directory.endswith(FUTURE)
            (copies.future if is_future else copies.current).append(log)
        self._retired.found(loaded.to_remove)

    def _adopt(
        self, topic_partition: TopicPartition, copies: Copies, assigned_dir: AssignedDir | None
    ) -> None:
        """Register the log of a partition, and its future log if it was being moved."""
        assigned = None
        if assigned_dir is not None and (copies.future or len(copies.current) > 1):
            first = (copies.current + copies.future)[0]
            assigned = assigned_dir(topic_partition, first.topic_id)
        settled = settle(copies, assigned, may_be_offline=bool(self.dirs.offline))
        try:
            for log in settled.obsolete:
                self._retire(log, DELETE)
            current = settled.current
            if current is not None and current.directory.endswith(FUTURE):
                current.rename_directory(f"{current.log_dir}/{topic_partition}")
        except ApiError as error:
            _log.error("%s is not served: %s", topic_partition, error)
            return
        if settled.current is not None:
            self.logs[topic_partition] = settled.current
        if settled.future is not None:
            self.future_logs[topic_partition] = settled.future

    def shutdown(self, broker_epoch: int = -1) -> None:
        """Flush and close every log, write the checkpoints and the clean-shutdown markers."""
        self.handle_failures()
        closed = dict.fromkeys(self.dirs.live, True)
        jobs = [(log, self._submit(self._close_log, log)) for log in self.all_logs()]
        for log, job in jobs:
            if not _result(job):
                closed[log.log_dir] = False
        self.handle_failures()
        for path in list(self.dirs.live):
            self._checkpoints.write_all(path)
        for path in self.dirs.live:
            if closed[path]:
                self._write_marker(path, broker_epoch)
        # Last: whoever is killed before still has lost nothing.
        self.marks.remove()
        self.dirs.release()

    @property
    def is_complete(self) -> bool:
        """Whether loading has found every directory, and has removed nothing from any log."""
        return not self.dirs.offline and not self.context.has_cut_logs

    def mark_running(self, broker_epoch: int) -> None:
        """Note in every directory that the broker runs with this epoch (``running_marks``)."""
        if not self.dirs.offline and not self._failures:
            self.marks.set(broker_epoch)

    def _close_log(self, log: PartitionLog) -> bool:
        try:
            if log.log_end_offset > log.recovery_point:
                log.flush()
            log.close()
        except ApiError as error:
            _log.error("%s was not closed cleanly: %s", log.topic_partition, error)
            return False
        return True

    def _write_marker(self, path: str, broker_epoch: int) -> None:
        try:
            write_clean_shutdown(self._disk, path, broker_epoch)
        except OSError as error:
            _log.warning("No clean-shutdown marker in %s: %s", path, error)

    def _submit(self, fn: Callable[[PartitionLog], bool], log: PartitionLog) -> object:
        return fn(log) if self._executor is None else self._executor.submit(fn, log)

    # -- partitions --

    def get(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """The log, if it exists on this broker and is online."""
        return self.logs.get(topic_partition)

    def get_or_create(
        self,
        topic_partition: TopicPartition,
        config: LogConfig,
        topic_id: bytes = NO_UUID,
        *,
        is_new: bool = True,
        log_dir: str | None = None,
        is_future: bool = False,
    ) -> PartitionLog:
        """The log; if missing, created in the requested, the given or the least loaded directory.

        ``is_new=False`` means that the partition existed before: while a directory is offline the
        log may be there, so no second one is created.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, INCONSISTENT_TOPIC_ID.
        """
        known = self.future_logs if is_future else self.logs
        log = known.get(topic_partition)
        if log is None:
            if not is_new and self.dirs.offline:
                raise ApiError(
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    f"{topic_partition} may be in one of the offline log directories "
                    f"{', '.join(self.dirs.offline)}",
                )
            log = known[topic_partition] = self._create(
                topic_partition, config, topic_id, log_dir, is_future
            )
        elif log.topic_id == NO_UUID != topic_id:
            self._write_topic_id(log, topic_id)
        elif topic_id not in (NO_UUID, log.topic_id):
            raise ApiError(
                ErrorCode.INCONSISTENT_TOPIC_ID,
                f"{topic_partition} has the topic id {uuid_to_str(log.topic_id)} here, not "
                f"{uuid_to_str(topic_id)}",
            )
        return log

    def _write_topic_id(self, log: PartitionLog, topic_id: bytes) -> None:
        try:
            write_partition_metadata(self._disk, log.directory, topic_id, sync=False)
        except OSError as error:
            self._directory_failed(log.log_dir, f"naming {log.topic_partition}", error)
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        log.topic_id = topic_id
        self.context.late_writes.add(log.flush_topic_id)

    def _create(
        self,
        topic_partition: TopicPartition,
        config: LogConfig,
        topic_id: bytes,
        log_dir: str | None,
        is_future: bool,
    ) -> PartitionLog:
        name = str(topic_partition)
        if is_future:
            name = suffixed_name(topic_partition, new_uuid(self._rng), FUTURE)
        else:
            log_dir = self.wishes.take(topic_partition) or log_dir
        if log_dir in self.dirs.live:
            candidates = [log_dir]
        else:
            now_ms = self._clock.monotonic_ms()
            candidates = self._load.least_first(self.dirs.open_to_new_logs(), self.all_logs, now_ms)
        for path in candidates:
            directory = f"{path}/{name}"
            self._checkpoints.forget(path, topic_partition)
            try:
                self._disk.make_dirs(directory)
                if topic_id != NO_UUID:
                    write_partition_metadata(self._disk, directory, topic_id, sync=False)
                log = open_log(
                    self.context, directory, topic_partition, config, clean_shutdown=True
                )
                if topic_id != NO_UUID:
                    self.context.late_writes.add(log.flush_topic_id)
                self._load.added(path)
                return log
            except OSError as error:
                if is_passing(error):
                    # Logged at most once a minute: creation is retried every second.
                    self.context.no_room.tell(path, f"creating {topic_partition}", error)
                    self._retired.remove(directory)
                else:
                    self._directory_failed(path, f"creating {topic_partition}", error)
        raise ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR, f"no log directory can take {topic_partition} now"
        )

    def delete(self, topic_partition: TopicPartition, *, is_stray: bool = False) -> bool:
        """Free the name now and remove the files later; stray partitions are kept.

        Raises ApiError KAFKA_STORAGE_ERROR if the log may be in an offline directory.
        """
        log = self.logs.pop(topic_partition, None)
        if log is None:
            if self.dirs.offline:
                raise ApiError(
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    f"{topic_partition} may be in one of the offline log directories "
                    f"{', '.join(self.dirs.offline)}",
                )
            return False
        self._retire(log, STRAY if is_stray else DELETE)
        return True

    def delete_future(self, topic_partition: TopicPartition) -> None:
        """Delete the future log of a replica; it must not be written to at the same time."""
        log = self.future_logs.pop(topic_partition, None)
        if log is not None:
            self._retire(log, DELETE)

    def _retire(self, log: PartitionLog, suffix: str) -> None:
        """Close a log and rename it with ``suffix``. Raises ApiError if the disk fails."""
        self._load.forget()
        self._retired.retire(log, suffix)

    # -- moving replicas between directories --

    def durable_future(self, topic_partition: TopicPartition) -> Callable[[], None]:
        """Return the work, for any thread, that makes the future log durable.

        It includes the log start offset checkpoint, which must not be lost with the old directory.
        """
        future = self.future_logs[topic_partition]
        write_start_offsets = self._checkpoints.planned_log_start_offsets(future.log_dir)

        def work() -> None:
            # A future log has no readers, so its discarded files can be removed immediately.
            now_ms = self._clock.monotonic_ms()
            future.remove_deleted_files(now_ms + future.config.file_delete_delay_ms)
            future.flush()
            write_start_offsets()

        return work

    def replace_current_with_future(self, topic_partition: TopicPartition) -> PartitionLog:
        """Replace the log with its future log, which must be complete; returns it.

        The metadata must already name the new directory. Between the two renames the future log is
        the only one, and ``settle`` concludes from the metadata that it is complete; in the
        opposite order Apache Kafka would find two logs and refuse to start.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; the log is unchanged or offline.
        """
        source = self.logs[topic_partition]
        future = self.future_logs[topic_partition]
        future.update_high_watermark(source.high_watermark)
        old_directory = source.directory
        try:
            self._retire(source, DELETE)
        except ApiError as error:
            # The old disk is failing. The future log is on another one, and complete.
            _log.error("The old copy of %s stays where it is: %s", topic_partition, error)
        try:
            future.rename_directory(f"{future.log_dir}/{topic_partition}")
        except ApiError:
            # The retirement of the source is undone.
            self._retired.restore(source, old_directory)
            raise
        self.logs[topic_partition] = future
        self.future_logs.pop(topic_partition, None)
        return future

    def sync_names(self, *log_dirs: str) -> None:
        """Make renames durable, in the given order; in any thread."""
        for path in log_dirs:
            try:
                self._disk.sync_dir(path)
            except OSError as error:
                self._directory_failed(path, "flushing names", error)

    # -- periodic work --

    def checkpoint_recovery_points(self) -> None:
        """Checkpoint the offset up to which each log is durable."""
        self.handle_failures()
        self._checkpoints.write_recovery_points(list(self.dirs.live))

    def checkpoint_log_start_offsets(self) -> None:
        """Checkpoint the log start offsets that are above the base offset of the first segment."""
        self._checkpoints.write_log_start_offsets(list(self.dirs.live))

    def checkpoint_high_watermarks(self) -> None:
        """Checkpoint the high watermarks (``replication-offset-checkpoint``)."""
        self._checkpoints.write_high_watermarks(list(self.dirs.live))

    def checkpoint_cleaner_offsets(self, path: str) -> None:
        """Checkpoint the offsets up to which the logs in ``path`` are clean."""
        self._checkpoints.write_cleaner_offsets(path)

    def delete_expired_directories(self) -> None:
        """Remove deleted partitions whose ``file.delete.delay.ms`` has passed."""
        self._retired.remove_due()

    # -- failures --

    def _directory_failed(self, log_dir: str, doing: str, error: OSError) -> None:
        """Record a disk failure; may be called from a flusher thread."""
        if is_out_of_descriptors(error):
            # The process limit says nothing about the disk.
            self.context.no_room.tell(log_dir, doing, error)
            return
        self.marks.remove()
        for log in [*self.logs.values(), *self.future_logs.values()]:
            if log.log_dir == log_dir:
                log.is_closed = True
        self._failures.append((log_dir, f"{doing} failed: {error}"))
        if threading.get_ident() == self._owner:
            self.handle_failures()
        elif self._wake is not None:
            self._wake()

    def handle_failures(self) -> None:
        """Take directories offline that failed since the last call."""
        while self._failures:
            log_dir, reason = self._failures.popleft()
            if log_dir not in self.dirs.live:
                continue
            self.dirs.fail(log_dir, reason)
            self.marks.remove()
            for known in (self.logs, self.future_logs):
                for topic_partition, log in list(known.items()):
                    if log.log_dir == log_dir:
                        log.close_files()
                        del known[topic_partition]
            if self._on_offline is not None:
                self._on_offline(log_dir)

    def _check_one_is_live(self) -> None:
        if not self.dirs.live:
            reasons = "; ".join(f"{path}: {why}" for path, why in self.dirs.offline.items())
            raise ApiError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"none of the log directories is usable: {reasons}"
            )

    def all_logs(self) -> list[PartitionLog]:
        """Every online log, including future logs."""
        return [*self.logs.values(), *self.future_logs.values()]

    def resting_logs(self) -> list[PartitionLog]:
        """The logs that are not being moved to another directory, and so may be cleaned."""
        if not self.future_logs:
            return list(self.logs.values())
        return [log for log in self.logs.values() if log.topic_partition not in self.future_logs]

    def _logs_in(self, path: str) -> list[PartitionLog]:
        logs = self.all_logs()
        if len(self.dirs.paths) == 1:
            return logs
        return [log for log in logs if log.log_dir == path]


def _result(job: object) -> bool:
    wait = getattr(job, "result", None)
    return bool(wait()) if wait is not None else bool(job)
