"""Check of the transaction indexes against the aborted transactions of a log.

``read_committed`` consumers skip records according to the ``.txnindex`` files. So a missing entry
exposes aborted records, and a superfluous one hides committed records. Both can be detected from
the log: an abort marker aborts what its producer wrote since its previous marker.

Compaction removes aborted records and eventually their markers, and retention the beginning of a
log; entries for what was removed are not required.
"""

from struct import Struct
from typing import Final, NamedTuple

from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import BatchHeader, CorruptBatch
from moldau.record.records import decode_records
from moldau.storage.verification.findings import FileFindings, Finding, Severity

_ENTRY: Final = Struct(">hqqqq")
_VERSION: Final = 0
_FOLLOWS: Final = "consumers that read committed records only can get wrong ones"
_REMEDY: Final = (
    "delete the .index and .txnindex files of this segment: the next start reads the segment "
    "and rebuilds them"
)


class OpenTransactions:
    """The offset of the first record of each producer since its last marker."""

    def __init__(self) -> None:
        self._first_offsets: dict[int, int] = {}
        # Every batch from here on was seen: older transactions may have begun before.
        self.seen_from = 0

    def begin(self, header: BatchHeader) -> None:
        self._first_offsets.setdefault(header.producer_id, header.base_offset)

    def end(self, producer_id: int) -> int | None:
        """The start of the transaction; None if nothing of it is in the log."""
        return self._first_offsets.pop(producer_id, None)

    def stable_offset(self, marker_offset: int) -> int:
        """The last stable offset after the transaction with this marker."""
        return min(self._first_offsets.values(), default=marker_offset + 1)

    def forget(self, seen_from: int) -> None:
        """Discard the state after batches were skipped, which may have been markers."""
        self._first_offsets.clear()
        self.seen_from = seen_from


class _Entry(NamedTuple):
    number: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TxnIndexCheck:
    """The ``.txnindex`` file of one segment, which need not exist."""

    def __init__(
        self, path: str, data: bytes, transactions: OpenTransactions, severity: Severity
    ) -> None:
        self._findings = FileFindings(path, severity)
        self._transactions = transactions
        # By the offset of the marker.
        self._entries: dict[int, _Entry] = {}
        self._inexact: list[tuple[_Entry, str]] = []
        self._read(data)
        self.entry_count = len(self._entries)

    def _read(self, data: bytes) -> None:
        extra = len(data) % _ENTRY.size
        if extra:
            self._report(
                len(data) // _ENTRY.size,
                f"{extra} bytes are left over after entries of {_ENTRY.size} bytes",
            )
        previous = -1
        entries = enumerate(_ENTRY.iter_unpack(data[: len(data) - extra]))
        for number, (version, producer_id, first, last, stable) in entries:
            if version != _VERSION:
                problem = f"entry {number} has version {version}: want {_VERSION}"
                self._report(number, problem)
            elif not max(first, previous + 1, stable - 1) <= last or min(first, stable) < 0:
                shown = f"entry {number} (producer {producer_id}, offsets {first} to {last}, "
                self._report(number, f"{shown}last stable offset {stable}) makes no sense", last)
            else:
                self._entries[last] = _Entry(number, producer_id, first, last, stable)
                previous = last

    def on_batch(self, data: bytes, at: int, header: BatchHeader) -> None:
        """Process a transactional batch, which is complete in ``data`` at ``at``."""
        if not header.is_control:
            # A batch emptied by compaction only preserves a producer's last sequence.
            if header.record_count:
                self._transactions.begin(header)
            return
        marker = header.last_offset
        entry = self._entries.pop(marker, None)
        began = self._transactions.end(header.producer_id)
        if not _is_abort(data, at):
            if entry is not None:
                self._report(entry.number, _wrong(entry), marker)
        elif entry is None:
            if began is not None:
                self._report(
                    self.entry_count,
                    f"no entry for the transaction of producer {header.producer_id} that was "
                    f"aborted at offset {marker}",
                    marker,
                )
        elif entry.producer_id != header.producer_id or (
            began is not None and entry.first_offset > began
        ):
            self._report(entry.number, _wrong(entry), marker)
        else:
            self._compare(entry, began)

    def _compare(self, entry: _Entry, began: int | None) -> None:
        """Compare values that must be equal if nothing was removed from the log."""
        seen_from = self._transactions.seen_from
        stable = self._transactions.stable_offset(entry.last_offset)
        if began is not None and seen_from <= entry.first_offset != began:
            self._inexact.append((entry, f"it began at offset {began}"))
        elif entry.last_stable_offset != stable and entry.last_stable_offset >= seen_from:
            self._inexact.append((entry, f"the last stable offset was {stable}"))

    def skip(self, next_offset: int) -> None:
        """Batches before ``next_offset`` were unreadable."""
        self._transactions.forget(next_offset)
        self._entries = {last: e for last, e in self._entries.items() if last >= next_offset}

    def finish(self, base_offset: int, next_offset: int, *, is_compacted: bool) -> list[Finding]:
        """All findings; the segment has offsets ``base_offset`` to ``next_offset`` - 1."""
        for last, entry in self._entries.items():
            # Within the segment, compaction may have removed the marker.
            if not base_offset <= last < next_offset:
                self._report(entry.number, _wrong(entry), last)
        if not is_compacted:
            for entry, fact in self._inexact:
                shown = f"entry {entry.number} (producer {entry.producer_id}, from offset "
                shown += f"{entry.first_offset} on, last stable offset {entry.last_stable_offset})"
                self._report(entry.number, f"{shown} is wrong: {fact}", entry.last_offset)
        return self._findings.take()

    def _report(self, number: int, problem: str, offset: int | None = None) -> None:
        self._findings.add(
            problem,
            position=number * _ENTRY.size,
            offset=offset,
            follows=_FOLLOWS,
            remedy=_REMEDY,
        )


def _wrong(entry: _Entry) -> str:
    return (
        f"entry {entry.number} says that producer {entry.producer_id} aborted a transaction "
        f"of offsets {entry.first_offset} to {entry.last_offset}: no such abort is in the log"
    )


def _is_abort(data: bytes, at: int) -> bool:
    try:
        records = decode_records(data, at)
        return bool(records) and decode_control_key(records[0].key) == ControlType.ABORT
    except CorruptBatch:
        return False
