"""Frames between client and server, and the place of the socket."""

import os
import socket
import struct
from pathlib import Path

import pytest

from moldau.sql.errors import Cancelled, Span, SqlError
from moldau.sql.protocol import Channel, ChannelSink, Ended, pass_on
from moldau.sql.results import Cells, Column
from moldau.sql.socket_place import socket_directory, socket_path


@pytest.fixture
def pair() -> tuple[Channel, Channel]:
    first, second = socket.socketpair()
    return Channel(first), Channel(second)


class Kept:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.all: list[object] = []

    def columns(self, columns: object) -> None:
        self.all.append(columns)

    def rows(self, rows: object) -> None:
        self.all.append(rows)

    def lines(self, lines: object) -> None:
        self.all.append(lines)

    def note(self, text: str) -> None:
        self.all.append(text)


def test_a_result_arrives_as_it_was_sent(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    sink = ChannelSink(ours)
    rows: list[Cells] = [("é", None)]
    sink.columns([Column("a"), Column("n", is_number=True)])
    sink.rows(rows)
    sink.lines(['{"a":1}'])
    sink.note("done soon")
    ours.send("done")
    kept = Kept()
    frames = 1
    while not pass_on(theirs.receive(), kept):
        frames += 1
    assert frames == 5
    expected = [[("a", False), ("n", True)], [["é", None]], ['{"a":1}'], "done soon"]
    assert kept.all == expected


def test_an_error_arrives_with_its_place(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    ChannelSink(ours).failed(SqlError("no topic", "make one", Span(3, 5)))
    with pytest.raises(SqlError) as raised:
        pass_on(theirs.receive(), Kept())
    assert (raised.value.message, raised.value.remedy) == ("no topic", "make one")
    assert raised.value.span == Span(3, 5)


def test_a_cancelled_statement_is_told_from_a_failed_one(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    ChannelSink(ours).failed(Cancelled("cancelled"))
    with pytest.raises(Cancelled):
        pass_on(theirs.receive(), Kept())


def test_a_peer_that_is_gone_or_sends_nonsense_ends_the_conversation() -> None:
    first, second = socket.socketpair()
    first.sendall(struct.pack(">I", 0xFFFFFFFF))
    with pytest.raises(Ended):
        Channel(second).receive()
    first.close()
    with pytest.raises(Ended):
        Channel(second).receive()
    second.close()


def test_text_that_is_not_unicode_does_not_break_a_frame(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    ours.send("note", text="\udcff")
    assert theirs.receive()["text"] == "?"


def test_the_directory_is_for_this_user_alone(tmp_path: Path) -> None:
    directory = socket_directory({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert directory.stat().st_mode & 0o777 == 0o700
    directory.chmod(0o755)
    with pytest.raises(SqlError, match="mode 0700"):
        socket_directory({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_a_link_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    os.symlink(tmp_path / "elsewhere", tmp_path / "moldau")
    with pytest.raises(SqlError, match="not a directory"):
        socket_directory({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_another_version_has_another_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)}
    before = socket_path(environment)
    assert socket_path(environment) == before
    monkeypatch.setattr("moldau.__version__", "99.0.0")
    assert socket_path(environment) != before
