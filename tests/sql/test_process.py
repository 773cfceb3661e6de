"""``moldau sql`` as users run it: the process that stays, pipes, Ctrl-C, the shell."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import moldau
from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.sql import client
from moldau.sql.protocol import PROTOCOL, Channel
from moldau.sql.settings import SqlSettings
from moldau.sql.socket_place import socket_path
from tests.cli.terminals import Terminal
from tests.sql.conftest import Registry, Sql

LIMIT_S = 240


def command(bootstrap: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "moldau", "sql", "--bootstrap-server", bootstrap, *arguments]


def run(
    arguments: Sequence[str], environment: Mapping[str, str], text: str = ""
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        arguments,
        env=dict(environment),
        input=text,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_statements_come_from_the_command_line_a_file_or_a_pipe(
    bootstrap: str, environment: Mapping[str, str], tmp_path: Path
) -> None:
    text = "SELECT count(*) AS n FROM orders; -- and\nSELECT 2 AS two"
    expected = "n\n10\ntwo\n2\n"
    found = run(command(bootstrap, "--format", "csv", "-e", text), environment)
    assert (found.returncode, found.stdout, found.stderr) == (0, expected, "")
    file = tmp_path / "report.sql"
    file.write_text(text)
    found = run(command(bootstrap, "--format", "csv", "-f", str(file)), environment)
    assert (found.returncode, found.stdout, found.stderr) == (0, expected, "")
    found = run(command(bootstrap, "--format", "csv"), environment, text)
    assert (found.returncode, found.stdout, found.stderr) == (0, expected, "")


def test_the_first_error_ends_a_script(bootstrap: str, environment: Mapping[str, str]) -> None:
    found = run(
        command(bootstrap, "-e", "SELECT 1 AS one; SELECT * FROM ordesr; SELECT 3"), environment
    )
    assert found.returncode == 1
    assert found.stdout == "one\n  1\n"
    assert found.stderr.splitlines() == [
        "moldau: there is no topic ordesr: did you mean orders?",
        "  SELECT * FROM ordesr",
        "                ^^^^^^",
    ]


def test_no_broker_is_one_line(environment: Mapping[str, str]) -> None:
    found = run(command("127.0.0.1:1", "-e", "SHOW TOPICS"), environment)
    assert found.returncode == 1
    assert len(found.stderr.splitlines()) == 1
    assert "127.0.0.1:1" in found.stderr
    assert "--bootstrap-server" in found.stderr


def test_the_socket_is_for_this_user_alone(sql: Sql, environment: Mapping[str, str]) -> None:
    sql("SELECT 1")
    path = socket_path(environment)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert client.log_path(environment).stat().st_mode & 0o777 == 0o600


def test_sessions_do_not_see_each_others_views(
    bootstrap: str, environment: Mapping[str, str]
) -> None:
    made = run(command(bootstrap, "-e", "CREATE TEMPORARY VIEW mine AS SELECT 1 AS a"), environment)
    assert made.returncode == 0
    found = run(command(bootstrap, "-e", "SELECT * FROM mine"), environment)
    assert "there is no topic mine" in found.stderr


def test_ctrl_c_ends_a_long_query_and_the_process_lives(
    bootstrap: str, environment: Mapping[str, str], sql: Sql
) -> None:
    sql("SELECT 1")
    long = "SELECT count(*) FROM range(100000000) a CROSS JOIN range(100000000) b"
    text = f"SELECT 1 AS one; {long}"
    running = subprocess.Popen(
        command(bootstrap, "--format", "csv", "-e", text),
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert [running.stdout.readline() for _ in range(2)] == ["one\n", "1\n"]
    # Long enough to be under way; if it is not, it is cancelled before its first job.
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(3)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=LIMIT_S)
    assert (running.returncode, out, errors) == (130, "", "")
    assert sql("SELECT 1 AS one") == "one\n  1\n"


def test_an_insert_that_is_cancelled_before_it_writes_writes_nothing(
    bootstrap: str, environment: Mapping[str, str], sql: Sql
) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic("cancelled", 1)
    insert = "INSERT INTO cancelled SELECT 'x' AS value"
    settings = SqlSettings(bootstrap).to_json()
    channel = Channel(client.find_or_start(environment))
    channel.send("hello", protocol=PROTOCOL, version=moldau.__version__, settings=settings)
    assert channel.receive()["kind"] == "ready"
    # It is planned for longer than the second frame is under way.
    channel.send("run", statement=insert, form="table")
    channel.send("cancel")
    answer = channel.receive()
    assert (answer["kind"], answer.get("cancelled")) == ("error", True), answer
    assert sql("SELECT count(*) AS n FROM cancelled") == "n\n0\n"
    # The next statement is not cancelled.
    channel.send("run", statement=insert, form="table")
    assert channel.receive()["text"] == "1 record written to cancelled"
    assert channel.receive()["kind"] == "done"
    channel.close()


def test_a_process_that_was_killed_is_started_again(
    bootstrap: str, environment: Mapping[str, str], sql: Sql
) -> None:
    sql("SELECT 1")
    for process in server_ids(environment):
        os.kill(process, signal.SIGKILL)
    assert sql("SELECT count(*) AS n FROM orders") == " n\n10\n"
    assert len(server_ids(environment)) == 1


def server_ids(environment: Mapping[str, str]) -> list[int]:
    """The processes that serve on the socket of these tests."""
    path = str(socket_path(environment))
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                words = (each / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if "moldau.sql.server" in words and path in words:
                found.append(int(each.name))
    return found


def test_mixed_schemas_are_named(sql: Sql) -> None:
    shown = sql("SELECT * FROM `two-kinds`")
    assert "schema 1 that cannot be read with schema 3" in shown
    assert "without --registry" in shown
    assert len(shown.splitlines()) == 1


def test_avro_without_a_registry_is_binary_and_says_so(
    bootstrap: str, environment: Mapping[str, str]
) -> None:
    found = run(command(bootstrap, "-e", "DESCRIBE payments"), environment)
    assert "Avro: --registry URL decodes it" in found.stdout
    gone = run(
        command(bootstrap, "--registry", "http://127.0.0.1:1", "-e", "SELECT * FROM payments"),
        environment,
    )
    assert len(gone.stderr.splitlines()) == 1
    assert "--registry selects another" in gone.stderr


@pytest.fixture
def terminal_environment(environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a command in a terminal, which takes that of this process."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERM", "xterm")
    # This terminal does not answer questions about its cursor.
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")


@pytest.mark.usefixtures("terminal_environment")
def test_the_shell_completes_streams_and_survives_ctrl_c(
    bootstrap: str, registry: Registry
) -> None:
    with Terminal("sql", "--bootstrap-server", bootstrap, "--registry", registry.url) as shell:
        shell.expect("sql>")
        # A word, a topic that needs backticks, a column, a field of JSON.
        shell.press("SELECT value FROM lo\t")
        shell.expect(r"`logs\.app-1`")
        shell.press(" WHERE _offset = 3;\r")
        shell.expect("line 3")
        shell.expect(r"\(1 row, ")
        shell.press("SELECT 1 +\r")
        shell.expect("->")
        shell.press("41 AS answer;\r")
        shell.expect("answer")
        shell.expect("42")
        shell.expect("sql>")
        # An error leaves the shell as it was.
        shell.press("SELECT * FROM ordesr;\r")
        shell.expect("did you mean orders")
        shell.expect(r"\^\^\^\^\^\^")
        shell.expect("sql>")
        shell.press("SELECT value:customer::string AS who FROM STREAM live;\r")
        shell.expect("waiting for records")
        with Producer(bootstrap) as producer:
            producer.send("live", json.dumps({"customer": "zoe"}).encode())
        shell.expect("zoe")
        shell.press("\x03")
        shell.expect("cancelled")
        shell.expect("sql>")
        # Ctrl-C clears what was typed.
        shell.press("SELECT nonsense\x03")
        shell.expect("sql>")
        shell.press("SELECT 'still here' AS text;\r")
        shell.expect(r"still here\r?\n")
        shell.expect("sql>")
        shell.press("\x04")
        deadline_s = time.monotonic() + LIMIT_S
        while shell.process.poll() is None:
            assert time.monotonic() < deadline_s
        assert shell.process.returncode == 0


def test_no_log_of_spark_is_seen(sql: Sql, environment: Mapping[str, str]) -> None:
    shown = sql("SELECT raise_error('for the test')")
    assert "for the test" in shown
    assert not re.search(r"\bat org\.apache|ERROR|WARN|Traceback", shown)


def test_the_process_ends_when_it_is_idle(
    bootstrap: str, environment: Mapping[str, str], tmp_path: Path
) -> None:
    # One process at a time is enough.
    client.stop(environment)
    assert not socket_path(environment).exists()
    directory = tempfile.mkdtemp(prefix="msql")
    variables = {**environment, "XDG_RUNTIME_DIR": directory, "MOLDAU_SQL_IDLE_S": "1"}
    try:
        found = run(command(bootstrap, "-e", "SELECT 1 AS one"), variables)
        assert (found.returncode, found.stdout, found.stderr) == (0, "one\n  1\n", "")
        deadline_s = time.monotonic() + LIMIT_S
        while server_ids(variables):
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        assert not socket_path(variables).exists()
        assert not client.stop(variables)
    finally:
        client.stop(variables)
        shutil.rmtree(directory)


def test_a_client_that_is_gone_ends_its_query(
    bootstrap: str, environment: Mapping[str, str], sql: Sql
) -> None:
    sql("SELECT 1")
    endless = subprocess.Popen(
        command(bootstrap, "-e", "SELECT * FROM STREAM live"),
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert endless.stderr is not None
    assert "waiting for records" in endless.stderr.readline()
    endless.kill()
    endless.communicate(timeout=LIMIT_S)
    # The process is still there for others.
    assert sql("SELECT 2 AS two") == "two\n  2\n"
