"""A PostgreSQL server of our own, from the machine's packages, for tests and benchmarks.

It runs in a temporary directory, on a free port of the loopback address, as another user than root
(which PostgreSQL refuses), without fsync. ``kill`` and ``start`` are for tests of crashes.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from tools.brokers import HOST, free_port

START_TIMEOUT_S = 120
_SYSTEM_USERS = ("postgres", "nobody")


class NotInstalledError(Exception):
    """PostgreSQL cannot be run on this machine."""


def programs() -> Path:
    """Where PostgreSQL's programs are.

    Raises:
        NotInstalledError: nowhere.
    """
    if given := os.environ.get("POSTGRES_BIN"):
        return Path(given)
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if installed:
        return installed[-1].parent
    found = shutil.which("initdb")
    if found is None:
        raise NotInstalledError(
            "PostgreSQL is not installed (POSTGRES_BIN names the folder of initdb)"
        )
    return Path(found).parent


class PostgresServer:
    """Use as a context manager."""

    def __init__(self, **settings: str) -> None:
        self._bin = programs()
        self.directory = Path(tempfile.mkdtemp(prefix="moldau-postgres-"))
        self.port = free_port()
        self._settings = {
            "wal_level": "logical",
            "fsync": "off",
            "max_replication_slots": "20",
            "max_wal_senders": "20",
            "shared_buffers": "32MB",
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            "port": str(self.port),
            **settings,
        }
        self._user = self._system_user()
        self._process: subprocess.Popen[bytes] | None = None

    def _system_user(self) -> str | None:
        if os.getuid() != 0:
            return None
        for name in _SYSTEM_USERS:
            try:
                entry = pwd.getpwnam(name)
            except KeyError:
                continue
            os.chown(self.directory, entry.pw_uid, entry.pw_gid)
            return name
        raise NotInstalledError(
            "PostgreSQL does not run as root, and there is no user postgres or nobody"
        )

    def __enter__(self) -> Self:
        arguments = ["-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run(
            [self._bin / "initdb", *arguments, "--locale", "C"],
            check=True,
            capture_output=True,
            user=self._user,
            cwd="/",
        )
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def _data(self) -> str:
        return str(self.directory / "data")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        arguments = [str(self._bin / "postgres"), "-D", self._data]
        for name, value in self._settings.items():
            arguments += ["-c", f"{name}={value}"]
        with open(os.devnull, "wb") as nowhere:
            self._process = subprocess.Popen(
                arguments, stdout=nowhere, stderr=nowhere, user=self._user, cwd="/"
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self.connect("postgres").close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, "PostgreSQL ended while it started"
                assert time.monotonic() < deadline, "PostgreSQL does not answer"
                time.sleep(0.05)

    def stop(self) -> None:
        """Shut down fast: sessions are ended, the log is complete."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Crash: the server and all sessions at once. Recovery happens at the next start."""
        self._end(signal.SIGQUIT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=START_TIMEOUT_S)
            self._process = None

    def connect(self, database: str, user: str = "postgres") -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=HOST, port=self.port, user=user, dbname=database, autocommit=True
        )

    def create_database(self, name: str) -> None:
        with self.connect("postgres") as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())

    def run(self, database: str, script: str) -> None:
        """Run statements, each in a transaction of its own unless they say otherwise."""
        with self.connect(database) as connection:
            for statement in script.split(";\n"):
                if statement.strip():
                    connection.execute(statement.encode())
