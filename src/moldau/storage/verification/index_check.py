"""Whether the sparse indexes of a segment say what its batches say.

Entries and batches are both sorted, so one pass over the segment is enough: each batch, as
it goes by, is held against the entries that name it. Nothing but the entries is kept.

An offset index entry must name the beginning of a batch and its last offset. (Before 4.0
Apache Kafka wrote one entry for several batches that came together: the place of the first
and the last offset of the last. That is found as well, so it is accepted.) A time index
entry must name the largest timestamp up to its offset, and a batch that has it.

Entries of zeros at the end are room, not entries: Apache Kafka gives an index its full size
in advance and cuts it when it closes it.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from moldau.record.header import BatchHeader
from moldau.storage.verification.findings import FileFindings, Finding, Severity

_OFFSET_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")

_ZEROS: Final = bytes(1 << 16)

_OFFSET_FOLLOWS: Final = "fetches of these offsets can miss records or fail"
_TIME_FOLLOWS: Final = "searches by time and retention by time go by it and can be wrong"
_REMEDY: Final = (
    "delete the .index and .timeindex files of this segment: the next start reads the segment "
    "and builds them anew"
)


class OffsetIndexCheck:
    """The ``.index`` file of one segment."""

    def __init__(self, path: str, data: bytes, base_offset: int, severity: Severity) -> None:
        self._findings = FileFindings(path, severity)
        self._base_offset = base_offset
        self._entries = list(self._read(data))
        self.entry_count = len(self._entries)
        # The next entry that no batch has been held against yet.
        self._next = 0
        # Entries whose place was right and whose offset lies in a later batch.
        self._awaited: list[tuple[int, int, int]] = []

    def _read(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Number, offset and position of every entry that is in its place."""
        for number, relative, position, is_sorted in _entries(data, _OFFSET_ENTRY, self._findings):
            offset = self._base_offset + relative
            if is_sorted:
                yield number, offset, position
            else:
                problem = f"{_shown(number, offset, position)}, between entries that say otherwise"
                self._report(number, problem, offset)

    def on_batch(self, position: int, header: BatchHeader) -> None:
        while self._next < len(self._entries):
            number, offset, place = self._entries[self._next]
            if place > position:
                break
            self._next += 1
            if place < position:
                self._report(number, f"{_shown(number, offset, place)}: no batch begins there")
            elif offset < header.base_offset:
                found = f"the batch there has offsets {header.base_offset} to {header.last_offset}"
                self._report(number, f"{_shown(number, offset, place)}: {found}", offset)
            elif offset != header.last_offset:
                self._awaited.append((number, offset, place))
        if self._awaited:
            self._awaited = [
                entry for entry in self._awaited if not self._is_settled(entry, header)
            ]

    def _is_settled(self, entry: tuple[int, int, int], header: BatchHeader) -> bool:
        number, offset, place = entry
        if header.last_offset < offset:
            return False
        if header.last_offset > offset:
            self._report(number, f"{_shown(number, offset, place)}: no batch ends with it", offset)
        return True

    def skip(self, position: int) -> None:
        """The bytes up to ``position`` are damaged: what points there cannot be judged."""
        while self._next < len(self._entries) and self._entries[self._next][2] < position:
            self._next += 1
        self._awaited = []

    def finish(self, size: int) -> list[Finding]:
        """All findings; ``size`` is where the batches end."""
        for number, offset, place in self._entries[self._next :]:
            self._report(
                number,
                f"{_shown(number, offset, place)}: the batches of the segment end at {size}",
                offset,
            )
        for number, offset, place in self._awaited:
            self._report(number, f"{_shown(number, offset, place)}: no batch ends with it", offset)
        return self._findings.take()

    def _report(self, number: int, problem: str, offset: int | None = None) -> None:
        self._findings.add(
            problem,
            position=number * _OFFSET_ENTRY.size,
            offset=offset,
            follows=_OFFSET_FOLLOWS,
            remedy=_REMEDY,
        )


def _shown(number: int, offset: int, place: int) -> str:
    return f"entry {number} says that offset {offset} is at position {place}"


def _said(number: int, timestamp: int, offset: int) -> str:
    return f"entry {number} says that up to offset {offset} the latest timestamp is {timestamp}"


