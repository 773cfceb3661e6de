"""Users of ksqlDB are told what to write here."""

import pytest

from moldau.sql.errors import SqlError
from moldau.sql.hints import check_ksqldb, check_whole


@pytest.mark.parametrize(
    ("statement", "word", "remedy"),
    [
        ("CREATE STREAM s (a INT) WITH (kafka_topic='t')", "CREATE STREAM", "STREAMING TABLE"),
        ("create or replace stream s as select 1", "create or replace stream", "STREAMING TABLE"),
        ("CREATE TABLE t WITH (KAFKA_TOPIC='t') AS SELECT 1", "KAFKA_TOPIC", "already"),
        ("SELECT * FROM orders EMIT CHANGES", "EMIT CHANGES", "FROM STREAM"),
        ("PRINT orders", "PRINT", "FROM STREAM"),
        ("LIST TOPICS", "LIST", "SHOW TOPICS"),
        ("SHOW STREAMS", "SHOW STREAMS", "SHOW TOPICS"),
        ("TERMINATE q1", "TERMINATE", "connect delete"),
        ("RUN SCRIPT 'a.sql'", "RUN SCRIPT", "-f"),
        ("SELECT 1 FROM t WINDOW TUMBLING (SIZE 5 MINUTES)", "WINDOW TUMBLING", "window("),
        ("SET 'auto.offset.reset'='earliest'", "'auto.offset.reset'", "startingOffsets"),
        ("CREATE SINK CONNECTOR c WITH ()", "CREATE SINK CONNECTOR", "connect create"),
    ],
)
def test_words_of_ksqldb_get_a_hint(statement: str, word: str, remedy: str) -> None:
    with pytest.raises(SqlError) as raised:
        check_ksqldb(statement)
    assert raised.value.span is not None
    assert statement[slice(*raised.value.span)] == word
    assert remedy in raised.value.remedy


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'EMIT CHANGES' FROM orders",
        "SELECT emit, changes FROM orders",
        "CREATE STREAMING TABLE t AS SELECT * FROM STREAM s",
        "SELECT sum(a) OVER (PARTITION BY b) FROM t WINDOW w AS (ORDER BY c)",
        "SHOW TOPICS",
        "SELECT 1 AS limit",
        "SELECT t.order",
        "SELECT from FROM t",
        "DESCRIBE FUNCTION union",
        "SELECT * FROM t WHERE a ORDER BY b LIMIT 1",
    ],
)
def test_statements_of_spark_pass(statement: str) -> None:
    check_ksqldb(statement)
    check_whole(statement)


@pytest.mark.parametrize(
    ("statement", "remedy"),
    [
        ("SELECT * FROM", "something is missing after FROM"),
        ("SELECT * FROM orders WHERE", "something is missing after WHERE"),
        ("SELECT * FROM orders ORDER", "something is missing after ORDER"),
        ("SELECT FROM orders", "SELECT *"),
        ("/* SELECT 1", "close the comment with */"),
        ("SELECT 1 /* and more", "close the comment with */"),
    ],
)
def test_what_was_forgotten_is_not_taken_for_a_name(statement: str, remedy: str) -> None:
    with pytest.raises(SqlError) as raised:
        check_whole(statement)
    assert remedy in raised.value.remedy


@pytest.mark.parametrize("statement", ["DROP TOPIC t", "SHOW TOPIC", "CREATE TOPIC t"])
def test_topics_are_the_business_of_other_commands(statement: str) -> None:
    with pytest.raises(SqlError) as raised:
        check_ksqldb(statement)
    assert "ksqlDB" not in raised.value.message
    assert raised.value.remedy
