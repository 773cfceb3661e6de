"""What is wrong before a capture starts, each with the statement that mends it."""

from collections.abc import Iterator, Mapping
from typing import Final

import psycopg

from moldau.connect.config.definition import ConfigError
from moldau.connect.connector import ConfigProblem
from moldau.connect.connectors.postgres import catalog, settings
from moldau.connect.connectors.postgres.session import Connection, connect, quoted, translated
from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.data.errors import ConnectError

# Options of Debezium that choose something we do not have: named unless they have these values.
UNSUPPORTED: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(harmless)
    for name, harmless in {
        "provide.transaction.metadata": ("false",),
        "signal.data.collection": (),
        "signal.enabled.channels": ("source",),
        "snapshot.mode.custom.name": (),
        "snapshot.select.statement.overrides": (),
        "snapshot.query.mode": ("select_all",),
        "snapshot.isolation.mode": ("repeatable_read", "serializable"),
        "snapshot.locking.mode": ("none",),
        "column.propagate.source.type": (),
        "datatype.propagate.source.type": (),
        "converters": (),
        "post.processors": (),
        "schema.name.adjustment.mode": ("none",),
        "field.name.adjustment.mode": ("none",),
        "topic.naming.strategy": ("io.debezium.schema.SchemaTopicNamingStrategy",),
        "skip.messages.without.change": ("false",),
        "replica.identity.autoset.values": (),
        "read.only": ("false",),
        "xmin.fetch.interval.ms": ("0",),
        "slot.stream.params": (),
        "slot.failover": ("false",),
        "publish.via.partition.root": ("false",),
        "include.schema.comments": ("false",),
        "notification.enabled.channels": (),
        "openlineage.integration.enabled": ("false",),
        "database.initial.statements": (),
    }.items()
}
# The first that says whether a slot has lost its log.
_OLDEST: Final = 130_000
_PREFIXES: Final = ("column.mask.", "column.truncate.", "snapshot.mode.configuration.based.")


def problems(config: Mapping[str, str]) -> list[ConfigProblem]:
    """All problems that can be seen now."""
    found = list(unsupported(config))
    try:
        parsed = settings.parse(config)
    except ConfigError as error:
        return [*found, ConfigProblem(error.option or "topic.prefix", str(error))]
    try:
        connection = connect(parsed)
    except ConnectError as error:
        return [*found, _refused(parsed, error)]
    try:
        found.extend(_server(connection, parsed))
        if connection.info.server_version < _OLDEST:
            return found
        found.extend(_slot(connection, parsed))
        found.extend(_publication(connection, parsed))
        found.extend(_tables(connection, parsed))
    except ConnectError as error:
        found.append(ConfigProblem("database.hostname", str(error)))
    finally:
        connection.close()
    return found


