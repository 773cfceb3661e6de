"""Which incarnation of the broker runs on the log directories, for the case that it is killed.

A process that is killed loses nothing that it has written: the page cache has it. Only there is no
clean-shutdown file, so Kafka's controller takes the broker for one that may have lost records, and
never elects it from the eligible leader replicas (KIP-966). While a broker runs, each of its
directories has a file ``.moldau_running`` with its epoch, and the file has a mark in memory
(``disk/memory_mark``). Who finds the file and the mark knows that every record is still there.

Rules this module keeps:

* All directories have to agree. One that cannot be read proves nothing.
* The marks of all directories go when one of them fails: the kernel may have dropped pages that it
  could not write.
* They go before the first log is opened, as the clean-shutdown file does: recovery changes logs,
  and a second attempt would not notice.

Why it is so is in docs/decisions/0008-a-killed-broker-has-lost-nothing.md.
"""

import contextlib
import logging
import os
from collections.abc import Sequence
from typing import Final

from moldau.storage.disk.checkpoint import read_broker_epoch, write_broker_epoch
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.memory_mark import MemoryMark

RUNNING: Final = ".moldau_running"

_log = logging.getLogger(__name__)


def killed_broker_epoch(disk: Disk, log_dirs: Sequence[str]) -> int:
    """The epoch of a broker that was killed and has lost nothing; -1 if that is not certain."""
    try:
        epochs = {_marked_epoch(disk, os.path.join(path, RUNNING)) for path in log_dirs}
    except OSError:
        return -1
    epoch = epochs.pop() if len(epochs) == 1 else None
    return -1 if epoch is None else epoch


def _marked_epoch(disk: Disk, path: str) -> int | None:
    if not disk.exists(path) or not disk.is_marked_in_memory(path):
        return None
    return read_broker_epoch(disk, path)


def remove_running_mark(disk: Disk, log_dir: str) -> None:
    """Remove what a former process has left. Raises OSError if that is not possible."""
    disk.remove(os.path.join(log_dir, RUNNING), missing_ok=True)


class RunningMarks:
    """The marks of one process, in all of its directories."""

    def __init__(self, disk: Disk, log_dirs: Sequence[str]) -> None:
        self._disk = disk
        self._paths = [os.path.join(path, RUNNING) for path in log_dirs]
        self._marks: list[MemoryMark] = []

    def set(self, broker_epoch: int) -> None:
        """Mark every directory, or none if one cannot be marked."""
        self._clear_memory()
        for path in self._paths:
            try:
                # Not synced: it counts only as long as the page cache does.
                write_broker_epoch(self._disk, path, broker_epoch, sync=False)
                mark = self._disk.mark_in_memory(path)
            except OSError as error:
                _log.info("Nothing would show that a killed broker has lost nothing: %s", error)
                mark = None
            if mark is None:
                self.remove()
                return
            self._marks.append(mark)

    def remove(self) -> None:
        """Remove all marks and, where that is possible, the files; may be called at any time."""
        self._clear_memory()
        for path in self._paths:
            try:
                self._disk.remove(path, missing_ok=True)
            except OSError as error:
                _log.info("%s stays, without its mark: %s", path, error)

    def _clear_memory(self) -> None:
        # A thread that flushes may do the same at the same time: each mark is taken once.
        with contextlib.suppress(IndexError):
            while True:
                self._marks.pop().clear()
