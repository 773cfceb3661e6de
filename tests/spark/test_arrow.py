"""Conversion of record batches to Arrow, column by column."""

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from moldau.ids import TopicPartition
from moldau.record.compression import Codec
from moldau.record.header import LOG_APPEND_TIME_FLAG, CorruptBatch, read_header
from moldau.record.records import BatchBuilder, decode_records
from moldau.spark.arrow import OpenBatch, open_batch, to_arrow
from moldau.spark.options import COLUMNS
from moldau.spark.schema import source_schema

PARTITION = TopicPartition("orders", 3)
FOREVER = 1 << 62

fields = st.none() | st.binary(max_size=50)
headers = st.lists(st.tuples(st.text(max_size=5), fields), max_size=3)
moments = st.integers(0, 4_000_000_000_000)
records = st.lists(st.tuples(moments, fields, fields, headers), min_size=1, max_size=20)


def schema(*columns: str) -> pa.Schema:
    return to_arrow_schema(source_schema(columns or COLUMNS), timezone="UTC")


def batch(rows: list[Any], base_offset: int = 0, codec: Codec = Codec.NONE) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, codec=codec)
    for moment, key, value, pairs in rows:
        builder.append(moment, key, value, tuple(pairs))
    return builder.build()


def opened(data: bytes, start: int = 0, end: int = FOREVER) -> OpenBatch:
    view = memoryview(data)
    return open_batch(view, 0, read_header(view, 0), start, end)


@given(records, records, st.sampled_from(Codec))
def test_arrow_has_what_decoding_one_by_one_has(
    first: list[Any], second: list[Any], codec: Codec
) -> None:
    encoded = [batch(first, 100, codec), batch(second, 500, codec)]
    made = to_arrow(PARTITION, [opened(each) for each in encoded], schema())
    made.validate(full=True)
    decoded = [record for each in encoded for record in decode_records(each)]
    assert [row["offset"] for row in made.to_pylist()] == [each.offset for each in decoded]
    for row, record in zip(made.to_pylist(), decoded, strict=True):
        assert row["key"] == record.key
        assert row["value"] == record.value
        assert row["topic"] == "orders"
        assert row["partition"] == 3
        assert row["timestamp"].timestamp() * 1000 == pytest.approx(record.timestamp)
        assert row["timestampType"] == 0
        pairs = [(pair["key"], pair["value"]) for pair in row["headers"] or ()]
        assert pairs == list(record.headers)
        # As in Spark's own source: nothing rather than an empty list.
        assert row["headers"] is None or pairs


def test_a_batch_is_cut_to_the_offsets_that_are_wanted() -> None:
    data = batch([(0, None, b"%d" % number, []) for number in range(10)], base_offset=50)
    made = to_arrow(PARTITION, [opened(data, 53, 56)], schema("value", "offset"))
    assert made.to_pylist() == [{"value": b"%d" % n, "offset": 50 + n} for n in (3, 4, 5)]
    assert opened(data, 60).rows == 0
    assert opened(data, 70, 65).rows == 0


def test_columns_come_in_the_order_of_the_schema() -> None:
    made = to_arrow(PARTITION, [opened(batch([(0, b"k", None, [])]))], schema("offset", "key"))
    assert made.schema.names == ["offset", "key"]
    assert made.to_pylist() == [{"offset": 0, "key": b"k"}]


def test_append_time_is_that_of_the_batch() -> None:
    data = batch([(5, None, b"a", []), (9, None, b"b", [])])
    whole = opened(data)
    whole.header.attributes |= LOG_APPEND_TIME_FLAG
    made = to_arrow(PARTITION, [whole], schema("timestamp", "timestampType"))
    assert made.column(0).cast("int64").to_pylist() == [9000, 9000]
    assert made.column(1).to_pylist() == [1, 1]


def test_a_timestamp_beyond_what_spark_can_count_is_the_last_there_is() -> None:
    made = to_arrow(PARTITION, [opened(batch([(1 << 60, None, b"", [])]))], schema("timestamp"))
    assert made.column(0).cast("int64").to_pylist() == [(1 << 63) // 1000 * 1000]


def test_damage_is_named_and_never_shown_as_data() -> None:
    data = bytearray(batch([(0, b"key", b"value", [])], base_offset=7))
    data[-3] ^= 1
    with pytest.raises(CorruptBatch, match="checksum of the batch at offset 7 is wrong"):
        opened(bytes(data))
