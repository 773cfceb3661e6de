"""Which bytes of a segment file may be served, though this process did not write them.

After a clean stop nobody reads a log through: it is believed to be what was written. But disks
forget, so the bytes are checked when they are first asked for, batch by batch, and what was found
good is remembered. Most segments are read by those who read on, so one range is enough to
remember: a read that begins elsewhere begins a new one.

Rules this module keeps:

* What is handed out was checked since this process began.
* Damage is reported once, for an operator, with the place and with what lies behind it.
"""

import logging

from moldau.storage.batch_scan import CorruptSegment, find_valid_batch_after, iter_valid_batches
from moldau.storage.disk import DiskFile

_log = logging.getLogger(__name__)


class CheckedBytes:
    """What is known of one segment file."""

    __slots__ = ("_base_offset", "_from", "_log", "_next_offset", "_reported_position", "_to")

    def __init__(self, log: DiskFile, base_offset: int) -> None:
        self._log = log
        self._base_offset = base_offset
        self._reported_position = -1
        self.forget()

    def forget(self) -> None:
        """The file was cut: what was found good may be other bytes by and by."""
        self._from = self._to = 0
        self._next_offset = self._base_offset

    def check(self, start: int, end: int, trusted_from: int) -> int:
        """How far readers may read from the batch boundary ``start`` towards ``end``.

        Nothing from ``trusted_from`` on needs a check. The answer is short of ``end`` only if
        a bad batch stands between.

        Raises:
            CorruptSegment: the batch at ``start`` itself is bad.
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
        """Say once where the bytes are bad, and what lies behind them in a file of ``size``."""
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
