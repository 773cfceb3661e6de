"""The ``.snapshot`` files: the producer state of a partition at an offset.

One is written at the base offset of every new segment and when a log is closed. At startup the
newest one is loaded and the log is replayed from its offset, instead of from the beginning. The
format is Apache Kafka's (ProducerSnapshot, version 1):

    version 2   crc-32c of what follows 4   number of entries 4   entries 46 each

Of the five retained batches of a producer, a snapshot contains only the last.

Writing a snapshot of many producers takes too long for the event loop, so another thread can write
it later (``UnwrittenSnapshot``). Until then its entries do not change: ``producer_state`` changes
copies of them (``producer_chunks``).
"""

import logging
import os
import threading
import time
from collections.abc import Collection, Iterable
from struct import Struct, error
from typing import Final

from moldau.record.checksum import crc32c
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.log_failure import is_no_room
from moldau.storage.log.producer_chunks import CHUNK_SIZE, Chunk
from moldau.storage.log.producer_entry import NO_OFFSET, ProducerEntry

SNAPSHOT_SUFFIX: Final = ".snapshot"

_VERSION: Final = 1
_HEAD: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
# Producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, first
# offset of the open transaction.
_ENTRY: Final = Struct(">qhiqiqiq")
# The thread pauses after each chunk that it encodes, and after a few others, in favour of the event
# loop: compiled code does not release the GIL on its own, and among several threads that only
# yield, the event loop would wait for all of them. It may have to wait after each of its system
# calls, of which a roll makes dozens.
_COPIED_CHUNKS: Final = 100
# Freeing a producer, if at all, takes less time than encoding it.
_FREED_CHUNKS: Final = 4
_PAUSE_S: Final = 0.0001

_log = logging.getLogger(__name__)


class CorruptSnapshot(Exception):  # noqa: N818
    """The file is not a snapshot or is damaged; an older one can be used instead."""


def snapshot_path(directory: str, offset: int) -> str:
    return os.path.join(directory, f"{offset:020d}{SNAPSHOT_SUFFIX}")


def snapshot_offset(name: str) -> int | None:
    """The offset in the name of a snapshot file; None for other files."""
    if not name.endswith(SNAPSHOT_SUFFIX):
        return None
    stem = name.removesuffix(SNAPSHOT_SUFFIX)
    return int(stem) if stem.isdecimal() else None


def encode_snapshot(entries: Collection[ProducerEntry]) -> bytearray:
    """The contents of a snapshot file."""
    data = bytearray(_HEAD.size + _COUNT.size + len(entries) * _ENTRY.size)
    position = _HEAD.size + _COUNT.size
    for entry in entries:
        _encode_entry(data, position, entry)
        position += _ENTRY.size
    _encode_head(data, len(entries))
    return data


def _encode_head(data: bytearray, count: int) -> None:
    """Complete a snapshot that has its entries."""
    _COUNT.pack_into(data, _HEAD.size, count)
    # The checksum of so much is computed without the GIL.
    _HEAD.pack_into(data, 0, _VERSION, crc32c(memoryview(data)[_HEAD.size :]))


def _encode_entry(data: bytearray, position: int, entry: ProducerEntry) -> None:
    _ENTRY.pack_into(
        data,
        position,
        entry.producer_id,
        entry.epoch,
        entry.last_sequence,
        entry.last_offset,
        entry.last_offset_delta,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.txn_first_offset,
    )


def _encode_chunk(chunk: Chunk) -> bytes:
    """Keep and return the chunk as it is in a snapshot file."""
    data = bytearray(CHUNK_SIZE * _ENTRY.size)
    end = 0
    for entry in chunk.entries:
        if entry is not None:
            _encode_entry(data, end, entry)
            end += _ENTRY.size
    chunk.encoded = encoded = bytes(data[:end])
    return encoded


