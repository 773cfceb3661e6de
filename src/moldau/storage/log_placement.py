"""In which log directory a partition goes, and which of several copies of one is the log.

A new log goes where the fewest logs are, as in Kafka; among equals, where the fewest bytes
are. Someone may have wished for a directory before the partition was there
(AlterReplicaLogDirs), and the cluster's metadata may name one: both are stronger.

While a replica moves there are two copies of it, the log and the ``-future`` one, and a
crash may stop the exchange half-way. At the start ``settle`` says from the names alone what
is what. The metadata is asked for what the names leave open: a move writes its target there,
durably, before it renames anything.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from moldau.ids import TopicPartition
from moldau.storage.partition_log import PartitionLog

# A tool wishes for the partitions it is about to create; nobody needs more than this.
_MAX_WISHES: Final = 10_000

_COUNTED_FOR_MS: Final = 1000

_log = logging.getLogger(__name__)


class DirectoryLoad:
    """How many logs and bytes lie in each directory.

    A topic may have thousands of partitions, and not each of them can look at all others: the
    logs are counted at most once a second, and those made meanwhile are added.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._expires_ms = 0

    def least_first(
        self, live: Sequence[str], logs: Callable[[], Iterable[PartitionLog]], now_ms: int
    ) -> list[str]:
        """The live directories, the one to take first."""
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
        """A new, empty log was made in ``path``."""
        self._counts[path] = self._counts.get(path, 0) + 1

    def forget(self) -> None:
        """Logs went, or moved: count anew."""
        self._expires_ms = 0


class Wishes:
    """Directories that were asked for before the partitions were there; in memory only."""

    def __init__(self) -> None:
        self._paths: dict[TopicPartition, str] = {}

    def add(self, topic_partition: TopicPartition, path: str) -> None:
        self._paths.pop(topic_partition, None)
        if len(self._paths) >= _MAX_WISHES:
            del self._paths[next(iter(self._paths))]
        self._paths[topic_partition] = path

    def take(self, topic_partition: TopicPartition) -> str | None:
        """The wish, which is fulfilled or forgotten from now on."""
        return self._paths.pop(topic_partition, None)


class Copies:
    """All copies of one partition that a start found."""

    def __init__(self) -> None:
        self.current: list[PartitionLog] = []
        self.future: list[PartitionLog] = []


class Settled(NamedTuple):
    """What becomes of the copies."""

    current: PartitionLog | None
    future: PartitionLog | None
    obsolete: list[PartitionLog]


def settle(copies: Copies, assigned: str | None, *, may_be_offline: bool) -> Settled:
    """At most one current and one future log.

    ``assigned`` is the directory that the metadata names, if it is live; otherwise
    ``may_be_offline`` says that the current log may lie in a directory that failed.

    * Two current logs: the crash came while the move was exchanging them. The one in the
      assigned directory has everything.
    * No current log, but a future one: the crash came between the two renames, so the future
      one is complete; or the disk of the current one was replaced, and it is all there is.
    * Both: the move goes on. What the future one lacks, the current one has.

    Raises:
        RuntimeError: two current logs, and the metadata chooses neither.
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
