"""The level of transaction.version decides which protocol clients speak, and may change."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tools import wire
from tools.brokers import HOST, Broker

from moldau.client.admin import Admin
from moldau.client.cluster import Cluster, raise_for
from moldau.client.consumer import Consumer
from moldau.client.offsets import LATEST
from moldau.client.producer import Producer
from moldau.client.transactions import FEATURE
from moldau.ids import TopicPartition
from moldau.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.compat.clients.programs import UnavailableError
from tests.compat.clients.transactors import Transactor, start_transactor
from tests.compat.conftest import NO_TRANSACTIONS, TXN_OFFSET_COMMIT
from tests.compat.sample import wait_until

UPGRADE, UNSAFE_DOWNGRADE = 1, 3
# Those that know both protocols.
NAMES = ("moldau", "franz-go", "java")


@pytest.fixture(scope="module")
def broker(broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker_kind(tmp_path_factory.mktemp("features") / "data") as running:
        if TXN_OFFSET_COMMIT not in wire.api_versions(HOST, running.port):
            pytest.skip(NO_TRANSACTIONS)
        yield running


@pytest.fixture(scope="module")
def start(
    broker: Broker, program_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Transactor]]:
    started: dict[str, Transactor] = {}
    logs = tmp_path_factory.mktemp("transactors")

    def get(name: str) -> Transactor:
        if name not in started:
            try:
                started[name] = start_transactor(name, broker.bootstrap, program_dir, logs)
            except UnavailableError as reason:
                pytest.skip(f"{name}: {reason}")
        return started[name]

    yield get
    for transactor in started.values():
        transactor.close()


@pytest.fixture
def partition(broker: Broker, topic: str) -> TopicPartition:
    with Admin(broker.bootstrap) as admin:
        admin.create_topic(topic, 1)
    return TopicPartition(topic, 0)


def set_level(bootstrap: str, level: int) -> None:
    def current() -> int:
        with Cluster(bootstrap) as fresh:
            return fresh.connection().feature(FEATURE)

    before = current()
    if before == level:
        return
    way = UPGRADE if level > before else UNSAFE_DOWNGRADE
    update = FeatureUpdateKey(FEATURE, level, upgrade_type=way)
    with Cluster(bootstrap) as cluster:
        answer = cluster.request(
            UpdateFeaturesRequest(feature_updates=[update]), UpdateFeaturesResponse
        )
    raise_for(answer.error_code, answer.error_message, FEATURE)
    wait_until(lambda: current() == level)


def read(bootstrap: str, partition: TopicPartition) -> list[bytes | None]:
    found: list[bytes | None] = []
    with Consumer(bootstrap, read_committed=True) as consumer:
        end = consumer.offsets_at({partition: LATEST})[partition]
        consumer.assign({partition: 0})
        while consumer.positions[partition] < end:
            found += [record.value for record in consumer.poll(1.0)]
    return found


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_a_library_that_knows_both_protocols_works_at_every_level(
    start: Callable[[str], Transactor],
    broker: Broker,
    partition: TopicPartition,
    name: str,
    level: int,
) -> None:
    set_level(broker.bootstrap, level)
    transactor = start(name)
    producer = f"{name} at {level}"
    transactor.open(producer, f"id-of-{partition.topic}")
    for number in range(4):
        transactor.write(producer, partition.topic, 0, [f"{number}"], commit=number % 2 == 0)
    transactor.write(producer, partition.topic, 0, ["end"], commit=True)
    wait_until(lambda: read(broker.bootstrap, partition) == [b"0", b"2", b"end"])


def test_producers_outlive_changes_of_the_level(broker: Broker, partition: TopicPartition) -> None:
    """Also those that speak a protocol above the level, as they do until they connect again."""
    bootstrap, topic = broker.bootstrap, partition.topic
    set_level(bootstrap, 2)
    with Producer(bootstrap, transactional_id=f"{topic}-2") as second:
        with second.transaction():
            second.send(topic, b"TV2")
        set_level(bootstrap, 1)
        with Producer(bootstrap, transactional_id=f"{topic}-1") as first:
            for producer in (first, second):
                with producer.transaction():
                    producer.send(topic, b"level 1")
            set_level(bootstrap, 2)
            for producer in (first, second):
                with producer.transaction():
                    producer.send(topic, b"level 2")
                # New connections: the first producer learns of the level here.
                producer.cluster.close()
                with producer.transaction():
                    producer.send(topic, b"again")
    found = [b"TV2", b"level 1", b"level 1", b"level 2", b"again", b"level 2", b"again"]
    wait_until(lambda: read(bootstrap, partition) == found)
