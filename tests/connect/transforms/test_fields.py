"""Transforms that take, add, rename, mask, nest and flatten fields."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data import logical, schema
from moldau.connect.data.errors import ConnectError, DataError, SchemaBuilderError
from moldau.connect.data.record import SourceRecord
from moldau.connect.data.schema import Schema, Type, array, map_of, struct
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, Int8, Int32
from tests.connect.transforms.making import changed, record, transform

CITY = struct("City", {"name": schema.STRING, "zip": schema.OPTIONAL_INT32})
ORDER = struct("Order", {"id": schema.INT64, "city": CITY, "tags": array(schema.STRING)}, version=2)


def order() -> Struct:
    city = Struct(CITY, {"name": "Basel"})
    return Struct(ORDER, {"id": 7, "city": city, "tags": ["a"]})


def test_a_field_is_extracted_by_name_or_path() -> None:
    result = transform("ExtractField$Value", field="id").apply(record(order()))
    assert result is not None
    assert (result.value_schema, result.value) == (schema.INT64, 7)
    by_path = {"field_syntax_version": "v2"}
    assert (
        changed(transform("ExtractField$Value", field="city.name", **by_path), order()) == "Basel"
    )
    assert (
        changed(transform("ExtractField$Value", field="`a.b`.c", **by_path), {"a.b": {"c": 1}}) == 1
    )
    assert changed(transform("ExtractField$Value", field="a.b"), {"a.b": 2}) == 2
    assert changed(transform("ExtractField$Value", field="a.b", **by_path), {"a": None}) is None


def test_a_field_that_no_schema_has_is_an_error_of_kafkas_class() -> None:
    with pytest.raises(ConnectError, match="has no field nothing") as caught:
        transform("ExtractField$Value", field="nothing").apply(record(order()))
    assert caught.value.java_class == "java.lang.IllegalArgumentException"
    with pytest.raises(DataError, match="has no fields, only STRUCT has"):
        made = transform("ExtractField$Value", field="id.x", field_syntax_version="V2")
        made.apply(record(order()))


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a.b", ["a", "b"]),
        ("`a.b`.c", ["a.b", "c"]),
        ("`a`b`.c", ["a`b", "c"]),
        (r"`a\`.b`.c", ["a`.b", "c"]),
        ("a.", ["a", ""]),
        ("a..b", ["a", "", "b"]),
        ("", []),
    ],
)
def test_paths_are_split_at_dots_outside_backticks(path: str, steps: list[str]) -> None:
    from moldau.connect.transforms.field_path import FieldPath

    assert FieldPath(path, "V2").steps == steps


def test_an_open_backtick_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"path a\.`b opens a backtick at position 2"):
        transform("ExtractField$Value", field="a.`b", field_syntax_version="V2")


def test_nested_structs_and_maps_are_flattened() -> None:
    made = transform("Flatten$Value", delimiter="_")
    assert changed(made, order()) == {
        "id": 7,
        "city_name": "Basel",
        "city_zip": None,
        "tags": ["a"],
    }
    assert changed(made, {"a": {"b": {"c": 1}, "d": None}}) == {"a_b_c": 1, "a_d": None}


def test_a_field_of_an_optional_struct_is_optional_when_flat() -> None:
    outer = struct(None, {"city": CITY.optional()})
    result = transform("Flatten$Value").apply(record(Struct(outer)))
    assert result is not None
    flat = struct(None, {"city.name": schema.OPTIONAL_STRING, "city.zip": schema.OPTIONAL_INT32})
    assert (result.value_schema, result.value.values) == (flat, [None, None])


def test_a_map_in_a_struct_cannot_be_flattened() -> None:
    outer = struct(None, {"m": map_of(schema.STRING, schema.INT32)})
    with pytest.raises(DataError, match="cannot flatten m: it is a MAP"):
        transform("Flatten$Value").apply(record(Struct(outer, {"m": {}})))


def test_a_value_is_wrapped_in_a_field() -> None:
    assert changed(transform("HoistField$Value", field="line"), "text") == {"line": "text"}
    result = transform("HoistField$Key", field="id").apply(record(key=5, key_schema=schema.INT32))
    assert result is not None
    assert result.key == Struct(struct(None, {"id": schema.INT32}), {"id": 5})


def test_metadata_and_a_fixed_text_are_inserted_in_kafkas_order() -> None:
    made = transform(
        "InsertField$Value",
        topic_field="topic",
        partition_field="partition!",
        offset_field="offset?",
        timestamp_field="when",
        static_field="source",
        static_value="shop",
    )
    old = struct("V", {"a": schema.INT32})
    result = made.apply(record(Struct(old, {"a": 1})))
    assert result is not None
    when = datetime.datetime(2023, 11, 14, 22, 13, 20, 123_000, datetime.UTC)
    assert result.value.values == [1, "orders", 3, 42, when, "shop"]
    assert [field.schema for field in result.value.schema.struct_fields] == [
        schema.INT32,
        schema.OPTIONAL_STRING,
        schema.INT32,
        schema.OPTIONAL_INT64,
        logical.OPTIONAL_TIMESTAMP,
        schema.OPTIONAL_STRING,
    ]
    plain = changed(made, {"a": 1})
    assert plain["when"] == 1_700_000_000_123
    assert type(plain["partition"]) is Int32


def test_only_records_of_sinks_have_an_offset_to_insert() -> None:
    made = transform("InsertField$Value", offset_field="offset")
    with pytest.raises(DataError, match=r"offset\.field is for sinks"):
        made.apply(SourceRecord("t", value={}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"set topic\.field or another"),
        (
            {"static_field": "s"},
            "static.value cannot be null: it is the value of static.field=s",
        ),
    ],
)
def test_an_insertion_must_be_complete(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        transform("InsertField$Value", **options)


def test_an_inserted_field_must_have_a_new_name() -> None:
    made = transform("InsertField$Value", topic_field="id")
    with pytest.raises(SchemaBuilderError, match="Two fields have the name id"):
        made.apply(record(order()))


@pytest.mark.parametrize(
    ("value", "zero"),
    [
        (True, False),
        (Int8(5), Int8(0)),
        (5, 0),
        (Float32(1.5), Float32(0)),
        ("secret", ""),
        ([1], []),
        ({"a": 1}, {}),
        (Decimal("1.50"), Decimal(0)),
        (datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), logical.EPOCH),
        (None, None),
    ],
)
def test_a_masked_field_keeps_its_type(value: Any, zero: Any) -> None:
    masked = changed(transform("MaskField$Value", fields="a"), {"a": value, "b": value})
    assert masked == {"a": zero, "b": value}
    assert type(masked["a"]) is type(zero)


def test_a_replacement_is_converted_to_the_type_of_the_field() -> None:
    made = transform("MaskField$Value", fields="a,b,c,d", replacement="300")
    old = struct(None, {"a": schema.INT8, "b": schema.STRING, "c": schema.FLOAT64})
    assert changed(made, Struct(old, {"a": 1, "b": "x", "c": 0.5})) == {
        "a": 44,
        "b": "300",
        "c": 300,
    }
    assert changed(made, {"d": 1}) == {"d": 300, "a": None, "b": None, "c": None}
    with pytest.raises(DataError, match="replacement=300 cannot mask a value of BOOLEAN"):
        made.apply(record({"a": True}))
    with pytest.raises(DataError, match="replacement=x cannot mask a number"):
        transform("MaskField$Value", fields="a", replacement="x").apply(record({"a": 1}))


def test_bytes_cannot_be_masked() -> None:
    with pytest.raises(DataError, match="cannot mask a value of BYTES"):
        transform("MaskField$Value", fields="a").apply(record({"a": b"x"}))


def test_fields_are_left_out_kept_and_renamed() -> None:
    made = transform("ReplaceField$Value", exclude="tags", renames="id:number,city:town")
    result = made.apply(record(order()))
    assert result is not None
    assert result.value_schema == struct("Order", {"number": schema.INT64, "town": CITY}, version=2)
    assert result.value.values[0] == 7
    only = transform("ReplaceField$Value", include="a,b", exclude="b", renames="a:b")
    assert changed(only, {"a": 1, "b": 2, "c": 3}) == {"b": 1}


def test_a_rename_to_a_name_that_is_there_fails_as_in_kafka() -> None:
    made = transform("ReplaceField$Value", renames="missing:id")
    with pytest.raises(DataError, match="The schema has no field missing"):
        made.apply(record(order()))


def test_a_default_replaces_null_unless_told_otherwise() -> None:
    old = struct(None, {"a": Schema(Type.INT32, True, 5), "b": schema.INT32})
    value = Struct(old, {"b": 1})
    assert changed(transform("ReplaceField$Value"), value) == {"a": 5, "b": 1}
    kept = transform("ReplaceField$Value", replace_null_with_default="false")
    assert changed(kept, value) == {"a": None, "b": 1}


def test_a_wrong_rename_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"renames cannot be \[a\]: write a as old:new"):
        transform("ReplaceField$Value", renames="a")


def test_the_key_is_made_of_fields_of_the_value() -> None:
    result = transform("ValueToKey", fields="city,id").apply(record(order()))
    assert result is not None
    assert result.key_schema == struct(None, {"city": CITY, "id": schema.INT64})
    assert result.key.values == [order().get("city"), 7]
    plain = transform("ValueToKey", fields="a,x").apply(record({"a": 1, "b": 2}))
    assert plain is not None
    assert plain.key == {"a": 1, "x": None}
    with pytest.raises(DataError, match="The value has no field x"):
        transform("ValueToKey", fields="id,x").apply(record(order()))


def test_a_schema_gets_another_name_and_version() -> None:
    made = transform("SetSchemaMetadata$Value", schema_name="Purchase", schema_version="9")
    result = made.apply(record(order()))
    assert result is not None
    assert result.value_schema == ORDER.replace(name="Purchase", version=9)
    assert result.value == Struct.of(result.value_schema, order().values)
    tombstone = record(None)
    assert made.apply(tombstone) is tombstone
    with pytest.raises(DataError, match="needs a schema, and the record has none"):
        made.apply(record({"a": 1}))
    with pytest.raises(ConfigError, match=r"give schema\.name or schema\.version"):
        transform("SetSchemaMetadata$Value")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("InsertField$Value", {"topic_field": "t"}),
        ("ReplaceField$Value", {}),
        ("MaskField$Value", {"fields": "a"}),
        ("ValueToKey", {"fields": "a"}),
        ("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "copy"}),
    ],
)
def test_a_value_without_fields_is_refused_with_its_type(
    name: str, options: dict[str, str]
) -> None:
    made = transform(name, **options)
    needs = f"{name.removesuffix('$Value')} needs a"
    with pytest.raises(DataError) as caught:
        made.apply(record("text"))
    assert str(caught.value).endswith(f"{needs} map of fields, not a value of STRING")
    with pytest.raises(DataError) as caught:
        made.apply(record(5, schema.INT32))
    assert str(caught.value).endswith(f"{needs} struct, not a value of INT32")


def test_many_schemas_do_not_fill_the_memory() -> None:
    made = transform("ReplaceField$Value", exclude="b")
    for version in range(100):
        old = struct("V", {"a": schema.INT32, "b": schema.INT32}, version=version)
        assert changed(made, Struct(old, {"a": version, "b": 0})) == {"a": version}
    assert len(made._plans._made) == 16  # type: ignore[attr-defined]
