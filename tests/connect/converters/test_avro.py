"""The Avro converter against a registry over HTTP."""

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.converters.avro import AvroConverter
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.logical import DATE, OPTIONAL_TIMESTAMP, TIME, TIMESTAMP, decimal_schema
from moldau.connect.data.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    Schema,
    Type,
    array,
    map_of,
    struct,
)
from moldau.connect.data.struct import Struct, with_default
from moldau.connect.data.values import Float32, Int32
from tests.compat.connect_java import plain_schema, plain_value
from tests.compat.connect_random import Random
from tests.schema_registry import FakeRegistry


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry() as running:
        yield running


def converter(registry: FakeRegistry, *, is_key: bool = False, **config: str) -> AvroConverter:
    made = AvroConverter()
    named = {name.replace("_", "."): value for name, value in config.items()}
    made.configure({"schema.registry.url": registry.url} | named, is_key)
    return made


def written(made: AvroConverter, schema: Schema | None, value: Any) -> bytes:
    data = made.from_connect("orders", (), schema, value)
    assert data is not None
    return data


ORDER = struct(
    "com.example.Order",
    {"id": INT64, "name": OPTIONAL_STRING, "price": decimal_schema(2), "at": OPTIONAL_TIMESTAMP},
    version=3,
    doc="An order",
)
ORDER_VALUES = {
    "id": 7,
    "name": "Praha",
    "price": Decimal("12.50"),
    "at": datetime.datetime(2026, 11, 17, 16, 0, 0, 5000, datetime.UTC),
}


def test_a_record_is_a_zero_byte_the_id_and_the_value(registry: FakeRegistry) -> None:
    data = written(
        converter(registry),
        struct(None, {"a": INT32}),
        Struct(struct(None, {"a": INT32}), {"a": 3}),
    )
    assert data == b"\0\0\0\0\1\6"
    assert registry.subjects == {"orders-value": [1]}


def test_schemas_of_keys_have_a_subject_of_their_own(registry: FakeRegistry) -> None:
    written(converter(registry, is_key=True), STRING, "k")
    assert registry.subjects == {"orders-key": [1]}
    assert registry.schemas == [{"schema": '"string"'}]


def test_the_registered_schema_is_that_of_confluents_converter(registry: FakeRegistry) -> None:
    written(converter(registry), ORDER, Struct(ORDER, ORDER_VALUES))
    assert json.loads(registry.schemas[0]["schema"]) == {
        "type": "record",
        "name": "Order",
        "namespace": "com.example",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": ["null", "string"], "default": None},
            {
                "name": "price",
                "type": {
                    "type": "bytes",
                    "scale": 2,
                    "precision": 64,
                    "connect.version": 1,
                    "connect.parameters": {"scale": "2"},
                    "connect.name": "org.apache.kafka.connect.data.Decimal",
                    "logicalType": "decimal",
                },
            },
            {
                "name": "at",
                "type": [
                    "null",
                    {
                        "type": "long",
                        "connect.version": 1,
                        "connect.name": "org.apache.kafka.connect.data.Timestamp",
                        "logicalType": "timestamp-millis",
                    },
                ],
                "default": None,
            },
        ],
        "connect.doc": "An order",
        "connect.version": 3,
        "connect.name": "com.example.Order",
    }


def test_what_was_written_is_read_again_with_its_schema(registry: FakeRegistry) -> None:
    value = Struct(ORDER, ORDER_VALUES)
    data = written(converter(registry), ORDER, value)
    assert converter(registry).to_connect("orders", (), data) == (ORDER, value)


EVERY_TYPE = struct(
    "Every",
    {
        "i8": INT8,
        "i16": INT16,
        "f32": FLOAT32,
        "f64": FLOAT64,
        "b": BOOLEAN,
        "bytes": BYTES,
        "date": DATE,
        "time": TIME,
        "list": array(OPTIONAL_STRING),
        "map": map_of(STRING, INT32),
        "odd": map_of(INT32, struct("Inner", {"x": INT32})),
        "inner": struct("Inner", {"x": INT32}, is_optional=True),
        "default": with_default(INT32, 5).replace(parameters=None),
    },
)


