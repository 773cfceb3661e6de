"""The latest offset of every key of a log, in bounded memory.

The cleaner reads the dirty part of a log once to learn at which offset each key was written
last, and then drops what is older. A key is kept as a hash of 16 bytes, not as itself: two
keys in the same log will not share one in the lifetime of the universe. So an entry has 24
bytes whatever the key, and ``log.cleaner.dedupe.buffer.size`` says how many entries there
are, as in Kafka. When they are used up, the cleaner cleans up to ``latest_offset`` and comes
again for the rest.

The table is open-addressed: an entry lies in the slot its hash falls into, or in the next
that is free. It starts small and grows as keys come, for a table that fits into the caches
is several times as fast as one that is spread over all the memory it may take, and a log of
few keys should not cost much.

This module is compiled with Cython where that is at hand (``offset_map.pxd`` has the types);
its loops then let other threads run.

Rules this module keeps:

* The hash is keyed with random bytes, drawn anew on ``clear``: nobody who writes keys can
  make them collide, or even make them crowd one part of the table.
* The map never holds more than ``max_entries``, and at least one slot is always free, so
  that every search ends.
* An offset of a key never goes back.
* Memory is taken as the table grows and given back on ``clear``.
"""

import contextlib
import mmap
import os
from hashlib import blake2b
from typing import Final

from moldau.record import interpreted as cython
from moldau.record.columns import Columns, index_records

if False:  # Never run: it tells the compiler whose words ``cython.…`` are.
    import cython  # type: ignore

# Two words of hash, and the offset plus one, so that memory never written to is free.
BYTES_PER_ENTRY: Final = 24
_FIRST_SLOTS: Final = 1 << 12
# In slots; their size in bytes is a multiple of any page.
_MOVED_AT_ONCE: Final = 1 << 16
# From here on a table is worth large pages, as every lookup goes to another one.
_LARGE: Final = 8 << 20
# A slot is found by multiplying with 32 bits of the hash.
_MOST_SLOTS: Final = (1 << 32) - 1
_LARGEST_OFFSET: Final = (1 << 63) - 2
_LARGEST_DELTA: Final = (1 << 31) - 1


