"""Changes that are written as JSON at once are what ``JsonConverter`` would make of them."""

import struct

import pytest

from moldau.connect.connectors.postgres import settings
from moldau.connect.connectors.postgres.changes import CapturedChange, ChangeReader, Record
from moldau.connect.connectors.postgres.pgoutput import Relation
from moldau.connect.connectors.postgres.tables import ColumnFacts, TableFacts
from moldau.connect.connectors.postgres.types import TypeFacts
from moldau.connect.converters.json_converter import JsonConverter
from moldau.record import row_json
from tests.connect.postgres.recorded import NOW_NS, describe, messages

Written = tuple[str, bytes | None, bytes | None, dict[str, object]]

# Type, oid, type modifier, and texts as PostgreSQL prints them; None is null.
COLUMNS: list[tuple[str, int, int, list[str | None]]] = [
    ("int2", 21, -1, ["-32768", "0", None]),
    ("int4", 23, -1, ["2147483647", None, "-1"]),
    ("int8", 20, -1, ["-9223372036854775808", "5", None]),
    ("float8", 701, -1, ["NaN", "1e+300", "0.1"]),
    ("bool", 16, -1, ["t", "f", None]),
    ("text", 25, -1, ['quotes " and \\ and \x0b', "größer 😀", ""]),
    ("numeric", 1700, (12 << 16 | 2) + 4, ["-0.01", "1234567890.12", "NaN"]),
    ("numeric", 1700, (5 << 16 | 0) + 4, ["-12345", "0", None]),
    ("numeric", 1700, -1, ["1.50", "100", "-0.001"]),
    ("timestamptz", 1184, -1, ["2024-02-29 12:34:56.789+00", "infinity", None]),
    ("timestamp", 1114, -1, ["2024-02-29 12:34:56.789012", "0044-03-15 00:00:00 BC", None]),
    ("date", 1082, -1, ["2024-02-29", "-infinity", None]),
    ("bytea", 17, -1, ["\\x00ff10", "\\x", None]),
    ("uuid", 2950, -1, ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None, None]),
    ("jsonb", 3802, -1, ['{"a": [1, "ü"]}', "null", None]),
    ("numeric", 1700, (18 << 16 | 2) + 4, ["-9999999999999999.99", "9007199254740993.00", "-0.00"]),
    ("numeric", 1700, (5 << 16 | 1) + 4, ["-12.8", "12.8", "-1234.5"]),
    ("timestamptz", 1184, 0, ["2024-02-29 12:34:56+00", "10000-01-01 00:00:00+00", None]),
    ("timestamptz", 1184, 3, ["2024-02-29 12:34:56.7+00", "0044-03-15 00:00:00+00 BC", None]),
]


def converters(**options: str) -> tuple[JsonConverter, JsonConverter]:
    keys, values = JsonConverter(), JsonConverter()
    config = {name.replace("_", "."): value for name, value in options.items()}
    keys.configure(config, True)
    values.configure(config, False)
    return keys, values


def written(record: Record, keys: JsonConverter, values: JsonConverter) -> Written:
    topic = record.topic
    if isinstance(record, CapturedChange):
        return topic, record.key, record.value, record.source_offset
    headers = record.headers
    key = keys.from_connect(topic, headers, record.key_schema, record.key)
    value = values.from_connect(topic, headers, record.value_schema, record.value)
    return topic, key, value, record.source_offset


def read(changes: ChangeReader, log: list[tuple[int, bytes]]) -> list[Record]:
    return [record for lsn, data in log for record in changes.read(lsn, data, NOW_NS + lsn)]


