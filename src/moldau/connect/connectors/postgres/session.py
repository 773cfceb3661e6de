"""Connections to PostgreSQL, and its errors as those of Connect.

Each session prints values in one form, whatever the database and the role are set to: see
``values``. Values of columns are read as texts, from COPY, so no type needs a loader.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql

from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.data.errors import ConnectError, RetriableError

_OPTIONS: Final = {
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "client_encoding": "UTF8",
    "search_path": "pg_catalog",
    # A connector may wait for long: between two polls, or for a large transaction.
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
_CONNECT_TIMEOUT_S: Final = 10
Connection = psycopg.Connection[Any]


def connect(settings: Settings, *, for_replication: bool = False) -> Connection:
    """A connection in autocommit mode.

    Raises:
        RetriableError: if the server cannot be reached, or is starting up.
        ConnectError: if it refuses, as for a wrong password.
    """
    arguments: dict[str, Any] = {
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "application_name": f"moldau connect {settings.server}",
        **settings.connection,
    }
    if for_replication:
        arguments["replication"] = "database"
    # TCP keepalives find a server that has gone away without a word.
    arguments |= {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
    with translated(f"cannot connect to {place(settings)}"):
        connection = psycopg.connect(autocommit=True, **arguments)
    try:
        with translated("cannot prepare the session"):
            for name, value in _OPTIONS.items():
                connection.execute(
                    sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
                )
    except ConnectError:
        connection.close()
        raise
    return connection


def place(settings: Settings) -> str:
    """Host, port, database and role, for messages."""
    at = settings.connection
    where = f"{at.get('host', 'localhost')}:{at.get('port', 5432)}/{at.get('dbname')}"
    return f"{where} as {at.get('user')}"


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise PostgreSQL's errors as those of Connect: retriable if they may pass."""
    try:
        yield
    except psycopg.Error as error:
        message = f"{doing}: {first_line(error)}"
        if may_pass(error):
            raise RetriableError(message) from error
        raise ConnectError(message) from error


def first_line(error: psycopg.Error) -> str:
    """What the server says, with its code."""
    text = " ".join(str(error).split("\n")[:2]).strip() or type(error).__name__
    return f"{text} (SQLSTATE {error.sqlstate})" if error.sqlstate else text


def may_pass(error: psycopg.Error) -> bool:
    """Whether the same may succeed later: the connection, resources, a deadlock, a shutdown."""
    state = error.sqlstate
    if state is None:
        # Nobody answered, or the connection broke: libpq has no code for it.
        text = str(error)
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not any(
            word in text for word in ("password", "pg_hba.conf", "does not exist", "no pg_hba")
        )
    return state[:2] in ("08", "53", "57", "40", "55") and state not in ("57014", "55P02")


def quoted(*names: str) -> str:
    """``"schema"."table"``."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
