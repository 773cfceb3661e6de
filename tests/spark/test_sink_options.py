"""The options and columns of a write are checked before anything is written."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from moldau.record.compression import Codec
from moldau.spark.errors import PipelineError
from moldau.spark.sink import sink_options
from moldau.spark.sink_options import SinkOptions, parse_sink_options

BASE = {"kafka.bootstrap.servers": "localhost:9092", "topic": "orders"}


def parse(**options: str) -> SinkOptions:
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    return parse_sink_options({**BASE, **dotted})


def test_little_is_needed_and_acknowledged_by_all_is_the_default() -> None:
    options = parse()
    assert options.topic == "orders"
    assert options.include_headers
    assert options.producing.acks == -1
    assert options.producing.is_idempotent
    assert options.producing.codec == Codec.NONE


def test_settings_of_the_producer_are_followed_or_without_effect() -> None:
    producing = parse(
        kafka__acks="1",
        kafka__compression__type="ZSTD",
        kafka__compression__zstd__level="5",
        kafka__compression__gzip__level="9",
        kafka__batch__size="1000",
        kafka__max__request__size="2000",
        kafka__delivery__timeout__ms="3000",
        kafka__linger__ms="7",
        kafka__ssl__keystore__location="nowhere",
    ).producing
    assert (producing.acks, producing.is_idempotent) == (1, False)
    assert (producing.codec, producing.level) == (Codec.ZSTD, 5)
    assert (producing.batch_size, producing.max_request_size) == (1000, 2000)
    assert producing.delivery_timeout_s == 3


@pytest.mark.parametrize(
    "options, said",
    [
        ({"topics": "a"}, "there is no option topics when writing: there are topic"),
        ({"path": "a"}, "save() takes no path here: option topic"),
        ({"topic": " "}, "option topic is empty"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
        ({"kafka.acks": "2"}, "kafka.acks=2: one of all, -1, 1, 0 is expected"),
        ({"kafka.compression.type": "rar"}, "one of none, gzip, snappy, lz4, zstd is expected"),
        ({"kafka.compression.zstd.level": "99"}, "-131072 to 22 is expected"),
        ({"kafka.batch.size": "0"}, "kafka.batch.size=0: a number above 0"),
        ({"kafka.acks": "1", "kafka.enable.idempotence": "true"}, "needs kafka.acks=all"),
        ({"kafka.max.in.flight.requests.per.connection": "6"}, "at most 5"),
        ({"kafka.value.serializer": "x"}, "cannot be set: values are written as they are"),
        ({"kafka.transactional.id": "x"}, "moldau.spark.exactly_once writes in transactions"),
        ({"kafka.lingerms": "x"}, "Kafka's producer has no such setting"),
        (
            {"kafka.security.protocol": "SSH"},
            "option kafka.security.protocol=SSH: must be one of PLAIN",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(
    options: dict[str, str], said: str
) -> None:
    with pytest.raises(PipelineError) as failed:
        parse_sink_options({**BASE, **options})
    assert said in str(failed.value)
    assert "\n" not in str(failed.value)


TEXT, BYTES = StringType(), BinaryType()
HEADERS = ArrayType(StructType().add("key", TEXT).add("value", BYTES))


def schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


@pytest.mark.parametrize(
    "columns",
    [
        {"value": TEXT},
        {"value": BYTES, "key": TEXT, "partition": IntegerType(), "timestamp": TimestampType()},
        {"value": BYTES, "headers": HEADERS, "offset": LongType(), "amount": DoubleType()},
    ],
)
def test_rows_have_the_columns_of_sparks_sink_and_may_have_others(
    columns: dict[str, DataType],
) -> None:
    assert sink_options(BASE, schema(**columns)).topic == "orders"


@pytest.mark.parametrize(
    "columns, said",
    [
        ({"key": TEXT}, "there is no column value to be written: there are key"),
        ({"value": IntegerType()}, "column value is int: string or binary can be written; cast"),
        ({"value": TEXT, "key": StructType().add("a", TEXT)}, "column key is struct<a:string>"),
        ({"value": TEXT, "partition": LongType()}, "column partition is bigint: int can be"),
        ({"value": TEXT, "timestamp": TEXT}, "column timestamp is string: timestamp can be"),
        ({"value": TEXT, "headers": MapType(TEXT, BYTES)}, "column headers is map<string,binary>"),
        ({"value": TEXT, "headers": ArrayType(TEXT)}, "column headers is array<string>"),
    ],
)
def test_a_column_that_cannot_be_written_is_named_with_what_can(
    columns: dict[str, DataType], said: str
) -> None:
    with pytest.raises(PipelineError) as failed:
        sink_options(BASE, schema(**columns))
    assert said in str(failed.value)


def test_a_topic_is_named_by_the_option_or_by_the_rows() -> None:
    options = {"kafka.bootstrap.servers": "localhost:9092"}
    assert sink_options(options, schema(value=TEXT, topic=TEXT)).topic is None
    with pytest.raises(PipelineError, match="no topic is named: set option topic, or"):
        sink_options(options, schema(value=TEXT))


def test_a_topic_is_not_overwritten() -> None:
    with pytest.raises(PipelineError, match="use mode append"):
        sink_options(BASE, schema(value=TEXT), is_overwriting=True)
