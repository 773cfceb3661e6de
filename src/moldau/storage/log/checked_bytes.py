"""CRC checks of segment bytes that this process did not write.

After a clean shutdown a log is not read at startup: it is trusted. But disks can lose data, so the
bytes are checked when they are first read, batch by batch, and the valid range is cached. Most
reads are sequential, so a single range is enough: a read that begins elsewhere starts a new one.

Rules this module keeps:

* All bytes returned to readers were checked since this process started.
* Damage is logged once, with its position and what follows it.
"""

import logging

from moldau.storage.disk.disk import DiskFile
from moldau.storage.log.batch_scan import CorruptSegment, find_valid_batch_after, iter_valid_batches

_log = logging.getLogger(__name__)


class CheckedBytes:
    """The checked range of one segment file."""

    __slots__ = ("_base_offset", "_from", "_log", "_next_offset", "_reported_position", "_to")

    def __init__(self, log: DiskFile, base_offset: int) -> None:
        self._log = log
        self._base_offset = base_offset
        self._reported_position = -1
        self.forget()

    def forget(self) -> None:
        """Discard the checked range after the file was truncated."""
        self._from = self._to = 0
        self._next_offset = self._base_offset

    def check(self, start: int, end: int, trusted_from: int) -> int:
        """How far readers may read from the batch boundary ``start`` towards ``end``.

        Bytes from ``trusted_from`` on need no check. The result is less than ``end`` only if there
        is a corrupt batch in between.

        Raises:
            CorruptSegment: the batch at ``start`` is corrupt.
        """
        if self._from <= start <= self._to:
            if end <= self._to or self._to == trusted_from:
                return end
            resume = self._to
        else:
            resume = self._from = self._to = start
            self._next_offset = self._base_offset
        try:
            for position, header, _, _ in iter_valid_batches(
                self._log, resume, trusted_from, self._next_offset
            ):
                self._to = position + header.size_bytes
                self._next_offset = header.next_offset
                if self._to >= end:
                    break
        except CorruptSegment:
            if self._to <= start:
                raise
            return min(end, self._to)
        return end

    def report(self, error: CorruptSegment, size: int) -> None:
        """Log the damage once, and what follows it in a file of ``size`` bytes."""
        if self._reported_position == error.position:
            return
        self._reported_position = error.position
        following = find_valid_batch_after(self._log, error.position, size, self._base_offset)
        if following is None:
            behind = "no valid batch follows in this segment"
        else:
            behind = (
                f"valid batches follow from offset {following.base_offset} "
                f"at position {following.position}"
            )
        _log.error("%s; %s", error, behind)