def test_every_type_comes_back(registry: FakeRegistry) -> None:
    inner = EVERY_TYPE.fields_by_name["inner"].schema
    value = Struct(
        EVERY_TYPE,
        {
            "i8": -3,
            "i16": 300,
            "f32": 1.5,
            "f64": 0.1,
            "b": True,
            "bytes": b"\0\xff",
            "date": datetime.date(1960, 2, 29),
            "time": datetime.time(23, 59, 59, 999000),
            "list": ["a", None],
            "map": {"k": 1},
            "odd": {1: Struct(struct("Inner", {"x": INT32}), {"x": 2})},
            "inner": Struct(inner, {"x": 3}),
            "default": 6,
        },
    )
    data = written(converter(registry), EVERY_TYPE, value)
    schema, read = converter(registry).to_connect("orders", (), data)
    assert schema is not None
    assert read.to_dict()["odd"][1].to_dict() == {"x": 2}
    assert plain_value(schema, read)[2] == plain_value(EVERY_TYPE, value)[2]
    # Of a schema with a version in the registry the latter shows where there was none.
    assert schema.version == 1


def random_record(draw: Random, number: int) -> Struct:
    """A struct whose names Avro takes; those that a schema has inside may be drawn twice."""
    schemas = [draw.schema(1) for _ in range(3)]
    fields = {f"f{at}": each for at, each in enumerate(schemas) if not has_odd_names(each)}
    schema = struct(f"R{number}", fields, version=1)
    return Struct.of(schema, [draw.value(field.schema) for field in schema.struct_fields])


def has_odd_names(schema: Schema) -> bool:
    """Whether a struct is inside, or a map that Avro has as a list of named records."""
    inner = (schema.key_schema, schema.value_schema)
    if schema.type is Type.STRUCT or (schema.type is Type.MAP and inner[0] != STRING):
        return True
    return any(has_odd_names(each) for each in inner if each is not None)


def test_random_values_come_back(registry: FakeRegistry) -> None:
    draw = Random(7)
    made = converter(registry)
    for number in range(500):
        value = random_record(draw, number)
        schema, read = made.to_connect("orders", (), written(made, value.schema, value))
        # Avro has no way to leave a value to its default.
        assert plain(read) == plain(value)
        assert plain_schema(schema) == plain_schema(value.schema)


def plain(value: Struct) -> list[Any]:
    return [plain_value(field.schema, value.get(field)) for field in value.schema.struct_fields]


@pytest.mark.parametrize(
    ("schema", "datum"),
    [
        (INT32, 5),
        (OPTIONAL_STRING, "x"),
        (array(INT64), [1, 2]),
        (map_of(STRING, BYTES), {"a": b""}),
    ],
)
def test_values_that_are_no_records_come_back(
    registry: FakeRegistry, schema: Schema, datum: Any
) -> None:
    data = written(converter(registry), schema, datum)
    read_schema, read = converter(registry).to_connect("orders", (), data)
    assert read == datum
    assert read_schema.type is schema.type


@pytest.mark.parametrize(
    "value",
    [None, True, b"x", 1.5, Float32(2.5), Int32(3), 2**40, "text", [1, [None]], {"a": {1: "b"}}],
)
def test_values_without_a_schema_come_back(registry: FakeRegistry, value: Any) -> None:
    value = [value]
    data = written(converter(registry), None, value)
    read_schema, read = converter(registry).to_connect("orders", (), data)
    assert read_schema is None
    assert plain_value(None, read) == plain_value(None, value)


UNION = ["null", "int", "long", "string", {"type": "record", "name": "A", "fields": []}]


@pytest.mark.parametrize(
    ("branch", "encoded", "expected"),
    [("int", b"\2\6", 3), ("long", b"\4\6", 3), ("string", b"\6\2x", "x")],
)
def test_a_union_is_a_struct_with_one_field_set(
    registry: FakeRegistry, branch: str, encoded: bytes, expected: Any
) -> None:
    avro = {"type": "record", "name": "U", "fields": [{"name": "u", "type": UNION}]}
    schema_id = registry.add("orders-value", avro)
    data = b"\0" + schema_id.to_bytes(4, "big") + encoded
    made = converter(registry)
    schema, value = made.to_connect("orders", (), data)
    union = value.get("u")
    assert union.schema.name == "io.confluent.connect.avro.Union"
    assert [field.name for field in union.schema.fields] == ["int", "long", "string", "A"]
    assert {f.name: union.get(f) for f in union.schema.fields if union.get(f) is not None} == {
        branch: expected
    }
    # The schema that is registered for it has the same union, and so the same bytes follow the id.
    assert written(made, schema, value)[5:] == encoded


