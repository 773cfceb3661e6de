"""Every client library, through its own eyes, with its default settings."""

import struct

import pytest
from tools import wire

from tests.compat.clients.base import (
    CODECS,
    EARLIEST,
    LATEST,
    NOT_FOUND,
    Client,
    ClientError,
    Record,
)
from tests.compat.sample import (
    PARTITIONS,
    assert_same_records,
    read_back,
    sample_records,
    text_records,
    wait_until,
    with_offsets,
)

UNKNOWN_TOPIC_OR_PARTITION = 3
MESSAGE_TOO_LARGE = 10
INVALID_TOPIC = 17
TOPIC_ALREADY_EXISTS = 36
INVALID_CONFIG = 40


def codec_on_disk(bootstrap: str, topic: str, partition: int) -> str:
    """The codec in the attributes of a partition's first batch, as a raw Fetch shows it."""
    host, port = bootstrap.rsplit(":", 1)
    with wire.RawConnection(host, int(port)) as connection:
        response = connection.call(wire.fetch_request(topic, partition, 0, 1 << 20))
        batch = wire.fetched_records(response)
        attributes: int = struct.unpack_from(">h", batch, 21)[0]
        return CODECS[attributes & 7]


def test_every_kind_of_record_round_trips_with_every_codec(
    client: Client, reference: Client, bootstrap: str, topic: str, codec: str
) -> None:
    if codec not in client.codecs:
        pytest.skip(f"{client.name} has no {codec}")
    client.create_topic(topic, PARTITIONS)
    records = sample_records(client)

    written = with_offsets(records, client.produce(topic, records, codec))

    assert codec_on_disk(bootstrap, topic, partition=7) == codec
    assert_same_records(read_back(reference, topic, written), written)
    assert_same_records(read_back(client, topic, written), written)


def test_it_reads_what_librdkafka_wrote_with_every_codec(
    client: Client, reference: Client, topic: str
) -> None:
    reference.create_topic(topic, len(client.codecs))
    written: list[Record] = []
    for partition, codec in enumerate(client.codecs):
        records = [r._replace(partition=partition) for r in sample_records(reference, partition)]
        written += with_offsets(records, reference.produce(topic, records, codec))

    assert_same_records(read_back(client, topic, written), written)


def test_offsets_are_found_by_time(client: Client, topic: str) -> None:
    client.create_topic(topic)
    records = text_records(20)
    client.produce(topic, records)

    assert client.offset_at(topic, 0, EARLIEST) == 0
    assert client.offset_at(topic, 0, LATEST) == 20
    for number in (0, 7, 19):
        timestamp = records[number].timestamp
        assert client.offset_at(topic, 0, timestamp) == number
        assert client.offset_at(topic, 0, timestamp - 1) == number
    assert client.offset_at(topic, 0, records[19].timestamp + 1) == NOT_FOUND


def test_reading_starts_at_any_offset(client: Client, topic: str) -> None:
    client.create_topic(topic)
    records = text_records(50)
    client.produce(topic, records)

    found = client.consume(topic, {0: 37}, 5)

    assert [record.offset for record in found][:5] == [37, 38, 39, 40, 41]
    assert found[0].value == b"record-37"


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_whatever_acknowledgement_is_asked_for(
    client: Client, topic: str, acks: str
) -> None:
    client.create_topic(topic)
    records = text_records(30)

    client.produce(topic, records, acks=acks)

    found = client.consume(topic, {0: 0}, 30)
    assert [record.value for record in found] == [record.value for record in records]


def test_a_topic_is_listed_from_its_creation_to_its_deletion(client: Client, topic: str) -> None:
    assert topic not in client.list_topics()
    client.create_topic(topic, 3)
    wait_until(lambda: topic in client.list_topics())
    client.delete_topic(topic)
    wait_until(lambda: topic not in client.list_topics())


def test_topic_settings_are_given_changed_and_shown(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"retention.ms": "86400000"})
    wait_until(lambda: client.topic_config(topic)["retention.ms"] == "86400000")
    client.set_topic_config(topic, {"retention.ms": "90000000", "cleanup.policy": "compact"})
    wait_until(lambda: client.topic_config(topic)["retention.ms"] == "90000000")
    shown = client.topic_config(topic)
    assert shown["cleanup.policy"] == "compact"
    assert shown["max.message.bytes"] == "1048588"


def test_a_topic_cannot_be_created_twice(client: Client, topic: str) -> None:
    client.create_topic(topic)
    with pytest.raises(ClientError) as failure:
        client.create_topic(topic)
    assert failure.value.code == TOPIC_ALREADY_EXISTS


def test_a_topic_name_with_a_space_is_refused(client: Client) -> None:
    with pytest.raises(ClientError) as failure:
        client.create_topic("not a name")
    assert failure.value.code == INVALID_TOPIC


def test_an_unknown_topic_setting_is_refused(client: Client, topic: str) -> None:
    with pytest.raises(ClientError) as failure:
        client.create_topic(topic, configs={"no.such.setting": "1"})
    assert failure.value.code == INVALID_CONFIG


def test_a_topic_setting_out_of_range_is_refused(client: Client, topic: str) -> None:
    client.create_topic(topic)
    wait_until(lambda: topic in client.list_topics())
    with pytest.raises(ClientError) as failure:
        client.set_topic_config(topic, {"retention.ms": "-5"})
    assert failure.value.code == INVALID_CONFIG


def test_an_unknown_topic_cannot_be_deleted(client: Client, topic: str) -> None:
    with pytest.raises(ClientError) as failure:
        client.delete_topic(topic)
    assert failure.value.code == UNKNOWN_TOPIC_OR_PARTITION


def test_a_message_over_the_limit_of_its_topic_is_refused(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"max.message.bytes": "1000"})
    with pytest.raises(ClientError) as failure:
        client.produce(topic, [text_records(1)[0]._replace(value=b"x" * 5000)], codec="none")
    assert failure.value.code == MESSAGE_TOO_LARGE


@pytest.mark.usefixtures("needs_groups")
def test_a_group_of_one_reads_everything(client: Client, topic: str) -> None:
    client.create_topic(topic, 3)
    records = [r._replace(partition=n % 3) for n, r in enumerate(text_records(60))]
    client.produce(topic, records)

    found = client.consume_in_group(topic, f"group-of-{topic}", 60)

    assert sorted(r.value or b"" for r in found) == sorted(r.value or b"" for r in records)
