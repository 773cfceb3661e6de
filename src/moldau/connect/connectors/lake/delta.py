"""The sink of Delta tables: exactly once.

Tasks write data files into the table's directory. The driver adds them in one commit of the
table's log, with an app transaction for each partition: ``CONNECTOR-TOPIC-PARTITION`` and the next
offset as its version. Delta keeps these in its checkpoints, but offers no list of them; so the
partitions that have one are named in a property of the table.

A crash leaves files that the log does not name: Delta's VACUUM removes them.
"""

import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction, RemoveAction

from moldau.connect.config.definition import ConfigDef, Importance, NonEmptyString, Type
from moldau.connect.connector import ConfigProblem
from moldau.connect.connectors.lake.arrow_types import DELTA
from moldau.connect.connectors.lake.rows import RowOptions, parse_options, row_options
from moldau.connect.connectors.lake.store_errors import store_error
from moldau.connect.connectors.lake.tables import (
    CommitConflictError,
    LakeTable,
    Offsets,
    TableSink,
    all_named,
    may_divide,
    named,
    topic_names,
)
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.record import SinkRecord
from moldau.ids import TopicPartition

STORAGE: Final = "storage."
_PROPERTY: Final = "moldau.connect.partitions."

# Colours and arrows of deltalake's messages.
_DECORATION: Final = re.compile("\x1b\\[[0-9]*m|\u21b3")
# The path, size, time and statistics of a data file.
AddedFile = tuple[str, int, int, str]


class DeltaSink(TableSink):
    """Appends records to Delta tables."""

    config = row_options(
        ConfigDef()
        .define(
            "path",
            Type.STRING,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            doc="The table: a directory or a URL such as s3://bucket/table. ${topic} stands for "
            "the topic of a record. Options below storage. are those of the object store.",
        )
        .define("auto.create", Type.BOOLEAN, True, doc="Create tables that do not exist.")
        .define("auto.evolve", Type.BOOLEAN, True, doc="Add columns that a table lacks.")
    )

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        """Whether the tables that are already there can be read and written."""
        sink = cls()
        sink.configure(config)
        try:
            for name in sink.known_tables():
                sink.find_table(name)
        except ConnectError as error:
            return [ConfigProblem("path", str(error))]
        return []

    def configure(self, config: Mapping[str, str]) -> None:
        values = self.config.parse(config)
        self._name = config.get("name", "")
        self._path: str = values["path"]
        self._creates: bool = values["auto.create"]
        self.evolves = values["auto.evolve"]
        self._options = parse_options(values, DELTA)
        self.has_parts = may_divide(self._path, config)
        self.named_topics = topic_names(config)
        self._storage = {
            name.removeprefix(STORAGE): value
            for name, value in config.items()
            if name.startswith(STORAGE)
        }

    def row_options(self) -> RowOptions:
        return self._options

    def table_names(self, record: SinkRecord) -> tuple[str, ...]:
        if "/" in record.topic or record.topic in ("", ".", ".."):
            raise DataError(f"topic {record.topic!r} cannot be part of the path of a table")
        return (named(self._path, record.topic),)

    def known_tables(self) -> list[str]:
        return all_named([self._path], self.known_topics)

    def find_table(self, name: str) -> LakeTable | None:
        with delta_errors(name):
            try:
                return DeltaLakeTable(name, self._name, self._storage)
            except TableNotFoundError:
                return None

    def create_table(self, name: str, schema: pa.Schema) -> None:
        if not self._creates:
            raise DataError(
                f"there is no Delta table at {name}: create it, or set auto.create=true"
            )
        with delta_errors(name):
            try:
                DeltaTable.create(
                    name, Schema.from_arrow(schema), "ignore", storage_options=self._storage or None
                )
            except CommitFailedError:
                # Another task was quicker.
                pass
            except TableNotFoundError as error:
                raise ConnectError(
                    f"the Delta table {name} cannot be created: {_first_line(error)}. path must "
                    "be a place that the worker and Spark's executors may write to"
                ) from error


