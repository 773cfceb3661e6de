"""The latest offset of every key of a log, in bounded memory.

The cleaner reads the dirty part of a log once to find the last offset of each key, and then removes
older records. A key is stored as a hash of 16 bytes: the probability that two keys of a log have
the same hash is negligible. So an entry takes 24 bytes whatever the key, and
``log.cleaner.dedupe.buffer.size`` determines the number of entries, as in Kafka. When they are used
up, the cleaner cleans up to ``latest_offset`` and continues with the rest in the next pass.

The table is open-addressed: an entry is in the slot given by its hash, or in the next free one. It
starts small and grows with the number of keys, because a table that fits into the CPU caches is
several times as fast as one of the maximum size, and a log with few keys should cost little memory.

This module is compiled with Cython if available (``offset_map.pxd`` has the types); its loops then
release the GIL.

Rules this module keeps:

* The hash is keyed with random bytes, new ones for each map: a producer cannot choose keys that
  collide, or that crowd one part of the table.
* The map never has more than ``max_entries``, and at least one slot is always free, so that every
  search ends.
* The offset of a key never decreases.
* Memory is allocated as the table grows and released by ``clear``.
"""

import contextlib
import mmap
from hashlib import blake2b
from typing import Final

from moldau.record import interpreted as cython
from moldau.record.columns import Columns, index_records

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore

# Two words of hash, and the offset plus one, so that zeroed memory means a free slot.
BYTES_PER_ENTRY: Final = 24
SEED_BYTES: Final = 16
_FIRST_SLOTS: Final = 1 << 12
# In slots; their size in bytes is a multiple of any page size.
_MOVED_AT_ONCE: Final = 1 << 16
# From this size on huge pages are worthwhile, since every lookup touches another page.
_LARGE: Final = 8 << 20
# The slot is computed by multiplication with 32 bits of the hash.
_MOST_SLOTS: Final = (1 << 32) - 1
_LARGEST_OFFSET: Final = (1 << 63) - 2
_LARGEST_DELTA: Final = (1 << 31) - 1


