"""Agreement with Apache Kafka 4.3.1, whose own classes wrote or validated the data here.

``java_batches.txt``: a name and the bytes of a batch that Kafka's MemoryRecords built.
``kafka_verdicts.txt``: settings of a topic, a Produce version and a batch, then the result of
Kafka's ProduceRequest and LogValidator at offset 1000, leader epoch 3 and the time below.

The verdicts are a sample of random, mostly invalid batches, and only of those on which both sides
agree: they prevent regressions, they do not measure the extent of the agreement. Known to differ,
and so not in the file: compressed batches that are invalid inside or have a wrong max timestamp
(not decompressed here unless the topic requires it), offsets within a batch that are not
consecutive (renumbered here), the LogAppendTime flag set by a producer, and batches that Kafka
answers with UNKNOWN_SERVER_ERROR.
"""

from pathlib import Path

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ApiError
from moldau.record.compression import Codec
from moldau.record.control import ControlType, encode_control_key, end_txn_batch
from moldau.record.header import crc_is_valid, encode_batch, read_header
from moldau.record.records import BatchBuilder, Record, decode_records
from moldau.record.validator import RecordErrors, check_produce_version, validate_produced

DATA = Path(__file__).parent / "data"
NOW = 1_700_000_000_000
BATCHES = {
    name: bytes.fromhex(data)
    for name, data in (
        line.split() for line in (DATA / "java_batches.txt").read_text().splitlines()
    )
}
VERDICTS = [line.split(" => ") for line in (DATA / "kafka_verdicts.txt").read_text().splitlines()]

BASIC = [
    Record(0, NOW, b"k0", b"v0"),
    Record(1, NOW + 5, None, b"no key"),
    Record(2, NOW - 10, b"tombstone", None),
    Record(3, NOW + 9000, b"", b""),
    Record(
        4,
        NOW + 1,
        b"h",
        b"v",
        (("trace", b"abc"), ("žluť", b"x"), ("none", None), ("", b"")),
    ),
]
MANY = [
    Record(
        index,
        NOW + 37 * index,
        b"key-%d" % index,
        b'{"id":%d,"text":"%s"}' % (index, b"moldau " * 30),
    )
    for index in range(700)
]


def rebuilt(records: list[Record], builder: BatchBuilder) -> bytes:
    for record in records:
        builder.append(*record[1:])
    return builder.build()


@pytest.mark.parametrize("codec", list(Codec))
def test_what_kafka_wrote_is_read(codec: Codec) -> None:
    assert decode_records(BATCHES[f"basic_{codec.name.lower()}"]) == BASIC


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_what_kafka_wrote_in_many_blocks_is_read(codec: Codec) -> None:
    assert decode_records(BATCHES[f"many_{codec.name.lower()}"]) == MANY


@pytest.mark.parametrize(
    ("name", "builder"),
    [
        ("basic_none", BatchBuilder()),
        (
            "idempotent",
            BatchBuilder(
                base_offset=4711,
                leader_epoch=12,
                producer_id=9_000_000_000,
                producer_epoch=7,
                base_sequence=2147483645,
                is_transactional=True,
            ),
        ),
        (
            "log_append_time",
            BatchBuilder(base_offset=100, leader_epoch=3, log_append_time=NOW + 12345),
        ),
    ],
)
def test_the_builder_writes_the_bytes_that_kafka_writes(name: str, builder: BatchBuilder) -> None:
    assert rebuilt(BASIC, builder) == BATCHES[name]


def test_records_without_timestamps_are_written_as_kafka_writes_them() -> None:
    records = [Record(0, -1, b"k", b"v"), Record(1, -1, b"k", b"w")]
    assert rebuilt(records, BatchBuilder()) == BATCHES["no_timestamp"]


def test_gaps_between_offsets_are_written_as_kafka_writes_them() -> None:
    builder = BatchBuilder(base_offset=100, leader_epoch=3)
    for offset, record in zip([100, 164, 100_000], BASIC[:3], strict=True):
        builder.append(*record[1:], offset=offset)
    assert builder.build() == BATCHES["offset_gaps"]


def test_sequences_wrap_as_kafkas_do() -> None:
    assert read_header(BATCHES["idempotent"], 0).last_sequence == 1


def test_ends_of_transactions_are_written_as_kafka_writes_them() -> None:
    commit = end_txn_batch(
        ControlType.COMMIT, 33, 9_000_000_000, 7, NOW, base_offset=55, leader_epoch=8
    )
    assert commit == BATCHES["commit_marker"]
    assert end_txn_batch(ControlType.ABORT, 0, 1, 0, NOW) == BATCHES["abort_marker"]


@pytest.mark.parametrize("control_type", list(ControlType))
def test_control_keys_are_kafkas(control_type: ControlType) -> None:
    assert encode_control_key(control_type) == BATCHES[f"key_{control_type.name.lower()}"]


@pytest.mark.parametrize("name", [name for name in BATCHES if not name.startswith("key_")])
def test_kafkas_headers_are_read_and_written_alike(name: str) -> None:
    batch = BATCHES[name]
    header = read_header(batch, 0)
    assert crc_is_valid(batch, 0, header)
    assert encode_batch(header, batch[61:]) == batch


def length(field: bytes | None) -> int:
    return -1 if field is None else len(field)


def verdict(case: str, *, look_inside: bool) -> str:
    """What becomes of the batch here, in the words of the file."""
    kind, before, after, compression, policy, limit, version, data = case.split()
    batch = b"" if data == "-" else bytes.fromhex(data)
    config = LogConfig(
        message_timestamp_type=kind,
        message_timestamp_before_max_ms=int(before),
        message_timestamp_after_max_ms=int(after),
        compression_type=compression,
        cleanup_policy=(policy,),
        max_message_bytes=int(limit),
    )
    try:
        check_produce_version(batch, int(version))
        produced = validate_produced(batch, config, NOW, look_inside=look_inside)
    except RecordErrors as error:
        return f"ERR {error.code.value} {','.join(str(i) for i, _ in error.record_errors)}"
    except ApiError as error:
        return f"ERR {error.code.value}"
    stored = b"".join(produced.parts(1000, 3))
    header = read_header(stored, 0)
    facts = (
        header.base_offset,
        header.last_offset,
        header.partition_leader_epoch,
        Codec(header.compression).name.lower(),
        "LogAppendTime" if header.is_log_append_time else "CreateTime",
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count,
        str(header.is_transactional).lower(),
    )
    records = "".join(
        f" {record.offset}:{record.timestamp}:{length(record.key)}:{length(record.value)}"
        f":{len(record.headers)}"
        for record in decode_records(stored)
    )
    return f"OK max={produced.max_timestamp} batch={','.join(map(str, facts))}{records}"


@pytest.mark.parametrize("look_inside", [True, False], ids=["walking", "opaque"])
@pytest.mark.parametrize("number", range(len(VERDICTS)))
def test_a_batch_meets_the_fate_it_meets_in_kafka(number: int, look_inside: bool) -> None:
    case, expected = VERDICTS[number]
    assert verdict(case, look_inside=look_inside) == expected
