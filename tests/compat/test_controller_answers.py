"""The controller and Apache Kafka are asked the same things and must answer the same."""

import random
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.brokers import HOST, ApacheKafkaBroker

from moldau.config.broker import BrokerConfig
from moldau.controller.outcome import Outcome
from moldau.metadata.features import SUPPORTED_FEATURES, default_features
from moldau.protocol.header import encode_request_header
from moldau.protocol.message import Message
from moldau.protocol.messages import alter_client_quotas as quotas
from moldau.protocol.messages import alter_configs as legacy
from moldau.protocol.messages import create_topics as topics
from moldau.protocol.messages import delete_topics as deletions
from moldau.protocol.messages import elect_leaders as elections
from moldau.protocol.messages import incremental_alter_configs as configs
from moldau.protocol.messages import update_features as features
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.records.metadata import FeatureLevelRecord
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.controller.direct import DirectController

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32

Answer = list[tuple[object, int, str | None]]


class Kafka:
    """Apache Kafka over a socket."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=120)

    def ask(self, request: Message, response_class: type[Message], version: int) -> Any:
        header = encode_request_header(request.API_KEY, version, 7, "compat")
        frame = header + request.encode(version)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        size = struct.unpack(">i", self._read(4))[0]
        answer = self._read(size)
        # Flexible versions have an empty set of tags after the correlation id.
        position = 5 if 0 <= response_class.FIRST_FLEXIBLE <= version else 4
        return response_class.decode(answer, position, version)[0]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            assert chunk, "Apache Kafka closed the connection"
            data += chunk
        return data

    def close(self) -> None:
        self._socket.close()


class Moldau:
    """The controller alone, with one broker registered."""

    def __init__(self) -> None:
        config = BrokerConfig.from_properties(
            {
                "process.roles": "broker,controller",
                "node.id": "1",
                "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.bootstrap.servers": "localhost:9093",
            }
        )
        self.controller = DirectController(1, "cluster", config, random.Random(1))
        self._offset = 0
        levels = default_features(30)
        self.commit(
            self.controller.activate(
                [FeatureLevelRecord(name=name, feature_level=levels[name]) for name in levels]
            )
        )
        request = BrokerRegistrationRequest(
            broker_id=1,
            cluster_id="cluster",
            incarnation_id=b"i" * 16,
            log_dirs=[b"d" * 16],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in SUPPORTED_FEATURES.items()
            ],
        )
        outcome = self.controller.register_broker(request, self._offset)
        self.commit(outcome.records)
        heartbeat = BrokerHeartbeatRequest(
            broker_id=1,
            broker_epoch=outcome.response.broker_epoch,
            current_metadata_offset=self._offset,
        )
        self.commit(self.controller.broker_heartbeat(heartbeat).records)

    def commit(self, records: list[Message]) -> None:
        if records:
            self.controller.replay(self._offset, 1, 0, records)
            self._offset += len(records)

    def answer(self, outcome: Outcome[Any]) -> Any:
        self.commit(outcome.records)
        return outcome.response


class Both:
    """Asks both sides and compares what they say."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._moldau = Moldau()

    def ask(
        self,
        request: Message,
        response_class: type[Message],
        version: int,
        handle: Callable[[DirectController], Outcome[Any]],
        summary: Callable[[Any], Answer],
    ) -> Answer:
        theirs = summary(self._kafka.ask(request, response_class, version))
        ours = summary(self._moldau.answer(handle(self._moldau.controller)))

        def in_order(answer: Answer) -> Answer:
            return sorted(((name, int(code), text) for name, code, text in answer), key=repr)

        assert in_order(ours) == in_order(theirs)
        return ours

    def create(self, *wanted: topics.CreatableTopic, validate_only: bool = False) -> Answer:
        request = topics.CreateTopicsRequest(topics=list(wanted), validate_only=validate_only)
        return self.ask(
            request,
            topics.CreateTopicsResponse,
            7,
            lambda controller: controller.create_topics(request),
            lambda response: [
                (
                    (
                        each.name,
                        each.num_partitions,
                        each.replication_factor,
                        [(c.name, c.value, c.read_only, c.config_source) for c in each.configs],
                    ),
                    each.error_code,
                    each.error_message,
                )
                for each in response.topics
            ],
        )

    def delete(self, *wanted: deletions.DeleteTopicState) -> Answer:
        request = deletions.DeleteTopicsRequest(topics=list(wanted), timeout_ms=30_000)
        return self.ask(
            request,
            deletions.DeleteTopicsResponse,
            6,
            lambda controller: controller.delete_topics(request, 6),
            lambda response: [
                (each.name, each.error_code, each.error_message) for each in response.responses
            ],
        )

    def grow(self, *wanted: CreatePartitionsTopic) -> Answer:
        from moldau.protocol.messages.create_partitions import CreatePartitionsResponse

        request = CreatePartitionsRequest(topics=list(wanted), timeout_ms=30_000)
        return self.ask(
            request,
            CreatePartitionsResponse,
            3,
            lambda controller: controller.create_partitions(request),
            lambda response: [
                (each.name, each.error_code, each.error_message) for each in response.results
            ],
        )

    def alter(self, *wanted: configs.AlterConfigsResource, validate_only: bool = False) -> Answer:
        request = configs.IncrementalAlterConfigsRequest(
            resources=list(wanted), validate_only=validate_only
        )
        return self.ask(
            request,
            configs.IncrementalAlterConfigsResponse,
            1,
            lambda controller: controller.incremental_alter_configs(request),
            _resources,
        )

    def replace(self, *wanted: legacy.AlterConfigsResource) -> Answer:
        request = legacy.AlterConfigsRequest(resources=list(wanted))
        return self.ask(
            request,
            legacy.AlterConfigsResponse,
            2,
            lambda controller: controller.alter_configs(request),
            _resources,
        )


