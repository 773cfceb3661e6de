"""Many producers of a partition in chunks, so that a snapshot of all of them starts at once.

Copying a list of a hundred thousand producers takes milliseconds, during which the event loop
serves nobody. So a snapshot takes a list of chunks instead, and shares them with the state: whoever
changes a producer later replaces its entry, and its chunk if a snapshot shares it.

The thread that writes a snapshot encodes the chunks. A chunk keeps its encoded form, so the next
snapshot encodes only what has changed since.

Rules this module keeps:

* A chunk that a snapshot shares does not change. It is recognised by its number of snapshots,
  which is lower than that of a modifiable entry (``ProducerEntry.snapshots``).
* A producer keeps its place, so a walk in steps meets everyone who is there throughout, once.
"""

from collections.abc import Iterable
from typing import Final

from moldau.storage.log.producer_entry import ProducerEntry

# Encoding a chunk takes a few dozen microseconds, for which the event loop may have to wait.
CHUNK_SIZE: Final = 64


class Chunk:
    """The producers at some neighbouring places; None where there is none any more."""

    __slots__ = ("encoded", "entries", "snapshots")

    def __init__(self, entries: list[ProducerEntry | None], snapshots: int) -> None:
        self.entries = entries
        # The number of snapshots when the chunk was created: later ones share it.
        self.snapshots = snapshots
        # As in a snapshot file; only of a chunk that does not change any more.
        self.encoded: bytes | None = None


class ProducerChunks:
    """The chunks of one partition."""

    __slots__ = ("_chunks", "_free", "_places")

    def __init__(self, entries: Iterable[ProducerEntry]) -> None:
        self._chunks: list[Chunk] = []
        # The number of places, and those without a producer.
        self._places = 0
        self._free: list[int] = []
        for entry in entries:
            self.add(entry)

    def shared(self) -> list[Chunk]:
        """All chunks, for a snapshot; the caller increments the number of snapshots."""
        return self._chunks[:]

    def __len__(self) -> int:
        return len(self._chunks)

    def entries(self, number: int) -> list[ProducerEntry]:
        """The producers of a chunk."""
        return [entry for entry in self._chunks[number].entries if entry is not None]

    def add(self, entry: ProducerEntry) -> None:
        """Give a new producer a place."""
        if self._free:
            entry.place = self._free.pop()
            self.replace(entry)
            return
        entry.place = self._places
        self._places += 1
        if entry.place % CHUNK_SIZE == 0:
            self._chunks.append(Chunk([entry], entry.snapshots))
        else:
            self._modifiable(entry.place, entry.snapshots).entries.append(entry)

    def replace(self, entry: ProducerEntry) -> None:
        """Put ``entry`` in the place of the one that it is a copy of."""
        chunk = self._modifiable(entry.place, entry.snapshots)
        chunk.entries[entry.place % CHUNK_SIZE] = entry

    def remove(self, entry: ProducerEntry, snapshots: int) -> None:
        """Remove a producer; ``snapshots`` is the current number of snapshots."""
        self._modifiable(entry.place, snapshots).entries[entry.place % CHUNK_SIZE] = None
        self._free.append(entry.place)

    def _modifiable(self, place: int, snapshots: int) -> Chunk:
        number = place // CHUNK_SIZE
        chunk = self._chunks[number]
        if chunk.snapshots != snapshots:
            chunk = self._chunks[number] = Chunk(chunk.entries[:], snapshots)
        return chunk
