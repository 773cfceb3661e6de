"""The offsets of a standalone worker in a file, in the format of Kafka's.

Kafka writes a ``HashMap<byte[], byte[]>`` with Java's serialization. Both sides of that are a few
fixed bytes around keys and values, so a standalone worker of Apache's and one of Moldau's can go on
where the other was.
"""

import os
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from moldau.connect.data.errors import ConnectError
from moldau.connect.stores.config_records import Record
from moldau.connect.stores.record_log import OnRecord

# Java Object Serialization Stream Protocol: the header, then a HashMap with its two fields.
_STREAM: Final = b"\xac\xed\x00\x05"
_MAP_CLASS: Final = (
    b"sr\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16`\xd1\x03\x00\x02"
    b"F\x00\nloadFactorI\x00\tthresholdxp"
)
_LOAD_FACTOR: Final = 0.75
# A block of eight bytes: the number of buckets, and the number of entries.
_BLOCK: Final = b"w\x08"
_ARRAY: Final = b"u"
_ARRAY_CLASS: Final = b"r\x00\x02[B\xac\xf3\x17\xf8\x06\x08T\xe0\x02\x00\x00xp"
# The class of arrays is the third thing in the stream: after the map's class and the map.
_ARRAY_REFERENCE: Final = b"q\x00\x7e\x00\x02"
_NULL: Final = b"p"
_END: Final = b"x"
_NOT_OURS: Final = "is not a file of source offsets as Kafka's standalone worker writes them"


def encode(entries: dict[bytes, bytes | None]) -> bytes:
    """The content of the file."""
    buckets = 16
    while buckets * _LOAD_FACTOR < len(entries):
        buckets *= 2
    parts = [
        _STREAM,
        _MAP_CLASS,
        struct.pack(">fi", _LOAD_FACTOR, int(buckets * _LOAD_FACTOR)),
        _BLOCK,
        struct.pack(">ii", buckets, len(entries)),
    ]
    is_first = True
    for pair in entries.items():
        for each in pair:
            if each is None:
                parts.append(_NULL)
                continue
            described = _ARRAY_CLASS if is_first else _ARRAY_REFERENCE
            is_first = False
            parts += [_ARRAY, described, struct.pack(">i", len(each)), each]
    return b"".join([*parts, _END])


def decode(data: bytes) -> dict[bytes, bytes | None]:
    """The entries in the content of a file. Raises ValueError."""
    reader = _Reader(data)
    reader.expect(_STREAM)
    reader.expect(_MAP_CLASS)
    reader.take(8)
    reader.expect(_BLOCK)
    _, count = struct.unpack(">ii", reader.take(8))
    entries: dict[bytes, bytes | None] = {}
    for _ in range(count):
        key = reader.array()
        if key is None:
            raise ValueError("a key is null")
        entries[key] = reader.array()
    reader.expect(_END)
    return entries


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size or size < 0:
            raise ValueError(f"it ends at byte {len(self._data)}")
        self._position += size
        return taken

    def expect(self, wanted: bytes) -> None:
        position = self._position
        if self.take(len(wanted)) != wanted:
            raise ValueError(f"unexpected bytes at {position}")

    def array(self) -> bytes | None:
        kind = self.take(1)
        if kind == _NULL:
            return None
        if kind != _ARRAY:
            raise ValueError(f"unexpected byte at {self._position - 1}")
        is_described = self._data.startswith(_ARRAY_CLASS, self._position)
        self.expect(_ARRAY_CLASS if is_described else _ARRAY_REFERENCE)
        (size,) = struct.unpack(">i", self.take(4))
        return self.take(size)


class OffsetFile:
    """A log of offsets whose last values are in a file. Written by one worker only."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._entries: dict[bytes, bytes | None] = {}
        self._pending: list[Record] = []
        self._on_record: OnRecord | None = None

    def start(self, on_record: OnRecord) -> None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise ConnectError(f"offset.storage.file.filename={self._path}: {error}") from error
        if data:
            try:
                self._entries = decode(data)
            except ValueError as error:
                raise ConnectError(
                    f"offset.storage.file.filename={self._path}: {_NOT_OURS} ({error}). Move it "
                    "away to begin with no offsets, or name another file"
                ) from None
        self._on_record = on_record
        for key, value in self._entries.items():
            on_record(key, value)

    def read_to_end(self) -> None:
        with self._lock:
            pending, self._pending = self._pending, []
            assert self._on_record is not None, "started"
            for key, value in pending:
                self._on_record(key, value)

    def append(self, records: Sequence[Record]) -> None:
        with self._lock:
            entries = dict(self._entries)
            for key, value in records:
                if value is None:
                    entries.pop(key, None)
                else:
                    entries[key] = value
            self._replace(encode(entries))
            self._entries = entries
            self._pending += records

    def _replace(self, data: bytes) -> None:
        """In one step: whoever looks finds the old content or the new."""
        temporary = self._path.with_name(f"{self._path.name}.new")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path)

    def claim(self) -> None:
        pass

    def close(self) -> None:
        pass
