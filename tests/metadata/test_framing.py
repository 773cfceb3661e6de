"""Metadata records as bytes, as Apache Kafka 4.3.1 writes them."""

import pytest
from hypothesis import given

from moldau.metadata.framing import RECORD_CLASSES, decode_record, encode_record, record_version
from moldau.protocol.message import Message
from moldau.protocol.primitives import MalformedMessage
from moldau.protocol.records import metadata as records
from tests.metadata.strategies import any_record

LATEST = 30


def test_every_record_type_of_the_metadata_log_is_known() -> None:
    assert sorted(RECORD_CLASSES) == [*range(6), *range(7, 13), 14, 15, *range(17, 29)]


def test_a_feature_level_has_the_bytes_that_kafka_writes() -> None:
    record = records.FeatureLevelRecord(name="metadata.version", feature_level=30)
    expected = bytes.fromhex("010c00116d657461646174612e76657273696f6e001e00")
    assert encode_record(record, LATEST) == expected
    assert decode_record(expected) == record


@given(any_record)
def test_a_record_comes_back_as_it_was(record: Message) -> None:
    assert decode_record(encode_record(record, LATEST)) == record


@pytest.mark.parametrize(
    ("level", "versions"),
    [(30, (2, 2, 4)), (29, (2, 2, 3)), (17, (1, 1, 3)), (8, (0, 0, 2)), (7, (0, 0, 1))],
)
def test_the_version_follows_from_metadata_version(
    level: int, versions: tuple[int, int, int]
) -> None:
    candidates = (
        records.PartitionRecord(directories=[b"d" * 16], eligible_leader_replicas=[1]),
        records.PartitionChangeRecord(directories=[b"d" * 16], last_known_elr=[1]),
        records.RegisterBrokerRecord(log_dirs=[b"d" * 16], cordoned_log_dirs=[]),
    )
    assert tuple(record_version(record, level) for record in candidates) == versions
    for record in candidates:
        decode_record(encode_record(record, level))


def test_a_broker_change_is_written_in_the_lowest_version_that_can_say_it() -> None:
    change = records.BrokerRegistrationChangeRecord
    assert record_version(change(fenced=1), LATEST) == 0
    assert record_version(change(in_controlled_shutdown=1), LATEST) == 1
    assert record_version(change(log_dirs=[b"d" * 16]), LATEST) == 2
    assert record_version(change(cordoned_log_dirs=[]), LATEST) == 3


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (b"\x01\x02", "at least 3"),
        (b"\x02\x02\x00", "frame version 2"),
        (b"\x01\x63\x00", "key 99 is not known"),
        (b"\x01\x02\x07", "TopicRecord version 7"),
        (encode_record(records.NoOpRecord(), LATEST) + b"x", "1 bytes too many"),
        (encode_record(records.TopicRecord(name="river"), LATEST)[:-3], "TopicRecord"),
    ],
)
def test_damage_is_named(value: bytes, problem: str) -> None:
    with pytest.raises(MalformedMessage, match=problem):
        decode_record(value)
