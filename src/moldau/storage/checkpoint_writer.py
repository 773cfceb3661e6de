"""Writing the checkpoint files of log directories, outside the event loop if possible.

A checkpoint is replaced as a whole, with an fsync that would delay every client if the event loop
waited for it. So periodic checkpoints are written by the executor; the event loop only provides the
contents.

Rules this module keeps:

* The file ends up with the latest requested contents, in whatever order the threads run.
* An unchanged checkpoint is not written.
* If the disk is full or there is no free descriptor, the directory stays online and the old
  checkpoint stays in place.
"""

import functools
import logging
import threading
from collections.abc import Callable

from moldau.ids import TopicPartition
from moldau.storage.checkpoint import write_offsets
from moldau.storage.disk import Disk
from moldau.storage.late_writes import Executor
from moldau.storage.log_failure import FailureHandler, is_passing

_log = logging.getLogger(__name__)


class CheckpointWriter:
    """The checkpoints of one broker."""

    def __init__(self, disk: Disk, executor: Executor | None, on_failure: FailureHandler) -> None:
        """``on_failure`` may be called from the executor's threads."""
        self._disk = disk
        self._executor = executor
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._wanted: dict[str, dict[TopicPartition, int]] = {}
        self._written: dict[str, dict[TopicPartition, int]] = {}

    def found(self, log_dir: str, name: str, offsets: dict[TopicPartition, int]) -> None:
        """Register a checkpoint read at startup, which need not be written again."""
        self._wanted[f"{log_dir}/{name}"] = self._written[f"{log_dir}/{name}"] = offsets

    def may_name(self, log_dir: str, topic_partition: TopicPartition) -> bool:
        """Whether a checkpoint of ``log_dir``, written or pending, contains this partition."""
        return any(
            topic_partition in offsets and path.rpartition("/")[0] == log_dir
            for known in (self._wanted, self._written)
            # A copy, because a writing thread may add to it.
            for path, offsets in list(known.items())
        )

    def write(self, log_dir: str, name: str, offsets: dict[TopicPartition, int]) -> None:
        """Return when the file is durable, or the failure has been reported."""
        self._wanted[f"{log_dir}/{name}"] = offsets
        self._store(log_dir, name)

    def planned(
        self, log_dir: str, name: str, offsets: dict[TopicPartition, int]
    ) -> Callable[[], None]:
        """Like ``write``, but return the writing as work for any thread."""
        self._wanted[f"{log_dir}/{name}"] = offsets
        return functools.partial(self._store, log_dir, name)

    def write_soon(self, log_dir: str, name: str, offsets: dict[TopicPartition, int]) -> None:
        """Like ``write``, but in the executor if there is one, including the comparison."""
        self._wanted[f"{log_dir}/{name}"] = offsets
        if self._executor is None:
            self._store(log_dir, name)
        else:
            self._executor.submit(self._store, log_dir, name)

    def _store(self, log_dir: str, name: str) -> None:
        path = f"{log_dir}/{name}"
        with self._lock:
            offsets = self._wanted[path]
            if self._written.get(path) == offsets:
                return
            try:
                write_offsets(self._disk, path, offsets)
            except OSError as error:
                if is_passing(error):
                    _log.warning("%s is not written, the old one stays: %s", path, error.strerror)
                    return
                failure = error
            else:
                self._written[path] = offsets
                return
        self._on_failure(log_dir, f"writing {name}", failure)