class OffsetMap:
    """Keys to offsets. ``latest_offset`` is the largest one put or noted, -1 at first."""

    def __init__(self, memory_bytes: int, load_factor: float = 0.9) -> None:
        slots = min(memory_bytes // BYTES_PER_ENTRY, _MOST_SLOTS)
        max_entries = min(int(slots * load_factor), slots - 1)
        if max_entries < 1:
            raise ValueError(
                f"an offset map of {memory_bytes} bytes, {load_factor:g} full, has no room "
                f"for a key: give it at least {4 * BYTES_PER_ENTRY} bytes and half of them"
            )
        self.max_entries = max_entries
        self._max_slots = slots
        self.clear()

    def clear(self) -> None:
        """Forget every key and give the memory back."""
        self.size = 0
        self.latest_offset = -1
        self._slots = min(_FIRST_SLOTS, self._max_slots)
        self._memory = _new_memory(self._slots)
        self._table = memoryview(self._memory).cast("Q")
        self._seed = os.urandom(16)

    def note_offset(self, offset: int) -> None:
        """The log was read up to ``offset``, whether or not there were keys to put."""
        self.latest_offset = max(self.latest_offset, offset)

    def put_records(self, records: bytes, count: int, base_offset: int, from_offset: int) -> bool:
        """Put every record with a key and an offset of at least ``from_offset``.

        ``records`` is what follows the header of a batch, decompressed. False means that the
        map is full: the records up to ``latest_offset`` are in it, those behind are not.

        Raises:
            ValueError: the records are damaged. Nothing was put.
        """
        columns = index_records(records, count)
        check_base_offset(base_offset)
        return self.put_columns(columns, base_offset, from_offset) == count

    def put_columns(self, columns: Columns, base_offset: int, from_offset: int) -> int:
        """Like ``put_records``, of one batch or several; returns how many records were looked at.

        If these are not all of them, the map is full: the next one had a new key.
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
        """The latest offset of each record's key; -1 where it is not known or there is no key."""
        count = columns.count
        hashes = memoryview(bytearray(16 * count)).cast("Q")
        self._hash_keys(columns.records, columns.key_position, columns.key_size, count, hashes)
        found = memoryview(bytearray(8 * count)).cast("q")
        self._look_up(hashes, columns.key_size, count, found)
        return found

    def _reserve(self, count: int) -> None:
        """Grow, if the map may, until ``count`` more keys leave it no more than two thirds full."""
        slots = self._slots
        while slots < self._max_slots and 3 * (self.size + count) > 2 * slots:
            slots = min(2 * slots, self._max_slots)
        if slots == self._slots:
            return
        memory = _new_memory(slots)
        table = memoryview(memory).cast("Q")
        # Entries keep their order, so the new memory is filled from its beginning to its end,
        # while the old is given back: together they are hardly more than the new alone.
        for first in range(0, self._slots, _MOVED_AT_ONCE):
            end = min(first + _MOVED_AT_ONCE, self._slots)
            self._move(first, end, table, slots)
            if end < self._slots:
                _give_back(self._memory, first, _MOVED_AT_ONCE)
        self._memory = memory
        self._table = table
        self._slots = slots

    def _move(self, first: int, end: int, table: memoryview, slots: int) -> None:
        """Put the entries of some slots into another ``table``."""
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
        """Two words for each key that is not null.

        Waiting for memory is most of what a large map costs, so the memory of each key is
        asked for at once and comes while the next ones are hashed.
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
        """How many records were put or passed over, until the map was full."""
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
    """Zeros that take no space until they are written over."""
    memory = mmap.mmap(-1, slots * BYTES_PER_ENTRY, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE") and len(memory) >= _LARGE:
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _give_back(memory: mmap.mmap, first: int, slots: int) -> None:
    """The contents of these slots are needed no more. An advice: it does no harm to refuse it."""
    with contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_DONTNEED, first * BYTES_PER_ENTRY, slots * BYTES_PER_ENTRY)


def check_base_offset(base_offset: int) -> None:
    """Refuse an offset from which deltas could leave 64 bits."""
    if base_offset < 0 or base_offset > _LARGEST_OFFSET - _LARGEST_DELTA:
        raise ValueError(f"base offset {base_offset} is out of range")


def _first_slot(slots: int, low: int) -> int:
    """The slot that a hash falls into: its upper bits, stretched over the table."""
    return (low >> 32) * slots >> 32


def _find(table: memoryview, slots: int, low: int, high: int) -> int:
    """Where in the table this hash is, or the free slot where it belongs."""
    slot = _first_slot(slots, low)
    at = 3 * slot
    while table[at + 2] != 0 and (table[at] != low or table[at + 1] != high):
        slot += 1
        if slot == slots:
            slot = 0
        at = 3 * slot
    return at


def _prefetch(table: memoryview, at: int) -> None:
    """Ask for memory before it is needed. Plain code has no use for it."""
    if cython.compiled:
        prefetch(cython.address(table[at]))  # type: ignore  # noqa: F821


def _hash(data: bytes, position: int, size: int, seed: bytes) -> tuple[int, int]:
    """128 bits that follow from the key and the seed; nobody without the seed can tell how.

    Which function it is does not matter, since a hash never leaves its map: SipHash-2-4 costs
    least compiled, and what hashlib has in C costs least plain.
    """
    if cython.compiled:
        return siphash_2_4_128(data, position, size, seed)  # type: ignore  # noqa: F821
    return _plain_hash(data, position, size, seed)


def _plain_hash(data: bytes, position: int, size: int, seed: bytes) -> tuple[int, int]:
    digest = blake2b(data[position : position + size], digest_size=16, key=seed).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
