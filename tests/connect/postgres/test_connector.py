"""No change is lost when the server goes away in the middle of a poll."""

import socket
from collections.abc import Iterable
from typing import Any

import psycopg

from moldau.clock import ManualClock
from moldau.connect.connector import SourcePartition
from moldau.connect.connectors.postgres.connector import PostgresSource
from moldau.connect.connectors.postgres.position import Position
from tests.connect.postgres.recorded import messages, read_all, reader


class NoOffsets:
    def get(self, partition: SourcePartition) -> None:
        return None

    def items(self) -> Iterable[Any]:
        return ()


class Gone:
    """A connection whose server has been killed."""

    def execute(self, *_: object) -> None:
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def close(self) -> None:
        pass


class Recorded:
    """A stream of what was recorded, which arrived before the server was killed."""

    read_lsn = 0

    def __init__(self, source: PostgresSource) -> None:
        self._reader = source._reader

    def poll(self) -> list[Any]:
        return read_all(self._reader)


def opened(**options: str) -> PostgresSource:
    """A source that reads the recorded log, over connections that have broken since."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        source = PostgresSource(ManualClock())
        source.start(
            {
                "topic.prefix": "srv",
                "database.dbname": "shop",
                "database.hostname": "127.0.0.1",
                "database.port": str(unused.getsockname()[1]),
                **options,
            },
            NoOffsets(),
        )
    source._connections = [Gone()]  # type: ignore[list-item]
    source._reader = reader()
    source._stream = Recorded(source)  # type: ignore[assignment]
    source._is_open = True
    return source


def test_changes_are_handed_out_although_the_slot_cannot_be_confirmed() -> None:
    source = opened()
    # Something is durable, and it is time to say so.
    source._confirmations.reached(messages()[0][0])
    records = source.poll()
    assert records
    assert len(records) == len(read_all(reader()))
    assert source._position == source._reader.position
    assert not source._is_open


def test_changes_are_read_again_if_the_heartbeat_fails() -> None:
    beat = {"heartbeat.interval.ms": "1", "heartbeat.action.query": "UPDATE beats SET at = now()"}
    source = opened(**beat)
    before = source._position
    assert source.poll() is None
    assert source._position == before


def test_the_last_rows_of_a_snapshot_are_handed_out_although_the_log_cannot_be_read() -> None:
    source = opened()
    rows = read_all(reader())
    source._stream, source._rows = None, iter(rows)
    source._after_snapshot = Position(100, is_snapshot=True)
    assert source.poll() == rows
    assert source._position == source._after_snapshot
    assert source.poll() is None, "the server is away"
    assert source._position == source._after_snapshot