class TimeIndexCheck:
    """The ``.timeindex`` file of one segment."""

    def __init__(self, path: str, data: bytes, base_offset: int, severity: Severity) -> None:
        self._findings = FileFindings(path, severity)
        self._base_offset = base_offset
        self._entries = list(self._read(data))
        self.entry_count = len(self._entries)
        self._next = 0
        self._max_timestamp = -1
        # Whether every batch so far could be read.
        self._is_complete = True

    def _read(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Number, timestamp and offset of every entry that is in its place."""
        for number, timestamp, relative, is_sorted in _entries(data, _TIME_ENTRY, self._findings):
            offset = self._base_offset + relative
            if is_sorted:
                yield number, timestamp, offset
            else:
                problem = f"{_said(number, timestamp, offset)}, between entries that say otherwise"
                self._report(number, problem, offset)

    def on_batch(self, header: BatchHeader) -> None:
        largest_before = self._max_timestamp
        if header.max_timestamp > largest_before:
            self._max_timestamp = header.max_timestamp
        while self._next < len(self._entries):
            number, timestamp, offset = self._entries[self._next]
            if offset > header.last_offset:
                return
            self._next += 1
            shown = _said(number, timestamp, offset)
            if offset < header.base_offset:
                self._report(number, f"{shown}: there is no such offset", offset)
            elif timestamp < self._max_timestamp or header.max_timestamp != timestamp:
                self._report(number, f"{shown}: it is {self._max_timestamp}", offset)

    def skip(self, next_offset: int) -> None:
        """Batches before ``next_offset`` could not be read: entries about them are not judged."""
        self._is_complete = False
        while self._next < len(self._entries) and self._entries[self._next][2] < next_offset:
            self._next += 1

    def finish(self, *, must_be_complete: bool) -> list[Finding]:
        """All findings. A segment that was closed ends its index with its largest timestamp."""
        for number, timestamp, offset in self._entries[self._next :]:
            shown = _said(number, timestamp, offset)
            self._report(number, f"{shown}: the segment ends before it", offset)
        last = self._entries[-1] if self._entries else None
        largest = last[1] if last else -1
        if must_be_complete and self._is_complete and largest < self._max_timestamp:
            self._report(
                last[0] + 1 if last else 0,
                f"the largest timestamp of the segment is {self._max_timestamp}, but the last "
                f"entry says {largest}",
            )
        return self._findings.take()

    def _report(self, number: int, problem: str, offset: int | None = None) -> None:
        self._findings.add(
            problem,
            position=number * _TIME_ENTRY.size,
            offset=offset,
            follows=_TIME_FOLLOWS,
            remedy=_REMEDY,
        )


def _entries(
    data: bytes, form: Struct, findings: FileFindings
) -> Iterator[tuple[int, int, int, bool]]:
    """Number and fields of each entry, and whether it is sorted in between its neighbours."""
    extra = len(data) % form.size
    if extra:
        findings.add(
            f"{extra} bytes are left over after entries of {form.size} bytes",
            position=len(data) - extra,
            follows="the index is taken for damaged and built anew at the next start",
            remedy=_REMEDY,
        )
    used = -(-_used_bytes(data, len(data) - extra) // form.size)
    if not used and form is _TIME_ENTRY and len(data) == form.size:
        # No room but an entry: a first record of 1 January 1970.
        used = 1
    entries = list(form.iter_unpack(data[: used * form.size]))
    before = (-1, -1)
    for number, entry in enumerate(entries):
        after = entries[number + 1] if number + 1 < len(entries) else None
        is_sorted = _precedes(before, entry)
        if is_sorted and after is not None and not _precedes(entry, after):
            # One of the two is wrong; it is this one if the next fits without it.
            is_sorted = not _precedes(before, after)
        if is_sorted:
            before = entry
        yield number, *entry, is_sorted


def _used_bytes(data: bytes, end: int) -> int:
    """Where the zeros at the end begin. There may be megabytes of them in every partition."""
    while end > len(_ZEROS) and data[end - len(_ZEROS) : end] == _ZEROS:
        end -= len(_ZEROS)
    return len(data[:end].rstrip(b"\0"))


def _precedes(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Both numbers of an entry grow."""
    return one[0] < other[0] and one[1] < other[1]
