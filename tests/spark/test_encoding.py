"""Arrow batches become the records of Kafka batches: routed, grouped, complete."""

import random
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.client.partitioner import partition_of_key
from moldau.ids import TopicPartition
from moldau.record.compression import Codec, decompress
from moldau.record.header import BatchHeader
from moldau.record.records import Record, decode_payload
from moldau.spark.encoding import Encoder
from moldau.spark.errors import PipelineError
from moldau.spark.producer_options import ProducerOptions
from moldau.spark.routing import Layout, Router

NOW_MS = 1_700_000_000_000
PARTITIONS = {"orders": 5, "clicks": 3}
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

fields = st.none() | st.binary(max_size=50)


def encoder(topic: str | None = "orders", **producing: Any) -> Encoder:
    def layout_of(name: str) -> Layout:
        return Layout(PARTITIONS[name], range(PARTITIONS[name]))

    options = ProducerOptions(**producing)
    router = Router(topic, layout_of, sticky_bytes=options.batch_size, rng=random.Random(1))
    return Encoder(router, options, lambda: NOW_MS, include_headers=True)


def records_of(
    encoder: Encoder, batch: pa.RecordBatch, codec: int = Codec.NONE
) -> dict[TopicPartition, list[Record]]:
    """What would be read back, partition by partition."""
    found: dict[TopicPartition, list[Record]] = {}
    for each in encoder.encode(batch):
        header = BatchHeader(
            *(
                0,
                0,
                -1,
                2,
                0,
                codec,
                each.record_count - 1,
                each.base_timestamp,
                each.max_timestamp,
            ),
            *(-1, -1, -1, each.record_count),
        )
        records = decode_payload(decompress(codec, each.payload), header)
        assert max(record.timestamp for record in records) == each.max_timestamp
        found.setdefault(each.partition, []).extend(records)
    return found


def rows(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


@given(st.lists(st.tuples(st.binary(max_size=20), fields), min_size=1), st.sampled_from(Codec))
def test_a_key_decides_the_partition_and_order_is_kept(
    pairs: list[tuple[bytes, bytes | None]], codec: Codec
) -> None:
    batch = rows(
        key=pa.array([key for key, _ in pairs], pa.binary()),
        value=pa.array([value for _, value in pairs], pa.binary()),
    )
    found = records_of(encoder(codec=codec, batch_size=100), batch, codec)
    for partition in range(5):
        expected = [pair for pair in pairs if partition_of_key(pair[0], 5) == partition]
        records = found.get(TopicPartition("orders", partition), [])
        assert [(record.key, record.value) for record in records] == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_text_is_written_as_utf_8_and_slices_are_understood(kind: pa.DataType) -> None:
    values = pa.array(["no", "no", "größe", None, ""], pa.string()).cast(kind)
    batch = pa.RecordBatch.from_arrays([values], ["value"]).slice(2)
    (records,) = records_of(encoder(), batch).values()
    assert [record.value for record in records] == ["größe".encode(), None, b""]
    assert [record.key for record in records] == [None] * 3


def test_rows_without_a_key_stick_to_a_partition_for_a_batch() -> None:
    one = encoder(batch_size=1000)
    batch = rows(value=pa.array([b"x" * 64] * 100))
    # 100 bytes each with what a record costs at most: ten to a batch's worth.
    counts = dict.fromkeys(range(5), 0)
    for each in [*one.encode(batch), *one.encode(batch)]:
        counts[each.partition.partition] += each.record_count
    assert sum(counts.values()) == 200
    assert all(count > 0 and count % 10 == 0 for count in counts.values())


def test_rows_go_on_sticking_from_one_arrow_batch_to_the_next() -> None:
    one = encoder(batch_size=1_000_000)
    batch = rows(value=pa.array([b"x"]))
    assert len({each.partition for _ in range(20) for each in one.encode(batch)}) == 1


def test_a_row_says_its_own_topic_partition_time_and_headers() -> None:
    key = next(each for each in (b"a", b"b", b"c", b"d") if partition_of_key(each, 3) == 1)
    moment = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
    batch = rows(
        topic=pa.array(["clicks", "orders", "clicks"]),
        partition=pa.array([2, 0, None], pa.int32()),
        key=pa.array([None, None, key], pa.binary()),
        value=pa.array(["a", "b", "c"]),
        timestamp=pa.array([moment, None, moment], pa.timestamp("us", "UTC")),
        headers=pa.array([[("h", b"1"), ("n", None)], None, []], HEADERS),
        offset=pa.array([1, 2, 3]),
    )
    found = records_of(encoder(topic=None), batch)
    milliseconds = int(moment.timestamp() * 1000)
    assert found == {
        TopicPartition("clicks", 2): [
            Record(0, milliseconds, None, b"a", (("h", b"1"), ("n", None)))
        ],
        TopicPartition("orders", 0): [Record(0, NOW_MS, None, b"b")],
        TopicPartition("clicks", 1): [Record(0, milliseconds, key, b"c")],
    }


@given(st.lists(st.integers(0, 400), min_size=1, max_size=60), st.integers(50, 500))
def test_no_batch_is_larger_than_asked_for_unless_one_record_is(
    sizes: list[int], batch_size: int
) -> None:
    values = pa.array([bytes(size) for size in sizes])
    batch = rows(value=values, partition=pa.array([3] * len(sizes), pa.int32()))
    pieces = list(encoder(batch_size=batch_size).encode(batch))
    assert sum(piece.record_count for piece in pieces) == len(sizes)
    for piece in pieces:
        assert len(piece.payload) <= max(batch_size, 400 + 36)


@pytest.mark.parametrize(
    "columns, said",
    [
        ({"topic": ["orders", None]}, "a row has no topic (null): set option topic"),
        ({"topic": ["orders"] * 2, "partition": [1, 7]}, "partition 7 of orders, which has 0 to 4"),
        ({"topic": ["orders"] * 2, "partition": [-1, 0]}, "partition -1 of orders"),
        (
            {"topic": ["orders"] * 2, "timestamp": pa.array([-1, 1], pa.timestamp("ms", "UTC"))},
            "a timestamp before 1970 (-1 ms)",
        ),
        (
            {"topic": ["orders"] * 2, "headers": pa.array([[(None, b"x")], []], HEADERS)},
            "a header without a key",
        ),
    ],
)
def test_a_row_that_cannot_be_written_is_named(columns: dict[str, Any], said: str) -> None:
    if "partition" in columns:
        columns = {**columns, "partition": pa.array(columns["partition"], pa.int32())}
    with pytest.raises(PipelineError) as failed:
        list(encoder(topic=None).encode(rows(value=pa.array([b"v"] * 2), **columns)))
    assert said in str(failed.value)


def test_a_row_that_is_too_large_for_a_request_is_named_with_the_remedy() -> None:
    with pytest.raises(PipelineError, match=r"a row of 2036 bytes is larger than kafka\.max\."):
        list(encoder(max_request_size=2000).encode(rows(value=pa.array([bytes(2000)]))))


def test_nothing_is_made_of_nothing() -> None:
    assert list(encoder().encode(rows(value=pa.array([], pa.binary())))) == []
