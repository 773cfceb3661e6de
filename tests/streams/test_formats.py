"""Avro and Protobuf: decoded and encoded in Python, with Spark's types."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from moldau.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from moldau.streams.serdes import Serde

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": ["null", "string"], "default": None},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "before", "type": "State"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
    ],
}
AN_ORDER = {
    "id": 7,
    "customer": None,
    "state": "PAID",
    "before": "NEW",
    "tags": ["a", "b"],
    "counts": {"x": 1},
    "at": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    "price": Decimal("9.90"),
}


def through_spark(spark: "SparkSession", serde: "Serde", data: list[bytes]) -> list[Any]:
    """Decoded and encoded again, where that was possible."""
    from pyspark.sql import functions as F

    raw = spark.createDataFrame([(each,) for each in data], "raw binary")
    decoded = raw.select(serde.decode(F.col("raw")).alias("v"))
    kind = decoded.schema["v"].dataType
    rows = decoded.select("v", serde.encode(F.col("v"), kind).alias("raw")).collect()
    return [(row["v"] and row["v"].asDict(True), row["raw"]) for row in rows]


def test_avro_goes_through_spark_and_back(spark: "SparkSession") -> None:
    pytest.importorskip("fastavro")
    from moldau.streams.avro import Avro

    serde = Avro(ORDER)
    data = serde.dumps(AN_ORDER)
    assert serde.loads(data) == AN_ORDER
    (value, again), *bad = through_spark(spark, serde, [data, data[:-1], data + b"x"])
    assert again == data
    # Spark gives the time of the machine's zone.
    assert value | {"at": value["at"].astimezone(UTC)} == AN_ORDER
    assert bad == [(None, None), (None, None)]


def test_an_avro_schema_may_be_text_with_namespaces() -> None:
    pytest.importorskip("fastavro")
    from moldau.streams.avro import Avro

    side = {"type": "enum", "name": "shop.Side", "symbols": ["LEFT", "RIGHT"]}
    fields = [{"name": "one", "type": side}, {"name": "two", "type": "shop.Side"}]
    serde = Avro(json.dumps({"type": "record", "name": "shop.Pair", "fields": fields}))
    assert serde.expects == "Avro of struct<`one`:string,`two`:string>"
    value = {"one": "LEFT", "two": "RIGHT"}
    assert serde.loads(serde.dumps(value)) == value
    assert Avro("string").loads(Avro('"string"').dumps("ahoy")) == "ahoy"
    assert Avro('["null", "long"]').loads(Avro('["null", "long"]').dumps(7)) == 7


def test_avro_with_the_header_of_a_registry_is_of_one_schema_only() -> None:
    pytest.importorskip("fastavro")
    from moldau.streams.avro import Avro

    framed = Avro("string", schema_id=258)
    assert framed.dumps("ahoy") == b"\x00\x00\x00\x01\x02" + Avro("string").dumps("ahoy")
    assert framed.loads(framed.dumps("ahoy")) == "ahoy"
    assert framed.expects == "Avro of string with schema id 258"
    for other in (Avro("string", schema_id=7).dumps("ahoy"), Avro("string").dumps("ahoy"), b""):
        with pytest.raises(ValueError, match="not Avro with schema id 258"):
            framed.loads(other)
    with pytest.raises(PipelineError, match="schema_id=-1: the id of a registry is"):
        Avro("string", schema_id=-1)


def test_types_of_avro_that_spark_does_not_have_are_refused() -> None:
    pytest.importorskip("fastavro")
    from moldau.streams.avro import Avro

    with pytest.raises(PipelineError, match="has no type in Spark"):
        Avro(["int", "string"])
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}],
    }
    with pytest.raises(PipelineError, match="Node contains itself"):
        Avro(node)
    with pytest.raises(PipelineError, match="not an Avro schema"):
        Avro({"type": "recrod", "name": "Order"})


def test_a_value_that_does_not_fit_the_avro_schema_is_refused() -> None:
    pytest.importorskip("fastavro")
    from moldau.streams.avro import Avro

    with pytest.raises(PipelineError, match="does not fit the Avro schema"):
        Avro(ORDER).dumps({"id": "seven"})


def order_message() -> Any:
    """What protoc would generate, without protoc."""
    from google.protobuf import (
        descriptor_pb2,
        descriptor_pool,
        message_factory,
        timestamp_pb2,
    )

    file = descriptor_pb2.FileDescriptorProto(
        name="shop.proto",
        package="shop",
        syntax="proto3",
        dependency=["google/protobuf/timestamp.proto"],
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    item = file.message_type.add(name="Item")
    item.field.add(name="sku", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    state = file.enum_type.add(name="State")
    state.value.add(name="NEW", number=0)
    state.value.add(name="PAID", number=1)
    order = file.message_type.add(name="Order")
    fields: list[tuple[str, Any, Any, str]] = [
        ("id", kinds.TYPE_UINT64, kinds.LABEL_OPTIONAL, ""),
        ("raw", kinds.TYPE_BYTES, kinds.LABEL_OPTIONAL, ""),
        ("state", kinds.TYPE_ENUM, kinds.LABEL_OPTIONAL, ".shop.State"),
        ("items", kinds.TYPE_MESSAGE, kinds.LABEL_REPEATED, ".shop.Item"),
        ("first", kinds.TYPE_MESSAGE, kinds.LABEL_OPTIONAL, ".shop.Item"),
        ("at", kinds.TYPE_MESSAGE, kinds.LABEL_OPTIONAL, ".google.protobuf.Timestamp"),
        ("counts", kinds.TYPE_MESSAGE, kinds.LABEL_REPEATED, ".shop.Order.CountsEntry"),
    ]
    for number, (name, kind, label, type_name) in enumerate(fields, start=1):
        field = order.field.add(name=name, number=number, type=kind, label=label)
        if type_name:
            field.type_name = type_name
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=kinds.TYPE_INT32, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_protobuf_goes_through_spark_and_back(spark: "SparkSession") -> None:
    pytest.importorskip("google.protobuf")
    from moldau.streams.protobuf import Protobuf

    serde = Protobuf(order_message())
    order = {
        "id": 2**64 - 1,
        "raw": b"\x00",
        "state": "PAID",
        "items": [{"sku": "x"}, {"sku": ""}],
        "first": None,
        "at": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        "counts": {"a": 1},
    }
    data = serde.dumps(order)
    (value, again), bad = through_spark(spark, serde, [data, b"\xff\xff"])
    assert again == data
    assert value | {"at": value["at"].astimezone(UTC)} == order
    assert bad == (None, None)


def test_what_is_no_message_is_refused() -> None:
    pytest.importorskip("google.protobuf")
    from moldau.streams.protobuf import Protobuf

    with pytest.raises(PipelineError, match="is not a class that protoc generated"):
        Protobuf(dict)
    with pytest.raises(PipelineError, match="it has no field colour"):
        Protobuf(order_message()).dumps({"colour": "red"})