def decode_snapshot(data: bytes | bytearray) -> list[ProducerEntry]:
    """Raises CorruptSnapshot."""
    try:
        version, crc = _HEAD.unpack_from(data)
        if version != _VERSION:
            raise CorruptSnapshot(f"version {version} is unknown: want {_VERSION}")
        body = memoryview(data)[_HEAD.size :]
        (count,) = _COUNT.unpack_from(body)
    except error:
        raise CorruptSnapshot(f"{len(data)} bytes are too few for a snapshot") from None
    if crc32c(body) != crc:
        raise CorruptSnapshot(f"the checksum is {crc32c(body):#010x}, expected {crc:#010x}")
    if len(body) != _COUNT.size + count * _ENTRY.size:
        raise CorruptSnapshot(f"{len(body)} bytes do not hold {count} producers")
    return [_decode_entry(*fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size :])]


def _decode_entry(
    producer_id: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    txn_first_offset: int,
) -> ProducerEntry:
    entry = ProducerEntry(producer_id, epoch)
    entry.coordinator_epoch = coordinator_epoch
    entry.txn_first_offset = txn_first_offset
    # Without an offset there was only a transaction marker in this epoch.
    if last_offset >= 0:
        entry.add_batch(last_sequence, last_offset, offset_delta, timestamp)
    entry.last_timestamp = timestamp
    return entry


def read_snapshot(disk: Disk, path: str) -> list[ProducerEntry]:
    """Raises CorruptSnapshot, which names the file."""
    try:
        return decode_snapshot(disk.read_bytes(path))
    except CorruptSnapshot as corrupt:
        raise CorruptSnapshot(f"{path}: {corrupt}") from None


def write_snapshot(
    disk: Disk, path: str, entries: Collection[ProducerEntry], sync: bool = False
) -> None:
    """Not atomic: a torn snapshot fails its checksum, which costs only a longer replay."""
    _write_file(disk, path, encode_snapshot(entries), sync)


def _write_file(disk: Disk, path: str, data: bytearray, sync: bool) -> None:
    file = disk.open(path, create=True)
    try:
        file.truncate(0)
        file.append((data,))
        if sync:
            file.fsync()
    finally:
        file.close()


