"""The command as a whole: help, errors and exit codes."""

import socket
import subprocess
import sys

import pytest

from moldau.cli.main import COMMANDS, main
from moldau.client.connection import ConnectionFailed
from tests.cli.conftest import Moldau


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    # A terminal of 80x24, with a line for the next prompt.
    assert len(shown.splitlines()) < 24
    assert max(map(len, shown.splitlines())) <= 80


def test_nothing_at_all_shows_the_help_but_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"moldau {name}" in capsys.readouterr().out


VERBS = {
    "cluster": ("start", "status", "stop", "health"),
    "partitions": ("list", "reassign", "elect-leaders"),
    "brokers": ("list", "unregister"),
    "quorum": ("describe", "add-controller", "remove-controller"),
    "topics": ("create", "list", "describe", "alter", "delete", "delete-records"),
    "groups": ("list", "describe", "members", "reset-offsets", "delete-offsets", "delete"),
    "configs": ("describe", "alter"),
    "storage": ("format", "verify", "dump", "random-uuid"),
    "stream": ("run", "describe", "status", "reset"),
}


@pytest.mark.parametrize(
    "command",
    [
        (),
        *((name,) for name in COMMANDS),
        *((name, verb) for name, verbs in VERBS.items() for verb in verbs),
    ],
    ids=" ".join,
)
def test_help_fits_80_columns(
    command: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert lines[0].startswith(f"usage: {' '.join(('moldau', *command))}")


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("moldau ")


def test_a_mistyped_command_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topisc"]) == 2
    assert "did you mean 'topics'?" in capsys.readouterr().err


def test_a_broker_that_is_not_there_gets_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert main(["topics", "list", "--bootstrap-server", f"127.0.0.1:{port}"]) == 1
    shown = capsys.readouterr().err
    assert f"cannot connect to 127.0.0.1:{port}: Connection refused" in shown
    assert "'moldau start'" in shown


def test_a_host_name_that_does_not_exist_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--bootstrap-server", "nowhere.invalid:9092"]) == 1
    told = capsys.readouterr().err
    assert told.startswith(
        "moldau: cannot connect to nowhere.invalid:9092: the host name cannot be resolved ("
    )


def test_debug_shows_where_it_went_wrong() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ConnectionFailed, match="Connection refused"):
        main(["topics", "list", "--bootstrap-server", f"127.0.0.1:{port}", "--debug"])


def test_an_error_of_the_broker_shows_its_code(moldau: Moldau) -> None:
    result = moldau("topics", "describe", "nope")
    assert result.code == 1
    assert result.err == "moldau: topic nope does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_may_be_closed(moldau: Moldau, bootstrap: str, closed: str) -> None:
    moldau("produce", "closed", "--file", __file__)
    command = ["consume", "closed", "--from-beginning", "--max-messages", "1"]
    ran = subprocess.run(
        [
            *("sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", "moldau", *command),
            *("--bootstrap-server", bootstrap),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert bool(ran.stdout) == (" >&-" not in f" {closed}")
