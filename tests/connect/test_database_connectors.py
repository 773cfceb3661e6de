"""Connectors of databases are found by our names and by those of the products they stand for."""

import pytest

from moldau.connect.connector import EXACTLY_ONCE, SinkConnector, SourceConnector
from moldau.connect.plugins import Plugins


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("io.debezium.connector.postgresql.PostgresConnector", SourceConnector),
        ("io.moldau.connect.PostgresSource", SourceConnector),
        ("io.confluent.connect.jdbc.JdbcSourceConnector", SourceConnector),
        ("io.confluent.connect.jdbc.JdbcSinkConnector", SinkConnector),
        ("io.moldau.connect.JdbcSink", SinkConnector),
    ],
)
def test_a_connector_is_found(name: str, base: type) -> None:
    found = Plugins().connector(name)
    assert issubclass(found, base)
    assert all(key["documentation"] is not None for key in found.config.to_json())


def test_the_sink_says_that_it_is_exactly_once() -> None:
    assert Plugins().connector("JdbcSink").delivery == EXACTLY_ONCE
