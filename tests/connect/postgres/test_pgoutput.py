"""Messages of the log, as a PostgreSQL 15 server sent them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.connect.connectors.postgres.pgoutput import (
    EPOCH_US,
    UNCHANGED,
    Begin,
    Column,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Relation,
    Truncate,
    TypeName,
    Update,
    decode,
    format_lsn,
    parse_lsn,
)
from moldau.connect.data.errors import ConnectError

from .recorded import MOOD, messages

CUSTOMERS = 16393
NOTES = 16401
# When the recorded transaction was committed.
COMMIT_US = EPOCH_US + 0x30379D984B02E


def test_a_transaction_is_a_begin_its_changes_and_a_commit() -> None:
    decoded = [decode(data) for _, data in messages()[:5]]
    begin, kind, relation, insert, commit = decoded
    assert begin == Begin(0x192AA38, COMMIT_US, 0x2DB)
    assert kind == TypeName(MOOD, "public", "mood")
    columns = (
        Column("id", 23, -1, True),
        Column("name", 25, -1, False),
        Column("balance", 1700, (10 << 16 | 2) + 4, False),
        Column("mood", MOOD, -1, False),
        Column("photo", 25, -1, False),
    )
    assert relation == Relation(CUSTOMERS, "public", "customers", "d", columns)
    assert insert == Insert(CUSTOMERS, ["1", "Ada", "10.50", "happy", "x" * 3000])
    assert commit == Commit(0x192AA38, 0x192AA68, COMMIT_US)


def test_an_update_has_what_the_replica_identity_says() -> None:
    updates = [message for _, data in messages() if isinstance(message := decode(data), Update)]
    assert updates == [
        Update(CUSTOMERS, None, "", ["1", "Ada", "11.00", "happy", UNCHANGED]),
        Update(
            CUSTOMERS,
            ["2", None, None, None, None],
            "K",
            ["3", "Grace", "1.50", None, None],
        ),
        Update(NOTES, ["1", None], "O", ["1", "x"]),
    ]


def test_deletes_truncates_and_messages() -> None:
    decoded = [decode(data) for _, data in messages()]
    assert [m for m in decoded if isinstance(m, Delete)] == [
        Delete(NOTES, ["2", "tab\tnewline\nend"], "O"),
        Delete(CUSTOMERS, ["3", None, None, None, None], "K"),
    ]
    assert [m for m in decoded if isinstance(m, Truncate)] == [
        Truncate((CUSTOMERS, NOTES), is_cascade=False, restarts_identity=True)
    ]
    assert [m for m in decoded if isinstance(m, LogicalMessage)] == [
        LogicalMessage(True, 0x192B340, "audit", b"in a transaction"),
        LogicalMessage(False, 0x192B3B8, "audit", b"by itself"),
    ]


@pytest.mark.parametrize("index", range(len(messages())))
def test_a_message_cut_anywhere_is_refused_or_shorter_but_never_an_accident(index: int) -> None:
    _, data = messages()[index]
    for end in range(len(data)):
        if end > 60 and end < len(data) - 60:
            continue
        # A message that was cut must not pass for the whole one, nor fail in another way.
        with contextlib.suppress(ConnectError):
            assert decode(data[:end]) != decode(data)


def test_unknown_kinds_are_named() -> None:
    with pytest.raises(ConnectError, match="unknown kind 'S'"):
        decode(b"S\0\0\0\1\1")
    with pytest.raises(ConnectError, match="cut short"):
        decode(b"I\0\0\0\1N\0\1b\0\0\0\1x")


@given(st.integers(0, 2**64 - 1))
def test_positions_are_written_as_postgresql_writes_them(lsn: int) -> None:
    assert parse_lsn(format_lsn(lsn)) == lsn


def test_a_position_has_two_hexadecimal_halves() -> None:
    assert format_lsn(0x16B374D848) == "16/B374D848"
