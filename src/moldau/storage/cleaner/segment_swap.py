"""Replacing segments with the cleaned segment made from them.

On disk this is a dozen renames: of the cleaned segment from ``.cleaned`` to ``.swap``, after which
it takes precedence over its sources; of the sources to ``.deleted``; and of the cleaned segment to
its final name. Clients should not wait for them. So files that are not being read are renamed by
the cleaner's thread, and the owner of the log only changes its list of segments and, last, the
names of files that may be in use by then.

Between two steps the log can be read and written, because a segment knows the names of its files.
Any other change must ``finish`` the swap first (``Cleaning.abort`` does). If the log is closed
without that, the swap stops where it is, and the next startup completes it (``leftovers``).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from moldau.storage.log.leftovers import CLEANED_SUFFIX, SWAP_SUFFIX
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.segment import Segment

_Work: TypeAlias = Callable[[], None]


class SegmentSwap:
    """A swap in progress: the owner's ``go_on`` and a thread's ``work`` are called in turn."""

    def __init__(self, log: PartitionLog, cleaned: Segment, sources: Sequence[Segment]) -> None:
        """``cleaned`` has the suffix ``.cleaned``, and is durable."""
        self._log = log
        self._cleaned = cleaned
        self._sources = list(sources)
        self._steps = self._run()
        self._lock = threading.Lock()
        # The next work for the thread, until it has started it.
        self._work: _Work | None = None

    def go_on(self) -> bool:
        """Do the owner's part; False if the swap is complete, and ``work`` has nothing to do.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; the directory is then offline, and the next startup finds
                the sources or completes the swap.
        """
        try:
            self._work = next(self._steps, None)
        except OSError as error:
            # Only some of the files are renamed: even a full disk must take the directory offline.
            raise self._log.storage_error(error, "swapping segments of", in_fsync=True) from error
        return self._work is not None

    def work(self) -> None:
        """Do the thread's part, unless it is already done; raises like ``go_on``."""
        with self._lock:
            work, self._work = self._work, None
            if work is None:
                return
            try:
                work()
            except OSError as error:
                self._steps = iter(())
                raise self._log.storage_error(
                    error, "swapping segments of", in_fsync=True
                ) from error

    def finish(self) -> None:
        """Called by the owner: do all remaining steps now, or none if the log is closed.

        Waits for work that the thread has started. Raises like ``go_on``.
        """
        if self._log.is_closed:
            with self._lock:
                self._work = None
                self._steps = iter(())
            return
        self.work()
        while self.go_on():
            self.work()

    def _run(self) -> Iterator[_Work]:
        log, cleaned, sources = self._log, self._cleaned, self._sources
        yield lambda: cleaned.change_suffix(CLEANED_SUFFIX, SWAP_SUFFIX)
        log.replace_segments(sources, cleaned)
        yield self._put_away
        log.discard_cleaned(sources, keep_snapshot=cleaned.base_offset)
        cleaned.change_suffix(SWAP_SUFFIX, "")

    def _put_away(self) -> None:
        for source in self._sources:
            source.mark_deleted()
