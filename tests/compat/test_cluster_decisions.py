"""Brokers, ISRs, elections, reassignments and features: decided as Apache Kafka decides them.

Every chapter has brokers and topics of its own, so that each can be read alone.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.brokers import ApacheKafkaBroker, read_properties

from moldau.errors import ErrorCode
from moldau.metadata.features import SUPPORTED_FEATURES
from moldau.protocol.messages import alter_partition_reassignments as reassignments
from moldau.protocol.messages import elect_leaders as elections
from moldau.protocol.messages import list_partition_reassignments as listings
from moldau.protocol.messages import update_features as features
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatResponse
from moldau.protocol.messages.controller_registration import ControllerRegistrationRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.cluster_talk import (
    Both,
    KafkaController,
    MoldauController,
    Side,
    directory,
)

SETTINGS = {"broker.session.timeout.ms": "600000"}
PREFERRED, UNCLEAN = 0, 1
UPGRADE, SAFE, UNSAFE = 1, 2, 3


@pytest.fixture(scope="module")
def controllers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[KafkaController, MoldauController]]:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    path: Path = tmp_path_factory.mktemp("decisions") / "data"
    broker = ApacheKafkaBroker(path, SETTINGS)
    with broker:
        cluster_id = read_properties(path / "meta.properties")["cluster.id"]
        kafka = KafkaController(broker.controller_port, cluster_id)
        yield kafka, MoldauController(SETTINGS)
        kafka.close()


@pytest.fixture
def both(controllers: tuple[KafkaController, MoldauController]) -> Iterator[Both]:
    asked = Both(*controllers)
    yield asked
    asked.leave()


def test_registrations(both: Both) -> None:
    both.register(11, cluster_id="another")
    both.register(11, version=1, is_migrating_zk_broker=True)
    both.register(11, version=0)
    both.register(11, version=1)
    both.register(11, log_dirs=[])
    both.register(11, log_dirs=[bytes(15) + b"\x05"])
    both.register(11, log_dirs=[directory(11)] * 2)
    for name in SUPPORTED_FEATURES:
        both.register(12, without=name)
    assert both.register(11) == "new epoch"
    both.register(13, log_dirs=[directory(11)])
    assert both.register(11) == "same epoch"
    both.beat(11)
    answer: Any = both.register(11, incarnation=2)
    assert answer.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert both.register(11, version=2) == "same epoch"
    both.ask(
        lambda side: side.send(
            ControllerRegistrationRequest(controller_id=77, incarnation_id=b"c" * 16)
        )
    )


def test_heartbeats(both: Both) -> None:
    both.beat(21)
    both.register(21)
    both.beat(21, current_metadata_offset=0)
    both.beat(21, broker_epoch=0)
    for fence in (False, True, True, False, False):
        both.beat(21, want_fence=fence)
        both.beat(21, want_fence=fence, version=0)
    both.beat(21, want_shut_down=True)
    both.beat(21, want_shut_down=True)
    both.register(22)
    both.beat(22)
    both.beat(22, want_fence=True, want_shut_down=True)


def test_a_controlled_shutdown(both: Both) -> None:
    both.join(31, 32)
    both.create("stopping", [31, 32], [32, 31])

    def stop(side: Side) -> object:
        """The broker stops when the others, one of them real, have seen it."""
        answers: list[BrokerHeartbeatResponse] = []
        deadline = time.monotonic() + 120
        while not (answers and answers[-1].should_shut_down):
            assert time.monotonic() < deadline, answers
            side.beat(32)
            answer: Any = side.beat(31, want_shut_down=True)
            answers.append(answer)
            time.sleep(0.05)
        return answers[0], answers[-1]

    both.ask(stop)
    both.ask(lambda side: _elect(side, PREFERRED, ("stopping", [0, 1])))


def test_isr_changes(both: Both) -> None:
    both.join(41, 42, 43, 44)
    both.create("isr", [41, 42, 43])
    for isr in ([41, 42], [41, 42, 43], [41, 42, 43]):
        both.alter("isr", 41, isr)
    for isr in ([41, 43], [41, 42, 43]):
        both.alter("isr", 41, isr, version=2)
    for fields in (
        {"leader_epoch": 99},
        {"partition_epoch": 99},
        {"leader_epoch": -1},
        {"partition_epoch": 0},
        {"leader_recovery_state": 1},
        {"topic_id": b"q" * 16},
        {"partition_index": 9},
        {"sender_epoch": 0},
        {"epochs": {42: 5}},
    ):
        both.alter("isr", 41, [41, 42], **fields)
    for isr in ([], [42], [41, 42, 42], [41, 44], [41, 99]):
        both.alter("isr", 41, isr)
    both.alter("isr", 42, [41, 42])
    both.create("minimum", [41, 42, 43], min_insync_replicas="2")
    for isr in ([41, 42], [41], [41, 43]):
        both.alter("minimum", 41, isr)
    both.beat(43, want_fence=True)
    both.alter("isr", 41, [41, 42, 43], partition_epoch=5)


def test_a_topic_created_again(both: Both) -> None:
    both.join(51)
    both.create("again", [51])
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="again")], timeout_ms=30_000)
    both.ask(lambda side: side.send(request).responses[0].error_code)
    both.alter("again", 51, [51])
    both.create("again", [51])
    both.alter("old again", 51, [51])
    both.alter("again", 51, [51])


def test_directories(both: Both) -> None:
    both.join(61, 62)
    both.create("dirs", [61])
    both.assign("dirs", 61)
    both.assign("dirs", 61, partition=9)
    both.assign("dirs", 61, topic_id=b"q" * 16)
    both.assign("dirs", 62)
    both.assign("dirs", 61, epoch=0)
    both.beat(61, offline_log_dirs=[directory(61)])


def _elect(side: Side, kind: int, *wanted: tuple[str, list[int]], version: int = 2) -> object:
    request = elections.ElectLeadersRequest(
        election_type=kind,
        topic_partitions=[
            elections.TopicPartitions(topic=name, partitions=partitions)
            for name, partitions in wanted
        ],
        timeout_ms=30_000,
    )
    return side.send(request, version)


def test_elections(both: Both) -> None:
    both.join(71, 72)
    both.create("elected", [71, 72], [72, 71], unclean_leader_election_enable="false")
    wanted = ("elected", [0, 1, 7])
    for kind in (PREFERRED, UNCLEAN, 9):
        both.ask(lambda side, kind=kind: _elect(side, kind, wanted, ("nowhere", [0])))
    both.ask(lambda side: _elect(side, PREFERRED, wanted, version=0))
    both.beat(71, want_fence=True)
    for kind in (PREFERRED, UNCLEAN):
        both.ask(lambda side, kind=kind: _elect(side, kind, wanted))
    both.beat(71)
    both.ask(lambda side: _elect(side, PREFERRED, wanted))
    both.alter("elected", 72, [72, 71], leader_epoch=1, partition_epoch=1)
    both.ask(lambda side: _elect(side, PREFERRED, wanted))
    both.beat(71, want_fence=True)
    both.beat(72, want_fence=True)
    for kind in (PREFERRED, UNCLEAN):
        both.ask(lambda side, kind=kind: _elect(side, kind, wanted))


def reassign(
    both: Both, name: str, replicas: list[int] | None, index: int = 0, *, may_change: bool = True
) -> None:
    wanted = reassignments.ReassignablePartition(partition_index=index, replicas=replicas)
    request = reassignments.AlterPartitionReassignmentsRequest(
        timeout_ms=30_000,
        allow_replication_factor_change=may_change,
        topics=[reassignments.ReassignableTopic(name=name, partitions=[wanted])],
    )
    both.ask(lambda side: side.send(request))
    ongoing(both, name)


def ongoing(both: Both, *names: str) -> None:
    wanted = [
        listings.ListPartitionReassignmentsTopics(name=name, partition_indexes=[0, 1, 9])
        for name in names
    ]
    request = listings.ListPartitionReassignmentsRequest(timeout_ms=30_000, topics=wanted)
    both.ask(lambda side: side.send(request))


def test_reassignments(both: Both) -> None:
    both.join(81, 82, 83, 84)
    both.create("moved", [81, 82, 83])
    for replicas in ([81, 82, 84], [84, 82, 81], None, None, [99], [], [82, 82], [83, 82]):
        reassign(both, "moved", replicas)
    reassign(both, "nowhere", [81])
    reassign(both, "moved", [81], index=9)
    both.create("factor", [82, 83])
    for replicas in ([82], [84, 82], [81, 84], [81, 84, 82]):
        reassign(both, "factor", replicas, may_change=False)
    ongoing(both, "factor", "nowhere", "moved")
    both.create("completed", [81, 82])
    reassign(both, "completed", [83, 84])
    both.alter("completed", 81, [81, 82, 83], partition_epoch=1)
    both.alter("completed", 81, [81, 82, 83, 84])
    ongoing(both, "completed")
    both.ask(lambda side: _elect(side, PREFERRED, ("completed", [0])))


def test_producer_ids_and_unregistering(both: Both) -> None:
    both.join(91, 92)

    def length(side: Side, broker: int, epoch: int | None = None) -> object:
        known = side.epochs.get(broker, 0)
        request = AllocateProducerIdsRequest(
            broker_id=broker, broker_epoch=known if epoch is None else epoch
        )
        answer = side.send(request)
        return answer.error_code, answer.producer_id_len

    both.ask(lambda side: length(side, 91))
    both.ask(lambda side: length(side, 91, epoch=0))
    both.ask(lambda side: length(side, 99))
    both.create("left", [91, 92])
    for broker in (91, 91, 99):
        request = UnregisterBrokerRequest(broker_id=broker)
        both.ask(lambda side, request=request: side.send(request))
    both.beat(91)
    both.alter("left", 92, [92], leader_epoch=1, partition_epoch=1)


@pytest.mark.parametrize(
    ("name", "level", "kind", "version"),
    [
        ("metadata.version", 29, SAFE, 2),
        ("metadata.version", 29, UNSAFE, 2),
        ("metadata.version", 31, UPGRADE, 2),
        ("metadata.version", 99, UPGRADE, 2),
        ("group.version", 0, UPGRADE, 2),
        ("group.version", 5, UPGRADE, 2),
        ("group.version", 1, SAFE, 1),
        ("group.version", 1, UPGRADE, 0),
        ("group.version", 1, 7, 2),
        ("group.version", -1, UPGRADE, 2),
        ("nowhere.version", 1, UPGRADE, 2),
        ("kraft.version", 0, SAFE, 2),
        ("kraft.version", 1, UPGRADE, 2),
        ("kraft.version", 5, UPGRADE, 2),
    ],
)
def test_features(both: Both, name: str, level: int, kind: int, version: int) -> None:
    update = features.FeatureUpdateKey(feature=name, max_version_level=level)
    if version == 0:
        update.allow_downgrade = kind != UPGRADE
    else:
        update.upgrade_type = kind
    request = features.UpdateFeaturesRequest(timeout_ms=30_000, feature_updates=[update])
    both.ask(lambda side: side.send(request, version))
