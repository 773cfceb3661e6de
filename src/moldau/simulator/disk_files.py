"""Files and directories of the simulated disk, each in two versions.

``data`` and ``entries`` are what programs see; ``durable`` is what is on the device. The changes
since the last sync are kept in a list, in order, so that a crash can apply any prefix of it.
"""

import random
from typing import Final

_PAGE_SIZE: Final = 4096


class SimulatedInode:
    """The contents of a file, independent of its name."""

    __slots__ = ("data", "durable", "is_marked", "modified_ms", "pending")

    def __init__(self, wall_ms: int) -> None:
        self.data = bytearray()
        self.durable = bytearray()
        # Position and bytes of a write; new size and None for a truncation.
        self.pending: list[tuple[int, bytes | None]] = []
        self.modified_ms = wall_ms
        # Only the memory of the machine knows it.
        self.is_marked = False

    def write(self, position: int, data: bytes) -> None:
        _write(self.data, position, data)
        self.pending.append((position, data))

    def resize(self, size: int) -> None:
        _resize(self.data, size)
        self.pending.append((size, None))

    def sync(self) -> None:
        for position, data in self.pending:
            if data is None:
                _resize(self.durable, position)
            else:
                _write(self.durable, position, data)
        self.pending.clear()

    @property
    def unsynced(self) -> int:
        """Bytes written since the last sync; a truncation counts as one."""
        return sum(1 if data is None else len(data) for _, data in self.pending)

    def crash(self, keep: int, lost_pages: random.Random | None) -> None:
        """Keep only the first ``keep`` unsynced bytes, or some pages of them."""
        for position, data in self.pending:
            if keep <= 0:
                break
            if data is None:
                _resize(self.durable, position)
                keep -= 1
                continue
            kept = data[:keep]
            keep -= len(kept)
            if lost_pages is None:
                _write(self.durable, position, kept)
            else:
                self._write_some_pages(position, kept, lost_pages)
        self.pending.clear()
        self.data = bytearray(self.durable)
        self.is_marked = False

    def _write_some_pages(self, position: int, data: bytes, rng: random.Random) -> None:
        end = position + len(data)
        # The size is metadata and may be ahead of the pages it covers.
        if len(self.durable) < end:
            _resize(self.durable, end)
        start = position
        while start < end:
            stop = min(end, (start // _PAGE_SIZE + 1) * _PAGE_SIZE)
            if rng.random() < 0.5:
                _write(self.durable, start, data[start - position : stop - position])
            start = stop

    def fork(self) -> "SimulatedInode":
        twin = SimulatedInode(self.modified_ms)
        twin.data = bytearray(self.data)
        twin.durable = bytearray(self.durable)
        twin.pending = list(self.pending)
        twin.is_marked = self.is_marked
        return twin


class SimulatedDirectory:
    """The names in one directory."""

    __slots__ = ("durable", "entries", "pending")

    def __init__(self) -> None:
        self.entries: dict[str, SimulatedNode] = {}
        self.durable: dict[str, SimulatedNode] = {}
        # In groups, because a rename consists of two changes.
        self.pending: list[list[tuple[str, SimulatedNode | None]]] = []

    def change(self, *changes: "tuple[str, SimulatedNode | None]") -> None:
        """Set names to nodes, or remove them if None; atomic even in a crash."""
        _apply(self.entries, list(changes))
        self.pending.append(list(changes))

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.pending.clear()

    def crash(self, keep: int) -> None:
        """Keep only the first ``keep`` changes since the last sync."""
        for changes in self.pending[:keep]:
            _apply(self.durable, changes)
        self.pending.clear()
        self.entries = dict(self.durable)

    def fork(self) -> "SimulatedDirectory":
        """A copy of the whole tree, in which a node with two names is still a single node."""
        return _fork_directory(self, {})


SimulatedNode = SimulatedInode | SimulatedDirectory


def _fork_directory(
    directory: SimulatedDirectory, twins: dict[int, SimulatedNode]
) -> SimulatedDirectory:
    def fork_node(node: SimulatedNode) -> SimulatedNode:
        if id(node) not in twins:
            if isinstance(node, SimulatedInode):
                twins[id(node)] = node.fork()
            else:
                _fork_directory(node, twins)
        return twins[id(node)]

    twin = SimulatedDirectory()
    twins[id(directory)] = twin
    twin.entries = {name: fork_node(node) for name, node in directory.entries.items()}
    twin.durable = {name: fork_node(node) for name, node in directory.durable.items()}
    twin.pending = [
        [(name, fork_node(node) if node is not None else None) for name, node in changes]
        for changes in directory.pending
    ]
    return twin


def _apply(
    entries: dict[str, SimulatedNode], changes: list[tuple[str, SimulatedNode | None]]
) -> None:
    for name, node in changes:
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def _write(target: bytearray, position: int, data: bytes) -> None:
    if position > len(target):
        target.extend(bytes(position - len(target)))
    target[position : position + len(data)] = data


def _resize(target: bytearray, size: int) -> None:
    if size <= len(target):
        del target[size:]
    else:
        target.extend(bytes(size - len(target)))
