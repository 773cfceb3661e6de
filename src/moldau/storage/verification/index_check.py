"""Check of the sparse indexes of a segment against its batches.

Both entries and batches are sorted, so one pass over the segment is enough: each batch is compared
to the entries that refer to it. Only the entries are kept in memory.

An offset index entry must contain the position of a batch and its last offset. (Before 4.0 Apache
Kafka wrote one entry for several batches appended together: the position of the first and the last
offset of the last. A lookup works with it too, so it is accepted.) A time index entry must contain
the largest timestamp up to its offset, and the offset of a batch with that timestamp.

Zeros at the end are free space, not entries: Apache Kafka preallocates an index and truncates it on
close.
"""

from collections.abc import Iterator
from struct import Struct
from typing import ClassVar, Final

from moldau.record.header import BatchHeader
from moldau.storage.verification.findings import FileFindings, Finding, Severity

_OFFSET_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")

_ZEROS: Final = bytes(1 << 16)

_REMEDY: Final = (
    "delete the .index and .timeindex files of this segment: the next start reads the segment "
    "and rebuilds them"
)


class _IndexCheck:
    """The entries of one index file, to be compared to the batches of a pass."""

    _form: ClassVar[Struct]
    _follows: ClassVar[str]

    def __init__(self, path: str, data: bytes, base_offset: int, severity: Severity) -> None:
        self._findings = FileFindings(path, severity)
        # Number, offset and value of every entry that is in order.
        self._entries: list[tuple[int, int, int]] = []
        for number, one, other, is_sorted in _entries(data, self._form, self._findings):
            relative, value = self._fields(one, other)
            entry = (number, base_offset + relative, value)
            if is_sorted:
                self._entries.append(entry)
            else:
                self._report(entry, "between entries that say otherwise", separator=", ")
        self.entry_count = len(self._entries)
        # The next entry that has not been compared to a batch yet.
        self._next = 0

    def _fields(self, one: int, other: int) -> tuple[int, int]:
        """The relative offset and the value of a stored entry."""
        raise NotImplementedError

    def _said(self, entry: tuple[int, int, int]) -> str:
        raise NotImplementedError

    def _left(self) -> list[tuple[int, int, int]]:
        """Entries without a batch so far."""
        return self._entries[self._next :]

    def _report(
        self,
        entry: tuple[int, int, int],
        problem: str,
        *,
        separator: str = ": ",
        with_offset: bool = True,
    ) -> None:
        number, offset, _ = entry
        said = f"{self._said(entry)}{separator}{problem}"
        self._add(number, said, offset if with_offset else None)

    def _add(self, number: int, problem: str, offset: int | None = None) -> None:
        self._findings.add(
            problem,
            position=number * self._form.size,
            offset=offset,
            follows=self._follows,
            remedy=_REMEDY,
        )


class OffsetIndexCheck(_IndexCheck):
    """The ``.index`` file of one segment: the positions of batches."""

    _form = _OFFSET_ENTRY
    _follows = "fetches of these offsets can miss records or fail"

    def __init__(self, path: str, data: bytes, base_offset: int, severity: Severity) -> None:
        super().__init__(path, data, base_offset, severity)
        # Entries whose position was right and whose offset is in a later batch.
        self._awaited: list[tuple[int, int, int]] = []

    def _fields(self, one: int, other: int) -> tuple[int, int]:
        return one, other

    def _said(self, entry: tuple[int, int, int]) -> str:
        number, offset, place = entry
        return f"entry {number} says that offset {offset} is at position {place}"

    def on_batch(self, position: int, header: BatchHeader) -> None:
        while self._next < len(self._entries):
            entry = self._entries[self._next]
            _, offset, place = entry
            if place > position:
                break
            self._next += 1
            if place < position:
                self._report(entry, "no batch begins there", with_offset=False)
            elif offset < header.base_offset:
                found = f"the batch there has offsets {header.base_offset} to {header.last_offset}"
                self._report(entry, found)
            elif offset != header.last_offset:
                self._awaited.append(entry)
        if self._awaited:
            self._awaited = [
                entry for entry in self._awaited if not self._is_settled(entry, header)
            ]

    def _is_settled(self, entry: tuple[int, int, int], header: BatchHeader) -> bool:
        offset = entry[1]
        if header.last_offset < offset:
            return False
        if header.last_offset > offset:
            self._report(entry, "no batch ends with it")
        return True

    def skip(self, position: int) -> None:
        """Skip entries for damaged bytes before ``position``, which cannot be checked."""
        while self._next < len(self._entries) and self._entries[self._next][2] < position:
            self._next += 1
        self._awaited = []

    def finish(self, size: int) -> list[Finding]:
        """All findings; ``size`` is the end of the batches."""
        for entry in self._left():
            self._report(entry, f"the batches of the segment end at {size}")
        for entry in self._awaited:
            self._report(entry, "no batch ends with it")
        return self._findings.take()