@pytest.fixture(params=[True, False], ids=["by plans", "by functions"], autouse=True)
def has_plans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are written by ``row_json``, compiled or not, and by the functions of columns."""
    monkeypatch.setattr(row_json, "IS_COMPILED", request.param)


CONFIG = {"topic.prefix": 'sr"v', "database.dbname": "shop"}
OPTIONS = [{}, {"schemas_enable": "false"}, {"decimal_format": "NUMERIC"}]


@pytest.mark.parametrize("options", OPTIONS, ids=["with schemas", "without", "numeric"])
def test_recorded_changes(options: dict[str, str]) -> None:
    both = converters(**options)
    parsed = settings.parse({**CONFIG, "topic.prefix": "srv"})
    usual = read(ChangeReader(parsed, describe, None), messages())
    quick = read(ChangeReader(parsed, describe, None, json=both), messages())
    assert sum(isinstance(record, CapturedChange) for record in quick) > 3
    assert [written(each, *both) for each in quick] == [written(each, *both) for each in usual]


def _facts(relation: Relation, is_required: bool) -> TableFacts:
    columns = tuple(
        ColumnFacts(column.name, column.type_oid, column.type_modifier, is_required)
        for column in relation.columns
    )
    types = {oid: TypeFacts(oid, name) for name, oid, _, _ in COLUMNS}
    return TableFacts(relation.schema, relation.table, columns, ("c0", "c5"), types)


def _log(row_count: int) -> list[tuple[int, bytes]]:
    """A transaction of inserts and updates of one table."""
    relation = (
        b"R" + struct.pack(">I", 7) + b'pub"lic\0ta\\ble\0d' + struct.pack(">H", len(COLUMNS))
    )
    for place, (_, oid, modifier, _) in enumerate(COLUMNS):
        relation += b"\0" + f"c{place}".encode() + b"\0" + struct.pack(">Ii", oid, modifier)
    log = [(100, b"B" + struct.pack(">QqI", 500, 12_345_678, 42)), (101, relation)]
    for number in range(row_count):
        row = struct.pack(">H", len(COLUMNS))
        for *_, texts in COLUMNS:
            text = texts[number % len(texts)]
            data = b"" if text is None else text.encode()
            row += b"n" if text is None else b"t" + struct.pack(">I", len(data)) + data
        log.append((200 + number, b"IU"[number % 2 :][:1] + struct.pack(">I", 7) + b"N" + row))
    return log


@pytest.mark.parametrize("options", OPTIONS, ids=["with schemas", "without", "numeric"])
@pytest.mark.parametrize("is_required", [False, True], ids=["nullable", "not null"])
def test_every_type(options: dict[str, str], is_required: bool) -> None:
    both = converters(**options)
    parsed = settings.parse(CONFIG)

    def facts(relation: Relation) -> TableFacts:
        return _facts(relation, is_required)

    usual = read(ChangeReader(parsed, facts, None), _log(6))
    quick = read(ChangeReader(parsed, facts, None, json=both), _log(6))
    assert [type(record) for record in quick] == [CapturedChange] * 6
    assert [written(each, *both) for each in quick] == [written(each, *both) for each in usual]


def test_a_table_without_columns() -> None:
    begin, relation = _log(0)
    relation = (101, relation[1][: relation[1].index(b"d\0") + 1] + struct.pack(">H", 0))
    insert = (200, b"I" + struct.pack(">I", 7) + b"N" + struct.pack(">H", 0))
    both = converters()
    parsed, log = settings.parse(CONFIG), [begin, relation, insert]

    def facts(relation: Relation) -> TableFacts:
        return TableFacts(relation.schema, relation.table)

    usual = read(ChangeReader(parsed, facts, None), log)
    quick = read(ChangeReader(parsed, facts, None, json=both), log)
    assert [type(record) for record in quick] == [CapturedChange]
    assert [written(each, *both) for each in quick] == [written(each, *both) for each in usual]


def test_skipped_operations_stay_skipped() -> None:
    parsed = settings.parse({**CONFIG, "skipped.operations": "u"})
    found = read(
        ChangeReader(parsed, lambda relation: _facts(relation, False), None, json=converters()),
        _log(4),
    )
    assert len(found) == 2


def test_a_value_that_does_not_suit_its_column_is_reported_with_the_column() -> None:
    log = _log(1)
    place = log[-1][1].replace(b"2024-02-29 12:34:56.789012", b"2024-02-29 12:34:5X.789012")
    changes = ChangeReader(
        settings.parse(CONFIG), lambda relation: _facts(relation, False), None, json=converters()
    )
    with pytest.raises(Exception, match=r"c10 has '2024-02-29 12:34:5X"):
        read(changes, [*log[:-1], (log[-1][0], place)])


def test_a_column_that_is_named_twice_is_in_the_key_once() -> None:
    both = converters(schemas_enable="false")
    parsed = settings.parse({**CONFIG, "message.key.columns": 'pub"lic[.].*:c5,c0,c5'})

    def facts(relation: Relation) -> TableFacts:
        return _facts(relation, False)

    quick = read(ChangeReader(parsed, facts, None, json=both), _log(3))
    keys = [key for _, key, _, _ in (written(each, *both) for each in quick)]
    assert keys[2] == b'{"c5":"","c0":null}'
    assert keys == [
        key
        for _, key, _, _ in (
            written(each, *both) for each in read(ChangeReader(parsed, facts, None), _log(3))
        )
    ]
