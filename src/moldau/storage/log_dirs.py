"""Directory names in a log directory, and the state of the log directories.

Every partition has a directory ``topic-partition``. It has a suffix while it is not an ordinary
partition: ``-delete`` until its files are removed, ``-future`` while a replica moves between log
directories, ``-stray`` if the partition is no longer in the metadata.
"""

import logging
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from moldau.ids import NO_UUID, TopicPartition
from moldau.storage.disk.checkpoint import CorruptCheckpoint, read_meta_properties
from moldau.storage.disk.disk import Disk, FileLock

DELETE: Final = "-delete"
FUTURE: Final = "-future"
STRAY: Final = "-stray"
_SUFFIXES: Final = (DELETE, FUTURE, STRAY)
_MAX_NAME: Final = 255

_log = logging.getLogger(__name__)


class PartitionDirectory(NamedTuple):
    """The parsed name of a partition's directory."""

    topic_partition: TopicPartition
    suffix: str


def parse_directory(name: str) -> PartitionDirectory | None:
    """The partition of a directory; None if the name is not that of a partition."""
    suffix = next((s for s in _SUFFIXES if name.endswith(s)), "")
    if suffix:
        # topic-partition.unique-suffix; topics may contain dots, the unique part does not.
        name, dot, unique = name.removesuffix(suffix).rpartition(".")
        if not dot or not unique:
            return None
    topic, _, partition = name.rpartition("-")
    if not topic or not partition.isdecimal():
        return None
    return PartitionDirectory(TopicPartition(topic, int(partition)), suffix)


def suffixed_name(topic_partition: TopicPartition, unique: bytes, suffix: str) -> str:
    """A name with a suffix. The topic is shortened if the name would be too long."""
    topic, partition = topic_partition
    rest = f"-{partition}.{unique.hex()}{suffix}"
    return topic[: _MAX_NAME - len(rest)] + rest


def has_room_for_suffix(topic_partition: TopicPartition) -> bool:
    """Whether the directory name of a future log has room for the whole topic name."""
    topic, partition = topic_partition
    return len(f"{topic}-{partition}.{NO_UUID.hex()}{FUTURE}") <= _MAX_NAME


class LogDirs:
    """The log directories of a broker: which are locked and live, which failed and why."""

    def __init__(self, disk: Disk, paths: Sequence[str]) -> None:
        self._disk = disk
        self._locks: dict[str, FileLock] = {}
        self.paths = tuple(paths)
        self.live: list[str] = []
        # The reasons why the others are offline.
        self.offline: dict[str, str] = {}
        self.directory_ids: dict[str, bytes] = {}
        # The ids of directories that failed while in use.
        self.failed_ids: dict[str, bytes] = {}
        # Directories that get no new partitions (cordoned.log.dirs); existing partitions stay.
        self.cordoned: tuple[str, ...] = ()

    def open(self) -> None:
        """Create missing directories, take the locks, read the directory ids.

        Raises:
            DirectoryInUse: another broker holds one of them; then none stays locked.
        """
        for path in self.paths:
            try:
                self._create(path)
                self._locks[path] = self._disk.lock(path)
                properties = read_meta_properties(self._disk, path)
            except (OSError, CorruptCheckpoint) as error:
                self.fail(path, f"cannot be opened: {error}")
                continue
            except Exception:
                self.release()
                raise
            self.live.append(path)
            if properties is not None and properties.directory_id is not None:
                self.directory_ids[path] = properties.directory_id

    def _create(self, path: str) -> None:
        if not self._disk.is_dir(path):
            _log.info("Creating log directory %s", path)
            self._disk.make_dirs(path)
            self._disk.sync_dir(path.rpartition("/")[0] or "/")

    def fail(self, path: str, reason: str) -> None:
        """Take a directory offline."""
        _log.error(
            "Log directory %s is offline: %s. Its partitions are unavailable here until the broker "
            "is started again with a disk that works",
            path,
            reason,
        )
        self.offline[path] = reason
        directory_id = self.directory_ids.pop(path, None)
        if directory_id is not None:
            self.failed_ids[path] = directory_id
        if path in self.live:
            self.live.remove(path)
        lock = self._locks.pop(path, None)
        if lock is not None:
            lock.release()

    def open_to_new_logs(self) -> list[str]:
        """The live directories that are not cordoned; if all are, the first.

        A partition may have been assigned to this broker just before its last directory was
        cordoned: it must be created somewhere.
        """
        return [path for path in self.live if path not in self.cordoned] or self.live[:1]

    def cordoned_ids(self) -> list[bytes]:
        """The ids of the cordoned directories that are live."""
        return [known for path, known in self.directory_ids.items() if path in self.cordoned]

    def configured(self, path: str) -> str | None:
        """The directory as written in the settings, given its absolute path."""
        return next((each for each in self.paths if os.path.abspath(each) == path), None)

    def directory_id(self, path: str) -> bytes | None:
        """The id of a directory that is or was in use."""
        return self.directory_ids.get(path) or self.failed_ids.get(path)

    def path_of(self, directory_id: bytes) -> str | None:
        """The live directory with this id."""
        for path, known in self.directory_ids.items():
            if known == directory_id:
                return path
        return None

    def release(self) -> None:
        """Release all locks."""
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()
