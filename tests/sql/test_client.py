"""What the client does when the process that runs queries ends in the middle of one."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.sql.client import RemoteSession, stop
from moldau.sql.errors import SqlError
from moldau.sql.protocol import Channel
from moldau.sql.results import Form
from moldau.sql.server import Server
from moldau.sql.settings import SqlSettings
from moldau.sql.socket_place import socket_path


class Kept:
    """A sink that nothing reaches here."""

    def columns(self, columns: object) -> None:
        raise AssertionError(columns)

    rows = lines = note = columns


class Dying:
    """Takes statements as the process does, and dies of each."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.session = RemoteSession(SqlSettings("localhost:1"), environment)
        self.statements: list[str] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(socket_path(environment)))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                channel = Channel(connection)
                if channel.receive()["kind"] == "stop":
                    return
                channel.send("ready")
                self.statements.append(channel.receive()["statement"])

    def run(self, statement: str) -> list[str]:
        """How often the process was given the statement."""
        with pytest.raises(SqlError, match="has ended"):
            self.session.run(statement, Form.JSON, Kept())
        taken, self.statements = self.statements, []
        return taken

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(self._listener.getsockname())
            Channel(connection).send("stop")
            self._thread.join()
        self._listener.close()


@pytest.fixture
def dying(tmp_path: Path) -> Iterator[Dying]:
    made = Dying({"XDG_RUNTIME_DIR": str(tmp_path)})
    yield made
    made.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "(SELECT 1)",
        "WITH a AS (SELECT 'INSERT' AS `insert`) SELECT * FROM a -- INSERT",
        "FROM orders SELECT *",
    ],
)
def test_what_only_reads_is_run_again(dying: Dying, statement: str) -> None:
    assert dying.run(statement) == [statement, statement]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO orders VALUES (1)",
        "WITH a AS (SELECT 1 AS value) INSERT INTO orders SELECT * FROM a",
        "from orders insert into others select *",
        "CREATE STREAMING TABLE t AS SELECT * FROM STREAM orders",
    ],
)
def test_what_writes_is_not_run_again(dying: Dying, statement: str) -> None:
    """The records may be in the topic already."""
    assert dying.run(statement) == [statement]


def test_a_process_in_which_spark_still_starts_makes_room_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_start = threading.Event()
    monkeypatch.setattr(Server, "_start_spark", lambda _: may_start.wait())
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    path = socket_path(environment)
    server = Server(path, idle_s=600)
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    try:
        assert stop(environment)
        assert not path.exists()
        # What the next process puts there is not the old one's to remove.
        path.touch()
    finally:
        may_start.set()
        running.join(120)
    assert not running.is_alive()
    assert path.exists()


def test_a_command_that_finds_the_process_imports_little() -> None:
    slow = ("inspect", "lzma", "subprocess", "moldau.client.security", "pyspark")
    code = (
        "import sys\n"
        "import moldau.cli.main, moldau.cli.sql\n"
        "import moldau.sql.client, moldau.sql.output, moldau.sql.statements\n"
        f"print([m for m in {slow} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
