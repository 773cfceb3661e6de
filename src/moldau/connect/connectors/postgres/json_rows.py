"""Changes as JSON, written straight from the texts that PostgreSQL sends.

Where ``JsonConverter`` writes the records and no transform looks at them, nobody needs structs: a
function per table, put together once, goes from the texts of a row to the very bytes that the
converter would write. It calls the converter's own writers for all but the most frequent types, so
what a value looks like is decided in one place. If ``row_json`` is compiled, the functions are only
for the types that it does not know. A row that cannot be written so (an UNCHANGED value, one that
does not suit its column) goes the usual way.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from moldau.connect.connectors.postgres import envelope
from moldau.connect.connectors.postgres.pgoutput import NEW_ROW_AT, UNCHANGED, Begin, Row, new_row
from moldau.connect.connectors.postgres.tables import Table, TableField
from moldau.connect.connectors.postgres.values import zoned_timestamp
from moldau.connect.converters.json_converter import JsonConverter
from moldau.connect.converters.json_writing import string_text
from moldau.connect.data.logical import DECIMAL_NAME, int_to_bytes, scale_of
from moldau.connect.data.schema import Schema, Type
from moldau.record import row_json
from moldau.version import VERSION

_INTEGERS: Final = (Type.INT16, Type.INT32, Type.INT64)
# Beyond that no number is short enough for ``row_json``.
_MAX_SCALE: Final = 18
_Write = Callable[[Any], str]


class JsonTable:
    """Writes the changes of one table, with the converters of keys and of values."""

    def __init__(
        self,
        table: Table,
        keys: JsonConverter,
        values: JsonConverter,
        server: str,
        database: str,
    ) -> None:
        self.topic = table.topic
        self._row = _row_writer(table.fields, values)
        self._key: Callable[[Row], bytes] | None = None
        if table.key_schema is not None:
            self._key = _key_writer(table, keys)
        start, self._end = values.around(table.envelope_schema)
        # With a schema this is most of the record: it is not encoded again and again.
        self._start = f'{start}{{"before":null,"after":'.encode()
        # Interpreted, ``row_json`` is slower than the functions.
        self._has_plans = row_json.IS_COMPILED
        if self._has_plans:
            self._row_plan = _plan(table.fields, values, self._start)
            self._key_plan: row_json.RowPlan | None = None
            if table.key_schema is not None:
                start, end = keys.around(table.key_schema)
                fields = [table.fields[place] for place in table.key_places]
                self._key_plan, self._key_end = _plan(fields, keys, start.encode()), end.encode()
        name, base = string_text(server), string_text(database)
        connector = string_text(envelope.CONNECTOR)
        self._source = (
            f'{{"version":{string_text(VERSION)},"connector":{connector},"name":{name},"ts_ms":'
        )
        self._database = f',"snapshot":"false","db":{base},"sequence":"['
        self._place = (
            f',"schema":{string_text(table.schema_name)},"table":{string_text(table.name)},"txId":'
        )
        # What the changes of a transaction, and those read at a time, have in common.
        self._transaction: tuple[Begin | None, int | None] = (None, None)
        self._before_lsn = self._after_lsn = ""
        self._now_ns = -1
        self._now = ""

    def written(
        self, op: str, data: bytes, begin: Begin, commit_lsn: int | None, lsn: int, now_ns: int
    ) -> tuple[bytes | None, bytes] | None:
        """Key and value of an insert (``op`` c) or update (u) of which the log has only the new
        row; None if they cannot be written here.

        Raises what the functions of columns raise.
        """
        tail = self._after_row(op, begin, commit_lsn, lsn, now_ns)
        if not self._has_plans:
            row = new_row(data)
            if UNCHANGED in row:
                return None
            key = None if self._key is None else self._key(row)
            return key, self._start + f"{self._row(row)}{tail}".encode()
        key = None
        if self._key_plan is not None:
            key = row_json.write_row(data, NEW_ROW_AT, self._key_plan, self._key_end)
            if key is None:
                return None
        value = row_json.write_row(data, NEW_ROW_AT, self._row_plan, tail.encode())
        return None if value is None else (key, value)

    def _after_row(
        self, op: str, begin: Begin, commit_lsn: int | None, lsn: int, now_ns: int
    ) -> str:
        if (begin, commit_lsn) != self._transaction:
            self._begin(begin, commit_lsn)
        if now_ns != self._now_ns:
            self._now_ns = now_ns
            times = f'"ts_ms":{now_ns // 1_000_000},"ts_us":{now_ns // 1000},"ts_ns":{now_ns}'
            self._now = f'",{times}}}{self._end}'
        return (
            f',"source":{self._before_lsn}{lsn}{self._after_lsn}{lsn},"xmin":null}},'
            f'"transaction":null,"op":"{op}{self._now}'
        )

    def _begin(self, begin: Begin, commit_lsn: int | None) -> None:
        self._transaction = begin, commit_lsn
        time_us = begin.commit_us
        commit = "null" if commit_lsn is None else f'\\"{commit_lsn}\\"'
        self._before_lsn = f'{self._source}{time_us // 1000}{self._database}{commit},\\"'
        self._after_lsn = (
            f'\\"]","ts_us":{time_us},"ts_ns":{time_us * 1000}{self._place}{begin.xid},"lsn":'
        )


def _row_writer(fields: tuple[TableField, ...], values: JsonConverter) -> Callable[[Row], str]:
    """The function from the texts of a row to its JSON."""
    return _generated([(field, field.name) for field in fields], values)


def _key_writer(table: Table, keys: JsonConverter) -> Callable[[Row], bytes]:
    assert table.key_schema is not None
    fields = [table.fields[place] for place in table.key_places]
    write = _generated([(field, field.name) for field in fields], keys)
    start, end = keys.around(table.key_schema)
    return lambda texts: f"{start}{write(texts)}{end}".encode()


def _generated(
    fields: list[tuple[TableField, str]], converter: JsonConverter
) -> Callable[[Row], str]:
    """Only numbers of fields and columns are put into the source, as in ``json_structs``."""
    named: dict[str, Any] = {}
    parts = []
    for at, (field, name) in enumerate(fields):
        named[f"p{at}"] = f"{',' if at else '{'}{string_text(name)}:"
        named[f"n{at}"] = _null(field, converter)
        text = f"texts[{field.place}]"
        written = text
        if not _is_plain_integer(field):
            named[f"w{at}"] = _text_writer(field, converter)
            written = f"w{at}({text})"
        parts.append(f"{{p{at}}}{{n{at} if {text} is None else {written}}}")
    body = f'f"{"".join(parts)}}}}}"' if fields else '"{}"'
    exec(f"def write(texts):\n    return {body}", named)
    write: Callable[[Row], str] = named["write"]
    return write


def _plan(fields: Iterable[TableField], converter: JsonConverter, start: bytes) -> row_json.RowPlan:
    """How to write these fields, after ``start``."""
    planned = []
    writers = []
    comma = b""
    for field in fields:
        before = comma + string_text(field.name).encode() + b":"
        kind, digits = _native(field, converter)
        planned.append((field.place, kind, digits, before, _null(field, converter).encode()))
        is_unchanged = kind == row_json.UNCHANGED
        writers.append(str if is_unchanged else _text_writer(field, converter))
        comma = b","
    return row_json.RowPlan(start + b"{", planned, writers)


def _native(field: TableField, converter: JsonConverter) -> tuple[int, int]:
    """The type of ``row_json`` that writes as ``_text_writer`` does, and a number of digits."""
    convert, schema = field.kind.convert, field.schema
    if _is_plain_integer(field):
        return row_json.UNCHANGED, 0
    if schema.type is Type.STRING and convert is str:
        return row_json.STRING, 0
    if schema.name == DECIMAL_NAME and converter.writes_base64:
        scale = scale_of(schema)
        return (row_json.DECIMAL, scale) if 0 < scale < _MAX_SCALE else (row_json.OTHER, 0)
    if isinstance(convert, partial) and convert.func is zoned_timestamp:
        return row_json.MOMENT, convert.keywords["digits"]
    if schema.type is Type.BOOLEAN:
        return row_json.BOOLEAN, 0
    return row_json.OTHER, 0


def _null(field: TableField, converter: JsonConverter) -> str:
    return converter.writer_of(field.schema)(field.missing)


def _is_plain_integer(field: TableField) -> bool:
    """Whether PostgreSQL prints a value as JSON has it."""
    return field.kind.convert is int and field.schema.type in _INTEGERS


def _text_writer(field: TableField, converter: JsonConverter) -> _Write:
    write = converter.writer_of(field.schema)
    convert, missing = field.kind.convert, field.missing
    if field.schema.type is Type.STRING and convert is str:
        return string_text
    if field.schema.name == DECIMAL_NAME and converter.writes_base64:
        return _decimal_writer(field.schema, convert, write, missing)

    def written(text: str) -> str:
        value = convert(text)
        return write(missing if value is None else value)

    return written


def _decimal_writer(
    schema: Schema, convert: Callable[[Any], Any], write: _Write, missing: Any
) -> _Write:
    """``12.50`` with two digits after the point, as in all values of such a column, is 1250."""
    scale = scale_of(schema)

    def written(text: str) -> str:
        if scale > 0 and text[-scale - 1 : -scale] == "." and text[-scale:].isdigit():
            digits = int(text[: -scale - 1] + text[-scale:])
            return f'"{b64encode(int_to_bytes(digits)).decode("ascii")}"'
        value = convert(text)
        return write(missing if value is None else value)

    return written
