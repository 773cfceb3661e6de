"""Lines of a text file as records: Kafka's FileStreamSource.

The file is followed as it grows. A line counts when its end is there (``\\n``, ``\\r\\n`` or
``\\r``): a last line without one waits. The source partition is ``{"filename": ...}`` and the
offset ``{"position": ...}``, as in Kafka, so a connector goes on where Apache's worker stopped.

Three differences to Kafka, where it loses or repeats lines:

* Positions are bytes. Kafka counts characters but skips bytes, which differ in texts beyond ASCII.
* A file that was replaced by another (rotated) is read to its end, then the new one from its
  beginning; Kafka goes on waiting at the end of the old one.
* A file that became shorter than the position (truncated) is read from its beginning again.
"""

import logging
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from moldau.clock import SystemClock
from moldau.connect.config.definition import NO_DEFAULT, ConfigDef, Importance, Type
from moldau.connect.config.validators import NonEmptyString
from moldau.connect.connector import (
    EXACTLY_ONCE,
    ArrowRecords,
    ConfigProblem,
    OffsetReader,
    SourceConnector,
    SourceOffset,
    SourcePartition,
)
from moldau.connect.data.arrow_cells import cells, one_cell
from moldau.connect.data.errors import ConnectError
from moldau.connect.data.record import SourceRecord
from moldau.connect.data.schema import STRING

_log = logging.getLogger(__name__)

FILENAME: Final = "filename"
POSITION: Final = "position"
_LONG_MAX: Final = 2**63 - 1
_READ_BYTES: Final = 1 << 20
# How long a source without new lines waits, in short steps so that it can be stopped.
_IDLE_S: Final = 0.2
# What one array of Arrow can hold is limited.
_MOST_BYTES: Final = 1 << 30
_NO_LINES: Final = pa.nulls(0, pa.string())
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_NO_FILE: Final = (
    "is not set: a worker that goes on in the background has no standard input; name a file"
)


class FileStreamSource(SourceConnector):
    """Follows one file."""

    config = (
        ConfigDef()
        .define(
            "file",
            Type.STRING,
            default=None,
            importance=Importance.HIGH,
            doc="The file to read. It may be created later.",
        )
        .define(
            "topic",
            Type.STRING,
            default=NO_DEFAULT,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            doc="The topic to write the lines to.",
        )
        .define(
            "batch.size",
            Type.INT,
            default=2000,
            importance=Importance.LOW,
            doc="The most lines that are read at a time.",
        )
    )
    delivery = EXACTLY_ONCE
    gives_arrow = True

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        if not config.get("file"):
            return [ConfigProblem("file", f"file {_NO_FILE}")]
        return []

    def start(self, config: Mapping[str, str], offsets: OffsetReader) -> None:
        parsed = self.config.parse(config)
        if not parsed["file"]:
            raise ConnectError(f"file {_NO_FILE}")
        self._path = str(parsed["file"])
        self._topic = str(parsed["topic"])
        # As in Kafka a batch has a line at least, whatever is asked for.
        self._batch_size = max(1, int(parsed["batch.size"]))
        self._partition = {FILENAME: self._path}
        stored = offsets.get(self._partition)
        self._position = _position(stored) if stored is not None else 0
        self._file: BinaryIO | None = None
        # Lines that were read and not yet returned, for ``poll_arrow``; they begin at the position.
        self._split = _NO_LINES
        # Bytes that were read and are not yet lines; they follow those.
        self._buffer = b""
        # Whether only ``split_lines`` can tell the lines in them.
        self._is_odd = False
        self._wall_ms = SystemClock().wall_ms

    def stop(self) -> None:
        if self._file is not None:
            self._file.close()

    def poll(self) -> list[SourceRecord] | None:
        lines = self._lines()
        now_ms = self._wall_ms()
        return [
            SourceRecord(
                self._topic,
                value_schema=STRING,
                value=line.decode(errors="replace"),
                timestamp_ms=now_ms,
                source_partition=self._partition,
                source_offset={POSITION: position},
            )
            for line, position in lines
        ]

    def poll_arrow(self) -> ArrowRecords | None:
        values = self._take_arrow()
        if values is None:
            if not self._read():
                time.sleep(_IDLE_S)
                return None
            values = self._take_arrow()
        if values is None:
            return None
        offsets = [(self._partition, {POSITION: self._position})]
        return ArrowRecords(self._topic, values, offsets, timestamp_ms=self._wall_ms())

    def _take_arrow(self) -> pa.Array | None:
        """As ``_take``, as texts of Arrow; None if there are no lines."""
        if not len(self._split) and not self._is_odd:
            lines, used = whole_lines(self._buffer)
            self._split, self._buffer = lines, self._buffer[used:]
            self._is_odd = not used
        if not len(self._split):
            found = self._take()
            return cells([_valid(line) for line, _ in found], pa.string()) if found else None
        lines = self._split[: max(self._batch_size, 0)]
        self._split = self._split[len(lines) :]
        self._position += (pc.sum(pc.binary_length(lines)).as_py() or 0) + len(lines)
        return lines if len(lines) else None

    def _lines(self) -> list[tuple[bytes, int]]:
        """The next lines, each with the position after it."""
        found = self._take()
        if found:
            return found
        if not self._read():
            time.sleep(_IDLE_S)
            return []
        return self._take()

    def _take(self) -> list[tuple[bytes, int]]:
        """Lines that are in the buffer."""
        lines, used = split_lines(self._buffer, self._batch_size)
        if not lines:
            return []
        found = [(line, self._position + end) for line, end in lines]
        self._position += used
        self._buffer = self._buffer[used:]
        return found

    def _read(self) -> bool:
        """Read on; False if there is nothing new."""
        if self._file is None and not self._open():
            return False
        return self._read_here() or self._start_over()

    def _read_here(self) -> bool:
        assert self._file is not None
        data = self._file.read(_READ_BYTES)
        if data:
            self._buffer += data
            self._is_odd = False
        return bool(data)

    def _open(self) -> bool:
        try:
            file = open(self._path, "rb")  # noqa: SIM115  # closed in stop
        except FileNotFoundError:
            _log.debug("file %s does not exist yet", self._path)
            return False
        except OSError as error:
            raise ConnectError(f"file={self._path} cannot be read: {error.strerror}") from error
        size = os.fstat(file.fileno()).st_size
        if size < self._position:
            _log.warning(
                "file %s has %d bytes and was read up to %d: it is read from its beginning",
                self._path,
                size,
                self._position,
            )
            self._position = 0
        file.seek(self._position)
        self._buffer = b""
        self._file = file
        return True

    def _start_over(self) -> bool:
        """At the end: go to the file that has taken the place of this one, or was cut."""
        assert self._file is not None
        here = os.fstat(self._file.fileno())
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        is_another = (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev)
        is_cut = here.st_size < self._position + len(self._buffer)
        if not is_another and not is_cut:
            return False
        if is_another and self._read_here():
            # Written between the last read and the rotation.
            return True
        what = "another file" if is_another else f"cut to {here.st_size} bytes"
        left = len(self._buffer)
        _log.warning(
            "file %s is %s: it is read from its beginning; %d bytes after the last line are left",
            self._path,
            what,
            left,
        )
        self._file.close()
        self._file = None
        self._position = 0
        return self._open() and self._read()

    @classmethod
    def alter_offsets(
        cls,
        config: Mapping[str, str],
        offsets: Sequence[tuple[SourcePartition, SourceOffset | None]],
    ) -> bool:
        if not config.get("file"):
            raise ConnectError("file is not set: standard input has no offsets to change")
        for partition, offset in offsets:
            if offset is None:
                continue
            if POSITION not in offset:
                raise ConnectError(f"The offset {dict(offset)} needs {POSITION}, or is null")
            _position(offset)
            if partition is None:
                raise ConnectError(f"A partition is null: it needs {FILENAME}")
            if FILENAME not in partition:
                raise ConnectError(f"The partition {dict(partition)} needs {FILENAME}")
        return True


