"""A PostgreSQL that is full: the batch is retried, and nothing of it stays behind."""

from collections.abc import Iterator

import pytest

from moldau.connect.data.errors import RetriableError
from moldau.connect.data.record import SinkRecord
from tests.compat.postgres_server import PostgresServer
from tests.compat.test_jdbc_postgres import PARTITION, Sink, record, rows


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as started:
        yield started


def of_topic(topic: str, made: SinkRecord) -> SinkRecord:
    made.topic = topic
    return made


def test_a_full_disk_is_retried_and_leaves_nothing_of_the_batch(server: PostgresServer) -> None:
    """The file of a table becomes a device that has never any room."""
    tables = "CREATE TABLE {} (id int PRIMARY KEY, name text, age bigint)"
    for name in ("people", "zoo"):
        server.run("postgres", tables.format(name))
    [(where,)] = rows(server, "postgres", "SELECT pg_relation_filepath('zoo')")
    file = server.directory / "data" / where
    room = file.with_name("room")
    server.stop()
    file.rename(room)
    file.symlink_to("/dev/full")
    server.start()

    sink = Sink(server, "postgres")
    batch = [record(1, {"name": "a"}), of_topic("zoo", record(2, {"name": "b"}))]
    staged = sink.stage(batch)
    with pytest.raises(RetriableError, match="No space left on device"):
        sink.driver.commit([staged], {PARTITION: 2}, 0)
    assert rows(server, "postgres") == []
    assert sink.driver.stored_offsets() == {}

    server.stop()
    file.unlink()
    room.rename(file)
    server.start()
    # As the engine does: the whole batch again.
    with pytest.raises(RetriableError):
        sink.stage(batch)
    sink.write(*batch)
    assert rows(server, "postgres") == [(1, "a", None)]
    assert rows(server, "postgres", "TABLE zoo") == [(2, "b", None)]
    assert sink.driver.stored_offsets() == {PARTITION: 2}
    sink.stop()
