"""URLs, values for COPY, and SQL of PostgreSQL."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from moldau.connect.config.definition import ConfigError
from moldau.connect.connectors.jdbc import url
from moldau.connect.connectors.jdbc.dialect import PostgresDialect
from moldau.connect.connectors.jdbc.encode import copy_encoder, copy_line
from moldau.connect.connectors.jdbc.shape import Column
from moldau.connect.data import logical
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Schema, array, map_of


def test_urls_of_jdbc_become_arguments_of_libpq() -> None:
    found = url.parse("jdbc:postgresql://db:5433/shop?sslmode=require&currentSchema=s", "u", "p")
    assert found.arguments == {
        "host": "db",
        "port": 5433,
        "dbname": "shop",
        "sslmode": "require",
        "options": "-c search_path=s",
        "user": "u",
        "password": "p",
    }
    assert "'p'" not in repr(found)
    assert str(found) == "db:5433/shop as u"
    assert url.parse("jdbc:postgresql:shop").arguments["host"] == "localhost"
    assert url.parse("jdbc:sqlite:/tmp/a.db").path == "/tmp/a.db"


@pytest.mark.parametrize(
    "wrong",
    [
        "jdbc:mysql://h/d",
        "postgresql://h/d",
        "jdbc:sqlite:",
        "jdbc:sqlite::memory:",
        "jdbc:postgresql://h:x/d",
        "jdbc:postgresql://h/d?unknown=1",
    ],
)
def test_other_urls_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"connection\.url"):
        url.parse(wrong)


def test_a_secret_in_a_wrong_url_is_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        url.parse("jdbc:mysql://h/d?user=u&password=s3cret")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (schemas.STRING, "tab\tline\n\\.", "tab\\tline\\n\\\\."),
        (schemas.INT64, 5, "5"),
        (schemas.FLOAT64, float("-inf"), "-Infinity"),
        (schemas.FLOAT64, 0.1, "0.1"),
        (schemas.BOOLEAN, True, "t"),
        (schemas.BYTES, b"\x00\xff", "\\\\x00ff"),
        (logical.decimal_schema(2), Decimal("1E+2"), "100"),
        (logical.DATE, datetime.date(2020, 1, 2), "2020-01-02"),
        (logical.TIME, datetime.time(1, 2, 3), "01:02:03"),
        (
            logical.TIMESTAMP,
            datetime.datetime(2020, 1, 2, 3, 4, 5, 6000, datetime.UTC),
            "2020-01-02 03:04:05.006000",
        ),
        (array(schemas.OPTIONAL_STRING), ['a"b', None, "\\"], '{"a\\\\"b",NULL,"\\\\\\\\"}'),
        (array(array(schemas.INT32)), [[1, 2], [3]], '{{"1","2"},{"3"}}'),
    ],
)
def test_values_are_written_for_copy(schema: Schema, value: Any, text: str) -> None:
    assert copy_encoder(Column("c", schema, False))(value) == text


def test_a_line_of_copy_has_the_order_and_the_mark_of_a_tombstone() -> None:
    encoders = [copy_encoder(Column("c", schemas.STRING, False))] * 2
    assert copy_line(encoders, 7, True, ["x", None]) == "7\tt\tx\t\\N\n"


def test_what_no_column_takes_is_refused() -> None:
    with pytest.raises(DataError, match="Flatten"):
        copy_encoder(Column("c", map_of(schemas.STRING, schemas.STRING), False))
    with pytest.raises(DataError, match="NUL"):
        copy_encoder(Column("c", schemas.STRING, False))("a\0b")
    with pytest.raises(DataError, match=r"table\.name\.format"):
        PostgresDialect().table("a.b.c")


def test_tables_are_made_with_the_types_of_postgresql() -> None:
    columns = [
        Column("id", schemas.INT32, True),
        Column('a"b', schemas.OPTIONAL_STRING, False),
        Column("n", logical.decimal_schema(2).replace(default=Decimal("1.50")), False),
        Column("tags", array(schemas.STRING, is_optional=True), False),
    ]
    assert PostgresDialect().create_table("s.t", columns) == (
        'CREATE TABLE IF NOT EXISTS "s"."t" ("id" INT NOT NULL, "a""b" TEXT NULL, '
        '"n" DECIMAL DEFAULT 1.50 NOT NULL, "tags" TEXT[] NULL, PRIMARY KEY ("id"))'
    )
