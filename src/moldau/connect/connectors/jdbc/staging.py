"""Staging: the rows of a task are copied to tables of their own, before the driver merges them.

Rows of one table and shape that follow each other are a segment, with a staging table. What does
not fit the target is reported as a bad record, and the others go on.
"""

import hashlib
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from moldau.connect.connector import SinkTask
from moldau.connect.connectors.jdbc import shape
from moldau.connect.connectors.jdbc.database import BadRowError, Database
from moldau.connect.connectors.jdbc.shape import Shape
from moldau.connect.connectors.jdbc.sink_settings import SinkSettings
from moldau.connect.connectors.jdbc.tables import prepare
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.schema import Schema


class Staged(NamedTuple):
    """A staging table, and how to merge it: what a task tells the driver."""

    stage: str
    row_count: int
    table: str
    names: tuple[str, ...]
    key: tuple[str, ...]
    has_deletes: bool


@dataclass
class _Segment:
    """Rows of one table and shape that follow each other; ``stage`` is empty before the first."""

    table: str
    shape: Shape
    encoders: list[Callable[[Any], Any]] = field(default_factory=list)
    # Places of columns that the target requires.
    needed: list[int] = field(default_factory=list)
    stage: str = ""
    count: int = 0
    has_deletes: bool = False
    rows: list[tuple[int, bool, list[Any]]] = field(default_factory=list)
    records: list[SinkRecord] = field(default_factory=list)


def stage_prefix(connector: str) -> str:
    """What the names of a connector's staging tables begin with."""
    readable = re.sub(r"[^a-z0-9]+", "_", connector.lower())[:16]
    return f"_moldau_{readable}_{hashlib.sha256(connector.encode()).hexdigest()[:8]}_"


class Shapes:
    """The tables and shapes of records, by topic and schemas: made once."""

    def __init__(self, settings: SinkSettings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, Schema | None, Schema | None, bool], tuple[str, Shape]] = {}

    def of(self, db: Database, record: SinkRecord) -> tuple[str, Shape] | None:
        """The table and shape of a record. The table has all columns afterwards.

        None for a tombstone without a table: there is nothing to delete.
        """
        is_tombstone = record.value is None
        key = (record.topic, record.key_schema, record.value_schema, is_tombstone)
        found = self._known.get(key)
        if found is None:
            table = shape.table_name(self._settings, record)
            made = shape.make(self._settings, record)
            db.dialect.check_names(record.topic, table, made.names)
            if is_tombstone and db.columns(table) is None:
                return None
            prepare(db, self._settings, table, made)
            # A table that exists may have a column for a field that cannot be written.
            db.encoders(made.columns)
            found = self._known[key] = table, made
        return found


class Staging:
    """The staging tables of one task in one batch."""

    def __init__(
        self, db: Database, settings: SinkSettings, shapes: "Shapes", task: SinkTask
    ) -> None:
        self._db = db
        self._settings = settings
        self._shapes = shapes
        self._task = task
        prefix = stage_prefix(task.connector)
        # The number of a batch would be used again after a restart.
        self._prefix = f"{prefix}{uuid.uuid4().hex[:12]}_"
        self._done: list[Staged] = []
        self._segments: dict[str, _Segment] = {}
        self._count = 0

    def write(self, records: Iterator[SinkRecord]) -> list[Staged]:
        for order, record in enumerate(records):
            try:
                found = self._shapes.of(self._db, record)
                if found is None:
                    continue
                table, made = found
                row = made.get(record)
            except DataError as error:
                self._task.report(record, _placed(record, error))
                continue
            segment = self._segment(table, made)
            segment.rows.append((order, not made.has_value, row))
            segment.records.append(record)
            if len(segment.rows) >= self._settings.batch_size:
                self._flush(segment)
        for table in list(self._segments):
            self._end(table)
        return self._done

    def _segment(self, table: str, made: Shape) -> _Segment:
        """The segment that takes rows of this shape: a tombstone goes with any of the same key."""
        segment = self._segments.get(table)
        is_other = segment is not None and segment.shape is not made
        if segment is not None and is_other and (made.has_value or segment.shape.key != made.key):
            self._end(table)
            segment = None
        if segment is None:
            segment = self._segments[table] = _Segment(table, made)
        return segment

    def _flush(self, segment: _Segment) -> None:
        """Copy the rows of a segment to its stage; what does not fit is reported."""
        if not segment.rows:
            return
        if not segment.stage and not self._create(segment):
            # Only tombstones, and no table: there is nothing to delete.
            segment.rows.clear()
            segment.records.clear()
            return
        width = len(segment.shape.columns)
        for place, (order, is_delete, row) in enumerate(segment.rows):
            if len(row) < width:
                segment.rows[place] = order, is_delete, row + [None] * (width - len(row))
        while segment.rows:
            try:
                self._check(segment)
                self._db.copy(segment.stage, segment.shape.names, segment.encoders, segment.rows)
                break
            except (BadRowError, DataError) as error:
                place = error.place if isinstance(error, BadRowError) else _first_bad(segment)
                record = segment.records.pop(place)
                del segment.rows[place]
                self._task.report(record, _placed(record, DataError(str(error))))
        segment.has_deletes |= any(is_delete for _, is_delete, _ in segment.rows)
        segment.count += len(segment.rows)
        segment.rows.clear()
        segment.records.clear()

    def _create(self, segment: _Segment) -> bool:
        """Create the stage of a segment. False if there is no table, and none is needed."""
        columns = self._db.columns(segment.table)
        if columns is None and not segment.shape.has_value:
            return False
        if columns is None or not columns.keys() >= set(segment.shape.names):
            # The table, or a column, was dropped after its shape had been made.
            prepare(self._db, self._settings, segment.table, segment.shape)
            columns = self._db.columns(segment.table) or {}
        self._count += 1
        segment.stage = f"{self._prefix}{self._count}"
        segment.encoders = self._db.encoders(segment.shape.columns)
        self._db.create_stage(segment.stage, [columns[name] for name in segment.shape.names])
        needs = [columns[name].needs_value for name in segment.shape.names]
        segment.needed = [place for place, is_needed in enumerate(needs) if is_needed]
        return True

    def _check(self, segment: _Segment) -> None:
        """The stage takes nulls, the target may not: say which record has one."""
        for place, (_, is_delete, row) in enumerate(segment.rows):
            if is_delete:
                continue
            for column in segment.needed:
                if row[column] is None:
                    name = segment.shape.names[column]
                    message = f"column {name} of table {segment.table} is NOT NULL"
                    raise BadRowError(place, f"{message}, but the record has null there")

    def _end(self, table: str) -> None:
        segment = self._segments.pop(table)
        self._flush(segment)
        if segment.stage:
            names, key = segment.shape.names, segment.shape.key
            self._done.append(
                Staged(segment.stage, segment.count, table, names, key, segment.has_deletes)
            )


def _first_bad(segment: _Segment) -> int:
    """The place of the first row with a value that cannot be encoded. There is one."""
    for place, (_, _, row) in enumerate(segment.rows):
        try:
            for encode, value in zip(segment.encoders, row, strict=True):
                if value is not None:
                    encode(value)
        except DataError:
            return place
    raise AssertionError("all rows can be encoded")


def _placed(record: SinkRecord, error: Exception) -> DataError:
    """The error, with the place of the record."""
    where = f"{record.original_topic}-{record.original_partition}@{record.offset}"
    return DataError(f"record {where}: {error}")