class DeltaLakeTable(LakeTable):
    """A Delta table."""

    def __init__(self, name: str, connector: str, storage: dict[str, str]) -> None:
        self.name = name
        self._connector = connector
        self._storage = storage or None
        self._table = DeltaTable(name, storage_options=self._storage)
        self._property = _PROPERTY + connector
        self._check()

    def _check(self) -> None:
        """Refuse tables whose files must obey rules that we do not know."""
        metadata = self._table.metadata()
        if metadata.partition_columns:
            raise ConnectError(
                f"the Delta table {self.name} is partitioned by "
                f"{', '.join(metadata.partition_columns)}, which this sink does not write: use a "
                "table without partitions (clustering it later is not affected)"
            )
        rules = [name for name in metadata.configuration if name.startswith("delta.constraints.")]
        mapping = metadata.configuration.get("delta.columnMapping.mode", "none")
        if rules or mapping != "none":
            raise ConnectError(
                f"the Delta table {self.name} has check constraints or column mapping "
                f"({', '.join(rules) or mapping}), which this sink does not support: "
                "use a table without them"
            )

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(self._table.schema().to_arrow())

    def refresh(self) -> None:
        with delta_errors(self.name):
            self._table.update_incremental()

    def offsets(self) -> Offsets:
        found = {}
        with delta_errors(self.name):
            for place in self._partitions():
                version = self._table.transaction_version(self._app(place))
                if version is not None:
                    found[place] = version
        return found

    def add_columns(self, columns: list[pa.Field]) -> None:
        with delta_errors(self.name):
            self._table.alter.add_columns([Field.from_arrow(each) for each in columns])

    def write(self, rows: pa.Table) -> list[AddedFile]:
        path = f"moldau-{uuid.uuid4().hex}.parquet"
        files = pyarrow.fs.PyFileSystem(DeltaStorageHandler(self.name, self._storage))
        with delta_errors(self.name):
            pq.write_table(rows, path, filesystem=files)
            info = files.get_file_info(path)
            return [(path, info.size, info.mtime_ns // 1_000_000, _stats(rows))]

    def commit(self, files: list[AddedFile], offsets: Offsets) -> None:
        actions: list[AddAction | RemoveAction] = [
            AddAction(path, size, {}, written_ms, True, stats)
            for path, size, written_ms, stats in files
        ]
        with delta_errors(self.name):
            self._name_partitions(offsets)
            transactions = [
                Transaction(self._app(place), offset) for place, offset in sorted(offsets.items())
            ]
            self._table.create_write_transaction(
                actions,
                "append",
                self._table.schema(),
                commit_properties=CommitProperties(app_transactions=transactions),
            )

    def _app(self, place: TopicPartition) -> str:
        return f"{self._connector}-{place.topic}-{place.partition}"

    def _partitions(self) -> list[TopicPartition]:
        text = self._table.metadata().configuration.get(self._property) or "[]"
        return [TopicPartition(topic, partition) for topic, partition in json.loads(text)]

    def _name_partitions(self, offsets: Offsets) -> None:
        """Name new partitions before they have a transaction: one without the other is harmless.

        Raises:
            CommitConflictError: they are named now. Another worker may have committed meanwhile,
                so the offsets have to be read again.
        """
        known = self._partitions()
        if all(place in known for place in offsets):
            return
        text = json.dumps([list(place) for place in sorted({*known, *offsets})])
        self._table.alter.set_table_properties({self._property: text}, raise_if_not_exists=False)
        raise CommitConflictError("its partitions have been named just now")


def _stats(rows: pa.Table) -> str:
    """What the log says of a file: engines count rows by it, and skip files."""
    nulls = {
        field.name: column.null_count
        for field, column in zip(rows.schema, rows.columns, strict=True)
        if not pa.types.is_nested(field.type)
    }
    return json.dumps({"numRecords": rows.num_rows, "nullCount": nulls})


@contextmanager
def delta_errors(table: str) -> Iterator[None]:
    """Errors of deltalake as those of connectors."""
    try:
        yield
    except CommitFailedError as error:
        raise CommitConflictError(str(error)) from error
    except TableNotFoundError:
        raise
    except DeltaError as error:
        refusal = store_error(error, f"Delta table {table}", STORAGE)
        raise refusal or ConnectError(f"Delta table {table}: {_first_line(error)}") from error
    except OSError as error:
        refusal = store_error(error, f"Delta table {table}", STORAGE)
        is_gone = "://" not in table and not os.path.isdir(table)
        kind = ConnectError if isinstance(error, PermissionError) or is_gone else RetriableError
        message = f"Delta table {table} cannot be written: {_first_line(error)}"
        raise refusal or kind(message) from error


def _first_line(error: Exception) -> str:
    """The message; of a chain of causes, which is on lines of its own, the first three."""
    lines = _DECORATION.sub("", str(error)).strip().split("\n")
    is_chain = len(lines) > 1 and lines[1].startswith(" ")
    return ": ".join(line.strip() for line in lines[: 3 if is_chain else 1])
