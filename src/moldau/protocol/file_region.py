"""A region of a file that is sent without being read into memory.

The records of a large Fetch response are never read by this process: the log returns a region,
the message carries it in a ``records`` field, and the network layer passes it to ``sendfile``.
"""

from typing import Protocol


class RegionFile(Protocol):
    """What a region needs from its file."""

    def fileno(self) -> int: ...

    def pread(self, size: int, position: int, /) -> bytes: ...


class FileRegion:
    """``size`` bytes of ``file`` from ``position`` on."""

    __slots__ = ("file", "position", "size")

    def __init__(self, file: RegionFile, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def read(self) -> bytes:
        """The bytes, for code that needs them in memory."""
        return self.file.pread(self.size, self.position)

    def __repr__(self) -> str:
        return f"FileRegion({self.file!r}, position={self.position}, size={self.size})"


Part = bytes | memoryview | FileRegion
