"""Finds the process that runs the queries of this user, or starts it, and talks to it."""

import fcntl
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

import moldau
from moldau.sql.errors import SqlError
from moldau.sql.protocol import PROTOCOL, Channel, Ended, pass_on
from moldau.sql.results import Form, Sink
from moldau.sql.settings import SqlSettings
from moldau.sql.socket_place import socket_path
from moldau.sql.statements import words

_START_LIMIT_S: Final = 60.0
_STOP_LIMIT_S: Final = 10.0
_POLL_S: Final = 0.02
_GONE: Final = "the process that runs queries has ended"


class RemoteSession:
    """A session in the process of this user; has the methods of ``SqlSession``."""

    def __init__(self, settings: SqlSettings, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = environment
        self._lock = threading.Lock()
        self._channel: Channel | None = None

    def run(self, statement: str, form: Form, sink: Sink) -> None:
        """Run a statement; Ctrl-C cancels it.

        A statement that has produced nothing yet is run again if the process was killed, unless it
        writes.

        Raises:
            SqlError: it is wrong, failed, or was cancelled.
        """
        with self._lock:
            watched = _Watched(sink)
            try:
                self._run(statement, form, watched)
            except Ended:
                self._channel = None
                if watched.has_any or not _only_reads(statement):
                    raise SqlError(_GONE, "run the statement again") from None
                try:
                    self._run(statement, form, watched)
                except Ended:
                    self._channel = None
                    raise SqlError(_GONE, f"its log is {log_path(self._environment)}") from None

    def topics(self) -> list[str]:
        return self._names("topics")

    def columns(self, topic: str) -> list[str]:
        return self._names("columns", topic)

    def fields(self, topic: str) -> list[str]:
        return self._names("fields", topic)

    def functions(self) -> list[str]:
        return self._names("functions")

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def connect(self) -> None:
        """Find or start the process. Raises SqlError."""
        with self._lock:
            self._connected()

    def _run(self, statement: str, form: Form, sink: Sink) -> None:
        channel = self._connected()
        with _cancelling(channel):
            channel.send("run", statement=statement, form=form.value)
            while not pass_on(channel.receive(), sink):
                pass

    def _names(self, what: str, of: str = "") -> list[str]:
        with self._lock:
            try:
                channel = self._connected()
                channel.send("ask", what=what, of=of)
                return list(channel.receive()["names"])
            except Ended:
                self._channel = None
                return []

    def _connected(self) -> Channel:
        if self._channel is None:
            self._channel = self._connect()
        return self._channel

    def _connect(self) -> Channel:
        for _ in range(2):
            channel = Channel(find_or_start(self._environment))
            try:
                channel.send(
                    "hello",
                    protocol=PROTOCOL,
                    version=moldau.__version__,
                    settings=self._settings.to_json(),
                )
                with _quitting():
                    frame = channel.receive()
            except Ended:
                # It was about to end because it was idle.
                channel.close()
                continue
            if frame["kind"] == "error":
                channel.close()
                raise SqlError(frame["message"], frame["remedy"])
            return channel
        raise SqlError(_GONE, f"its log is {log_path(self._environment)}")


_READS: Final = ("SELECT", "WITH", "SHOW", "DESC", "EXPLAIN", "FROM", "TABLE", "VALUES", "SUGGEST")


def _only_reads(statement: str) -> bool:
    """Whether it can be run twice. WITH and FROM can also be in front of INSERT."""
    has_insert = any(each.upper == "INSERT" for each in words(statement))
    return statement.lstrip("( \n").upper().startswith(_READS) and not has_insert


class _Watched:
    """Knows whether any part of a result has been passed on."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.has_any = False
        self.note = sink.note

    def columns(self, columns: object) -> None:
        self.has_any = True
        self._sink.columns(columns)  # type: ignore[arg-type]

    def rows(self, rows: object) -> None:
        self.has_any = True
        self._sink.rows(rows)  # type: ignore[arg-type]

    def lines(self, lines: object) -> None:
        self.has_any = True
        self._sink.lines(lines)  # type: ignore[arg-type]


@contextmanager
def _cancelling(channel: Channel) -> Iterator[None]:
    """Send Ctrl-C in this block to the process; a second one ends this process.

    A handler that does not raise: an exception between two reads would lose a part of a frame.
    """

    def cancel(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        with suppress(Ended):
            channel.send("cancel")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _quitting() -> Iterator[None]:
    """While Spark starts there is nothing to cancel: Ctrl-C raises KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def log_path(environment: Mapping[str, str]) -> Path:
    return socket_path(environment).with_suffix(".log")


def find(environment: Mapping[str, str]) -> socket.socket | None:
    """A connection to the process of this user; None if there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(socket_path(environment)))
    except OSError:
        connection.close()
        return None
    return connection


def find_or_start(environment: Mapping[str, str]) -> socket.socket:
    """A connection to the process of this user, which is started if there is none.

    Raises:
        SqlError: it does not start.
    """
    found = find(environment)
    if found is not None:
        return found
    lock_path = socket_path(environment).with_suffix(".lock")
    with lock_path.open("w") as lock:
        # Another client may be starting it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = find(environment)
        return _start(environment) if found is None else found


def _start(environment: Mapping[str, str]) -> socket.socket:
    # Imported late: most clients find a process that runs already.
    import subprocess

    path = socket_path(environment)
    with open(log_path(environment), "wb", opener=_private) as log:
        process = subprocess.Popen(
            # -P: do not import modules from the user's working directory.
            [sys.executable, "-P", "-m", "moldau.sql.server", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**environment, **_python_path(environment)},
            # It outlives this terminal.
            start_new_session=True,
            cwd="/",
        )
    deadline_s = time.monotonic() + _START_LIMIT_S
    while True:
        found = find(environment)
        if found is not None:
            return found
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise SqlError(
                "the process that runs queries does not start",
                f"its log is {log_path(environment)}",
            )
        time.sleep(_POLL_S)


def _python_path(environment: Mapping[str, str]) -> dict[str, str]:
    """The path of modules without relative entries: the process runs in another directory."""
    path = environment.get("PYTHONPATH")
    if not path:
        return {}
    return {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, path.split(os.pathsep)))}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def stop(environment: Mapping[str, str]) -> bool:
    """End the process of this user; returns False if there was none.

    When it returns, the socket is gone: who comes next starts a new process.
    """
    path = socket_path(environment)
    connection = find(environment)
    if connection is None:
        return False
    inode = _inode(path)
    channel = Channel(connection)
    with suppress(Ended):
        channel.send("stop")
        # It closes the connection when it has understood.
        channel.receive()
    channel.close()
    deadline_s = time.monotonic() + _STOP_LIMIT_S
    while inode is not None and _inode(path) == inode and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)
    return True


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None
