"""Apache Kafka's TransactionalMessageCopier: four copy in a group while processes are killed.

Each copier reads as a member of one group, writes what it reads and its offsets in one transaction,
and aborts a third of its transactions. In every round one of them and the broker die with kill -9.
Whatever happens, the copy that a read_committed consumer sees is the original, once and in order.
"""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools import wire
from tools.brokers import HOST, Broker

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST, LATEST
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.conftest import NO_TRANSACTIONS, TXN_OFFSET_COMMIT
from tests.compat.copiers import Copiers

ROUNDS = int(os.environ.get("COPIER_ROUNDS", "5"))
COPIERS = 4
PER_PARTITION = 120
PATIENCE_S = 120


@pytest.fixture
def broker(broker_kind: type[Broker], tmp_path: Path) -> Iterator[Broker]:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    settings = {"group.initial.rebalance.delay.ms": "1000", "offsets.topic.num.partitions": "3"}
    settings["transaction.state.log.num.partitions"] = "3"
    with broker_kind(tmp_path / "data", settings) as running:
        if TXN_OFFSET_COMMIT not in wire.api_versions(HOST, running.port):
            pytest.skip(NO_TRANSACTIONS)
        yield running


def feed(bootstrap: str, topic: str, first: int) -> None:
    with Producer(bootstrap) as producer:
        for number in range(first, first + PER_PARTITION):
            for partition in range(COPIERS):
                producer.send(topic, b"%d" % number, partition=partition)


def copied(bootstrap: str, topic: str) -> dict[int, list[int]]:
    """The numbers that were committed, by partition, up to the last stable offsets."""
    found: dict[int, list[int]] = {partition: [] for partition in range(COPIERS)}
    places = [TopicPartition(topic, partition) for partition in range(COPIERS)]
    with Consumer(bootstrap, read_committed=True) as consumer:
        ends = consumer.offsets_at(dict.fromkeys(places, LATEST))
        consumer.assign(consumer.offsets_at(dict.fromkeys(places, EARLIEST)))
        deadline = time.monotonic() + PATIENCE_S
        while any(consumer.positions[place] < ends[place] for place in places):
            assert time.monotonic() < deadline, (consumer.positions, ends)
            for record in consumer.poll(0.2):
                found[record.partition].append(int(record.value or b""))
    return found


def has_progressed(bootstrap: str, topic: str, count: int) -> bool:
    return sum(len(each) for each in copied(bootstrap, topic).values()) >= count


@pytest.mark.timeout(180 + 60 * ROUNDS)
def test_the_copy_is_the_original_whoever_is_killed(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    seed = int(os.environ.get("COPIER_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"COPIER_SEED={seed} COPIER_ROUNDS={ROUNDS}")
    rng = random.Random(seed)
    source, target = f"{topic}-in", f"{topic}-out"
    with Admin(broker.bootstrap) as admin:
        admin.create_topic(source, COPIERS)
        admin.create_topic(target, COPIERS)
    copiers = Copiers(COPIERS, broker.bootstrap, source, target, tmp_path)
    fed = 0

    def copy_until(count: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not has_progressed(broker.bootstrap, target, count):
            assert time.monotonic() < deadline, f"copied less than {count}:\n{copiers.said()}"
            copiers.start()
            time.sleep(0.1)

    try:
        for _ in range(ROUNDS):
            feed(broker.bootstrap, source, fed)
            fed += PER_PARTITION
            # Somewhere within what this round has to copy.
            before = COPIERS * (fed - PER_PARTITION)
            copy_until(before + rng.randrange(1, COPIERS * PER_PARTITION // 2))
            victims = [lambda: copiers.kill(rng.randrange(COPIERS)), broker.kill]
            rng.shuffle(victims)
            for victim in victims:
                victim()
                time.sleep(rng.uniform(0, 0.3))
            broker.start()
            copiers.start()
        copy_until(COPIERS * fed)
    finally:
        copiers.close()
    print(f"copiers ended by themselves or were killed: {copiers.endings}")
    expected = list(range(fed))
    for partition, numbers in copied(broker.bootstrap, target).items():
        assert numbers == expected, f"partition {partition}"