def test_an_enum_is_a_string_with_its_symbols_as_parameters(registry: FakeRegistry) -> None:
    enum = {"type": "enum", "name": "Suit", "namespace": "cards", "symbols": ["HEART", "SPADE"]}
    schema_id = registry.add("orders-value", enum)
    data = b"\0" + schema_id.to_bytes(4, "big") + b"\2"
    schema, value = converter(registry).to_connect("orders", (), data)
    assert value == "SPADE"
    assert schema == STRING.replace(
        name="cards.Suit",
        version=1,
        parameters={
            "io.confluent.connect.avro.Enum": "cards.Suit",
            "io.confluent.connect.avro.Enum.HEART": "HEART",
            "io.confluent.connect.avro.Enum.SPADE": "SPADE",
        },
    )


def test_an_enum_stays_one_with_enhanced_support(registry: FakeRegistry) -> None:
    enum = {"type": "enum", "name": "Suit", "namespace": "cards", "symbols": ["HEART", "SPADE"]}
    schema_id = registry.add("orders-value", enum)
    made = converter(registry, enhanced_avro_schema_support="true")
    schema, value = made.to_connect("orders", (), b"\0" + schema_id.to_bytes(4, "big") + b"\2")
    written(made, schema, value)
    again = json.loads(registry.schemas[-1]["schema"])
    assert (again["type"], again["symbols"]) == ("enum", ["HEART", "SPADE"])


def test_logical_types_that_connect_does_not_know_stay_numbers(registry: FakeRegistry) -> None:
    fields = [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
    ]
    schema_id = registry.add("orders-value", {"type": "record", "name": "T", "fields": fields})
    data = b"\0" + schema_id.to_bytes(4, "big") + b"\6\2x"
    schema, value = converter(registry).to_connect("orders", (), data)
    assert value.to_dict() == {"at": 3, "uuid": "x"}
    assert schema.fields_by_name["at"].schema == INT64


def test_types_of_other_subjects_are_found_by_reference(registry: FakeRegistry) -> None:
    registry.add(
        "money",
        {
            "type": "record",
            "name": "Money",
            "namespace": "n",
            "fields": [{"name": "v", "type": "int"}],
        },
    )
    fields = [{"name": "a", "type": "n.Money"}, {"name": "b", "type": "Money"}]
    order = {"type": "record", "name": "Order", "namespace": "n", "fields": fields}
    reference = {"name": "n.Money", "subject": "money", "version": 1}
    schema_id = registry.add("orders-value", order, references=[reference])
    data = b"\0" + schema_id.to_bytes(4, "big") + b"\2\4"
    _, value = converter(registry).to_connect("orders", (), data)
    assert (value.get("a").get("v"), value.get("b").get("v")) == (1, 2)


def test_a_schema_is_asked_for_once(registry: FakeRegistry) -> None:
    made = converter(registry)
    value = Struct(ORDER, ORDER_VALUES)
    data = [written(made, ORDER, value) for _ in range(3)]
    for each in data:
        made.to_connect("orders", (), each)
    assert registry.requests == [
        ("POST", "/subjects/orders-value/versions"),
        ("GET", "/schemas/ids/1"),
        ("POST", "/subjects/orders-value"),
    ]


def test_the_latest_schema_of_the_subject_can_be_used(registry: FakeRegistry) -> None:
    fields = [
        {"name": "id", "type": "long"},
        {"name": "more", "type": ["null", "int"], "default": None},
    ]
    registry.add("orders-value", {"type": "record", "name": "O", "fields": fields})
    made = converter(registry, auto_register_schemas="false", use_latest_version="true")
    data = written(made, ORDER, Struct(ORDER, ORDER_VALUES))
    assert data == b"\0\0\0\0\1\x0e\0"


def test_a_schema_that_is_not_registered_is_refused_without_registration(
    registry: FakeRegistry,
) -> None:
    made = converter(registry, auto_register_schemas="false")
    with pytest.raises(DataError, match="Schema not found; error code: 40403"):
        written(made, STRING, "x")
    assert registry.schemas == []


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("RecordNameStrategy", "com.example.Order"),
        ("TopicRecordNameStrategy", "orders-com.example.Order"),
    ],
)
def test_subjects_can_have_the_name_of_the_record(
    registry: FakeRegistry, strategy: str, subject: str
) -> None:
    name = f"io.confluent.kafka.serializers.subject.{strategy}"
    made = converter(registry, value_subject_name_strategy=name)
    data = written(made, ORDER, Struct(ORDER, ORDER_VALUES))
    assert list(registry.subjects) == [subject]
    assert made.to_connect("orders", (), data)[1] == Struct(ORDER, ORDER_VALUES)


