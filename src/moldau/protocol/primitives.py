"""The encoding primitives that other packages import.

``reading`` and ``writing`` are the implementation.
"""

from moldau.protocol.file_region import FileRegion, Part, RegionFile
from moldau.protocol.message import Message, Struct
from moldau.protocol.reading import (
    MalformedMessage,
    read_uvarint,
    read_varint,
    read_varlong,
)
from moldau.protocol.writing import (
    write_uvarint,
    write_varint,
    write_varlong,
)

__all__ = [
    "FileRegion",
    "MalformedMessage",
    "Message",
    "Part",
    "RegionFile",
    "Struct",
    "read_uvarint",
    "read_varint",
    "read_varlong",
    "write_uvarint",
    "write_varint",
    "write_varlong",
]
