"""The process that runs the queries of ``moldau sql``: one Spark session that stays warm.

Started by the first client, and ends after ten idle minutes. It listens before Spark is up, so that
a second client does not start a second process; clients wait.

    python -m moldau.sql.server SOCKET
"""

import os
import queue
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import moldau
from moldau.spark.errors import PipelineError, one_line
from moldau.sql.errors import SqlError
from moldau.sql.protocol import PROTOCOL, Channel, ChannelSink, Ended, Frame
from moldau.sql.results import Form
from moldau.sql.settings import SqlSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from moldau.sql.engine import SqlSession

IDLE_S: Final = 600.0
IDLE_VARIABLE: Final = "MOLDAU_SQL_IDLE_S"
_CHECK_S: Final = 0.5


class Server:
    """Accepts clients, each in a thread, and ends when it was idle for too long."""

    def __init__(self, path: Path, idle_s: float) -> None:
        self._path = path
        self._idle_s = idle_s
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Nobody may connect between the two calls.
        before = os.umask(0o177)
        try:
            self._listener.bind(str(path))
        finally:
            os.umask(before)
        self._listener.listen(16)
        self._inode = path.stat().st_ino
        self._lock = threading.Lock()
        self._clients = 0
        self._last_s = time.monotonic()
        # Taken by the one who removes the socket. A handler of signals must not wait for a lock.
        self._removable = [path]
        self._stopping = threading.Event()
        self._started = threading.Event()
        self._spark: SparkSession | None = None
        self._failure = ""

    def run(self) -> None:
        """Serve until idle or stopped; starts Spark meanwhile."""
        threading.Thread(target=self._accept, name="accept", daemon=True).start()
        self._start_spark()
        while not self._stopping.wait(_CHECK_S):
            if self._is_over():
                break
        self._withdraw()
        self._listener.close()

    def stop(self) -> None:
        """End, as soon as Spark has started; whoever comes from now on starts a new process."""
        self._withdraw()
        self._stopping.set()

    def _withdraw(self) -> None:
        """Remove the socket, once: another file may get the inode that it had."""
        with suppress(IndexError, OSError):
            path = self._removable.pop()
            if path.stat().st_ino == self._inode:
                path.unlink()

    def spark(self) -> "SparkSession":
        """The session of the process, as soon as it is there. Raises SqlError."""
        self._started.wait()
        if self._spark is None:
            raise SqlError(self._failure)
        return self._spark

    def _start_spark(self) -> None:
        from moldau.sql.sessions import first_session

        try:
            self._spark = first_session()
        except PipelineError as error:
            self._failure = str(error)
        except Exception as error:
            self._failure = one_line(error)
        self._started.set()

    def _is_over(self) -> bool:
        with self._lock:
            is_idle = self._clients == 0 and time.monotonic() - self._last_s > self._idle_s
            is_useless = self._spark is None and self._clients == 0
        try:
            is_replaced = self._path.stat().st_ino != self._inode
        except OSError:
            is_replaced = True
        return is_idle or is_useless or is_replaced or _is_java_gone()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._clients += 1
            serving = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            serving.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(Ended):
                _Client(self, Channel(connection)).serve()
        finally:
            with self._lock:
                self._clients -= 1
                self._last_s = time.monotonic()


class _Client:
    """One connection: a thread reads requests, this one runs them."""

    def __init__(self, server: Server, channel: Channel) -> None:
        self._server = server
        self._channel = channel
        self._requests: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._session: SqlSession | None = None
        self._is_gone = False

    def serve(self) -> None:
        """Raises Ended when the client is gone."""
        sink = ChannelSink(self._channel)
        try:
            self._session = self._hello(self._channel.receive())
        except SqlError as error:
            sink.failed(error)
            return
        self._channel.send("ready")
        threading.Thread(target=self._read, daemon=True).start()
        try:
            while (request := self._requests.get()) is not None:
                self._answer(request, sink)
        finally:
            self._session.close()

    def _hello(self, hello: Frame) -> "SqlSession":
        if hello.get("kind") == "stop":
            self._server.stop()
            raise Ended
        if (hello.get("protocol"), hello.get("version")) != (PROTOCOL, moldau.__version__):
            raise SqlError("this process is of another version", "moldau sql --stop ends it")
        spark = self._server.spark()
        from moldau.sql.engine import SqlSession
        from moldau.sql.sessions import new_session

        try:
            return SqlSession(new_session(spark), SqlSettings.from_json(hello["settings"]))
        except ValueError as error:
            raise SqlError(str(error)) from None

    def _read(self) -> None:
        assert self._session is not None
        try:
            while True:
                request = self._channel.receive()
                if request["kind"] == "cancel":
                    self._session.cancel()
                else:
                    # Here, so that a cancel that follows at once is not forgotten.
                    self._session.begin()
                    self._requests.put(request)
        except Ended:
            # Nobody waits for the result any more.
            self._is_gone = True
            self._session.cancel()
            self._requests.put(None)

    def _answer(self, request: Frame, sink: ChannelSink) -> None:
        assert self._session is not None
        try:
            if request["kind"] == "run":
                self._session.run(request["statement"], Form(request["form"]), sink)
            else:
                names = _names(self._session, request)
                self._channel.send("names", names=names)
                return
        except SqlError as error:
            sink.failed(error)
        except Ended:
            raise
        except Exception as error:
            # A bug, or Java has ended; the process goes on for the others.
            sink.failed(SqlError(one_line(error)))
        else:
            self._channel.send("done")


def _names(session: "SqlSession", request: Frame) -> list[str]:
    """What completion asks for; nothing if it cannot be found out."""
    try:
        what = request["what"]
        if what == "topics":
            return session.topics()
        if what == "columns":
            return session.columns(request["of"])
        if what == "fields":
            return session.fields(request["of"])
        return session.functions()
    except Exception:
        return []


def _is_java_gone() -> bool:
    """Whether Spark's JVM has died: this process cannot start another one."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return process is not None and process.poll() is not None


def main(arguments: list[str]) -> int:
    """Serve on the socket that is named."""
    path = Path(arguments[0])
    # A socket without a process behind it; the client has the lock.
    path.unlink(missing_ok=True)
    server = Server(path, float(os.environ.get(IDLE_VARIABLE, IDLE_S)))
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    # Ctrl-C in the terminal of the client that started this process is not meant for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
