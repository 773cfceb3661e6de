"""The options of the sink, with Confluent's names."""

from collections.abc import Mapping
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
from moldau.connect.connectors.jdbc import url
from moldau.connect.connectors.jdbc.url import Target

KAFKA_KEY: Final = ("__connect_topic", "__connect_partition", "__connect_offset")
_DIALECTS: Final = {
    "": None,
    "PostgreSqlDatabaseDialect": url.POSTGRESQL,
    "SqliteDatabaseDialect": url.SQLITE,
}


def connection_options(definition: ConfigDef) -> ConfigDef:
    """Where the database is: options of sink and source."""
    group = "Connection"
    high = Importance.HIGH
    definition.define(
        "connection.url",
        Type.STRING,
        validator=NonEmptyString(),
        importance=high,
        doc="jdbc:postgresql://host:port/database or jdbc:sqlite:file.",
        group=group,
    )
    definition.define("connection.user", Type.STRING, None, importance=high, group=group)
    definition.define("connection.password", Type.PASSWORD, None, importance=high, group=group)
    definition.define(
        "dialect.name",
        Type.STRING,
        "",
        ValidString(*_DIALECTS),
        doc="Must be the one of the URL, if given.",
        group=group,
    )
    return definition


def option_of(error: ConfigError) -> str:
    """The option that an error is about."""
    return error.option or "connection.url"


def target(values: Mapping[str, Any]) -> Target:
    """The database of parsed options."""
    password = values["connection.password"]
    secret = password.value if password is not None else None
    found = url.parse(values["connection.url"], values["connection.user"], secret)
    wanted = _DIALECTS[values["dialect.name"]]
    if wanted is not None and wanted != found.kind:
        message = f"connection.url is of {found.kind}"
        raise invalid("dialect.name", values["dialect.name"], message)
    return found


def _definition() -> ConfigDef:
    definition = connection_options(ConfigDef())

    def define(name: str, kind: Type, default: Any, doc: str, validator: Any = None) -> None:
        definition.define(name, kind, default, validator, doc=doc, group="Writes")

    modes = ValidString("insert", "multi", "upsert", "update")
    keys = ValidString("none", "kafka", "record_key", "record_value")
    flag = Type.BOOLEAN
    define("insert.mode", Type.STRING, "insert", "How rows are written.", modes)
    define("pk.mode", Type.STRING, "none", "Where the primary key comes from.", keys)
    define("pk.fields", Type.LIST, "", "The columns of the primary key.")
    define("fields.whitelist", Type.LIST, "", "Fields of the value to write: all by default.")
    define("table.name.format", Type.STRING, "${topic}", "The table of a topic.", NonEmptyString())
    define("delete.enabled", flag, False, "Delete rows on tombstones; needs pk.mode=record_key.")
    define("auto.create", flag, False, "Create missing tables.")
    define("auto.evolve", flag, False, "Add missing columns.")
    define("quote.sql.identifiers", Type.STRING, "always", "Names are always quoted.", _ALWAYS)
    define("replace.null.with.default", flag, True, "Write defaults of schemas for nulls.")
    define("batch.size", Type.INT, 3000, "Rows that are copied at a time.", Range(1))
    define("max.retries", Type.INT, 10, "Tries after an error that may pass.", Range(0))
    define("retry.backoff.ms", Type.INT, 3000, "Pause between tries.", Range(0))
    define(
        "moldau.offsets.table",
        Type.STRING,
        "moldau_connect_offsets",
        "The table of the next offsets, which are written with the rows: exactly once.",
        NonEmptyString(),
    )
    return definition


_ALWAYS: Final = ValidString("always")
DEFINITION: Final = _definition()


@dataclass(frozen=True)
class SinkSettings:
    """The options of one sink, parsed."""

    target: Target
    insert_mode: str = "insert"
    key_mode: str = "none"
    key_fields: tuple[str, ...] = ()
    fields: frozenset[str] = field(default_factory=frozenset)
    table_format: str = "${topic}"
    deletes: bool = False
    creates: bool = False
    evolves: bool = False
    uses_defaults: bool = True
    batch_size: int = 3000
    max_retries: int = 10
    backoff_ms: int = 3000
    offsets_table: str = "moldau_connect_offsets"


def parse(config: Mapping[str, str]) -> SinkSettings:
    """The settings in ``config``.

    Raises:
        ConfigError: for the first option that is invalid, or does not go with another.
    """
    values = DEFINITION.parse(config)
    mode, key_mode = values["insert.mode"], values["pk.mode"]
    if mode in ("upsert", "update") and key_mode == "none":
        message = f"insert.mode={mode} needs a primary key: kafka, record_key or record_value"
        raise invalid("pk.mode", key_mode, message)
    if values["delete.enabled"] and key_mode != "record_key":
        message = "A tombstone has only a key: set pk.mode=record_key"
        raise invalid("delete.enabled", "true", message)
    key_fields = tuple(values["pk.fields"])
    if key_mode == "kafka" and len(key_fields) not in (0, 3):
        message = "pk.mode=kafka takes no fields, or names for topic, partition and offset"
        raise invalid("pk.fields", ",".join(key_fields), message)
    return SinkSettings(
        target=target(values),
        insert_mode="insert" if mode == "multi" else mode,
        key_mode=key_mode,
        key_fields=key_fields,
        fields=frozenset(values["fields.whitelist"]),
        table_format=values["table.name.format"],
        deletes=values["delete.enabled"],
        creates=values["auto.create"],
        evolves=values["auto.evolve"],
        uses_defaults=values["replace.null.with.default"],
        batch_size=values["batch.size"],
        max_retries=values["max.retries"],
        backoff_ms=values["retry.backoff.ms"],
        offsets_table=values["moldau.offsets.table"],
    )
