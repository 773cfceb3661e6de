"""Rows of the files of a directory as records: CSV, JSON (one object to a line) and Parquet.

Files are read once, in the order of their names, as they come. A file counts as complete when it
has its name: write it under another one (beginning with ``.`` or ``_``, or ending with ``.tmp`` or
``.partial``) and rename it. The source partition is ``{"file": name}``, the offset
``{"row": rows that are read, "done": whether that is all}``.

Rows of CSV are structs of optional strings, named by the first line; those of JSON are values
without a schema; those of Parquet are structs with the file's schema.

Rows that are added to a file after its end was read are not seen: give them a file of their own. A
file that is not what its name says, is cut off or is not UTF-8 stops the connector, which names it;
so does one that has fewer rows than were read of it.
"""

import contextlib
import csv
import json
import logging
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from moldau.connect.config.definition import ConfigDef, Importance, Type
from moldau.connect.config.validators import NonEmptyString, ValidString
from moldau.connect.connector import EXACTLY_ONCE, ConfigProblem, OffsetReader, SourceConnector
from moldau.connect.connectors.arrow_schemas import connect_schema, connect_value
from moldau.connect.data.errors import ConnectError
from moldau.connect.data.record import SourceRecord
from moldau.connect.data.schema import OPTIONAL_STRING, Schema, struct
from moldau.connect.data.struct import Struct

_log = logging.getLogger(__name__)

FILE: Final = "file"
_FORMATS: Final = ("csv", "json", "parquet")
_BY_SUFFIX: Final = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
}
_UNFINISHED: Final = (".tmp", ".partial")
_IDLE_S: Final = 0.5

Row = tuple[Schema | None, Any]


class DirectorySource(SourceConnector):
    """Reads the files of one directory."""

    config = (
        ConfigDef()
        .define(
            "directory",
            Type.STRING,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            doc="The directory whose files are read.",
        )
        .define(
            "topic",
            Type.STRING,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            doc="The topic to write the rows to.",
        )
        .define(
            "format",
            Type.STRING,
            default="auto",
            validator=ValidString("auto", *_FORMATS),
            importance=Importance.MEDIUM,
            doc="The format of the files: csv, json or parquet; auto goes by their names.",
        )
        .define(
            "pattern",
            Type.STRING,
            default="*",
            importance=Importance.MEDIUM,
            doc="Only files whose names match, such as orders-*.csv.",
        )
        .define(
            "batch.size",
            Type.INT,
            default=2000,
            importance=Importance.LOW,
            doc="The most rows that are read at a time.",
        )
    )
    delivery = EXACTLY_ONCE

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        path = config.get("directory", "")
        if Path(path).is_dir():
            return []
        wrong = f"directory={path} is not a directory on the worker's machine: create it"
        return [ConfigProblem("directory", wrong)]

    def start(self, config: Mapping[str, str], offsets: OffsetReader) -> None:
        parsed = self.config.parse(config)
        self._directory = Path(parsed["directory"])
        if not self._directory.is_dir():
            raise ConnectError(f"directory={self._directory} does not exist: create it")
        self._topic = str(parsed["topic"])
        self._format = str(parsed["format"])
        self._pattern = str(parsed["pattern"])
        self._batch_size = int(parsed["batch.size"])
        stored = {str(partition.get(FILE)): offset for partition, offset in offsets.items()}
        self._done = {name for name, offset in stored.items() if offset.get("done")}
        self._rows_read = {name: int(offset.get("row", 0)) for name, offset in stored.items()}
        self._name: str | None = None
        self._rows: Iterator[Row] = iter(())
        # One row ahead: the last one of a file says that the file is done.
        self._ahead: Row | None = None

    def poll(self) -> list[SourceRecord] | None:
        if self._name is None and not self._open_next():
            time.sleep(_IDLE_S)
            return None
        assert self._name is not None
        records = list(islice(self._records(self._name), self._batch_size))
        if self._ahead is None:
            self._done.add(self._name)
            self._name = None
        return records

    def _open_next(self) -> bool:
        for path in sorted(self._directory.glob(self._pattern)):
            name = path.name
            if name in self._done or name.startswith((".", "_")) or name.endswith(_UNFINISHED):
                continue
            kind = _BY_SUFFIX.get(path.suffix) if self._format == "auto" else self._format
            if kind is None or not path.is_file():
                _log.warning("%s is left out: its name tells no format of %s", path, _FORMATS)
                self._done.add(name)
                continue
            rows = _READERS[kind](path)
            wanted = self._rows_read.get(name, 0)
            skipped = sum(1 for _ in islice(rows, wanted))
            if skipped < wanted:
                raise ConnectError(
                    f"{path} has {skipped} rows, but {wanted} were read before: it was replaced or "
                    "cut off. Give other content another name"
                )
            self._rows = rows
            self._ahead = next(rows, None)
            self._name = name
            return True
        return False

    def _records(self, name: str) -> Iterator[SourceRecord]:
        number = self._rows_read.get(name, 0)
        while self._ahead is not None:
            (schema, value), self._ahead = self._ahead, next(self._rows, None)
            number += 1
            self._rows_read[name] = number
            yield SourceRecord(
                self._topic,
                value_schema=schema,
                value=value,
                source_partition={FILE: name},
                source_offset={"row": number, "done": self._ahead is None},
            )


def _csv_rows(path: Path) -> Iterator[Row]:
    # A byte order mark, as spreadsheets write it, is no part of the first name.
    with _named(path), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        try:
            names = next(reader, [])
            schema = _csv_schema(path, names)
            for row in reader:
                if not row:
                    continue
                if len(row) != len(names):
                    raise ConnectError(
                        f"{path}, line {reader.line_num}: {len(row)} values for {len(names)} "
                        "columns"
                    )
                yield schema, Struct(schema, dict(zip(names, row, strict=True)))
        except csv.Error as error:
            raise ConnectError(f"{path}, line {reader.line_num} is not CSV: {error}") from error


def _csv_schema(path: Path, names: list[str]) -> Schema:
    if len(set(names)) != len(names):
        raise ConnectError(f"{path} names a column twice in its first line: {names}")
    if not all(names):
        raise ConnectError(f"{path} has a column without a name in its first line: {names}")
    return struct(path.stem, dict.fromkeys(names, OPTIONAL_STRING))


def _json_rows(path: Path) -> Iterator[Row]:
    with _named(path), path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ConnectError(f"{path}, line {number} is not JSON: {error}") from error
            yield None, value


def _parquet_rows(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with _named(path), pq.ParquetFile(path) as file:
            schema = connect_schema(file.schema_arrow, path.stem)
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    yield schema, connect_value(row, schema)
    except pa.ArrowException as error:
        raise ConnectError(f"{path} is not a whole Parquet file: {error}") from error


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of reading name the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        wrong = f"byte 0x{error.object[error.start]:02x}"
        raise ConnectError(
            f"{path} is not UTF-8 ({wrong}): convert it, for example with iconv, and restart"
        ) from error
    except OSError as error:
        raise ConnectError(f"{path} cannot be read: {error.strerror or error}") from error


_READERS: Final = {"csv": _csv_rows, "json": _json_rows, "parquet": _parquet_rows}