def unsupported(config: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Options that Debezium has, but not this connector."""
    for name, value in config.items():
        is_known = name in UNSUPPORTED and value not in UNSUPPORTED[name]
        if is_known or name.startswith(_PREFIXES):
            message = f"{name}={value} is an option of Debezium that is not supported; remove it"
            yield ConfigProblem(name, message)


def _refused(parsed: Settings, error: ConnectError) -> ConfigProblem:
    text = str(error)
    cause = error.__cause__
    state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
    user, database = parsed.connection.get("user"), parsed.database
    # libpq gives no code for what the server says before a session exists.
    if state == "28P01" or "password authentication failed" in text or "no password" in text:
        remedy = f"ALTER ROLE {quoted(str(user))} PASSWORD '...'"
        return ConfigProblem("database.password", f"{text}. Correct it, or as superuser: {remedy};")
    if state == "3D000" or f'database "{database}" does not exist' in text:
        return ConfigProblem("database.dbname", f"{text}. CREATE DATABASE {quoted(database)};")
    if "role" in text and "does not exist" in text:
        remedy = f"CREATE ROLE {quoted(str(user))} LOGIN REPLICATION PASSWORD '...'"
        return ConfigProblem("database.user", f"{text}. {remedy};")
    return ConfigProblem("database.hostname", f"{text}. Is PostgreSQL running there?")


def _server(connection: Connection, parsed: Settings) -> Iterator[ConfigProblem]:
    if connection.info.server_version < _OLDEST:
        version = catalog.setting(connection, "server_version")
        message = f"the server is PostgreSQL {version}, and must be 13 or later"
        yield ConfigProblem("database.hostname", message)
        return
    level = catalog.setting(connection, "wal_level")
    if level != "logical":
        message = f"the server's wal_level is {level}, and must be logical: "
        remedy = "ALTER SYSTEM SET wal_level = 'logical'; then restart PostgreSQL"
        yield ConfigProblem("database.hostname", message + remedy)
    with translated("cannot look up the role"):
        row = connection.execute(
            "SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    user = str(parsed.connection.get("user"))
    if row is not None and not row[0]:
        message = f"role {user} may not replicate: ALTER ROLE {quoted(user)} REPLICATION;"
        yield ConfigProblem("database.user", message)


def _slot(connection: Connection, parsed: Settings) -> Iterator[ConfigProblem]:
    found = catalog.slot(connection, parsed.slot)
    name = parsed.slot
    if found is None:
        yield from _free_slots(connection)
        return
    drop = f"SELECT pg_drop_replication_slot('{name}');"
    if found.plugin != "pgoutput":
        message = f"replication slot {name} has the plugin {found.plugin}, not pgoutput: {drop}"
        yield ConfigProblem("slot.name", message)
    elif found.database != parsed.database:
        message = f"replication slot {name} belongs to database {found.database}; choose another"
        yield ConfigProblem("slot.name", message)
    elif found.wal_status == "lost":
        message = f"replication slot {name} has lost its log, so a new snapshot is needed: {drop}"
        yield ConfigProblem("slot.name", f"{message} and reset the connector's offsets")


def _free_slots(connection: Connection) -> Iterator[ConfigProblem]:
    limit = int(catalog.setting(connection, "max_replication_slots"))
    with translated("cannot count the replication slots"):
        row = connection.execute("SELECT count(*) FROM pg_replication_slots").fetchone()
    if row is not None and row[0] >= limit:
        message = f"all {limit} replication slots are in use: drop one, or "
        remedy = f"ALTER SYSTEM SET max_replication_slots = {limit + 10}; then restart PostgreSQL"
        yield ConfigProblem("slot.name", message + remedy)


def _publication(connection: Connection, parsed: Settings) -> Iterator[ConfigProblem]:
    name = parsed.publication
    if catalog.has_publication(connection, name):
        return
    remedy = f"CREATE PUBLICATION {quoted(name)} FOR ALL TABLES;"
    if parsed.autocreate == "disabled":
        message = f"publication {name} does not exist, and publication.autocreate.mode is disabled"
        yield ConfigProblem("publication.name", f"{message}: {remedy}")
        return
    with translated("cannot look up the role"):
        row = connection.execute(
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    if parsed.autocreate == "all_tables" and row is not None and not row[0]:
        user = parsed.connection.get("user")
        message = (
            f"publication {name} does not exist, and role {user} is no superuser, which making"
        )
        message += f" one for all tables needs. As superuser: {remedy}"
        yield ConfigProblem("publication.name", message)


def _tables(connection: Connection, parsed: Settings) -> Iterator[ConfigProblem]:
    captured = [
        table
        for table in catalog.tables(connection, parsed.publication)
        if parsed.tables.includes_table(table.schema, table.name)
    ]
    if not captured and (parsed.tables.tables.included or parsed.tables.schemas.included):
        option = "table.include.list" if parsed.tables.tables.included else "schema.include.list"
        message = f"no table of database {parsed.database} is captured: check {option}"
        yield ConfigProblem(option, message)
    for table in captured:
        name = f"{table.schema}.{table.name}"
        where = quoted(table.schema, table.name)
        if not table.is_readable:
            user = quoted(str(parsed.connection.get("user")))
            message = f"table {name} cannot be read: GRANT SELECT ON {where} TO {user};"
            yield ConfigProblem("table.include.list", message)
        if table.identity == "n" or (table.identity == "d" and not table.has_identity):
            message = (
                f"table {name} has no key, so its updates and deletes would fail: add a primary"
            )
            remedy = f"ALTER TABLE {where} REPLICA IDENTITY FULL;"
            yield ConfigProblem("table.include.list", f"{message} key, or {remedy}")
