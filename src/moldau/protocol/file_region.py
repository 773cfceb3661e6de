"""A stretch of a file that travels through the broker without being read.

A Fetch response of a megabyte is never bytes in this process: the log hands out a region,
the message carries it in a ``records`` field, and the network passes it to ``sendfile``.
"""

from typing import Protocol


class RegionFile(Protocol):
    """What a region needs from the file it lies in."""

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
        """The bytes themselves, for the paths that cannot do without them."""
        return self.file.pread(self.size, self.position)

    def __repr__(self) -> str:
        return f"FileRegion({self.file!r}, position={self.position}, size={self.size})"


Part = bytes | memoryview | FileRegion
