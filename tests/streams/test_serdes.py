"""Serdes: Python and Spark produce the same bytes, those of Kafka."""

import struct
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from moldau.spark.errors import PipelineError, one_line
from moldau.streams.serdes import BYTES, DOUBLE, FLOAT, INT, LONG, STRING, Json, Serde
from moldau.streams.stream import Stream
from moldau.streams.testing import Record
from moldau.streams.windowed_keys import WindowedKey
from tests.streams.flows import Flow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES: list[tuple[Serde, str, list[Any]]] = [
    (STRING, "string", ["", "Vltava", "řeka"]),
    (BYTES, "binary", [b"", b"\x00\xff"]),
    (INT, "int", [0, 1, -1, 2**31 - 1, -(2**31)]),
    (LONG, "long", [0, 1, -1, 2**63 - 1, -(2**63)]),
    (FLOAT, "float", [0.0, 1.5, -2.25]),
    (DOUBLE, "double", [0.0, 1.5, -1e300, float("inf")]),
    (Json("a int, b array<string>"), "struct<a:int,b:array<string>>", [{"a": 1, "b": ["x", "y"]}]),
    (Json("long"), "long", [0, -5]),
    (Json("string"), "string", ['say "ahoy"', ""]),
]
NAMES = [f"{serde.name} {kind}" for serde, kind, _ in VALUES]


def test_numbers_are_those_of_kafkas_serializers() -> None:
    assert INT.dumps(-2) == b"\xff\xff\xff\xfe"
    assert LONG.dumps(258) == b"\x00\x00\x00\x00\x00\x00\x01\x02"
    assert FLOAT.dumps(1.5) == struct.pack(">f", 1.5)
    assert DOUBLE.dumps(1.5) == struct.pack(">d", 1.5)


@pytest.mark.parametrize("serde, _, values", VALUES, ids=NAMES)
def test_a_value_survives_the_way_through_bytes_in_python(
    serde: Serde, _: str, values: list[Any]
) -> None:
    assert [serde.loads(serde.dumps(value)) for value in values] == values


def test_spark_and_python_agree_on_every_byte(spark: "SparkSession") -> None:
    from pyspark.sql import functions as F

    # All in one row, for each query takes its time.
    cases = [(serde, kind, value) for serde, kind, values in VALUES for value in [*values, None]]
    types = ", ".join(f"v{at} {kind}" for at, (_, kind, _) in enumerate(cases))
    given = spark.createDataFrame([tuple(value for *_, value in cases)], types)
    encoded = given.select(
        "*",
        *(
            serde.encode(F.col(f"v{at}"), given.schema[f"v{at}"].dataType).alias(f"raw{at}")
            for at, (serde, *_) in enumerate(cases)
        ),
    )
    decoded = (
        serde.decode(F.col(f"raw{at}")).alias(f"back{at}") for at, (serde, *_) in enumerate(cases)
    )
    row = encoded.select("*", *decoded).collect()[0]
    for at, (serde, _, value) in enumerate(cases):
        assert row[f"raw{at}"] == (None if value is None else serde.dumps(value)), (serde, value)
        assert row[f"back{at}"] == row[f"v{at}"], (serde, value)


@pytest.mark.parametrize(
    "serde, data", [(INT, b"123"), (LONG, b""), (DOUBLE, b"1"), (Json(), b"{")]
)
def test_what_is_not_of_the_serde_is_a_value_error_in_python(serde: Serde, data: bytes) -> None:
    with pytest.raises(ValueError):
        serde.loads(data)


