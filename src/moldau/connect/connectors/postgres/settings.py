"""The options of the capture, with Debezium's names, and what they are parsed to."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from moldau.connect.config.definition import (
    ConfigDef,
    ConfigError,
    Importance,
    NonEmptyString,
    Range,
    Type,
    ValidString,
    invalid,
)
from moldau.connect.connectors.postgres import times
from moldau.connect.connectors.postgres.column_type import TypeModes
from moldau.connect.connectors.postgres.filters import Patterns, TableFilter, message_keys
from moldau.connect.connectors.postgres.topics import Topics

SNAPSHOT_MODES: Final = ("initial", "always", "initial_only", "never", "no_data", "when_needed")
AUTOCREATE_MODES: Final = ("all_tables", "disabled", "filtered", "no_tables")
_GROUP: Final = "PostgreSQL"
_SLOT: Final = re.compile(r"[a-z0-9_]{1,63}")


def _slot_name(name: str, value: Any) -> None:
    if not _SLOT.fullmatch(value):
        raise invalid(
            name, value, "Slot names have lower-case letters, digits and underscores only"
        )


def _definition() -> ConfigDef:
    definition = ConfigDef()
    for name, doc in (
        (
            "topic.prefix",
            "The first part of the names of topics and schemas; name of the server in offsets.",
        ),
        ("database.dbname", "The database to capture."),
    ):
        definition.define(
            name,
            Type.STRING,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            doc=doc,
            group=_GROUP,
        )
    for options in (_server_options, _choice_options, _value_options, _reading_options):
        options(definition)
    return definition


def _defining(definition: ConfigDef) -> Callable[..., None]:
    def define(
        name: str,
        kind: Type,
        default: Any,
        importance: Importance,
        doc: str,
        validator: Any = None,
    ) -> None:
        definition.define(name, kind, default, validator, importance, doc, group=_GROUP)

    return define


def _server_options(definition: ConfigDef) -> None:
    """Where the server is, and what is made there."""
    define = _defining(definition)
    high, medium = Importance.HIGH, Importance.MEDIUM
    text, number, flag = Type.STRING, Type.INT, Type.BOOLEAN
    define("database.hostname", text, "localhost", high, "The server's host.")
    define("database.port", number, 5432, high, "The server's port.", Range(1, 65535))
    define("database.user", text, "postgres", high, "The role, which needs REPLICATION.")
    define("database.password", Type.PASSWORD, "", high, "The role's password.")
    define("database.sslmode", text, "prefer", medium, "TLS, as in libpq.", _SSL_MODES)
    define("database.sslrootcert", text, None, medium, "The file of the root certificate.")
    define("database.sslcert", text, None, medium, "The file of the client's certificate.")
    define("database.sslkey", text, None, medium, "The file of the client's key.")
    define("database.sslpassword", Type.PASSWORD, None, medium, "The password of the key.")
    define("plugin.name", text, "pgoutput", medium, "The decoding plugin.", ValidString("pgoutput"))
    define("slot.name", text, "debezium", medium, "The replication slot.", _slot_name)
    define("slot.drop.on.stop", flag, False, medium, "Drop the slot when the connector stops.")
    define("publication.name", text, "dbz_publication", medium, "The publication.")
    define(
        "publication.autocreate.mode",
        text,
        "all_tables",
        medium,
        "Which tables a publication gets that does not exist yet.",
        ValidString(*AUTOCREATE_MODES),
    )


def _choice_options(definition: ConfigDef) -> None:
    """What is captured."""
    define = _defining(definition)
    high, medium, low = Importance.HIGH, Importance.MEDIUM, Importance.LOW
    text, flag = Type.STRING, Type.BOOLEAN
    define("schema.include.list", text, None, high, "Schemas to capture: regular expressions.")
    define("schema.exclude.list", text, None, high, "Schemas not to capture.")
    define("table.include.list", text, None, high, "Tables to capture, as schema.table.")
    define("table.exclude.list", text, None, high, "Tables not to capture.")
    define("column.include.list", text, None, medium, "Columns to keep, as schema.table.column.")
    define("column.exclude.list", text, None, medium, "Columns to leave out.")
    define("message.key.columns", text, None, medium, "Other keys: table:column,column;...")
    define("message.prefix.include.list", text, None, low, "Prefixes of logical messages to keep.")
    define("message.prefix.exclude.list", text, None, low, "Prefixes to leave out.")
    define(
        "snapshot.mode",
        text,
        "initial",
        medium,
        "When existing rows are read: initial (without stored offsets), always (at every start), "
        "initial_only (and then stop), never or no_data, when_needed (also if the slot is lost).",
        ValidString(*SNAPSHOT_MODES),
    )
    define(
        "snapshot.include.collection.list", text, None, medium, "Tables to read: all by default."
    )
    define("tombstones.on.delete", flag, True, medium, "Follow each delete with a tombstone.")
    define("skipped.operations", Type.LIST, "t", low, "Operations to skip: c, u, d, t or none.")


def _value_options(definition: ConfigDef) -> None:
    """How values are written."""
    define = _defining(definition)
    medium, low = Importance.MEDIUM, Importance.LOW
    text, long, flag = Type.STRING, Type.LONG, Type.BOOLEAN
    define("decimal.handling.mode", text, "precise", medium, "Numerics.", _DECIMAL_MODES)
    define("time.precision.mode", text, "adaptive", medium, "Times.", ValidString(*times.MODES))
    define("hstore.handling.mode", text, "json", medium, "hstore.", ValidString("json", "map"))
    define("interval.handling.mode", text, "numeric", medium, "Intervals.", _INTERVAL_MODES)
    define("binary.handling.mode", text, "bytes", medium, "bytea.", _BINARY_MODES)
    define("money.fraction.digits", long, 2, low, "Digits after the point of money.", Range(0))
    define("include.unknown.datatypes", flag, False, low, "Keep other types as bytes.")
    define(
        "unavailable.value.placeholder",
        text,
        "__debezium_unavailable_value",
        low,
        "Stands for a large value that an update did not touch: the log does not have it.",
    )


def _reading_options(definition: ConfigDef) -> None:
    """How reading goes on, and heartbeats."""
    define = _defining(definition)
    medium, low = Importance.MEDIUM, Importance.LOW
    text, number, long, flag = Type.STRING, Type.INT, Type.LONG, Type.BOOLEAN
    define("heartbeat.interval.ms", number, 0, medium, "How often heartbeats go out.", Range(0))
    define("topic.heartbeat.prefix", text, "__debezium-heartbeat", low, "The heartbeat topic.")
    define("heartbeat.action.query", text, None, low, "A statement to run with each heartbeat.")
    define("topic.delimiter", text, ".", low, "Between the parts of a topic's name.")
    define("extended.headers.enabled", flag, False, low, "Headers that name the connector.")
    define("max.batch.size", number, 2048, medium, "Changes in one poll.", Range(1))
    define("poll.interval.ms", long, 500, medium, "Pause between polls without changes.", Range(1))
    define("errors.max.retries", number, 60, low, "Tries while the server cannot be reached.")
    define("retriable.restart.connector.wait.ms", long, 1000, low, "Between two tries.", Range(0))


_SSL_MODES: Final = ValidString("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_DECIMAL_MODES: Final = ValidString("precise", "double", "string")
_INTERVAL_MODES: Final = ValidString("numeric", "string")
_BINARY_MODES: Final = ValidString("bytes", "base64", "base64-url-safe", "hex")

DEFINITION: Final = _definition()


@dataclass(frozen=True)
class Settings:
    """The options of one connector, parsed."""

    connection: Mapping[str, Any] = field(repr=False)
    database: str
    topics: Topics
    tables: TableFilter
    modes: TypeModes
    slot: str
    drops_slot: bool
    publication: str
    autocreate: str
    snapshot: str
    has_tombstones: bool
    skipped: frozenset[str]
    prefixes: Patterns
    keys: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    heartbeat_ms: int
    heartbeat_query: str | None
    has_context_headers: bool
    batch_size: int
    poll_ms: int
    max_retries: int
    retry_wait_ms: int

    @property
    def server(self) -> str:
        return self.topics.prefix

    @property
    def partition(self) -> dict[str, Any]:
        """The key of this connector's progress, as Debezium has it."""
        return {"server": self.topics.prefix}


