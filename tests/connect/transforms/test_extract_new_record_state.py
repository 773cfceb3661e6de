"""Rows out of Debezium's envelopes."""

from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data import schema as schemas
from moldau.connect.data.headers import Header
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import struct
from moldau.connect.data.struct import Struct
from moldau.connect.plugins import Plugins
from moldau.connect.transforms.base import Transform
from tests.connect.transforms.making import plain, record

ROW = struct(
    "srv.public.t.Value",
    {"id": schemas.INT32, "v": schemas.OPTIONAL_STRING.replace(default="none")},
    is_optional=True,
)
SOURCE = struct("Source", {"table": schemas.STRING, "lsn": schemas.OPTIONAL_INT64})
TRANSACTION = struct("event.block", {"id": schemas.STRING}, is_optional=True)
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
OLD, NEW = {"id": 1, "v": "old"}, {"id": 1, "v": "new"}


def unwrap(**options: str) -> Transform:
    made: Transform = Plugins().transform("io.debezium.transforms.ExtractNewRecordState")()
    made.configure({name.replace("_", "."): value for name, value in options.items()})
    return made


def change(op: str, before: Any = None, after: Any = None) -> ConnectRecord:
    rows = {name: Struct(ROW, row) for name, row in (("before", before), ("after", after)) if row}
    source = Struct(SOURCE, {"table": "t", "lsn": 17})
    return record(Struct(ENVELOPE, {**rows, "source": source, "op": op, "ts_ms": 5}))


INSERTED = change("c", after=NEW)
UPDATED = change("u", OLD, NEW)
DELETED = change("d", before=OLD)
TRUNCATED = change("t")
TOMBSTONE = record(None)


def values(made: Transform, *records: ConnectRecord) -> list[Any]:
    """What becomes of each record: a row, "tombstone", or None if it is dropped."""
    results = [made.apply(each) for each in records]
    return [each and ("tombstone" if each.value is None else plain(each.value)) for each in results]


def test_a_change_becomes_the_row_after_it() -> None:
    assert values(unwrap(), INSERTED, UPDATED, TRUNCATED) == [NEW, NEW, None]
    result = unwrap().apply(UPDATED)
    assert result is not None
    assert result.value_schema == ROW.replace(is_optional=False)


@pytest.mark.parametrize(
    ("mode", "updated", "deleted", "tombstone"),
    [
        ("tombstone", NEW, "tombstone", None),
        ("drop", NEW, None, None),
        ("rewrite", NEW | {"__deleted": "false"}, OLD | {"__deleted": "true"}, None),
        (
            "rewrite-with-tombstone",
            NEW | {"__deleted": "false"},
            OLD | {"__deleted": "true"},
            "tombstone",
        ),
        ("delete-to-tombstone", NEW, "tombstone", None),
    ],
)
def test_deletions_are_handled_as_the_mode_says(
    mode: str, updated: Any, deleted: Any, tombstone: Any
) -> None:
    made = unwrap(delete_tombstone_handling_mode=mode)
    assert values(made, UPDATED, DELETED, TOMBSTONE) == [updated, deleted, tombstone]


def test_fields_of_the_envelope_are_added() -> None:
    made = unwrap(add_fields="op,source.lsn,table:from,id,missing")
    added = {"__op": "u", "__source_lsn": 17, "__from": "t", "__id": None}
    assert values(made, UPDATED) == [NEW | added]
    result = made.apply(UPDATED)
    assert result is not None
    assert result.value_schema is not None
    assert result.value_schema.fields_by_name["__op"].schema.is_optional
    prefixed = unwrap(add_fields="op", add_fields_prefix="")
    assert values(prefixed, UPDATED) == [NEW | {"op": "u"}]


def test_fields_of_the_envelope_become_headers() -> None:
    made = unwrap(add_headers="op,lsn", delete_tombstone_handling_mode="rewrite-with-tombstone")
    result = made.apply(UPDATED)
    assert result is not None
    assert result.headers == [
        Header("__op", schemas.OPTIONAL_STRING, "u"),
        Header("__lsn", schemas.OPTIONAL_INT64, 17),
    ]
    tombstone = made.apply(TOMBSTONE)
    assert tombstone is not None
    assert tombstone.headers == [Header("__op", schemas.STRING, "d")]


def test_a_null_becomes_the_default_of_its_column_unless_told_otherwise() -> None:
    bare = change("c", after={"id": 2, "v": None})
    options = {"delete_tombstone_handling_mode": "rewrite"}
    assert values(unwrap(**options), bare) == [{"id": 2, "v": "none", "__deleted": "false"}]
    made = unwrap(**options, replace_null_with_default="false")
    assert values(made, bare) == [{"id": 2, "v": None, "__deleted": "false"}]


def test_a_field_of_the_row_names_the_topic() -> None:
    result = unwrap(route_by_field="v").apply(UPDATED)
    assert result is not None
    assert result.topic == "new"


@pytest.mark.parametrize("other", [record({"after": 1}), record(Struct(SOURCE, {"table": "t"}))])
def test_what_is_no_envelope_goes_on_as_it_is(other: ConnectRecord) -> None:
    assert unwrap(add_fields="op").apply(other) is other


@pytest.mark.parametrize(
    "options",
    [
        {"delete_tombstone_handling_mode": "keep"},
        {"add_fields": "a.b.c"},
        {"add_fields": "op:"},
        {"drop_fields_header_name": "x"},
    ],
)
def test_options_that_are_wrong_or_not_supported_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        unwrap(**options)
