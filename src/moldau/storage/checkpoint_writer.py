"""Writing the checkpoint files of log directories, off the event loop where that is possible.

A checkpoint is replaced as a whole, with an fsync, which would hold up every client if
the loop waited for it. So the periodic ones are written by a thread; the loop only says
what should be in them.

Rules this module keeps:

* What is written last is what was asked for last, whichever thread comes first.
* A checkpoint that would not change is not written.
* A full disk, or no free descriptor, is no reason to give a directory up: the old checkpoint
  stays.
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
        """What a start read: it is there, and need not be written again."""
        self._wanted[f"{log_dir}/{name}"] = self._written[f"{log_dir}/{name}"] = offsets

    def may_name(self, log_dir: str, topic_partition: TopicPartition) -> bool:
        """Whether a checkpoint in ``log_dir``, or one on its way there, has this partition."""
        return any(
            topic_partition in offsets and path.rpartition("/")[0] == log_dir
            for known in (self._wanted, self._written)
            # A copy, because a thread that writes may add to it.
            for path, offsets in list(known.items())
        )

    def write(self, log_dir: str, name: str, offsets: dict[TopicPartition, int]) -> None:
        """Return when it is on the device, or the failure has been reported."""
        self._wanted[f"{log_dir}/{name}"] = offsets
        self._store(log_dir, name)

    def planned(
        self, log_dir: str, name: str, offsets: dict[TopicPartition, int]
    ) -> Callable[[], None]:
        """Like ``write``, but the writing is for the caller to do, in any thread."""
        self._wanted[f"{log_dir}/{name}"] = offsets
        return functools.partial(self._store, log_dir, name)

    def write_soon(self, log_dir: str, name: str, offsets: dict[TopicPartition, int]) -> None:
        """Like ``write``, on a thread if there is one, which also looks whether it changed."""
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