class OffsetMap:
    """Maps keys to offsets. ``latest_offset`` is the largest one put or noted, -1 at first."""

    def __init__(self, memory_bytes: int, load_factor: float = 0.9, *, seed: bytes) -> None:
        """``seed`` is 16 bytes that no producer can guess."""
        assert len(seed) == SEED_BYTES, f"a seed of {len(seed)} bytes, not {SEED_BYTES}"
        slots = min(memory_bytes // BYTES_PER_ENTRY, _MOST_SLOTS)
        max_entries = min(int(slots * load_factor), slots - 1)
        if max_entries < 1:
            raise ValueError(
                f"an offset map of {memory_bytes} bytes, {load_factor:g} full, has no room "
                f"for a key: give it at least {4 * BYTES_PER_ENTRY} bytes and half of them"
            )
        self.max_entries = max_entries
        self._max_slots = slots
        self._seed = seed
        self.clear()

    def clear(self) -> None:
        """Remove all keys and release the memory."""
        self.size = 0
        self.latest_offset = -1
        self._slots = min(_FIRST_SLOTS, self._max_slots)
        self._memory = _new_memory(self._slots)
        self._table = memoryview(self._memory).cast("Q")

    def note_offset(self, offset: int) -> None:
        """Record that the log was read up to ``offset``, even if there were no keys."""
        self.latest_offset = max(self.latest_offset, offset)

    def put_records(self, records: bytes, count: int, base_offset: int, from_offset: int) -> bool:
        """Put every record with a key and an offset of at least ``from_offset``.

        ``records`` is what follows the header of a batch, decompressed. False means that the map is
        full: it contains the records up to ``latest_offset``, but not those after it.

        Raises:
            ValueError: the records are damaged. Nothing was put.
        """
        columns = index_records(records, count)
        check_base_offset(base_offset)
        return self.put_columns(columns, base_offset, from_offset) == count

    def put_columns(self, columns: Columns, base_offset: int, from_offset: int) -> int:
        """Like ``put_records``, for one or more batches; returns the number of processed records.

        If that is less than all, the map is full: the next record had a new key.
        """
        count = columns.count
        self._reserve(count)
        hashes = memoryview(bytearray(16 * count)).cast("Q")
        self._hash_keys(columns.records, columns.key_position, columns.key_size, count, hashes)
        return self._put(
            hashes, columns.key_size, columns.offset_delta, count, base_offset, from_offset
        )

    def get(self, key: bytes) -> int:
        """The latest offset of ``key``, or -1."""
        size = len(key)
        low, high = _hash(key, 0, size, self._seed)
        at = _find(self._table, self._slots, low, high)
        return self._table[at + 2] - 1

    def offsets_of(self, columns: Columns) -> memoryview:
        """The latest offset of each record's key; -1 if it is unknown or there is no key."""
        count = columns.count
        hashes = memoryview(bytearray(16 * count)).cast("Q")
        self._hash_keys(columns.records, columns.key_position, columns.key_size, count, hashes)
        found = memoryview(bytearray(8 * count)).cast("q")
        self._look_up(hashes, columns.key_size, count, found)
        return found

    def _reserve(self, count: int) -> None:
        """Grow, within the limit, until ``count`` more keys leave it at most two thirds full."""
        slots = self._slots
        while slots < self._max_slots and 3 * (self.size + count) > 2 * slots:
            slots = min(2 * slots, self._max_slots)
        if slots == self._slots:
            return
        memory = _new_memory(slots)
        table = memoryview(memory).cast("Q")
        # Entries keep their order, so the new memory is filled from start to end while the old is
        # released: together they take hardly more than the new alone.
        for first in range(0, self._slots, _MOVED_AT_ONCE):
            end = min(first + _MOVED_AT_ONCE, self._slots)
            self._move(first, end, table, slots)
            if end < self._slots:
                _give_back(self._memory, first, _MOVED_AT_ONCE)
        self._memory = memory
        self._table = table
        self._slots = slots

    def _move(self, first: int, end: int, table: memoryview, slots: int) -> None:
        """Copy the entries of some slots into another ``table``."""
        source = self._table
        target = table
        with cython.nogil:
            for i in range(first, end):
                if source[3 * i + 2] != 0:
                    at = _find(target, slots, source[3 * i], source[3 * i + 1])
                    target[at] = source[3 * i]
                    target[at + 1] = source[3 * i + 1]
                    target[at + 2] = source[3 * i + 2]

    def _hash_keys(
        self,
        records: bytes,
        key_position: memoryview,
        key_size: memoryview,
        count: int,
        hashes: memoryview,
    ) -> None:
        """Compute two words for each key that is not null.

        Most of the cost of a large map is memory latency, so the slot of each key is prefetched
        while the next keys are hashed.
        """
        data = records
        seed = self._seed
        table = self._table
        slots = self._slots
        with cython.nogil:
            for i in range(count):
                if key_size[i] >= 0:
                    low, high = _hash(data, key_position[i], key_size[i], seed)
                    hashes[2 * i] = low
                    hashes[2 * i + 1] = high
                    _prefetch(table, 3 * _first_slot(slots, low))

    def _put(
        self,
        hashes: memoryview,
        key_size: memoryview,
        offset_delta: memoryview,
        count: int,
        base_offset: int,
        from_offset: int,
    ) -> int:
        """The number of records that were put or skipped before the map was full."""
        table = self._table
        slots = self._slots
        size = self.size
        room = self.max_entries
        latest = self.latest_offset
        passed = count
        with cython.nogil:
            for i in range(count):
                offset = base_offset + offset_delta[i]
                if key_size[i] < 0 or offset < from_offset:
                    continue
                at = _find(table, slots, hashes[2 * i], hashes[2 * i + 1])
                if table[at + 2] == 0:
                    if size == room:
                        passed = i
                        break
                    size += 1
                    table[at] = hashes[2 * i]
                    table[at + 1] = hashes[2 * i + 1]
                known = table[at + 2]
                if known <= offset:
                    table[at + 2] = offset + 1
                if latest < offset:
                    latest = offset
        self.size = size
        self.latest_offset = latest
        return passed

    def _look_up(
        self, hashes: memoryview, key_size: memoryview, count: int, found: memoryview
    ) -> None:
        table = self._table
        slots = self._slots
        with cython.nogil:
            for i in range(count):
                if key_size[i] < 0:
                    found[i] = -1
                else:
                    at = _find(table, slots, hashes[2 * i], hashes[2 * i + 1])
                    found[i] = table[at + 2] - 1


def _new_memory(slots: int) -> mmap.mmap:
    """Zeroed memory that takes no space until it is written."""
    memory = mmap.mmap(-1, slots * BYTES_PER_ENTRY, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE") and len(memory) >= _LARGE:
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _give_back(memory: mmap.mmap, first: int, slots: int) -> None:
    """Release the memory of these slots. Only a hint: it may be ignored."""
    with contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_DONTNEED, first * BYTES_PER_ENTRY, slots * BYTES_PER_ENTRY)


def check_base_offset(base_offset: int) -> None:
    """Raises ValueError if base offset plus delta could exceed 64 bits."""
    if base_offset < 0 or base_offset > _LARGEST_OFFSET - _LARGEST_DELTA:
        raise ValueError(f"base offset {base_offset} is out of range")


def _first_slot(slots: int, low: int) -> int:
    """The slot of a hash: its upper bits, scaled to the size of the table."""
    return (low >> 32) * slots >> 32


def _find(table: memoryview, slots: int, low: int, high: int) -> int:
    """The position of this hash in the table, or of the free slot where it belongs."""
    slot = _first_slot(slots, low)
    at = 3 * slot
    while table[at + 2] != 0 and (table[at] != low or table[at + 1] != high):
        slot += 1
        if slot == slots:
            slot = 0
        at = 3 * slot
    return at


def _prefetch(table: memoryview, at: int) -> None:
    """Prefetch memory before it is needed; in compiled code only."""
    if cython.compiled:
        prefetch(cython.address(table[at]))  # type: ignore  # noqa: F821


def _hash(data: bytes, position: int, size: int, seed: bytes) -> tuple[int, int]:
    """A 128-bit hash of the key, which cannot be predicted without the seed.

    The choice of function does not matter, since hashes never leave the map: SipHash-2-4 is the
    fastest when compiled, and hashlib's C code otherwise.
    """
    if cython.compiled:
        return siphash_2_4_128(data, position, size, seed)  # type: ignore  # noqa: F821
    return _plain_hash(data, position, size, seed)


def _plain_hash(data: bytes, position: int, size: int, seed: bytes) -> tuple[int, int]:
    digest = blake2b(data[position : position + size], digest_size=16, key=seed).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