class TimeIndexCheck(_IndexCheck):
    """The ``.timeindex`` file of one segment: the largest timestamp up to an offset."""

    _form = _TIME_ENTRY
    _follows = "searches by time and retention by time go by it and can be wrong"

    def __init__(self, path: str, data: bytes, base_offset: int, severity: Severity) -> None:
        super().__init__(path, data, base_offset, severity)
        self._max_timestamp = -1
        # Whether all batches so far were readable.
        self._is_complete = True

    def _fields(self, one: int, other: int) -> tuple[int, int]:
        return other, one

    def _said(self, entry: tuple[int, int, int]) -> str:
        number, offset, timestamp = entry
        return f"entry {number} says that up to offset {offset} the latest timestamp is {timestamp}"

    def on_batch(self, header: BatchHeader) -> None:
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp = header.max_timestamp
        while self._next < len(self._entries):
            entry = self._entries[self._next]
            _, offset, timestamp = entry
            if offset > header.last_offset:
                return
            self._next += 1
            if offset < header.base_offset:
                self._report(entry, "there is no such offset")
            elif timestamp < self._max_timestamp or header.max_timestamp != timestamp:
                self._report(entry, f"it is {self._max_timestamp}")

    def skip(self, next_offset: int) -> None:
        """Skip entries for unreadable batches before ``next_offset``, which cannot be checked."""
        self._is_complete = False
        while self._next < len(self._entries) and self._entries[self._next][1] < next_offset:
            self._next += 1

    def finish(self, *, must_be_complete: bool) -> list[Finding]:
        """All findings. The index of a closed segment ends with its largest timestamp."""
        for entry in self._left():
            self._report(entry, "the segment ends before it")
        number, _, largest = self._entries[-1] if self._entries else (-1, -1, -1)
        if must_be_complete and self._is_complete and largest < self._max_timestamp:
            problem = (
                f"the largest timestamp of the segment is {self._max_timestamp}, but the last "
                f"entry says {largest}"
            )
            self._add(number + 1, problem)
        return self._findings.take()


def _entries(
    data: bytes, form: Struct, findings: FileFindings
) -> Iterator[tuple[int, int, int, bool]]:
    """Number and fields of each entry, and whether it is in order with its neighbours."""
    extra = len(data) % form.size
    if extra:
        findings.add(
            f"{extra} bytes are left over after entries of {form.size} bytes",
            position=len(data) - extra,
            follows="the next start treats the index as damaged and rebuilds it",
            remedy=_REMEDY,
        )
    used = -(-_used_bytes(data, len(data) - extra) // form.size)
    if not used and form is _TIME_ENTRY and len(data) == form.size:
        # Not free space but an entry: the first record is from 1 January 1970.
        used = 1
    entries = list(form.iter_unpack(data[: used * form.size]))
    before = (-1, -1)
    for number, entry in enumerate(entries):
        after = entries[number + 1] if number + 1 < len(entries) else None
        is_sorted = _precedes(before, entry)
        if is_sorted and after is not None and not _precedes(entry, after):
            # One of the two is wrong: this one, if the next is in order without it.
            is_sorted = not _precedes(before, after)
        if is_sorted:
            before = entry
        yield number, *entry, is_sorted


def _used_bytes(data: bytes, end: int) -> int:
    """The start of the zeros at the end. There may be megabytes of them in every partition."""
    while end > len(_ZEROS) and data[end - len(_ZEROS) : end] == _ZEROS:
        end -= len(_ZEROS)
    return len(data[:end].rstrip(b"\0"))


def _precedes(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Both numbers of an entry increase."""
    return one[0] < other[0] and one[1] < other[1]
