"""The messages in ``captured.json``, and the catalog of the database that sent them."""

import json
from pathlib import Path
from typing import Any

from moldau.connect.connectors.postgres import settings
from moldau.connect.connectors.postgres.changes import ChangeReader
from moldau.connect.connectors.postgres.pgoutput import Relation
from moldau.connect.connectors.postgres.position import Position
from moldau.connect.connectors.postgres.tables import ColumnFacts, TableFacts
from moldau.connect.connectors.postgres.types import TypeFacts
from moldau.connect.data.record import SourceRecord
from moldau.connect.data.struct import Struct

HERE = Path(__file__).parent
NOW_NS = 1_700_000_000_123_456_789
MOOD = 16386

TYPES = {
    23: TypeFacts(23, "int4"),
    25: TypeFacts(25, "text"),
    1700: TypeFacts(1700, "numeric"),
    MOOD: TypeFacts(MOOD, "mood", "e", labels=("sad", "ok", "happy")),
}


def messages() -> list[tuple[int, bytes]]:
    """What the log has: (lsn, message)."""
    stored = json.loads((HERE / "captured.json").read_text())
    return [(lsn, bytes.fromhex(data)) for lsn, data in stored["messages"]]


def describe(relation: Relation) -> TableFacts:
    """The catalog."""
    defaults = {"balance": "1.5"}
    required = {"id", "name"}
    columns = tuple(
        ColumnFacts(name, oid, modifier, name in required, defaults.get(name))
        for name, oid, modifier, _ in relation.columns
    )
    key = ("id",) if relation.table == "customers" else ()
    return TableFacts(relation.schema, relation.table, columns, key, TYPES)


def reader(position: Position | None = None, **options: str) -> ChangeReader:
    config = {"topic.prefix": "srv", "database.dbname": "shop"}
    config.update({name.replace("_", "."): value for name, value in options.items()})
    return ChangeReader(settings.parse(config), describe, position)


def read_all(
    changes: ChangeReader, log: list[tuple[int, bytes]] | None = None
) -> list[SourceRecord]:
    found: list[SourceRecord] = []
    for lsn, data in messages() if log is None else log:
        found += changes.read(lsn, data, NOW_NS)
    return found


def plain(value: Any) -> Any:
    """A struct as a dict, without what is null."""
    if isinstance(value, Struct):
        named = zip(value.schema.struct_fields, value.values, strict=True)
        return {field.name: plain(inner) for field, inner in named if inner is not None}
    return value


def line(record: SourceRecord) -> str:
    """A record in one line of a transcript."""
    topic = record.topic.removeprefix("srv.")
    key = plain(record.key)
    if record.value is None:
        return f"{topic} {key} tombstone"
    value = plain(record.value)
    rows = {name: value[name] for name in ("before", "after", "message") if name in value}
    for row in rows.values():
        if "photo" in row and len(row["photo"]) > 100:
            row["photo"] = len(row["photo"])
    marks = [f"{header.name}={plain(header.value)}" for header in record.headers]
    return " ".join([topic, str(key), value["op"], str(rows), *marks])
