"""A cleaned segment takes the place of those it was made from.

On the disk that is a dozen renames: from ``.cleaned`` to ``.swap``, which makes it worth more than
its sources whatever happens next; these out of the way; and the suffix off. A client should not
have to wait for them. So what concerns files that nobody reads is done by the cleaner's thread,
and the owner of the log only changes its list of segments and, at last, the names of files that
may be in use by then.

Between two steps the log can be read and written, for a segment knows what its files are called.
Whoever changes more than that must ``finish`` the swap first (``Cleaning.abort`` does). Of a log
that is closed without that the swap ends where it is, and the next start does the rest
(``leftovers``).
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from moldau.storage.leftovers import CLEANED_SUFFIX, SWAP_SUFFIX
from moldau.storage.partition_log import PartitionLog
from moldau.storage.segment import Segment

_Work: TypeAlias = Callable[[], None]


class SegmentSwap:
    """One swap under way: the owner calls ``go_on``, a thread ``work``, and so on in turns."""

    def __init__(self, log: PartitionLog, cleaned: Segment, sources: Sequence[Segment]) -> None:
        """``cleaned`` has the suffix ``.cleaned``, and everything in it is on the device."""
        self._log = log
        self._cleaned = cleaned
        self._sources = list(sources)
        self._steps = self._run()
        self._lock = threading.Lock()
        # What the thread is to do next, until it has begun with it.
        self._work: _Work | None = None

    def go_on(self) -> bool:
        """Do what is the owner's; False if that was all, and ``work`` has nothing to do.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; the directory is offline then, and the next start
                finds the sources or finishes the swap.
        """
        try:
            self._work = next(self._steps, None)
        except OSError as error:
            # Half of the names are changed: not even a full disk is an excuse here.
            raise self._log.storage_error(error, "swapping segments of", in_fsync=True) from error
        return self._work is not None

    def work(self) -> None:
        """Do what is the thread's, if nobody else has done it; raises as ``go_on``."""
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
        """Called by the owner: do all that is left, now, or nothing if the log is closed.

        Waits for the thread, if it has begun with something. Raises as ``go_on``.
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
        log.discard(sources, keep_snapshot=cleaned.base_offset, are_renamed=True)
        cleaned.change_suffix(SWAP_SUFFIX, "")

    def _put_away(self) -> None:
        for source in self._sources:
            source.mark_deleted()
