"""Random changes through Debezium's ExtractNewRecordState and through ours: the same comes out."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import ConnectError
from moldau.connect.data.record import ConnectRecord, SinkRecord
from moldau.connect.data.schema import Schema, struct
from moldau.connect.data.struct import Struct
from moldau.connect.plugins import Plugins
from moldau.connect.transforms.base import Transform
from tests.compat.connect_java import call_record, calls, plain_record
from tests.compat.debezium import class_path

NAME = "io.debezium.transforms.ExtractNewRecordState"
RECORDS = 2000
RECORDS_PER_CONFIG = 8
SEED = 16
MODES = ("tombstone", "drop", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
FIELDS = (
    *("op", "ts_ms", "lsn", "table", "source.ts_ms", "transaction.id", "total_order", "nothing"),
    *("op:kind", "source.table:place"),
)
ROW = struct(
    "srv.public.t.Value",
    {
        "id": schemas.INT32,
        "text": schemas.OPTIONAL_STRING.replace(default="none"),
        "number": schemas.OPTIONAL_FLOAT64,
    },
    is_optional=True,
)
SOURCE = struct(
    "io.debezium.connector.postgresql.Source",
    {"ts_ms": schemas.INT64, "table": schemas.STRING, "lsn": schemas.OPTIONAL_INT64},
)
TRANSACTION = struct(
    "event.block", {"id": schemas.STRING, "total_order": schemas.INT64}, is_optional=True
)
ENVELOPE = struct(
    "srv.public.t.Envelope",
    {
        "before": ROW,
        "after": ROW,
        "source": SOURCE,
        "transaction": TRANSACTION,
        "op": schemas.STRING,
        "ts_ms": schemas.OPTIONAL_INT64,
    },
    version=1,
)


def row(rng: random.Random) -> Struct:
    text, number = rng.choice(("a", "b", None)), rng.choice((1.5, None))
    return Struct(ROW, {"id": rng.randrange(9), "text": text, "number": number})


def change(rng: random.Random) -> Struct:
    op = rng.choice("crudt")
    made = Struct(ENVELOPE, {"op": op, "ts_ms": rng.choice((7, None))})
    if op in "cru":
        made.put("after", row(rng))
    if op in "ud":
        made.put("before", row(rng))
    lsn = rng.choice((17, None))
    made.put("source", Struct(SOURCE, {"ts_ms": 5, "table": "t", "lsn": lsn}))
    if rng.random() < 0.5:
        made.put("transaction", Struct(TRANSACTION, {"id": "1:2", "total_order": 3}))
    return made


def record(rng: random.Random) -> ConnectRecord:
    value: Any
    schema: Schema | None
    match rng.randrange(10):
        case 0:
            value, schema = None, rng.choice((None, ENVELOPE.optional()))
        case 1:
            value, schema = {"after": {"id": 1}}, None
        case 2:
            value, schema = row(rng), ROW
        case _:
            value, schema = change(rng), ENVELOPE
    key = rng.choice(("k", None))
    key_schema = schemas.STRING if key else None
    return SinkRecord("srv.public.t", 0, key_schema, key, schema, value, 5, offset=1)


def config(rng: random.Random) -> dict[str, str]:
    made = {}
    if rng.random() < 0.8:
        made["delete.tombstone.handling.mode"] = rng.choice(MODES)
    for name in ("add.fields", "add.headers"):
        if rng.random() < 0.6:
            made[name] = ",".join(rng.sample(FIELDS, rng.randint(1, 4)))
            if rng.random() < 0.3:
                made[f"{name}.prefix"] = rng.choice(("", "_", "x."))
    if rng.random() < 0.2:
        made["route.by.field"] = "text"
    if rng.random() < 0.3:
        made["replace.null.with.default"] = rng.choice(("true", "false"))
    return made


def outcome(made: Transform, each: ConnectRecord) -> dict[str, Any] | None:
    """In the form of the Java program's answers; None for an error."""
    try:
        result = made.apply(each)
    except ConnectError:
        return None
    return {"record": plain_record(result) if result is not None else None}


def test_random_changes_come_out_as_from_debezium(program_dir: Path) -> None:
    rng = random.Random(SEED)
    records = [record(rng) for _ in range(RECORDS)]
    configs = [config(rng) for _ in range(RECORDS // RECORDS_PER_CONFIG)]
    chosen = [configs[index // RECORDS_PER_CONFIG] for index in range(RECORDS)]
    asked = (
        {"op": "transform", "class": NAME, "config": config, "record": call_record(each)}
        for config, each in zip(chosen, records, strict=True)
    )
    answers = calls(program_dir, asked, class_path())
    made: dict[str, Any] = {}
    seen: Counter[str] = Counter()
    for options, each, theirs in zip(chosen, records, answers, strict=True):
        if str(options) not in made:
            made[str(options)] = Plugins().transform(NAME)()
            made[str(options)].configure(options)
        mine = outcome(made[str(options)], each)
        if mine is None:
            assert "error" in theirs, f"{options} of {each.value}: an error, not {theirs}"
            seen["error"] += 1
        else:
            assert mine == theirs, f"{options} of {each.value}"
            seen["dropped" if mine["record"] is None else "equal"] += 1
    assert seen["equal"] > RECORDS / 2, seen
    assert seen["dropped"] > RECORDS / 20, seen
