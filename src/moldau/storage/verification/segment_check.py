"""Check of one segment: every batch from the first byte to the last, and its indexes.

Reading continues after damage, so that one pass finds all of it. If a header is still usable its
length gives the position of the next batch; otherwise the next complete batch with a correct
checksum is searched for.

The end of the newest segment after a crash is a special case: a torn write is normal after a crash,
and recovery truncates it. It is only a note if nothing readable is truncated with it, and if it was
not known to be flushed.
"""

from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

from moldau.record.header import (
    BATCH_HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    crc_is_valid,
    read_header,
)
from moldau.storage.disk.disk import Disk, DiskFile
from moldau.storage.log.batch_scan import BatchPosition, find_valid_batch_after
from moldau.storage.log.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    MAX_RELATIVE_OFFSET,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_path,
)
from moldau.storage.verification.batch_check import header_problem, records_problem
from moldau.storage.verification.findings import Finding, Severity
from moldau.storage.verification.index_check import OffsetIndexCheck, TimeIndexCheck
from moldau.storage.verification.log_state import LogState
from moldau.storage.verification.txn_check import TxnIndexCheck

_CHUNK_BYTES: Final = 4 << 20

# Yields findings; returns the position at which to continue.
Steps = Generator[Finding, None, int]


class SegmentPlace(NamedTuple):
    """The position of a segment in its log."""

    directory: str
    base_offset: int
    # The base offset of the next segment; None for the last.
    next_base_offset: int | None
    # Whether a later segment contains batches.
    is_followed: bool
    # Whether the next startup recovers it and rebuilds its indexes.
    is_recovered: bool


class _Bad(NamedTuple):
    """Why a batch is unusable; its header if the length in it may still be correct."""

    reason: str
    header: BatchHeader | None


