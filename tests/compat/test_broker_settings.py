"""Settings of the broker that clients notice: automatic topics, limits, timestamps."""

from collections.abc import Iterator

import pytest
from tools.brokers import Broker

from tests.compat.clients.base import ClientError
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.sample import text_records, wait_until

UNKNOWN_TOPIC_OR_PARTITION = 3
MESSAGE_TOO_LARGE = 10


@pytest.fixture(scope="module")
def strict(
    broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConfluentClient]:
    """A broker without automatic topics, with a small message limit and its own timestamps."""
    settings = {
        "auto.create.topics.enable": "false",
        "message.max.bytes": "20000",
        "log.message.timestamp.type": "LogAppendTime",
        "num.partitions": "4",
    }
    with broker_kind(tmp_path_factory.mktemp("strict") / "data", settings) as broker:
        # librdkafka gives a topic 30 s to appear before it calls it unknown.
        client = ConfluentClient(broker.bootstrap, {"topic.metadata.propagation.max.ms": 500})
        yield client
        client.close()


def test_producing_to_an_unknown_topic_fails_where_topics_are_not_created_automatically(
    strict: ConfluentClient, topic: str
) -> None:
    with pytest.raises(ClientError) as failure:
        strict.produce(topic, text_records(1))
    # librdkafka reports what it knows of the partition: unknown topic, here or at the broker.
    assert failure.value.code in (UNKNOWN_TOPIC_OR_PARTITION, -188)
    assert topic not in strict.list_topics()


def test_an_unknown_topic_has_no_settings(strict: ConfluentClient, topic: str) -> None:
    with pytest.raises(ClientError) as failure:
        strict.topic_config(topic)
    assert failure.value.code == UNKNOWN_TOPIC_OR_PARTITION


def test_the_brokers_defaults_are_a_new_topics_defaults(
    strict: ConfluentClient, topic: str
) -> None:
    strict.create_topic(topic, -1)
    wait_until(lambda: topic in strict.list_topics())
    shown = strict.topic_config(topic)
    assert shown["max.message.bytes"] == "20000"
    assert shown["message.timestamp.type"] == "LogAppendTime"
    assert strict.produce(topic, text_records(1, partition=3)) == [0]
    with pytest.raises(ClientError) as failure:
        strict.produce(topic, [text_records(1)[0]._replace(value=b"x" * 30_000)], codec="none")
    assert failure.value.code == MESSAGE_TOO_LARGE


def test_the_broker_stamps_records_with_its_own_time(strict: ConfluentClient, topic: str) -> None:
    strict.create_topic(topic, 1)
    wait_until(lambda: topic in strict.list_topics())
    records = text_records(3)
    strict.produce(topic, records)
    assert all(r.timestamp > records[2].timestamp for r in strict.consume(topic, {0: 0}, 3))