def _resources(response: Any) -> Answer:
    return [
        ((each.resource_type, each.resource_name), each.error_code, each.error_message)
        for each in response.responses
    ]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    directory: Path = tmp_path_factory.mktemp("answers") / "data"
    with ApacheKafkaBroker(directory) as broker:
        client = Kafka(broker.port)
        yield client
        client.close()


@pytest.fixture
def both(kafka: Kafka) -> Iterator[Both]:
    asked = Both(kafka)
    yield asked
    left = list(asked._moldau.controller.image.topics_by_name)
    asked.delete(*(deletions.DeleteTopicState(name=name) for name in left))


def topic(name: str, partitions: int = 1, factor: int = 1, **settings: str) -> Any:
    return topics.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[
            topics.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in settings.items()
        ],
    )


def assigned(name: str, assignment: dict[int, list[int]], **fields: int) -> Any:
    return topics.CreatableTopic(
        name=name,
        num_partitions=fields.get("num_partitions", -1),
        replication_factor=fields.get("replication_factor", -1),
        assignments=[
            topics.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in assignment.items()
        ],
    )


def change(kind: int, name: str, *changes: tuple[str, int, str | None]) -> Any:
    return configs.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            configs.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in changes
        ],
    )


TOPICS = [
    topic("river", 3, retention_ms="1000", cleanup_policy="compact"),
    topic("defaults", -1, -1),
    topic(""),
    topic("."),
    topic(".."),
    topic("x" * 250),
    topic("a/b"),
    topic("there"),
    topic("with.dot"),
    topic("__cluster_metadata"),
    topic("none", 0),
    topic("negative", -2),
    topic("unreplicated", 1, 0),
    topic("too-replicated", 1, 2),
    topic("too-many", 10_001),
    topic("unknown-setting", no_such="1"),
    topic("below-minimum", segment_bytes="1"),
    topic("not-a-number", retention_ms="soon"),
    topic("not-a-word", cleanup_policy="forget"),
    assigned("two-ways", {0: [1]}, replication_factor=1),
    assigned("two-counts", {0: [1]}, num_partitions=1),
    assigned("nowhere", {0: []}),
    assigned("elsewhere", {0: [2]}),
    assigned("twice-on-one", {0: [1, 1]}),
    assigned("gap", {1: [1]}),
    assigned("uneven", {0: [1], 1: [1, 1]}),
    assigned("chosen", {0: [1], 1: [1]}),
]


