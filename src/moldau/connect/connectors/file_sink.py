"""Records as lines of a text file: Kafka's FileStreamSink.

Each value is appended as one line, as Java prints it: a string as it is, null as ``null``, a struct
as ``Struct{a=1}``. Bytes are written as they are; Kafka prints where they are in memory. All lines
of a batch are in the file or, if writing fails, none; a crash in between repeats the batch: at
least once.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from moldau.connect.config.definition import ConfigDef, Importance, Type
from moldau.connect.connector import ConfigProblem, SinkBatch, SinkConnector, SinkTask
from moldau.connect.data.columns import texts_in
from moldau.connect.data.errors import ConnectError
from moldau.connect.data.java_text import to_text
from moldau.connect.data.record import SinkRecord

_NO_FILE: Final = (
    "is not set: a worker that goes on in the background has no standard output; name a file"
)
_RECORDS_AT_A_TIME: Final = 5000


class FileStreamSink(SinkConnector):
    """Appends to one file."""

    config = ConfigDef().define(
        "file",
        Type.STRING,
        default=None,
        importance=Importance.HIGH,
        doc="The file to append to. It is created if it does not exist.",
    )
    # Two writers would mix their lines, and neither could take back its own.
    is_single_writer = True
    takes_arrow = True
    takes_columns = True

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        if not config.get("file"):
            return [ConfigProblem("file", f"file {_NO_FILE}")]
        return []

    def start(self, config: Mapping[str, str]) -> None:
        # Said at the start, not with the first record.
        _open(config).close()

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        self._file: BinaryIO = _open(config)

    def write(self, records: Iterator[SinkRecord], task: SinkTask) -> None:
        self._append(_lines(records))

    def write_arrow(self, batches: Iterator[pa.RecordBatch], task: SinkTask) -> None:
        self._append(_arrow_lines(batches))

    def write_columns(self, batches: Iterator[SinkBatch], task: SinkTask) -> None:
        self._append(_column_lines(batches))

    def stop(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()

    def _append(self, pieces: Iterator[bytes | memoryview]) -> None:
        size = os.fstat(self._file.fileno()).st_size
        try:
            for piece in pieces:
                left = memoryview(piece)
                while left:
                    # An almost full disk may take a part of it.
                    left = left[self._file.write(left) :]
        except BaseException:
            # Unbuffered, so nothing of this batch is left to be written later.
            os.ftruncate(self._file.fileno(), size)
            raise


def _column_lines(batches: Iterator[SinkBatch]) -> Iterator[bytes | memoryview]:
    for batch in batches:
        columns = batch.columns
        texts = None if columns is None else texts_in(columns.value, columns.count)
        if texts is None:
            yield from _lines(batch.records())
        else:
            yield _joined(texts)


def _lines(records: Iterator[SinkRecord]) -> Iterator[bytes]:
    while some := list(islice(records, _RECORDS_AT_A_TIME)):
        yield b"".join(_line(record) + b"\n" for record in some)


def _line(record: SinkRecord) -> bytes:
    value: Any = record.value
    if isinstance(value, str):
        return value.encode(errors="replace")
    if isinstance(value, bytes):
        return value
    if value is None:
        return b"null"
    return to_text(value, record.value_schema).encode(errors="replace")


def _arrow_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes | memoryview]:
    for batch in batches:
        yield _joined(batch.column("value").fill_null(b"null"))


def _joined(texts: pa.Array) -> bytes | memoryview:
    """The lines of an array, which Arrow stores one after the other."""
    lines = pc.binary_join_element_wise(texts.cast(pa.binary()), b"", b"\n")
    _, offsets, data = lines.buffers()
    ends = memoryview(offsets).cast("i")
    return memoryview(data)[ends[lines.offset] : ends[lines.offset + len(lines)]]


def _open(config: Mapping[str, str]) -> BinaryIO:
    path = config.get("file")
    if not path:
        raise ConnectError(f"file {_NO_FILE}")
    try:
        # Unbuffered: the pieces are large, and what is written can be taken back.
        return open(path, "ab", buffering=0)
    except OSError as error:
        raise ConnectError(
            f"file={path} cannot be opened to append to it: {error.strerror}"
        ) from error