def split_lines(data: bytes, most: int) -> tuple[list[tuple[bytes, int]], int]:
    """At most ``most`` whole lines, each with where it ends; and how many bytes they take.

    A ``\\r`` at the end of the data waits: ``\\n`` may follow, and belongs to it.
    """
    lines: list[tuple[bytes, int]] = []
    start = 0
    if b"\r" not in data:
        # The common case, without a regular expression.
        for line in data.split(b"\n", most)[:-1] if most > 0 else ():
            start += len(line) + 1
            lines.append((line, start))
        return lines, start
    for match in _LINE_END.finditer(data):
        if len(lines) >= most or (match[0] == b"\r" and match.end() == len(data)):
            break
        lines.append((data[start : match.start()], match.end()))
        start = match.end()
    return lines, start


def whole_lines(data: bytes) -> tuple[pa.Array, int]:
    """All whole lines of plain data as texts, and how many bytes they take.

    None of data with other ends than ``\\n``, or that is not UTF-8: see ``split_lines``.
    """
    used = data.rfind(b"\n") + 1
    if not used or b"\r" in data or used > _MOST_BYTES:
        return _NO_LINES, 0
    whole = one_cell(memoryview(data)[: used - 1], pa.binary())
    lines = pc.split_pattern(whole, b"\n").flatten()
    try:
        return lines.cast(pa.string()), used
    except pa.ArrowInvalid:
        return _NO_LINES, 0


def _valid(line: bytes) -> bytes:
    """Invalid UTF-8 is replaced, as where texts are decoded."""
    if line.isascii():
        return line
    return line.decode(errors="replace").encode()


def _position(offset: Mapping[str, Any]) -> int:
    position = offset.get(POSITION)
    if isinstance(position, bool) or not isinstance(position, int):
        raise ConnectError(f"{POSITION} of an offset must be an integer, not {position!r}")
    if position > _LONG_MAX:
        raise ConnectError(f"{POSITION} of an offset has 64 bits, which {position} exceeds")
    if position < 0:
        raise ConnectError(f"{POSITION} of an offset cannot be negative, as {position} is")
    return position