def test_spark_makes_null_of_what_is_not_of_the_serde(spark: "SparkSession") -> None:
    from pyspark.sql import functions as F

    bad: list[tuple[Serde, bytes]] = [
        (STRING, b"\xff"),
        (INT, b"12345"),
        (LONG, b"1234"),
        (DOUBLE, b"1"),
        (Json("a int"), b"{"),
        (Json("a int"), b'{"a": "one"}'),
        (Json("a int"), b""),
        (Json("a int"), b"\xff"),
        (Json("long"), b'"one"'),
        (Json("a int"), b'{"a": 1} garbage'),
        (Json("a int"), b'{"a": 1} {"a": 2}'),
        (Json("a int"), b'{"a": 1}, {"a": 2}'),
        (Json("a int"), b'{"a": 1}, "v": {"a": 2}'),
        (Json("a int"), b'{"a": 1}} garbage'),
        (Json("a int"), b'{"a": 1}] garbage'),
        (Json("a int"), b'[{"a": 1}]'),
        (Json("long"), b"1 2"),
        (Json("long"), b'1, "v": 2'),
        (Json("long"), b"1} garbage"),
        (Json("long"), b"1] garbage"),
    ]
    row = spark.range(1).select(
        *(serde.decode(F.lit(raw)).alias(f"c{at}") for at, (serde, raw) in enumerate(bad))
    )
    assert list(row.collect()[0]) == [None] * len(bad)


def test_json_without_a_schema_can_be_written_but_not_read(spark: "SparkSession") -> None:
    from pyspark.sql import functions as F

    with pytest.raises(PipelineError, match="JSON needs a schema"):
        Json().decode(F.lit(b"{}"))


def test_a_number_that_does_not_fit_is_an_error_and_not_another_number(
    spark: "SparkSession",
) -> None:
    from pyspark.sql import functions as F
    from pyspark.sql.types import LongType

    frame = spark.range(2**31, 2**31 + 1).select(INT.encode(F.col("id"), LongType()))
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        frame.collect()


def test_the_key_of_a_window_is_that_of_kafka_streams() -> None:
    assert WindowedKey(STRING).dumps(("a", 258)) == b"a" + LONG.dumps(258)
    of_session = WindowedKey(STRING, is_session=True)
    assert of_session.dumps(("a", 1, 2)) == b"a" + LONG.dumps(2) + LONG.dumps(1)
    assert of_session.loads(of_session.dumps(("a", 1, 2))) == ("a", 1, 2)


def poisoned(flow: Flow, **how: Any) -> Stream:
    moment = datetime.fromtimestamp(1, UTC)
    values = {b"a": LONG.dumps(1), b"b": b"poison", b"c": None}
    flow.put_raw("orders", *(Record(key, value, moment) for key, value in values.items()))
    return Stream.source(flow.topology, "orders", value=LONG, **how)


def test_a_poison_record_stops_the_query_and_is_named(flow: Flow) -> None:
    with pytest.raises(Exception, match="poison") as caught:
        flow.rows(poisoned(flow))
    assert one_line(caught.value).startswith(
        "orders-0 has a poison record at offset 1: its value is not long"
    )


def test_a_poison_record_can_be_left_out(flow: Flow) -> None:
    rows = flow.rows(poisoned(flow, on_error="skip"))
    # A tombstone is no poison.
    assert [(row["key"], row["value"]) for row in rows] == [("a", 1), ("c", None)]


def test_a_poison_record_can_go_to_a_dead_letter_topic(flow: Flow) -> None:
    poisoned(flow, dead_letter="orders-dead").to("out")
    written = flow.run_all()
    assert len(written["out"]) == 2
    [dead] = written["orders-dead"]
    assert (dead.key, dead.value) == (b"b", b"poison")
    headers = {header["key"]: bytes(header["value"]) for header in dead.headers or ()}
    assert headers == {
        "__streams.errors.message": b"the value is not long",
        "__streams.errors.topic": b"orders",
        "__streams.errors.partition": b"0",
        "__streams.errors.offset": b"1",
    }


def test_a_record_of_another_schema_is_told_the_schema(flow: Flow) -> None:
    flow.put_raw("orders", Record(b"a", b'{"amount": "much"}', datetime.fromtimestamp(1, UTC)))
    orders = Stream.source(flow.topology, "orders", value=Json("amount double"))
    with pytest.raises(Exception, match="poison") as caught:
        flow.rows(orders)
    assert "its value is not JSON of amount double" in one_line(caught.value)


def test_another_way_with_errors_is_refused() -> None:
    from moldau.streams.topology import Topology

    with pytest.raises(PipelineError, match="'ignore' is not known"):
        Stream.source(Topology(), "orders", on_error="ignore")
