"""A Connect worker on a secured Apache Kafka: the settings of Kafka's file are enough."""

import pytest

from moldau.client.consumer import Consumer
from moldau.connect.data.errors import ConnectError
from tests.compat.secured_kafka import PASSWORD, SecuredKafka, jaas
from tests.connect.herding import SINK, SOURCE, Herding

LISTENER, MECHANISM = "SASL_SSL", "SCRAM-SHA-512"


@pytest.fixture
def settings(secured_kafka: SecuredKafka) -> dict[str, str]:
    """Of the worker."""
    return secured_kafka.settings(LISTENER, MECHANISM)


def test_topics_group_and_offsets_are_reached(
    secured_kafka: SecuredKafka, settings: dict[str, str]
) -> None:
    bootstrap = secured_kafka.bootstrap(LISTENER)
    worker = Herding(bootstrap, "secured", settings=settings).start()
    try:
        worker.herder.create("sink", {"connector.class": SINK})
        worker.wait_for_state("sink", "RUNNING")
        assert worker.herder.offsets("sink") == {"offsets": []}
        worker.herder.create("source", {"connector.class": SOURCE}, "STOPPED")
        worker.wait_for_state("source", "STOPPED", [])
        offsets = [{"partition": {"file": "a"}, "offset": {"position": 1}}]
        worker.herder.alter_offsets("source", offsets)
        assert worker.herder.offsets("source") == {"offsets": offsets}
    finally:
        worker.stop()
    security = secured_kafka.security(LISTENER, MECHANISM)
    with Consumer(bootstrap, security=security) as consumer:
        consumer.assign(dict.fromkeys(consumer.partitions_of("secured-status"), 0))
        written = [each.value for each in consumer.poll(120)]
    assert written
    assert not any(PASSWORD.encode() in (each or b"") for each in written)


def test_a_wrong_password_ends_the_worker_and_is_not_shown(
    secured_kafka: SecuredKafka, settings: dict[str, str]
) -> None:
    wrong = {"sasl.jaas.config": jaas(MECHANISM, password="not-the-password")}
    bootstrap = secured_kafka.bootstrap(LISTENER)
    worker = Herding(bootstrap, "refused", settings={**settings, **wrong})
    worker.worker.start()
    with pytest.raises(ConnectError) as refused:
        worker.worker.wait()
    worker.stop()
    assert "not-the-password" not in str(refused.value)
    assert "Authentication failed" in str(refused.value) or "SASL" in str(refused.value)
