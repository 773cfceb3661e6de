"""JDBC's URLs, as connection arguments (pure)."""

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from moldau.connect.config.definition import invalid

POSTGRESQL: Final = "postgresql"
SQLITE: Final = "sqlite"
# Parameters of pgjdbc that libpq has too, by its name there.
_PARAMETERS: Final = {
    "user": "user",
    "password": "password",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslpassword": "sslpassword",
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
    "options": "options",
}


@dataclass(frozen=True)
class Target:
    """A database. ``arguments`` are those of ``psycopg.connect``; ``path`` is SQLite's file."""

    kind: str
    arguments: dict[str, Any] = field(default_factory=dict, repr=False)
    path: str = ""

    def __str__(self) -> str:
        if self.kind == SQLITE:
            return f"sqlite:{self.path}"
        at = self.arguments
        return f"{at['host']}:{at['port']}/{at['dbname']} as {at.get('user')}"


def parse(url: str, user: str | None = None, password: str | None = None) -> Target:
    """The database of ``jdbc:postgresql://host:port/database?...`` or ``jdbc:sqlite:file``.

    Raises:
        ConfigError: if it is another one, or a parameter is unknown.
    """
    name = "connection.url"
    if url.startswith("jdbc:sqlite:"):
        path = url.removeprefix("jdbc:sqlite:").partition("?")[0]
        if not path or path == ":memory:":
            raise invalid(name, url, "A database in memory cannot be shared: name a file")
        return Target(SQLITE, path=path)
    if not url.startswith("jdbc:postgresql:"):
        # The whole URL may have a password in it.
        kind = ":".join(url.split(":")[:2])
        message = "URLs are jdbc:postgresql://host:port/database and jdbc:sqlite:file"
        raise invalid(name, kind, message)
    rest = url.removeprefix("jdbc:")
    parts = urlsplit(rest if rest.startswith("postgresql://") else _local(rest))
    try:
        port = parts.port or 5432
    except ValueError:
        raise invalid(name, parts.netloc.rpartition("@")[2], "Port must be a number") from None
    arguments: dict[str, Any] = {
        "host": parts.hostname or "localhost",
        "port": port,
        "dbname": unquote(parts.path.lstrip("/")) or user or "postgres",
    }
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if key == "currentSchema":
            arguments["options"] = f"-c search_path={value}"
        elif key == "ssl":
            if value != "false":
                arguments.setdefault("sslmode", "verify-full")
        elif key in _PARAMETERS:
            arguments[_PARAMETERS[key]] = value
        elif key not in ("reWriteBatchedInserts", "stringtype", "tcpKeepAlive", "prepareThreshold"):
            raise invalid(name, key, f"Parameters are {', '.join(sorted(_PARAMETERS))}")
    if user:
        arguments["user"] = user
    if password:
        arguments["password"] = password
    return Target(POSTGRESQL, arguments)


def _local(rest: str) -> str:
    """``postgresql:database`` has the default host."""
    return f"postgresql://localhost/{rest.removeprefix('postgresql:').lstrip('/')}"