class SegmentCheck:
    """Checks one segment and updates the state of its log."""

    def __init__(self, disk: Disk, place: SegmentPlace, state: LogState) -> None:
        self._disk = disk
        self._place = place
        self._state = state
        self._file: DiskFile = disk.open(self._path(LOG_SUFFIX))
        self._end = self._file.size
        self._next_offset = place.base_offset
        severity = Severity.NOTE if place.is_recovered else Severity.DAMAGE
        base = place.base_offset
        self._offset_index = OffsetIndexCheck(
            self._path(INDEX_SUFFIX), self._contents(INDEX_SUFFIX), base, severity
        )
        self._time_index = TimeIndexCheck(
            self._path(TIME_INDEX_SUFFIX), self._contents(TIME_INDEX_SUFFIX), base, severity
        )
        self._txn_index = TxnIndexCheck(
            self._path(TXN_INDEX_SUFFIX),
            self._contents(TXN_INDEX_SUFFIX),
            state.transactions,
            severity,
        )

    def _path(self, suffix: str) -> str:
        return segment_path(self._place.directory, self._place.base_offset, suffix)

    def _contents(self, suffix: str) -> bytes:
        path = self._path(suffix)
        return self._disk.read_bytes(path) if self._disk.exists(path) else b""

    def run(self) -> Iterator[Finding]:
        """All findings, those of the batches first."""
        yield from self._missing_indexes()
        yield from self._begin()
        position = 0
        while position < self._end:
            position = yield from self._read_from(position)
        self._file.close()
        # A missing file is already reported.
        is_there = self._disk.exists(self._path(TIME_INDEX_SUFFIX))
        is_rebuilt = self._place.is_recovered
        yield from self._offset_index.finish(self._end)
        yield from self._time_index.finish(must_be_complete=is_there and not is_rebuilt)
        yield from self._txn_index.finish(
            self._place.base_offset, self._next_offset, is_compacted=self._state.is_compacted
        )
        tally = self._state.tally
        tally.segments += 1
        tally.index_entries += self._offset_index.entry_count + self._time_index.entry_count
        tally.index_entries += self._txn_index.entry_count
        self._state.next_offset = self._next_offset

    def _missing_indexes(self) -> Iterator[Finding]:
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            path = self._path(suffix)
            if not self._disk.exists(path):
                yield Finding(
                    Severity.NOTE if self._place.is_recovered else Severity.DAMAGE,
                    path,
                    "the file is missing",
                    follows="the next start reads the whole segment to rebuild it",
                    remedy="nothing need be done if the .log file is sound",
                )

    def _begin(self) -> Iterator[Finding]:
        """Check that the segment continues the one before it."""
        expected, base = self._state.next_offset, self._place.base_offset
        if expected is None:
            self._state.transactions.forget(base)
        if expected is None or expected == base:
            return
        if base > expected:
            self._state.note_gap(self._file.path, 0, expected, base)
        else:
            yield Finding(
                Severity.DAMAGE,
                self._file.path,
                f"the segment begins at offset {base}, but the one before it ends at {expected}",
                0,
                base,
                "the same offsets are there twice",
                "restore the partition from a replica or a backup",
            )

    # -- batches

    def _read_from(self, position: int) -> Steps:
        """Check the batches of one read; returns the position at which to continue."""
        chunk = self._read(position)
        at = 0
        bad: _Bad | None = None
        while at < len(chunk):
            batch = self._look(chunk, at, position)
            if not isinstance(batch, BatchHeader):
                bad = batch
                break
            yield from self._good(position + at, batch, chunk, at)
            at += batch.size_bytes
        self._state.tally.add_bytes(at)
        if bad is not None:
            return (yield from self._bad(position + at, bad))
        return position + at

    def _read(self, position: int) -> bytes:
        """Read a large chunk that contains at least the whole first batch."""
        chunk = self._file.pread(min(_CHUNK_BYTES, self._end - position), position)
        header = _header_in(chunk, 0)
        if header is not None and len(chunk) < header.size_bytes <= self._end - position:
            chunk = self._file.pread(header.size_bytes, position)
        return chunk

    def _look(self, chunk: bytes, at: int, position: int) -> "BatchHeader | _Bad | None":
        """The batch at ``at`` if it is valid; None if it extends beyond the chunk."""
        left = self._end - position - at
        header = _header_in(chunk, at)
        if header is None:
            goes_on = len(chunk) - at < BATCH_HEADER_SIZE <= left
            return None if goes_on else _Bad(_why_no_header(chunk, at), None)
        if header.size_bytes > left:
            return _Bad(f"a batch of {header.size_bytes} bytes, {left} before the end", None)
        if at + header.size_bytes > len(chunk):
            return None
        if not crc_is_valid(chunk, at, header):
            wrong = f"the bytes of the batch do not match the checksum {header.crc:#010x}"
            return _Bad(f"{wrong} in its header", header)
        problem = header_problem(header) or self._place_problem(header, position + at)
        return header if problem is None else _Bad(problem, header)

    def _place_problem(self, header: BatchHeader, position: int) -> str | None:
        """What is wrong with the offsets of a batch, which its checksum does not cover."""
        expected = self._next_offset
        if header.base_offset < expected:
            return f"offset {header.base_offset} where {expected} is due"
        if header.base_offset > expected:
            # Either a gap left by compaction or a flipped bit: the next offset must be larger.
            following = _header_in(
                self._file.pread(BATCH_HEADER_SIZE, position + header.size_bytes), 0
            )
            if following is not None and expected <= following.base_offset <= header.last_offset:
                return (
                    f"offset {header.base_offset} where {expected} is due, and "
                    f"{following.base_offset} follows"
                )
        if header.last_offset - self._place.base_offset > MAX_RELATIVE_OFFSET:
            return f"offset {header.last_offset} is too far from the segment's first"
        return None

    def _good(self, position: int, header: BatchHeader, chunk: bytes, at: int) -> Iterator[Finding]:
        """A complete batch, whose contents may still be wrong."""
        state = self._state
        if state.options.opens_batches:
            problem = records_problem(chunk, at, header)
            if problem is not None:
                yield self._malformed(position, header, problem)
        wrong_epoch = state.epochs.on_batch(self._file.path, position, header)
        if wrong_epoch is not None:
            yield wrong_epoch
        if header.record_count <= header.last_offset_delta:
            state.is_compacted = True
        if header.base_offset > self._next_offset:
            state.note_gap(self._file.path, position, self._next_offset, header.base_offset)
        if header.is_transactional:
            self._txn_index.on_batch(chunk, at, header)
        self._offset_index.on_batch(position, header)
        self._time_index.on_batch(header)
        state.tally.batches += 1
        state.tally.records += header.record_count
        self._next_offset = header.next_offset

    def _malformed(self, position: int, header: BatchHeader, problem: str) -> Finding:
        return Finding(
            Severity.DAMAGE,
            self._file.path,
            f"the batch has the right checksum, but {problem}",
            position,
            header.base_offset,
            f"consumers cannot read offsets {header.base_offset} to {header.last_offset}",
            "it was written this way: produce the records again, and delete these "
            "(DeleteRecords) if consumers must get past them",
        )

    # -- damage

    def _bad(self, position: int, bad: "_Bad") -> Steps:
        """Report the batch at ``position``; returns the position at which to continue."""
        expected = self._next_offset
        following = self._following(position, bad.header)
        go_on = self._end if following is None else following.position
        is_cut = self._place.is_recovered and expected >= self._state.flushed_offset
        if is_cut and following is None and not self._place.is_followed:
            yield self._torn(position, bad.reason, expected)
        else:
            yield self._damaged(position, bad.reason, expected, following)
            if following is None and self._place.next_base_offset is None:
                self._state.has_lost_its_end = True
        self._offset_index.skip(go_on)
        self._skip_to(following)
        self._state.tally.add_bytes(go_on - position)
        return go_on

    def _skip_to(self, following: BatchPosition | None) -> None:
        """Continue with the next readable batch, or else with the next segment."""
        if following is not None:
            next_offset = unknown_to = following.base_offset
        elif self._place.next_base_offset is not None:
            next_offset = unknown_to = self._place.next_base_offset
        else:
            next_offset = self._next_offset
            unknown_to = self._place.base_offset + MAX_RELATIVE_OFFSET + 1
        self._time_index.skip(unknown_to)
        self._txn_index.skip(unknown_to)
        self._next_offset = next_offset

    def _following(self, position: int, header: BatchHeader | None) -> BatchPosition | None:
        """The first readable batch after the bad one."""
        if header is not None:
            # If the length is correct, it gives the next batch. A search could find a batch within
            # the bytes of a record, such as a mirrored one.
            found = self._whole_batch(position + header.size_bytes)
            if found is not None:
                return found
        return find_valid_batch_after(self._file, position, self._end, self._next_offset)

    def _whole_batch(self, position: int) -> BatchPosition | None:
        header = _header_in(self._file.pread(BATCH_HEADER_SIZE, position), 0)
        if header is None or header.base_offset < self._next_offset:
            return None
        data = self._file.pread(min(header.size_bytes, self._end - position), position)
        if not crc_is_valid(data, 0, header):
            return None
        return BatchPosition(header.base_offset, header.last_offset, position, header.size_bytes)

    def _torn(self, position: int, reason: str, expected: int) -> Finding:
        return Finding(
            Severity.NOTE,
            self._file.path,
            f"{self._end - position} bytes of a write that was cut short: {reason}",
            position,
            expected,
            f"they will be cut at the next start, and the log ends at offset {expected}",
            "nothing need be done",
        )

    def _damaged(
        self, position: int, reason: str, expected: int, following: BatchPosition | None
    ) -> Finding:
        if following is None:
            behind = "no readable batch follows in this segment"
            lost = f"from offset {expected} to the end of the segment"
        else:
            behind = (
                f"readable batches follow from offset {following.base_offset} at position "
                f"{following.position} on"
            )
            lost = f"of offsets {expected} to {following.base_offset - 1}"
        if self._place.is_recovered:
            behind += "; the next start truncates the log here"
        return Finding(
            Severity.DAMAGE,
            self._file.path,
            reason,
            position,
            expected,
            behind,
            "restore the file from a replica or a backup before the broker starts, or accept the "
            f"loss of the records {lost}",
        )


def _header_in(data: bytes, at: int) -> BatchHeader | None:
    try:
        return read_header(data, at)
    except CorruptBatch:
        return None


def _why_no_header(data: bytes, at: int) -> str:
    if len(data) - at < BATCH_HEADER_SIZE:
        return f"{len(data) - at} bytes are too few for a batch"
    if not any(data[at : at + BATCH_HEADER_SIZE]):
        return "zeros where a batch should begin"
    length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
    return f"no batch begins here: its length would be {length}, its magic {data[at + 16]}"
