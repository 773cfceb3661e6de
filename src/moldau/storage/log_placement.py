"""The choice of log directories for partitions, and between several copies of a partition.

A new log is placed in the directory with the fewest logs, as in Kafka; among equals, in the one
with the fewest bytes. A directory requested before the partition existed (AlterReplicaLogDirs), or
assigned by the metadata, takes precedence.

While a replica moves there are two copies of it, the current log and the ``-future`` one, and a
crash may interrupt the swap. At startup ``settle`` chooses between them by their names. Where the
names are not conclusive the metadata decides: a move stores its target there, durably, before it
renames anything.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from moldau.ids import TopicPartition
from moldau.storage.log.partition_log import PartitionLog

# Tools request directories for partitions that they are about to create; this is plenty.
_MAX_WISHES: Final = 10_000

_COUNTED_FOR_MS: Final = 1000

_log = logging.getLogger(__name__)


class DirectoryLoad:
    """The number of logs and bytes in each directory.

    A topic may have thousands of partitions, and counting all logs for each would be too slow: they
    are counted at most once a second, and new ones are added to the last count.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._expires_ms = 0

    def least_first(
        self, live: Sequence[str], logs: Callable[[], Iterable[PartitionLog]], now_ms: int
    ) -> list[str]:
        """The live directories, in order of preference."""
        if len(live) == 1:
            return list(live)
        if not self._expires_ms - _COUNTED_FOR_MS <= now_ms < self._expires_ms:
            self._count(logs())
            self._expires_ms = now_ms + _COUNTED_FOR_MS
        counts, sizes = self._counts, self._sizes
        return sorted(live, key=lambda path: (counts.get(path, 0), sizes.get(path, 0)))

    def _count(self, logs: Iterable[PartitionLog]) -> None:
        self._counts.clear()
        self._sizes.clear()
        for log in logs:
            path = log.log_dir
            self._counts[path] = self._counts.get(path, 0) + 1
            self._sizes[path] = self._sizes.get(path, 0) + log.size_bytes

    def added(self, path: str) -> None:
        """Count a new, empty log in ``path``."""
        self._counts[path] = self._counts.get(path, 0) + 1

    def forget(self) -> None:
        """Count again: logs were deleted or moved."""
        self._expires_ms = 0


class Wishes:
    """Directories requested before the partitions existed; only in memory."""

    def __init__(self) -> None:
        self._paths: dict[TopicPartition, str] = {}

    def add(self, topic_partition: TopicPartition, path: str) -> None:
        self._paths.pop(topic_partition, None)
        if len(self._paths) >= _MAX_WISHES:
            del self._paths[next(iter(self._paths))]
        self._paths[topic_partition] = path

    def take(self, topic_partition: TopicPartition) -> str | None:
        """Remove and return the requested directory."""
        return self._paths.pop(topic_partition, None)


class Copies:
    """All copies of one partition found at startup."""

    def __init__(self) -> None:
        self.current: list[PartitionLog] = []
        self.future: list[PartitionLog] = []


class Settled(NamedTuple):
    """The decision about the copies."""

    current: PartitionLog | None
    future: PartitionLog | None
    obsolete: list[PartitionLog]


def settle(copies: Copies, assigned: str | None, *, may_be_offline: bool) -> Settled:
    """Choose at most one current and one future log.

    ``assigned`` is the directory in the metadata, if it is live; otherwise ``may_be_offline`` means
    that the current log may be in a failed directory.

    * Two current logs: a crash interrupted the swap of a move. The one in the assigned directory is
      complete.
    * No current log, but a future one: either the crash came between the two renames, and the
      future one is complete; or the disk of the current one was replaced, and it is the only one
      left.
    * Both: the move continues. The current one has everything that the future one lacks.

    Raises:
        RuntimeError: there are two current logs, and neither is in the assigned directory.
    """
    obsolete: list[PartitionLog] = []
    current = _choose(copies.current, assigned)
    if current is None and copies.current:
        first, second = copies.current[:2]
        raise RuntimeError(
            f"{first.topic_partition} is in two log directories, {first.directory} and "
            f"{second.directory}: remove the one on the disk that failed last"
        )
    obsolete += [log for log in copies.current if log is not current]
    future = _choose(copies.future, assigned) or max(
        copies.future, key=lambda log: log.log_end_offset, default=None
    )
    obsolete += [log for log in copies.future if log is not future]
    if current is None and future is not None:
        is_complete = future.log_dir == assigned
        if is_complete or not may_be_offline:
            _log.warning(
                "%s: %s becomes the log, no other is here", future.topic_partition, future.directory
            )
            current, future = future, None
    return Settled(current, future, obsolete)


def _choose(logs: list[PartitionLog], assigned: str | None) -> PartitionLog | None:
    if len(logs) == 1:
        return logs[0]
    return next((log for log in logs if log.log_dir == assigned), None)