def parse(config: Mapping[str, str]) -> Settings:
    """The settings in ``config``.

    Raises:
        ConfigError: for the first option that is invalid.
    """
    values = DEFINITION.parse(config)
    skipped = frozenset(values["skipped.operations"])
    if unknown := skipped - {"c", "u", "d", "t", "none"}:
        message = "Operations are c, u, d and t, or none"
        raise invalid("skipped.operations", ",".join(sorted(unknown)), message)
    return Settings(
        connection=_connection(values),
        database=values["database.dbname"],
        topics=Topics(
            values["topic.prefix"], values["topic.delimiter"], values["topic.heartbeat.prefix"]
        ),
        tables=TableFilter.of(values),
        modes=TypeModes(
            decimal=values["decimal.handling.mode"],
            time=values["time.precision.mode"],
            hstore=values["hstore.handling.mode"],
            interval=values["interval.handling.mode"],
            binary=values["binary.handling.mode"],
            money_digits=values["money.fraction.digits"],
            includes_unknown=values["include.unknown.datatypes"],
            placeholder=values["unavailable.value.placeholder"],
        ),
        slot=values["slot.name"],
        drops_slot=values["slot.drop.on.stop"],
        publication=values["publication.name"],
        autocreate=values["publication.autocreate.mode"],
        snapshot=values["snapshot.mode"],
        has_tombstones=values["tombstones.on.delete"],
        skipped=skipped,
        prefixes=Patterns.of(values, "message.prefix.include.list", "message.prefix.exclude.list"),
        keys=message_keys(values["message.key.columns"]),
        heartbeat_ms=values["heartbeat.interval.ms"],
        heartbeat_query=values["heartbeat.action.query"],
        has_context_headers=values["extended.headers.enabled"],
        batch_size=values["max.batch.size"],
        poll_ms=values["poll.interval.ms"],
        max_retries=values["errors.max.retries"],
        retry_wait_ms=values["retriable.restart.connector.wait.ms"],
    )


def _connection(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``psycopg.connect``."""
    password = values["database.password"]
    key_password = values["database.sslpassword"]
    given = {
        "host": values["database.hostname"],
        "port": values["database.port"],
        "user": values["database.user"],
        "password": password.value if password is not None else None,
        "dbname": values["database.dbname"],
        "sslmode": values["database.sslmode"],
        "sslrootcert": values["database.sslrootcert"],
        "sslcert": values["database.sslcert"],
        "sslkey": values["database.sslkey"],
        "sslpassword": key_password.value if key_password is not None else None,
    }
    return {name: value for name, value in given.items() if value not in (None, "")}


__all__ = ["DEFINITION", "ConfigError", "Settings", "parse"]
