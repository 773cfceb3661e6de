"""Texts as PostgreSQL prints them, and the values that Debezium 3.4.3 makes of them."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.connect.connectors.postgres import values
from moldau.connect.connectors.postgres.column_type import TypeModes
from moldau.connect.connectors.postgres.defaults import default_value
from moldau.connect.connectors.postgres.snapshot import parse_row
from moldau.connect.connectors.postgres.types import TypeFacts, Types
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Type

NAMES = [
    "int2",
    "int4",
    "int8",
    "float4",
    "float8",
    "bool",
    "numeric",
    "money",
    "bytea",
    "bit",
    "varbit",
    "interval",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "hstore",
    "point",
    "json",
    "jsonb",
    "xml",
    "uuid",
    "ltree",
    "tsvector",
    "text",
    "bpchar",
    "inet",
    "line",
]
OIDS = {name: 1000 + place for place, name in enumerate(NAMES)}
FACTS = {oid: TypeFacts(oid, name) for name, oid in OIDS.items()}
FACTS |= {
    oid + 1000: TypeFacts(oid + 1000, f"_{name}", element_oid=oid) for name, oid in OIDS.items()
}
FACTS[1] = TypeFacts(1, "mood", "e", labels=("sad", "happy"))
FACTS[2] = TypeFacts(2, "_mood", element_oid=1)
FACTS[3] = TypeFacts(3, "posint", "d", base_oid=OIDS["int4"])
FACTS[4] = TypeFacts(4, "price", "d", base_oid=OIDS["numeric"], base_modifier=(5 << 16 | 2) + 4)
LONG_NUMBER = bytes.fromhex("d81be4cdb941364e91c67eeb")
POINT = bytes.fromhex("0101000000000000000000f83f00000000000000c0")


def read(name: str, text: str, modifier: int = -1, **modes: Any) -> Any:
    kind = Types(FACTS, TypeModes(**modes)).column_type(OIDS[name], modifier)
    assert kind is not None
    value = kind.convert(text)
    return value.values if hasattr(value, "values") and not isinstance(value, dict) else value


# Each of these came out of Debezium 3.4.3.Final for the same text.
@pytest.mark.parametrize(
    ("name", "text", "modifier", "value"),
    [
        ("numeric", "123.4500", -1, [2, b"09"]),
        ("numeric", "100", -1, [0, b"d"]),
        ("numeric", "-12345678901234567890.123456789", -1, [9, LONG_NUMBER]),
        ("numeric", "NaN", -1, None),
        ("date", "2020-01-02", -1, 18263),
        ("date", "infinity", -1, -2147472692),
        ("time", "01:02:03.456789", -1, 3723456789),
        ("time", "01:02:03.457", 3, 3723457),
        ("time", "24:00:00", 3, 86400000),
        ("timetz", "01:02:03.5+02", -1, "23:02:03.5Z"),
        ("timetz", "23:59:59.999999-11", -1, "10:59:59.999999Z"),
        ("timestamp", "2021-02-03 04:05:06.789012", -1, 1612325106789012),
        ("timestamp", "0001-01-01 00:00:00", -1, -62135596800000000),
        ("timestamp", "9999-12-31 23:59:59.999999", 6, 253402300799999999),
        ("timestamp", "1969-12-31 23:59:59.999", 3, -1),
        ("timestamp", "infinity", -1, 9223372036825200000),
        ("timestamp", "-infinity", 3, -9223372036832400),
        ("timestamptz", "2021-02-03 03:05:06.789012+00", -1, "2021-02-03T03:05:06.789012Z"),
        ("timestamptz", "1900-01-01 00:00:00+00", -1, "1900-01-01T00:00:00.000000Z"),
        ("timestamptz", "2021-02-03 03:05:06.7+00", 3, "2021-02-03T03:05:06.700Z"),
        ("timestamptz", "0044-03-15 10:00:00+00 BC", 3, "-0043-03-15T10:00:00.000Z"),
        ("timestamptz", "infinity", -1, "infinity"),
        ("interval", "1 year 2 mons 3 days 04:05:06.789", -1, 37091106789000),
        ("interval", "-1 mons -2 days -03:04:05", -1, -2813645000000),
        ("bytea", "\\x00ff10", -1, b"\x00\xff\x10"),
        ("bit", "1", 1, True),
        ("bit", "10110", 5, b"\x16"),
        ("bit", "00000", 5, b""),
        ("varbit", "1010101", 7, b"\x55"),
        ("money", "$1,234.56", -1, Decimal("1234.56")),
        ("money", "-$0.05", -1, Decimal("-0.05")),
        ("point", "(1.5,-2)", -1, [1.5, -2.0, POINT, None]),
        ("hstore", '"a"=>"1", "b"=>NULL, "c d"=>"e\\"f"', -1, '{"a":"1","b":null,"c d":"e\\"f"}'),
        ("bool", "t", -1, True),
        ("bpchar", "c    ", -1, "c    "),
    ],
)  # fmt: skip
def test_a_text_becomes_the_value_that_debezium_makes(
    name: str, text: str, modifier: int, value: Any
) -> None:
    assert read(name, text, modifier) == value


def test_modes_choose_other_values() -> None:
    assert read("numeric", "1.50", decimal="string") == "1.50"
    assert read("numeric", "1.50", decimal="double") == 1.5
    assert str(read("numeric", "NaN", decimal="double")) == "nan"
    assert read("hstore", '"a"=>NULL', hstore="map") == {"a": None}
    assert read("interval", "1 mon -00:00:01.5", interval="string") == "P0Y1M0DT0H0M-1.5S"
    assert read("bytea", "\\xff00", binary="base64") == "/wA="
    assert read("bytea", "\\xff00", binary="hex") == "ff00"
    assert read("timestamp", "2021-02-03 04:05:06.789012", time="connect").microsecond == 789000
    assert read("time", "01:02:03.5", time="connect").hour == 1
    assert read("timestamp", "1970-01-01 00:00:01", time="nanoseconds") == 1_000_000_000
    with pytest.raises(DataError, match=r"time\.precision\.mode=adaptive"):
        read("timestamp", "infinity", time="connect")


def test_types_without_a_schema_are_left_out_unless_asked_for() -> None:
    assert Types(FACTS).column_type(OIDS["line"], -1) is None
    assert Types(FACTS).column_type(OIDS["money"] + 1000, -1) is None
    assert Types(FACTS).column_type(999_999, -1) is None
    assert read("line", "{1,2,3}", includes_unknown=True) == b"{1,2,3}"


def test_domains_are_their_base_types() -> None:
    integer = Types(FACTS).column_type(3, -1)
    price = Types(FACTS).column_type(4, -1)
    assert integer is not None
    assert integer.schema.type is Type.INT32
    assert price is not None
    assert price.schema.parameters == {
        "scale": "2",
        "connect.decimal.precision": "5",
    }


def test_arrays_have_elements_that_may_be_null() -> None:
    kind = Types(FACTS).column_type(OIDS["text"] + 1000, -1)
    assert kind is not None
    assert kind.convert('{a,"b c",NULL,"q\\"x","NULL",""}') == ["a", "b c", None, 'q"x', "NULL", ""]
    numbers = Types(FACTS).column_type(OIDS["int4"] + 1000, -1)
    assert numbers is not None
    assert numbers.convert("{1,NULL}") == [1, None]
    assert numbers.convert("[0:1]={1,2}") == [1, 2]
    # As in Debezium, an array of arrays has nulls.
    assert numbers.convert("{{1,2},{3,4}}") == [None, None]
    moods = Types(FACTS).column_type(2, -1)
    assert moods is not None
    assert moods.schema.value_schema is not None
    assert not moods.schema.value_schema.is_optional
    for wrong in ("{", "{1,2", "1,2", "{1}}", ""):
        with pytest.raises((DataError, IndexError)):
            values.array(wrong)


@pytest.mark.parametrize(
    ("name", "expression", "value"),
    [
        ("int4", "5", 5),
        ("int4", "'-5'::integer", -5),
        ("int4", "nextval('s'::regclass)", 0),
        ("text", "'it''s'::text", "it's"),
        ("bool", "true", True),
        ("numeric", "1.25", None),
        ("date", "'2020-01-02'::date", 18263),
        ("timestamp", "now()", 0),
        ("timestamptz", "CURRENT_TIMESTAMP", "1970-01-01T00:00:00.000000Z"),
        ("uuid", "gen_random_uuid()", "00000000-0000-0000-0000-000000000000"),
        ("jsonb", "'{\"a\": 1}'::jsonb", '{"a": 1}'),
        ("int4", "(1 + 2)", None),
        ("inet", "'::1'::inet", None),
        ("int4", None, None),
    ],
)
def test_defaults_are_constants_or_zeros(name: str, expression: str | None, value: Any) -> None:
    kind = Types(FACTS).column_type(OIDS[name], -1)
    assert kind is not None
    assert default_value(name, False, kind, expression) == value


def test_a_default_has_the_scale_of_its_column() -> None:
    kind = Types(FACTS).column_type(OIDS["numeric"], (5 << 16 | 2) + 4)
    assert kind is not None
    assert str(default_value("numeric", False, kind, "1")) == "1.00"


@given(st.lists(st.none() | st.text(st.characters(exclude_characters="\0", codec="utf-8"))))
def test_rows_of_copy_are_read_as_they_were_written(row: list[str | None]) -> None:
    escapes = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b"})
    parts = ["\\N" if value is None else value.translate(escapes) for value in row]
    written = ("\t".join(parts) + "\n").encode()
    assert parse_row(written) == (row or [""])


@given(st.dictionaries(st.text(min_size=1), st.none() | st.text()))
def test_hstore_is_read_as_it_is_printed(pairs: dict[str, str | None]) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    text = ", ".join(
        f"{quoted(key)}=>{'NULL' if value is None else quoted(value)}"
        for key, value in pairs.items()
    )
    assert values.hstore(text) == pairs
