"""Groups and their offsets on disk are Kafka's: either broker goes on with the other's."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call"

import functools
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from tools.brokers import ApacheKafkaBroker, Broker

from moldau import ids
from moldau.client.cluster import Cluster
from moldau.client.group_admin import GroupAdmin
from tests.compat.clients.members import BROKER_SETTINGS, Kind, MemberFactory, wait_until_shared
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.group_reading import GroupTopic, committed, offset_keeper
from tests.compat.java_tools import run_tool

PATIENCE_S = 120.0
PARTITIONS = 3


class SeenGroup(NamedTuple):
    """A group as an operator sees it."""

    type: str
    state: str
    protocol: str
    offsets: dict[tuple[str, int], tuple[int, str]]


@pytest.fixture(autouse=True)
def _apache_kafka_is_here(group_broker: Broker) -> None:
    """``group_broker`` skips where there are no groups."""
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@functools.cache
def admin_of(bootstrap: str) -> AdminClient:
    """Kept for good: librdkafka does not like to be let go while an answer is due."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})


def seen_groups(broker: Broker, topic: str) -> dict[str, SeenGroup]:
    admin = admin_of(broker.bootstrap)
    found = admin.list_consumer_groups().result(PATIENCE_S)
    if found.errors:
        raise KafkaException(found.errors[0])
    listed = {each.group_id: each for each in found.valid}
    described = admin.describe_consumer_groups(list(listed)) if listed else {}
    seen = {}
    places = [(topic, partition) for partition in range(PARTITIONS)]
    for name, each in listed.items():
        # Not through confluent-kafka, which reads metadata beyond its end.
        with Cluster(broker.bootstrap) as cluster:
            metadata = GroupAdmin(cluster).offsets(name)
        seen[name] = SeenGroup(
            each.type.name,
            each.state.name,
            described[name].result(PATIENCE_S).partition_assignor,
            {
                place: (offset, metadata[ids.TopicPartition(*place)].metadata)
                for place, offset in committed(broker.bootstrap, name, places).items()
            },
        )
    return seen


def assert_seen(broker: Broker, topic: str, expected: dict[str, SeenGroup]) -> None:
    """A broker that has just started may not have loaded every group yet."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if seen_groups(broker, topic) == expected:
                break
        except KafkaException:
            continue
    assert seen_groups(broker, topic) == expected


def commit(broker: Broker, group: str, topic: str, offset: int, metadata: str) -> None:
    """As somebody who only keeps offsets, without being a member."""
    place = TopicPartition(topic, 0, offset, metadata)
    offset_keeper(broker.bootstrap, group).commit(offsets=[place], asynchronous=False)


def read_in_groups(broker: Broker, members: MemberFactory, reading: GroupTopic) -> None:
    """One group of each protocol reads everything and leaves; another one stays to the end."""
    for protocol in ("classic", "consumer"):
        kind = Kind("confluent-kafka", protocol)
        one = members.start(kind, broker.bootstrap, f"{protocol}-left", reading.name)
        wait_until_shared([one], PARTITIONS)
        reading.wait_until_read([one])
        one.leave()


@pytest.mark.parametrize("first", ["ours", "apache"])
def test_groups_and_offsets_survive_a_change_of_brokers(
    first: str, broker_kind: type[Broker], members: MemberFactory, directory: Path, topic: str
) -> None:
    kinds = [broker_kind, ApacheKafkaBroker, broker_kind]
    if first == "apache":
        kinds = [ApacheKafkaBroker, broker_kind, ApacheKafkaBroker]
    expected: dict[str, SeenGroup] = {}
    for turn, kind in enumerate(kinds):
        with kind(directory, BROKER_SETTINGS) as broker:
            if turn == 0:
                reading = GroupTopic(broker.bootstrap, topic, PARTITIONS)
                reading.write(10)
                read_in_groups(broker, members, reading)
            else:
                assert_seen(broker, topic, expected)
            commit(broker, f"simple-{turn}", topic, turn + 1, f"turn {turn}")
            commit(broker, "moved", topic, 9 - turn, "")
            if turn == 1:
                admin = admin_of(broker.bootstrap)
                admin.delete_consumer_groups(["simple-0"])["simple-0"].result(PATIENCE_S)
            expected = seen_groups(broker, topic)
            assert ("simple-0" in expected) == (turn == 0)
            assert expected["moved"].offsets[topic, 0][0] == 9 - turn
            # confluent-kafka sends the zero byte that ends its text as well.
            assert expected[f"simple-{turn}"].offsets == {(topic, 0): (turn + 1, f"turn {turn}\0")}
            ends = {(topic, p): o for p, o in reading.ends.items()}
            for protocol in ("classic", "consumer"):
                left = expected[f"{protocol}-left"]
                assert (left.type, left.state) == (protocol.upper(), "EMPTY")
                assert {place: offset for place, (offset, _) in left.offsets.items()} == ends
            broker.stop()


def test_a_member_goes_on_when_the_other_broker_takes_over(
    broker_kind: type[Broker], members: MemberFactory, directory: Path, topic: str
) -> None:
    """Killed and replaced under the members' feet: they notice a restart, no more."""
    ours = broker_kind(directory, BROKER_SETTINGS)
    apache = ApacheKafkaBroker(directory, BROKER_SETTINGS, port=ours.port)
    with ours:
        reading = GroupTopic(ours.bootstrap, topic, PARTITIONS)
        reading.write(10)
        # Longer than Apache Kafka takes to start.
        where = (ours.bootstrap, "stays", topic)
        one = members.start(Kind("confluent-kafka"), *where, session_ms=30_000)
        wait_until_shared([one], PARTITIONS)
        reading.wait_until_read([one])
        ours.kill()
    with apache:
        reading.write(10)
        reading.wait_until_read([one])
        assert reading.committed("stays") == reading.ends
        apache.stop()
    with ours:
        reading.write(10)
        reading.wait_until_read([one])
        one.leave()
        assert one.repeated == []
        assert reading.committed("stays") == reading.ends


def test_kafkas_tool_reads_the_offsets_log(
    broker_kind: type[Broker], members: MemberFactory, directory: Path, topic: str
) -> None:
    with broker_kind(directory, BROKER_SETTINGS) as broker:
        reading = GroupTopic(broker.bootstrap, topic, PARTITIONS)
        reading.write(10)
        read_in_groups(broker, members, reading)
        broker.stop()
    logs = sorted(
        path for path in directory.glob("__consumer_offsets-*/*.log") if path.stat().st_size
    )
    assert logs
    output = run_tool("kafka-dump-log", "--offsets-decoder", "--files", ",".join(map(str, logs)))
    assert output.status == 0, output.both
    assert "Exception" not in output.both
    for word in ('"group":"classic-left"', '"type":"2"', '"type":"3"', '"protocolType":"consumer"'):
        assert word in output.stdout
