"""Debezium's envelope: a change with the row before and after it, and its origin (pure)."""

from typing import Any, Final

from moldau.connect.connectors.postgres.types import debezium_enum
from moldau.connect.data import schema as schemas
from moldau.connect.data.headers import Header
from moldau.connect.data.schema import Schema, struct
from moldau.connect.data.struct import Struct
from moldau.version import VERSION

CONNECTOR: Final = "postgresql"
_SNAPSHOT_MARKS: Final = (
    "true",
    "first",
    "first_in_data_collection",
    "last_in_data_collection",
    "last",
    "false",
    "incremental",
)
SOURCE: Final = struct(
    "io.debezium.connector.postgresql.Source",
    {
        "version": schemas.STRING,
        "connector": schemas.STRING,
        "name": schemas.STRING,
        "ts_ms": schemas.INT64,
        "snapshot": debezium_enum(_SNAPSHOT_MARKS).replace(is_optional=True, default="false"),
        "db": schemas.STRING,
        "sequence": schemas.OPTIONAL_STRING,
        "ts_us": schemas.OPTIONAL_INT64,
        "ts_ns": schemas.OPTIONAL_INT64,
        "schema": schemas.STRING,
        "table": schemas.STRING,
        "txId": schemas.OPTIONAL_INT64,
        "lsn": schemas.OPTIONAL_INT64,
        "xmin": schemas.OPTIONAL_INT64,
    },
    version=1,
)
TRANSACTION: Final = struct(
    "event.block",
    {"id": schemas.STRING, "total_order": schemas.INT64, "data_collection_order": schemas.INT64},
    version=1,
    is_optional=True,
)
MESSAGE_KEY: Final = struct(
    "io.debezium.connector.postgresql.MessageKey", {"prefix": schemas.OPTIONAL_STRING}, version=1
)
HEARTBEAT_KEY: Final = struct(
    "io.debezium.connector.common.ServerNameKey", {"serverName": schemas.STRING}, version=1
)
HEARTBEAT: Final = struct(
    "io.debezium.connector.common.Heartbeat", {"ts_ms": schemas.INT64}, version=1
)

NEW_KEY: Final = "__debezium.newkey"
OLD_KEY: Final = "__debezium.oldkey"


def schema(topic: str, row: Schema) -> Schema:
    """The schema of the changes of a table."""
    return struct(
        f"{topic}.Envelope",
        {
            "before": row,
            "after": row,
            "source": SOURCE,
            "transaction": TRANSACTION,
            "op": schemas.STRING,
            "ts_ms": schemas.OPTIONAL_INT64,
            "ts_us": schemas.OPTIONAL_INT64,
            "ts_ns": schemas.OPTIONAL_INT64,
        },
        version=2,
    )


def change(
    envelope: Schema, before: Struct | None, after: Struct | None, source: Struct, op: str, ns: int
) -> Struct:
    """A change that was read at ``ns`` nanoseconds since 1970."""
    values = [before, after, source, None, op, ns // 1_000_000, ns // 1000, ns]
    return Struct.of(envelope, values)


def source(
    *,
    server: str,
    database: str,
    schema: str,
    table: str,
    snapshot: str,
    time_us: int,
    lsn: int,
    last_commit_lsn: int | None,
    tx_id: int | None,
) -> Struct:
    """Where a change comes from. ``sequence`` orders changes: transactions by their commits."""
    commit = "null" if last_commit_lsn is None else f'"{last_commit_lsn}"'
    values: list[Any] = [
        VERSION,
        CONNECTOR,
        server,
        time_us // 1000,
        snapshot,
        database,
        f'[{commit},"{lsn}"]',
        time_us,
        time_us * 1000,
        schema,
        table,
        tx_id,
        lsn,
        None,
    ]
    return Struct.of(SOURCE, values)


def message_schema(content: Schema) -> Schema:
    """The schema of logical messages with such a content."""
    message = struct(
        "io.debezium.connector.postgresql.Message",
        {"prefix": schemas.OPTIONAL_STRING, "content": content.optional()},
        version=1,
    )
    return struct(
        "io.debezium.connector.postgresql.MessageValue",
        {
            "op": schemas.STRING,
            "ts_ms": schemas.OPTIONAL_INT64,
            "source": SOURCE,
            "transaction": TRANSACTION,
            "message": message,
        },
        version=1,
    )


def message(schema: Schema, prefix: str, content: Any, source: Struct, ns: int) -> Struct:
    """A logical message that was read at ``ns`` nanoseconds since 1970."""
    inner = Struct.of(schema.fields_by_name["message"].schema, [prefix, content])
    return Struct.of(schema, ["m", ns // 1_000_000, source, None, inner])


def context_headers(server: str, run_id: str) -> list[Header]:
    """The headers of ``extended.headers.enabled``."""
    values = {"connectorLogicalName": server, "taskId": "0", "connectorName": CONNECTOR}
    values["runId"] = run_id
    return [
        Header(f"__debezium.context.{name}", schemas.STRING, value)
        for name, value in values.items()
    ]