@pytest.mark.parametrize("wanted", TOPICS, ids=lambda each: each.name[:20] or "empty")
@pytest.mark.parametrize("validate_only", [True, False])
def test_topics_are_created_and_refused_alike(
    both: Both, wanted: topics.CreatableTopic, validate_only: bool
) -> None:
    both.create(topic("there"), topic("with_dot"))
    both.create(wanted, validate_only=validate_only)


def test_duplicates_in_a_request_are_refused_alike(both: Both) -> None:
    both.create(topic("a"), topic("b"), topic("a"))
    both.grow(
        CreatePartitionsTopic(name="b", count=2, assignments=None),
        CreatePartitionsTopic(name="b", count=3, assignments=None),
    )
    both.alter(change(TOPIC, "b", ("flush.ms", SET, "1")), change(TOPIC, "b"))
    state = deletions.DeleteTopicState
    both.delete(state(name="b"), state(name="b"), state(), state(topic_id=b"x" * 16))
    both.delete(state(name="unknown"), state(name="b", topic_id=b"x" * 16))


@pytest.mark.parametrize(
    ("count", "assignments"),
    [(3, None), (2, None), (1, None), (4, [[1]]), (3, [[1]]), (3, [[1, 1]]), (3, [[9]]), (3, [[]])],
)
def test_partitions_are_added_and_refused_alike(
    both: Both, count: int, assignments: list[list[int]] | None
) -> None:
    both.create(topic("river", 2))
    chosen = None
    if assignments is not None:
        chosen = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    both.grow(CreatePartitionsTopic(name="river", count=count, assignments=chosen))
    both.grow(CreatePartitionsTopic(name="unknown", count=count, assignments=chosen))


