"""Every client library on a replicated topic whose leader is killed.

``CLUSTER_KIND=apache`` runs the tests against Apache Kafka, which shows that they are right.
"""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.clusters import MOLDAU, Cluster, eventually, separate_members

from tests.cluster.faults import ClusterView
from tests.cluster.torment import SETTINGS, create_topic
from tests.compat.clients.base import LATEST, Client, ClientError, Record
from tests.compat.clients.programs import CLIENT_NAMES, ClientFactory, UnavailableError
from tests.compat.java_tools import SHORT_LIVED_JVM
from tests.compat.sample import text_records

KIND = os.environ.get("CLUSTER_KIND", MOLDAU)
COUNT = 500
LIMIT_S = 180.0
# Idempotent by default, and patient. The others may send what follows a record before they send the
# record again: without idempotence, or because they gave up on it (sarama).
IN_ORDER = ("java", "franz-go")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
        patch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)
        folder = tmp_path_factory.mktemp("cluster")
        with Cluster(folder, separate_members(1, 3, KIND), SETTINGS) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def factory(
    cluster: Cluster, program_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClientFactory]:
    factory = ClientFactory(cluster.bootstrap, program_dir, tmp_path_factory.mktemp("clients"))
    yield factory
    factory.close()


def send(client: Client, topic: str, records: list[Record]) -> None:
    """Write until it is acknowledged.

    Some libraries retry for less than a second by default, and leave the rest to their user.
    """
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            client.produce(topic, records, acks="all")
        except ClientError:
            if time.monotonic() > deadline:
                raise
        else:
            return


def read(client: Client, topic: str) -> list[Record]:
    """Everything, as soon as the library has found the new leader."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            count = client.offset_at(topic, 0, LATEST)
            found = client.consume(topic, {0: 0}, count)
        except ClientError:
            if time.monotonic() > deadline:
                raise
        else:
            if len(found) >= count:
                return found
            assert time.monotonic() < deadline, f"{len(found)} of {count} records found"


@pytest.mark.parametrize("name", CLIENT_NAMES)
def test_a_client_goes_on_when_the_leader_is_killed(
    cluster: Cluster, factory: ClientFactory, topic: str, name: str
) -> None:
    try:
        client = factory.get(name)
    except UnavailableError as reason:
        pytest.skip(f"{name}: {reason}")
    create_topic(cluster, topic, 1)
    view = ClusterView(cluster, topic)
    before, during = text_records(COUNT, prefix="before"), text_records(COUNT, prefix="during")
    send(client, topic, before)

    leader = cluster.nodes[view.leaders()[0]]
    # The client may be about to connect, or write already, when the leader dies.
    killer = threading.Timer(0.05, leader.kill)
    killer.start()
    try:
        send(client, topic, during)
        killer.join()
        # librdkafka asks a leader for offsets until it comes back, even if it was replaced.
        eventually("another leads", lambda: view.leaders()[0] not in (leader.node_id, -1))
        found = read(client, topic)
    finally:
        killer.join()
        leader.start()
        view.wait_until_whole()
    values = [record.value for record in found]
    expected = [record.value for record in before + during]
    assert set(values) == set(expected)
    if name in IN_ORDER:
        assert list(dict.fromkeys(values)) == expected