class UnwrittenSnapshot:
    """A snapshot to be written by another thread, unless it is cancelled first."""

    __slots__ = ("_chunks", "_lock", "offset")

    def __init__(self, offset: int, chunks: list[Chunk]) -> None:
        """``chunks`` must not change from now on."""
        self.offset = offset
        self._chunks: list[Chunk] | None = chunks
        self._lock = threading.Lock()

    @property
    def is_settled(self) -> bool:
        """Whether it was written or cancelled."""
        return self._chunks is None

    def write(self, disk: Disk, directory: str) -> None:
        """Write the snapshot, unless it was written or cancelled; in any thread. Raises OSError.

        If the disk is full it is skipped, which costs only a longer replay.
        """
        data = self._encoded()
        # Encoding takes long and is not part of it: whoever cancels waits for the lock.
        with self._lock:
            chunks = self._chunks
            if chunks is None or data is None:
                return
            path = snapshot_path(directory, self.offset)
            try:
                _write_file(disk, path, data, sync=False)
            except OSError as problem:
                if not is_no_room(problem):
                    raise
                _log.warning("no room for the producer snapshot %s: it is left out", path)
                disk.remove(path, missing_ok=True)
            self._chunks = None
        while chunks:
            del chunks[-_FREED_CHUNKS:]
            time.sleep(_PAUSE_S)

    def _encoded(self) -> bytearray | None:
        """The contents of the file, with pauses; None if it was written or cancelled meanwhile."""
        chunks = self._chunks
        if chunks is None:
            return None
        encoded: list[bytes] = []
        size_bytes = 0
        for chunk in chunks:
            if self._chunks is None:
                return None
            part = chunk.encoded
            if part is None:
                part = _encode_chunk(chunk)
                time.sleep(_PAUSE_S)
            encoded.append(part)
            size_bytes += len(part)
        # Filled in place: joining many parts would be one long operation.
        data = bytearray(_HEAD.size + _COUNT.size + size_bytes)
        position = _HEAD.size + _COUNT.size
        for count, part in enumerate(encoded, 1):
            data[position : position + len(part)] = part
            position += len(part)
            if count % _COPIED_CHUNKS == 0:
                time.sleep(_PAUSE_S)
        _encode_head(data, size_bytes // _ENTRY.size)
        return data

    def give_up(self) -> None:
        """Cancel the snapshot. Waits for a thread that is writing its file."""
        with self._lock:
            self._chunks = None


class SnapshotFiles:
    """The snapshot files of a partition.

    A snapshot that is still to be written counts as existing.
    """

    __slots__ = ("_disk", "_snapshots", "_unwritten", "directory")

    def __init__(self, disk: Disk, directory: str) -> None:
        """Does not access the disk."""
        self._disk = disk
        self.directory = directory
        # Offsets of the snapshot files, ascending; None until first used.
        self._snapshots: list[int] | None = None
        self._unwritten: list[UnwrittenSnapshot] | None = None

    def snapshot_offsets(self) -> list[int]:
        """Ascending."""
        if self._snapshots is None:
            is_there = self._disk.is_dir(self.directory)
            self.use_listing(self._disk.list_dir(self.directory) if is_there else [])
        assert self._snapshots is not None
        return self._snapshots

    def use_listing(self, names: Iterable[str]) -> None:
        """Take the snapshots from a directory listing of the caller."""
        self._snapshots = sorted(
            offset for name in names if (offset := snapshot_offset(name)) is not None
        )

    @property
    def latest_snapshot_offset(self) -> int:
        """-1 if there is none."""
        snapshots = self.snapshot_offsets()
        return snapshots[-1] if snapshots else NO_OFFSET

    @property
    def oldest_snapshot_offset(self) -> int:
        """-1 if there is none."""
        snapshots = self.snapshot_offsets()
        return snapshots[0] if snapshots else NO_OFFSET

    def remove_stray_snapshots(self, segment_base_offsets: Iterable[int]) -> None:
        """Delete snapshots that are not at the base offset of a segment.

        The newest of them is kept if it is above all base offsets: a clean shutdown wrote it at the
        end of the log.
        """
        bases = set(segment_base_offsets)
        strays = [offset for offset in self.snapshot_offsets() if offset not in bases]
        if strays and (not bases or strays[-1] >= max(bases)):
            strays.pop()
        for offset in strays:
            self._delete_snapshot(offset)

    def delete_snapshots_before(self, offset: int) -> None:
        for snapshot in [s for s in self.snapshot_offsets() if s < offset]:
            self._delete_snapshot(snapshot)

    def mark_snapshot_deleted(self, offset: int) -> str | None:
        """Rename the snapshot for later removal; None if there is none at this offset."""
        if offset not in self.snapshot_offsets():
            return None
        self.snapshot_offsets().remove(offset)
        self._give_up(offset)
        path = snapshot_path(self.directory, offset)
        try:
            self._disk.rename(path, path + ".deleted")
        except FileNotFoundError:
            return None
        return path + ".deleted"

    def moved(self, directory: str) -> None:
        """Set the path after the partition's directory was renamed."""
        self.directory = directory

    def _delete_snapshot(self, offset: int) -> None:
        self.snapshot_offsets().remove(offset)
        self._give_up(offset)
        self._disk.remove(snapshot_path(self.directory, offset), missing_ok=True)

    def _give_up(self, offset: int) -> None:
        for snapshot in self._unwritten or ():
            if snapshot.offset == offset:
                snapshot.give_up()

    def _note_unwritten(self, snapshot: UnwrittenSnapshot) -> None:
        unsettled = [each for each in self._unwritten or () if not each.is_settled]
        self._unwritten = [*unsettled, snapshot]

    def _write_unwritten(self) -> None:
        """Write pending snapshots now. Raises OSError."""
        for snapshot in self._unwritten or ():
            snapshot.write(self._disk, self.directory)
        self._unwritten = None