def test_tombstones_pass(registry: FakeRegistry) -> None:
    made = converter(registry)
    assert made.from_connect("orders", (), None, None) is None
    assert made.from_connect("orders", (), OPTIONAL_STRING, None) is None
    assert made.to_connect("orders", (), None) == (None, None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "was not written with a schema registry"),
        (b'{"a":1}', "was not written with a schema registry"),
        (b"\0\0\0\0\x63\2", "Schema 99 not found; error code: 40403"),
        (b"\0\0\0\0\1", "the record does not match the schema with id 1"),
        (b"\0\0\0\0\2\2", "contains itself"),
        (b"\0\0\0\0\3\2", "is of type PROTOBUF, not Avro"),
        (b"\0\0\0\0\4\2", "the Avro schema is not valid"),
    ],
)
def test_records_that_cannot_be_read_say_why(
    registry: FakeRegistry, data: bytes, message: str
) -> None:
    registry.add("s", "string")
    registry.add(
        "s", {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}
    )
    registry.add("s", "syntax", schemaType="PROTOBUF")
    registry.add("s", "{")
    with pytest.raises(DataError, match="A record of orders cannot be read as Avro") as error:
        converter(registry).to_connect("orders", (), data)
    assert message in str(error.value)


def test_values_that_do_not_suit_their_schema_are_refused(registry: FakeRegistry) -> None:
    for schema, value in ((STRING, 5), (INT32, "x"), (ORDER, {"id": 1}), (INT32, None)):
        with pytest.raises(DataError, match="A record for orders cannot be written as Avro"):
            converter(registry).from_connect("orders", (), schema, value)


def test_an_incompatible_schema_is_an_error_of_the_record(registry: FakeRegistry) -> None:
    registry.incompatible.add("orders-value")
    made = converter(registry)
    written(made, STRING, "x")
    with pytest.raises(DataError, match="incompatible; error code: 409"):
        written(made, INT32, 1)


def test_a_registry_that_is_down_is_asked_again_later(registry: FakeRegistry) -> None:
    made = converter(registry)
    registry.failures = [503]
    with pytest.raises(RetriableError, match="as the test wants; error code: 503"):
        written(made, STRING, "x")
    assert written(made, STRING, "x") == b"\0\0\0\0\1\2x"


def test_a_refused_login_is_no_fault_of_the_record() -> None:
    with FakeRegistry(user="me:secret") as registry:
        with pytest.raises(ConnectError, match=r"basic\.auth\.user\.info") as error:
            written(converter(registry), STRING, "x")
        assert not isinstance(error.value, DataError | RetriableError)
        login = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "me:secret"}
        assert written(converter(registry, **login), STRING, "x") == b"\0\0\0\0\1\2x"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "schema.registry.url"),
        ({"schema.registry.url": "localhost:8081"}, "is not a URL such as http://localhost:8081"),
        (
            {"schema.registry.url": "http://h", "value.subject.name.strategy": "Mine"},
            "choose from io.confluent.kafka.serializers.subject.TopicNameStrategy",
        ),
        (
            {"schema.registry.url": "http://h", "basic.auth.credentials.source": "SASL_INHERIT"},
            "SASL_INHERIT is not supported: use URL or USER_INFO",
        ),
        (
            {
                "schema.registry.url": "http://h",
                "schema.registry.ssl.truststore.location": "/x.jks",
            },
            "convert the trust store to PEM",
        ),
    ],
)
def test_wrong_options_are_named(config: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        AvroConverter().configure(config)
    assert message in str(error.value)


def test_names_that_avro_does_not_take_are_named(registry: FakeRegistry) -> None:
    schema = struct(None, {"created at": TIMESTAMP})
    with pytest.raises(DataError, match="'created at' is no name in Avro"):
        written(converter(registry), schema, Struct(schema))


def test_two_structs_of_one_name_must_be_the_same(registry: FakeRegistry) -> None:
    schema = struct("A", {"x": struct("B", {"i": INT32}), "y": struct("B", {"j": INT32})})
    with pytest.raises(DataError, match="two different schemas have the name B"):
        written(converter(registry), schema, Struct(schema))


def test_unnamed_structs_get_numbers(registry: FakeRegistry) -> None:
    schema = struct(None, {"x": struct(None, {"i": INT32}), "y": struct(None, {"j": INT32})})
    inner = [field.schema for field in schema.struct_fields]
    value = Struct(schema, {"x": Struct(inner[0], {"i": 1}), "y": Struct(inner[1], {"j": 2})})
    data = written(converter(registry), schema, value)
    avro = json.loads(registry.schemas[0]["schema"])
    assert [avro["name"]] + [field["type"]["name"] for field in avro["fields"]] == [
        "ConnectDefault",
        "ConnectDefault2",
        "ConnectDefault3",
    ]
    assert plain_schema(converter(registry).to_connect("orders", (), data)[0])["type"] == "STRUCT"
