"""The sink of Iceberg tables: exactly once; ``org.apache.iceberg.connect.IcebergSinkConnector``.

Tasks write data files. The driver appends them to each table in one snapshot, whose summary has the
next offsets of all partitions: no control topic is needed. Offsets are read from the latest
snapshot that has some, so other writers and compactions may commit in between; if all of ours have
expired, reading starts at the group's offsets.

Two workers cannot both commit: a commit that finds the table changed is not repeated before the
offsets have been read again.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    NotInstalledError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TooManyRequestsError,
    ValidationError,
)
from pyiceberg.io.pyarrow import _dataframe_to_data_files, schema_to_pyarrow
from pyiceberg.table import Table
from sqlalchemy.exc import OperationalError

from moldau.connect.config.definition import ConfigError
from moldau.connect.connector import ConfigProblem
from moldau.connect.connectors.lake import iceberg_settings
from moldau.connect.connectors.lake.iceberg_settings import IcebergSettings
from moldau.connect.connectors.lake.rows import RowOptions
from moldau.connect.connectors.lake.store_errors import store_error
from moldau.connect.connectors.lake.tables import (
    CommitConflictError,
    LakeTable,
    Offsets,
    TableSink,
    all_named,
    may_divide,
    topic_names,
)
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.record import SinkRecord
from moldau.ids import TopicPartition

_OFFSETS: Final = "moldau.connect.offsets."
# PyIceberg would repeat a commit on its own.
_RETRIES: Final = "commit.retry.num-retries"


class IcebergSink(TableSink):
    """Appends records to Iceberg tables."""

    config = iceberg_settings.DEFINITION

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        """Whether the options are supported and the catalog can be reached."""
        problems = iceberg_settings.problems_of(config)
        sink = cls()
        try:
            sink.configure(config)
        except ConfigError as error:
            return [*problems, ConfigProblem("iceberg.tables", str(error))]
        try:
            missing = [name for name in sink.known_tables() if sink.find_table(name) is None]
        except ConnectError as error:
            return [*problems, ConfigProblem("iceberg.catalog", str(error))]
        if missing and not sink._settings.creates:
            message = f"there is no table {', '.join(missing)} in the catalog. {_CREATE}"
            problems.append(ConfigProblem("iceberg.tables", message))
        return problems

    def configure(self, config: Mapping[str, str]) -> None:
        self._name = config.get("name", "")
        self._settings: IcebergSettings = iceberg_settings.parse(config)
        tables = self._settings.tables
        self.has_parts = (
            self._settings.is_dynamic
            or len(tables) > 1
            or any(may_divide(each, config) for each in tables)
        )
        self.named_topics = topic_names(config)
        self._catalog: Catalog | None = None
        self.evolves = self._settings.evolves

    def row_options(self) -> RowOptions:
        return self._settings.rows

    def table_names(self, record: SinkRecord) -> tuple[str, ...]:
        return self._settings.tables_of(record)

    def known_tables(self) -> list[str]:
        return all_named(self._settings.tables, self.known_topics)

    def find_table(self, name: str) -> LakeTable | None:
        with iceberg_errors(f"table {name}"):
            try:
                return IcebergTable(name, self._name, self._open().load_table(name))
            except NoSuchTableError:
                return None

    def create_table(self, name: str, schema: pa.Schema) -> None:
        if not self._settings.creates:
            raise DataError(f"there is no Iceberg table {name}. {_CREATE}")
        with iceberg_errors(f"table {name}"):
            catalog = self._open()
            try:
                catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
                catalog.create_table(name, schema, properties=self._settings.create_properties)
            except (TableAlreadyExistsError, CommitFailedException):
                # Another task was quicker.
                pass

    def stop(self) -> None:
        self._catalog = None

    def _open(self) -> Catalog:
        if self._catalog is None:
            settings = self._settings
            with iceberg_errors("catalog"):
                self._catalog = load_catalog(settings.catalog, **settings.catalog_properties)
        return self._catalog


_CREATE: Final = "Create it, or set iceberg.tables.auto-create-enabled=true"


class IcebergTable(LakeTable):
    """An Iceberg table."""

    can_widen = True

    def __init__(self, name: str, connector: str, table: Table) -> None:
        self.name = name
        self._table = table
        self._key = _OFFSETS + connector

    @property
    def schema(self) -> pa.Schema:
        return schema_to_pyarrow(self._table.schema(), include_field_ids=False)

    def refresh(self) -> None:
        with iceberg_errors(f"table {self.name}"):
            self._table.refresh()

    def offsets(self) -> Offsets:
        snapshot = self._table.current_snapshot()
        while snapshot is not None:
            summary = snapshot.summary
            text = summary.additional_properties.get(self._key) if summary is not None else None
            if text is not None:
                return {TopicPartition(topic, each): at for topic, each, at in json.loads(text)}
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else self._table.snapshot_by_id(parent)
        return {}

    def add_columns(self, columns: list[pa.Field]) -> None:
        with iceberg_errors(f"table {self.name}"), self._table.update_schema() as update:
            update.union_by_name(pa.schema(columns))

    def write(self, rows: pa.Table) -> list[Any]:
        with iceberg_errors(f"table {self.name}"):
            return list(_dataframe_to_data_files(self._table.metadata, rows, self._table.io))

    def commit(self, files: list[Any], offsets: Offsets) -> None:
        stored = {**self.offsets(), **offsets}
        text = json.dumps([[*place, offset] for place, offset in sorted(stored.items())])
        metadata = self._table.metadata
        # Only in our copy of the metadata: the table keeps its properties.
        self._table.metadata = metadata.model_copy(
            update={"properties": {**metadata.properties, _RETRIES: "0"}}
        )
        with iceberg_errors(f"table {self.name}"), self._table.transaction() as transaction:
            update = transaction.update_snapshot(snapshot_properties={self._key: text})
            with update.fast_append() as append:
                for file in files:
                    append.append_data_file(file)


@contextmanager
def iceberg_errors(what: str) -> Iterator[None]:
    """Errors of PyIceberg, its catalogs and storage as those of connectors."""
    try:
        yield
    except (ConnectError, NoSuchTableError, TableAlreadyExistsError):
        raise
    except CommitFailedException as error:
        raise CommitConflictError(str(error)) from error
    except (
        CommitStateUnknownException,
        ServerError,
        ServiceUnavailableError,
        TooManyRequestsError,
        OperationalError,
        OSError,
    ) as error:
        refusal = store_error(error, f"Iceberg {what}", iceberg_settings.CATALOG)
        raise refusal or RetriableError(f"Iceberg {what}: {_first_line(error)}") from error
    except (RESTError, ValidationError, NotInstalledError, ValueError, TypeError) as error:
        raise ConnectError(
            f"Iceberg {what}: {_first_line(error)}. See the options below iceberg.catalog."
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