CHANGES = [
    change(TOPIC, "river", ("flush.ms", SET, "5"), ("retention.ms", DELETE, None)),
    change(TOPIC, "river", ("cleanup.policy", APPEND, "compact")),
    change(TOPIC, "river", ("cleanup.policy", SUBTRACT, "compact")),
    change(TOPIC, "river", ("flush.ms", APPEND, "1")),
    change(TOPIC, "river", ("no.such", SET, "1")),
    change(TOPIC, "river", ("flush.ms", SET, "soon")),
    change(TOPIC, "river", ("flush.ms", SET, None)),
    change(TOPIC, "river", ("flush.ms", SET, "1"), ("flush.ms", SET, "2")),
    change(TOPIC, "unknown", ("flush.ms", SET, "1")),
    change(TOPIC, "", ("flush.ms", SET, "1")),
    change(TOPIC, "a/b", ("flush.ms", SET, "1")),
    change(3, "river"),
    change(BROKER, "", ("log.retention.ms", SET, "99999")),
    change(BROKER, "1", ("log.retention.ms", SET, "99999")),
    change(BROKER, "1", ("log.retention.ms", DELETE, None)),
    change(BROKER, "", ("log.retention.ms", DELETE, None)),
    change(BROKER, "x", ("log.retention.ms", SET, "1")),
    change(BROKER, "2", ("log.retention.ms", SET, "1")),
    change(BROKER, "1", ("min.insync.replicas", SET, "2")),
    change(BROKER, "", ("min.insync.replicas", DELETE, None)),
    change(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")),
    change(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
    change(GROUP, "g", ("consumer.session.timeout.ms", SET, "99999999")),
    change(GROUP, "g", ("consumer.session.timeout.ms", SET, "1")),
    change(GROUP, "g", ("no.such", SET, "1")),
    change(CLIENT_METRICS, "", ("interval.ms", SET, "1000")),
    change(CLIENT_METRICS, "m", ("interval.ms", SET, "1000"), ("match", SET, "client_id=a.*")),
    change(CLIENT_METRICS, "m", ("interval.ms", SET, "1")),
    change(CLIENT_METRICS, "m", ("no.such", SET, "1")),
    change(CLIENT_METRICS, "m", ("match", SET, "colour=red")),
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
@pytest.mark.parametrize("validate_only", [True, False])
def test_settings_are_changed_and_refused_alike(
    both: Both, number: int, validate_only: bool
) -> None:
    both.create(topic("river", retention_ms="1000"))
    both.alter(CHANGES[number], validate_only=validate_only)


def test_all_settings_are_replaced_alike(both: Both) -> None:
    both.create(topic("river", retention_ms="1000"))
    for value in ("5", "soon", None):
        config = legacy.AlterableConfig(name="flush.ms", value=value)
        both.replace(
            legacy.AlterConfigsResource(
                resource_type=TOPIC, resource_name="river", configs=[config]
            )
        )


def test_elections_and_reassignments_are_answered_alike(both: Both) -> None:
    both.create(topic("river", 2))
    for kind in (0, 1):
        request = elections.ElectLeadersRequest(
            election_type=kind,
            topic_partitions=[
                elections.TopicPartitions(topic="river", partitions=[0, 7]),
                elections.TopicPartitions(topic="unknown", partitions=[0]),
            ],
        )
        both.ask(
            request,
            elections.ElectLeadersResponse,
            2,
            lambda controller, request=request: controller.elect_leaders(request),
            lambda response: [
                ((each.topic, result.partition_id), result.error_code, result.error_message)
                for each in response.replica_election_results
                for result in each.partition_result
            ],
        )
    from moldau.protocol.messages.alter_partition_reassignments import (
        AlterPartitionReassignmentsResponse,
    )

    for replicas in (None, [1], [2], [], [1, 1]):
        partitions = [ReassignablePartition(partition_index=0, replicas=replicas)]
        move = AlterPartitionReassignmentsRequest(
            topics=[
                ReassignableTopic(name="river", partitions=partitions),
                ReassignableTopic(name="unknown", partitions=partitions),
            ]
        )
        both.ask(
            move,
            AlterPartitionReassignmentsResponse,
            1,
            lambda controller, move=move: controller.alter_partition_reassignments(move),
            lambda response: [
                ((each.name, result.partition_index), result.error_code, result.error_message)
                for each in response.responses
                for result in each.partitions
            ],
        )


@pytest.mark.parametrize(
    ("name", "level", "kind"),
    [
        ("no.such", 1, 1),
        ("group.version", 9, 1),
        ("group.version", -1, 1),
        ("group.version", 0, 1),
        ("group.version", 1, 7),
        ("group.version", 1, 1),
        ("kraft.version", 0, 2),
        ("metadata.version", 29, 2),
        ("metadata.version", 29, 3),
        ("metadata.version", 99, 1),
    ],
)
def test_features_are_updated_and_refused_alike(
    both: Both, name: str, level: int, kind: int
) -> None:
    request = features.UpdateFeaturesRequest(
        feature_updates=[
            features.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        ]
    )
    both.ask(
        request,
        features.UpdateFeaturesResponse,
        2,
        lambda controller: controller.update_features(request, 2),
        lambda response: [(name, response.error_code, response.error_message)],
    )


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        ({"user": "ada"}, "producer_byte_rate", 1024.0),
        ({"user": "ada", "client-id": None}, "request_percentage", 12.5),
        ({"ip": "10.0.0.1"}, "connection_creation_rate", 5.0),
        ({}, "producer_byte_rate", 1.0),
        ({"planet": "earth"}, "producer_byte_rate", 1.0),
        ({"user": ""}, "producer_byte_rate", 1.0),
        ({"user": "ada"}, "no_such_rate", 1.0),
        ({"user": "ada"}, "producer_byte_rate", -1.0),
        ({"user": "ada"}, "producer_byte_rate", 1.5),
        ({"user": "ada"}, "connection_creation_rate", 5.0),
    ],
)
def test_quotas_are_set_and_refused_alike(
    both: Both, entity: dict[str, str | None], key: str, value: float
) -> None:
    request = quotas.AlterClientQuotasRequest(
        entries=[
            quotas.EntryData(
                entity=[
                    quotas.EntityData(entity_type=kind, entity_name=name)
                    for kind, name in entity.items()
                ],
                ops=[quotas.OpData(key=key, value=value)],
            )
        ]
    )
    both.ask(
        request,
        quotas.AlterClientQuotasResponse,
        1,
        lambda controller: controller.alter_client_quotas(request),
        lambda response: [
            (
                sorted((part.entity_type, part.entity_name or "") for part in each.entity),
                each.error_code,
                each.error_message,
            )
            for each in response.entries
        ],
    )
